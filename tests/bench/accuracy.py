# SPDX-License-Identifier: GPL-2.0-only
"""How many packets that came when they came each algorithm admits by its definition: the reference that
admitted packets are compared with. Written from the definitions alone; knows nothing of rlctl. That of a
warm-up is its source, Guava, whose callers wait: what they get, which is the rate or all that is offered."""

import sys
from bisect import bisect_right
from collections import deque
from functools import lru_cache
from heapq import merge
from itertools import accumulate, count as counter, takewhile
from math import ceil, inf

EPSILON = 1e-9
WINDOW_S = 0.16  # floods of 1.2 s end in the middle of one


class Bucket:
    """token-bucket and leaky-bucket: the same when packets are admitted at once or not at all."""

    def __init__(self, rate, size):
        self.interval, self.slack, self.full_at = 1 / rate, (size - 1) / rate, 0.0

    def earliest(self):
        return self.full_at - self.slack

    def admit(self, t):
        self.full_at = max(self.full_at, t) + self.interval


class FixedWindow:
    def __init__(self, amount, period):
        self.amount, self.period, self.start, self.used = amount, period, None, 0

    def earliest(self):
        return 0.0 if self.start is None or self.used < self.amount else self.start + self.period

    def admit(self, t):
        if self.start is None or t >= self.start + self.period - EPSILON:
            self.start, self.used = t, 0
        self.used += 1


class SlidingWindow:
    def __init__(self, amount, period, slots):
        self.amount, self.slots, self.width = amount, slots, period / slots
        self.used, self.sum = deque(), 0  # [slot, admitted]

    def earliest(self):
        return 0.0 if self.sum < self.amount else (self.used[0][0] + self.slots) * self.width

    def admit(self, t):
        slot = int(t / self.width + EPSILON)
        while self.used and self.used[0][0] <= slot - self.slots:
            self.sum -= self.used.popleft()[1]
        if not self.used or self.used[-1][0] != slot:
            self.used.append([slot, 0])
        self.used[-1][1] += 1
        self.sum += 1


class SlidingLog:
    def __init__(self, amount, period):
        self.times, self.period = deque(maxlen=amount), period

    def earliest(self):
        return self.times[0] + self.period if len(self.times) == self.times.maxlen else 0.0

    def admit(self, t):
        self.times.append(t)


class Guava:
    """Guava's SmoothRateLimiter.SmoothWarmingUp, cold at first: resync() and reserveEarliestAvailable(1)."""

    def __init__(self, rate, ramp, cold=3):
        self.stable = 1 / rate
        self.threshold = 0.5 * ramp / self.stable
        self.most = self.threshold + 2 * ramp / (self.stable + cold * self.stable)
        self.slope = (cold - 1) * self.stable / (self.most - self.threshold)
        self.cool_down = ramp / self.most
        self.stored, self.next_free = self.most, 0.0

    def height(self, permits):
        return self.stable + permits * self.slope

    def acquire(self, now):
        """Returns until when its caller waits."""
        if now > self.next_free:
            self.stored = min(self.most, self.stored + (now - self.next_free) / self.cool_down)
            self.next_free = now
        moment, spent = self.next_free, min(1.0, self.stored)
        above = max(0.0, self.stored - self.threshold)
        dear = min(above, spent)
        wait = dear * (self.height(above) + self.height(above - dear)) / 2 + self.stable * (spent - dear)
        self.next_free += wait + (1 - spent) * self.stable
        self.stored -= spent
        return moment


def models(rate):
    """{algorithm: (the words of its policy, its model)} for a limit of RATE per second."""
    burst, window = max(1, rate // 100), max(1, int(rate * WINDOW_S))
    per = f"{window}/{int(1000 * WINDOW_S)}ms"
    return {
        "token-bucket": (f"token-bucket {rate}/second burst {burst}", lambda: Bucket(rate, burst)),
        "leaky-bucket": (f"leaky-bucket {rate}/second queue {burst}", lambda: Bucket(rate, burst)),
        "fixed-window": (f"fixed-window {per}", lambda: FixedWindow(window, WINDOW_S)),
        "sliding-window": (f"sliding-window {per} slots 10", lambda: SlidingWindow(window, WINDOW_S, 10)),
        "sliding-log": (f"sliding-log {per}", lambda: SlidingLog(window, WINDOW_S)),
        "warm-up": (f"warm-up {rate}/second ramp 500ms", lambda: Guava(rate, 0.5)),
        "burst 1": (f"token-bucket {rate}/second burst 1", lambda: Bucket(rate, 1)),
    }


@lru_cache(maxsize=None)
def frames_of(path):
    """Reads a file of `flood --timeline`: when its lines begin, in seconds, and how many frames came before each."""
    with open(path) as f:
        grains = [tuple(map(int, line.split())) for line in f]
    return grains, [begin * 1e-9 for begin, _, _ in grains], list(accumulate((n for _, _, n in grains), initial=0))


class Timeline:
    """When one CPU sent the packets of a source that is the NUMBER-th of SOURCES, sent in turns: by the file
    of `flood --timeline`, whose frames are taken for evenly spaced within each of its lines."""

    def __init__(self, path, sources, number):
        self.grains, self.begins, self.before = frames_of(path)
        self.sources, self.number = sources, number

    def time(self, k):
        """Time of its k-th packet, in seconds; infinite if there are not so many."""
        frame = k * self.sources + self.number
        if frame >= self.before[-1]:
            return inf
        i = bisect_right(self.before, frame) - 1
        begin, end, frames = self.grains[i]
        return (begin + (frame - self.before[i]) * (end - begin) / frames) * 1e-9

    def first_from(self, t):
        """The number of its first packet at `t` or later."""
        i = bisect_right(self.begins, t) - 1
        if i < 0:
            return 0
        begin, end, frames = self.grains[i]
        frame = self.before[i] + min(1.0, (t * 1e9 - begin) / (end - begin)) * frames
        return max(0, ceil((frame - self.number) / self.sources - EPSILON))


def served(guava, timelines):
    """How many packets Guava's caller sends on, each after the one before, until the last has come."""
    end = max(line.grains[-1][1] for line in timelines) * 1e-9
    done, count = 0.0, 0
    for t in merge(*(takewhile(lambda t: t < inf, map(line.time, counter())) for line in timelines)):
        done = guava.acquire(max(done, t))
        if done > end:
            break
        count += 1
    return count


def allowed(name, rate, timelines):
    """How many of the packets of a source the algorithm NAME admits, at a limit of RATE per second."""
    model, admitted = models(rate)[name][1](), 0
    if isinstance(model, Guava):
        return served(model, timelines)
    due = [[line.time(0), 0, line] for line in timelines]  # its next packet
    while (first := min(due, key=lambda d: d[0]))[0] < inf:
        t, k, line = first
        model.admit(t)
        admitted += 1
        first[:2] = line.time(k + 1), k + 1
        earliest = model.earliest() - EPSILON
        for d in due:
            if d[0] < earliest:
                k = d[2].first_from(earliest)
                d[:2] = d[2].time(k), k
    return admitted


if __name__ == "__main__":
    print("rule any deny")
    for i, (words, _) in enumerate(models(int(sys.argv[1])).values()):
        print(f"rule 10.88.0.{i} limit {words}")
