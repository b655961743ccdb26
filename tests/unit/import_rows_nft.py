# SPDX-License-Identifier: GPL-2.0-only
"""Rows of import_rows.py for nft: (name, policy, left, rules of chain c as lists of expressions); a dict changes the
chain."""
import json

from import_rows_common import CONNECTIONS, LOOSE, ND, ONE, SYN as SYN_ALONE, V4

ALL = "any limit 100/second burst 50 per rule"


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
OPEN = {"ct count": {"val": 10, "inv": True}}
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
    ("an element that goes at its time", ONE, "gives each source its whole burst again every 60 s",
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
    ("SYN alone", f"any tcp {SYN_ALONE} limit 100/second burst 50 per rule", None,
     [match({"&": [payload("tcp", "flags"), ["fin", "syn", "rst", "ack"]]}, "syn"), ABOVE, DROP]),
    ("flags of which three are nested, as nft before 1.1 prints them", "any tcp flags fin,psh,ack deny", None,
     [match(payload("tcp", "flags"), {"set": [{"|": [{"|": ["fin", "psh"]}, "ack"]}]}), DROP]),
    ("a mask that is nested", f"any tcp {SYN_ALONE} limit 100/second burst 50 per rule", None,
     [match({"&": [payload("tcp", "flags"), {"|": [{"|": [{"|": ["fin", "syn"]}, "rst"]}, "ack"]}]}, "syn"), ABOVE, DROP]),
    ("states that are nested", "any udp limit 100/second burst 50 per rule", None,
     [TCP, match(STATE, {"|": [{"|": ["established", "related"]}, "new"]}, "in"), ACCEPT], [UDP, ABOVE, DROP]),
    ("no chain has a hook", None, "has no chain with a hook", {"hook": None}, [ABOVE, DROP]),
    ("a queue", "any tcp limit 100/second burst 50 per rule", "inet t c handle 1 hands packets to a program, which may drop them",
     [UDP53, {"queue": {"num": 3}}], [TCP, ABOVE, DROP]),
    ("a proxy", None, "inet t c handle 1 hands packets to synproxy, which may drop them", [TCP, {"synproxy": {"mss": 1460}}]),
    ("a rule that only adds to a set", "any tcp limit 100/second burst 50 per rule", None,
     [UDP, {"set": {"op": "add", "elem": SADDR, "set": "@s"}}], [TCP, ABOVE, DROP]),
    ("a rule of iptables without a limit", "any tcp limit 100/second burst 50 per rule", "inet t c handle 1 has words that are not read, and may drop",
     [UDP, {"xt": {"type": "target", "name": "TARPIT"}}], [TCP, ABOVE, DROP]),
    ("a queue by a map", None, "inet t c handle 1 hands packets to a program", [{"vmap": {"key": payload("tcp", "dport"), "data": {"set": [[22, {"queue": None}]]}}}]),
    ("untracked too late", f"any tcp {SYN_ALONE} limit 100/second burst 50 per rule", LOOSE, [{"notrack": None}], [TCP, match(STATE, "new", "in"), ABOVE, DROP]),
    ("untracked", None, "a policy cannot express which packets it is for", {"hook": "prerouting", "prio": -300},
     [TCP, {"notrack": None}], [TCP, match(STATE, "new", "in"), ABOVE, DROP]),
    ("untracked, and accepted", "any tcp allow;any tcp limit 100/second burst 50 per rule", None, {"hook": "prerouting", "prio": -300},
     [TCP, {"notrack": None}, ACCEPT], [TCP, ABOVE, DROP]),
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
    ("SYN with or without ACK", "any tcp flags syn/syn limit 100/second burst 50 per rule", None, [match(payload("tcp", "flags"), "syn", "in"), ABOVE, DROP]),
    ("any of two flags", "any tcp not flags none/fin,rst limit 100/second burst 50 per rule", None,
     [match(payload("tcp", "flags"), ["fin", "rst"], "in"), ABOVE, DROP]),
    ("none of the flags", "any tcp flags none/fin,syn deny;any tcp limit 100/second burst 50 per rule", None,
     [match(payload("tcp", "flags"), ["fin", "syn"], "!"), DROP], [TCP, ABOVE, DROP]),
    ("two values of the flags", "any tcp flags syn/fin,syn,rst,psh,urg,ece,cwr deny", None,
     [match(payload("tcp", "flags"), {"set": ["syn", {"|": ["syn", "ack"]}]}), DROP]),
    ("TCP that is new", f"any tcp dport 22 {SYN_ALONE} limit 100/second burst 50 per rule", LOOSE,
     [match(payload("tcp", "dport"), 22), match(STATE, "new", "in"), ABOVE, DROP]),
    ("connections accepted before", None, "lets packets past it, but matches by the state of connections",
     [match(STATE, ["established", "related"], "in"), ACCEPT], [ABOVE, DROP]),
    ("TCP behind what is known", "any tcp dport 22 not established limit 100/second burst 50 per rule",
     "inet t c handle 2 carried, but the ACK", [match(STATE, ["established", "related"], "in"), ACCEPT],
     [match(payload("tcp", "dport"), 22), ABOVE, DROP]),
    ("UDP behind what is known", None, "but matches by the state of connections",
     [match(STATE, "established", "in"), ACCEPT], [UDP, ABOVE, DROP]),
    ("a SYN that is new", f"any tcp {SYN_ALONE} limit 100/second burst 50 per rule", LOOSE,
     [SYN, match(STATE, "new", "in"), ABOVE, DROP]),
    ("connections accepted by a map", "any tcp syn limit 100/second burst 50 per rule", "it counts what inet t c handle 1 drops",
     [STATES], [SYN, ABOVE, DROP]),
    ("ports accepted by a map", "any tcp dport 22 allow;any tcp dport 23 deny;any tcp limit 100/second burst 50 per rule", None,
     [{"vmap": {"key": payload("tcp", "dport"), "data": {"set": [[22, ACCEPT], [23, DROP]]}}}], [TCP, ABOVE, DROP]),
    ("another map", None, "lets packets past it", [{"vmap": {"key": SADDR, "data": "@m"}}], [ABOVE, DROP]),
    ("a range of ports", "any udp dport 1000-2000 limit 100/second burst 50 per rule", None,
     [match(payload("udp", "dport"), {"range": [1000, 2000]}), ABOVE, DROP]),
    ("ports, counted together", "any udp dport 53,123 limit 100/second burst 50 per rule", None,
     [match(payload("udp", "dport"), {"set": [53, 123]}), ABOVE, DROP]),
    ("ports that are greater", "any tcp dport 1025-65535 limit 100/second burst 50 per rule", None,
     [match(payload("tcp", "dport"), 1024, ">"), ABOVE, DROP]),
    ("not these ports", "any tcp not dport 22,80 limit 100/second burst 50 per rule", None,
     [match(payload("tcp", "dport"), {"set": [22, 80]}, "!="), ABOVE, DROP]),
    ("lengths", "any udp length 30-32 deny;any udp length 46 deny;any udp limit 100/second burst 50 per rule", None,
     [UDP, match({"meta": {"key": "length"}}, {"set": [{"range": [30, 32]}, 46]}), DROP], [UDP, ABOVE, DROP]),
    ("the payload of IPv6", "::/0 udp length 0-139 limit 100/second burst 50 per rule", None,
     [UDP, match(payload("ip6", "length"), 100, "<"), ABOVE, DROP]),
    ("frames are padded where lengths are those of frames", None, "matches by meta length", {"family": "netdev", "hook": "ingress", "dev": "eth0"},
     [match({"meta": {"key": "length"}}, {"range": [0, 40]}), ABOVE, DROP]),
    ("TTL and hop limit", f"any src {V4} ttl 0-4 deny;any udp src ::/0 ttl 255 limit 100/second burst 50 per rule;any tcp limit 9/second burst 5 per rule", None,
     [match(payload("ip", "ttl"), 5, "<"), DROP], [match(payload("ip6", "hoplimit"), 255), UDP, ABOVE, DROP], [TCP, NINE, DROP]),
    ("DSCP", f"{V4} dscp 46 limit 100/second burst 50 per rule", None, [match(payload("ip", "dscp"), "ef"), ABOVE, DROP]),
    ("bytes behind the header", "any udp dport 53 payload 0 ffffffff54 limit 100/second burst 50 per rule", None,
     [UDP53, match({"payload": {"base": "th", "offset": 64, "len": 40}}, 0xffffffff54), ABOVE, DROP]),
    ("other bytes", "any udp dport 53 not payload 0 ffffffff limit 100/second burst 50 per rule", None,
     [UDP53, match({"payload": {"base": "th", "offset": 64, "len": 32}}, 0xffffffff, "!="), ABOVE, DROP]),
    ("some bits of bytes", "any udp dport 53 payload 2 8000/8000 limit 100/second burst 50 per rule", None,
     [UDP53, match({"&": [{"payload": {"base": "th", "offset": 80, "len": 16}}, 0x8000]}, 0x8000), ABOVE, DROP]),
    ("bytes behind the options of TCP", "any tcp payload 0 47455420 limit 100/second burst 50 per rule", None,
     [TCP, match({"payload": {"base": "ih", "offset": 0, "len": 32}}, 0x47455420), ABOVE, DROP]),
    ("bytes of a header", None, "in a header", [UDP53, match({"payload": {"base": "th", "offset": 0, "len": 16}}, 53), ABOVE, DROP]),
    ("addresses with ports", f"192.0.2.1 tcp dport 22 allow;192.0.2.2 tcp dport 80 allow;192.0.2.0/24 deny", None,
     [match({"concat": [SADDR, payload("tcp", "dport")]}, {"set": [{"concat": ["192.0.2.1", 22]}, {"concat": ["192.0.2.2", 80]}]}), ACCEPT],
     [match(SADDR, {"prefix": {"addr": "192.0.2.0", "len": 24}}), DROP]),
    ("any device but the loopback", ALL, ND, [match({"meta": {"key": "iifname"}}, "lo", "!="), ABOVE, DROP]),
    ("not a protocol", "any not tcp limit 100/second burst 50 per rule", ND, [match({"meta": {"key": "l4proto"}}, "tcp", "!="), ABOVE, DROP]),
    ("ct count over", "any tcp limit 10 connections per rule", CONNECTIONS, [TCP, OPEN, DROP]),
    ("ct count in a set", f"{V4} tcp limit 10 connections", CONNECTIONS, [TCP, by(SADDR, OPEN), DROP]),
    ("ct count in a meter", f"{V4} tcp limit 10 connections", CONNECTIONS, [TCP, {"meter": {"name": "m", "size": 9, "key": SADDR, "stmt": OPEN}}, DROP]),
    ("ct count by network and port", f"{V4} tcp limit 10 connections per source/24+dport", CONNECTIONS,
     [by({"concat": [{"&": [SADDR, "255.255.255.0"]}, payload("tcp", "dport")]}, OPEN), {"reject": None}]),
    ("ct count of IPv6", "::/0 tcp limit 10 connections per source/32,56", CONNECTIONS,
     [TCP, by({"&": [SADDR6, "ffff:ffff:ffff:ff00::"]}, OPEN), DROP]),
    ("ct count of new connections", "any tcp limit 10 connections per rule", CONNECTIONS, [TCP, match(STATE, "new", "in"), OPEN, DROP]),
    ("ct count, then drop", "any tcp limit 10 connections per rule", CONNECTIONS, [TCP, {"ct count": {"val": 10}}, ACCEPT], [TCP, DROP]),
    ("ct count by the remote port", None, "is not what connections can be counted by", [by({"concat": [SADDR, payload("tcp", "sport")]}, OPEN), DROP]),
    ("ct count of none", None, "connections", [TCP, {"ct count": {"val": 0, "inv": True}}, DROP]),
    ("ct count of every protocol", None, "other protocols than TCP", [OPEN, DROP]),
    ("ct count of what is forwarded", None, "connections that pass through have none", {"hook": "forward"}, [TCP, OPEN, DROP]),
    ("ct count that hands on", None, "hands on to chain d", {"chain d": []}, [TCP, OPEN, {"jump": {"target": "d"}}]),
    ("ct count and another limit", None, "has two limits", [OPEN, ABOVE, DROP]),
    ("ports, each counted", f"{V4} udp dport 53,123 limit 100/second burst 50 per source+dport",
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
    ("a range of addresses", None, "counts several addresses together",
     [match(SADDR, {"range": ["192.0.2.1", "192.0.2.9"]}), ABOVE, DROP]),
    ("no match of a policy", None, "matches by meta mark", [match({"meta": {"key": "mark"}}, 5), ABOVE, DROP]),
    ("an ICMP type", f"{V4} icmp icmp-type 8 limit 100/second burst 50 per rule", None, [match(payload("icmp", "type"), "echo-request"), ABOVE, DROP]),
    ("ICMP types", "any icmp icmp-type 3 src 0.0.0.0/0 deny;any icmp icmp-type 8 src 0.0.0.0/0 deny;any icmp limit 100/second burst 50 per rule", None,
     [match(payload("icmp", "type"), {"set": ["echo-request", 3]}), DROP], [match({"meta": {"key": "l4proto"}}, "icmp"), ABOVE, DROP]),
    ("ICMP types, counted together", None, "counts several ICMP types together",
     [match(payload("icmp", "type"), {"set": ["echo-request", 3]}), ABOVE, DROP]),
    ("a type and its code", f"{V4} icmp icmp-type 3 code 3 limit 100/second burst 50 per rule", None,
     [match(payload("icmp", "type"), "destination-unreachable"), match(payload("icmp", "code"), "port-unreachable"), ABOVE, DROP]),
    ("not equal", f"{V4} not src 192.0.2.1 limit 100/second burst 50 per rule", None, [match(SADDR, "192.0.2.1", "!="), ABOVE, DROP]),
    ("none of two networks", None, "several addresses with `not`", [match(SADDR, NETS, "!="), ABOVE, DROP]),
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
    ("invalid is not established", None, "lets packets past it, but matches by state INVALID",
     [match(STATE, "invalid", "in"), ACCEPT], [SYN, ABOVE, DROP]),
    ("a jump of a map", f"{V4} udp limit 100/second burst 50 per rule", None, {"chain d": [[ABOVE, DROP]]},
     [{"vmap": {"key": {"payload": {"protocol": "ip", "field": "protocol"}}, "data": {"set": [["udp", {"jump": {"target": "d"}}]]}}}]),
    ("a jump of two of a map", None, "is reached on several paths", {"chain d": [[ABOVE, DROP]]},
     [{"vmap": {"key": {"payload": {"protocol": "ip", "field": "protocol"}}, "data": {"set": [["udp", {"jump": {"target": "d"}}], ["tcp", {"jump": {"target": "d"}}]]}}}]),
    ("goto does not come back", "any udp dport 53 deny", "handle 2 inet t c handle 1 lets packets past it", {"chain d": [[UDP53, DROP]]},
     [UDP, {"goto": {"target": "d"}}], [ABOVE, DROP]),
    ("in nat", None, "sees only the first packet of a connection", {"type": "nat", "hook": "prerouting"}, [ABOVE, DROP]),
    ("two chains of one priority", None, "may come before or after it", {"also": [UDP53, DROP]}, [ABOVE, DROP]),
    ("the first header of IPv6", None, "matches by ip6 nexthdr", [match(payload("ip6", "nexthdr"), "udp"), ABOVE, DROP]),
    ("a limit in a set", None, "by a limit in the set @counted",
     [{"set": {"op": "add", "elem": SADDR, "set": "@counted"}}, DROP]),
    ("any port of a transport", None, "matches by ports of another protocol", [match(payload("th", "dport"), 53), ABOVE, DROP]),
    ("a port of some transports", f"{V4} udp dport 53 limit 100/second burst 50;{V4} tcp dport 53 limit 100/second burst 50", None,
     [match({"meta": {"key": "l4proto"}}, {"set": ["udp", "tcp"]}), match(payload("th", "dport"), 53),
      by({"concat": [SADDR, {"meta": {"key": "l4proto"}}]}, ABOVE), DROP]),
    ("a table of bridges", None, "is for the family bridge", {"family": "bridge"}, [ABOVE, DROP]),
    ("sent", None, "is for packets that are sent", {"hook": "output"}, [ABOVE, DROP]),
    ("an accept of both families between a drop that a policy cannot say and a limit of one", None, "handle 1 drops packets before it",
     [match({"meta": {"key": "mark"}}, 1), DROP], [match(payload("tcp", "dport"), 22), ACCEPT], [TCP, by(SADDR, ABOVE), DROP]),
    ("close: what is over goes into a set, too", ONE, "adds to the set @bad", "-close", [by(SADDR, ABOVE), {"set": {"op": "add", "elem": SADDR, "set": "@bad"}}, DROP]),
    ("close: a limit of bytes", "any limit 100kibyte/second burst 120kibyte per rule", "a policy counts bytes of frames", "-close",
     [limit(100, 20, rate_unit="kbytes", burst_unit="kbytes"), DROP]),
    ("close: an accept of both families before a limit of one", "any tcp dport 22 allow;any tcp src 0.0.0.0/0 limit 100/second burst 50 per dest",
     "drops packets before it", "-close", [match({"meta": {"key": "mark"}}, 1), DROP], [match(payload("tcp", "dport"), 22), ACCEPT],
     [TCP, by(DADDR, ABOVE), DROP]),
    ("close: drops what is within its limit", None, "drops what is within its limit", "-close", [UDP, WITHIN, DROP]),
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
