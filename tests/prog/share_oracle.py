#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""share_oracle.py RLCTL [--seed N] [--only NAME] [--set NAME=VALUE …] [--keep DIR]

Random captures against limits that senders share: what rlctl simulate lets pass is what share_model.py, written from
the manual alone, promises. One line in TAP for each promise of each capture. --set changes a constant of the model.
"""
import argparse
import ipaddress
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import share_model
from capture import frame, pcap
from share_model import SECOND, Model, packets_read

START = 1_700_000_000 * SECOND
OWN = "192.0.2.1"
LOCAL = ["--local", OWN, "--local", "2001:db8::1"]
PEACE, END = 1, 4.5  # seconds: the flood begins, the capture ends
HEAD = 74  # bytes of a frame that are captured


class Trace:
    """The packets of a capture: senders send evenly with some jitter, or at random."""

    def __init__(self, seed):
        self.random, self.taken, self.asks = random.Random(seed), [], False

    def sends(self, source, rate, begin, end, kind="udp", size=80, sport=1000, dport=53, poisson=False, **more):
        words = dict(kind=kind, size=str(size), sport=str(sport), dport=str(dport), source=source, **more)
        whole = frame(words)
        step, time = SECOND / rate, begin * SECOND + self.random.random() * SECOND / rate
        while time < end * SECOND:
            jitter = 0 if poisson else self.random.uniform(-0.05, 0.05) * step
            self.taken.append((START + max(0, int(time + jitter)), whole[:HEAD], size))
            time += self.random.expovariate(1) * step if poisson else step

    def bursts(self, source, rate, begin, end, **more):
        """As many packets at once as the manual says that a source may send."""
        size = int(share_model.BURST)
        for n in range(int((end - begin) * rate / size)):
            at = begin + (n + self.random.random() / 2) * size / rate
            self.sends(source, 100000, at, at + size / 100000, **more)

    def floods(self, rate, begin=PEACE, end=END, kind="udp", size=80, sport=1000, dport=53, hosts=None, **more):
        """From forged addresses, or of so many hosts, each of which sends on."""
        six = kind.endswith("6")
        words = dict(kind=kind, size=str(size), sport=str(sport), dport=str(dport), source="2001:db8::9" if six else "192.0.2.9", **more)
        whole, at = frame(words), 22 if six else 26
        pool = [self.address(six) for _ in range(hosts or 0)]
        time = begin * SECOND
        while time < end * SECOND:
            source = self.random.choice(pool) if pool else self.address(six)
            self.taken.append((START + int(time), (whole[:at] + source + whole[at + len(source):])[:HEAD], size))
            time += self.random.expovariate(1) * SECOND / rate

    def address(self, six):
        network = self.random.randrange(40000)
        if six:
            return struct.pack(">HHIQ", 0x2400 + network % 64, network, self.random.getrandbits(32), self.random.getrandbits(64))
        return struct.pack(">BBH", 20 + network // 256 % 160, network % 256, self.random.getrandbits(16))

    def connections(self, rates, begin=PEACE, end=END, size=80):
        self.asks = True
        for n, rate in enumerate(rates):
            peer = f"198.18.{n % 250}.{n // 250 + 1}"
            self.taken.append((START, frame(dict(kind="udp", size="80", source=OWN, dst=peer, sport="53", dport=str(2000 + n)))[:HEAD], 80))
            self.sends(peer, rate, begin, end, sport=2000 + n, size=size)

    def known(self, rates, begin=PEACE, end=END, size=80, six=False):
        """Each there in peace, at a low rate, and then at its own."""
        for n, rate in enumerate(rates):
            source = f"2001:db8:{n + 1:x}::1" if six else f"198.51.{n // 200}.{n % 200 + 1}"
            words = dict(kind="udp6" if six else "udp", size=self.random.choice(size) if isinstance(size, tuple) else size)
            self.sends(source, 4, 0, PEACE, **words)
            self.sends(source, rate, begin, end, **words)

    def sorted(self):
        return sorted(self.taken, key=lambda packet: packet[0])


# ---- the captures: each a function of a random trace that gives the policy, and when its traffic changed

def few_known_one_heavy(t):
    t.known([t.random.randint(20, 90) for _ in range(8)] + [6000])
    t.floods(6000)
    return "rule device limit 4000/second burst 400 share"


def many_known(t):
    t.known([t.random.randint(10, 80) for _ in range(40)])
    t.known([t.random.randint(40, 120) for _ in range(40)], six=True)
    for n in range(6):
        t.sends(f"198.51.99.{n + 1}", 4, 0, PEACE)
        t.bursts(f"198.51.99.{n + 1}", t.random.randint(8, 25), PEACE, END)
    t.floods(4000, kind="udp6")
    return "rule device limit 4000/second burst 400 share"


def all_full(t):
    t.connections([t.random.randint(50, 400) for _ in range(30)])
    t.known([t.random.randint(20, 300) for _ in range(30)])
    t.floods(4000)
    return f"rule device limit 5000/second burst 500 share {t.random.choice(['50/30/20', '60/30/10', '40/40/20'])}"


def known_idle(t):
    t.known([t.random.randint(5, 15) for _ in range(10)], six=True)
    t.connections([2500] * 3 + [50] * 3)
    t.floods(5000)
    first = t.random.randint(20, 60)
    return f"rule any limit 5000/second burst 500 share {first}/{90 - first}/10"


def in_bits(t):
    t.known([t.random.randint(10, 60) for _ in range(12)] + [2500] * 2, size=(100, 300, 700, 1400))
    t.floods(10000, size=300)
    return "rule device limit 20mbit burst 250kbyte share"


def patterns(t):
    t.known([20] * 5)
    t.floods(5000)
    t.floods(t.random.randint(1500, 3000), kind="tcp", dport=443, flags="S", size=62)
    t.floods(t.random.randint(1500, 3000), kind="udp6", dport=123, size=300)
    t.floods(t.random.randint(40, 100), kind="tcp", dport=22, flags="S", size=70)
    return "rule device limit 4000/second burst 400 share 30/30/40"


def bots(t):
    """Strangers that send on do not become known."""
    t.known([30] * 5 + [1000] * 4)
    t.floods(4000, dport=123)
    n = t.random.randint(0, 20)
    t.floods(4000, PEACE + 0.3, hosts=300, kind="tcp", dport=80, flags="S", size=62)
    return f"rule device limit 5000/second burst 500 share {30 + n}/{40 - n}/30"


def per_source(t):
    t.known([t.random.randint(20, 200) for _ in range(20)] + [3000])
    t.known([t.random.randint(100, 400) for _ in range(20)], six=True)
    return "rule any limit 4000/second burst 400 share per source"


def per_network_bits(t):
    for n in range(12):
        for host in range(4):
            t.sends(f"203.0.{n}.{host + 1}", t.random.randint(20, 60 + 20 * n), 0 if n < 2 else PEACE, END, size=500)
            t.sends(f"2001:db8:0:{n:x}{host:02x}::1", t.random.randint(20, 60 + 20 * n), PEACE, END, kind="udp6", size=900)
    return "rule any udp limit 20mbit burst 250kbyte share per source/24,56"


def per_dest(t):
    for n in range(30):
        t.sends("203.0.113.9", t.random.randint(40, 500), PEACE, END, dst=f"192.0.2.{n + 10}")
    return "rule any limit 4000/second burst 400 share per dest"


def kept_for_known(t):
    t.known([t.random.randint(20, 60) for _ in range(10)])
    t.floods(6000)
    return "rule device limit 2000/second burst 200 keep 60 for known"


def kept_for_set(t):
    t.floods(6000, 0.5, size=200)
    for n in range(1, 9):
        t.sends(f"198.51.100.{n}", t.random.randint(20, 90), 0, END, size=1200, poisson=True)
    return "rule device limit 4mbit burst 50kbyte keep 20kbyte for @friends"


def kept_for_established(t):
    t.connections([t.random.randint(20, 90) for _ in range(10)])
    t.floods(6000, kind="udp6")
    return "rule device limit 2000/second burst 200 keep 50 for established"


def peace_only(t):
    """At random, so that only the burst takes what comes together."""
    t.known([t.random.randint(10, 40) for _ in range(30)])
    t.floods(2500, 0)
    return "rule device limit 4000/second burst 400 share", (END,)


def parts_change(t):
    """The established fall silent, and what they had is the others'; then the known do."""
    t.connections([400] * 10, end=3.5)
    t.known([200] * 25, end=6)
    t.floods(5000, end=8.5)
    return "rule device limit 5000/second burst 500 share", (PEACE, 3.5, 6)


