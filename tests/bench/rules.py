#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""rules.py RAW JSON: what rules.sh measured, as a table and as docs/rules.json: nanoseconds a packet above an empty
program, in the same round, and above 8 rules."""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True
from report import cpu_model


def read(path):
    """ns[CANDIDATE] = [of each round]"""
    ns = {}
    for line in Path(path).read_text().splitlines():
        _, _, candidate, _, value = line.split("\t")
        ns.setdefault(candidate, []).append(float(value))
    return ns


def spread(values):
    return {"median": round(median(values), 1), "low": round(min(values), 1), "high": round(max(values), 1)}


def rows_of(ns):
    empty = ns.get("empty") or ns["nothing"]
    for name, values in ns.items():
        if name.startswith("rules-"):
            yield {"rules": int(name.removeprefix("rules-")), "ns": spread([v - e for v, e in zip(values, empty)]),
                   "above 8": spread([v - eight for v, eight in zip(values, ns["rules-8"])])}


def main():
    raw, out = sys.argv[1:]
    ns = read(raw)
    rows = list(rows_of(ns))
    for row in rows:
        print(f"{row['rules']:5} rules {row['ns']['median']:6} ns ({row['ns']['low']} to {row['ns']['high']}), "
              f"{row['above 8']['median']:+} to 8 rules ({row['above 8']['low']:+} to {row['above 8']['high']:+})")
    version = subprocess.run(["build/rlctl", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    document = {"version": version, "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(),
                "kernel": Path("/proc/sys/kernel/osrelease").read_text().strip(),
                "rounds": max(map(len, ns.values())), "rows": rows}
    Path(out).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
