#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""set_lookups.py RAW TOLD JSON: what set_lookups.sh measured, as a table and as docs/set_lookups.json: nanoseconds a packet above an
empty program, or one that only drops, in the same round, and above the policy without a set."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
from rounds import above, read, write


def told_of(path):
    """[(SECTION, CANDIDATE, MEMBERS, WHAT)] in order."""
    return [line.split("\t") for line in Path(path).read_text().splitlines()]


def rows_of(ns, told):
    first = {}
    for section, name, members, what in told:
        flood = section.startswith("flood")
        values = {candidate: [1e9 / v for v in rates] if flood else rates for candidate, rates in ns[section].items()}
        without = values[first.setdefault(section, name)]
        yield {"flood": flood, "family": int(section.removeprefix("flood").removeprefix("one")[0]), "members": members, "what": what,
               "ns": above(values[name], values["bare" if flood else "empty"]), "above first": above(values[name], without)}


def main():
    raw, told, out = sys.argv[1:]
    ns = read(raw)
    rows = list(rows_of(ns, told_of(told)))
    for row in rows:
        ns_row, more = row["ns"], row["above first"]
        print(f"{'flood' if row['flood'] else 'one':6} IPv{row['family']} {row['members']:>8} {row['what']:10} {ns_row['median']:6} ns "
              f"({ns_row['low']} to {ns_row['high']}), {more['median']:+} ({more['low']:+} to {more['high']:+})")
    write(out, ns, rows)


if __name__ == "__main__":
    main()
