#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""table.py FILE…: puts the rows that play.sh prints on stderr, with --bare, with --unshared and without, into the table of docs/policies.md; what
none of them says stays."""
import os
import re
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/policies.md")
BEGIN, END = "<!-- table: from tests/play/play.sh, by tests/play/table.py -->\n", "<!-- end of table -->\n"
NEWCOMERS = re.compile(r"newcomers beside (\w+): (\d+) of (\d+)")
HEAD = ("| policy | played with | day | seconds | packets | fastest second | bytes each | refused | floods: sent, reached the server, "
        "at most | newcomers beside strangers, beside a botnet | without share | without a policy |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
FLOOD = re.compile(r"(\w+): sent (\d+) in [\d.]+ s, (\d+) reached the server, at most (\d+) may; others lost (\d+)")


def number(text):
    return f"{int(text):,}"


def row(line):
    name, packages, seconds, packets, peak, size, refused, day, floods = line.rstrip("\n").split("|")
    packages = re.sub(r" (?:\d+:)?([^, ]+?)(?:[+~]dfsg[^,]*|-\d[^,]*|\+b\d)?(?=,|$)", r" \1", packages)
    found = [f"{who} {number(sent)}, {number(reached)}, {number(most)}" for who, sent, reached, most, lost in FLOOD.findall(floods) if lost == "0"]
    if len(found) != floods.count(": sent ") or refused != "0":
        sys.exit(f"{name}: not a row of a play that went well: {line}")
    return name, (f"| [{name}](../policies/{name}.policy) | {packages} | {day} | {seconds} | {number(packets)} | {number(peak)} | {size} | "
                  f"{refused} | {'; '.join(found)} | {newcomers(floods)}")


def newcomers(floods):
    return ", ".join(f"{n} of {m}" for _, n, m in NEWCOMERS.findall(floods)) or "-"


def main():
    with open(PAGE, encoding="utf-8") as f:
        before, rest = f.read().split(BEGIN)
    old, after = rest.split(END)
    rows, bare, unshared = {}, {}, {}
    for name, line, third, last in re.findall(r"^(?=\| \[(\w+)\])(.*) \| (.*) \| (.*) \|$", old, re.M):
        rows[name], unshared[name], bare[name] = line, third, last
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.count("|") == 8:
                    rows.update([row(line)])
                elif re.match(r"\w+\|unshared\|", line):
                    unshared[line.split("|")[0]] = newcomers(line)
                elif re.match(r"\w+\|newcomers ", line):
                    bare[line.split("|")[0]] = newcomers(line)
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + HEAD + "".join(f"{rows[name]} | {unshared.get(name, '-')} | {bare.get(name, '-')} |\n" for name in sorted(rows)) + END + after)


if __name__ == "__main__":
    main()
