# SPDX-License-Identifier: GPL-2.0-only
"""report.py RAW JSON DIR: bench.sh's raw lines, and the timelines that it left in DIR, to a table on stdout and one
JSON document. The goals live here; a ratio is always that of two figures of the same round."""

import json
import platform
import re
import sys
import time
from collections import defaultdict
from statistics import median

from accuracy import Timeline, algorithms, allowed
from busy import between
from document import cpu_model, document_write

MANY = 16777216
PEERS = ("nft", "iptables", "iptables-8k")
LRU_LIMITS = ("window", "log", "warm-up")

# (section, case, candidate): at least this share of a bare drop
SHARE = {("flood4", 1, "hot"): 0.95, ("flood4", 256, "hot"): 0.95, ("flood4", 65536, "hot"): 0.90, ("flood4", MANY, "hot"): 0.88}
SHARE |= {("flood4", n, "device"): 0.93 for n in (1, 256, 65536, MANY)}
SHARE |= {("flood4", 65536, name): 0.70 for name in LRU_LIMITS}
SHARE |= {("flood4", MANY, name): 0.60 for name in LRU_LIMITS}
SHARE |= {("aged", MANY, "hot"): 0.75, ("aged", MANY, "window"): 0.60}
FLOORS = ("line-1m", "line-4m", "floor")  # what any limiter by source pays; shown where a goal is missed
TIMES_FLOOR = {65536: 1.0}  # of a line of 4 MiB
PREFIXES = {1000: 0.90, 100000: 0.80}  # of no prefixes
TIMES_PEER = {256: 4.5, 65536: 6.0}
OF_ALONE = 0.95  # each of two CPUs
ADMIT_NS = {2: 45, 8: 160}
PAYS = 1.05  # a mechanism on the row that suits it best
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

    def add(self, section, case, candidate, unit, samples, of=None, base=None, goal=None, most=None, judge=None, **more):
        """GOAL is the least that may be, MOST the most: of the ratio to BASE or, without BASE or with JUDGE "median", of the value."""
        row = {"section": section, "case": case, "candidate": candidate, "unit": unit, **figures(samples)}
        if base:
            row["ratio"] = {"of": of, **figures([a / b for a, b in zip(samples, base) if b])}
        judge = judge or ("ratio" if base else "median")
        if goal is not None or most is not None:
            row["goal"] = {k: v for k, v in (("least", goal), ("most", most)) if v is not None} | {"judge": judge}
            judged = row["ratio"]["median"] if judge == "ratio" else row["median"]
            row["met"] = (goal is None or judged >= goal) and (most is None or judged <= most)
        self.rows.append(row | more)
        return self.rows[-1]

    def find(self, section, case, candidate):
        return next((r for r in self.rows if (r["section"], r["case"], r["candidate"]) == (section, case, candidate)), None)


def figures(samples):
    middle = median(samples)
    return {"median": middle, "min": min(samples), "max": max(samples),
            "spread": (max(samples) - min(samples)) / middle if middle else 0.0, "samples": samples}


def series(rounds, index=0):
    return [float(values[index]) for values in rounds.values()]


def floors(measured, base, names=FLOORS):
    """{name: median ratio to BASE} of those that were measured in the same rounds; measured: {name: samples}."""
    return {name: median([a / b for a, b in zip(measured[name], base)]) for name in names if name in measured}


def candidates_of(raw, section, case):
    return {name: series(rounds) for (c, name), rounds in raw[section].items() if c == case}


def floods(report, raw, section):
    for (case, name), rounds in raw[section].items():
        n, rates, all_ = int(case), series(rounds), candidates_of(raw, section, case)
        bare, hot = all_["bare"], all_.get("hot")
        more = {"ns_above_bare": median([1e9 / a - 1e9 / b for a, b in zip(rates, bare)]),
                "floors": floors(all_, bare)}
        report.add(section, n, name, "packets/s", rates, None if name == "bare" else "bare",
                   None if name == "bare" else bare, SHARE.get((section, n, name)), **more)
        if name in PEERS:
            report.add("times a peer", n, f"hot / {name}", "packets/s", hot, name, rates, TIMES_PEER.get(n),
                       floors=floors(all_, rates))
        if section == "flood4" and name == "line-4m":
            report.add("times a floor", n, f"hot / {name}", "packets/s", hot, name, rates, TIMES_FLOOR.get(n))


