# SPDX-License-Identifier: GPL-2.0-only
"""docs/bench.svg, which chart.gp draws from the rows of docs/bench.json: throughput by number of sources as bars, and how the cost
of a packet grows with sources, prefixes and limits as lines. A candidate that was not measured says so."""

import subprocess
import tempfile
from pathlib import Path

from report import FLOORS, MANY

BLUE, GREEN, VIOLET, ORANGE, GREY = 0x1B6CA8, 0x1F8A5B, 0x8A4FA8, 0xC65A11, 0x6B6B6B
BARS = {"bare": ("a program that only drops", 0x9A9A9A), "hot": ("rlctl, a limit of each source", BLUE),
        "device": ("rlctl, and one of the device", BLUE), "lru": ("rlctl, table lru", BLUE), "cpu": ("rlctl, table cpu", BLUE),
        "xdp-filter": ("xdp-filter, without a limit", ORANGE), "nft": ("nft meter", ORANGE), "iptables": ("iptables hashlimit", ORANGE),
        "iptables-8k": ("hashlimit, default size", ORANGE), "XDP-Firewall": ("XDP-Firewall", ORANGE)}
COLUMNS = {1: "1 source", 256: "256 sources", 65536: "65,536 sources", MANY: "16 million sources"}
LINES = {"hot": ("rlctl, a limit of each source", BLUE), "device": ("rlctl, and one of the device", GREEN),
         "new-source": ("rlctl, and one of new sources", VIOLET), "lru": ("rlctl, table lru", 0x3F97C9),
         "line-1m": ("read 1 line of 1 MiB", GREY), "line-4m": ("read 1 line of 4 MiB", GREY), "floor": ("look up in an LRU map", 0x222222)}
NONE_AT = 0.3   # where none lies on a logarithmic axis: chart.gp
LABEL_GAP = 19  # nanoseconds between two names at the ends of lines


def spread(ends):
    """Moves the names at the ends of lines apart, upwards from the lowest."""
    below = -LABEL_GAP
    for end in sorted(ends, key=lambda end: end[1]):
        end[1] = below = max(end[1], below + LABEL_GAP)
    return ends


def names(figures, cases):
    """[x, y, name, color] of each line, beside its last point."""
    ends, within = [], []
    for name, (text, color) in LINES.items():
        last = max((n for n in cases if figures.get("flood4", n, name)), default=None)
        if last:
            end = [last, figures.get("flood4", last, name)["ns_above_bare"], text, color]
            (ends if last == cases[-1] else within).append(end)
    return spread(ends) + [[x, y + LABEL_GAP, *rest] for x, y, *rest in within]


def chart_data(figures):
    """The data that chart.gp draws, by file; - where something was not measured. bars: a line for each candidate, Mpps; names: where
    the lines of `sources` have theirs; the others are nanoseconds above a bare drop, or above an empty program."""
    def cases(section):
        return sorted({r["case"] for r in figures.rows if r["section"] == section})

    def line(first, rows, form):
        return " ".join((str(first), *(form(r) if r else "-" for r in rows)))

    def above(row):
        return f"{row['ns_above_bare']:.2f}"

    floods = cases("flood4")
    return {"bars": [line(f'"{text}" {color}', [figures.get("flood4", n, name) for n in COLUMNS], lambda r: f"{r['median'] / 1e6:.3f}")
                     for name, (text, color) in BARS.items()],
            "sources": [line(n, [figures.get("flood4", n, name) for name in LINES], above) for n in floods],
            "names": [f'{x} {y:.2f} "{text}" {color}' for x, y, text, color in names(figures, floods)],
            "prefixes": [line(n or NONE_AT, [figures.get("prefixes", n, label) for label in
                              (("none", "none") if n == 0 else (f"{n} covering", f"{n} elsewhere"))], above) for n in cases("prefixes")],
            "limits": [f"{r['case']} {r['median']:.2f}" for r in figures.rows if r["section"] == "admit" and r["candidate"] == "hot"]}


def drawn_from(figures):
    lines = [line for name, data in chart_data(figures).items() for line in (f"{name}:", *data)]
    return "<!-- drawn from\n" + "\n".join(lines) + "\n-->\n"


def plot(figures):
    """As SVG, with the data that it was drawn from: another version of gnuplot draws other lines."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in chart_data(figures).items():
            Path(folder, name).write_text("\n".join(data) + "\n")
        missing = "; ".join(f"{name}: {why}" for name, why in figures.document["missing"].items()).replace("'", "''")
        settings = {"dir": folder, "missing": missing, "columns": " ".join(f'"{text}"' for text in COLUMNS.values()),
                    "line_colors": " ".join(str(color) for _, color in LINES.values()),
                    "line_dashes": " ".join("2" if name in FLOORS else "1" for name in LINES)}
        script = Path(__file__).with_name("chart.gp")
        svg = subprocess.run(["gnuplot", "-e", "; ".join(f"{k}='{v}'" for k, v in settings.items()), script], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    return svg + drawn_from(figures)
