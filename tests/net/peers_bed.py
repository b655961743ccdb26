# SPDX-License-Identifier: GPL-2.0-only
"""The machines of peers.py, and each way in which one of them has something to do with an address of another. NAMESPACES RLCTL
BPFFS are the first arguments; peers are addresses of A and C, in 10.9.0.0/16 and fd99::/16."""

import ctypes
import errno
import os
import socket
import subprocess
import sys

import peers_table
from checks import command, need, same
from setns import LIBC, inside

PREFIX, RLCTL, BPFFS = sys.argv[1:4]
ASKING_TCP = "rule any tcp established limit 1m/second burst 1m per rule\n"
PORT = 8000
LOCAL = {4: "10.77.0.2", 6: "fd77::2", "mapped": "::ffff:10.77.0.2"}
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6, "mapped": socket.AF_INET6}
NOWHERE = {4: "203.0.113.9", 6: "2001:db8::9", "mapped": "::ffff:203.0.113.9"}  # there is no route
TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, MSG_FASTOPEN = 23, 30, 0x20000000


# ---- namespaces


def sock(name, family, kind=socket.SOCK_STREAM):
    with inside(f"{PREFIX}-{name}"):
        s = socket.socket(FAMILY[family], kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return s


def in_ns(name, *words):
    return command("nsenter", f"--net=/run/netns/{PREFIX}-{name}", *words)


def rl(*words, name="B", policy=None, check=True):
    run = subprocess.run([RLCTL, "-n", f"{PREFIX}-{name}", *words], input=policy, capture_output=True, text=True)
    need(not check or not run.returncode, f"{' '.join(words)}: {run.stderr}")
    return run


def pins(name="B", instance=None):
    inode = os.stat(f"/run/netns/{PREFIX}-{name}").st_ino
    return f"{BPFFS}/rlctl/{inode}/{instance or f'veth-{name}-xdp'}"


def attach(*words, name="B", policy=ASKING_TCP):
    rl("attach", f"veth-{name}", *words, "--policy", "-", name=name, policy=policy)
    table = peers_table.Table(pins(name))
    same(table.fed, 1, "fed")
    return table


def detach(*words, name="B"):
    rl("detach", f"veth-{name}", *words, name=name)


# ---- peers


class Peers:
    """Addresses of which each is used once, so that nothing is left of them."""

    def __init__(self):
        self.number = 0

    def next(self, family, table=None):
        """One that the filter does not take for another."""
        while True:
            self.number += 1
            low = f"10.9.{self.number >> 8 & 255}.{self.number & 255}"
            address = {4: low, 6: f"fd99:0:0:{self.number:x}::1", "mapped": f"::ffff:{low}"}[family]
            if not table or not table.counts(address):
                return address


PEERS = Peers()


class Server:
    """At every address of a namespace."""

    def __init__(self, name, family=6):
        self.s = sock(name, family)
        self.s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 1000)
        self.s.bind(("::", 0))
        self.s.listen(4096)
        self.port = self.s.getsockname()[1]

    def accept(self):
        return self.s.accept()[0]


def client(name, family, address=None):
    s = sock(name, family)
    if address:
        s.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
        s.bind((address, 0))
    return s


def connected(server, family, peer):
    """B connects to the peer: both ends."""
    s = client("B", family)
    s.connect((peer, server.port))
    return s, server.accept()


def accepted(server, family, peer):
    """The peer connects to B: both ends, ours first."""
    s = client("A", family, peer)
    s.connect((LOCAL[family], server.port))
    return server.accept(), s


def udp(family, *peers):
    s = sock("B", family, socket.SOCK_DGRAM)
    for peer in peers:
        s.connect((peer, PORT))
    return s


def pop(family):
    """One that connects nowhere after it has connected."""

    def run(bed, peer):
        s = udp(family, peer)
        try:
            s.connect((NOWHERE[family], PORT))
        except OSError as error:
            same(error.errno, errno.ENETUNREACH, "the error")
            same(s.getpeername()[0], peer, "still connected to")
        return (s,)

    return run


def reconnected(family, count):
    def run(bed, peer):
        return (udp(family, *(PEERS.next(family) for _ in range(count)), peer),)

    return run


def disconnected(bed, peer):
    """Connected to others, to nobody, and then to the peer."""
    s = udp(4, PEERS.next(4))
    address = (ctypes.c_char * 16)()
    need(not LIBC.connect(s.fileno(), address, 16), "AF_UNSPEC")
    s.connect((peer, PORT))
    return (s,)


def fast(side):
    """With a cookie from the first time, so that the connection begins with data. side: the server's."""

    def connect(bed, peer):
        server, is_there = getattr(bed, side), side == "there"
        s = client("B", 4) if is_there else client("A", 4, peer)
        s.sendto(b"x", MSG_FASTOPEN, (peer if is_there else LOCAL[4], server.port))
        other = server.accept()
        same(other.recv(1), b"x", "data")
        return (s, other) if is_there else (other, s)

    def run(bed, peer):
        for end in connect(bed, peer):
            end.close()
        return connect(bed, peer)

    return run


def fast_connect(bed, peer):
    s = client("B", 4)
    s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    s.connect((peer, bed.there.port))
    s.send(b"x")
    return s, bed.there.accept()


def half_closed(by_peer):
    """One has said all, and the other goes on: we are in CLOSE_WAIT, or in FIN_WAIT2."""

    def run(bed, peer):
        ends = accepted(bed.here, 4, peer)
        ends[by_peer].shutdown(socket.SHUT_WR)
        same(ends[not by_peer].recv(1), b"", "the end")
        return ends

    return run


def again(bed, peer):
    """A socket that was connected elsewhere before."""
    s, other = connected(bed.there, 4, PEERS.next(4))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    address = (ctypes.c_char * 16)()
    need(not LIBC.connect(s.fileno(), address, 16), "AF_UNSPEC")
    other.close()
    s.connect((peer, bed.there.port))
    return s, bed.there.accept()


def each_way(make, server):
    return lambda family: lambda bed, peer: make(getattr(bed, server), family, peer)


def lives():
    connects, accepts = each_way(connected, "there"), each_way(accepted, "here")
    for family, name in ((4, "IPv4"), (6, "IPv6"), ("mapped", "IPv4, mapped")):
        yield f"connected, {name}", family, connects(family)
        if family != "mapped":
            yield f"accepted, {name}", family, accepts(family)
        yield f"UDP, {name}", family, lambda bed, peer, family=family: (udp(family, peer),)
        yield f"UDP, connected elsewhere before, {name}", family, reconnected(family, 1)
        yield f"UDP, connected to many before, {name}", family, reconnected(family, 9)
        yield f"UDP, then nowhere, {name}", family, pop(family)
    yield "UDP, disconnected in between", 4, disconnected
    yield "fast open, as the client", 4, fast("there")
    yield "fast open, as the server", 4, fast("here")
    yield "fast open by connect()", 4, fast_connect
    yield "half closed by us", 4, half_closed(False)
    yield "half closed by the peer", 4, half_closed(True)
    yield "a socket that was connected elsewhere", 4, again


class Bed:
    def __init__(self):
        self.here, self.there = Server("B"), Server("A")
        self.table = None  # of the tests that share one
