# SPDX-License-Identifier: GPL-2.0-only
"""rlctl-policy(5)'s algorithms, slow and obvious, written from its sentences alone. Times are integer
nanoseconds; costs are packets or bytes. Each model has

    margin(t, c)   by how many nanoseconds a packet of cost c at t is early (< 0) or late enough;
                   None where nothing but the sum decides
    admits(t, c)   the verdict
    take(t, c)     what an admitted packet changes
    edge(t)        an instant around which verdicts may change
    left(t)        what would still fit at t
    doubt()        a verdict may be the other where |margin| is at most so much; 0: none may

An admission is what the judged program says, so that one verdict within the doubt leads nowhere.
"""
from collections import deque
from fractions import Fraction
from math import isqrt

SECOND = 10**9
GRAIN = Fraction(1, 16)  # nanoseconds: what the data path counts buckets in


class Bucket:
    """Token bucket and leaky bucket: tokens taken, or the level; the sums are the same. The debt is
    a number of 1/N nanoseconds, in which a packet's cost, P, is whole.

    The doubt, where a packet costs no whole number of grains and so is rounded up or down by
    chance: a grain for each packet since the bucket was beyond doubt full, of many packets 8
    deviations; as much for a burst of the smallest packets; and a grain for the rest of the fixed
    point.
    """

    def __init__(self, n, p, size, part=1, least=1):
        """part: how many of the unit that n and size count in one of the packets' unit is (8 bits
        in a byte); least: the smallest cost."""
        self.n, self.p, self.part, self.capacity = n, p, part, size * p
        self.owed, self.last, self.packets = 0, None, 0
        self.exact = 16 * p * part % n == 0
        self.slack = rounding(size // part // least + 1)

    def wait(self, t):
        if self.last is not None:
            back = (t - self.last) * self.n
            if back >= self.owed + self.doubt() * self.n:
                self.packets = 0
            self.owed = max(0, self.owed - back)
        self.last = t

    def margin(self, t, c):
        self.wait(t)
        return Fraction(self.capacity - self.owed - c * self.part * self.p, self.n)

    def admits(self, t, c):
        return self.margin(t, c) >= 0

    def take(self, t, c):
        self.wait(t)
        self.owed += c * self.part * self.p
        self.packets += 1

    def edge(self, t):
        """When one packet, or one byte, will fit."""
        self.wait(t)
        return t + -(-max(0, self.owed + self.part * self.p - self.capacity) // self.n)

    def left(self, t):
        self.wait(t)
        return max(0, self.capacity - self.owed) // (self.part * self.p)

    def doubt(self):
        return 0 if self.exact else (rounding(self.packets) + self.slack + 1) * GRAIN


def rounding(packets):
    return packets if packets <= 256 else 256 + 4 * isqrt(packets)


class FixedWindow:
    """A window starts with the first admitted packet at s and covers [s, s + P)."""

    def __init__(self, n, p, part=1):
        self.n, self.p, self.part = n, p, part
        self.start, self.sum = None, 0

    def current(self, t):
        return self.sum if self.start is not None and t < self.start + self.p else 0

    def margin(self, t, c):
        return None

    def admits(self, t, c):
        return self.current(t) + c * self.part <= self.n

    def take(self, t, c):
        if self.start is None or t >= self.start + self.p:
            self.start, self.sum = t, 0
        self.sum += c * self.part

    def edge(self, t):
        return t if self.start is None else self.start + self.p

    def left(self, t):
        return (self.n - self.current(t)) // self.part

    def doubt(self):
        return 0


class SlidingWindow(FixedWindow):
    """Time is cut into slots of P/slots, aligned to the clock: the current one and the slots - 1
    before it count."""

    def __init__(self, n, p, slots=10, part=1):
        super().__init__(n, p, part)
        self.slots, self.sums = slots, {}

    def slot(self, t):
        return t * self.slots // self.p

    def current(self, t):
        now = self.slot(t)
        return sum(amount for slot, amount in self.sums.items() if now - self.slots < slot <= now)

    def take(self, t, c):
        now = self.slot(t)
        self.sums = {slot: amount for slot, amount in self.sums.items() if slot > now - self.slots}
        self.sums[now] = self.sums.get(now, 0) + c * self.part

    def edge(self, t):
        oldest = min(self.sums, default=self.slot(t))
        return -(-(oldest + self.slots) * self.p // self.slots)


class SlidingLog(FixedWindow):
    """Fewer than N packets were admitted in (t - P, t]."""

    def __init__(self, n, p):
        super().__init__(n, p)
        self.log = deque()

    def current(self, t):
        while self.log and self.log[0] <= t - self.p:
            self.log.popleft()
        return len(self.log)

    def take(self, t, c):
        self.log.append(t)

    def edge(self, t):
        return self.log[0] + self.p if self.log else t


class WarmUp:
    """Guava's SmoothWarmingUp with no waiting, but a packet may have been due up to burst - 1 intervals
    ago, by default a cold one. Times since the first packet, so that a double keeps them. The doubt is
    the stated tolerance: a hundredth of the interval that is being waited."""

    def __init__(self, n, p, ramp, cold=3, burst=None):
        self.stable, self.ramp = p / n, ramp
        self.threshold = ramp / (2 * self.stable)
        self.max = self.threshold + 2 * ramp / (self.stable * (1 + cold))
        self.slope = self.stable * (cold - 1) / (self.max - self.threshold)
        self.late = self.stable * (burst - 1 if burst else cold)
        self.stored, self.next, self.cost, self.first = self.max, None, 0, None

    def since(self, t):
        if self.first is None:
            self.first = t
        return t - self.first

    def margin(self, t, c):
        return self.since(t) - (self.next or 0)

    def admits(self, t, c):
        return self.margin(t, c) >= 0

    def take(self, t, c):
        t = self.since(t)
        base = t if self.next is None else max(self.next, t - self.late)
        self.stored = min(self.max, self.stored + (base - (self.next or base)) * self.max / self.ramp)
        k = min(1, self.stored)
        above = min(k, max(0, self.stored - self.threshold))
        height = self.stable + self.slope * (self.stored - self.threshold - above / 2)
        self.cost = above * height + (1 - above) * self.stable
        self.next = base + self.cost
        self.stored -= k

    def edge(self, t):
        self.since(t)
        return self.first + int(self.next or 0) + 1

    def left(self, t):
        return int(self.admits(t, 1))

    def doubt(self):
        return self.cost / 100 + 1
