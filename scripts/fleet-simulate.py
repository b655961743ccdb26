#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Simulates how much of a limit a fleet leaves unused, by the interval, the number of members, the part
that is split without a lease, and the skew of the load: fleet-simulate.py [SVG] prints a table and draws
docs/fleet.svg.

The model is that of user/fleet/lease.c and user/fleet/rate.lua: once per interval, members request 1.25
times their demand; Redis splits 95 % of the limit, reserves before it grants, and takes back only what a
member returns; the other 5 % is split evenly without a lease. The load is 1.5 times the limit. Skew 0: all
members get the same load; 1: one member gets all. The load moves to other members every two seconds. Error:
the mean part of the limit that was not used; more than the limit is never admitted, which is checked.
"""
import random
import subprocess
import sys

OWN, HEADROOM = 0.05, 1.25
CHECK, RETRY, SMOOTH = 0.25, 0.1, 0.15
SECONDS, MOVE, LOAD = 40, 2.0, 1.5


class Member:
    def __init__(self):
        self.held = self.reserved = self.want = self.wish = self.demand = 0.0
        self.next = self.backoff = self.seen = 0.0

    def check(self, now, offered, own, leased):
        """Computes the share wanted; true: request it now. See share_check()."""
        weight = (now - self.seen) / (now - self.seen + SMOOTH)
        if offered > self.demand:
            weight = max(weight, 0.5)
        self.demand += (offered - self.demand) * weight
        self.seen = now
        refused = offered > self.held + own
        want = max(0.0, self.demand - own) * HEADROOM
        if refused:
            want = max(want, self.held * HEADROOM + 0.001)
        self.want = min(leased, want) if offered else 0.0
        if self.want * 1.5 < self.held:
            self.held = self.want
        return self.held != self.reserved or self.want > self.held * (1 if refused else 1.25)

    def take(self, now, granted, part, interval):
        self.reserved, self.held, self.wish = max(granted, self.held), granted, self.want
        if granted >= self.want:
            self.backoff, wait = 0.0, CHECK
        else:
            self.backoff = min(2 * self.backoff or interval, RETRY if granted < part else CHECK)
            wait = interval if self.held < self.reserved else self.backoff
        self.next = now + max(wait, interval)


def ask(members, member, leased):
    """The script RATE."""
    others = sum(m.reserved for m in members if m is not member)
    wishes = sum(m.wish for m in members if m is not member) + member.want
    part = member.want if wishes <= leased else leased * member.want / wishes
    return max(0.0, min(part, leased - others)), part


def shares(count, skew, turn):
    """Each member's part of the load: one gets `skew`, all share the rest evenly."""
    even = (1 - skew) / count
    return [even + (skew if (i + turn) % count == 0 else 0) for i in range(count)]


def error_of(count, interval, skew, part=OWN, seed=1):
    """The unused part of the limit."""
    dice, members, passed, step = random.Random(seed), [], 0.0, interval / 2
    own, leased = part / count, 1 - part
    for _ in range(count):
        member = Member()
        member.next = dice.random() * interval
        members.append(member)
    for tick in range(int(SECONDS / step)):
        now = tick * step
        offered = [LOAD * s for s in shares(count, skew, int(now / MOVE))]
        for member, one in zip(members, offered):
            if member.next <= now:
                if member.check(now, one, own, leased):
                    member.take(now, *ask(members, member, leased), interval)
                else:
                    member.next = now + CHECK
            elif one > member.held + own and not member.backoff:
                member.next = min(member.next, now + interval)  # an event
        rates = [min(one, m.held + own) for m, one in zip(members, offered)]
        assert sum(rates) <= 1 + 1e-9, "more than the limit"
        passed += sum(rates) * step
    return 1 - passed / SECONDS


SERIES = [
    ("interval, ms", "8 members", [10, 20, 50, 100, 200, 500],
     lambda x, skew: error_of(8, x / 1000, skew)),
    ("members", "50 ms", [2, 4, 8, 16, 32, 64, 128], lambda x, skew: error_of(x, 0.05, skew)),
    ("split without lease, %", "8 members, 50 ms", [1, 2, 5, 10, 25, 50],
     lambda x, skew: error_of(8, 0.05, skew, x / 100)),
]
SKEWS = [0.0, 0.5, 1.0]


def plot(blocks, path):
    """Panels by gnuplot."""
    script = ['set terminal svg size 1200,380 font "sans-serif,12" background "white"',
              f'set output "{path}"', "set multiplot layout 1,3", "set logscale x",
              "set grid ytics lc rgb '#dddddd'", "set border 3", "set tics nomirror",
              "set yrange [0:*]", 'set ylabel "limit not used, %"', "set key top left"]
    for (label, what, points, _), rows in zip(SERIES, blocks):
        script += [f'set xlabel "{label}"', f'set title "{what}; the load moves every 2 s"',
                   "set xtics (" + ",".join(str(p) for p in points) + ")",
                   "plot " + ", ".join(f'"-" with linespoints lw 2 pt 7 title "skew {s:g}"'
                                       for s in SKEWS)]
        for column in range(len(SKEWS)):
            script += [f"{row[0]} {row[column + 1] * 100}" for row in rows] + ["e"]
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    blocks = []
    for label, what, points, error in SERIES:
        print(f"{what}: {label:18}" + "".join(f"   skew {s:3.1f}" for s in SKEWS))
        rows = [[x] + [error(x, s) for s in SKEWS] for x in points]
        for row in rows:
            print(f"{row[0]:>{len(what) + 20}}" + "".join(f" {e * 100:8.2f} %" for e in row[1:]))
        blocks.append(rows)
    plot(blocks, sys.argv[1] if len(sys.argv) > 1 else "docs/fleet.svg")


main()
