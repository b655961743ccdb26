# SPDX-License-Identifier: GPL-2.0-only
"""report.py RAW JSON DIR: bench.sh's raw lines, and the timelines that it left in DIR, to a table on stdout and one
JSON document. The goals live here; a ratio is always that of two figures of the same round."""

import json
import platform
import sys
import time
from collections import defaultdict
from statistics import median

from accuracy import Timeline, allowed, models

MANY = 16777216
PEERS = ("nft", "iptables", "iptables-8k")
LRU_LIMITS = ("window", "log", "warm-up")

# (section, case, candidate): at least this share of a bare drop, or of no prefixes
SHARE = {("flood4", 1, "hot"): 0.90, ("flood4", 256, "hot"): 0.90, ("flood4", 65536, "hot"): 0.85,
         ("flood4", MANY, "hot"): 0.75, ("flood4", MANY, "device"): 0.65}
SHARE |= {("flood4", 65536, name): 0.70 for name in LRU_LIMITS}
SHARE |= {("flood4", MANY, name): 0.60 for name in LRU_LIMITS}
SHARE |= {("aged", MANY, "hot"): 0.75, ("aged", MANY, "window"): 0.60}
PREFIXES = {1000: 0.90, 100000: 0.80}
TIMES_PEER = {256: 3.5, 65536: 6.0}
APPLY_MS = {100000: 1000, 1000000: 6000}


def read(path):
    """{section: {(case, candidate): {round: values}}}"""
    raw = defaultdict(lambda: defaultdict(dict))
    with open(path) as f:
        for line in f:
            section, case, candidate, round_, *values = line.rstrip("\n").split("\t")
            raw[section][case, candidate][round_] = values
    return raw


class Report:
    def __init__(self):
        self.rows = []

    def add(self, section, case, candidate, unit, samples, of=None, base=None, goal=None, most=None, **more):
        """GOAL is the least that the ratio to BASE may be (without BASE: the value), MOST the most."""
        row = {"section": section, "case": case, "candidate": candidate, "unit": unit, **figures(samples)}
        if base:
            row["ratio"] = {"of": of, **figures([a / b for a, b in zip(samples, base) if b])}
        judged = row["ratio"]["median"] if base else row["median"]
        if goal is not None or most is not None:
            row["goal"] = {k: v for k, v in (("least", goal), ("most", most)) if v is not None}
            row["met"] = (goal is None or judged >= goal) and (most is None or judged <= most)
        self.rows.append(row | more)
        return row

    def find(self, section, case, candidate):
        return next((r for r in self.rows if (r["section"], r["case"], r["candidate"]) == (section, case, candidate)), None)


def figures(samples):
    middle = median(samples)
    return {"median": middle, "min": min(samples), "max": max(samples),
            "spread": (max(samples) - min(samples)) / middle if middle else 0.0, "samples": samples}


def series(rounds, index=0):
    return [float(values[index]) for values in rounds.values()]


def floods(report, raw, section):
    for (case, name), rounds in raw[section].items():
        n, rates, bare = int(case), series(rounds), series(raw[section][case, "bare"])
        goal = SHARE.get((section, n, name))
        more = {"ns_above_bare": median([1e9 / a - 1e9 / b for a, b in zip(rates, bare)])}
        report.add(section, n, name, "packets/s", rates, None if name == "bare" else "bare",
                   None if name == "bare" else bare, goal, **more)
        if name in PEERS:
            hot = series(raw[section][case, "hot"])
            report.add("times a peer", n, f"hot / {name}", "packets/s", hot, name, rates, TIMES_PEER.get(n))


def modes(report, raw):
    """Behind the allocation of the packet: generic XDP to native, tc's program to generic XDP."""
    for (case, name), rounds in raw["modes"].items():
        base = {"generic": "hot", "mode-tc": "generic"}.get(name)
        report.add("modes", int(case), name, "packets/s", series(rounds), base,
                   series(raw["modes"][case, base]) if base else None)


