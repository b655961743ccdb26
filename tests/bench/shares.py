#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""shares.py RAW LOAD MEMORY PACKETS BYTES OUT: docs/shares.json, of what shares.sh measured and share.c simulated."""

import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True
from document import document_write
from report import cpu_model


def costs(path):
    ns = {}
    for line in Path(path).read_text().splitlines():
        policy, value = line.split("\t")
        ns.setdefault(policy, []).append(int(value))
    return [{"policy": policy, "ns": {"median": round(median(v)), "low": min(v), "high": max(v)}} for policy, v in ns.items()]


def simulated(path):
    """A row for each group of senders: percentages, and of the limit how much it was filled; whether all goals were met."""
    for line in Path(path).read_text().splitlines()[1:]:
        scenario, who, *words = re.split(r"  +", line.strip())
        exact, _, got, filled, _, ms = (float(word) for word in " ".join(words).split()[:6])
        yield {"scenario": scenario, "who": who, "exact": exact, "got": got, "filled": filled, "ms": int(ms), "met": not line.endswith("BAD")}


def main():
    raw, load, memory, packets, octets, out = sys.argv[1:]
    version = subprocess.run(["build/rlctl", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    rows = [{"of": of, **row} for of, path in (("packets", packets), ("bytes", octets)) for row in simulated(path)]
    document_write(out, {"version": version, "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(),
                         "kernel": Path("/proc/sys/kernel/osrelease").read_text().strip(), "load": load,
                         "memory": int(memory), "costs": costs(raw), "rows": rows})


if __name__ == "__main__":
    main()
