#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""matches.py RAW POLICIES JSON: what matches.sh measured, as a table and as docs/matches.json: nanoseconds a packet above an
empty program, in the same round, and above the first policy of its section."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
from rounds import above, read, write


def policies_of(path):
    """[(SECTION, CANDIDATE, POLICY)] in order."""
    return [line.split("\t") for line in Path(path).read_text().splitlines()]


def rows_of(ns, policies):
    first = {}
    for section, name, policy in policies:
        base = ns[section][first.setdefault(section, name)]
        values = ns[section][name]
        yield {"section": section, "policy": policy, "ns": above(values, ns[section]["empty"]), "above first": above(values, base)}


def main():
    raw, policies, out = sys.argv[1:]
    ns = read(raw)
    rows = list(rows_of(ns, policies_of(policies)))
    for row in rows:
        ns_row, more = row["ns"], row["above first"]
        print(f"{row['section']:7} {row['policy']:75.75} {ns_row['median']:6} ns ({ns_row['low']} to {ns_row['high']}), "
              f"{more['median']:+} ({more['low']:+} to {more['high']:+})")
    write(out, ns, rows)


if __name__ == "__main__":
    main()
