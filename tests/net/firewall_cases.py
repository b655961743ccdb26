# SPDX-License-Identifier: GPL-2.0-only
"""Small firewalls for firewalls.py, by hand and at random. Rates are so slow that nothing comes back
during a test. @ in the name of a table of counts is another one in each run."""


def limit(rate="3/hour", burst=5, mode="srcip", name="a", word="above", more=""):
    by = f" --hashlimit-mode {mode}" if mode else ""
    return f"-m hashlimit --hashlimit-{word} {rate} --hashlimit-burst {burst}{by} " \
           f"--hashlimit-name @{name} --hashlimit-htable-expire 99999999{more}"


def nft(chain, rules, sets=""):
    return f"table ip t {{\n{sets}\nchain c {{ type filter hook {chain} priority 0; policy accept;\n{rules}\n}}\n}}\n"


GAME = "-p udp -m udp --dport 27015"
RAW, MANGLE, FILTER = "raw", "mangle", "filter"
ABOVE, ALL, UPTO = limit(), limit(mode="", name="b"), limit(word="upto", name="c")

# (name, exit status of the import, lines by table or nft's own text)
CASES = [
    ("a limit by source", 0, [(FILTER, f"INPUT -p udp {ABOVE} -j DROP")]),
    ("a limit of all", 0, [(FILTER, f"INPUT -p udp {ALL} -j DROP")]),
    ("upto and a drop", 0, [(FILTER, f"INPUT -p udp {UPTO} -j ACCEPT"), (FILTER, "INPUT -p udp -j DROP")]),
    ("a drop in FORWARD", 0, [(FILTER, "FORWARD -p tcp -j REJECT")]),
    ("a drop of a network in front of a limit of all", 0,
     [(RAW, "PREROUTING -s 10.1.9.0/24 -j DROP"), (FILTER, f"INPUT {ALL} -j DROP")]),
    ("a drop that cannot be said in front of a limit of all", 1,
     [(RAW, "PREROUTING -p udp -m pkttype --pkt-type unicast -j DROP"), (FILTER, f"INPUT -p udp {ALL} -j DROP")]),
    ("a drop that cannot be said in front of a limit by source", 1,
     [(FILTER, "INPUT -p udp -m u32 --u32 4&0x1=1 -j DROP"), (FILTER, f"INPUT -p udp {ABOVE} -j DROP")]),
    ("lengths", 0,
     [(RAW, "PREROUTING -p udp -m length --length 0:32 -j DROP"), (FILTER, f"INPUT -p udp -m length --length 100:400 {ABOVE} -j DROP")]),
    ("flags", 0,
     [(FILTER, "INPUT -p tcp -m tcp --tcp-flags FIN,SYN FIN,SYN -j DROP"), (FILTER, "INPUT -p tcp -m tcp --tcp-flags ALL NONE -j DROP"),
      (FILTER, f"INPUT -p tcp -m tcp --dport 53 --tcp-flags RST RST {ABOVE} -j DROP"),
      (FILTER, f"INPUT -p tcp -m tcp --dport 80 ! --syn {limit(name='b')} -j DROP")]),
    ("TTL, DSCP, ICMP types and codes", 0,
     [(FILTER, "INPUT -m ttl --ttl-lt 5 -j DROP"), (FILTER, f"INPUT -p udp -m dscp --dscp-class EF {ALL} -j DROP"),
      (FILTER, "INPUT -p icmp -m icmp --icmp-type 3/1 -j DROP"), (FILTER, f"INPUT -p icmp -m icmp --icmp-type 8 {ABOVE} -j DROP")]),
    ("negations", 0,
     [(FILTER, f"INPUT ! -s 10.1.2.3 -p udp -m multiport ! --dports 53,99 -m dscp ! --dscp 46 {ABOVE} -j DROP"),
      (FILTER, f"INPUT -p icmp -m icmp ! --icmp-type 8 {limit(name='b')} -j DROP"),
      (FILTER, f"INPUT ! -s 10.1.0.0/16 -p tcp {limit(name='c')} -j DROP")]),
    ("a list of ports", 0, [(FILTER, f"INPUT -p udp -m multiport --dports 53,55,27000:27100 {ABOVE} -j DROP")]),
    ("bytes", 1,
     [(FILTER, f'INPUT {GAME} -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@12>>24=0x54" {ABOVE} -j DROP'),
      (FILTER, f'INPUT -p tcp -m tcp --dport 80 -m u32 --u32 "0>>22&0x3C@12>>26&0x3C@0=0x47455420" {limit(name="b")} -j DROP'),
      (FILTER, f'INPUT {GAME} -m string --hex-string "|ffffffff55|" --algo bm --from 28 --to 33 {limit(name="c")} -j DROP')]),
    ("known TCP, and a limit behind it", 1,
     [(FILTER, "INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"), (FILTER, f"INPUT -p tcp {ABOVE} -j DROP")]),
    ("invalid TCP dropped before a limit by source", 1,
     [(FILTER, "INPUT -m conntrack --ctstate INVALID -j DROP"), (FILTER, f"INPUT -p tcp {ABOVE} -j DROP")]),
    ("RETURN within a limit, and a drop of the rest", 0,
     [(FILTER, "INPUT -p tcp -j SUB"), (FILTER, f"SUB -p tcp {UPTO} -j RETURN"), (FILTER, "SUB -p tcp -j DROP")]),
    ("RETURN, and a limit where it returns to", 1,
     [(FILTER, "INPUT -p udp -j SUB"), (FILTER, f"INPUT -p udp -m udp --dport 53 {ABOVE} -j DROP"), (FILTER, "SUB -p udp -m udp --dport 53 -j RETURN"),
      (FILTER, "SUB -s 10.1.9.0/24 -p udp -m length --length 30:400 -j DROP")]),
    ("a drop of a port in front of a limit by port", 0,
     [(RAW, "PREROUTING -s 10.1.0.0/16 -p udp -m udp --dport 53 -j DROP"),
      (FILTER, f"INPUT -p udp -m udp {limit(mode='dstport')} -j DROP".replace("-m udp -m hash", "-m udp --dport 53 -m hash"))]),
    ("a limit of a network beside one of all", 1,
     [(RAW, f"PREROUTING -s 10.0.0.0/8 {limit('100/hour', 100)} -j DROP"), (FILTER, f"INPUT -p udp {limit(name='b')} -j DROP")]),
    ("two limits in one rule", 1,
     [(FILTER, f"INPUT -p udp {ABOVE} -m limit --limit 1/hour --limit-burst 30 -j DROP")]),
    ("a chain that is jumped to twice", 1,
     [(FILTER, "INPUT -p udp -j SUB"), (FILTER, "INPUT -p tcp -j SUB"), (FILTER, f"SUB {ABOVE} -j DROP")]),
    ("goto does not come back", 1,
     [(FILTER, "INPUT -p udp -g SUB"), (FILTER, f"INPUT {ABOVE} -j DROP"), (FILTER, "SUB -s 10.9.0.0/16 -j DROP")]),
    ("every device that begins so", 0, [(FILTER, f"INPUT -i veth-+ -p udp {ABOVE} -j DROP")]),
    ("SYN alone, and with FIN", 0,
     [(FILTER, f"INPUT -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN {ABOVE} -j DROP"), (FILTER, "INPUT -p tcp -m tcp --dport 99 ! --tcp-flags FIN,SYN,RST,ACK SYN -j DROP")]),
    ("untracked packets are not invalid", 1,
     [(RAW, "PREROUTING -p tcp -m tcp --dport 53 -j CT --notrack"), (FILTER, "INPUT -m conntrack --ctstate INVALID -j DROP"),
      (FILTER, f"INPUT -p tcp -m tcp --dport 53 {ALL} -j DROP")]),
    ("untracked packets are not new", 1,
     [(RAW, "PREROUTING -p tcp -m tcp --dport 53 -j CT --notrack"), (FILTER, f"INPUT -p tcp -m conntrack --ctstate NEW {ABOVE} -j DROP")]),
    ("a queue that no program reads", 1, [(FILTER, "INPUT -p udp -m udp --dport 53 -j NFQUEUE --queue-num 7"), (FILTER, f"INPUT -p tcp {ABOVE} -j DROP")]),
    ("what never matches", 0,
     [(FILTER, "INPUT -p udp -m ttl --ttl-gt 255 -j DROP"), (FILTER, "INPUT -m length --length 9:5 -j DROP"), (FILTER, f"INPUT -p udp {ABOVE} -j DROP")]),
    ("TCP that is new", 1, [(FILTER, f"INPUT -p tcp -m conntrack --ctstate NEW {ABOVE} -j DROP")]),
    ("accepted and then dropped elsewhere", 1,
     [(RAW, "PREROUTING -s 10.1.2.3 -j ACCEPT"), (RAW, f"PREROUTING -p udp {ABOVE} -j DROP"),
      (FILTER, "INPUT -s 10.1.2.3 -p tcp -j DROP")]),
    ("a wide accept behind a narrow drop", 0,
     [(FILTER, "INPUT -s 10.1.2.3 -p udp -j DROP"), (FILTER, "INPUT -s 10.1.0.0/16 -j ACCEPT"),
      (FILTER, f"INPUT {ALL} -j DROP")]),
    ("a narrow accept behind a wide drop", 1,
     [(FILTER, "INPUT -p udp -j DROP"), (FILTER, "INPUT -s 10.1.2.3 -j ACCEPT"), (FILTER, f"INPUT {ALL} -j DROP")]),
    ("a table of counts that two rules share", 1,
     [(FILTER, f"INPUT -p udp {ABOVE} -j DROP"), (FILTER, f"INPUT -p tcp {ABOVE} -j DROP")]),
    ("counted before it is matched", 1,
     [(FILTER, f"INPUT -p udp {ABOVE} -m udp --dport 53 -j DROP")]),
    ("an element of a set", 0, nft("input", "udp dport 53 update @s { ip saddr limit rate over 3/hour burst 5 packets } drop",
                                   "set s { type ipv4_addr; flags dynamic; size 99; }")),
    ("a limit behind a map of verdicts", 0,
     nft("input", "ip protocol vmap { udp : jump d }", "chain d { limit rate over 3/hour burst 5 packets drop\n}")),
    ("goto of nft", 1, nft("input", "meta l4proto udp goto d\nlimit rate over 3/hour burst 5 packets drop",
                           "chain d { ip saddr 10.9.9.9 drop\n}")),
    ("a limit by name in two chains", 1,
     nft("input", "meta l4proto udp limit name \"n\" drop", "limit n { rate over 3/hour burst 5 packets; }\n"
         "chain p { type filter hook prerouting priority 0; meta l4proto tcp limit name \"n\" drop\n}")),
    ("the words of nft", 0, nft("input", """tcp flags & (fin | syn) == (fin | syn) drop
		ip ttl < 5 drop
		icmp type { destination-unreachable, timestamp-request } drop
		udp dport { 53, 27000-27100 } meta length != 28-40 update @s { ip saddr limit rate over 3/hour burst 5 packets } drop
		tcp dport != 99 limit rate over 3/hour burst 9 packets drop""", "set s { type ipv4_addr; flags dynamic; size 99; }")),
    ("bytes in nft", 0, nft("input", """udp dport 27015 @th,64,40 0xffffffff54 update @s { ip saddr limit rate over 3/hour burst 5 packets } drop
		udp dport 27015 @th,64,40 != 0xffffffff54 limit rate over 3/hour burst 5 packets drop""", "set s { type ipv4_addr; flags dynamic; size 99; }")),
    ("a map of verdicts, and addresses with ports", 0, nft("input", """tcp dport vmap { 53 : accept, 80 : drop }
		meta l4proto tcp limit rate over 3/hour burst 5 packets drop
		ip saddr . udp dport { 10.1.2.3 . 53, 10.1.2.4 . 55 } accept
		meta l4proto udp limit rate over 3/hour burst 5 packets drop""")),
    ("every device that begins so, nft", 0,
     nft("input", 'iifname "veth*" meta l4proto udp limit rate over 3/hour burst 5 packets drop')),
]


