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
import signal
import sys
import time

from bed import NEW, OLD, SIZES, Bad, Bed, Run, need
from fleet_bed import Fleet, children, eventually

ERRORS = ["EPERM", "ENOMEM", "ENOSPC", "E2BIG", "EBUSY", "EINTR"]
ASKING = OLD + "rule 10.9.4.0/24 not established deny\n"
TC_HOOKS = ["--hook", "ingress", "--hook", "egress"] + ["--fq"] * ("FQ" in os.environ)


# ---- rows: the command to run, the state before it, and how it is judged


class Row:
    def __init__(self, name, *words, errors=10, kills=3, given=None, status=0, only=None,
                 after=False, found=(), last=()):
        self.name, self.words, self.errors, self.kills = name, list(words), errors, kills
        self.given, self.status = given, status
        self.only, self.after = only, after  # these calls alone; and all further ones
        self.found = found  # calls whose failure was once not noticed: always tried
        self.last = last  # the last one of these alone was not

    def attend(self, bed, process):
        return bed.finish(process)

    def begin(self, bed):
        pass

    def prepare(self, bed):
        pass

    def mend(self, bed):
        bed.scrub()

    def end(self, bed):
        pass


class Attach(Row):
    def __init__(self, name, *hooks, **more):
        super().__init__(name, "attach", "DEVICE", *hooks, *SIZES, "--policy", "-", given=NEW,
                         **more)
        self.hooks = [word for word in hooks if word in ("xdp", "ingress", "egress")] or ["xdp"]

    def begin(self, bed):
        bed.bare()
        bed.is_clean()

    def each_shows(self, bed):
        return [bed.ok("show", "-i", bed.device, "--hook", hook) for hook in self.hooks]

    def judge(self, bed, run, killed):
        if run.status == 0:
            self.is_whole(bed)
        elif killed:
            for hook in self.hooks:
                shown = bed.run("show", "-i", bed.device, "--hook", hook)
                need(shown.status == 1 or shown.out == self.shown, f"shows: {shown.out}")
            if len(bed.links()) == len(bed.clean_links):
                bed.attach(NEW, self.words[2:-len(SIZES) - 2])
                self.is_whole(bed)
        else:
            bed.folders_remove()
            bed.is_clean()
        if run.status == 0 or killed:
            for hook in self.hooks:
                bed.run("detach", bed.device, "--hook", hook)
            bed.is_clean()

    def is_whole(self, bed):
        need(self.each_shows(bed) == [self.shown] * len(self.hooks), "another policy is shown")
        bed.ok("rule", "add", "-i", bed.device, "--hook", self.hooks[0], "192.0.2.99", "deny")


class Detach(Row):
    def __init__(self, name, *hooks, **more):
        self.attach = []
        for hook in hooks or ["xdp"]:
            self.attach += ["--hook", hook]
        super().__init__(name, "detach", "DEVICE", *self.attach[:2], **more)
        self.hooks = hooks or ("xdp",)

    def begin(self, bed):
        bed.bare()
        bed.is_clean()

    def prepare(self, bed):
        bed.attach(NEW, self.attach)

    def judge(self, bed, run, killed):
        hook = self.hooks[0]
        shown = bed.run("show", "-i", bed.device, "--hook", hook)
        need(shown.status == 1 or shown.out == self.shown, f"shows: {shown.out}")
        for other in self.hooks[1:]:
            need(bed.ok("show", "-i", bed.device, "--hook", other) == self.shown, "the other hook")
        if run.status == 0:
            need(shown.status == 1, "still there")
        elif shown.status == 0:
            bed.ok("rule", "add", "-i", bed.device, "--hook", hook, "192.0.2.99", "deny")
        again = bed.run("detach", bed.device, "--hook", hook)
        need(run.status or again.status == 1, f"left something to detach: {run}")
        need(again.status == 0 or "nothing attached" in again.err, f"again: {again}")
        for other in self.hooks[1:]:
            bed.ok("detach", bed.device, "--hook", other)
        if run.status:
            bed.folders_remove()
        bed.is_clean()


class Living(Row):
    """A command for an instance that is there."""

    hooks = ()

    def begun(self, bed):
        """After it ran once without a fault."""

    def mend(self, bed):
        if not bed.is_attached():
            bed.scrub()
            bed.attach(OLD, self.hooks)
            bed.old = bed.shows()


class Write(Living):
    """A command that makes of the policy OLD another one."""

    def begin(self, bed):
        self.mend(bed)
        self.prepare(bed)
        bed.old = bed.shows()

    def prepare(self, bed):
        bed.ok("apply", "-i", bed.device, "-", given=OLD)

    def judge(self, bed, run, killed):
        shown = bed.shows()
        wanted = [self.shown] if run.status == 0 else [bed.old]
        if killed:
            wanted = [self.shown, bed.old]
        need(shown in wanted, f"in force is: {shown}")
        bed.ok("rule", "add", "-i", bed.device, "192.0.2.99", "deny")
        bed.ok("rule", "del", "-i", bed.device, "192.0.2.99")

    def end(self, bed):
        self.prepare(bed)
        self.shown = bed.shows()


