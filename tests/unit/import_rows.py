# SPDX-License-Identifier: GPL-2.0-only
"""Rows of test_import.sh: what is read, the policy that comes of it (rules without their first word,
None for none), and part of what is said to be left out, None where all is carried over. Every policy has
to be accepted by `rlctl apply --check`. Prints TAP.  import_rows.py SCRIPTS RLCTL"""
import json
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import importer  # noqa: E402

RLCTL = sys.argv[2]
V4 = "0.0.0.0/0"
ONE = f"{V4} limit 100/second burst 50"  # what most rows come to
ALL = "any limit 100/second burst 50 per rule"

# ---- iptables: (name, policy, left, lines behind -A INPUT …)

OVER = "-m hashlimit --hashlimit-above 100/sec --hashlimit-burst 50 --hashlimit-name a"
OTHER = "-m hashlimit --hashlimit-above 9/min --hashlimit-name b"
UPTO = OVER.replace("above", "upto")
BY = "--hashlimit-mode srcip"
BOTH = "--hashlimit-mode srcip,dstip"
PORT = "--hashlimit-mode srcip,dstport"
FLOW = "--hashlimit-mode srcip,srcport,dstip,dstport"
DNS = "-p udp -m udp --dport 53"
KNOWN = "-m conntrack --ctstate RELATED,ESTABLISHED"
ND = "carried, but neighbour discovery always passes in a policy"
NEW = "-m conntrack --ctstate NEW"

