#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""oracle.py RLCTL [--seed N] [--runs N] [--worlds N] [--rules N] [--packets N] [--crowd N]
    [--plain] [--quick] [--refusals] [--keep DIR]

Random policies and random packets: what rlctl simulate says of each packet, and of each rule, is what
rlctl-policy(5) says of it, read by oracle_packet.py and oracle_rule.py and decided here, without a look at the
program. One line in TAP for each run; where they differ, the smallest policy and capture that still do.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import oracle_random
from capture import pcap
from oracle_packet import Malformed, is_discovery, read
from oracle_rule import ANY, address_key, key_of, rule_read

START, STEP = 1_700_053_200 * 10**9, 1000  # ns: the first packet, about one o'clock, and between two
PATIENCE = 60  # seconds that a difference is made smaller
SHOWN = 12  # lines of a difference


def names_discovery(rule):
    """Is it on ICMPv6, and on a type of neighbour discovery, whose code is 0?"""
    negated, (kind, code) = rule.matches.get("icmp-type", (True, (None, None)))
    return rule.matches.get("proto") == (False, 58) and any(
        (kind == number and code in (None, 0)) != negated for number in range(133, 138))


class Refused(Exception):
    """The policy: its message."""


# ---- what the manual says

def knowing_matches(rules):
    """Rules of which one must match a packet that makes its source known: what stands beside new-source, or all packets."""
    beside = [replace(rule, matches={kind: value for kind, value in rule.matches.items() if kind not in ("new-source", "established")})
              for rule in rules if "new-source" in rule.matches]
    different = {frozenset(rule.matches.items()) for rule in beside}
    return beside if len(different) <= 16 else [replace(beside[0], matches={})]


class Policy:
    def __init__(self, lines):
        rules = {rule.identity(): rule for rule in map(rule_read, lines)}
        self.rules = list(rules.values())
        self.device = [rule for rule in self.rules if rule.device]
        self.groups = collections.defaultdict(list)
        for rule in self.rules:
            if not rule.device:
                self.groups[rule.prefix].append(rule)
        self.shapes = sorted({(length, bits) for _, length, bits in self.groups if bits}, reverse=True)
        self.knowing = knowing_matches(self.rules)
        self.discovery = any(names_discovery(rule)
                             for rule in self.groups.get((0xFE80 << 112, 10, 128), ()))
        self.known, self.used = set(), collections.Counter()
        self.counts = {id(rule): collections.Counter() for rule in self.rules}

    def candidates(self, packet):
        """The groups whose prefix contains the source, the longest prefix first, any at the end."""
        for length, bits in self.shapes:
            if bits == packet.bits:
                value = packet.source >> (bits - length) << (bits - length)
                yield self.groups.get((value, length, bits), ())
        yield self.groups.get(ANY, ())

    def matching(self, packet):
        """The rules of the prefix that decides, and those of the device."""
        known = address_key(packet.source, packet.bits) in self.known
        device = [rule for rule in self.device if rule.holds(packet, known)]
        for group in self.candidates(packet):
            if rules := [rule for rule in group if rule.holds(packet, known)]:
                return rules, device
        return [], device

    def one_of(self, rules, name, verdict):
        """The packet counts for one of these rules: the manual says not which."""
        for rule in rules:
            self.counts[id(rule)][name if len(rules) == 1 else f"{name} perhaps"] += 1
        return verdict

    def limited(self, packet, limits):
        refused, over, costs = [], [], []
        for rule in limits:
            name, cost = (rule.identity(), key_of(rule, packet)), packet.size if rule.bytes else 1
            if rule.capacity is None or self.used[name] + cost <= rule.capacity:
                costs.append((name, cost))
            else:
                (over if rule.shadow else refused).append(rule)
        if refused:
            return self.one_of(refused, "dropped", "drop over")
        self.used.update({name: cost for name, cost in costs})
        for rule in limits:
            self.counts[id(rule)]["shadow" if rule in over else "passed"] += 1
        return "pass shadow" if over else "pass within"

    def decide(self, packet):
        rules, device = self.matching(packet)
        allows, denies = ([rule for rule in rules if rule.action == action] for action in ("allow", "deny"))
        if allows:
            return self.one_of(allows, "passed", "pass allowed")
        if denies:
            return self.one_of(denies, "dropped", "drop denied")
        allows, denies = ([rule for rule in device if rule.action == action] for action in ("allow", "deny"))
        if denies and not allows:
            return self.one_of(denies, "dropped", "drop denied")
        limits = rules + ([] if allows else device)
        if limits:
            return self.limited(packet, limits)
        return self.one_of(allows, "passed", "pass allowed") if allows else "pass unmatched"

    def judge(self, frame):
        try:
            packet = read(frame, len(frame))
        except Malformed:
            return "drop malformed"
        if not packet:
            return "pass non-ip"
        if is_discovery(packet) and not self.discovery:
            return "pass allowed"  # and its source does not become known
        verdict = self.decide(packet)
        if verdict.startswith("pass") and any(rule.holds(packet, None) for rule in self.knowing):
            self.known.add(address_key(packet.source, packet.bits))
        return verdict


# ---- what the program says

def capture(path, frames):
    with open(path, "wb") as f:
        pcap(f, "<", True, "1", ((START + n * STEP, frame, len(frame)) for n, frame in enumerate(frames)))


def written(folder, lines, frames):
    policy, packets = os.path.join(folder, "policy"), os.path.join(folder, "capture.pcap")
    with open(policy, "w", encoding="ascii") as f:
        f.writelines(line + "\n" for line in lines)
    capture(packets, frames)
    return policy, packets


def simulated(rlctl, paths, *options):
    run = subprocess.run([rlctl, "-q", "simulate", *paths, *options], capture_output=True, text=True, check=False)
    if run.returncode:
        raise Refused(run.stderr)
    return run.stdout


