# SPDX-License-Identifier: GPL-2.0-only
"""The trace of a packet, by the program's functions and lines of source."""

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[2]


def last_below(table, pc):
    """The last row of a table that is in the order of its addresses, which come first."""
    i = bisect_right(table, pc, key=lambda row: row[0])
    return table[i - 1] if i else None


@dataclass
class Program:
    functions: list  # (address, bytes, name)
    lines: list      # (address, file:line)
    symbols: list    # (address, name), of the kernel

    def function(self, pc):
        """None: it is the kernel's."""
        row = last_below(self.functions, pc)
        return row[2] if row and pc < row[0] + row[1] else None

    def place(self, pc):
        """(function, line of source), or (kernel, its function)."""
        function = self.function(pc)
        row = last_below(self.lines if function else self.symbols, pc)
        return function or "kernel", row[1] if row else "?"


def source(place):
    """That line's text. Line 0 is what the compiler merged from several."""
    name, _, number = place.rpartition(":")
    if not (TOP / name).is_file() or number == "0":
        return ""
    return (TOP / name).read_text().split("\n")[int(number) - 1].strip()


def told(place, n):
    function, line = place
    return f"{n:6d}  {function:20s} {line:34s} {source(line)}".rstrip()


def in_order(program, steps, lines):
    """A row for what is executed in one piece of one line of source, and for each line of memory at its first touch."""
    first = {}
    for line in lines:
        first.setdefault(line.step, []).append(line)
    at, n, touches = None, 0, []
    for i, step in enumerate(steps):
        place = program.place(step.pc)
        if place != at:
            if at:
                yield told(at, n)
                yield from touches
            at, n, touches = place, 0, []
        n += 1
        touches += [f"        + {line}" for line in first.get(i, [])]
    yield told(at, n)
    yield from touches


def annotated(program, steps, lines, code):
    places = Counter(program.place(s.pc) for s in steps)
    functions = Counter(program.place(s.pc)[0] for s in steps)
    rows = [f"{len(steps)} instructions, {len(lines)} lines of memory", "", "In order: instructions, function, line of source;"
            " + a line of memory, when it is touched first", *in_order(program, steps, lines), "", "By function"]
    rows += [f"{n:6d}  {name}" for name, n in functions.most_common()]
    rows += ["", "By line of source", *(told(place, n) for place, n in places.most_common()), "", "Instruction by instruction"]
    rows += [f"{s.pc:x}  {':'.join(program.place(s.pc)):48s} {re.sub(' +', ' ', code[s.pc].text)}" for s in steps]
    return "\n".join(rows) + "\n"
