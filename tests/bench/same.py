#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""same.py OLD NEW [--seed N] [--runs N] [--worlds N] [--rules N] [--packets N]

Two builds of rlctl decide alike: over random policies and packets, each packet has the same verdict and reason, and each
rule the same counters. For changes of the inside. Prints the sums; status 1 where they differ, with the seed.
"""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "prog"))
import oracle  # noqa: E402


def counters(text):
    return sorted((rule["rule"], *(rule[name]["packets"] for name in ("passed", "dropped", "shadow")))
                  for rule in json.loads(text)["rules"])


def run(options, seed):
    """The rules of the policy, and what differs."""
    lines, frames = oracle.material(options, seed)
    lines = oracle.accepted(options.old, lines, [])
    with tempfile.TemporaryDirectory() as folder:
        paths = oracle.written(folder, lines, frames)
        old, new = (oracle.simulated(rlctl, paths, "--verdicts").splitlines() for rlctl in (options.old, options.new))
        found = [f"packet {n}: {one} | {other}" for n, (one, other) in enumerate(zip(old, new), 1) if one != other]
        if len(old) != len(frames) or len(new) != len(frames):
            found.append(f"{len(old)} and {len(new)} verdicts on {len(frames)} packets")
        old, new = (counters(oracle.simulated(rlctl, paths, "-j")) for rlctl in (options.old, options.new))
        return len(lines), found + [f"counters: {one} | {other}" for one, other in zip(old, new) if one != other]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    for name, value in (("seed", 1), ("runs", 100), ("worlds", 30), ("rules", 12), ("packets", 10000), ("crowd", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.set_defaults(plain=False)
    options = parser.parse_args()
    rules = differing = 0
    for seed in range(options.seed, options.seed + options.runs):
        count, found = run(options, seed)
        rules += count
        differing += bool(found)
        if found:
            print(f"seed {seed}:", *found[:8], sep="\n  ", flush=True)
    print(f"{options.runs} policies of {rules} rules, {options.runs * options.packets} packets: {differing} differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
