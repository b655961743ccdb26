#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Simulates how much of a limit a fleet leaves unused, by the interval, the number of members, the part
that is split without a lease, and how uneven the load is: fleet-simulate.py [SVG] prints a table and draws
docs/fleet.svg.

The model is that of user/fleet/lease.c and user/fleet/rate.lua: once per interval, members request 1.25
times their demand; Redis splits 99 % of the limit, reserves before it grants, and takes back only what a
member returns; the other 1 % is split evenly without a lease. The load is 1.5 times the limit. Skew is the
part of it that one member gets; all share the rest evenly. It moves to another member every two seconds. Error:
the mean part of the limit that was not used; more than the limit is never admitted, which is checked.
"""
import random
import subprocess
import sys

OWN, HEADROOM = 0.01, 1.25
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


# The number that is varied, the others, its values, the default among them, and the error by value and skew.
SERIES = [
    ("interval, ms", "8 members", [10, 20, 50, 100, 200, 500], 50,
     lambda x, skew: error_of(8, x / 1000, skew)),
    ("members", "interval 50 ms", [2, 4, 8, 16, 32, 64, 128], None, lambda x, skew: error_of(x, 0.05, skew)),
    ("split without a lease, %", "8 members, interval 50 ms", [1, 2, 5, 10, 25, 50], 1,
     lambda x, skew: error_of(8, 0.05, skew, x / 100)),
]
LOADS = {"even": (0.0, "#1b6ca8", 1), "half to one": (0.5, "#5f5f5f", 2), "all to one": (1.0, "#c04a00", 1)}  # skew, color, dashes
SCRIPT = """set terminal svg size 960,400 font "sans-serif,12" background "white"
set output "{path}"
set multiplot
set label 1 "The part of a limit that a fleet leaves unused" at screen 0.5,0.955 center font ",15"
set label 2 "simulated, under a load of 1.5 times the limit that moves to another member every 2 s" at screen 0.5,0.9 center tc rgb "#555555"
set label 3 "even: all members get the same of it; half to one: one gets half, and all share the rest; all to one: one gets everything" \\
	at screen 0.5,0.85 center tc rgb "#555555"
set tmargin at screen 0.72
set bmargin at screen 0.17
set logscale x
set grid ytics lc rgb "#e4e4e4"
set border 3 lc rgb "#888888"
set tics nomirror out scale 0.5 textcolor rgb "#444444"
set yrange [0:50]
set format y "%g %%"
"""


def plot(blocks, path):
    """Panels with one scale by gnuplot, the names of the loads at the ends of their lines."""
    script = [SCRIPT.format(path=path)]
    for at, ((label, rest, points, default, _), rows) in enumerate(zip(SERIES, blocks)):
        left = 0.055 + 0.315 * at
        script += [f"set lmargin at screen {left}", f"set rmargin at screen {left + 0.22}", f'set xlabel "{label}"',
                   f'set label 4 "{rest}" at graph 0,1.06 font ",13"', f"set xrange [{points[0] * 0.9}:{points[-1]}]",
                   "set xtics (" + ",".join(str(x) for x in points) + ")"]
        if default:
            script += [f"set arrow 1 from {default},graph 0 to {default},graph 0.9 nohead dt 3 lc rgb '#888888'",
                       f"set label 5 'default' at {default},graph 0.94 center tc rgb '#555555'"]
        script += [f"set label {6 + i} '{name}' at {points[-1]},{rows[-1][1 + i] * 100} offset 0.8,0 tc rgb '{color}'"
                   for i, (name, (_, color, _)) in enumerate(LOADS.items())]
        script += ["plot " + ", ".join(f"'-' with linespoints lw 2 dt {dash} pt 7 ps 0.5 lc rgb '{color}' notitle"
                                       for _, color, dash in LOADS.values())]
        for column in range(len(LOADS)):
            script += [f"{row[0]} {row[column + 1] * 100}" for row in rows] + ["e"]
        script += ["unset label", "unset arrow", "set format y ''"]
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    blocks = []
    for label, rest, points, _, error in SERIES:
        print(f"{rest}: {label:24}" + "".join(f"{name:>13}" for name in LOADS))
        rows = [[x] + [error(x, skew) for skew, *_ in LOADS.values()] for x in points]
        for row in rows:
            print(f"{row[0]:>{len(rest) + 26}}" + "".join(f"{e * 100:11.2f} %" for e in row[1:]))
        blocks.append(rows)
    plot(blocks, sys.argv[1] if len(sys.argv) > 1 else "docs/fleet.svg")


main()