def modes(report, raw):
    """Behind the allocation of the packet: generic XDP to native, tc's program to generic XDP."""
    for (case, name), rounds in raw["modes"].items():
        base = {"generic": "hot", "mode-tc": "generic"}.get(name)
        report.add("modes", int(case), name, "packets/s", series(rounds), base,
                   series(raw["modes"][case, base]) if base else None)


def families(report, raw):
    """IPv6's share of its bare drop, in terms of IPv4's."""
    for case in dict.fromkeys(case for case, _ in raw["flood6"]):
        ratios = {}
        for name in candidates_of(raw, "flood6", case):
            four, six = report.find("flood4", int(case), name), report.find("flood6", int(case), name)
            if name != "bare" and four and six:
                ratios[name] = six["ratio"]["samples"], four["ratio"]["samples"]
        beside = {name: median([a / b for a, b in zip(*ratios[name])]) for name in FLOORS if name in ratios}
        for name, (six, four) in ratios.items():
            report.add("IPv6 to IPv4", int(case), name, "share of bare", six, "IPv4", four,
                       0.90 if name in ("hot", "device") else None, floors=beside)


def prefixes(report, raw):
    for (case, name), rounds in raw["prefixes"].items():
        rates, all_ = series(rounds), candidates_of(raw, "prefixes", case)
        none = all_["p0"]
        kind = re.fullmatch("(in|out)([0-9]+)", name)
        n = int(kind[2]) if kind else 0
        label = f"{n} {'covering' if kind[1] == 'in' else 'elsewhere'}" if kind else {"p0": "none"}.get(name, name)
        report.add("prefixes", n, label, "packets/s", rates, "none" if kind else None, none if kind else None,
                   PREFIXES.get(n), floors=floors(all_, none),
                   ns_above_bare=median([1e9 / a - 1e9 / b for a, b in zip(rates, all_["bare"])]))


def cpus(report, raw):
    """Both receive queues busy: what each reaches of its rate when it is alone."""
    for case in dict.fromkeys(case for case, _ in raw["cpus"]):
        all_ = candidates_of(raw, "cpus", case)
        both = [label for label in all_ if " both" in label]
        of_alone = {label: [a / b for a, b in zip(all_[label], all_[label.replace("both", "alone")])] for label in both}
        for label in both:
            name, cpu = label.split()[0], label[-1]
            beside = {n: median(of_alone[f"{n} both{cpu}"]) for n in ("bare", *FLOORS) if f"{n} both{cpu}" in of_alone}
            report.add("two CPUs", int(case), f"{name}, CPU {cpu}", "packets/s", all_[label], "alone",
                       all_[label.replace("both", "alone")], OF_ALONE if name == "hot" else None, floors=beside)


def above_empty(raw, section):
    """{candidate: (limits, ns of a packet less what an empty program takes)}"""
    results = {name: (int(case), series(rounds)) for (case, name), rounds in raw[section].items()}
    return {name: (limits, [a - b for a, b in zip(ns, results["empty"][1])]) for name, (limits, ns) in results.items()}


ADMIT_LABELS = {"two": "hot", "four": "hot", "eight": "hot", "lookup": "look-up", "and-bytes": "hot, packets and bytes",
                "and-device": "hot, any and device"}


def admit(report, raw):
    """ns of a packet that is admitted, less what an empty program takes."""
    if not raw["admit"]:
        return
    results = above_empty(raw, "admit")
    lookup = results["lookup"][1]
    report.add("admit", 0, "empty program, itself", "ns", series(raw["admit"]["0", "empty"]))
    for name, (limits, ns) in results.items():
        if name == "lookup":
            report.add("admit", 0, "look-up", "ns", ns)
        elif limits in ADMIT_NS:
            report.add("admit", limits, ADMIT_LABELS[name], "ns", ns, "look-up", lookup, most=ADMIT_NS[limits], judge="median",
                       floors_ns={"look-up": median(lookup)})
        elif limits:
            report.add("admit", limits, ADMIT_LABELS.get(name, name), "ns", ns, "look-up", lookup,
                       most=1.3 if name == "hot" else None)