def families(report, raw):
    """IPv6's share of its bare drop, in terms of IPv4's."""
    for (case, name), _ in raw["flood6"].items():
        four, six = report.find("flood4", int(case), name), report.find("flood6", int(case), name)
        if name != "bare" and four and six:
            report.add("IPv6 to IPv4", int(case), name, "share of bare", six["ratio"]["samples"], "IPv4",
                       four["ratio"]["samples"], 0.90 if name in ("hot", "device") else None)


def prefixes(report, raw):
    for (case, name), rounds in raw["prefixes"].items():
        rates, bare = series(rounds), series(raw["prefixes"][case, "bare"])
        none = series(raw["prefixes"][case, "p0"])
        n = int(name.lstrip("pinout")) if name != "bare" else 0
        label = {"b": "bare", "p": "none"}.get(name[0], f"{n} {'covering' if name[0:2] == 'in' else 'elsewhere'}")
        based = name not in ("bare", "p0")
        report.add("prefixes", n, label, "packets/s", rates, "none" if based else None, none if based else None,
                   PREFIXES.get(n), ns_above_bare=median([1e9 / a - 1e9 / b for a, b in zip(rates, bare)]))


def cpus(report, raw):
    """Both receive queues busy: what each reaches of its rate when it is alone."""
    for (case, label), rounds in raw["cpus"].items():
        name, how = label.split()
        if how.startswith("both"):
            alone = series(raw["cpus"][case, f"{name} alone{how[-1]}"])
            report.add("two CPUs", int(case), f"{name}, CPU {how[-1]}", "packets/s", series(rounds), "alone",
                       alone, 0.97 if name == "hot" else None)


def admit(report, raw):
    """ns of a packet that is admitted, less what an empty program takes."""
    results = {name: (int(case), series(rounds)) for (case, name), rounds in raw["admit"].items()}
    if not results:
        return
    empty, lookup = results["empty"][1], [a - b for a, b in zip(results["lookup"][1], results["empty"][1])]
    for name, (limits, ns) in results.items():
        own = [a - b for a, b in zip(ns, empty)]
        if name == "empty":
            report.add("admit", 0, "empty program, itself", "ns", ns)
        elif name == "lookup":
            report.add("admit", 0, "look-up", "ns", own)
        else:
            label = name if limits == 1 else "hot"
            report.add("admit", limits, label, "ns", own, "look-up", lookup, most=1.3 if name == "hot" else None,
                       ratio_with_empty=median([a / b for a, b in zip(ns, results["lookup"][1])]))


def accuracy(report, raw, folder):
    """Beside what the definitions admit of the same arrivals, whose gaps are the sender's doing."""
    names = list(models(1))
    for (case, number), rounds in raw["accuracy"].items():
        for cpus_, (rate, sources, sent, seconds, passed) in rounds.items():
            name, times = names[int(number)], int(case) / 100
            offered = [Timeline(f"{folder}/timeline-{case}-{cpus_}-{cpu}", int(sources), int(number))
                       for cpu in range(int(cpus_))]
            made = sum(line.before[-1] for line in offered)
            if made != int(sent):
                sys.exit(f"of {made} packets that were made {sent} were taken: no accuracy can be told")
            each = made // int(sources)
            report.add("accuracy", times, f"{name}, {cpus_} CPU", "packets", [int(passed)], "allowed",
                       [allowed(name, int(rate), offered)], 0.99, 1.01, rate=int(rate), offered=each,
                       seconds=float(seconds), overload=each / float(seconds) / int(rate))


def others(report, raw):
    for (sent, _), rounds in raw["innocent"].items():
        report.add("innocent", int(sent), "lost of a known source", "packets",
                   [int(sent) - int(values[0]) for values in rounds.values()], most=0)
    for (case, action), rounds in raw["apply"].items():
        n, label = int(case), {"limit": "limits", "deny": "denies"}[action]
        report.add("apply", n, label, "ms", series(rounds), most=APPLY_MS[n])
        report.add("ping gap", n, label, "ms", series(rounds, 1))
        if (case, action) in raw["back"]:
            report.add("apply", n, f"{label}, back to one rule", "ms", series(raw["back"][case, action]))
    few, many = ([us / 1000 for us in series(raw["rule"][n, "deny"])] for n in ("2", "100000"))
    report.add("rule add", 2, "one deny", "ms", few)
    report.add("rule add", 100000, "one deny", "ms", many, "that beside 2", few, most=3)


