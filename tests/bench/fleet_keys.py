#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fleet_keys.py JSON: the processor time that a Redis takes for a fleet, as docs/fleet_keys.json, from which
figures.py extrapolates agents, keys and shards. A Redis of its own, on a socket in a folder of its own, is driven by
redis-benchmark: calls of 100 keys, as an agent sends them, and heartbeats in fleets of several sizes."""
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from rounds import spread, write

ROUNDS, KEYS, ADDRESSES = 5, 100, 10000
CALLS = {"shares": 1500, "window": 1000, "heartbeat": 400}
MEMBERS = (8, 32, 100, 300)  # more do not beat four times a second: their names expire meanwhile
KEY = "rlctl:{f}:0123456789abcdef:__rand_int__"


class Redis:
    def __init__(self, folder):
        self.socket = f"{folder}/socket"
        self.server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", folder, "--save", "",
                                        "--appendonly", "no"], stdout=subprocess.DEVNULL)
        while not os.path.exists(self.socket):
            time.sleep(0.02)

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True, check=True).stdout

    def load(self, name):
        with open(f"user/fleet/{name}.lua", encoding="utf-8") as script:
            return self.cli("SCRIPT", "LOAD", script.read()).strip()

    def busy(self):
        """Seconds of processor time."""
        return sum(float(s) for s in re.findall(r"used_cpu_(?:sys|user):([\d.]+)", self.cli("INFO", "cpu")))

    def cost(self, calls, of, words, last=None):
        """Microseconds of processor time for a call."""
        begin = self.busy()
        subprocess.run(["redis-benchmark", "-s", self.socket, "-q", "-c", "8", "-P", "4", "-n", str(calls), "-r", str(of),
                        *(["-x"] if last else []), "EVALSHA", *words], input=last, stdout=subprocess.DEVNULL, check=True)
        return (self.busy() - begin) * 1e6 / calls


def measure(redis):
    """(WHAT, MEMBERS, microseconds for a key or a heartbeat) in turns."""
    sha = {name: redis.load(name) for name in ("rate", "window", "heartbeat")}
    keys = [str(KEYS + 1), "rlctl:{f}:capacity", *[KEY] * KEYS]
    asked = struct.pack("<5I", *[0x01010101] * 4, (int(time.time()) + 2) | 0x01010101) * KEYS  # redis-benchmark ends at a byte of 0
    yield "shares", 0, redis.cost(CALLS["shares"], ADDRESSES, [sha["rate"], *keys], asked) / KEYS
    yield "window", 0, redis.cost(CALLS["window"], ADDRESSES, [sha["window"], *keys, *["1000", "1000", "10", "0", "0", "1"] * KEYS]) / KEYS
    for members in MEMBERS:
        redis.cli("FLUSHALL")
        words = [sha["heartbeat"], "3", "rlctl:{f}:members", "rlctl:{f}:outage", "rlctl:{f}:capacity", "m__rand_int__", "token",
                 str(members), "0"]
        redis.cost(4 * members, members, words)
        yield "heartbeat", members, redis.cost(CALLS["heartbeat"], members, words)


def main():
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        redis = Redis(folder)
        try:
            redis.cli("PING")
            for _ in range(ROUNDS):
                for what, members, us in measure(redis):
                    costs.setdefault((what, members), []).append(us)
            version = re.search(r"redis_version:(\S+)", redis.cli("INFO", "server"))[1]
        finally:
            redis.server.kill()
            redis.server.wait()
    rows = [{"what": what, "members": members, "us": spread(us, 2)} for (what, members), us in costs.items()]
    for row in rows:
        print(row)
    write(sys.argv[1], {"": {"": costs["shares", 0]}}, rows, redis=version, load=round(os.getloadavg()[0], 1))


main()