class Mechanism:
    """The figure with and without it, on several rows; the one that suits it best has a goal."""

    def __init__(self, report, name):
        self.report, self.name, self.rows = report, name, []

    def rates(self, case, label, with_, without, of):
        self.rows.append(self.report.add("mechanisms", case, label, "packets/s", with_, of, without))

    def ns(self, case, label, with_, without, of):
        """The ratio is how many times as fast it is."""
        row = self.report.add("mechanisms", case, label, "ns", with_)
        row["ratio"] = {"of": of, **figures([b / a for a, b in zip(with_, without) if a > 0])}
        self.rows.append(row)

    def judge(self):
        if self.rows:
            best = max(self.rows, key=lambda row: row["ratio"]["median"])
            best |= {"mechanism": self.name, "goal": {"least": PAYS, "judge": "ratio"}, "met": best["ratio"]["median"] >= PAYS}


def mechanisms(report, raw):
    batches = Mechanism(report, "batches")
    for n in (1, 2):
        if raw[f"batches-{n}"]:
            ns = {name: values for name, (_, values) in above_empty(raw, f"batches-{n}").items()}
            batches.ns(1, f"per rule in batches, CPUs: {n}", ns["batches"], ns["no-batches"], "without")
    batches.judge()

    cache = Mechanism(report, "prefix cache")
    for (case, name), rounds in raw["prefix-cache"].items():
        if name.startswith("cache-"):
            short = name.removeprefix("cache-")
            without = series(raw["prefix-cache"][case, f"trie-{short}"])
            label = {"1": "1 prefix", "1k": "1,000 prefixes", "100k": "100,000 prefixes"}[short]
            cache.rates(int(case), f"prefix cache, {label}", series(rounds), without, "without")
    cache.judge()

    table = Mechanism(report, "table cpu")
    for case in dict.fromkeys(case for case, label in raw["cpus"] if label == "cpu both0"):
        sums = [[a + b for a, b in zip(*(series(raw["cpus"][case, f"{name} both{cpu}"]) for cpu in (0, 1)))] for name in ("cpu", "lru")]
        table.rates(int(case), "table cpu, 2 CPUs, refused", *sums, "lru")
    if raw["table-2"]:
        ns = {name: values for name, (_, values) in above_empty(raw, "table-2").items()}
        table.ns(1, "table cpu, 2 CPUs, admitted", ns["admit-cpu"], ns["admit-lru"], "lru")
    table.judge()

    for name, label, other in (("generic", "generic XDP", "mode-tc"), ("mode-tc", "tc", "generic")):
        mode = Mechanism(report, label)
        for case in dict.fromkeys(case for case, _ in raw["modes"]):
            mode.rates(int(case), label, series(raw["modes"][case, name]), series(raw["modes"][case, other]),
                       {"mode-tc": "tc", "generic": "generic XDP"}[other])
        mode.judge()


def accuracy(report, raw, folder):
    """Beside what the definitions admit of the same arrivals, whose gaps are the sender's doing."""
    names = list(algorithms(1))
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
    if not raw["rule"]:
        return
    few, many = ([us / 1000 for us in series(raw["rule"][n, "deny"])] for n in ("2", "100000"))
    report.add("rule add", 2, "one deny", "ms", few)
    report.add("rule add", 100000, "one deny", "ms", many, "that beside 2", few, most=3)


