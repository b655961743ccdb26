#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Eight writers and nine readers of one instance, a member of a fleet whose agents come and go, under
flood, while other devices come and go; then two trials at once. No reader sees half a policy, no counter goes back, every packet is
counted, and nothing is left. Prints TAP.

races.py NAMESPACE DEVICE BPFFS RLCTL INJECT; FLOOD as in faults.py; RACES_S: for how long."""

import json
import os
import re
import subprocess
import sys
import threading
import time

from bed import Bad, Bed, need
from fleet_bed import Fleet, eventually

SECONDS = int(os.environ.get("RACES_S", "8"))
RATE = os.environ.get("RACES_RATE", "20000")  # of the flood
KINDS = 5  # of policies: as many as there are writers of whole ones
ALWAYS = "10.78.0.0/24"  # a rule of every policy, so that its counters go on


def policy(kind):
    """One that says in each of its rules which one it is."""
    return "".join(f"rule 10.78.{n}.0/24 limit {1000 + kind}/second burst {10 + kind}"
                   f"{' fleet' * (n % 2)}\n" for n in range(20 + kind))


def judge_kinds(lines):
    kinds = {int(re.search(r"limit (\d+)/second", line)[1]) - 1000 for line in lines}
    need(len(kinds) == 1, f"of several policies: {sorted(kinds)}")
    return kinds.pop()


def judge_lines(lines):
    """The rules of a whole policy; what single rules were added does not matter."""
    ours = [line for line in lines if "10.78." in line]
    need(len(ours) == 20 + judge_kinds(ours), f"{len(ours)} rules: {lines}")


def amount(entry):
    return entry["passed"]["packets"] + entry["dropped"]["packets"]


# ---- writers, each for one turn


def apply(bed, number, _):
    bed.ok("apply", "-i", bed.device, "-", given=policy(number))


def add_and_delete(bed, number, _):
    rule = ("-i", bed.device, f"192.0.2.{number}", "deny")
    bed.ok("rule", "add", *rule)
    gone = bed.run("rule", "del", *rule)  # another's policy may have taken it away
    need(gone.status == 0 or "no such rule" in gone.err, str(gone))


def forgive(bed, _number, _):
    bed.ok("source", "forgive", "-i", bed.device, "10.78.0.5")


# ---- readers, each for one turn; `seen` is their own


def show(bed, _number, _):
    judge_lines(bed.ok("show", "-i", bed.device).splitlines())


def rule_list(bed, _number, _):
    document = json.loads(bed.ok("rule", "list", "-i", bed.device, "-j"))
    judge_lines([entry["rule"] for entry in document["rules"]])


def own(bed, text):
    """For all instances that there are at the moment."""
    found = [entry for entry in json.loads(text) if entry["device"] == bed.device]
    need(len(found) == 1, f"not in: {text}")
    return found[0]


def stats(bed, _number, seen):
    entry = own(bed, bed.ok("stats", "-j"))
    judge_lines([rule["rule"] for rule in entry["rules"]])
    first = [rule for rule in entry["rules"] if rule["rule"].startswith(ALWAYS)]
    now = [amount(entry), amount(first[0]),
           *(reason["packets"] for reason in entry["reasons"].values())]
    before = seen.get("stats", [0] * len(now))
    need(all(a <= b for a, b in zip(before, now)), f"went back: {before} to {now}")
    seen["stats"] = now


def prometheus(bed, _number, seen):
    total = 0
    for line in bed.ok("stats", "--prometheus").splitlines():
        if re.match(r"rlctl_(passed|dropped)_packets_total{.*device=\"%s\"" % bed.device, line):
            total += int(line.split()[-1])
    need(total >= seen.get("prometheus", 0), f"went back to {total}")
    seen["prometheus"] = total


def status(bed, _number, _):
    need(own(bed, bed.ok("status", "-j"))["program_id"] > 0, "no program")


def fleet_status(bed, _number, _):
    for member in json.loads(bed.ok("fleet", "status", "-j")):
        need((member["device"], member["fleet"]) == (bed.device, "f"), f"of another: {member}")
        judge_kinds(limit["rule"] for limit in member["limits"])


def top(bed, _number, _):
    json.loads(bed.ok("top", "-i", bed.device, "-j"))


def monitor(bed, _number, _):
    bed.ok("monitor", bed.device, "--count", "3", "--seconds", "1")


# ---- agents that come and go


def agent(bed, _number, seen):
    """It is ended, killed or told to leave; as long as it is there no other one joins."""
    turns = seen["turns"] = seen.get("turns", 0) + 1
    process = bed.fleet.join()
    other = bed.run(*bed.fleet.words("b"))
    need(other.status == 1 and "already in fleet f" in other.err, f"another agent: {other}")
    if turns % 3 == 0:
        process.kill()
        bed.finish(process)
        return
    if turns % 3 == 1:
        bed.ok("fleet", "leave", "-i", bed.device)
    run = bed.fleet.terminate(process)
    need(run.status == 0, f"the agent: {run}")


# ---- devices that come and go


def churn(bed, number, _):
    """Says why when it does not attach; never more than that."""
    device = f"gone{number}"

    def ip(*words):
        subprocess.run(["ip", "-n", bed.namespace, "link", *words], check=True,
                       capture_output=True)

    ip("add", device, "type", "veth", "peer", "name", f"peer{number}")
    if number % 2:
        bed.ok("attach", device)
        ip("del", device)
    else:
        attach = bed.start("attach", device)
        time.sleep(0.1)
        ip("del", device)
        run = bed.finish(attach)
        need(run.status == 0 or (run.status == 1 and run.err.startswith("rlctl: ")), str(run))
    run = bed.run("detach", device)
    need(run.status == 0 or "no such device" in run.err, str(run))


WRITERS = [apply] * KINDS + [add_and_delete] * 2 + [forgive]
READERS = [show, rule_list, stats, stats, prometheus, status, fleet_status, top, monitor]
AGENTS = [agent]
CHURN = [churn] * 2


class Crowd:
    def __init__(self, bed):
        self.bed, self.bad, self.turns = bed, [], {}
        self.end = time.monotonic() + SECONDS

    def work(self, turn, number):
        """Until the time is over; everybody has a turn, however slow the machine is."""
        seen = {}
        while not self.bad and (time.monotonic() < self.end or turn.__name__ not in self.turns):
            try:
                turn(self.bed, number, seen)
                self.turns[turn.__name__] = self.turns.get(turn.__name__, 0) + 1
            except (Bad, subprocess.CalledProcessError, ValueError, KeyError) as bad:
                self.bad.append(f"{turn.__name__}: {bad!r}")

    def run(self):
        crowd = [threading.Thread(target=self.work, args=(turn, number))
                 for turns in (WRITERS, READERS, AGENTS, CHURN) for number, turn in enumerate(turns)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()


def test_crowd(bed):
    bed.attach(policy(0))
    flood = subprocess.Popen([*bed.flood_words, "--threads", "2", "--seconds", str(SECONDS),
                              "--rate", RATE, "--src", "10.78.0.0/19"],
                             stdout=subprocess.PIPE, text=True)
    crowd = Crowd(bed)
    crowd.run()
    sent = json.loads(flood.communicate()[0])
    print("#", crowd.turns, sent)
    need(not crowd.bad, "\n".join(crowd.bad))
    settled(lambda: amount(own(bed, bed.ok("stats", "-j"))), sent["sent"])
    need(all(f"gone{number}-" not in pin for number in range(len(CHURN)) for pin in bed.pins()),
         f"left: {bed.pins()}")


def settled(read, wanted):
    """The kernel does some things a moment later."""
    end = time.monotonic() + 10
    while (found := read()) != wanted:
        need(time.monotonic() < end, f"{found}, wanted {wanted}")
        time.sleep(0.1)


def test_trials(bed):
    """One of two at once is told to wait, and the other one decides."""
    for turn in range(6):
        bed.ok("apply", "-i", bed.device, "-", given=policy(0))
        trials = [bed.start("apply", "-i", bed.device, "--try", "2s", "-", given=policy(1)),
                  bed.start("apply", "-i", bed.device, "--try", "2s", "-", given=policy(2))]
        while all(trial.poll() is None for trial in trials):
            time.sleep(0.02)
        if turn % 2:
            bed.ok("confirm", "-i", bed.device)
        runs = [bed.finish(trial) for trial in trials]
        kept = [number for number, run in enumerate(runs, 1) if run.status == 0]
        refused = [run for run in runs if "is on trial for another" in run.err]
        need(len(refused) == 1 and len(kept) == turn % 2, "; ".join(map(str, runs)))
        need(bed.shows().splitlines() == policy(kept[0] if kept else 0).splitlines(), bed.shows())


def test_agents(bed):
    """One of several that join at once stays, and the others say why they do not."""
    for _ in range(3):
        agents = [bed.fleet.start(node) for node in "abc"]
        eventually(lambda: sum(one.poll() is None for one in agents) == 1, "more than one stays")
        staying = next(one for one in agents if one.poll() is None)
        bed.fleet.wait(staying)
        need(staying.poll() is None, "none stays")
        for one in agents:
            run = bed.fleet.terminate(one)
            words = "already", "another agent"
            need(run.status == 0 if one is staying else any(word in run.err for word in words),
                 f"{run}")
        need(bed.fleet.status() == [], f"left: {bed.fleet.status()}")


def test_left(bed):
    bed.fleet.end()
    bed.ok("detach", bed.device)
    bed.is_clean()
    settled(bed.maps, 0)


def main(words):
    bed, failed = Bed(*words), 0
    bed.clean_links, bed.fleet = bed.links(), Fleet(bed)
    for test in test_crowd, test_agents, test_trials, test_left:
        try:
            test(bed)
            print("ok", test.__name__, flush=True)
        except Bad as bad:
            failed = 1
            print("not ok", test.__name__)
            print("\n".join("# " + line for line in str(bad).splitlines()), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
