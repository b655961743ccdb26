#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Drives commands of rlctl while one of their system calls fails, or kills them there, and judges
what is left: the old policy or the new one, whole; a message; no pin, program, qdisc, map or
process more than before; and that the next command works. Prints TAP.

faults.py NAMESPACE DEVICE BPFFS RLCTL INJECT [ROW…]
FLOOD is the command that sends packets to the device.
FAULTS=all tries every call with every error, FAULTS=each every call with one of them; without it a
stride that is the same every time. FAULTS_LIST=1 also prints every message that was seen."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ERRORS = ["EPERM", "ENOMEM", "ENOSPC", "E2BIG", "EBUSY", "EINTR"]
PREFIXES = 1000 + os.getpid() % 9000  # by which our maps are known
SIZES = ["--sources", "1031", "--prefixes", str(PREFIXES)]
PATIENCE_S = 60  # a command that takes longer hangs

OLD = """\
rule 10.9.1.0/24 limit 10/hour burst 3
rule 10.9.1.0/24 udp limit sliding-window 5/hour over ban 1d
rule 192.0.2.1 deny
rule fd77::/64 allow
"""
NEW = """\
rule 10.9.2.0/24 limit sliding-window 20/second
rule 10.9.3.0/24 limit 20/second burst 3 per flow
rule 192.0.2.2 deny
rule device limit 1000k/second burst 5k
"""


TC_HOOKS = ["--hook", "ingress", "--hook", "egress"] + ["--fq"] * ("FQ" in os.environ)


