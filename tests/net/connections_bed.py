# SPDX-License-Identifier: GPL-2.0-only
"""Connections of namespace A to B, and what the limiter in B counts of them. See connections.py."""

import contextlib
import glob
import json
import os
import socket
import struct
import subprocess

from checks import command, eventually, need
from namespaces import FAMILY, PREFIX, RLCTL, enter

SERVER = {4: "10.77.0.2", 6: "fd77::2"}
SECONDS = 60


# ---- the limiter


def run(*words, given=None):
    return subprocess.run(words, input=given, text=True, capture_output=True, check=False)


def rlctl(*words, given=None):
    return command(RLCTL, "-n", f"{PREFIX}-B", *words, given=given)


def injected(what, *words, given):
    """rlctl, of which one system call does this instead of what it should."""
    call = what.partition(":")[0]
    return run("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={what}", RLCTL, "-n",
               f"{PREFIX}-B", *words, given=given)


def kernel_has_warned():
    """Once for each place in it since it was started."""
    with open("/proc/sys/kernel/tainted") as tainted:
        return int(tainted.read()) >> 9 & 1


@contextlib.contextmanager
def attached(policy, *options):
    rlctl("attach", "veth-B", *options, "--policy", "-", given=policy)
    try:
        yield
    finally:
        rlctl("detach", "veth-B")


def stats():
    return json.loads(rlctl("stats", "-j"))[0]


def rules():
    return stats()["rules"]


def table():
    """Keys with open connections, and connections that found no room."""
    return stats()["connections"]


def pins(name):
    """Paths of the pins in B with this name, which may have *."""
    return glob.glob(f"/sys/fs/bpf/rlctl/{os.stat(f'/run/netns/{PREFIX}-B').st_ino}/*/{name}")


def counted(which=0):
    """Open connections under the limit of that place in the policy."""
    return rules()[which]["open_connections"]


def is_counted(wanted, which=0):
    eventually(lambda: counted(which) == wanted, f"{wanted} open connections, there are {counted(which)}")


# ---- connections


def link_local(port):
    """The server by an address that is valid on its link alone: sockets of it are bound to the device."""
    for name, address in (("A", "fe80::1"), ("B", "fe80::2")):
        run("ip", "-n", f"{PREFIX}-{name}", "addr", "replace", f"{address}/64", "dev", f"veth-{name}", "nodad")
    enter("A")
    return ("fe80::2", port, 0, socket.if_nametoindex("veth-A"))


class Connection:
    """From A, or None of it where the SYN was dropped within the time."""

    def __init__(self, listener, family=4, source=None, seconds=SECONDS, server=None):
        enter("A")
        self.server = None
        self.client = socket.socket(FAMILY[family])
        self.client.settimeout(seconds)
        if source:
            self.client.bind((source, 0))
        try:
            self.client.connect(server or (SERVER[family], listener.getsockname()[1]))
        except TimeoutError:
            self.client.close()
            self.client = None
            return
        listener.settimeout(seconds)
        self.server = listener.accept()[0]

    def close(self, server_first=False):
        for end in (self.server, self.client) if server_first else (self.client, self.server):
            end.close()

    def reset(self):
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client.close()


def opened(listener, count, **options):
    return [Connection(listener, **options) for _ in range(count)]


def close_all(connections):
    for connection in connections:
        if connection.client:
            connection.close()


def is_refused(listener, **options):
    connection = Connection(listener, seconds=0.3, **options)
    if connection.client:
        connection.close()
    return connection.client is None


def limited(listener, count, **options):
    """So many connections are open, and one more is refused."""
    connections = opened(listener, count, **options)
    need(is_refused(listener, **options), f"one more than {count} was opened")
    return connections
