#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The layers of user/, read from what was built: which files call or include which.

Prints each layer with the layers it uses, and how many levels of files stand upon one another. Fails
where files need each other in a circle, or where a layer uses one that the Makefile's list LAYERS has
after it. Usage: layers.py [--files], from the top of the tree, after `make`.
"""
import collections
import pathlib
import re
import subprocess
import sys

BUILT = pathlib.Path("build/user")
DEFINED = "TDBRCVW"
# Below cli/ nothing writes to the terminal, ends the process or changes its environment.
FORBIDDEN = {"stdout", "stderr", "printf", "puts", "putchar", "__printf_chk", "perror", "exit", "_exit", "abort", "setenv"}


def objects():
    """Every object of a source that is still there, by the path of the source."""
    found = {}
    for path in sorted(BUILT.glob("**/*.o")):
        source = path.relative_to(BUILT).with_suffix("")
        if (pathlib.Path("user") / source).with_suffix(".c").exists():
            found[str(source)] = path
    return found


def calls(files):
    """For each file the files whose functions or variables it uses; and what else it uses."""
    home, wanted = {}, collections.defaultdict(set)
    names = {str(path): name for name, path in files.items()}
    for line in subprocess.check_output(["nm", "-A", *names], text=True).splitlines():
        path, symbols = line.split(":", 1)
        *_, kind, symbol = symbols.split()
        if kind in DEFINED:
            home[symbol] = names[path]
        elif kind == "U":
            wanted[names[path]].add(symbol)
    uses = {name: {home[s] for s in wanted[name] if s in home} | includes(name, files) for name in files}
    uses = {name: uses[name] - {name} for name in files}
    return uses, {name: wanted[name] - home.keys() for name in files}


def includes(name, files):
    """The files whose headers this one or its header includes."""
    found = set()
    for path in (pathlib.Path("user") / f"{name}.c", pathlib.Path("user") / f"{name}.h"):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        found |= {included for included in re.findall(r'^#include "([\w/]+)\.h"', text, re.M) if included in files}
    return found


def circles(uses):
    """Strongly connected components of more than one file (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in sorted(uses[file]):
            if other not in index:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == index[file]:
            part = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(part) > 1:
                found.append(sorted(part))

    for file in sorted(uses):
        if file not in index:
            visit(file)
    return found


def level(file, uses, known):
    """How many files stand below this one at most."""
    if file not in known:
        known[file] = max((level(other, uses, known) + 1 for other in uses[file]), default=0)
    return known[file]


def layer(file):
    return file.split("/")[0]


def order():
    """The layers that each layer may use: the Makefile's below_LAYER, written out."""
    text = pathlib.Path("Makefile").read_text(encoding="utf-8")
    variables = dict(re.findall(r"^(LAYERS|below_\w+)\s*:= (.*)$", text, re.M))

    def words(value):
        return re.sub(r"\$\((\w+)\)", lambda m: words(variables[m[1]]), value)

    return {name: set(words(variables[f"below_{name}"]).split()) for name in variables["LAYERS"].split()}


def main():
    uses, foreign = calls(objects())
    if not uses:
        sys.exit("layers.py: nothing is built: run `make` first")
    wrong = [f"{file} uses {other}, which is above it" for file in uses for other in uses[file]
             if layer(other) not in order()[layer(file)]]
    wrong += [f"a circle: {' '.join(part)}" for part in circles(uses)]
    wrong += [f"{file} uses {symbol}: only user/cli may" for file in uses if layer(file) != "cli"
              for symbol in sorted(foreign[file] & FORBIDDEN)]
    for name in order():
        files = [file for file in uses if layer(file) == name]
        below = sorted({layer(other) for file in files for other in uses[file]} - {name})
        print(f"{name:8} {len(files):3} files, uses {' '.join(below) or 'nothing'}")
        for file in files if "--files" in sys.argv else []:
            print(f"  {file}: {' '.join(sorted(uses[file]))}")
    if not wrong:
        known = {}
        print(f"{len(uses)} files in {1 + max(level(f, uses, known) for f in uses)} levels, no circle")
    for line in wrong:
        print(f"layers.py: {line}", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
