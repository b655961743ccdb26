#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Lines by subject, beside the budgets that docs/architecture.md gives them.

Prints a line for each, and warns of those above; it fails only where the table and the tree differ. Usage: lines.py,
from the top of the tree.
"""
import pathlib
import re
import sys

TABLE = pathlib.Path("docs/architecture.md")
ROW = re.compile(r"^\| `(.+?)` \| ([\d,]+) \|$", re.M)


def lines(patterns):
    """In the files that a pattern names, without what a build makes. None: there are none."""
    files = {path for pattern in patterns for path in pathlib.Path().glob(pattern) if not path.name.startswith("vmlinux")}
    return sum(path.read_bytes().count(b"\n") for path in files) if files else None


def main():
    rows = ROW.findall(TABLE.read_text(encoding="utf-8"))
    if not rows:
        sys.exit(f"lines: {TABLE} has no table of budgets")
    for subject, budget in rows:
        found, budget = lines(subject.split()), int(budget.replace(",", ""))
        if found is None:
            sys.exit(f"lines: {TABLE}: {subject}: no such file")
        print(f"{subject:32} {found:7,} of {budget:7,}" + (f"  warning: {found - budget:,} above" if found > budget else ""))


if __name__ == "__main__":
    main()
