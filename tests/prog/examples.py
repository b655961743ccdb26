#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Plays the policies that the documents show, as they show them, through rlctl simulate: with the floods that each is
for, beside the clients that it is for, and the loss as a figure. Prints TAP. Time is the capture's.

examples.py TREE RLCTL

After a second of peace, in which clients become known, the floods come one after the other. Clients also lose what the server cannot take: each service takes SERVER_RATE packets a second and has room for SERVER_ROOM.
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from heapq import merge
from itertools import accumulate

from examples_found import found
from traffic import (BEGIN, HOST, SECOND, SYN, TCP, answers, browsers, coming_from, connection,
                     download, few_answers, forged, fragments, heavy, is_sent, pinged, pings, players, reflected, resolvers)

SERVER_RATE = 80_000
SERVER_ROOM = 4096
TICK_S = 0.01  # a limit may admit a tick more, here of the slowest kernel
SMALL_BITS = 60 * 8
PEACE_S = 2  # before the first flood: even a source that pings comes twice
UNKNOWN = SECOND * 4 // 10  # with new-source and an alarm, for so long nobody is known after attach: three of its tenths
BURST = 5  # packets that a token bucket without a burst admits at once, at least
PREFIX_RULES = 8

NEW = "device new-source"
REPLIES = {"download": download, "answers of name servers": few_answers, "pings": pings}
SHELL = {"SSH session": connection("198.18.4.1", 22, 50)}
MAIL = {"mail": connection("198.18.5.1", 25, 500)}
GAME, WEB, DNS = {"players": players(27015)}, {"browsers": browsers(80, 443)}, {"resolvers": resolvers}


def upstream(lowest_port, source="192.0.2.1"):
    return {"answers of the upstream": answers(source, lowest_port)}


def operator(source, port=22):
    return {"allowed address": connection(source, port, 5000)}


