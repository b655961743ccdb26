# SPDX-License-Identifier: GPL-2.0-only
"""The common part of faults.py and races.py: a device whose commands they run, and what is there of it."""

import json
import os
import signal
import subprocess
import tempfile

from checks import Bad, need

PREFIXES = 1000 + os.getpid() % 9000  # by which our maps are known
SIZES = ["--sources", "1031", "--prefixes", str(PREFIXES)]
TCX = os.path.join(os.path.dirname(__file__), "../../build/tcx")
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


class Run:
    """The result of a command."""

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
        self.fleet = self.agent = None  # of those who need them

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
        """Everything below bpffs, except for the directories that are never removed."""
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
            hooks.append(self.tcx(hook))
        return [entry for entry in hooks if entry]

    def tcx(self, hook):
        """The programs there; none where the kernel has no tcx."""
        return subprocess.run(["nsenter", f"--net=/run/netns/{self.namespace}", TCX, self.device,
                               hook, "list"], capture_output=True, text=True, check=False).stdout

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