IPTABLES = [
    ("above, by source", ONE, None, f"INPUT {OVER} {BY} -j DROP"),
    ("a mask", f"{ONE} per source/24", None, f"INPUT {OVER} {BY} --hashlimit-srcmask 24 -j DROP"),
    ("by destination", f"{ONE} per dest/28", None,
     f"INPUT {OVER} --hashlimit-mode dstip --hashlimit-dstmask 28 -j DROP"),
    ("by both", f"{ONE} per source+dest", None, f"INPUT {OVER} {BOTH} -j DROP"),
    ("by source and port", f"{V4} tcp limit 100/second burst 50 per source+dport", None,
     f"INPUT -p tcp {OVER} {PORT} -j DROP"),
    ("by source and a port that is known", f"{V4} udp dport 53 limit 100/second burst 50", None,
     f"INPUT {DNS} {OVER} {PORT} -j DROP"),
    ("by flow", f"{V4} udp limit 100/second burst 50 per flow", None, f"INPUT -p udp {OVER} {FLOW} -j DROP"),
    ("by nothing", f"{ONE} per rule", None, f"INPUT {OVER} -j DROP"),
    ("by ports of any protocol", None, "counts by ports of all protocols", f"INPUT {OVER} {PORT} -j DROP"),
    ("by destination and port", None, "counts by daddr, dport",
     f"INPUT -p tcp {OVER} --hashlimit-mode dstip,dstport -j DROP"),
    ("by both with a mask", None, "counts by daddr, saddr (/24 and /32)",
     f"INPUT {OVER} {BOTH} --hashlimit-srcmask 24 -j DROP"),
    ("by source and port with a mask", None, "counts by dport, saddr (/24 and /32)",
     f"INPUT -p tcp {OVER} {PORT} --hashlimit-srcmask 24 -j DROP"),
    ("minutes, and the usual burst", f"{V4} limit 9/minute burst 5", None, f"INPUT {OTHER} {BY} -j DROP"),
    ("bytes", None, "counts bytes of IP packets",
     f"INPUT -m hashlimit --hashlimit-above 100kb/s {BY} --hashlimit-name a -j DROP"),
    ("the rate of an interval", None, "rate-match",
     f"INPUT {OVER} {BY} --hashlimit-rate-match --hashlimit-rate-interval 2 -j DROP"),
    ("sizes and times of the table", ONE, None,
     f"INPUT {OVER} {BY} --hashlimit-htable-size 9 --hashlimit-htable-expire 30000 -j DROP"),
    ("more than a day of the rate", None, "is more than a day of the rate",
     "INPUT -m limit --limit 1/day --limit-burst 50 -j ACCEPT", "INPUT -j DROP"),
    ("a rate that is not known", None, "has an unknown rate: 5/fortnight",
     f"INPUT -m hashlimit --hashlimit-above 5/fortnight {BY} --hashlimit-name a -j DROP"),
    ("REJECT is a drop", ONE, None, f"INPUT {OVER} {BY} -j REJECT --reject-with icmp-port-unreachable"),
    ("upto, and what drops the rest", f"{V4} udp dport 53 limit 100/second burst 50", None,
     f"INPUT {DNS} {UPTO} {BY} -j ACCEPT", f"INPUT {DNS} -j DROP"),
    ("upto, and a wider drop", f"{V4} udp dport 53 limit 100/second burst 50", "line 8 left to the firewall",
     f"INPUT {DNS} {UPTO} {BY} -j ACCEPT", "INPUT -p udp -j DROP"),
    ("upto, and nothing that drops", None, "but nothing drops packets over it", f"INPUT {UPTO} {BY} -j ACCEPT"),
    ("upto, and a narrower drop", None, "but nothing drops packets over it",
     f"INPUT -p udp {UPTO} {BY} -j ACCEPT", f"INPUT {DNS} -j DROP"),
    ("upto, and what accepts the rest", None, "but line 8 may accept packets over it",
     f"INPUT {UPTO} {BY} -j ACCEPT", "INPUT -p tcp -j ACCEPT", "INPUT -j DROP"),
    ("upto, and the policy of the chain", ONE, None, "-P DROP", f"INPUT {UPTO} {BY} -j ACCEPT"),
    ("upto, by its old word", ONE, None, f"INPUT {UPTO.replace('-upto', '')} {BY} -j ACCEPT", "INPUT -j DROP"),
    ("upto that drops", None, "drops what is within its limit", f"INPUT {UPTO} {BY} -j DROP"),
    ("a limit behind upto", None, "line 7 lets packets past it, as far as they are within a limit",
     f"INPUT -p udp {UPTO} {BY} -j ACCEPT", f"INPUT -p udp {OTHER} -j DROP", "INPUT -j DROP"),
    ("above that accepts", None, "accepts what is over its limit", f"INPUT {OVER} {BY} -j ACCEPT"),
    ("above that logs", None, "only tells of what is over", f"INPUT {OVER} {BY} -j LOG"),
    ("above, to a chain that logs and drops", ONE, None,
     f"INPUT {OVER} {BY} -j SUB", "SUB -j LOG --log-prefix flood", "SUB -j DROP"),
    ("above, to a chain that does more", None, "hands on to chain SUB what is over",
     f"INPUT {OVER} {BY} -j SUB", "SUB -p tcp -j DROP"),
    ("limit, which counts all together", f"{V4} icmp limit 5/second burst 5 per rule", None,
     "INPUT -p icmp -m limit --limit 5/sec -j ACCEPT", "INPUT -p icmp -j DROP"),
    ("matches", f"{V4} tcp sport 1024-65535 dport 6000-6063 dst 192.0.2.0/24 syn limit 100/second burst 50", None,
     "INPUT -d 192.0.2.0/24 -p tcp -m tcp --sport 1024: --dport 6000:6063 --tcp-flags FIN,SYN,RST,ACK SYN "
     f"{OVER} {BY} -j DROP"),
    ("other flags", None, "matches by tcp-flags RST RST",
     f"INPUT -p tcp -m tcp --tcp-flags RST RST {OVER} {BY} -j DROP"),
    ("a protocol by its number", f"{V4} proto 89 limit 100/second burst 50", None,
     f"INPUT -p 89 {OVER} {BY} -j DROP"),
    ("a source is the prefix where it is alone", "192.0.2.0/24 udp limit 100/second burst 50", None,
     f"INPUT -s 192.0.2.0/24 -p udp {OVER} {BY} -j DROP"),
    ("a source is the prefix beside limits of others",
     "192.0.2.0/24 udp limit 100/second burst 50;0.0.0.0/0 tcp limit 9/minute burst 5 per rule", None,
     f"INPUT -s 192.0.2.0/24 -p udp {OVER} {BY} -j DROP", f"INPUT -p tcp {OTHER} -j DROP"),
    ("TCP that is new", None, "matches by state NEW",
     f"INPUT -p tcp -m tcp --dport 22 {NEW} {OVER} {BY} -j DROP"),
    ("UDP that is new", None, "matches by state NEW", f"INPUT -p udp {NEW} {OVER} {BY} -j DROP"),
    ("no match of a policy", None, "matches by length 100:200", f"INPUT -m length --length 100:200 {OVER} {BY} -j DROP"),
    ("a negation", None, "matches by not s 192.0.2.0/24", f"INPUT ! -s 192.0.2.0/24 {OVER} {BY} -j DROP"),
    ("later fragments", None, "matches by f: a policy", f"INPUT -f {OVER} {BY} -j DROP"),
    ("ports, each counted", f"{V4} tcp dport 80 limit 100/second burst 50;{V4} tcp dport 443 limit 100/second burst 50",
     None, f"INPUT -p tcp -m multiport --dports 80,443 {OVER} {PORT} -j DROP"),
    ("ports, counted together", None, "counts several ports together",
     f"INPUT -p tcp -m multiport --dports 80,443 {OVER} {BY} -j DROP"),
    ("two that share a table", None, "shares its counts with line 7",
     f"INPUT -p udp {OVER} {BY} -j DROP", f"INPUT -p tcp {OVER} {BY} -j DROP"),
    ("two of the same identity", ONE, "line 8 line 7 counts its packets, too",
     f"INPUT {OVER} {BY} -j DROP", f"INPUT {OTHER} {BY} -j DROP"),
    ("nine of one prefix", ";".join(f"{V4} udp dport {p} limit 9/minute burst 5 per rule" for p in range(1, 9)),
     "too many rules for one prefix",
     *(f"INPUT -p udp --dport {p} {OTHER}{p} -j DROP" for p in range(1, 10))),
    ("accepted before a limit", f"192.0.2.7 allow;{ONE}", None,
     "INPUT -s 192.0.2.7/32 -j ACCEPT", f"INPUT {OVER} {BY} -j DROP"),
    ("accepted behind a limit", ONE, None, f"INPUT {OVER} {BY} -j DROP", "INPUT -s 192.0.2.7/32 -j ACCEPT"),
    ("accepted between two limits", f"{ONE} per rule",
     "line 9 line 7 counts its packets, too",
     f"INPUT {OVER} -j DROP", "INPUT -p udp -j ACCEPT", f"INPUT {OTHER} {BY} -j DROP"),
    ("accepted before a limit of others", f"{V4} tcp limit 100/second burst 50", None,
     "INPUT -p udp -j ACCEPT", f"INPUT -p tcp {OVER} {BY} -j DROP"),
    ("accepted in another table", f"192.0.2.7 allow;{V4} limit 9/minute burst 5 per rule", "line 5 counts its packets, too",
     "*raw",
     "PREROUTING -s 192.0.2.7/32 -j ACCEPT", f"PREROUTING {OTHER} -j DROP", "*filter", f"INPUT {OVER} {BY} -j DROP"),
    ("connections accepted before", None, "line 7 lets packets past it, but matches by the state of connections",
     f"INPUT {KNOWN} -j ACCEPT", f"INPUT -p udp {OVER} {BY} -j DROP"),
    ("connections accepted before what opens one", f"{V4} tcp syn limit 100/second burst 50",
     "carried, but a SYN of a known connection passes by line 7",
     f"INPUT {KNOWN} -j ACCEPT", f"INPUT -p tcp --syn {OVER} {BY} -j DROP"),
    ("TCP behind what is known", f"{V4} tcp dport 22 not established limit 100/second burst 50",
     "line 8 carried, but the ACK that ends a handshake", f"INPUT {KNOWN} -j ACCEPT",
     f"INPUT -p tcp -m tcp --dport 22 {OVER} {BY} -j DROP"),
    ("by the old words", f"{V4} tcp not established limit 100/second burst 50", "line 8 carried, but",
     "INPUT -m state --state ESTABLISHED -j ACCEPT", f"INPUT -p tcp {OVER} {BY} -j DROP"),
    ("TCP denied behind what is known", f"{V4} tcp dport 23 not established deny",
     "line 8 carried, but", f"INPUT {KNOWN} -j ACCEPT", "INPUT -p tcp --dport 23 -j DROP"),
    ("TCP that is known", f"{V4} tcp established limit 100/second burst 50", "line 7 carried, but",
     f"INPUT -p tcp {KNOWN} {OVER} {BY} -j DROP"),
    ("TCP that is known, denied", f"{V4} tcp dport 25 established deny", "line 7 carried, but",
     f"INPUT -p tcp --dport 25 {KNOWN} -j DROP"),
    ("accepted behind what is known", f"{V4} tcp dport 22 allow;{V4} tcp not established deny",
     "line 9 carried, but", f"INPUT {KNOWN} -j ACCEPT", "INPUT -p tcp --dport 22 -j ACCEPT", "INPUT -p tcp -j DROP"),
    ("known TCP alone is no allow", None, None, f"INPUT -p tcp {KNOWN} -j ACCEPT"),
    ("every protocol behind what is known", None, "line 7 lets packets past it, but matches by the state of connections",
     f"INPUT {KNOWN} -j ACCEPT", f"INPUT {OVER} {BY} -j DROP"),
    ("another port than that of what is known", f"{V4} tcp dport 22 limit 100/second burst 50", None,
     f"INPUT -p tcp --dport 80 {KNOWN} -j ACCEPT", f"INPUT -p tcp --dport 22 {OVER} {BY} -j DROP"),
    ("TCP behind what is related", None, "line 7 lets packets past it",
     "INPUT -m conntrack --ctstate RELATED -j ACCEPT", f"INPUT -p tcp {OVER} {BY} -j DROP"),
    ("TCP behind what is invalid", None, "line 7 drops packets before it",
     "INPUT -m conntrack --ctstate INVALID -j DROP", f"INPUT -p tcp {OVER} {BY} -j DROP"),
    ("known TCP on a machine that forwards", None, "line 4 lets packets past it", "-host", "*mangle",
     f"PREROUTING {KNOWN} -j ACCEPT", f"PREROUTING -p tcp {OVER} {BY} -j DROP"),
    ("a SYN that is new", f"{V4} tcp dport 22 syn limit 100/second burst 50", None,
     f"INPUT -p tcp -m tcp --dport 22 {NEW} --syn {OVER} {BY} -j DROP"),
    ("everything accepted before", None, "line 7 lets packets past it, in a way that a policy cannot express",
     "INPUT -j ACCEPT", f"INPUT {OVER} {BY} -j DROP"),
    ("RETURN before a limit", None, "line 8 lets packets past it",
     "INPUT -j SUB", "SUB -p udp -j RETURN", f"SUB {OVER} {BY} -j DROP"),
    ("what is left out and accepts lets past", f"{V4} tcp limit 9/minute burst 5", "rate-match",
     f"INPUT -p udp {UPTO} --hashlimit-rate-match -j ACCEPT", f"INPUT -p tcp {OTHER} {BY} -j DROP"),
    ("what is left out and accepts the same", None, "line 7 lets packets past it",
     f"INPUT -p udp {UPTO} --hashlimit-rate-match -j ACCEPT", f"INPUT -p udp {OTHER} {BY} -j DROP"),
    ("dropped before a limit", f"198.51.100.0/24 deny;{ONE}", None,
     "INPUT -s 198.51.100.0/24 -j DROP", f"INPUT {OVER} {BY} -j DROP"),
    ("dropped but for one that is accepted", "198.51.100.7 allow;198.51.100.0/24 deny", None,
     "INPUT -s 198.51.100.7/32 -j ACCEPT", "INPUT -s 198.51.100.0/24 -j DROP"),
    ("dropped but for a port: the firewall does", None, "line 8 left to the firewall",
     "INPUT -p tcp -m tcp --dport 22 -j ACCEPT", "INPUT -s 198.51.100.0/24 -j DROP"),
    ("dropped at last: the firewall does", ONE, "line 8 left to the firewall", f"INPUT {OVER} {BY} -j DROP", "INPUT -j DROP"),
    ("in a chain that is jumped to", f"{V4} udp dport 53 limit 100/second burst 50", None,
     f"INPUT {DNS} -j SUB", f"SUB {OVER} {BY} -j DROP"),
    ("in a chain that nobody jumps to", None, None, f"SUB {OVER} {BY} -j DROP"),
    ("in chains that jump in a circle", ONE, None, "INPUT -j SUB", f"SUB {OVER} {BY} -j DROP", "SUB -j SUB"),
    ("sent", None, "is for packets that are sent", f"OUTPUT {OVER} {BY} -j DROP"),
    ("loopback does not count", ONE, None, "INPUT -i lo -j ACCEPT", f"INPUT -i eth0 {OVER} {BY} -j DROP"),
    ("of two devices", None, "for several devices (eth0, eth1): choose one with -i",
     f"INPUT -i eth0 {OVER} {BY} -j DROP", f"INPUT -i eth1 {OTHER} -j DROP"),
    ("dropped in FORWARD", None, "line 7 left to the firewall", "-host", "FORWARD -p tcp -j REJECT"),
    ("dropped in FORWARD of a machine that forwards nothing", None, None, "FORWARD -p tcp -j REJECT"),
    ("dropped in INPUT of a machine that may forward", None, "line 7 left to the firewall", "-host", "INPUT -p tcp -j DROP"),
    ("limited in INPUT of a machine that may forward", None, "use --host if the machine forwards nothing", "-host",
     f"INPUT {OVER} {BY} -j DROP"),
    ("limited in FORWARD", None, "is for forwarded packets", f"FORWARD {OVER} {BY} -j DROP"),
    ("where everything passes", f"198.51.100.0/24 deny;{ONE}", None, "-host", "*raw", "PREROUTING -s 198.51.100.0/24 -j DROP",
     f"PREROUTING {OVER} {BY} -j DROP"),
    ("a limit of a network beside one of all", "10.0.0.0/8 limit 100/second burst 50", "line 7 line 4 counts its packets, too",
     "*raw", f"PREROUTING -s 10.0.0.0/8 {OVER} {BY} -j DROP", "*filter", f"INPUT -p udp {OTHER} {BY} -j DROP"),
    ("dropped by what a policy cannot, before a limit", None, "line 7 drops packets before it",
     "INPUT -m ttl --ttl-lt 5 -j DROP", f"INPUT {OVER} {BY} -j DROP"),
    ("dropped elsewhere before a limit by port", f"10.0.0.0/8 deny;{V4} tcp limit 100/second burst 50 per source+dport", None,
     "*raw", "PREROUTING -s 10.0.0.0/8 -j DROP", "*filter", f"INPUT -p tcp {OVER} {PORT} -j DROP"),
    ("two limits in one rule", None, "has two limits", f"INPUT {OVER} {BY} -m limit --limit 1/hour -j DROP"),
    ("counted before it is matched", None, "counts packets before its last match", f"INPUT -p udp {OVER} -m udp --dport 53 -j DROP"),
    ("in a chain that two jump to", None, "is reached on several paths",
     "INPUT -p udp -j SUB", "INPUT -p tcp -j SUB", f"SUB {OVER} {BY} -j DROP"),
    ("goto does not come back", "10.0.0.0/8 udp deny", "line 8 line 7 lets packets past it",
     "INPUT -p udp -g SUB", f"INPUT {OVER} {BY} -j DROP", "SUB -s 10.0.0.0/8 -j DROP"),
    ("every device that begins so", None, "for several devices (eth+): choose one with -i", f"INPUT -i eth+ {OVER} {BY} -j DROP"),
    ("behind NAT", f"{V4} tcp dport 22 limit 9/minute burst 5", "by fields that NAT rewrites", "*nat",
     "PREROUTING -p udp -m udp --dport 53 -j REDIRECT --to-ports 5353", "*filter",
     f"INPUT -p udp --dport 5353 {OVER} {BY} -j DROP", f"INPUT -p tcp --dport 22 {OTHER} {BY} -j DROP"),
    ("in front of NAT", f"{V4} udp dport 53 limit 100/second burst 50", None, "*nat",
     "PREROUTING -p udp -m udp --dport 53 -j REDIRECT --to-ports 5353", "*raw", f"PREROUTING {DNS} {OVER} {BY} -j DROP"),
    ("a source that is forgotten too early", None, "forgets a source after 0.4 s, before its burst of 50 is refilled",
     f"INPUT {OVER} {BY} --hashlimit-htable-expire 400 -j DROP"),
    ("and by the table's own usage", None, "forgets a source after 1 s",
     f"INPUT -m hashlimit --hashlimit-above 10/sec --hashlimit-burst 50 {BY} --hashlimit-name a -j DROP"),
    ("untracked is not established", None, "line 7 lets packets past it, but matches by state UNTRACKED",
     "INPUT -m conntrack --ctstate UNTRACKED -j ACCEPT", f"INPUT -p tcp --syn {OVER} {BY} -j DROP"),
    ("a table that may be full", None, "when its table is full", f"INPUT {OVER} {BY} --hashlimit-htable-max 9 -j DROP"),
    ("ports of another protocol", None, "matches by ports of another protocol",
     f"INPUT -p 136 -m multiport --dports 53 {OVER} {BY} -j DROP"),
    ("in nat", None, "sees only the first packet of a connection", "*nat", f"PREROUTING {OVER} {BY} -j DROP"),
    ("a comment", ONE, None, f'INPUT -m comment --comment "every source" {OVER} {BY} -j DROP'),
    ("counters before the line", ONE, None, f"[3:180] -A INPUT {OVER} {BY} -j DROP"),
    ("IPv6 by address", "::/0 limit 100/second burst 50 per source/32,128", ND, "-6", f"INPUT {OVER} {BY} -j DROP"),
    ("IPv6 by /64", "::/0 udp limit 100/second burst 50", "link-local sources count by /128", "-6",
     f"INPUT -p udp {OVER} {BY} --hashlimit-srcmask 64 -j DROP"),
    ("IPv6 by address and port", None, "counts by dport, saddr", "-6", f"INPUT -p udp {OVER} {PORT} -j DROP"),
    ("ICMPv6", "::/0 icmp6 limit 100/second burst 50 per rule", ND, "-6", f"INPUT -p ipv6-icmp {OVER} -j DROP"),
]


