# SPDX-License-Identifier: GPL-2.0-only
"""The fleet of faults.py and races.py: a Redis on a unix socket in the test's folder, which
ends with the test, and agents that join it."""

import json
import os
import signal
import subprocess
import tempfile
import time

from bed import need

JOIN_S = 15  # a join that takes longer does not come
WITH_TEST = ["setpriv", "--pdeathsig", "KILL"]  # it ends when the test does, however that ends


def eventually(condition, text):
    end = time.monotonic() + JOIN_S
    while not condition():
        need(time.monotonic() < end, text)
        time.sleep(0.02)


def children(process):
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as pids:
            return [int(pid) for pid in pids.read().split()]
    except FileNotFoundError:
        return []


class Fleet:
    def __init__(self, bed):
        self.bed = bed
        folder = tempfile.mkdtemp(prefix="redis-", dir=os.path.dirname(bed.bpffs))
        self.socket = os.path.join(folder, "socket")
        os.environ["STATE_DIRECTORY"] = folder  # not the machine's
        self.redis = subprocess.Popen(
            [*WITH_TEST, "redis-server", "--port", "0", "--unixsocket",
             self.socket, "--dir", folder, "--save", "", "--appendonly", "no"],
            stdout=subprocess.DEVNULL)
        eventually(lambda: os.path.exists(self.socket), "no Redis")

    def end(self):
        self.redis.kill()
        self.redis.wait()

    def words(self, node="a"):
        return ["fleet", "join", "-i", self.bed.device, "--redis", f"unix://{self.socket}",
                "--name", "f", "--node", node]

    def status(self):
        return json.loads(self.bed.ok("fleet", "status", "-j"))

    def is_shared(self, agent):
        """The agent, or the command that it is run by: one that was killed is still shown."""
        return [member["mode"] for member in self.status()
                if member["pid"] in (agent.pid, *children(agent))] == ["shared"]

    def start(self, node="a"):
        return self.bed.start(*self.words(node), before=WITH_TEST)

    def join(self, node="a"):
        """An agent, once it shares."""
        agent = self.start(node)
        self.wait(agent)
        if agent.poll() is not None:
            need(False, f"join: {self.bed.finish(agent)}")
        return agent

    def wait(self, agent):
        """Until the agent shares, or has ended."""
        try:
            eventually(lambda: agent.poll() is not None or self.is_shared(agent), "does not join")
        except Exception:
            os.killpg(agent.pid, signal.SIGKILL)
            raise

    def terminate(self, agent):
        """The result of an agent that is told to end."""
        if agent.poll() is None:
            agent.terminate()
        return self.bed.finish(agent)
