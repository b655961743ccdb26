#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""sets.py RAW JSON: what sets.sh measured, as a table and as docs/sets.json: the median of the rounds, the lowest and the highest."""

import sys
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True
from rounds import read, write

# Candidate: the figure's unit, and what makes it of seconds.
UNITS = {
    "rlctl --version": ("ms", lambda s: s * 1e3),
    "set add": ("ms", lambda s: s * 1e3),
    "stream": ("adds/s", lambda s: 1 / s),
    "list": ("s", lambda s: s),
    "swap": ("s", lambda s: s),
    "swap under flood": ("s", lambda s: s),
    "memory ipv4": ("bytes a member", lambda b: b),
    "memory ipv6": ("bytes a member", lambda b: b),
}


def shown(number):
    return round(number) if number >= 1000 else round(number, 2)


def rows_of(path):
    values = {}
    for line in Path(path).read_text().splitlines():
        _, case, candidate, _, value = line.split("\t")
        values.setdefault((candidate, int(case)), []).append(float(value))
    for (candidate, case), seconds in values.items():
        unit, convert = UNITS[candidate]
        figures = [convert(s) for s in seconds]
        yield {"what": candidate, "members": case, "unit": unit, "median": shown(median(figures)), "min": shown(min(figures)),
               "max": shown(max(figures))}


def main():
    raw, out = sys.argv[1:]
    rows = list(rows_of(raw))
    for row in rows:
        print(f"{row['what']:18} {row['members']:9,} members  {row['median']:>10,} {row['unit']} ({row['min']:,} to {row['max']:,})")
    write(out, read(raw), rows)


if __name__ == "__main__":
    main()
