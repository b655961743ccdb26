# SPDX-License-Identifier: GPL-2.0-only
"""manual_render.py PAGE COMMAND…: whether the page, as COMMAND renders it, fits into 80 columns, and whether each line of
its displays (.Bd -literal, .Bd -unfilled, .Dl) is one line there, unchanged, so that it can be copied. Prints what is not."""

import re
import subprocess
import sys
from pathlib import Path

COLUMNS = 80
STYLE = re.compile(r".\x08|\x1b\[[0-9;]*m")  # bold and underlined characters


def rendered(command, page):
    text = subprocess.run([*command, page], check=True, capture_output=True, text=True, encoding="utf-8").stdout
    return [STYLE.sub("", line).rstrip() for line in text.split("\n")]


def displayed(page):
    inside = False
    for line in Path(page).read_text(encoding="utf-8").split("\n"):
        if line.startswith(".Dl "):
            yield line[4:]
        elif line.startswith((".Bd", ".Ed")):
            inside = line.startswith((".Bd -literal", ".Bd -unfilled"))
        elif inside and line:
            yield line


def main():
    page, command = sys.argv[1], sys.argv[2:]
    lines = rendered(command, page)
    found = {line.strip() for line in lines}
    wrong = [f"{len(line)} columns: {line}" for line in lines if len(line) > COLUMNS]
    wrong += [f"not on a line of its own: {line}" for line in displayed(page) if line.strip() not in found]
    sys.exit("\n".join(wrong) if wrong or len(lines) < 50 else 0)


main()