# ---- comparison

def verdict_differences(policy, frames, lines):
    wanted = [policy.judge(frame) for frame in frames]
    got = [" ".join(line.split()[2:4]) for line in lines]
    if len(got) != len(wanted):
        yield f"{len(got)} verdicts on {len(wanted)} packets"
    for n, (one, other) in enumerate(zip(wanted, got), 1):
        if one != other:
            yield f"packet {n}: {other}; by the manual {one}"


def count_differences(policy, rules):
    """Each rule of the output is one of the policy's, and its counters are right; those of verdicts are known."""
    mine = {rule.identity(): rule for rule in policy.rules}
    for shown in rules:
        rule = mine.pop(rule_read(shown["rule"]).identity(), None)
        if not rule:
            yield f"\"{shown['rule']}\" is no rule of the policy"
            continue
        wanted, got = policy.counts[id(rule)], {name: shown[name]["packets"] for name in ("passed", "dropped", "shadow")}
        if any(not wanted[name] <= n <= wanted[name] + wanted[f"{name} perhaps"] for name, n in got.items()):
            yield f"\"{shown['rule']}\": {got}; by the manual {dict(wanted)}"
    for rule in mine.values():
        yield f"\"{rule.line}\" is not shown"


def differences(rlctl, lines, frames, counts=True):
    """Raises Refused where the policy is."""
    with tempfile.TemporaryDirectory() as folder:
        paths = written(folder, lines, frames)
        policy = Policy(lines)
        found = list(verdict_differences(policy, frames, simulated(rlctl, paths, "--verdicts").splitlines()))
        if counts and not found:
            found = list(count_differences(policy, json.loads(simulated(rlctl, paths, "-j"))["rules"]))
        return found


def fewer(items, differs):
    """As few of them as still differ, by leaving out ever smaller parts."""
    size = len(items)
    while size := size // 2 if size > 1 else 0:
        at = 0
        while at < len(items):
            rest = items[:at] + items[at + size:]
            if differs(rest):
                items = rest
            else:
                at += size
    return items


def smallest(rlctl, lines, frames, first):
    """first: the index of a packet whose verdict differs, or None."""
    end = time.monotonic() + PATIENCE

    def differs(lines, frames):
        if time.monotonic() > end:
            return False
        try:
            return bool(differences(rlctl, lines, frames))
        except Refused:
            return False

    if first is not None:
        frames = [frames[first]] if differs(lines, [frames[first]]) else frames[:first + 1]
    lines = fewer(lines, lambda some: differs(some, frames))
    frames = fewer(frames, lambda some: differs(lines, some))
    return fewer(lines, lambda some: differs(some, frames)), frames


# ---- a run

def accepted(rlctl, lines, refusals):
    """Those rules that are not refused; each message about the others goes to refusals."""
    with tempfile.TemporaryDirectory() as folder:
        while lines:
            policy, _ = written(folder, lines, [])
            run = subprocess.run([rlctl, "apply", "-q", "--check", policy], capture_output=True, text=True, check=False)
            if not run.returncode:
                break
            bad = {int(n): message for n, message in re.findall(r"policy:(\d+)(?::\d+)?: (.*)", run.stderr)}
            if not bad:
                raise Refused(run.stderr)
            refusals += [(lines[n - 1], message) for n, message in bad.items()]
            lines = [line for n, line in enumerate(lines, 1) if n not in bad]
    return lines


def material(options, seed):
    r = random.Random(seed)
    worlds = range(r.randrange(1, options.worlds + 1))
    lines = [oracle_random.rule(r, world, options.plain) for world in worlds for _ in range(r.randrange(1, options.rules + 1))]
    crowded = r.sample(("any", "device", "10.0.0.0/8", "2001:db8::/32", "10.0.0.0/16"), 3)
    lines += [oracle_random.rule(r, r.choice(worlds), options.plain, r.choice(crowded)) for _ in range(options.crowd)]
    frames = [oracle_random.frame(r, r.choice(worlds)) for _ in range(options.packets)]
    return lines, frames


def row(options, seed):
    lines, frames = material(options, seed)
    refusals = []
    lines = accepted(options.rlctl, lines, refusals)
    found = differences(options.rlctl, lines, frames)
    if options.refusals:
        for line, message in refusals:
            print(f"# {line}\n#\t{message}")
    if not found:
        verdicts = collections.Counter(map(Policy(lines).judge, frames))
        print(f"ok seed {seed}: {len(lines)} rules, {len(refusals)} refused;", ", ".join(f"{n} {v}" for v, n in verdicts.most_common()))
        return True
    print(f"not ok seed {seed}: {len(found)} differences", *(f"# {line}" for line in found[:SHOWN]), sep="\n", flush=True)
    if options.quick:
        return False
    print("# the smallest:")
    first = re.match(r"packet (\d+)", found[0])
    lines, frames = smallest(options.rlctl, lines, frames, int(first[1]) - 1 if first else None)
    print(*(f"# {line}" for line in lines), *(f"# {frame.hex()}" for frame in frames),
          *(f"# {line}" for line in differences(options.rlctl, lines, frames)), sep="\n", flush=True)
    if options.keep:
        folder = os.path.join(options.keep, str(seed))
        os.makedirs(folder, exist_ok=True)
        written(folder, lines, frames)
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rlctl")
    for name, value in (("seed", 1), ("runs", 1), ("worlds", 30), ("rules", 12), ("packets", 3000), ("crowd", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--quick", action="store_true")  # a difference is not made smaller
    parser.add_argument("--refusals", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_args()
    sys.exit(not all([row(options, options.seed + n) for n in range(options.runs)]))


if __name__ == "__main__":
    main()
