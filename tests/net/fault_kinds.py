# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of commands that faults.py drives: the state before each, and how it is judged."""

import json
import os
import re
import signal

from bed import NEW, OLD, SIZES, Bad, Run, need


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
    """The rules that remember the source of the flood."""
    return [state["rule"]
            for state in json.loads(bed.ok("source", "show", "10.9.1.1", "-j"))["states"]]


class Kept(Write):
    """The state of a source outlives the command."""

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


class Sets(Write):
    """A policy with sets takes the place of another one: the members of a set that both have stay,
    whatever happens."""

    members = {"bad": ["10.9.1.1", "10.9.4.0/24", "2001:db8::/32"], "good": ["10.9.1.9"]}

    def __init__(self, name, before, after, **more):
        super().__init__(name, "apply", "-", given=after, **more)
        self.before = before

    def prepare(self, bed):
        bed.ok("apply", "-i", bed.device, "-", given=self.before)
        for name, members in self.members.items():
            bed.ok("set", "add", "-i", bed.device, name, *members)

    def judge(self, bed, run, killed):
        shown = bed.shows()
        for name, members in self.members.items():
            if f"set {name}" in shown:
                there = bed.ok("set", "list", "-i", bed.device, name).split("\n")[:-1]
                need(sorted(there) == sorted(members), f"members of {name}: {there}")
        bed.flood("10.9.1.1")
        super().judge(bed, run, killed)
        bed.ok("set", "add", "-i", bed.device, "bad", "10.9.5.1")
        bed.ok("set", "del", "-i", bed.device, "bad", "10.9.5.1")

    def end(self, bed):
        bed.ok("apply", "-i", bed.device, "-", given=OLD)
        need(not [pin for pin in bed.pins() if re.search("/(sets|member_layout|set_counts)$", pin)], "maps of sets")
        bed.old = bed.shows()
