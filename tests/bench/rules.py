#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""rules.py RAW JSON: what rules.sh measured, as a table and as docs/rules.json: nanoseconds a packet above an empty
program, in the same round, and above 8 rules."""

import sys

sys.dont_write_bytecode = True
from rounds import above, read, write


def rows_of(ns):
    for name, values in ns.items():
        if name.startswith("rules-"):
            yield {"rules": int(name.removeprefix("rules-")), "ns": above(values, ns["empty"]),
                   "above 8": above(values, ns["rules-8"])}


def main():
    raw, out = sys.argv[1:]
    ns = read(raw)
    rows = list(rows_of(ns["rules"]))
    for row in rows:
        print(f"{row['rules']:5} rules {row['ns']['median']:6} ns ({row['ns']['low']} to {row['ns']['high']}), "
              f"{row['above 8']['median']:+} to 8 rules ({row['above 8']['low']:+} to {row['above 8']['high']:+})")
    write(out, ns, rows)


if __name__ == "__main__":
    main()
