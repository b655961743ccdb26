# SPDX-License-Identifier: GPL-2.0-only
"""How many of evenly spaced packets each algorithm admits by its definition: the reference that
admitted packets are compared with. Written from the definitions alone; knows nothing of rlctl."""

import sys
from collections import deque
from math import ceil

EPSILON = 1e-9


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


class WarmUp:
    """Guava's SmoothWarmingUp without waiting, cold at first."""

    def __init__(self, rate, ramp, cold=3):
        self.stable, self.ramp = 1 / rate, ramp
        coldest = cold * self.stable
        self.threshold = ramp / (2 * self.stable)
        self.most = self.threshold + 2 * ramp / (self.stable + coldest)
        self.slope = (coldest - self.stable) / (self.most - self.threshold)
        self.stored, self.next = self.most, 0.0

    def earliest(self):
        return self.next

    def admit(self, t):
        self.stored = min(self.most, self.stored + (t - self.next) * self.most / self.ramp)
        self.next = t
        take = min(1.0, self.stored)
        above = min(take, max(0.0, self.stored - self.threshold))
        high = self.stored - self.threshold
        area = above * (2 * self.stable + (2 * high - above) * self.slope) / 2
        self.next += area + (1 - above) * self.stable
        self.stored -= take


def models(rate):
    """{algorithm: (the words of its policy, its model)} for a limit of RATE per second."""
    burst, window = max(1, rate // 100), max(1, rate // 5)
    return {
        "token-bucket": (f"token-bucket {rate}/second burst {burst}", lambda: Bucket(rate, burst)),
        "leaky-bucket": (f"leaky-bucket {rate}/second queue {burst}", lambda: Bucket(rate, burst)),
        "fixed-window": (f"fixed-window {window}/200ms", lambda: FixedWindow(window, 0.2)),
        "sliding-window": (f"sliding-window {window}/200ms slots 10", lambda: SlidingWindow(window, 0.2, 10)),
        "sliding-log": (f"sliding-log {window}/200ms", lambda: SlidingLog(window, 0.2)),
        "warm-up": (f"warm-up {rate}/second ramp 500ms", lambda: WarmUp(rate, 0.5)),
        "burst 1": (f"token-bucket {rate}/second burst 1", lambda: Bucket(rate, 1)),
    }


def allowed(name, rate, sent, seconds):
    """Of SENT packets, one every SECONDS/SENT."""
    model, gap, k, admitted = models(rate)[name][1](), seconds / sent, 0, 0
    while k < sent:
        model.admit(k * gap)
        admitted += 1
        k = max(k + 1, ceil((model.earliest() - EPSILON) / gap))
    return admitted


if __name__ == "__main__":
    print("rule any deny")
    for i, (words, _) in enumerate(models(int(sys.argv[1])).values()):
        print(f"rule 10.88.0.{i} limit {words}")
