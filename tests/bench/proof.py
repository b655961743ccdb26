#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""proof.py RAW POLICY… JSON: what proof.sh measured, as a table and as docs/proof.json: nanoseconds a packet above a program
that only drops, in the same round."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.dont_write_bytecode = True
from document import document_write
from report import cpu_model


def read(path):
    """ns[PROTO, SOCKETS, CANDIDATE] = [of each round]"""
    ns = {}
    for line in Path(path).read_text().splitlines():
        proto, sockets, candidate, _, pps = line.split("\t")
        ns.setdefault((proto, int(sockets), candidate), []).append(1e9 / float(pps))
    return ns


def rows_of(ns, policies):
    for (proto, sockets, candidate), values in ns.items():
        if candidate == "bare":
            continue
        above = [v - bare for v, bare in zip(values, ns[proto, sockets, "bare"])]
        policy, traffic = policies[candidate].split("|")
        yield {"row": candidate, "policy": policy, "traffic": traffic, "sockets": sockets,
               "ns": {"median": round(median(above)), "low": round(min(above)), "high": round(max(above))}}


def main():
    raw, *policies, out = sys.argv[1:]
    policies = dict(p.split("=", 1) for p in policies)
    ns = read(raw)
    rows = list(rows_of(ns, policies))
    for row in rows:
        print(f"{row['row']:10} {row['sockets']:6,} sockets {row['ns']['median']:5} ns "
              f"({row['ns']['low']} to {row['ns']['high']})  {row['policy']}, {row['traffic']}")
    version = subprocess.run(["build/rlctl", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    document = {"version": version, "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(),
                "kernel": Path("/proc/sys/kernel/osrelease").read_text().strip(),
                "bare": {proto: round(median(v)) for (proto, n, c), v in ns.items() if c == "bare" and n == 1},
                "rounds": max(map(len, ns.values())), "rows": rows}
    document_write(out, document)


if __name__ == "__main__":
    main()