CAPTURES = [few_known_one_heavy, many_known, all_full, known_idle, in_bits, patterns, bots, per_source,
            per_network_bits, per_dest, kept_for_known, kept_for_set, kept_for_established, peace_only, parts_change]


# ---- the program over them

def verdicts(rlctl, directory, policy, taken, options):
    (directory / "policy").write_text(policy + "\n")
    with open(directory / "capture", "wb") as out:
        pcap(out, "<", True, "1", taken)
    command = [rlctl, "simulate", str(directory / "policy"), str(directory / "capture"), "--verdicts", "-q", *options]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [line.split(None, 3)[2] == "pass" for line in lines]


def judged(rlctl, directory, seed, make):
    trace = Trace(seed)
    line = make(trace)
    line, changes = line if isinstance(line, tuple) else (line, (PEACE,))
    members = [ipaddress.ip_address(f"198.51.100.{n}") for n in range(1, 9)]
    (directory / "friends").write_text("".join(f"{m}\n" for m in members))
    policy = f"set friends file {directory}/friends\n{line}" if "@friends" in line else line
    taken = trace.sorted()
    got = verdicts(rlctl, directory, policy, taken, LOCAL if trace.asks else [])
    packets = packets_read(taken)
    own = ipaddress.ip_address(OWN).packed
    return line, Model(line, packets, got, [START + int(c * SECOND) for c in changes], own, {m.packed for m in members}).claims()


def holds(claim):
    return (claim.low is None or claim.got >= claim.low) and (claim.high is None or claim.got <= claim.high)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rlctl")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    for name, value in (word.split("=") for word in args.set):
        numbers = [Fraction(n) for n in value.split(",")]
        setattr(share_model, name, numbers if name == "PARTS" else numbers[0])
    failed = 0
    for make in CAPTURES:
        if args.only not in make.__name__:
            continue
        with tempfile.TemporaryDirectory() as directory:
            line, claims = judged(args.rlctl, Path(args.keep or directory), args.seed, make)
            rows = {}
            for claim in claims:
                rows.setdefault(claim.name, []).append(claim)
        for name, of in rows.items():
            wrong = [c for c in of if not holds(c)]
            failed += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {make.__name__.replace('_', ' ')}, seed {args.seed}: {name}")
            for c in of if args.verbose else wrong:
                low, high = (x if x is None else round(float(x), 2) for x in (c.low, c.high))
                print(f"# {line}: {float(c.got):.10g} {c.what}, promised {low} to {high}")
        sys.stdout.flush()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