# The clients that are to lose nothing beside them, and floods. Title: document, and text before the example.
PLAYS = {
    "README.md: Protect a device":
        ({**REPLIES, **upstream(32768), **SHELL, **GAME, **WEB, **DNS, **operator("203.0.113.7")},
         [forged(NEW, 27015), forged(NEW, 443, TCP), heavy("any limit", 53), heavy("any limit", 443, TCP)]),
    "README.md: The policy language":
        ({**REPLIES, **upstream(32768), **SHELL, **MAIL, **GAME, **WEB, **DNS},
         [forged(NEW, 53), heavy("any limit", 27015), heavy("any tcp syn", 443, TCP, SYN), heavy("any tcp dport 22", 22, TCP, SYN),
          pinged("any icmp"), coming_from(None, "198.51.100.9")]),
    "rlctl-policy.5: Every source may send 1000 packets per second beside its connections, a trusted one any number;":
        ({**REPLIES, **upstream(32768), **SHELL, **GAME, **WEB, **DNS, **operator("203.0.113.7")},
         [forged(NEW, 27015), heavy("any limit", 53)]),
    "rlctl-policy.5: With":
        (REPLIES, [heavy("any dport", 53), coming_from("192.0.2.0/24", "192.0.2.9", TCP), coming_from(None, "192.0.2.7")]),
    "rlctl-policy.5: With the members 203.0.113.0/24 and 198.51.100.7 in":
        ({"pings": pings, **SHELL, **WEB, **GAME, **operator("203.0.113.9")}, [heavy("any limit", 27015)]),
    "rlctl-policy.5: These are two limits, and a packet must be within both:":
        ({**REPLIES, **upstream(1024), **DNS}, [heavy("any udp dport 53", 53)]),
    "rlctl.8: Rules":
        ({**REPLIES, **upstream(32768), **SHELL, **GAME, **WEB, **DNS},
         [forged(NEW, 27015), heavy("any limit", 27015), heavy("any tcp syn", 443, TCP, SYN), coming_from(None, "198.51.100.9")]),
    "rlctl.8: The same by hand: limit every source to 1000 packets per second beside its connections, each connection to a million, and":
        ({**REPLIES, **upstream(32768), **SHELL, **GAME, **WEB, **DNS, **operator("192.0.2.7")},
         [forged(NEW, 53), heavy("any limit", 27015)]),
    "guide.md: Proof of source":
        ({**REPLIES, **upstream(32768), **SHELL, **MAIL, **GAME},
         [heavy("any limit", 27015), heavy("any limit", 443, TCP), heavy("any tcp syn", 443, TCP, SYN), heavy("any udp dport 53", 53),
          reflected(None, 53)]),
    "hosting.md: One limit for each machine":
        ({**SHELL, **WEB, **GAME}, [heavy("any tcp syn", 443, TCP, SYN)]),
    "hosting.md: A trunk: customers by VLAN":
        ({**SHELL, **WEB, **GAME}, []),
    "guide.md: Matches":
        ({"pings": pings, **SHELL, **WEB, **GAME}, []),
    "rlctl-policy.5: Bytes after the header of UDP, TCP (with its options) or ICMP: 1 to 16 bytes in hexadecimal digits, that many":
        ({**REPLIES, **upstream(32768), **SHELL, **GAME, **WEB},
         [heavy("any udp dport 27015 payload", 27015, payload=b"\xff\xff\xff\xff\x54"), fragments("any udp fragment"),
          heavy("any udp dport 53 payload", 53)]),
    "rlctl-policy.5: In front of any of these: the packet does not match it.":
        ({**REPLIES, **SHELL, **WEB, **GAME}, [heavy("any udp dport 123 not src", 123)]),
    "guide.md: In front of a network":
        ({"download": download, **SHELL, **WEB, **GAME},
         [forged("any udp limit", 53), forged("any tcp syn", 25, TCP), pinged("device icmp", 1)]),
    "rlctl-policy.5: The rules of a machine whose downloads pass at any rate up to 10 Gbit/s (813,000 packets per second of 1500 bytes),":
        ({"download": download, "answers of name servers": few_answers, **upstream(32768), **SHELL, **MAIL},
         [forged("device not established", 27015), heavy("any limit", 53), heavy("any limit", 443, TCP)]),
    "rlctl-policy.5: A flood can fill that table: packets that a limit admits make entries, up to":
        ({"download": download, "answers of name servers": few_answers, **SHELL},
         [forged("device not established", 27015), heavy("any limit", 27015), reflected(None, 53), coming_from(None, "10.1.2.3")]),
    "rlctl-policy.5: A game server.":
        ({**REPLIES, **upstream(1024), **SHELL, **GAME, **operator("203.0.113.10")},
         [forged(NEW, 27015), heavy("any udp dport 27015", 27015), heavy("any tcp dport 27015 syn", 27015, TCP, SYN),
          pinged("any icmp")]),
    "rlctl-policy.5: A DNS server.":
        ({"download": download, **upstream(1024), **SHELL, **DNS, **operator("192.0.2.53", 53)},
         [forged(NEW, 53), heavy("any udp dport 53", 53), heavy("any tcp dport 53 syn", 53, TCP, SYN),
          reflected("any udp sport 53", 53), pinged("any icmp")]),
    "rlctl-policy.5: A DNS server whose resolvers may come by TCP.":
        ({**REPLIES, **upstream(1024), **SHELL, **DNS, **operator("192.0.2.53", 53)},
         [forged("device udp dport 53 new-source", 53), forged("device tcp dport 53 syn", 53, TCP), heavy("any udp dport 53", 53),
          heavy("any tcp dport 53", 53, TCP), pinged("any icmp")]),
    "rlctl-policy.5: A web server.":
        ({**REPLIES, **upstream(1024), **SHELL, **WEB, **operator("198.51.100.1", 443)},
         [forged(NEW, 443, TCP), heavy("any tcp dport 443 syn", 443, TCP, SYN), heavy("any tcp dport 443 limit", 443, TCP),
          heavy("any udp dport 443", 443), heavy("any tcp dport 22", 22, TCP, SYN), pinged("any icmp")]),
    "rlctl-policy.5: A router, on its external device.":
        ({"download": download, **WEB, **SHELL},
         [forged(NEW, 443, TCP), forged(NEW, 53), reflected("any udp sport 123", 123), reflected(None, 11211),
          coming_from(None, "10.1.2.3")]),
    "rlctl-policy.5: A generated list of addresses, denied for a day:":
        ({**REPLIES, **GAME, **WEB}, [coming_from(None, "198.51.100.17"), coming_from(None, "198.51.100.42")]),
    "example.policy":
        ({**REPLIES, **upstream(1024, "203.0.113.53"), **SHELL, **MAIL, **GAME, **WEB, **DNS, **operator("192.0.2.7")},
         [forged(NEW, 27015), forged(NEW, 443, TCP), heavy("any udp dport 27015", 27015), heavy("any udp dport 53", 53),
          heavy("any tcp syn", 443, TCP, SYN), heavy("any limit", 443, TCP), reflected(None, 53), reflected(None, 123),
          reflected(None, 11211), pinged("device icmp", 1), coming_from(None, "198.51.100.9")]),
}
# Beside examples of a rule or two, which show a word each. No flood: a limit that forgets ports would hold replies.
WORDS_RULES = 2
WORDS = {**REPLIES, **GAME, **upstream(32768, "198.18.9.1")}
# The loss without a line that the documents say is needed: the title, the change, and who is to lose.
NEEDED = (
    ("README.md: Protect a device", "without a device line", rf"^rule {NEW}.*", "", "players"),
    ("README.md: Protect a device", "a limit that spares nothing", " over drop unless established", "", "download"),
    ("README.md: Protect a device", "a limit that spares nothing", " over drop unless established", "", "answers of the upstream"),
    ("rlctl-policy.5: Every source may send 1000 packets per second beside its connections, a trusted one any number;",
     "a limit that spares nothing", " over drop unless established", "", "download"),
    ("rlctl-policy.5: A DNS server.", "without new-source", rf"^rule {NEW}.*", "", "resolvers"),
    ("rlctl-policy.5: A DNS server.", "without a rule for the upstream", "^rule 192.0.2.1 .*", "", "answers of the upstream"),
)


