#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Drives commands of rlctl while one of their system calls fails, or kills them there, and judges
what is left: the old policy or the new one, whole; a message; no pin, program, qdisc, map or
process more than before; and that the next command works. Prints TAP.

faults.py NAMESPACE DEVICE BPFFS RLCTL INJECT [ROW…]
FLOOD is the command that sends packets to the device. TCX and FQ are set where the kernel has them.
FAULTS=all tries every call with every error, FAULTS=each every call with one of them; without it a
stride that is the same every time. FAULTS_LIST=1 also prints every message that was seen."""

import json
import os
import re
import sys
import time

from bed import NEW, OLD, SIZES, Bad, Bed, need
from fault_fleet import Join, Leave, MemberStatus
from fault_kinds import (Asks, Attach, Detach, DuringTrial, Forgive, Kept, Read, Sets, Try, Write,
                         WriteAtTc)

ERRORS = ["EPERM", "ENOMEM", "ENOSPC", "E2BIG", "EBUSY", "EINTR"]
SETS = OLD + "set bad max 10\nset good\nrule @bad deny\nrule any src @good allow\n"
MORE_SETS = NEW + "set bad max 1000000\nset other\nrule @bad limit 9/hour\nrule @other deny\n"
ASKING = OLD + "rule 10.9.4.0/24 not established deny\n"
TC_HOOKS = ["--hook", "ingress", "--hook", "egress"] + ["--fq"] * ("FQ" in os.environ)


# ---- the rows


def without_waits(out):
    document = json.loads(out)
    for state in document["states"]:
        for key in "wait_ns", "next_ns", "ban_ns":
            state.pop(key, None)
    return document


def without_time(out):
    return [{key: value for key, value in document.items() if key != "time"}
            for document in json.loads(out)]


def without_numbers(out):
    return re.sub(r"[ _][0-9.e+-]+$", "", out, flags=re.MULTILINE)


def first_word(out):
    return out.split()[:1]


OBJ_GET, GET_INFO, MAP_DELETE = "bpf 7", "bpf 15", "bpf 3"
LOOKUP, UPDATE, OBJ_PIN = "bpf 1", "bpf 2", "bpf 6"
# System calls of tcx, on kernels that have it: BPF_LINK_CREATE, BPF_OBJ_PIN; BPF_LINK_DETACH;
# BPF_LINK_UPDATE.
TCX_ATTACH, TCX_DETACH, TCX_REPLACE = (["bpf 28", "bpf 6"], ["bpf 34"], ["bpf 29"]) \
    if "TCX" in os.environ else ([], [], [])

ROWS = [
    Attach("attach", errors=6, kills=3, found=["flock"]),
    Attach("attach, generic", "--mode", "generic", errors=3, kills=1),
    Attach("attach, tc", *TC_HOOKS, errors=5, kills=2,
           last=[GET_INFO] + TCX_ATTACH),
    Detach("detach", errors=4, kills=3, found=[GET_INFO, "ioctl", "unlinkat"]),
    Detach("detach, tc", "ingress", "egress", errors=3, kills=2, found=[OBJ_GET], last=TCX_DETACH),
    WriteAtTc("attach --replace, tc", "attach", "DEVICE", *WriteAtTc.hooks, "--replace", errors=3,
              kills=2, last=[*TCX_REPLACE, UPDATE]),
    Write("rule add", "rule", "add", "192.0.2.7", "deny", errors=5, kills=2),
    Write("rule del", "rule", "del", "192.0.2.1", "deny", errors=3, kills=2),
    Write("rule flush", "rule", "flush", errors=3, kills=2),
    Write("apply", "apply", "-", given=NEW, errors=6, kills=4),
    Asks("apply, begins to ask", OLD, ASKING, errors=5, kills=2, last=[*TCX_ATTACH[:1], OBJ_PIN]),
    Asks("apply, ceases to ask", ASKING, OLD, errors=3, kills=2, last=[*TCX_DETACH, "openat"]),
    Sets("apply, sets", SETS, MORE_SETS, errors=4, kills=4),
    Write("attach --or-apply", "attach", "DEVICE", "--or-apply", *SIZES, "--policy", "-", given=NEW,
          errors=4, kills=2),
    Kept("attach --replace", "attach", "DEVICE", "--replace", errors=6, kills=2, found=[GET_INFO, "sendto"]),
    Read("apply --check", "apply", "-i", "DEVICE", "--check", "-", given=NEW, errors=6),
    Read("show", "show", found=["bpf 4"]),
    Read("show as JSON", "show", "-j"),
    Read("stats", "stats", found=[OBJ_GET, "socket"]),
    Read("stats as JSON", "stats", "-j", same=without_time),
    Read("stats for Prometheus", "stats", "--prometheus", same=without_numbers),
    Read("rule list", "rule", "list"),
    Read("rule get", "rule", "get", "10.9.1.1"),
    Read("status", "status", found=[GET_INFO, OBJ_GET, "openat"]),
    Read("source show", "source", "show", "10.9.1.1", "-j", same=without_waits,
         found=[OBJ_GET, "openat"]),
    Forgive("source forgive", found=[OBJ_GET, MAP_DELETE]),
    Read("top --once", "top", "--once", same=first_word, errors=2, kills=1),
    Try("apply --try, confirmed", "5s", True, errors=5, kills=2, found=["sendto", "flock"]),
    Try("apply --try, undone", "1s", False, errors=2, kills=1, status=1),
    DuringTrial("confirm", "confirm", "-i", "DEVICE", errors=2, kills=1, found=[OBJ_GET, "flock"]),
    DuringTrial("rule add, during a trial", "rule", "add", "192.0.2.7", "deny", errors=2, kills=1,
                status=1, found=[OBJ_GET, "flock"]),
    Join("fleet join", errors=6, kills=3, found=[GET_INFO, OBJ_GET]),
    MemberStatus("fleet status", "-j", errors=2, kills=1, found=[GET_INFO, LOOKUP, OBJ_GET]),
    Leave(errors=3, kills=2, found=[LOOKUP, UPDATE]),
    Kept("apply, the state", "apply", "-", given=OLD + "rule 192.0.2.3 deny\n", errors=4, kills=2,
         found=[OBJ_GET, "openat"]),
    Read("stats without memory", "stats", errors=5, kills=0, only="mmap,brk", after=True),
    Write("apply without memory", "apply", "-", given=NEW, errors=5, kills=0, only="mmap,brk",
          after=True),
]


# ---- running the rows


def choose(total, count):
    """Which of 1..total, evenly, and not the same ones for one count as for another."""
    if os.environ.get("FAULTS") or count >= total:
        return range(1, total + 1)
    return [1 + (2 * i + 1) * total // (2 * count) for i in range(count)]


# libbpf's probe whether the kernel knows BTF. If it seems not to, the functions of the program are verified
# as parts of their callers: that takes the kernel a minute, and then it refuses.
BTF_LOAD = "bpf 18"


def found(row, calls):
    """The first call of each kind, one in the middle, and the last one, or that alone."""
    for kind in [*row.found, *row.last]:
        like = [nth for nth, call in enumerate(calls, 1)
                if f"{call} ".split(" ", 1)[1].startswith(f"{kind} ")]
        need(like, f"makes no call {kind}")
        some = {like[-1]} if kind in row.last else {like[0], like[len(like) // 2], like[-1]}
        yield from sorted(some)


def plan(row, calls):
    everything = os.environ.get("FAULTS") == "all"
    total = len(calls)
    for nth in [] if os.environ.get("FAULTS") else found(row, calls):
        yield nth, "ENOMEM"
    for i, nth in enumerate(choose(total, row.errors)):
        if calls[nth - 1].split(" ", 1)[1] == BTF_LOAD:
            continue
        for error in ERRORS if everything else [ERRORS[i % len(ERRORS)]]:
            yield nth, error
    for nth in choose(total, row.kills):
        yield nth, "KILL"


def judge_words(run, killed, nth):
    if run.status in (0, 137) and (run.status == 0 or killed):
        return
    need(run.status == 1, str(run))
    need(run.err.startswith("rlctl: "), f"no message: {run}")
    for nonsense in ("Success", "(null)", "Unknown error", "Bad message"):
        need(nonsense not in run.err, str(run))


def one(bed, row, nth, error):
    killed = error == "KILL"
    row.prepare(bed)
    run = bed.injected(row, nth, error)
    try:
        judge_words(run, killed, nth)
        row.judge(bed, run, killed)
    except Bad as bad:
        return f"{error} at call {nth} ({run.chosen}): {bad}\n{run}"
    if not killed:
        bed.messages.setdefault((row.name, run.status, run.err), []).append(f"{error} {run.chosen}")
    return None


def setup(bed, row):
    row.words = [bed.device if word == "DEVICE" else word for word in row.words]
    row.begin(bed)
    row.prepare(bed)
    calls = bed.calls(row)
    if isinstance(row, Attach):
        row.shown = bed.ok("show", "-i", bed.device, "--hook", row.hooks[0])
        bed.bare()
    elif isinstance(row, Detach):
        row.begin(bed)
        row.prepare(bed)
        row.shown = bed.ok("show", "-i", bed.device, "--hook", row.hooks[0])
        row.begin(bed)
    elif isinstance(row, Leave):
        row.begun(bed)
    elif isinstance(row, Write):
        row.shown = bed.shows()
        row.begun(bed)
    return calls


def settle(bed, maps):
    """The kernel frees maps a moment after the last use."""
    for _ in range(100):
        if bed.maps() == maps:
            return None
        time.sleep(0.1)
    return f"{bed.maps()} maps, before it were {maps}"


def run_row(bed, row):
    try:
        calls = setup(bed, row)
    except Bad as bad:
        return 0, [str(bad)]
    findings, count = [], 0
    for nth, error in plan(row, calls):
        count += 1
        try:
            finding = one(bed, row, nth, error)
        except Bad as bad:
            finding = f"{error} at call {nth}: {bad}"
        if finding:
            findings.append(finding)
            row.mend(bed)
    try:
        row.end(bed)
    except Bad as bad:
        findings.append(str(bad))
    return count, findings


def main(words):
    bed = Bed(*words[:5])
    bed.clean_links = bed.links()
    os.mkdir(os.path.join(bed.bpffs, "rlctl"), 0o700)  # else the first attach makes it
    wanted, failed, start = words[5:], 0, bed.maps()
    for row in ROWS:
        if wanted and row.name not in wanted:
            continue
        begun = time.monotonic()
        count, findings = run_row(bed, row)
        failed += bool(findings)
        print("not ok" if findings else "ok", f"{row.name} under {count} faults", flush=True)
        print(f"# {time.monotonic() - begun:.1f} s, {len(findings)} findings", flush=True)
        for finding in findings:
            print("\n".join("# " + line for line in finding.splitlines()), flush=True)
    if bed.fleet:
        bed.fleet.end()
    bed.bare()
    left = settle(bed, start)
    print("not ok" if left else "ok", "no map is left", left or "")
    if os.environ.get("FAULTS_LIST"):
        for (name, status, err), where in sorted(bed.messages.items()):
            print(f"## {name}: {status} {err.strip()!r} <- {len(where)}: {', '.join(where[:4])}")
    return 1 if failed or left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