# ---- at random

def random_match(dice):
    source = dice.choice(["", "", "-s 10.1.0.0/16", "! -s 10.1.2.3", "-s 10.1.2.0/24", "-s 10.1.2.3", "-s 10.9.9.9"])
    proto = dice.choice(["", "-p udp", "-p udp -m udp --dport 53", "-p udp -m udp --dport 50:60", "-p tcp",
                         "-p tcp -m tcp --dport 53", "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN", "-p icmp",
                         "-p gre", "-p udp -m length --length 0:50", "-p udp -m length ! --length 28:40", "-m ttl --ttl-lt 5",
                         "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN", "-p tcp -m tcp --tcp-flags FIN,RST NONE",
                         "-p icmp -m icmp --icmp-type 8", "-p icmp -m icmp ! --icmp-type 3/1", "-m dscp --dscp 46",
                         "-p udp -m multiport --dports 53,27015", "-p udp -m multiport ! --dports 53,99", "! -p udp",
                         '-p udp -m udp --dport 27015 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF"',
                         "-p udp -m pkttype --pkt-type unicast", "-p tcp -m conntrack --ctstate NEW",
                         "-m conntrack --ctstate INVALID"])
    return f"{source} {proto}".strip()


def random_line(dice, chain, n):
    match = random_match(dice)
    kind = dice.choice(["above", "above", "upto", "limit", "ACCEPT", "DROP", "DROP", "RETURN", "jump", "goto"])
    if kind in ("above", "upto"):
        modes = ["srcip", "", "srcip,dstport" if "-p udp" in match or "-p tcp" in match else "dstip"]
        words = limit(burst=dice.choice([3, 5, 20]), mode=dice.choice(modes), word=kind, name=f"{dice.choice('xyz')}{n}")
        return f"{chain} {match} {words} -j {'DROP' if kind == 'above' else 'ACCEPT'}"
    if kind == "limit":
        return f"{chain} {match} -m limit --limit 3/hour --limit-burst {dice.choice([3, 9])} -j ACCEPT"
    if kind in ("jump", "goto") and chain != "SUB":
        return f"{chain} {match} {'-j' if kind == 'jump' else '-g'} SUB"
    return f"{chain} {match} -j {kind if kind in ('ACCEPT', 'DROP', 'RETURN') else 'DROP'}"


def random_case(dice):
    """A few lines; one case in three has a chain whose policy is DROP."""
    lines = []
    for n in range(dice.randint(2, 6)):
        table, chain = dice.choice([(RAW, "PREROUTING"), (MANGLE, "PREROUTING"), *[(FILTER, "INPUT")] * 3, (FILTER, "SUB")])
        lines.append((table, random_line(dice, chain, dice.choice([n, n, 0]))))
    return lines + ([(FILTER, "-P INPUT DROP")] if dice.random() < 0.33 else [])
