# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of commands that faults.py drives for a member of a fleet."""

import json
import os
import re
import signal

from bed import OLD, Run, need
from fault_kinds import Living
from fleet_bed import Fleet, children, eventually


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
