# SPDX-License-Identifier: GPL-2.0-only
"""Shared by rules.py, matches.py, set_lookups.py and others: the rounds that loops of mechanisms.sh recorded, and the document."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles

sys.dont_write_bytecode = True
from document import document_write
from report import cpu_model


def read(path):
    """ns[SECTION][CANDIDATE] = [of each round]"""
    ns = {}
    for line in Path(path).read_text().splitlines():
        section, _, candidate, _, value = line.split("\t")
        ns.setdefault(section, {}).setdefault(candidate, []).append(float(value))
    return ns


def above(values, others):
    """How much more they took than the others in the same round: the median, and what the middle half of the rounds lies between."""
    values = [v - other for v, other in zip(values, others)]
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": round(median(values), 1), "low": round(low, 1), "high": round(high, 1)}


def write(path, ns, rows, **more):
    version = subprocess.run(["build/rlctl", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    document = {"version": version, "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(),
                "kernel": Path("/proc/sys/kernel/osrelease").read_text().strip(),
                "rounds": max(len(values) for section in ns.values() for values in section.values()), **more, "rows": rows}
    document_write(path, document)