TITLES = {
    "flood4": ("flood, IPv4", "sources"), "flood6": ("flood, IPv6", "sources"), "modes": ("modes of hook xdp", "sources"),
    "aged": ("flood after 300,000 sources came back", "sources"),
    "times a floor": ("rlctl and one line of memory", "sources"), "times a peer": ("rlctl and its peers", "sources"), "IPv6 to IPv4": ("IPv6 and IPv4", "sources"),
    "two CPUs": ("two receive queues flooded at once", "sources"),
    "prefixes": ("prefixes in the policy, 65,536 sources", "prefixes"),
    "admit": ("cost of an admitted packet, less an empty program's", "limits"),
    "mechanisms": ("mechanisms, each beside the same without it", "sources"),
    "accuracy": ("accuracy: admitted, of allowed", "overload"),
    "innocent": ("known source at half its limit, in a flood from 16 million", "packets"),
    "rule add": ("rule add under flood", "prefixes beside it"),
    "apply": ("apply under flood", "prefixes"), "ping gap": ("longest gap of a 1 kHz ping during apply", "prefixes"),
}


def value(x, unit):
    return {"packets/s": f"{x / 1e6:.2f} Mpps", "ns": f"{x:.1f} ns", "ms": f"{x:.1f} ms",
            "share of bare": f"{x:.3f}"}.get(unit, f"{x:.0f}")


def goal_text(row):
    """The goal of a row, and whether it is met; where it is not, what the floors reach in the same rounds."""
    if "met" not in row:
        return "", ""
    in_ns = row["goal"].get("judge") == "median" and row["unit"] in ("ns", "ms")
    goal = " and ".join(f"{sign} {row['goal'][k]}{' ' + row['unit'] if in_ns else ''}" for k, sign in (("least", "≥"), ("most", "≤"))
                        if k in row["goal"])
    if row["met"]:
        return goal, "met"
    beside = [f"{name} {share:.3f}" for name, share in row.get("floors", {}).items()]
    beside += [f"{name} {value(ns, 'ns')}" for name, ns in row.get("floors_ns", {}).items()]
    return goal, "missed" + (f" ({', '.join(beside)})" if beside else "")


def case_text(row):
    return f"{row['case']:,}" + ("×" if row["section"] == "accuracy" else "")


def print_row(r):
    one = len(r["samples"]) == 1
    spread = "" if one else f"{value(r['min'], r['unit']):>10} .. {value(r['max'], r['unit']):<10} {100 * r['spread']:4.0f} %"
    ratio = f"{r['ratio']['median']:6.3f} of {r['ratio']['of']}" if "ratio" in r else ""
    goal, met = goal_text(r)
    print(f"{case_text(r):>10}  {r['candidate']:<31} {value(r['median'], r['unit']):>10} {spread:<31} {ratio:<18} {goal:<17} "
          f"{met.replace('missed', 'MISSED')}".rstrip())


def print_table(rows, missing):
    for section, (title, case) in TITLES.items():
        mine = [r for r in rows if r["section"] == section]
        if mine:
            print(f"\n{title}\n{case:>10}  {'':31} {'median':>10} {'min .. max':^24} {'spread':<6} {'ratio':<18} goal")
        for row in mine:
            print_row(row)
    print()
    for name, why in missing.items():
        print(f"{name}: {why}")
    judged = [r for r in rows if "met" in r]
    print(f"{sum(r['met'] for r in judged)} of {len(judged)} goals met")


def document(rows, missing, run, busy):
    seconds, version, rounds, ms = run
    with open("/proc/cpuinfo") as f:
        cores = sum(line.startswith("processor") for line in f)
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "version": version,
            "machine": {"cpu": cpu_model(), "cores": cores, "kernel": platform.release()}, "busy": busy,
            "seconds": int(seconds), "rounds": int(rounds), "flood_ms": int(ms), "missing": missing, "rows": rows}


def busy_during(folder):
    with open(f"{folder}/busy-before") as before, open(f"{folder}/busy-after") as after:
        return between(json.load(before), json.load(after))


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
    mechanisms(report, raw)
    accuracy(report, raw, folder)
    others(report, raw)
    missing = {name: rounds["-"][0] for (name, _), rounds in raw["peer"].items()}
    rows = [rounded(r) for r in report.rows]
    print_table(rows, missing)
    document_write(json_path, document(rows, missing, raw["run"]["seconds", "-"]["-"], rounded(busy_during(folder))))


if __name__ == "__main__":
    main()