class Asks(Write):
    """A policy that begins to ask who is established, or ceases to: for that the program is
    replaced, and another one is attached at egress, or detached there."""

    def __init__(self, name, before, after, **more):
        super().__init__(name, "apply", "-", given=after, **more)
        self.before = before

    def begin(self, bed):
        self.mend(bed)
        self.lasting = {policy: self.state(bed, policy) for policy in (self.before, self.given)}
        super().begin(bed)

    def prepare(self, bed):
        bed.ok("apply", "-i", bed.device, "-", given=self.before)

    @staticmethod
    def state(bed, policy):
        """The pins and the programs at the device, once the policy is in force."""
        bed.ok("apply", "-i", bed.device, "-", given=policy)
        return [pin for pin in bed.pins() if "/map-" not in pin], \
            [re.sub(r"[0-9]+", "N", str(link)) for link in bed.links()]

    def judge(self, bed, run, killed):
        need(any(bed.links()[:1]), "no limiter")
        shown, companions = bed.shows(), str(bed.links()).count("rlctl_sent")
        asks = "established" in shown
        need(companions == 1 if asks else companions <= 1, f"{companions} companions of: {shown}")
        need(run.status == 0 or killed or companions == asks, "a companion is left")
        super().judge(bed, run, killed)
        state = self.state(bed, shown)
        wanted = self.lasting[self.given if shown == self.shown else self.before]
        for there, other in zip(state, wanted):
            need(there == other, f"afterwards: {set(there) ^ set(other)}")


class WriteAtTc(Write):
    """The same at another hook, from where nothing is attached."""

    hooks = ("--hook", "ingress")

    def end(self, bed):
        super().end(bed)
        bed.bare()


class Read(Living):
    """A command that changes nothing."""

    def __init__(self, *words, same=lambda out: out, **more):
        super().__init__(*words, **more)
        self.same = same

    def begin(self, bed):
        self.mend(bed)
        bed.ok("apply", "-i", bed.device, "-", given=OLD)
        bed.flood("10.9.1.1")
        self.before = bed.pins()

    def judge(self, bed, run, killed):
        if run.status == self.status:
            need(self.same(run.out) == self.same(self.normal.out), f"prints: {run.out}")
        need(bed.pins() == self.before, f"pins: {bed.pins()}")

    def end(self, bed):
        need(bed.shows() == bed.old, "another policy")


def states(bed):
    """What is remembered of the source of the flood: the rules."""
    return [state["rule"]
            for state in json.loads(bed.ok("source", "show", "10.9.1.1", "-j"))["states"]]


class Kept(Write):
    """What the rules know of a source outlives the command."""

    def begin(self, bed):
        super().begin(bed)
        bed.flood("10.9.1.1")
        need(len(states(bed)) == 2, f"remembers {states(bed)}")

    def prepare(self, bed):
        """Another policy would forget it."""
        shown = bed.shows()
        if shown != OLD:
            bed.ok("apply", "-i", bed.device, "-", given=OLD)

    def judge(self, bed, run, killed):
        super().judge(bed, run, killed)
        need(len(states(bed)) == 2, f"only remembers {states(bed)}")


class Forgive(Living):
    def __init__(self, name, **more):
        super().__init__(name, "source", "forgive", "10.9.1.1", **more)

    def begin(self, bed):
        self.mend(bed)
        bed.ok("apply", "-i", bed.device, "-", given=OLD)

    def prepare(self, bed):
        bed.ok("source", "forgive", "10.9.1.1")
        bed.flood("10.9.1.1")
        need(len(states(bed)) == 2, f"remembers {states(bed)}")

    def judge(self, bed, run, killed):
        need(run.status or not states(bed), f"still remembers {states(bed)}")


class Try(Write):
    """apply --try, which is confirmed as soon as it may be; without `confirm` it is undone."""

    def __init__(self, name, time, confirm, **more):
        super().__init__(name, "apply", "--try", time, "-", given=NEW, **more)
        self.confirm = confirm

    def attend(self, bed, process):
        try:
            while self.confirm and process.poll() is None:
                if bed.run("confirm", "-i", bed.device).status == 0:
                    break
        except Bad:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return bed.finish(process)

    def judge(self, bed, run, killed):
        shown = bed.shows()
        wanted = [self.shown] if run.status == 0 else [bed.old]
        if self.confirm and (killed or "has ended" in run.err):
            wanted = [self.shown, bed.old]
        need(shown in wanted, f"in force is: {shown}")
        trial = any("/trial" in pin for pin in bed.pins())
        need(not trial or killed or run.status, "a trial is left")
        bed.ok("rule", "add", "-i", bed.device, "192.0.2.99", "deny")
        bed.ok("rule", "del", "-i", bed.device, "192.0.2.99")

    def end(self, bed):
        self.prepare(bed)
        super().end(bed)


