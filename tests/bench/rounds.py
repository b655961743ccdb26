# SPDX-License-Identifier: GPL-2.0-only
"""The rounds that benches record, and what they come to."""

import sys
from pathlib import Path
from statistics import median, quantiles

sys.dont_write_bytecode = True
from document import circumstances, document_write


def read(path):
    """ns[SECTION][CANDIDATE] = [of each round]"""
    ns = {}
    for line in Path(path).read_text().splitlines():
        section, _, candidate, _, value = line.split("\t")
        ns.setdefault(section, {}).setdefault(candidate, []).append(float(value))
    return ns


def spread(values, digits=None):
    return {k: round(f(values), digits) for k, f in (("median", median), ("low", min), ("high", max))}


def above(values, others):
    """How much more they took than the others in the same round: the median, and what the middle half of the rounds lies between."""
    values = [v - other for v, other in zip(values, others)]
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": round(median(values), 1), "low": round(low, 1), "high": round(high, 1)}


def write(path, ns, rows, **more):
    rounds = max(len(values) for section in ns.values() for values in section.values())
    document_write(path, {**circumstances(), "rounds": rounds, **more, "rows": rows})
