# SPDX-License-Identifier: GPL-2.0-only
"""The policies that the documents show: read from the documents, never copied."""
import glob
import os
import re

COMMAND = r"(?:sudo )?rlctl rule add (?:-i \S+ )?"
FOLDERS = ("packaging", "debian", "systemd", "scripts", "docs")


class Example:
    """title: document, and the line of text before it; rules, sets, alarms: lines "rule …", "set …" and "alarm …" without remarks."""

    def __init__(self, title, lines):
        plain = [re.sub(COMMAND, "rule ", line).split("#")[0].rstrip() for line in lines]
        self.title = title
        self.rules = [line for line in plain if line.startswith("rule ")]
        self.sets = [line for line in plain if line.startswith("set ")]
        self.alarms = [line for line in plain if line.startswith("alarm ")]


def is_statement(line):
    return re.match(rf"(rule |(?:set|alarm) [a-z]|{COMMAND})(?!-)", line)


def displays(document, lines, begins, ends, text):
    """A display each: its lines with rules and sets. text: whether a line is of the text before it."""
    inside, before, rules = False, "", []
    for line in lines:
        if inside and ends(line):
            if rules:
                yield Example(f"{document}: {before}", rules)
            inside, rules = False, []
        elif not inside and begins(line):
            inside = True
        elif inside and is_statement(line.removeprefix("# ")):
            rules.append(line.removeprefix("# "))
        elif not inside and text(line):
            before = line.removeprefix(".Ss ").lstrip("# ")


class First:
    """The first line of text of each paragraph of a manual."""

    def __init__(self):
        self.waits = False

    def __call__(self, line):
        if line.startswith("."):
            self.waits = line.startswith((".Pp", ".Sh", ".Ss", ".It"))
            return line.startswith((".It", ".Ss"))
        waited, self.waits = self.waits, False
        return waited


def of_manual(document, lines):
    literal = re.compile(r"\.Bd -literal(?! -compact)")
    return displays(document, lines, literal.match, lambda line: line == ".Ed", First())


def of_markdown(document, lines):
    def fence(line):
        return line.startswith("```")
    return displays(document, lines, fence, fence, lambda line: line.startswith("#"))


def found(tree):
    """All of them."""
    for pattern, read in ("*.md", of_markdown), ("docs/*.md", of_markdown), ("docs/runbooks/*.md", of_markdown), ("user/man/*.[58]", of_manual):
        for path in sorted(glob.glob(os.path.join(tree, pattern))):
            with open(path, encoding="utf-8") as f:
                yield from read(os.path.basename(path), f.read().splitlines())
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(tree, folder, "**/*.policy"), recursive=True)):
            with open(path, encoding="utf-8") as f:
                yield Example(os.path.basename(path), [line for line in f.read().splitlines() if is_statement(line)])