class DuringTrial(Write):
    """A command while a policy is on trial, which is kept afterwards."""

    def begin(self, bed):
        self.mend(bed)
        super().prepare(bed)

    def prepare(self, bed):
        super().prepare(bed)
        bed.trial = bed.start("apply", "-i", bed.device, "--try", "10s", "-", given=NEW)
        while bed.trial.poll() is None and bed.shows() == bed.old:
            pass

    def judge(self, bed, run, killed):
        need("nothing is on trial" not in run.err, str(run))
        need(bed.shows() == self.shown, "another policy")
        if run.status:
            bed.run("confirm", "-i", bed.device)
        trial = bed.finish(bed.trial)
        need(trial.status == 0, f"the trial: {trial}")
        super().judge(bed, Run(0, "", ""), False)

    def begun(self, bed):
        bed.run("confirm", "-i", bed.device)
        bed.finish(bed.trial)

    def end(self, bed):
        super().prepare(bed)


FLEET_BURST = 4
FLEET = f"""\
rule 10.9.0.0/16 limit 10/hour burst {FLEET_BURST} fleet
rule 192.0.2.1 deny
"""


class Member(Living):
    """A command for a member of a fleet, or one that makes it one."""

    sources = 0  # each of them has its own limit

    def begin(self, bed):
        if not bed.fleet:
            bed.fleet = Fleet(bed)
        self.mend(bed)
        self.before = bed.pins()

    def mend(self, bed):
        if bed.agent:
            bed.fleet.terminate(bed.agent)
            bed.agent = None
        super().mend(bed)
        bed.ok("fleet", "leave", "-i", bed.device)
        bed.ok("apply", "-i", bed.device, "-", given=FLEET)
        bed.old = bed.shows()

    def member_begin(self, bed):
        if not bed.agent:
            bed.agent = bed.fleet.join()

    def member_end(self, bed):
        agent, bed.agent = bed.agent, None
        run = bed.fleet.terminate(agent)
        need(run.status == 0, f"the agent: {run}")
        need(bed.fleet.status() == [], f"left: {bed.fleet.status()}")

    def source_next(self):
        Member.sources += 1
        self.source = f"10.9.{1 + Member.sources // 250}.{1 + Member.sources % 250}"

    def passed(self, bed):
        """The number of packets of a flood from the source that pass."""
        def count():
            return json.loads(bed.ok("stats", "-j"))[0]["rules"][0]["passed"]["packets"]

        before = count()
        bed.flood(self.source)
        return count() - before

    def judge_policy(self, bed):
        need(bed.shows() == bed.old, f"in force is: {bed.shows()}")
        need(bed.pins() == self.before, f"pins: {bed.pins()}")

    def end(self, bed):
        self.mend(bed)
        bed.ok("apply", "-i", bed.device, "-", given=OLD)


class Join(Member):
    """An agent, until it shares, and then until it is told to end."""

    def begin(self, bed):
        super().begin(bed)
        self.words = bed.fleet.words()

    def prepare(self, bed):
        self.source_next()
        self.spent = 0

    def attend(self, bed, process):
        bed.fleet.wait(process)
        if process.poll() is None:
            self.spent = self.passed(bed)
            for pid in children(process):
                os.kill(pid, signal.SIGTERM)
        return bed.finish(process)

    def judge(self, bed, run, killed):
        self.judge_policy(bed)
        self.spent += self.passed(bed)
        need(1 <= self.spent <= FLEET_BURST, f"let {self.spent} packets through")
        self.member_begin(bed)
        self.spent += self.passed(bed)
        self.member_end(bed)
        need(self.spent <= FLEET_BURST, f"let {self.spent} packets through with the next agent")


class Leave(Member):
    def __init__(self, **more):
        super().__init__("fleet leave", "fleet", "leave", "-i", "DEVICE", **more)

    def prepare(self, bed):
        self.member_begin(bed)

    def judge(self, bed, run, killed):
        if run.status:
            again = bed.run("fleet", "leave", "-i", bed.device)
            need(again.status == 0, f"again: {again}")
        eventually(lambda: bed.agent.poll() is not None, "the agent is still there")
        self.member_end(bed)
        self.judge_policy(bed)
        self.source_next()
        passed = self.passed(bed)
        need(passed == FLEET_BURST, f"not whole: {passed} of {FLEET_BURST} packets")

    def begun(self, bed):
        self.judge(bed, Run(0, "", ""), False)


class MemberStatus(Member):
    def __init__(self, name, *more_words, **more):
        super().__init__(name, "fleet", "status", *more_words, **more)

    def prepare(self, bed):
        self.member_begin(bed)

    def judge(self, bed, run, killed):
        self.judge_policy(bed)
        if run.status == 0:
            wanted = [without_moments(self.normal.out),
                      without_moments(bed.ok(*self.words))]  # Redis may be late meanwhile
            need(without_moments(run.out) in wanted, f"prints: {run.out}")


def without_moments(out):
    return re.sub(r'("lag_ns":|"leases":|lag +|leases +)[0-9.]+', "", out)


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
    """Of each kind of call the first one, one in the middle, and the last one, or that alone."""
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
