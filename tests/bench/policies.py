#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""policies.py RAW [JSON DIR]: what policies.sh measured, as tables and as docs/bench_policies.json, where DIR says how busy
the machine was. Nanoseconds above a program that only drops: the median of the rounds, each compared with its own
drop, and the lowest by the lowest. A ratio is that to the plain policy with a limit of new sources."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True
from busy import between
from rounds import write

YARDSTICK = "plain-new"
PLAIN = ("plain", YARDSTICK)  # without a goal
GOAL = 1.15  # times the yardstick at most
REFUSED = 0.5  # from this share of dropped packets on; a source's burst is admitted while the others have their turns


def read(path):
    """{section: {case: {candidate: [of each round]}}}"""
    raw = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for line in Path(path).read_text().splitlines():
        section, case, candidate, _, value = line.split("\t")
        raw[section][case][candidate].append(value)
    return raw


def share(counts):
    """The share of all counts "PART/WHOLE" together."""
    parts, wholes = zip(*(map(int, text.split("/")) for text in counts))
    return round(sum(parts) / sum(wholes), 3)


def above(values, bare):
    return {"median": round(median(v - b for v, b in zip(values, bare)), 1), "min": round(min(values) - min(bare), 1)}


def rows_of(ns, refused, section, case):
    """The rows of one case; ns: {candidate: [of each round]}"""
    proto, sources, sockets = case.split("/")
    yardstick = above(ns[YARDSTICK], ns["bare"])
    for name, values in ns.items():
        if name == "bare":
            continue
        row = {"section": section, "proto": proto, "sources": int(sources), "sockets": int(sockets), "candidate": name,
               "ns": above(values, ns["bare"])}
        if section == "flood":
            row["share"] = round(median(b / v for v, b in zip(values, ns["bare"])), 3)
        if name in refused:
            row["refused"] = share(refused[name])
        if row.get("refused", 0) >= REFUSED:
            row["ratio"] = {of: round(row["ns"][of] / yardstick[of], 2) for of in ("median", "min") if yardstick[of] > 0}
            if name not in PLAIN and "median" in row["ratio"]:
                row["met"] = row["ratio"]["median"] <= GOAL
        yield row


def alone(raw):
    for case, candidates in raw["alone"].items():
        yield from rows_of({n: list(map(float, v)) for n, v in candidates.items()}, raw["refused"][case], "alone", case)


def floods(raw):
    for case, candidates in raw["flood"].items():
        yield from rows_of({n: [1e9 / float(v) for v in values] for n, values in candidates.items()}, raw["flood-refused"][case],
                           "flood", case)


def show(row):
    text = f"{row['section']:5} {row['proto']:3} {row['sources']:>10,} {row['sockets']:>7,}  {row['candidate']:21}"
    text += f" {row['ns']['median']:7.1f} {row['ns']['min']:7.1f}"
    if "refused" in row:
        text += f" {row['refused']:6.1%}"
    if "ratio" in row:
        text += " " + " ".join(f"{row['ratio'].get(of, float('nan')):6.2f}" for of in ("median", "min"))
    if "share" in row:
        text += f"  {row['share']:.3f} of bare"
    if "met" in row:
        text += f"  {'met' if row['met'] else 'MISSED'}"
    print(text)


def main():
    path, *out = sys.argv[1:]
    raw = read(path)
    rows = [*alone(raw), *floods(raw)]
    print(f"{'':9} {'sources':>10} {'sockets':>7}  {'ns above a bare drop':21} {'median':>7} {'min':>7} refused  ratio, of minima")
    for row in rows:
        show(row)
    if out:
        busy = between(*(json.loads(Path(out[1], f"busy-{when}").read_text()) for when in ("before", "after")))
        write(out[0], raw["alone"], rows, goal=GOAL, busy=busy)


if __name__ == "__main__":
    main()