class Bad(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Bad(text)


class Run:
    """What came of a command."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"exit {self.status}, said: {self.err.strip() or 'nothing'}"


class Bed:
    def __init__(self, namespace, device, bpffs, rlctl, inject):
        self.namespace, self.device, self.bpffs = namespace, device, bpffs
        self.rlctl, self.inject = rlctl, inject
        self.flood_words = os.environ["FLOOD"].split()
        self.messages = {}

    # ---- running

    def words(self, *words):
        return [self.rlctl, "-n", self.namespace, "--bpffs", self.bpffs, *words]

    def start(self, *words, given=None, before=()):
        process = subprocess.Popen([*before, *self.words(*words)], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        process.stdin.write(given or "")
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        return process

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise Bad(f"hangs: {' '.join(process.args)}") from None
        return Run(process.returncode, out, err)

    def run(self, *words, given=None, before=()):
        return self.finish(self.start(*words, given=given, before=before))

    def flood(self, source):
        subprocess.run([*self.flood_words, "--count", "20", "--src", source], check=True,
                       capture_output=True)

    def ok(self, *words, given=None):
        run = self.run(*words, given=given)
        need(run.status == 0, f"{' '.join(words)}: {run}")
        return run.out

    def injected(self, row, nth, error):
        """Runs the row's command with this fault. Its Run says which call it was, and how many."""
        with tempfile.NamedTemporaryFile("r") as trace:
            before = [self.inject, "-t", trace.name, "-n", f"{nth}{'+' if row.after else ''}",
                      "-e", error, *(["-o", row.only] if row.only else [])]
            run = row.attend(self, self.start(*row.words, given=row.given, before=before))
            lines = trace.read().splitlines() or ["0"]
        chosen = [line for line in lines if line.endswith(" chosen")]
        run.chosen = " ".join(chosen[0].split()[1:-1]) if chosen else "not reached"
        run.calls = lines[:-1]
        return run

    def calls(self, row):
        """The calls that the command makes when nothing fails: "NUMBER NAME ARGUMENT"."""
        run = self.injected(row, 0, "KILL")
        need(run.status == row.status, f"without a fault: {run}")
        row.normal = run
        return run.calls

    # ---- what there is

    def pins(self):
        """Everything below bpffs, but for the folders that are never taken away."""
        found = []
        for folder, folders, files in os.walk(self.bpffs):
            where = os.path.relpath(folder, self.bpffs)
            found += [os.path.join(where, name) for name in folders + files]
        lasting = ("./rlctl", "./xdp", "./maps.debug", "./progs.debug")
        return sorted(name for name in found if name not in lasting)

    def links(self):
        def ask(*words):
            return subprocess.run(words, capture_output=True, text=True, check=True).stdout

        link = json.loads(ask("ip", "-n", self.namespace, "-j", "link", "show", self.device))[0]
        hooks = [link.get("xdp", {}).get("mode")]
        hooks.append(ask("tc", "-n", self.namespace, "qdisc", "show", "dev", self.device))
        for hook in "ingress", "egress":
            hooks.append(ask("tc", "-n", self.namespace, "filter", "show", "dev", self.device,
                             hook))
        return [entry for entry in hooks if entry]

    def maps(self):
        """How many there are of a size that nobody else's have."""
        maps = json.loads(subprocess.run(["bpftool", "-j", "map", "show"], capture_output=True,
                                         text=True, check=True).stdout)
        return sum(entry.get("max_entries") == 2 * PREFIXES for entry in maps)

    def is_attached(self):
        return self.run("show", "-i", self.device).status == 0

    def shows(self):
        return self.ok("show", "-i", self.device)

    # ---- bringing about

    def attach(self, policy=OLD, hooks=()):
        self.ok("attach", self.device, *hooks, *SIZES, "--policy", "-", given=policy)

    def bare(self):
        """Nothing on the device, nothing below bpffs."""
        for hook in "xdp", "ingress", "egress":
            self.run("detach", self.device, "--hook", hook)

    def scrub(self):
        """With other means than rlctl, where it did not do its work."""
        self.bare()
        for words in (["ip", "-n", self.namespace, "link", "set", self.device, "xdp", "off"],
                      ["ip", "-n", self.namespace, "link", "set", self.device, "xdpgeneric", "off"],
                      ["tc", "-n", self.namespace, "qdisc", "del", "dev", self.device, "clsact"],
                      ["find", self.bpffs, "-mindepth", "2", "-delete"]):
            subprocess.run(words, capture_output=True, check=False)

    def folders_remove(self):
        """Without pins, as where rmdir failed, they are no harm: the next instance uses them."""
        for pin in reversed(self.pins()):
            path = os.path.join(self.bpffs, pin)
            if os.path.isdir(path) and not os.listdir(path):
                os.rmdir(path)

    def is_clean(self):
        need(self.pins() == [], f"pins are left: {self.pins()}")
        need(self.links() == self.clean_links, f"left on the device: {self.links()}")


# ---- rows: what is run, from what state, and how it is judged


class Row:
    def __init__(self, name, *words, errors=10, kills=3, given=None, status=0, only=None,
                 after=False, found=()):
        self.name, self.words, self.errors, self.kills = name, list(words), errors, kills
        self.given, self.status = given, status
        self.only, self.after = only, after  # these calls alone; and all further ones
        self.found = found  # calls whose failure was once not noticed: always tried

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
        need(again.status == 0 or "nothing of ours" in again.err, f"again: {again}")
        for other in self.hooks[1:]:
            bed.ok("detach", bed.device, "--hook", other)
        if run.status:
            bed.folders_remove()
        bed.is_clean()


class Living(Row):
    """A command for an instance that is there."""

    def begun(self, bed):
        """After it ran once without a fault."""

    def mend(self, bed):
        if not bed.is_attached():
            bed.scrub()
            bed.attach(OLD)
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
        need("no policy is on trial" not in run.err, str(run))
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


def without_waits(out):
    document = json.loads(out)
    for state in document["states"]:
        for key in "wait_ns", "ban_ns":
            state.pop(key, None)
    return document


def without_numbers(out):
    return re.sub(r"[ _][0-9.e+-]+$", "", out, flags=re.MULTILINE)


def first_word(out):
    return out.split()[:1]


OBJ_GET, GET_INFO, MAP_DELETE = "bpf 7", "bpf 15", "bpf 3"

ROWS = [
    Attach("attach", errors=6, kills=3, found=["flock"]),
    Attach("attach, generic", "--mode", "generic", errors=3, kills=1),
    Attach("attach, tc", *TC_HOOKS, errors=5, kills=2),
    Detach("detach", errors=4, kills=3, found=[GET_INFO, "ioctl", "unlinkat"]),
    Detach("detach, tc", "ingress", "egress", errors=1, kills=1, found=[OBJ_GET]),
    Write("rule add", "rule", "add", "192.0.2.7", "deny"),
    Write("rule del", "rule", "del", "192.0.2.1", "deny", errors=4),
    Write("rule flush", "rule", "flush", errors=4),
    Write("apply", "apply", "-", given=NEW, errors=8, kills=4),
    Write("attach --or-apply", "attach", "DEVICE", "--or-apply", *SIZES, "--policy", "-", given=NEW,
          errors=6),
    Kept("attach --replace", "attach", "DEVICE", "--replace", errors=6, found=[GET_INFO, "sendto"]),
    Read("apply --check", "apply", "-i", "DEVICE", "--check", "-", given=NEW, errors=6),
    Read("show", "show", found=["bpf 4"]),
    Read("show as JSON", "show", "-j"),
    Read("stats", "stats", found=[OBJ_GET, "socket"]),
    Read("stats as JSON", "stats", "-j"),
    Read("stats for Prometheus", "stats", "--prometheus", same=without_numbers),
    Read("rule list", "rule", "list"),
    Read("rule get", "rule", "get", "10.9.1.1"),
    Read("status", "status", found=[GET_INFO, OBJ_GET, "openat"]),
    Read("source show", "source", "show", "10.9.1.1", "-j", same=without_waits, found=[OBJ_GET, "openat"]),
    Forgive("source forgive", found=[OBJ_GET, MAP_DELETE]),
    Read("top --once", "top", "--once", same=first_word, errors=4, kills=1),
    Try("apply --try, confirmed", "5s", True, found=["sendto", "flock"]),
    Try("apply --try, undone", "1s", False, errors=6, kills=2, status=1),
    DuringTrial("confirm", "confirm", "-i", "DEVICE", errors=4, found=[OBJ_GET, "flock"]),
    DuringTrial("rule add, during a trial", "rule", "add", "192.0.2.7", "deny", errors=4, kills=2,
                status=1, found=[OBJ_GET, "flock"]),
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


# By this libbpf asks whether the kernel knows BTF. Where it seems not to, the functions of the program
# are verified as parts of their callers: that takes the kernel a minute, and then it refuses.
BTF_LOAD = "bpf 18"


def found(row, calls):
    """Of each kind of call the first one, one in the middle, and the last one."""
    for kind in row.found:
        like = [nth for nth, call in enumerate(calls, 1)
                if call.split(" ", 1)[1].startswith(kind)]
        need(like, f"makes no call {kind}")
        yield from sorted({like[0], like[len(like) // 2], like[-1]})


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
    bed.bare()
    left = settle(bed, start)
    print("not ok" if left else "ok", "no map is left", left or "")
    if os.environ.get("FAULTS_LIST"):
        for (name, status, err), where in sorted(bed.messages.items()):
            print(f"## {name}: {status} {err.strip()!r} <- {len(where)}: {', '.join(where[:4])}")
    return 1 if failed or left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
