#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""challenge.py DIR JSON WINDOW: what challenge.sh measured into DIR, as a table and as docs/challenge.json: the median of the
rounds, the lowest and the highest. WINDOW is how many seconds the clients had."""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from document import circumstances, document_write
from report import busy_during, rounded
from rounds import spread

DIGITS = {"p50": 2, "p95": 2, "softirq": 2, "share": 3}


def figures_of(turn, window):
    (all0, _, soft0), (all1, _, soft1) = turn["cpu"]
    seconds = turn["flood"].get("seconds")
    return {"served": turn["served"] / window, "share": turn["served"] / max(1, turn["attempts"]), "p50": turn["p50"], "p95": turn["p95"],
            "softirq": (soft1 - soft0) / max(1, all1 - all0),
            "arrived": turn["flood"]["sent"] / seconds if seconds else None, "answers": turn["answers"] / seconds if seconds else None}


def figure(name, values):
    """None where no round has one: nobody was served."""
    known = [v for v in values if v is not None]
    return spread(known, DIGITS.get(name)) if known else None


def rows_of(turns, window):
    kinds = {}
    for turn in turns:
        kinds.setdefault((turn["where"], turn["rate"], turn["defence"]), []).append(figures_of(turn, window))
    for (where, rate, defence), rounds in kinds.items():
        yield {"where": where, "rate": rate, "defence": defence,
               **{name: figure(name, [r[name] for r in rounds]) for name in rounds[0]}}


def text(figure):
    return f"{figure['median']:,} ({figure['low']:,} to {figure['high']:,})" if figure else "-"


def main():
    folder, out, window = sys.argv[1:]
    turns = [json.loads(line) for line in Path(folder, "raw").read_text().splitlines()]
    rows = list(rows_of(turns, float(window)))
    for row in rows:
        print(f"{row['where']:8} {row['rate']:7,} {row['defence']:11} "
              + "  ".join(f"{name} {text(row[name])}" for name in row if name not in ("where", "rate", "defence")))
    rounds = max(sum((t["where"], t["rate"], t["defence"]) == (r["where"], r["rate"], r["defence"]) for t in turns) for r in rows)
    document_write(out, {**circumstances(), "window_s": float(window), "rounds": rounds, "busy": rounded(busy_during(folder)),
                         "rows": rows})


if __name__ == "__main__":
    main()