def iptables_text(lines):
    """Line 7 is the first -A line of a row that has the table filter alone."""
    version, default, out = "iptables-save", "ACCEPT", []
    for line in lines:
        if line == "-host":
            continue
        if line == "-6":
            version = "ip6tables-save"
        elif line == "-P DROP":
            default = "DROP"
        elif line.startswith("*"):
            out += [line, ":INPUT ACCEPT [0:0]" if line == "*filter" else ":PREROUTING ACCEPT [0:0]"]
        else:
            out.append(line if line.startswith("[") else f"-A {line}")
    head = [f"# Generated by {version}"]
    if not out[0].startswith("*"):
        head += ["*filter", f":INPUT {default} [0:0]", ":FORWARD ACCEPT [0:0]", ":OUTPUT ACCEPT [0:0]", ":SUB - [0:0]"]
    return "\n".join(head + out + ["COMMIT", ""])


# ---- nft: (name, policy, left, rules of chain c as lists of expressions); a dict changes the chain

def payload(protocol, field):
    return {"payload": {"protocol": protocol, "field": field}}


def match(left, right, how="=="):
    return {"match": {"op": how, "left": left, "right": right}}


def limit(amount, burst, over=True, per="second", **more):
    return {"limit": {"rate": amount, "burst": burst, "per": per, **({"inv": True} if over else {}), **more}}