# ---- the figures


class Group:
    def __init__(self, name):
        self.name, self.sent, self.passed, self.lost = name, 0, 0, 0


def played(clients, floods):
    """(time, number of its group, frame) in order of time, and the groups."""
    begins = list(accumulate((flood.seconds for flood in floods), initial=PEACE_S))
    streams = {name: client(begins[-1]) for name, client in clients.items()}
    streams.update({flood.name: flood.packets(BEGIN + int(begin * SECOND)) for flood, begin in zip(floods, begins)})

    def numbered(number, stream):
        for time, data in stream:
            yield time, number, data
    return merge(*map(numbered, range(len(streams)), streams.values())), [Group(name) for name in streams]


def capture(path, packets):
    """Writes them; returns time, group and service of each that arrives."""
    order = []

    def word(n):
        return n.to_bytes(4, "little")
    with open(path, "wb") as out:
        out.write(word(0xA1B23C4D) + b"\x02\0\x04\0" + bytes(8) + word(262144) + word(1))
        for time, group, data in packets:
            out.write(word(time // SECOND) + word(time % SECOND) + 2 * word(len(data)) + data)
            if not is_sent(data):
                order.append((time, group, data[23:24] + data[36:38]))
    return order


class Server:
    """Takes what passed, as fast as it can."""

    def __init__(self):
        self.waiting, self.latest = 0.0, 0

    def takes(self, time):
        self.waiting = max(0.0, self.waiting - (time - self.latest) * SERVER_RATE / SECOND)
        self.latest = time
        if self.waiting + 1 > SERVER_ROOM:
            return False
        self.waiting += 1
        return True


def sets_of(rules):
    """The sets that they name, without members: what these are, the documents do not say."""
    return sorted({f"set {name}" for rule in rules for name in re.findall(r" @([a-z0-9_-]+)", rule)})


# Those of the documents, by name.
ALARMS = {}


def alarms_of(rules):
    return [ALARMS[name] for name in sorted({name for rule in rules for name in re.findall(r" while (?:not )?([a-z0-9_-]+)$", rule)})]


def figures(rlctl, rules, clients, floods):
    """The groups by name, after the policy and the server."""
    packets, groups = played(clients, floods)
    with tempfile.TemporaryDirectory() as folder:
        path, policy = os.path.join(folder, "capture"), os.path.join(folder, "policy")
        order = capture(path, packets)
        with open(policy, "w", encoding="utf-8") as f:
            f.write("".join(f"{line}\n" for line in [*sets_of(rules), *alarms_of(rules), *rules]))
        run = subprocess.run([rlctl, "-q", "simulate", policy, path, "--verdicts", "--local", HOST], capture_output=True,
                             text=True, check=True)
    servers, unknown = {}, UNKNOWN if any("new-source" in line and " while " in line for line in rules) else 0
    for (time, number, service), verdict in zip(order, run.stdout.splitlines(), strict=True):
        group, passes = groups[number], " pass " in verdict
        group.sent += 1
        group.passed += passes
        group.lost += not (passes and servers.setdefault(service, Server()).takes(time)) and time - BEGIN >= unknown
    return {group.name: group for group in groups}


# ---- what the policy's own words promise

SCALE = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
PERIODS = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60}
LIMIT = re.compile(r"limit (?:[a-z-]+ )?(\d+)([kmg]?)(?:(bit)|/(\d*)([a-z]+))(?: (?:burst|queue) (\d+)(k?)(s?))?")


def bound(rules, flood):
    """How many packets of the flood its limit may admit: its burst, and its rate; none if it has no limit."""
    line = next((rule for rule in rules if rule.startswith(f"rule {flood.rule}")), None)
    if not line:
        return 0
    amount, scale, bits, periods, unit, burst, burst_scale, seconds = LIMIT.search(line).groups()
    n = int(amount) * SCALE[scale] / (SMALL_BITS if bits else 1)
    rate = n if bits else n / (int(periods or 1) * PERIODS[unit])
    if seconds:
        room = int(burst) * rate
    elif burst:
        room = int(burst) * SCALE[burst_scale]
    else:
        room = n if "window" in line or "-log" in line else max(rate / 10, 1 if "leaky" in line else BURST)
    return int(flood.keys * (room + rate * (flood.seconds + TICK_S) + 1))


# ---- rows


def complaints(rules, groups, clients, floods):
    for name in clients:
        if groups[name].lost:
            yield f"{name} lost {groups[name].lost:,} of {groups[name].sent:,}"
    for flood in floods:
        most = bound(rules, flood)
        if most >= groups[flood.name].sent:
            yield f"{flood.name}: its limit lets all of it pass, {most:,}"
        elif groups[flood.name].passed > most:
            yield f"{flood.name}: {groups[flood.name].passed:,} of {groups[flood.name].sent:,} passed, {most:,} at most may"


def told(groups, clients, floods):
    lost = ", ".join(f"{name} lost {groups[name].lost:,} of {groups[name].sent:,}" for name in clients)
    held = ", ".join(f"{flood.name} passed {groups[flood.name].passed:,} of {groups[flood.name].sent:,}" for flood in floods)
    return f"{lost}; {held}" if held else lost


def row(name, wrong):
    """Whether it passes."""
    print(f"{'not ok' if wrong else 'ok'} {name}", *(f"# {line}" for line in wrong), sep="\n", flush=True)
    return not wrong


def judged(make, *words):
    """The row; a policy that is refused makes one that fails."""
    try:
        return make(*words)
    except subprocess.CalledProcessError as refusal:
        return "each policy is accepted", refusal.stderr.splitlines()


def example_row(rlctl, example):
    if example.title not in PLAYS:
        return example.title, ["nobody plays it: give it a row in PLAYS of tests/prog/examples.py"]
    clients, floods = PLAYS[example.title]
    groups = figures(rlctl, example.rules, clients, floods)
    return f"{example.title} {told(groups, clients, floods)}", list(complaints(example.rules, groups, clients, floods))


def words_row(rlctl, rules):
    groups = figures(rlctl, rules, WORDS, [])
    wrong = list(complaints(rules, groups, WORDS, []))
    return f"{len(rules)} rules that show a word: {told(groups, WORDS, [])}", wrong and [*wrong, *rules]


def together(examples):
    """Their rules, as few policies: as many rules as a prefix holds, and none that replaces another."""
    policies = []
    for rule in (rule for example in examples for rule in example.rules):
        head = rule.partition(" limit ")[0]
        policy = next((p for p in policies if len(p) < PREFIX_RULES and head not in p), None)
        if policy is None:
            policies.append(policy := {})
        policy[head] = rule
    return [list(policy.values()) for policy in policies]


def needed_row(rlctl, examples, title, change, pattern, new, who):
    """That somebody loses after the change."""
    clients, floods = PLAYS[title]
    rules = next((example.rules for example in examples if example.title == title), [])
    changed = [re.sub(pattern, new, rule) for rule in rules]
    group = figures(rlctl, changed, clients, floods)[who]
    wrong = [] if changed != rules and group.lost * 20 > group.sent else ["nothing tells the two apart"]
    return f"{title}: {change} {who} lost {group.lost:,} of {group.sent:,}", wrong


def main():
    tree, rlctl = sys.argv[1:]
    examples = list(found(tree))
    ALARMS.update((line.split()[1], line) for example in examples for line in example.alarms)
    words = [example for example in examples if len(example.rules) <= WORDS_RULES and example.title not in PLAYS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passes = [row(*result) for result in pool.map(lambda example: judged(example_row, rlctl, example),
                                                       [example for example in examples if example not in words])]
        passes += [row(*result) for result in pool.map(lambda rules: judged(words_row, rlctl, rules), together(words))]
        passes += [row(*result) for result in pool.map(lambda needed: judged(needed_row, rlctl, examples, *needed), NEEDED)]
    stale = sorted(PLAYS.keys() - {example.title for example in examples})
    passes.append(row(f"each of {len(PLAYS)} rows has its example", stale))
    sys.exit(not all(passes))


if __name__ == "__main__":
    main()
