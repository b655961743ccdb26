#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""senders.py RLCTL: prints the table of docs/algorithms.md: the share that passes of what senders of
different habits offer, by RLCTL simulate on captures made for it, and by the law that each algorithm
was taken from, each written here from its source. Nothing is timed: it is the same on every run."""

import random
import subprocess
import sys
import tempfile

from accuracy import Guava  # which also finds tests/prog
from capture import frame, pcap

RATE, SECONDS, RAMP = 10, 400, 2
FROM = 1.5 * RAMP  # seconds: what is counted; before it a warm-up is cold
LOADS = (0.5, 0.9, 1.0, 1.1)
BASE = 10**9  # seconds: full ones of the epoch


# ---- senders: when their packets come, in nanoseconds

def together(count):
    def times(load):
        gap = count / (load * RATE)
        return [round(i * gap * 1e9) for i in range(int(SECONDS / gap)) for _ in range(count)]
    return times


def at_random(load):
    draw, now, times = random.Random(1), 0.0, []
    while now < SECONDS:
        times.append(round(now * 1e9))
        now += draw.expovariate(load * RATE)
    return times


SENDERS = {"even": together(1), "random": at_random, "in pairs": together(2), "ten at once": together(10)}


# ---- the laws: admits(ns), or share(times) where its callers wait

class Bursty:
    """Guava's SmoothBursty with tryAcquire(): a second of permits, and the next caller pays for this one."""

    def __init__(self):
        self.stored, self.free_us = 0.0, 0.0

    def admits(self, ns):
        now_us, interval = ns // 1000, 1e6 / RATE
        if now_us > self.free_us:
            self.stored = min(RATE, self.stored + (now_us - self.free_us) / interval)
            self.free_us = now_us
        if self.free_us > now_us:
            return False
        spent = min(1.0, self.stored)
        self.stored -= spent
        self.free_us += (1 - spent) * interval
        return True


class Nginx:
    """nginx's limit_req without burst: ngx_http_limit_req_lookup(), in thousandths and milliseconds."""

    def __init__(self):
        self.excess, self.last = 0, None

    def admits(self, ns):
        now = ns // 10**6
        excess = 0
        if self.last is not None:
            excess = max(0, self.excess - RATE * (now - self.last) + 1000)
        if excess > 0:
            return False
        self.excess, self.last = excess, now
        return True


class Counter:
    """A counter that expires: INCR, and EXPIRE by the first."""

    def __init__(self):
        self.end, self.count = 0, 0

    def admits(self, ns):
        if ns >= self.end:
            self.end, self.count = ns + 10**9, 0
        self.count += self.count < RATE + 1
        return self.count <= RATE


class LeapArray:
    """Sentinel's LeapArray: ten buckets in a ring, reset when their time comes round."""

    def __init__(self):
        self.start, self.count = [None] * 10, [0] * 10

    def admits(self, ns):
        now = BASE * 1000 + ns // 10**6
        i, start = now // 100 % 10, now - now % 100
        if self.start[i] != start:
            self.start[i], self.count[i] = start, 0
        total = sum(c for s, c in zip(self.start, self.count) if s is not None and now - s < 1000)
        self.count[i] += total < RATE
        return total < RATE


class Zset:
    """A sorted set of times: ZREMRANGEBYSCORE, ZCARD, ZADD."""

    def __init__(self):
        self.times = []

    def admits(self, ns):
        self.times = [t for t in self.times if t > ns - 10**9]
        if len(self.times) >= RATE:
            return False
        self.times.append(ns)
        return True


class Waiting:
    """Guava's SmoothWarmingUp with acquire(): each waits for the one before. Counts those that are let through in time."""

    def share(self, times):
        guava, done, passed = Guava(RATE, RAMP), 0.0, 0
        for t in times:
            done = guava.acquire(max(done, t / 1e9))
            passed += FROM <= done < SECONDS
        return min(1.0, passed / counted(times))


LIMITS = {  # algorithm: limit, law, its name
    "token-bucket": (f"{RATE}/second", Bursty, "Guava's SmoothBursty"),
    "leaky-bucket": (f"leaky-bucket {RATE}/second", Nginx, "nginx's limit_req"),
    "fixed-window": (f"fixed-window {RATE}/second", Counter, "INCR and EXPIRE"),
    "sliding-window": (f"sliding-window {RATE}/second", LeapArray, "Sentinel's LeapArray"),
    "sliding-log": (f"sliding-log {RATE}/second", Zset, "a sorted set of times"),
    "warm-up": (f"warm-up {RATE}/second ramp {RAMP}s", Waiting, "Guava's SmoothWarmingUp, waiting"),
}


def counted(times):
    return sum(t >= FROM * 1e9 for t in times)


def law_share(law, times):
    if hasattr(law, "share"):
        return law.share(times)
    return sum([law.admits(t) and t >= FROM * 1e9 for t in times]) / counted(times)


# ---- the program

def capture_write(out, packets, senders):
    heads = [frame({"kind": "udp", "source": f"192.0.2.{source}", "size": "60", "sport": "40000", "dport": "9"}) for source in range(senders)]
    pcap(out, "<", True, "1", ((BASE * 10**9 + t, heads[source], 60) for t, source in packets))
    out.flush()


def simulate(rlctl, capture, limit):
    run = subprocess.run([rlctl, "simulate", "-", capture, "--verdicts"], check=True, text=True,
                         input=f"rule any limit {limit}\n", stdout=subprocess.PIPE)
    return [line.split()[2] == "pass" for line in run.stdout.splitlines()]


def main(rlctl):
    senders = [(habit, load, times(load)) for habit, times in SENDERS.items() for load in LOADS]
    packets = sorted((t, source) for source, (_, _, times) in enumerate(senders) for t in times)
    print("| limit, and the law beside it | sender | " + " | ".join(f"{load} ×" for load in LOADS) + " |")
    print("|---|---|" + "---|" * len(LOADS))
    with tempfile.NamedTemporaryFile() as capture:
        capture_write(capture, packets, len(senders))
        for limit, law, name in LIMITS.values():
            passed = [0] * len(senders)
            for (t, source), passes in zip(packets, simulate(rlctl, capture.name, limit), strict=True):
                passed[source] += passes and t >= FROM * 1e9
            cells = [f"{100 * n / counted(times):.0f} ({100 * law_share(law(), times):.0f})"
                     for n, (_, _, times) in zip(passed, senders)]
            for i, habit in enumerate(SENDERS):
                row = cells[i * len(LOADS):(i + 1) * len(LOADS)]
                print(f"| `{limit}` ({name}) | {habit} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main(sys.argv[1])