def by(key, statement, name="s", how="add"):
    return {"set": {"op": how, "elem": key, "set": f"@{name}", "stmt": [statement]}}


SADDR, DADDR, SADDR6 = payload("ip", "saddr"), payload("ip", "daddr"), payload("ip6", "saddr")
UDP53 = match(payload("udp", "dport"), 53)
ABOVE, WITHIN, NINE = limit(100, 50), limit(100, 50, over=False), limit(9, 5)
DROP, ACCEPT = {"drop": None}, {"accept": None}
UDP, TCP = (match({"meta": {"key": "l4proto"}}, name) for name in ("udp", "tcp"))
STATE = {"ct": {"key": "state"}}
SYN = match({"&": [payload("tcp", "flags"), ["syn", "ack"]]}, "syn")
NETS = {"set": [{"prefix": {"addr": "192.0.2.0", "len": 25}}, {"prefix": {"addr": "198.51.100.0", "len": 24}}]}
STATES = {"vmap": {"key": STATE, "data": {"set": [["established", ACCEPT], ["invalid", DROP]]}}}

NFT = [
    ("a limit of a rule", ALL, ND, [ABOVE, DROP]),
    ("a port", "any udp dport 53 limit 100/second burst 50 per rule", None, [UDP53, ABOVE, DROP]),
    ("add to a set", f"{V4} udp dport 53 limit 100/second burst 50", None,
     [UDP53, by(SADDR, ABOVE), {"counter": {"packets": 1, "bytes": 60}}, DROP]),
    ("update a set", ONE, None, [by(SADDR, ABOVE, how="update"), DROP]),
    ("an element with a timeout", ONE, None, [by({"elem": {"val": SADDR, "timeout": 60}}, ABOVE, how="update"), DROP]),
    ("an element that goes at its time", None, "forgets a source at a fixed time",
     [by({"elem": {"val": SADDR, "timeout": 60}}, ABOVE), DROP]),
    ("a meter", ONE, None, [{"meter": {"name": "m", "size": 9, "key": SADDR, "stmt": ABOVE}}, DROP]),
    ("a mask", f"{ONE} per source/24", None, [by({"&": [SADDR, "255.255.255.0"]}, ABOVE), DROP]),
    ("no mask", None, "is not a netmask", [by({"&": [SADDR, "255.0.255.0"]}, ABOVE), DROP]),
    ("IPv6 with a mask", "::/0 limit 100/second burst 50 per source/32,56", ND,
     [by({"&": [SADDR6, "ffff:ffff:ffff:ff00::"]}, ABOVE), DROP]),
    ("IPv6 by address", "::/0 limit 100/second burst 50 per source/32,128", ND, [by(SADDR6, ABOVE), DROP]),
    ("one family and both", "any udp src 0.0.0.0/0 limit 100/second burst 50;any tcp limit 9/second burst 5 per rule", None,
     [UDP, by(SADDR, ABOVE), DROP], [TCP, NINE, DROP]),
    ("by destination", f"{ONE} per dest", None, [by(DADDR, ABOVE), DROP]),
    ("by source and port", f"{V4} tcp limit 100/second burst 50 per source+dport", None,
     [by({"concat": [SADDR, payload("tcp", "dport")]}, ABOVE), DROP]),
    ("by both addresses", f"{ONE} per source+dest", None, [by({"concat": [SADDR, DADDR]}, ABOVE), DROP]),
    ("by what a policy cannot", None, "counts by meta iifname", [by({"meta": {"key": "iifname"}}, ABOVE), DROP]),
    ("bytes", None, "counts bytes of IP packets",
     [limit(1, 512, rate_unit="mbytes", burst_unit="kbytes"), DROP]),
    ("weeks", "any limit 100/7d burst 5 per rule", ND, [limit(100, 5, per="week"), DROP]),
    ("within, and the rest dropped", f"{V4} udp dport 53 limit 100/second burst 50;any udp dport 53 deny", None,
     [UDP53, by(SADDR, WITHIN), ACCEPT], [UDP53, DROP]),
    ("within, and the rest accepted", None, "but nothing drops packets over it", [WITHIN, ACCEPT]),
    ("within, and the policy of the chain", ALL, ND, {"policy": "drop"}, [WITHIN, ACCEPT]),
    ("within dropped", None, "drops what is within its limit", [WITHIN, DROP]),
    ("by name", "any udp dport 53 limit 9/hour burst 3 per rule", None,
     [UDP53, {"limit": "named"}, ACCEPT], [UDP53, DROP]),
    ("by name, twice", None, "shares its counts with",
     [UDP53, {"limit": "named"}, ACCEPT], [UDP53, DROP], [SYN, {"limit": "named"}, ACCEPT], [SYN, DROP]),
    ("reject", ALL, ND, [ABOVE, {"reject": None}]),
    ("TCP that opens", "any tcp syn limit 100/second burst 50 per rule", None, [SYN, ABOVE, DROP]),
    ("SYN with or without ACK", None, "matches by tcp flags", [match(payload("tcp", "flags"), "syn", "in"), ABOVE, DROP]),
    ("TCP that is new", None, "matches by state new",
     [match(payload("tcp", "dport"), 22), match(STATE, "new", "in"), ABOVE, DROP]),
    ("connections accepted before", None, "lets packets past it, but matches by the state of connections",
     [match(STATE, ["established", "related"], "in"), ACCEPT], [ABOVE, DROP]),
    ("TCP behind what is known", "any tcp dport 22 not established limit 100/second burst 50 per rule",
     "inet t c handle 2 carried, but the ACK", [match(STATE, ["established", "related"], "in"), ACCEPT],
     [match(payload("tcp", "dport"), 22), ABOVE, DROP]),
    ("UDP behind what is known", None, "but matches by the state of connections",
     [match(STATE, "established", "in"), ACCEPT], [UDP, ABOVE, DROP]),
    ("a SYN that is new", "any tcp syn limit 100/second burst 50 per rule", None,
     [SYN, match(STATE, "new", "in"), ABOVE, DROP]),
    ("connections accepted by a map", None, "but matches by a map of verdicts", [STATES], [SYN, ABOVE, DROP]),
    ("another map", None, "lets packets past it", [{"vmap": {"key": SADDR, "data": "@m"}}], [ABOVE, DROP]),
    ("a range of ports", "any udp dport 1000-2000 limit 100/second burst 50 per rule", None,
     [match(payload("udp", "dport"), {"range": [1000, 2000]}), ABOVE, DROP]),
    ("ports, counted together", None, "counts several ports together",
     [match(payload("udp", "dport"), {"set": [53, 123]}), ABOVE, DROP]),
    ("ports, each counted", f"{V4} udp dport 53 limit 100/second burst 50;{V4} udp dport 123 limit 100/second burst 50",
     None, [match(payload("udp", "dport"), {"set": [53, 123]}),
            by({"concat": [SADDR, payload("udp", "dport")]}, ABOVE), DROP]),
    ("a port by its name", None, "port 'domain' is not a number", [match(payload("udp", "dport"), "domain"), ABOVE, DROP]),
    ("networks, each address counted", "192.0.2.0/25 limit 100/second burst 50;198.51.100.0/24 limit 100/second burst 50",
     None, [match(SADDR, NETS), by(SADDR, ABOVE), DROP]),
    ("networks, counted by wider ones", None, "counts several addresses together",
     [match(SADDR, NETS), by({"&": [SADDR, "255.0.0.0"]}, ABOVE), DROP]),
    ("a set of accepted addresses", f"192.0.2.1 allow;192.0.2.128/25 allow;{ALL}", ND,
     [match(SADDR, "@known"), ACCEPT], [ABOVE, DROP]),
    ("a set whose elements change", None, "lets packets past it", [match(SADDR, "@moving"), ACCEPT], [ABOVE, DROP]),
    ("a range of addresses", None, "range of addresses",
     [match(SADDR, {"range": ["192.0.2.1", "192.0.2.9"]}), ABOVE, DROP]),
    ("no match of a policy", None, "matches by icmp type", [match(payload("icmp", "type"), "echo-request"), ABOVE, DROP]),
    ("not equal", None, "matches by not ip saddr", [match(SADDR, "192.0.2.1", "!="), ABOVE, DROP]),
    ("counted before it matches", None, "counts packets before its last match", [ABOVE, UDP53, DROP]),
    ("two limits in a rule", None, "has two limits", [ABOVE, by(SADDR, NINE), DROP]),
    ("a set without a limit", None, "handle 1 left to the firewall",
     [UDP53, {"set": {"op": "add", "elem": SADDR, "set": "@limited"}}, DROP]),
    ("made by iptables", None, "was made by iptables", [{"xt": {"type": "match", "name": "hashlimit"}}, ABOVE, DROP]),
    ("two sets", f"{V4} udp limit 100/second burst 50;{V4} tcp limit 100/second burst 50", None,
     [match({"meta": {"key": "l4proto"}}, "udp"), by(SADDR, ABOVE, "a"), DROP],
     [match({"meta": {"key": "l4proto"}}, 6), by(SADDR, ABOVE, "b"), DROP]),
    ("one set for two limits", None, "shares its counts with",
     [match({"meta": {"key": "l4proto"}}, "udp"), by(SADDR, ABOVE), DROP],
     [match({"meta": {"key": "l4proto"}}, "tcp"), by(SADDR, ABOVE), DROP]),
    ("a table of IPv4", f"{ONE} per rule", None, {"family": "ip"}, [ABOVE, DROP]),
    ("a table of devices", ALL, "it counts ARP and other non-IP frames", {"family": "netdev", "hook": "ingress", "dev": "eth0"}, [ABOVE, DROP]),
    ("a map by name of a limit", None, "has an unknown limit",
     [{"limit": {"map": {"key": SADDR, "data": "@m"}}}, DROP]),
    ("families by their numbers", "::/0 udp dport 53 limit 100/second burst 50 per rule", None,
     [match({"meta": {"key": "nfproto"}}, 10), UDP53, ABOVE, DROP]),
    ("words that are not known", None, "has unknown words", [match({"meta": {"key": "nfproto"}}, 99), ABOVE, DROP]),
    ("every device that begins so", None, "for several devices (eth*)", [match({"meta": {"key": "iifname"}}, "eth*"), ABOVE, DROP]),
    ("invalid is not established", None, "lets packets past it, but matches by state invalid",
     [match(STATE, "invalid", "in"), ACCEPT], [SYN, ABOVE, DROP]),
    ("a jump of a map", None, "is reached through a verdict map", {"chain d": [[ABOVE, DROP]]},
     [{"vmap": {"key": {"payload": {"protocol": "ip", "field": "protocol"}}, "data": {"set": [["udp", {"jump": {"target": "d"}}]]}}}]),
    ("goto does not come back", "any udp dport 53 deny", "handle 2 inet t c handle 1 lets packets past it", {"chain d": [[UDP53, DROP]]},
     [UDP, {"goto": {"target": "d"}}], [ABOVE, DROP]),
    ("in nat", None, "sees only the first packet of a connection", {"type": "nat", "hook": "prerouting"}, [ABOVE, DROP]),
    ("two chains of one priority", None, "may come before or after it", {"also": [UDP53, DROP]}, [ABOVE, DROP]),
    ("the first header of IPv6", None, "matches by ip6 nexthdr", [match(payload("ip6", "nexthdr"), "udp"), ABOVE, DROP]),
    ("a limit in a set", None, "by a limit in the set @counted",
     [{"set": {"op": "add", "elem": SADDR, "set": "@counted"}}, DROP]),
    ("any port of a transport", None, "matches by th dport", [match(payload("th", "dport"), 53), ABOVE, DROP]),
    ("a table of bridges", None, "is for the family bridge", {"family": "bridge"}, [ABOVE, DROP]),
    ("sent", None, "is for packets that are sent", {"hook": "output"}, [ABOVE, DROP]),
]


