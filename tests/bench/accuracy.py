# SPDX-License-Identifier: GPL-2.0-only
"""How many packets that came when they came each algorithm admits by its definition: the reference that
admitted packets are compared with. Written from the definitions alone; knows nothing of rlctl. That of a
warm-up is its source, Guava, whose callers wait: what they get, which is the rate or all that is offered."""

import os
import sys
from bisect import bisect_left, bisect_right
from functools import lru_cache
from heapq import merge
from itertools import accumulate, count as counter, takewhile
from math import inf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "prog"))
import models  # noqa: E402

WINDOW_NS = 160_000_000  # floods of 1.2 s end in the middle of one
SECOND = 10**9


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


def algorithms(rate):
    """{algorithm: (the words of its policy, its model)} for a limit of RATE per second."""
    burst, window = max(1, rate // 100), max(1, rate * WINDOW_NS // SECOND)
    per = f"{window}/{WINDOW_NS // 10**6}ms"
    return {
        "token-bucket": (f"token-bucket {rate}/second burst {burst}", lambda: models.Bucket(rate, SECOND, burst)),
        "leaky-bucket": (f"leaky-bucket {rate}/second queue {burst}", lambda: models.Bucket(rate, SECOND, burst)),
        "fixed-window": (f"fixed-window {per}", lambda: models.FixedWindow(window, WINDOW_NS)),
        "sliding-window": (f"sliding-window {per} slots 10", lambda: models.SlidingWindow(window, WINDOW_NS)),
        "sliding-log": (f"sliding-log {per}", lambda: models.SlidingLog(window, WINDOW_NS)),
        "warm-up": (f"warm-up {rate}/second ramp 500ms", lambda: Guava(rate, 0.5)),
        "burst 1": (f"token-bucket {rate}/second burst 1", lambda: models.Bucket(rate, SECOND, 1)),
    }


@lru_cache(maxsize=None)
def frames_of(path):
    """Reads a file of `flood --timeline`: when its lines begin, and how many frames came before each."""
    with open(path) as f:
        grains = [tuple(map(int, line.split())) for line in f]
    return grains, [begin for begin, _, _ in grains], list(accumulate((n for _, _, n in grains), initial=0))


class Timeline:
    """When one CPU sent the packets of a source that is the NUMBER-th of SOURCES, sent in turns: by the file
    of `flood --timeline`, whose frames are taken for evenly spaced within each of its lines. Times are nanoseconds."""

    def __init__(self, path, sources, number):
        self.grains, self.begins, self.before = frames_of(path)
        self.sources, self.number = sources, number

    def time(self, k):
        """Time of its k-th packet; infinite if there are not so many."""
        frame = k * self.sources + self.number
        if frame >= self.before[-1]:
            return inf
        i = bisect_right(self.before, frame) - 1
        begin, end, frames = self.grains[i]
        return begin + (frame - self.before[i]) * (end - begin) // frames

    def first_from(self, t):
        """The number of its first packet at `t` or later."""
        return bisect_left(range(self.before[-1] // self.sources + 1), t, key=self.time)


def served(guava, timelines):
    """How many packets Guava's caller sends on, each after the one before, until the last has come."""
    end = max(line.grains[-1][1] for line in timelines) * 1e-9
    done, count = 0.0, 0
    for t in merge(*(takewhile(lambda t: t < inf, map(line.time, counter())) for line in timelines)):
        done = guava.acquire(max(done, t * 1e-9))
        if done > end:
            break
        count += 1
    return count


def allowed(name, rate, timelines):
    """How many of the packets of a source the algorithm NAME admits, at a limit of RATE per second."""
    model, admitted = algorithms(rate)[name][1](), 0
    if isinstance(model, Guava):
        return served(model, timelines)
    due = [[line.time(0), 0, line] for line in timelines]  # its next packet
    while (first := min(due, key=lambda d: d[0]))[0] < inf:
        t, k, line = first
        model.take(t, 1)
        admitted += 1
        first[:2] = line.time(k + 1), k + 1
        earliest = t if model.admits(t, 1) else model.edge(t)
        for d in due:
            if d[0] < earliest:
                k = d[2].first_from(earliest)
                d[:2] = d[2].time(k), k
    return admitted


if __name__ == "__main__":
    print("rule any deny")
    for i, (words, _) in enumerate(algorithms(int(sys.argv[1])).values()):
        print(f"rule 10.88.0.{i} limit {words}")
