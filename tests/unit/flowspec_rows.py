# SPDX-License-Identifier: GPL-2.0-only
"""Rows of test_flowspec.sh: what rlctl-flowspec reads, the rules that it adds (without `rule device`, their time and
comment), and part of what it says. rlctl accepts each rule, and prints it as it was added. Then routes by chance: the
rules decide about packets as the first route does that matches. Prints TAP.  flowspec_rows.py SCRIPTS RLCTL TMP"""
import ipaddress
import json
import os
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
SCRIPTS, RLCTL, TMP = sys.argv[1:]
sys.path.insert(0, SCRIPTS)
from importer import flowspec  # noqa: E402

NAN, INF = float("nan"), float("inf")
DST = {"destination-ipv4": ["203.0.113.7/32"]}
NET = {"destination-ipv4": ["203.0.113.0/24"]}
SIX = {"destination-ipv6": ["2001:db8::/32/0"]}
UDP = {"protocol": ["=udp"]}
DNS = {**UDP, "destination-port": ["=53"]}


# ---- what exabgp writes

def community(rate, kind=0x8006):
    return {"value": kind << 48 | struct.unpack("!I", struct.pack("!f", rate))[0], "string": "?"}


def line(neighbor, peer="10.0.0.1", **rest):
    return json.dumps({"exabgp": "4.0.1", **rest, "neighbor": {"address": {"local": "10.0.0.2", "peer": peer}, **neighbor}})


def announce(*parts, rate=0.0, communities=None, peer="10.0.0.1", family="ipv4 flow", text="flow x", attribute=None):
    route = {name: value for part in parts for name, value in part.items()}
    found = [community(rate)] if communities is None else communities
    return line({"message": {"update": {"attribute": attribute or {"extended-community": found}, "announce": {
        family: {"no-nexthop": [{**route, "string": text}]}}}}}, peer, type="update")


def withdraw(*parts, peer="10.0.0.1"):
    route = {name: value for part in parts for name, value in part.items()}
    return line({"message": {"update": {"withdraw": {"ipv4 flow": [{**route, "string": "flow x"}]}}}}, peer, type="update")


def gobgp(*components, rate=0, peer="10.0.0.1", **rest):
    return json.dumps([{"nlri": {"value": [{"type": 1, "value": {"prefix": "203.0.113.7/32"}}, *components]}, "neighbor-ip": peer,
                        "attrs": [{"type": 1, "value": 0}, {"type": 16, "value": [{"type": 128, "subtype": 6, "rate": rate}]}], **rest}])


FRR, RATE0 = "Destination Address 203.0.113.7/32", "FS:rate 0.000000"


def frr(*entries, family=4):
    """The print of vtysh for these, by their lines."""
    found = [f"vm# show bgp ipv{family} flowspec detail"]
    for entry in entries:
        found += ["BGP flowspec entry: (flags 0x418)", *(f"\t{text} " for text in entry), "\treceived for 00:00:01", "\tnot installed in PBR"]
    return [*found, *(["", f"Displayed  {len(entries)} flowspec entries"] if entries else ["No BGP prefixes displayed, 0 exist"])]


DOWN = line({"state": "down", "reason": "x"}, type="state")
UP = line({"state": "up"}, type="state")
EOR = line({"message": {"eor": {"afi": "ipv4", "safi": "flow"}}}, type="update")
DROP = "dst 203.0.113.7 deny"
LIMIT = "dst 203.0.113.7 limit 1000byte/second"
OTHER = announce({"destination-ipv4": ["203.0.113.99/32"]})
STAYS = "dst 203.0.113.99 deny"