def nft_text(rules):
    chain = {"family": "inet", "table": "t", "name": "c", "hook": "input", "policy": "accept"}
    below, also = [], []
    for changes in (r for r in rules if isinstance(r, dict)):
        below += changes.pop("chain d", [])
        also += changes.pop("also", [])
        chain.update(changes)
    own = {"family": chain["family"], "table": "t"}
    known = ["192.0.2.1", {"prefix": {"addr": "192.0.2.128", "len": 25}}]
    objects = [{"metainfo": {"json_schema_version": 1}}, {"table": {"family": chain["family"], "name": "t"}},
               {"limit": {**own, "name": "named", "rate": 9, "per": "hour", "burst": 3}},
               {"set": {**own, "name": "known", "elem": known}}, {"set": {**own, "name": "counted", "stmt": [ABOVE]}},
               {"set": {**own, "name": "moving", "flags": ["timeout"], "elem": known}}, {"chain": chain}]
    expressions = [r for r in rules if isinstance(r, list)]
    objects += [{"rule": {**own, "chain": "c", "handle": n, "expr": e}} for n, e in enumerate(expressions, 1)]
    if also:
        objects += [{"chain": {**chain, "table": "u"}}, {"rule": {**own, "table": "u", "chain": "c", "handle": 1, "expr": also}}]
    objects += [{"rule": {**own, "chain": "d", "handle": n, "expr": e}} for n, e in enumerate(below, len(expressions) + 1)]
    return '{"nftables": ' + json.dumps(objects) + "}"


