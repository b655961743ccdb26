#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""rows.py NAME RAW ARG… JSON: what NAME.sh measured, as a table and as docs/NAME.json. Nanoseconds are those of a packet above an
empty program, or in floods above one that only drops, in the same round."""

import re
import sys
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True
from rounds import above, read, spread, write

# Rows of sets.sh: the unit, and the function that makes the figure of seconds or of bytes.
UNITS = {"rlctl --version": ("ms", lambda s: s * 1e3), "set add": ("ms", lambda s: s * 1e3), "stream": ("adds/s", lambda s: 1 / s),
         **dict.fromkeys(("list", "swap", "swap under flood"), ("s", lambda s: s)),
         **dict.fromkeys(("memory ipv4", "memory ipv6"), ("bytes a member", lambda b: b))}


def fields(path):
    return [line.split("\t") for line in Path(path).read_text().splitlines()]


def rules(ns, _raw):
    """And above 8 rules."""
    return [{"rules": int(name.removeprefix("rules-")), "ns": above(values, ns["rules"]["empty"]), "above 8": above(values, ns["rules"]["rules-8"])}
            for name, values in ns["rules"].items() if name.startswith("rules-")], {}


def matches(ns, _raw, policies):
    """And above the first policy of the section. policies: lines SECTION CANDIDATE POLICY."""
    rows, first = [], {}
    for section, name, policy in fields(policies):
        base, values = ns[section][first.setdefault(section, name)], ns[section][name]
        rows.append({"section": section, "policy": policy, "ns": above(values, ns[section]["empty"]), "above first": above(values, base)})
    return rows, {}


def set_lookups(ns, _raw, told):
    """And above the policy without a set. told: lines SECTION CANDIDATE MEMBERS WHAT."""
    rows, first = [], {}
    for section, name, members, what in fields(told):
        flood = section.startswith("flood")
        values = {candidate: [1e9 / v for v in rates] if flood else rates for candidate, rates in ns[section].items()}
        without = values[first.setdefault(section, name)]
        rows.append({"flood": flood, "family": int(section.removeprefix("flood").removeprefix("one")[0]), "members": members, "what": what,
                     "ns": above(values[name], values["bare" if flood else "empty"]), "above first": above(values[name], without)})
    return rows, {}


def sets(_ns, raw):
    def shown(number):
        return round(number) if number >= 1000 else round(number, 2)

    values = {}
    for _, case, candidate, _, value in fields(raw):
        values.setdefault((candidate, int(case)), []).append(UNITS[candidate][1](float(value)))
    return [{"what": what, "members": members, "unit": UNITS[what][0], "median": shown(median(found)), "min": shown(min(found)),
             "max": shown(max(found))} for (what, members), found in values.items()], {}


def proof(ns, _raw, *policies):
    """policies: CANDIDATE=POLICY|TRAFFIC. A section is PROTO/SOCKETS; of floods, packets a second."""
    policies, rows = dict(p.split("=", 1) for p in policies), []
    ns = {section: {name: [1e9 / v for v in rates] for name, rates in candidates.items()} for section, candidates in ns.items()}
    for section, candidates in ns.items():
        for name, values in candidates.items():
            if name != "bare":
                policy, traffic = policies[name].split("|")
                rows.append({"row": name, "policy": policy, "traffic": traffic, "sockets": int(section.split("/")[1]),
                             "ns": spread([v - bare for v, bare in zip(values, candidates["bare"])])})
    return rows, {"bare": {section.removesuffix("/1"): round(median(c["bare"])) for section, c in ns.items() if section.endswith("/1")}}


def simulated(path):
    """A row for each group of senders: percentages, and of the limit how much it was filled; whether all goals were met."""
    for line in Path(path).read_text().splitlines()[1:]:
        scenario, who, *words = re.split(r"  +", line.strip())
        exact, _, got, filled, _, ms = (float(word) for word in " ".join(words).split()[:6])
        yield {"scenario": scenario, "who": who, "exact": exact, "got": got, "filled": filled, "ms": int(ms), "met": not line.endswith("BAD")}


def shares(ns, _raw, load, memory, packets, octets):
    """packets, octets: what share.c printed."""
    rows = [{"of": of, **row} for of, path in (("packets", packets), ("bytes", octets)) for row in simulated(path)]
    return rows, {"load": load, "memory": int(memory), "costs": [{"policy": p, "ns": spread(v)} for p, v in ns["shares"].items()]}


def text(value):
    if not isinstance(value, dict):
        return str(value)
    return f"{value['median']} ({value['low']} to {value['high']})"


def main():
    name, raw, *arguments, out = sys.argv[1:]
    ns = read(raw)
    rows, more = globals()[name](ns, raw, *arguments)
    for row in rows:
        print("  ".join(f"{key} {text(value):<10}" for key, value in row.items()))
    write(out, ns, rows, **more)


if __name__ == "__main__":
    main()
