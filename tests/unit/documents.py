# SPDX-License-Identifier: GPL-2.0-only
"""documents.py TOP DOCUMENT…: whether what the documents name is there: `FILE`, `FILE: NAME` (NAME() is a function that
the file defines or declares), `NAME()` anywhere in the tree, and links to files and headings. Prints what is not."""

import re
import sys
from pathlib import Path

FOLDERS = ("bpf", "debian", "docs", "include", "packaging", "scripts", "systemd", "tests", "user")
PATH = r"(?:(?:" + "|".join(FOLDERS) + r")(?:/[\w.*@-]+)*/?|[\w.-]+\.(?:md|json|svg)|\.clang-format|Makefile)"
SPAN = re.compile(r"`([^`\n]+)`")
NAMED = re.compile(rf"({PATH})(?:: (struct )?(\w+)(\(\))?)?$")
CODE = ("*.[ch]", "*.sh", "*.py")


def files(top, path):
    return [f for f in top.glob(path.rstrip("/")) if f.is_file() or f.is_dir()]


def defines(text, name):
    """At the beginning of a line stands what defines or declares a function; a macro may make it."""
    return re.search(rf"^(?:#define {name}\(|(?:[\w*]+[ \t*]+)*\**{name}\()", text, re.M)


def holds(path, struct, name, call):
    text = path.read_text(errors="replace")
    if call:
        return defines(text, name)
    return re.search(rf"\b{'struct ' if struct else ''}{name}\b", text)


def anywhere(top, name):
    return any(defines(f.read_text(errors="replace"), name) for folder in FOLDERS for pattern in CODE
               for f in (top / folder).rglob(pattern))


def heading(title):
    """As it is linked to."""
    return re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-")


def link_problem(document, target):
    path, _, anchor = target.partition("#")
    file = (document.parent / path) if path else document
    if not file.exists():
        return "no such file"
    titles = [heading(line.lstrip("#")) for line in file.read_text().split("\n") if line.startswith("#")] if anchor else []
    return f"no such heading in {path}" if anchor and anchor not in titles else None


def span_problem(top, span):
    if re.fullmatch(r"\w+\(\)", span):
        return None if anywhere(top, span[:-2]) else "defined nowhere"
    named = NAMED.match(span)
    if not named:
        return None
    path, struct, name, call = named.groups()
    found = files(top, path)
    if not found:
        return "no such file"
    if name and not any(f.is_file() and holds(f, struct, name, call) for f in found):
        return f"not in {path}"
    return None


def problems(top, document):
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), document.read_text(), flags=re.S | re.M)
    for number, line in enumerate(text.split("\n"), 1):
        for span in SPAN.findall(line):
            if problem := span_problem(top, span):
                yield f"{document.name}:{number}: {span}: {problem}"
        for target in re.findall(r"\]\(([^)]+)\)", line):
            if "://" not in target and (problem := link_problem(document, target)):
                yield f"{document.name}:{number}: {target}: {problem}"


def main():
    top = Path(sys.argv[1])
    wrong = [problem for name in sys.argv[2:] for problem in problems(top, Path(name))]
    sys.exit("\n".join(wrong) if wrong else 0)


main()