TITLES = {
    "flood4": ("flood, IPv4", "sources"), "flood6": ("flood, IPv6", "sources"), "modes": ("modes of hook xdp", "sources"),
    "aged": ("flood after 300,000 sources came back", "sources"),
    "times a peer": ("rlctl and its peers", "sources"), "IPv6 to IPv4": ("IPv6 and IPv4", "sources"),
    "two CPUs": ("two receive queues flooded at once", "sources"),
    "prefixes": ("prefixes in the policy, 65,536 sources", "prefixes"),
    "admit": ("cost of an admitted packet, less an empty program's", "limits"),
    "accuracy": ("accuracy: admitted, of allowed", "overload"),
    "innocent": ("known source at half its limit, in a flood from 16 million", "packets"),
    "rule add": ("rule add under flood", "prefixes beside it"),
    "apply": ("apply under flood", "prefixes"), "ping gap": ("longest gap of a 1 kHz ping during apply", "prefixes"),
}


def value(x, unit):
    return {"packets/s": f"{x / 1e6:.2f} Mpps", "ns": f"{x:.1f} ns", "ms": f"{x:.1f} ms",
            "share of bare": f"{x:.3f}"}.get(unit, f"{x:.0f}")


def print_row(r):
    one = len(r["samples"]) == 1
    spread = "" if one else f"{value(r['min'], r['unit']):>10} .. {value(r['max'], r['unit']):<10} {100 * r['spread']:4.0f} %"
    ratio = f"{r['ratio']['median']:6.3f} of {r['ratio']['of']}" if "ratio" in r else ""
    goal = " and ".join({"least": "≥ {}", "most": "≤ {}"}[k].format(v) for k, v in r.get("goal", {}).items())
    met = "" if "met" not in r else "met" if r["met"] else "MISSED"
    case = f"{r['case']:,}" + ("×" if r["section"] == "accuracy" else "")
    print(f"{case:>10}  {r['candidate']:<24} {value(r['median'], r['unit']):>10} {spread:<31} {ratio:<18} {goal:<17} {met}".rstrip())


def print_table(rows, missing):
    for section, (title, case) in TITLES.items():
        mine = [r for r in rows if r["section"] == section]
        if mine:
            print(f"\n{title}\n{case:>10}  {'':24} {'median':>10} {'min .. max':^24} {'spread':<6} {'ratio':<18} goal")
        for row in mine:
            print_row(row)
    print()
    for name, why in missing.items():
        print(f"{name}: {why}")
    judged = [r for r in rows if "met" in r]
    print(f"{sum(r['met'] for r in judged)} of {len(judged)} goals met")


def cpu_model():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), platform.machine())


def document(rows, missing, run):
    seconds, version, rounds, ms = run
    with open("/proc/cpuinfo") as f:
        cores = sum(line.startswith("processor") for line in f)
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "version": version,
            "machine": {"cpu": cpu_model(), "cores": cores, "kernel": platform.release()},
            "seconds": int(seconds), "rounds": int(rounds), "flood_ms": int(ms), "missing": missing, "rows": rows}


def rounded(x):
    if isinstance(x, float):
        return float(f"{x:.5g}")
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    return [rounded(v) for v in x] if isinstance(x, list) else x


def main():
    raw_path, json_path, folder = sys.argv[1:]
    raw, report = read(raw_path), Report()
    for section in ("flood4", "flood6", "aged"):
        floods(report, raw, section)
    modes(report, raw)
    families(report, raw)
    prefixes(report, raw)
    cpus(report, raw)
    admit(report, raw)
    accuracy(report, raw, folder)
    others(report, raw)
    missing = {name: rounds["-"][0] for (name, _), rounds in raw["peer"].items()}
    rows = [rounded(r) for r in report.rows]
    print_table(rows, missing)
    with open(json_path, "w") as f:
        json.dump(document(rows, missing, raw["run"]["seconds", "-"]["-"]), f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
