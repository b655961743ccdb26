#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""oracle_explain.py RLCTL SEED POLICIES [PACKETS]: what rlctl explain says of random packets, each with all of its
fields, under random policies that have just come into force, and so know no source: verdict, reason, and of each
rule that was asked whether it holds, as oracle.py decides it. One line in TAP."""
import ipaddress
import json
import random
import subprocess
import sys
import tempfile

import oracle
import oracle_random
from oracle_packet import HEADERS, Packet, number
from oracle_rule import PROTOCOLS

SHOWN = 5


def described(r):
    """A packet, and its words."""
    name, inet6 = r.choice(list(PROTOCOLS)), r.random() < 0.5
    name = {("icmp", True): "icmp6", ("icmp6", False): "icmp"}.get((name, inet6), name)
    addresses = [oracle_random.source(r, 0, inet6), oracle_random.dest(r, 0, inet6)]
    source, dest = (str(ipaddress.ip_address(a)) for a in addresses)
    packet = Packet(78, len(addresses[0]) * 8, *map(number, addresses), 64, 0, 0, PROTOCOLS[name])
    words = [source, name, "dst", dest]
    if HEADERS.get(packet.protocol) and "icmp" not in name:
        packet.ports = r.choice(oracle_random.PORTS), r.choice(oracle_random.PORTS)
        words += ["sport", str(packet.ports[0]), "dport", str(packet.ports[1])]
    if name == "tcp":
        packet.flags = r.choice((2, 16))
        words += ["syn"] if packet.flags == 2 else []
    if r.random() < 0.2:
        packet.fragment = True
        words.append("fragment")
    return packet, words


def wrong(rlctl, path, lines, packet, words):
    run = subprocess.run([rlctl, "explain", *words, "--policy", path, "-j"], capture_output=True, text=True, check=False)
    if run.returncode:
        return run.stderr
    said, policy = json.loads(run.stdout), oracle.Policy(lines)
    mine = {rule.identity(): rule for rule in policy.rules}
    for shown in said["rules"]:
        rule = mine[oracle.rule_read(shown["rule"]).identity()]
        if shown["asked"] and shown.get("holds") != rule.holds(packet, False):
            return f"{shown}"
    wanted = policy.decide(packet)
    return "" if f"{said['verdict']} {said['reason']}" == wanted else f"{said['verdict']} {said['reason']}; by the manual {wanted}"


def main():
    rlctl, seed, policies, packets = sys.argv[1], *map(int, (sys.argv[2:] + ["20"])[:3])
    r, bad = random.Random(seed), []
    for _ in range(policies):
        lines = oracle.accepted(rlctl, [oracle_random.rule(r, 0, True) for _ in range(r.randrange(1, 13))], [])
        with tempfile.TemporaryDirectory() as folder:
            path, _ = oracle.written(folder, lines, [])
            for packet, words in (described(r) for _ in range(packets)):
                if message := wrong(rlctl, path, lines, packet, words):
                    bad += [" ".join(words), *lines, message]
    print(f"{'not ok' if bad else 'ok'} explain: seed {seed}", *(f"# {line}" for line in bad[:SHOWN * 4]), sep="\n")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
