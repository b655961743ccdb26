#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""figures.py [--check] [TOP]: writes the figures of docs/bench.json into the documents, so that nobody types one:
docs/performance.md and docs/bench.svg as a whole, README.md between its markers, SECURITY.md in its
prose, where a figure stands before the comment that names it: 0.75<!-- = SECTION/CASE/CANDIDATE/FIELD -->.
--check writes nothing: it says what differs, and what looks like a figure that was typed."""

import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from chart import drawn_from, plot
from performance import performance, table
from report import MANY

BEGIN = "<!-- figures: from docs/bench.json, by tests/bench/figures.py -->\n"
END = "<!-- end of figures -->\n"
PROSE = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", "docs/guide.md")
NAMED = re.compile(r"([\d.,]+)<!-- = ([^>]+?) -->")
# Text that looks like a measurement: a share, a number with one of these units, "so many of so many packets".
# Settings do not.
TYPED = re.compile(r"(?<![\d.])0\.\d+(?![\d.])"
                   r"|\b\d[\d.,]*(?: to \d[\d.,]*)? ?(?:ns|ms|µs|%|[MGK]?pps|[MG]iB|million (?:small )?packets|times)(?!\w)"
                   r"|\b\d[\d,]* of \d[\d,]* packets")

# The documents beside bench.json, in the order of their sections in docs/performance.md.
OTHERS = ("instructions", "rules", "matches", "sets", "set_lookups", "bench_policies", "proof", "shares", "fleet_keys", "challenge")


class Figures:
    def __init__(self, document):
        self.document = document
        self.rows = document["rows"]
        self.by = {(r["section"], r["case"], r["candidate"]): r for r in self.rows}

    def get(self, section, case, candidate):
        return self.by.get((section, case, candidate))

    def share(self, section, case, candidate):
        row = self.get(section, case, candidate)
        return f"{row['ratio']['median']:.2f}" if row else ""

    def named(self, name):
        """A figure by its name: share (of what the row is compared with), median, or the case itself."""
        section, case, candidate, field = name.split("/")
        row = self.get(section, int(case), candidate)
        if not row:
            sys.exit(f"figures.py: docs/bench.json has no row {section}/{case}/{candidate}, which a document names")
        if field == "share":
            return self.share(section, int(case), candidate)
        if field == "case":
            return f"{row['case']:,}"
        if field != "median":
            raise KeyError(field)
        return {"packets/s": f"{row['median'] / 1e6:.1f}", "ns": f"{row['median']:.0f}"}.get(row["unit"], f"{row['median']:,.0f}")

    def commit(self):
        return self.document["version"].rpartition("+")[2]


README_COLUMNS = {"hot": "`--table hot`", "device": "and a `device` limit", "lru": "`lru`", "cpu": "`cpu`", "nft": "nft meter",
                  "iptables": "iptables hashlimit", "line-4m": "one line of 4 MiB"}


def readme(figures):
    bare = [r["median"] / 1e6 for r in figures.rows if r["section"] == "flood4" and r["candidate"] == "bare"]
    counts = (1, 256, 65536, MANY)
    names = [name for name in README_COLUMNS if sum(bool(figures.get("flood4", n, name)) for n in counts) > 1]
    rows = [[f"{n:,}" if n != MANY else "16 million", *(figures.share("flood4", n, name) for name in names)] for n in counts]
    own = [r["ns_above_bare"] for r in figures.rows if r["section"] == "flood4" and r["candidate"] == "hot"]
    times = [r["ratio"]["median"] for r in figures.others["bench_policies"]["rows"]
             if (r["section"], r["proto"], r["candidate"]) == ("flood", "udp", "quick-start")]
    commit = figures.others["bench_policies"]["version"].rpartition("+")[2]
    head = ["sources", *(README_COLUMNS[name] for name in names)]
    return (f"A flood that `any limit 1/second burst 1` drops, as a share of what a bare `XDP_DROP` drops ({min(bare):.1f} to {max(bare):.1f} "
            f"million packets a\nsecond, {1000 / max(bare):.0f} to {1000 / min(bare):.0f} ns each, on one core of a small virtual machine; "
            f"`--table hot` adds {min(own):.0f} to {max(own):.0f} ns); commit {figures.commit()}:\n\n" + table(head, rows) +
            f"\nUnder the policy of the quick start a packet of it costs {min(times):.1f} to {max(times):.1f} times as much as under a limit of each source and "
            f"one of new sources (commit {commit}).\nA packet that is admitted costs {figures.named('admit/1/hot/median')} ns under one limit and {figures.named('admit/8/hot/median')} ns under eight. "
            f"`apply` of 100,000 limits under flood takes {figures.get('apply', 100000, 'limits')['median'] / 1000:.1f} s. "
            f"A known source beside 16 million strangers lost {figures.named('innocent/1500/lost of a known source/median')} of 1,500 packets.\n\n"
            "![throughput by number of sources, and cost per packet](docs/bench.svg)\n")


def between_markers(text, block):
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit("figures.py: README.md has no markers for its figures")
    return head + BEGIN + block + END + tail


def typed(name, text):
    """Lines with what looks like a figure outside of markers and of code."""
    text = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "", NAMED.sub("", text))
    return [f"{name}:{n}: {m[0]}: a figure that docs/bench.json does not hold"
            for n, line in enumerate(text.split("\n"), 1) for m in TYPED.finditer(line)]


def documents(figures):
    """The function that makes each document anew from its old text."""
    return {"docs/performance.md": lambda _: performance(figures),
            "README.md": lambda old: between_markers(old, readme(figures)),
            "SECURITY.md": lambda old: NAMED.sub(lambda m: f"{figures.named(m[2])}<!-- = {m[2]} -->", old)}


def differences(top, figures):
    for name, make in documents(figures).items():
        old = (top / name).read_text()
        if make(old) != old:
            yield f"{name}: not what docs/bench.json, {'.json, '.join(OTHERS)}.json say: run tests/bench/figures.py"
    for name in PROSE:
        yield from typed(name, (top / name).read_text())
    if not (top / "docs/bench.svg").read_text().endswith(drawn_from(figures)):
        yield "docs/bench.svg: not drawn from docs/bench.json: run tests/bench/figures.py"


def write(top, figures):
    for name, make in documents(figures).items():
        path = top / name
        path.write_text(make(path.read_text() if path.exists() else ""))
    (top / "docs/bench.svg").write_text(plot(figures))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    top = Path(arguments[0]) if arguments else Path(__file__).parents[2]
    figures = Figures(json.loads((top / "docs/bench.json").read_text()))
    figures.others = {name: json.loads((top / f"docs/{name}.json").read_text()) for name in OTHERS}
    if "--check" in sys.argv[1:]:
        wrong = list(differences(top, figures))
        sys.exit("\n".join(wrong) if wrong else 0)
    write(top, figures)


if __name__ == "__main__":
    main()