# ---- xdpfw: (name, policy, left, the contents of filters = ( … ), other settings)

BAN = "per source/32,128 over ban 1s source"
SEEN4 = "{0} tcp deny;{0} udp deny;{0} icmp deny"
ALL_KINDS = "carried, but it counts every protocol"
ON = "enabled = true; action = 0;"
ALLOWED = "enabled = true; action = 1;"

XDPFW = [
    ("packets a second: the last one is dropped", f"any limit fixed-window 499/second {BAN}", ALL_KINDS, f"{{ {ON} ip_pps = 500; }}"),
    ("a ban, commas, and a range of ports",
     "any udp dport 27000-27015 deny", "block_time: a source that is dropped is not blocked",
     '{ enabled = true, action = 0, block_time = 60, udp_enabled = true, udp_dport = "27000-27015" }'),
    ("no ban", "any limit fixed-window 499/second per source/32,128", ALL_KINDS, f"{{ {ON} block_time = 0; ip_pps = 500L; }}"),
    ("bytes a second", f"any limit fixed-window 124999byte/second {BAN}", ALL_KINDS, f"{{ {ON} ip_bps = 125000; }}"),
    ("a rate of one protocol", None, "ip_pps counts all packets of a source", f"{{ {ON} icmp_enabled = true; ip_pps = 5; }}"),
    ("ICMP is that of IPv4", "0.0.0.0/0 icmp deny", None, f"{{ {ON} block_time = 0; icmp_enabled = true; }}"),
    ("one family has its usual key", "192.0.2.0/24 limit fixed-window 4/second over ban 1s source", ALL_KINDS,
     f'{{ {ON} src_ip = "192.0.2.0/24"; ip_pps = 5; }}'),
    ("one address needs no key", "192.0.2.4 limit fixed-window 4/second per rule over ban 1s source", ALL_KINDS,
     f'{{ {ON} src_ip = "192.0.2.4"; ip_pps = 5; }}'),
    ("flows to one port", None, "flow_pps counts by source address and port",
     f"{{ {ON} udp_enabled = true; udp_dport = 53; flow_pps = 5; }}"),
    ("flows to any port", None, "flow_pps counts by source address and port",
     f"{{ {ON} udp_enabled = true; flow_pps = 5; }}"),
    ("a port that is allowed", None, "counts what line 2 decides on, too",
     f"{{ {ALLOWED} tcp_enabled = true; tcp_dport = 22; }}, {{ {ON} ip_pps = 500; }}"),
    ("allowed by what a policy cannot", None, "counts what line 2 decides on, too",
     f"{{ {ALLOWED} tos = 8; }}, {{ {ON} ip_pps = 500; }}"),
    ("a source that is allowed", f"192.0.2.7 allow;any limit fixed-window 499/second {BAN}", ALL_KINDS,
     f'{{ {ALLOWED} src_ip = "192.0.2.7"; }}, {{ {ON} ip_pps = 500; }}'),
    ("a source that is allowed behind a block", None, "counts what line 2 decides on, too",
     f'{{ {ON} ip_pps = 500; }}, {{ {ALLOWED} src_ip = "192.0.2.7"; }}'),
    ("denied", f"{SEEN4.format('198.51.100.4')};2001:db8::4 tcp deny;2001:db8::4 udp deny", None,
     f'{{ {ON} src_ip = "198.51.100.4"; }}, {{ {ON} src_ip6 = "2001:db8::4"; }}'),
    ("denied with a ban", "any udp dport 19 deny", "block_time: a source that is dropped is not blocked",
     f"{{ {ON} block_time = 30; udp_enabled = true; udp_dport = 19; }}"),
    ("denied without a ban", "any udp dport 19 deny", None, f"{{ {ON} block_time = 0; udp_enabled = true; udp_dport = 19; }}"),
    ("SYN without ACK", "any tcp syn deny", None,
     f"{{ {ON} block_time = 0; tcp_enabled = true; tcp_syn = true; tcp_ack = false; }}"),
    ("other flags", None, "matches by tcp_urg", f"{{ {ON} tcp_enabled = true; tcp_urg = true; ip_pps = 5; }}"),
    ("lengths", None, "matches by max_len", f"{{ {ON} max_len = 100; ip_pps = 5; }}"),
    ("allowed over a rate", None, "allows packets over a rate", f"{{ {ALLOWED} ip_pps = 5; }}"),
    ("two rates at once", None, "drops what is over both ip_pps and ip_bps", f"{{ {ON} ip_pps = 5; ip_bps = 5; }}"),
    ("a rate of nothing", None, "lets no packet pass", f"{{ {ON} ip_pps = 1; }}"),
    ("no action", None, "has an unknown action", "{ enabled = true; ip_pps = 5; }"),
    ("not enabled", None, None, "{ enabled = false; action = 0; max_len = 100; ip_pps = 5; }"),
    ("the old names", f"{SEEN4.format('198.51.100.4')};any limit fixed-window 499/second per source/32,128 over ban 9s source", ALL_KINDS,
     '{ enabled = true, action = 0, srcip = "198.51.100.4" }, { enabled = true, action = 0, pps = 500, blocktime = 9 }'),
    ("comments and colons", f"any limit fixed-window 499/second {BAN}", ALL_KINDS,
     "# one\n{ enabled: true /* two\n */; action: 0; ip_pps: 0x1f4; // three\n}"),
    ("the line is named", None, "line 4 matches by tos: a policy cannot", f"\n\n{{ {ON} tos = 8; ip_pps = 5; }}"),
    ("networks that are dropped", f"{SEEN4.format('10.0.0.0/8')};any limit fixed-window 4/second {BAN}", ALL_KINDS, f"{{ {ON} ip_pps = 5; }}",
     'ip_drop_ranges = [ "10.0.0.0/8" ];'),
    ("broken", None, "line 3: unexpected =", "{\n = }"),
    ("no setting of libconfig", None, "is not libconfig syntax", "{ enabled = true; $ }"),
    ("another file", None, "@include: includes are not read", "", '@include "more.conf"'),
]