ROWS = (
    # name, lines, rules, what is said
    ("drop", [announce(DST)], DROP, None),
    ("rate", [announce(DST, rate=1000.0)], LIMIT, None),
    ("another rate of the same route", [announce(DST, rate=5.0), announce(DST, rate=1000.0)], LIMIT, None),
    ("packets a second", [announce(DST, communities=[community(99.5, 0x800c)])], "dst 203.0.113.7 limit 100/second", None),
    ("bytes and packets", [announce(DST, communities=[community(99, 0x800c), community(1000)])],
     LIMIT + ";dst 203.0.113.7 limit 99/second", None),
    ("no action", [announce(DST, communities=[]), announce(NET, DNS, rate=1000.0, attribute={"origin": "igp"}), OTHER], STAYS, None),
    ("less than one", [announce(DST, rate=0.001)], "dst 203.0.113.7 limit 1byte/second", None),
    ("negative is zero (RFC 8955, 7.1)", [announce(DST, rate=-7.0)], DROP, None),
    ("minus zero", [announce(DST, rate=-0.0)], DROP, None),
    ("minus infinity", [announce(DST, rate=-INF)], DROP, None),
    ("more than rlctl has", [announce(DST, rate=3e38)], "dst 203.0.113.7 limit 50000000000byte/second", None),
    ("NaN", [announce(DST, rate=NAN), OTHER], STAYS, "its rate is nan"),
    ("infinity", [announce(DST, rate=INF), OTHER], STAYS, "its rate is inf"),
    ("redirect", [announce(DST, communities=[community(7.0, 0x8008)]), OTHER], STAYS, "its action 0x8008"),
    ("mark", [announce(DST, communities=[community(1.0), community(7.0, 0x8009)]), OTHER], STAYS, "its action 0x8009"),
    ("redirect of IPv6", [announce(DST, attribute={"extended-community-ipv6": [{"value": 7}]}), OTHER], STAYS, "neither drops"),
    ("a change to what is refused", [announce(DST), announce(DST, communities=[community(7.0, 0x8008)]), OTHER], STAYS, "0x8008"),
    ("another community", [announce(DST, communities=[community(0.0, 0x0002), community(0.0)])], DROP, None),
    ("a community that is no number", [announce(DST, communities=[{"value": "x"}]), OTHER], STAYS, "makes no sense"),
    ("withdrawn", [announce(DST), OTHER, withdraw(DST)], STAYS, None),
    ("withdrawn by another peer", [announce(DST), withdraw(DST, peer="10.0.0.9")], DROP, None),
    ("the peer is down", [announce(DST), announce(NET, peer="10.0.0.9"), DOWN], "dst 203.0.113.0/24 deny", None),
    ("a new session, whose end was not reported",
     [announce(DST), announce(NET, peer="10.0.0.9"), UP, OTHER, EOR], STAYS + ";dst 203.0.113.0/24 deny", None),
    ("a new session that has not sent all", [announce(DST), UP, OTHER, EOR.replace("ipv4", "ipv6")], DROP + ";" + STAYS, None),
    ("two peers", [announce(DST), announce(DST, rate=9.0, peer="10.0.0.9"), DOWN], "dst 203.0.113.7 limit 9byte/second", None),
    # components
    ("ports and sources", [announce(DST, {"source-ipv4": ["192.0.2.0/24"], "destination-port": [">=1024&<=2000", "=53"],
                                          "source-port": ["!=53"]})],
     "sport 0-52,54-65535 dport 53,1024-2000 src 192.0.2.0/24 dst 203.0.113.7 deny", None),
    ("more than 16 ports", [announce(DST, UDP, {"destination-port": [f"={2 * n}" for n in range(17)]})],
     "udp dport 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30 dst 203.0.113.7 deny;udp dport 32 dst 203.0.113.7 deny", None),
    ("either port", [announce(DST, {"port": ["=53"]})],
     "sport 53 dst 203.0.113.7 deny;sport 0-52,54-65535 dport 53 dst 203.0.113.7 deny", None),
    ("either port, with a rate", [announce(DST, {"port": ["=53"]}, rate=9.0), OTHER], STAYS, "2 rules, and each would have the rate"),
    ("protocols", [announce(DST, {"protocol": ["=tcp", "=unknown protocol type 58", "=unknown protocol type 4"]})],
     "proto 4 dst 203.0.113.7 deny;tcp dst 203.0.113.7 deny", None),
    ("no protocol but one", [announce(DST, {"protocol": ["!=udp"]})], "not udp dst 203.0.113.7 deny", None),
    ("names of ICMP", [announce(DST, {"icmp-type": ["=echo-request", "=redirect"], "icmp-code": ["=unknown icmp code type 1"]})],
     "icmp icmp-type redirect code 1 dst 203.0.113.7 deny;icmp icmp-type echo-request code 1 dst 203.0.113.7 deny", None),
    ("flags", [announce(DST, {"tcp-flags": ["syn&!ack"]})], "tcp dst 203.0.113.7 syn deny", None),
    ("flags by +", [announce(DST, {"tcp-flags": ["=syn+ack", "=rst"]}, rate=1.0), OTHER], STAYS, "rules, and each would"),
    ("flags, and", [announce(DST, {"tcp-flags": ["=syn", "=ack"]}, text="flow tcp-flags =syn+ack")],
     "tcp dst 203.0.113.7 flags syn,ack/syn,ack deny", None),
    ("flags, or", [announce(DST, {"tcp-flags": ["!syn", "!ack"]}, text="flow tcp-flags [ !syn !ack ]")],
     "tcp dst 203.0.113.7 not flags syn,ack/syn,ack deny", None),
    ("flags, and or or", [announce(DST, {"tcp-flags": ["=syn", "=ack"]}), OTHER], STAYS, 'its tcp-flags may mean "and" or "or"'),
    ("flags beyond the byte", [announce(DST, {"tcp-flags": ["256"]}), OTHER], STAYS, "its tcp-flags has bits"),
    ("any fragment", [announce(DST, {"fragment": ["is-fragment", "first-fragment"]})], "dst 203.0.113.7 fragment deny", None),
    ("later fragments", [announce(DST, {"fragment": ["is-fragment"]})], 'dst 203.0.113.7 filter "ip[6:2] & 0x1fff != 0" deny', None),
    ("later fragments have no ports", [announce(DST, DNS, {"fragment": ["is-fragment"]}), OTHER], STAYS, None),
    ("last fragments", [announce(DST, {"fragment": ["4"]}), announce(DST, {"fragment": ["8"]})],
     'dst 203.0.113.7 fragment filter "ip[6:2] & 0x1fff = 0" deny', "its fragment has bits that rlctl does not match"),
    ("length and DSCP", [announce(DST, {"packet-length": ["<100", "=1500"], "dscp": ["=46"]})],
     "dst 203.0.113.7 length 20-99 dscp ef deny;dst 203.0.113.7 length 1500 dscp ef deny", None),
    ("IPv6", [announce(SIX, {"next-header": ["=tcp"], "traffic-class": ["!=10"]}, family="ipv6 flow")],
     "tcp dst 2001:db8::/32 not dscp af11 deny", None),
    ("IPv6 with an offset", [announce({"destination-ipv6": ["2001:db8::/48/32"]}), announce(SIX, {"source-ipv6": ["::/64/32"]}), OTHER],
     STAYS, "more than one prefix, or has an offset"),
    ("an unknown component", [announce(DST, {"ttl": ["=1"]}), announce(SIX, {"flow-label": ["=7"]}), OTHER], STAYS, "flow-label is unknown"),
    ("an unknown value", [announce(DST, {"protocol": ["=foo"]}), announce(DST, {"tcp-flags": ["ns"]}), OTHER], STAYS, "value ns"),
    ("a value that is none", [announce(DST, {"protocol": ["~6"]}), announce(DST, {"protocol": 6}), announce(DST, {"protocol": []}), OTHER],
     STAYS, "unknown value []"),
    ("no packet", [announce(DST, {"destination-port": [">70000"]}), announce(DST, {"protocol": ["false"]}), OTHER], STAYS, None),
    ("a VPN", [announce(DST, {"rd": "1:1"}, family="ipv4 flow-vpn"), OTHER], STAYS, "its component rd is unknown"),
    # what is allowed
    ("outside --allow", [announce({"destination-ipv4": ["203.0.0.0/16"]}), OTHER], STAYS, "not within --allow"),
    ("no destination", [announce(UDP), OTHER], STAYS, "not within --allow"),
    ("two destinations", [announce({"destination-ipv4": ["203.0.113.1/32", "203.0.113.2/32"]}), OTHER], STAYS, "more than one prefix"),
    ("a source of the other family", [announce(DST, {"source-ipv6": ["2001:db8::/32/0"]}), OTHER], STAYS, "of two families"),
    ("too many", [announce({"destination-ipv4": [f"203.0.113.{n}/32"]}) for n in range(7)],
     ";".join(f"dst 203.0.113.{n} deny" for n in range(5)), "5 routes are held (--max)"),
    ("too many rules", [announce(DST, {"packet-length": [f"={2 * n}" for n in range(50, 115)]}), OTHER], STAYS, "more than 64 rules"),
    # the order of RFC 8955
    ("a drop before a rate", [announce(DST, rate=1000.0), announce(DST, DNS)], LIMIT + ";udp dport 53 dst 203.0.113.7 deny", None),
    ("a rate before a drop", [announce(DST), announce(DST, {"protocol": ["=icmp"]}, rate=9.0)],
     "icmp dst 203.0.113.7 limit 9byte/second;not icmp dst 203.0.113.7 deny", None),
    ("no action before a drop", [announce(NET, {"source-ipv4": ["128.0.0.0/1"]}, communities=[]), announce(NET)],
     "src 0.0.0.0/1 dst 203.0.113.0/24 deny", None),
    ("the longer prefix is first", [announce({"destination-ipv4": ["203.0.113.0/25"]}, rate=9.0), announce(NET)],
     "dst 203.0.113.0/25 limit 9byte/second;dst 203.0.113.128/25 deny", None),
    ("the lower bytes are first", [announce(DST, {"packet-length": ["<200"]}), announce(DST, {"packet-length": [">150"]}, rate=9.0)],
     "dst 203.0.113.7 length 151-65535 limit 9byte/second;dst 203.0.113.7 length 20-150 deny", None),
    ("a range is before its numbers", [announce(DST, {"destination-port": ["=150"]}),
                                       announce(DST, {"destination-port": [">=100&<=200"]}, rate=9.0)],
     "dport 100-200 dst 203.0.113.7 limit 9byte/second", None),
    ("two rates", [announce(DST, UDP, {"packet-length": ["<100"]}, rate=9.0), announce(DST, UDP, rate=1000.0)],
     "udp dst 203.0.113.7 length 20-99 limit 9byte/second;udp dst 203.0.113.7 length 100-65535 limit 1000byte/second", None),
    ("two rates that no rules have", [announce(DST, DNS, rate=9.0), announce(DST, rate=1000.0)],
     "udp dport 53 dst 203.0.113.7 limit 9byte/second", "destination 203.0.113.7/32 is refused: with the routes before, it takes 3 rules"),
    ("the former one stays", [announce(DST, rate=1000.0), announce(DST, DNS, rate=9.0)], LIMIT, "destination-port =53 is refused"),
    ("a later one goes", [announce(DST, DNS, rate=9.0), announce(DST, rate=1000.0), withdraw(DST, DNS)], LIMIT, None),
    ("what goes on", [announce(DST, DNS, communities=[community(9.0), {"value": 0x8007 << 48 | 1}]), announce(DST, rate=1000.0)],
     "udp dport 53 dst 203.0.113.7 limit 9byte/second;" + LIMIT, None),
    # lines
    ("no JSON", ["x", "done", "{", "[" * 100000, '"x"', "7", "null", "{}", announce(DST)], DROP, "a line is left out"),
    ("a line without an end", ["9" * (3 << 20), announce(DST)], DROP, "a line of more than 1048576 bytes is left out"),
    ("odd types", ['{"neighbor": 7}', '{"neighbor": {"address": {"peer": "x"}}}', line({"message": {"update": {"announce": []}}}),
                   line({"message": {"update": {"announce": {"ipv4 flow": {"x": [7, None]}}}}}), line({"message": None}), announce(DST)],
     DROP, "a line is left out"),
    ("odd bytes", ['{"neighbor": "\udcff\x00\x1b[2J"}', announce(DST)], DROP, "a line is left out"),
    ("a name with a newline", [announce(DST, {"x\nrule any deny": ["=1"]}, text="a\nb"), OTHER], STAYS, "a\\nb is refused"),
    ("other families", [announce({"nlri": "10.0.0.0/8"}, family="ipv4 unicast"), announce(DST)], DROP, None),
    ("many errors", ["x"] * 1000 + [announce(DST)], DROP, None),
    # FRR
    ("frr: drop", frr([FRR, RATE0]), DROP, None),
    ("frr: rate", frr([FRR, "FS:rate 1000.000000"]), LIMIT, None),
    ("frr: components", frr([FRR, "IP Protocol = 17", "Destination Port = 53 , >= 1000 , <= 2000", "Packet Length > 99", "DSCP field = 46", RATE0]),
     "udp dport 53,1000-2000 dst 203.0.113.7 length 100-65535 dscp ef deny", None),
    ("frr: flags", frr([FRR, "TCP Flags = 18,&∋ ! 1", RATE0]), "tcp dst 203.0.113.7 flags syn,ack/fin,syn,ack deny", None),
    ("frr: fragments", frr([FRR, "Packet Fragment ∋ 2", RATE0]), 'dst 203.0.113.7 filter "ip[6:2] & 0x1fff != 0" deny', None),
    ("frr: IPv6", frr(["Destination Address 2001:db8::7/128/off 0", "IP Protocol = 17", RATE0], family=6), "udp dst 2001:db8::7 deny", None),
    ("frr: an offset", frr(["Destination Address 2001:db8::7/128/off 8", RATE0], family=6), "", "its Destination Address is no prefix, or has an offset"),
    ("frr: changed", frr([FRR, RATE0]) + frr([FRR, "FS:rate 1000.000000"]), LIMIT, None),
    ("frr: gone", frr([FRR, RATE0], ["Destination Address 203.0.113.99/32", RATE0]) + frr(["Destination Address 203.0.113.99/32", RATE0]), STAYS, None),
    ("frr: none", frr([FRR, RATE0]) + frr(), "", None),
    ("frr: cut short", frr([FRR, RATE0]) + frr()[:1], DROP, None),
    ("frr: the other family stays", frr([FRR, RATE0]) + frr(family=6), DROP, None),
    ("frr: and, or or", frr([FRR, "Port > 90 , > 95", RATE0]), "", 'its Port may mean "and" or "or": FRR does not say which'),
    ("frr: another sign", frr([FRR, "Port ? 90", RATE0]), "", "Port ? 90 is refused"),
    ("frr: redirection", frr([FRR, "FS:redirect VRF RT:65001:7"]), "", 'its "FS:redirect VRF RT:65001:7" is no component'),
    ("frr: traffic-action", frr([FRR, "FS:rate 5000.000000 FS:action eval stops"]), "", 'its "FS:action eval stops" is no component'),
    ("frr: other words", frr([FRR, "Flow Label = 7", RATE0]), "", 'its "Flow Label = 7" is no component'),
    ("frr: odd", ["x", "Destination Address", "Displayed  7 flowspec entries", *frr(["Destination Address x/9", RATE0], [], [FRR, RATE0])], DROP, "is refused"),
    # gobgp
    ("gobgp: drop", [gobgp()], DROP, None),
    ("gobgp: rate", [gobgp(rate=1000)], LIMIT, None),
    ("gobgp: withdrawn", [gobgp(), gobgp({"type": 3, "value": [{"op": 129, "value": 17}]}), gobgp(withdrawal=True)], "udp " + DROP, None),
    ("gobgp: operations", [gobgp({"type": 5, "value": [{"op": 19, "value": 1024}, {"op": 85, "value": 2000}, {"op": 129, "value": 53}]},
                                 {"type": 9, "value": [{"op": 129, "value": 18}]})],
     "tcp dport 53,1024-2000 dst 203.0.113.7 flags syn,ack/syn,ack deny", None),
    ("gobgp: its own", [gobgp(peer="<nil>")], DROP, None),
    ("gobgp: odd", [gobgp({"type": 13, "value": []}), gobgp({"type": 3, "value": 7}), gobgp({"type": [], "value": 7}), "[7]", "{}",
                    gobgp(rate="x"), gobgp({"type": 3, "value": [{"op": 129, "value": 17}]})], "udp " + DROP, "component 13 is unknown"),
)


