# SPDX-License-Identifier: GPL-2.0-only
"""busy.py PID: how busy the machine is, as JSON: its load, and the CPU time that went by, was stolen by other guests, and was
taken by processes that do not descend from PID. between() is what happened from one such snapshot to another."""

import json
import os
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")
KTHREADD = 2  # what the kernel's own threads do is mostly done for the bench


def processes():
    """{pid: (parent, seconds)}, with those of children that have ended."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(pid)] = int(fields[1]), sum(map(int, fields[11:15])) / TICK
    return found


def others(root):
    """Seconds of all processes but ROOT, its descendants and the kernel's threads."""
    found = processes()

    def is_own(pid):
        while pid in found:
            if pid in (root, KTHREADD):
                return True
            pid = found[pid][0]
        return False

    return sum(seconds for pid, (_, seconds) in found.items() if not is_own(pid))


def snapshot(root):
    with open("/proc/loadavg") as f:
        load = float(f.read().split()[0])
    with open("/proc/stat") as f:
        stolen = int(f.readline().split()[8]) / TICK
    return {"time": time.monotonic(), "load": load, "stolen": stolen, "others": others(root), "cpus": os.cpu_count()}


def between(before, after):
    """The load before; shares of one CPU."""
    seconds = after["time"] - before["time"]
    return {"load": before["load"], "stolen": max(0.0, after["stolen"] - before["stolen"]) / seconds,
            "others": max(0.0, after["others"] - before["others"]) / seconds}


if __name__ == "__main__":
    print(json.dumps(snapshot(int(sys.argv[1]))))