def xdpfw_text(words):
    return "\n".join([f'filters = (  {words[0]} );', *words[1:], 'interface = "eth0";', ""]).replace("(  ", "(\n", 1)


# ---- one test per row

def outcome(text, form, host):
    """Rules joined by ; and what is said to be left out."""
    try:
        policy = importer.convert(text, device=None, rlctl=RLCTL, host=host)
    except importer.Left as why:
        return None, str(why)
    if importer.format_of(text) != form:
        return f"recognised as {importer.format_of(text)}", None
    rules = ";".join(rule.removeprefix("rule ") for rule, _ in policy.lines)
    said = [f"{place} {why}" for place, why in policy.left] + [f"{place} left to the firewall" for place in policy.drops]
    return rules or None, "; ".join(said) or None


def accepted(rules):
    text = "".join(f"rule {rule}\n" for rule in rules.split(";")) if rules else ""
    return subprocess.run([RLCTL, "apply", "--check", "-"], input=text, text=True, check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def row(name, wanted, left, text, form, host):
    rules, said = outcome(text, form, host)
    good = rules == wanted and (said is None if left is None else left in (said or "")) and accepted(rules)
    print(f"{'ok' if good else 'not ok'} {form}: {name}")
    if not good:
        print(f"# rules:  {rules}\n# wanted: {wanted}\n# left out: {said}\n# wanted:   {left}")
    return good


def main():
    tables = (("iptables", IPTABLES, iptables_text), ("nft", NFT, nft_text), ("xdpfw", XDPFW, xdpfw_text))
    results = [row(name, wanted, left, make(entry), form, "-host" not in entry)
               for form, rows, make in tables for name, wanted, left, *entry in rows]
    return 0 if all(results) else 1


sys.exit(main())