# ---- one test per row

def fake():
    """An rlctl that has no rules, and writes down what is added after the last question."""
    path = os.path.join(TMP, "fake")
    with open(path, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nif [ "$2" = list ]; then : >"$0.added"; echo \'{"rules": []}\'; else cat >>"$0.added"; fi\n')
    os.chmod(path, 0o755)
    return path


def canonical(rules):
    """As rlctl prints them; simulate does so without an instance. None: it refuses them."""
    pcap = os.path.join(TMP, "pcap")
    with open(pcap, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    done = subprocess.run([RLCTL, "-q", "simulate", "-", pcap, "-j"], text=True, check=False, capture_output=True,
                          input="".join(f"rule device {rule}\n" for rule in rules))
    if done.returncode:
        return None
    return sorted(rule["rule"].removeprefix("device ").split(" limit ")[0] for rule in json.loads(done.stdout)["rules"])


def report(good, name, text):
    print(f"{'ok' if good else 'not ok'} {name}")
    if not good:
        print("\n".join("# " + part for part in text.splitlines()))
    return good


def row(command, name, lines, wanted, said):
    text = "\n".join(lines).encode(errors="surrogateescape") + b"\n"
    words = ["--from", name.split(":")[0]] if name.startswith(("gobgp:", "frr:")) else []
    done = subprocess.run([sys.executable, os.path.join(SCRIPTS, "rlctl-flowspec"), "--rlctl", command, "--allow", "203.0.113.0/24",
                           "--allow", "2001:db8::/32", "--max", "5", *words], input=text, capture_output=True, check=False, timeout=60)
    with open(command + ".added", encoding="utf-8") as file:
        found = sorted(part.split(" for 600s # flowspec ")[0].removeprefix("rule device ") for part in file.read().splitlines())
    errors = done.stderr.decode()
    printed = canonical(found)
    good = done.returncode == 0 and found == sorted(filter(None, wanted.split(";"))) and "Traceback" not in errors and \
        (said in errors if said else not errors or name == "many errors") and len(errors.splitlines()) <= 20 and \
        printed == sorted(rule.split(" limit ")[0] for rule in found)
    return report(good, name, f"rules: {found}\nwanted: {wanted}\nprinted: {printed}\nsaid: {errors}\nwanted: {said}")


# ---- routes by chance

def chosen(dice, *values):
    return dice.choice(values)


def some_route(dice, number):
    parts = {1: ipaddress.ip_network(chosen(dice, "203.0.113.0/24", "203.0.113.0/25", "203.0.113.7/32", "203.0.113.8/32"))}

    def numbers(*values):
        groups = [[(chosen(dice, 1, 1, 6), chosen(dice, *values))] for _ in range(dice.randint(1, 2))]
        low, high = sorted((chosen(dice, *values), chosen(dice, *values)))
        return chosen(dice, groups, [[(3, low), (5, high)]])
    if dice.random() < .3:
        parts[2] = ipaddress.ip_network(chosen(dice, "192.0.2.0/24", "192.0.0.0/16", "192.0.2.1/32"))
    for kind, values in ((3, (1, 6, 17, 47)), (4, (53, 80)), (5, (53, 80, 443)), (6, (53, 443)), (7, (0, 8)), (8, (0, 1)),
                         (10, (60, 100, 1500)), (11, (0, 46))):
        if dice.random() < .22:
            parts[kind] = numbers(*values)
    if dice.random() < .2:
        parts[9] = [[(chosen(dice, 0, 1, 2, 3), chosen(dice, 2, 16, 18))] for _ in range(dice.randint(1, 2))]
    if dice.random() < .2:
        parts[12] = [[(chosen(dice, 0, 1, 2), chosen(dice, 2, 4, 6))]]
    action = flowspec.Action(*chosen(dice, (True, (), False), (True, (), False), (False, (), False),
                                     (False, (("byte", 1000 + number),), dice.random() < .2)))
    return flowspec.Route(f"{number}", "10.0.0.1", 4, parts, action, flowspec.region(4, parts))


def some_packet(dice):
    proto = chosen(dice, 1, 6, 17, 47, 132)
    return {"dst": int(ipaddress.ip_address(chosen(dice, "203.0.113.7", "203.0.113.8", "203.0.113.9", "203.0.113.200"))),
            "src": int(ipaddress.ip_address(chosen(dice, "192.0.2.1", "192.0.2.2", "192.0.9.1", "9.9.9.9"))), "proto": proto,
            "frag": chosen(dice, 0, 0, 0, 1, 2), "sport": chosen(dice, 53, 80, 443, 9), "dport": chosen(dice, 53, 80, 443, 9),
            "type": chosen(dice, 0, 8, 3), "code": chosen(dice, 0, 1), "flags": chosen(dice, 0, 2, 16, 18, 3),
            "length": chosen(dice, 60, 61, 100, 1500), "dscp": chosen(dice, 0, 46, 8)}


def has(packet, *protocols):
    return packet["proto"] in protocols and packet["frag"] != 2


def component_holds(kind, value, packet):
    """By RFC 8955, 4.2.2."""
    if kind <= 2:
        return ipaddress.ip_address(packet["dst" if kind == 1 else "src"]) in value
    ports = has(packet, 6, 17, 132)
    data = {3: [packet["proto"]], 4: [packet["sport"], packet["dport"]] * ports, 5: [packet["dport"]] * ports,
            6: [packet["sport"]] * ports, 7: [packet["type"]] * has(packet, 1), 8: [packet["code"]] * has(packet, 1),
            9: [packet["flags"]] * has(packet, 6), 10: [packet["length"]], 11: [packet["dscp"]], 12: [(0, 4, 2)[packet["frag"]]]}[kind]

    def one(number, operation, operand):
        if kind in (9, 12):
            return ((number & operand) == operand if operation & 1 else (number & operand) != 0) != (operation >= 2)
        return bool(operation & 1 and number == operand or operation & 2 and number > operand or operation & 4 and number < operand)
    return any(any(all(one(number, *pair) for pair in group) for group in value) for number in data)


def first_match(routes, packet):
    limits = set()
    for route in routes:
        if all(component_holds(kind, value, packet) for kind, value in route.parts.items()):
            if route.action.drop:
                return "deny"
            limits |= {f"{amount}" for _, amount in route.action.limits}
            if not route.action.goes_on:
                break
    return limits


def words_hold(words, packet):
    """Whether the match of a rule holds, by rlctl-policy(5)."""
    words, plain = words.replace('"', "' ").split("'"), True
    words = words[0].split() + [word.strip() for word in words[1:] if word.strip()]
    names = {"tcp": 6, "udp": 17, "icmp": 1, "gre": 47, "sctp": 132}
    while words:
        word = words.pop(0)
        if word == "not":
            plain = False
            continue
        known, value = True, None
        if word in names or word == "proto":
            value = packet["proto"] == (names[word] if word in names else int(words.pop(0)))
        elif word in ("sport", "dport", "length"):
            ranges = [part.partition("-")[::2] for part in words.pop(0).split(",")]
            value = any(int(a) <= packet[word] <= int(b or a) for a, b in ranges)
            known = word == "length" or has(packet, 6, 17, 132)
        elif word in ("src", "dst"):
            value = ipaddress.ip_address(packet[word]) in ipaddress.ip_network(words.pop(0))
        elif word == "icmp-type":
            kind = words.pop(0)
            value = packet["type"] == {"echo-reply": 0, "destination-unreachable": 3, "echo-request": 8}.get(kind, kind)
            if words and words[0] == "code":
                value = value and packet["code"] == int(words[1])
                del words[:2]
            known = has(packet, 1)
        elif word == "syn":
            value, known = packet["flags"] & 18 == 2, has(packet, 6)
        elif word == "flags":
            one, mask = (sum(1 << flowspec.fields.FLAG_WORDS.index(flag) for flag in part.split(",") if flag != "none")
                         for part in words.pop(0).split("/"))
            value, known = packet["flags"] & mask == one, has(packet, 6)
        elif word == "dscp":
            value = packet["dscp"] == {"cs0": 0, "cs1": 8, "ef": 46}.get(words[0], words[0])
            words.pop(0)
        elif word == "fragment":
            value = packet["frag"] > 0
        elif word == "filter":
            value = (packet["frag"] == 2) == ("!=" in words.pop(0))
        if not known or value != plain:
            return False
        plain = True
    return True


def by_chance(seed):
    """How many routes were in force, or what differs."""
    dice = random.Random(seed)
    routes = [some_route(dice, number) for number in range(dice.randint(2, 5))]
    if len({str(route.parts) for route in routes}) < len(routes):
        return 0
    wanted, refused = flowspec.rules(routes)
    out = {text.split()[0] for text in refused}
    kept = sorted((route for route in routes if route.label not in out), key=flowspec.functools.cmp_to_key(flowspec.compare))
    for _ in range(200):
        packet = some_packet(dice)
        held = {text.partition(" limit ")[2].removesuffix("byte/second") or "deny"
                for (match, _), (text, _) in wanted.items() if words_hold(match.removeprefix("device "), packet)}
        held = "deny" if "deny" in held else held
        if held != first_match(kept, packet):
            return f"seed {seed}: {packet}: {held}, wanted {first_match(kept, packet)} of {kept}: {wanted}"
    return len(kept)


def names():
    """rlctl prints each type of ICMP and each DSCP as it is written here."""
    rules = [f"{proto} {word} dst {net} deny" for family, proto, net in ((4, "icmp", "203.0.113.7"), (6, "icmp6", "2001:db8::7"))
             for word in flowspec.icmp_words(family, [(kind << 8, kind << 8 | 255) for kind in range(64)]) +
             flowspec.icmp_words(family, [(kind << 8, kind << 8 | 255) for kind in range(100, 160)])]
    rules += [f"dst 203.0.113.7 dscp {flowspec.DSCP.get(number, number)} deny" for number in range(64)]
    printed = [canonical(rules[n:n + 200]) for n in range(0, len(rules), 200)]
    return sorted(rules), sorted(sum(printed, [])) if None not in printed else None


def main():
    command = fake()
    results = [row(command, *entry) for entry in ROWS]
    wanted, printed = names()
    results.append(report(wanted == printed and len(wanted) > 300, "names", f"{set(wanted) ^ set(printed or [])}"))
    found = [by_chance(seed) for seed in range(400)]
    wrong = [one for one in found if isinstance(one, str)]
    results.append(report(not wrong and sum(found) > 600, "routes by chance", wrong[0] if wrong else f"{sum(found)} in force"))
    return 0 if all(results) else 1


sys.exit(main())
