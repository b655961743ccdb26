#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The filter of peers against real sockets: no address with which this machine has anything `established` is ever
missing in it, and what is closed goes. Prints TAP.

peers.py NAMESPACES RLCTL BPFFS, where NAMESPACES-A is joined to NAMESPACES-B by veth-A and veth-B, and NAMESPACES-C to
NAMESPACES-D, with the same addresses."""

import contextlib
import errno
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import threading
import time

import peers_table
from checks import Bad, eventually, need, passes, same
from peers_bed import ASKING_TCP, PEERS, PORT, PREFIX, RLCTL, Bed, accepted, attach, client, connected, detach, in_ns, lives, pins, rl, udp

ASKING = "rule any established limit 1m/second burst 1m per rule\n"
PLAIN = "rule any limit 1m/second burst 1m per rule\n"
CLOSED = 999  # a port
SILENT = "10.77.0.99"  # nobody has this address
CROWD, PARTS = 20000, 8


# ---- tests


def life_test(bed, family, make):
    table = bed.table = bed.table or attach()
    peer = PEERS.next(family, table)
    ends = make(bed, peer)
    need(table.counts(peer), "the peer is nobody")
    for end in ends:
        end.close()
    eventually(lambda: not table.counts(peer), "the peer is forgotten")
    eventually(lambda: not table.sockets(), "nothing is left")


def refused_test(bed):
    peer = PEERS.next(4, bed.table)
    s = client("B", 4)
    same(s.connect_ex((peer, CLOSED)), errno.ECONNREFUSED, "the error")
    eventually(lambda: not bed.table.sockets(), "nothing is left")


def waiting_test(bed):
    """As long as the SYN is unanswered."""
    table = bed.table
    s = client("B", 4)
    s.setblocking(False)
    same(s.connect_ex((SILENT, PORT)), errno.EINPROGRESS, "the error")
    need(table.counts(SILENT), "the peer is nobody")
    s.close()
    eventually(lambda: not table.sockets(), "nothing is left")
    detach()


def before_test(bed):
    """Sockets that are there before the filter is; also after others of the same peers have gone."""
    peers = {PEERS.next(family): make for _, family, make in lives()}
    ends = [make(bed, peer) for peer, make in peers.items()]
    table = attach()
    for peer in peers:
        need(table.counts(peer), f"{peer} is nobody")
    for peer in peers:
        if ":" not in peer:
            for end in accepted(bed.here, 4, peer):
                end.close()
    for peer in peers:
        need(table.counts(peer), f"{peer} is nobody, later")
    for end in sum(ends, ()):
        end.close()
    detach()


class Storm:
    """Short connections, in both directions, and some that stay."""

    def __init__(self, bed, seed):
        self.bed, self.draw = bed, random.Random(seed)
        self.staying, self.error, self.count = [], None, 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def one(self):
        peer = f"10.9.{self.draw.randrange(200, 202)}.{self.draw.randrange(256)}"
        kind = self.draw.randrange(3)
        ends = (connected(self.bed.there, 4, peer) if kind == 0 else
                accepted(self.bed.here, 4, peer) if kind == 1 else (udp(4, peer),))
        if self.draw.randrange(20) == 0:
            self.staying.append((peer, ends))
            return
        for end in ends if self.draw.randrange(2) else ends[::-1]:
            end.close()

    def run(self):
        try:
            while not self.over.is_set():
                self.one()
                self.count += 1
        except (OSError, Bad) as error:
            self.error = error

    def stayed(self):
        return list(self.staying)

    def __enter__(self):
        self.thread.start()
        return self

    def end(self):
        self.over.set()
        self.thread.join()
        need(not self.error, f"the storm: {self.error}")

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for _, ends in self.staying:
            for end in ends:
                end.close()


def all_count(table, staying):
    for peer, _ in staying:
        need(table.counts(peer), f"{peer} is nobody")


def storm_test(bed):
    table = attach()
    with Storm(bed, 1) as storm:
        while storm.count < 3000 and not storm.error:
            all_count(table, storm.stayed())
            time.sleep(0.001)  # for the storm, which gets no turn from a thread that computes
        storm.end()
        eventually(lambda: table.sockets() == len(storm.staying), "those that stay, and no others")
        all_count(table, storm.staying)
    eventually(lambda: not table.sockets(), "nothing is left")
    detach()


def storm_attach_test(bed):
    """Whatever was going on while it was attached."""
    with Storm(bed, 2) as storm:
        for _ in range(8):
            more = storm.count + 200
            eventually(lambda more=more: storm.count > more or storm.error, "the storm goes on")
            table = attach()
            for _ in range(20):
                all_count(table, storm.stayed())
            more = storm.count + 200
            eventually(lambda more=more: storm.count > more or storm.error, "the storm goes on")
            all_count(table, storm.stayed())
            detach()
        storm.end()


def two_test(bed):
    """Two instances of a namespace: the filter goes on as long as one is there."""
    table = attach()
    rl("attach", "veth-B", "--hook", "egress", "--policy", "-", policy=ASKING_TCP)
    other = peers_table.Table(pins("B", "veth-B-egress"))
    same(other.id, table.id, "the filter")
    first, second = PEERS.next(4, table), PEERS.next(4, table)
    ends = connected(bed.there, 4, first)
    rl("detach", "veth-B", "--hook", "xdp")
    ends += accepted(bed.here, 4, second)
    same(other.fed, 1, "fed")
    all_count(other, ((first, 0), (second, 0)))
    table = attach()
    same(table.id, other.id, "the filter")
    rl("detach", "veth-B", "--hook", "egress")
    for end in ends:
        end.close()
    eventually(lambda: not table.sockets(), "nothing is left")
    detach()


def namespaces_test(bed):
    """Each has its own, whatever addresses the others use."""
    table, other = attach(), attach(name="D")
    peer = PEERS.next(4, table)
    ends = connected(bed.there, 4, peer)
    need(table.counts(peer), "the peer is nobody")
    same(other.sockets(), 0, "in the other namespace")
    detach(name="D")
    more = PEERS.next(4, table)
    ends += connected(bed.there, 4, more)
    all_count(table, ((peer, 0), (more, 0)))
    for end in ends:
        end.close()
    detach()


def policy_test(bed):
    """It is there as long as a rule asks."""
    attach()
    same(len(peers_table.links(pins())), 4, "links")
    ends = connected(bed.there, 4, PEERS.next(4))
    rl("apply", "-i", "veth-B", "-", policy=PLAIN)
    same(peers_table.links(pins()), [], "links of a policy that does not ask")
    peer = PEERS.next(4)
    ends += connected(bed.there, 4, peer)
    for policy in (ASKING, PLAIN, ASKING_TCP):
        rl("apply", "-i", "veth-B", "-", policy=policy)
    table = peers_table.Table(pins())
    same(table.fed, 1, "fed")
    need(table.counts(peer), "the peer is nobody")
    rl("apply", "-i", "veth-B", "-", policy=ASKING)
    same(peers_table.Table(pins()).id, table.id, "the filter")
    for end in ends:
        end.close()
    detach()


def lost_test(bed):
    """Somebody takes a link away: the next policy brings it back."""
    table = attach()
    os.unlink(f"{pins()}/peers-tcp")
    peer = PEERS.next(4, table)
    ends = connected(bed.there, 4, peer)
    rl("apply", "-i", "veth-B", "-", policy=ASKING)
    same(table.fed, 1, "fed")
    need(table.counts(peer), "the peer is nobody")
    for end in ends:
        end.close()
    detach()


def killed(count, *words, policy):
    """At its bpf() call of that number; False: there were not so many."""
    run = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=bpf", "-e",
                          f"inject=bpf:signal=KILL:when={count}", RLCTL, "-n", f"{PREFIX}-B", *words],
                         input=policy, capture_output=True, text=True)
    return run.returncode != 0


def killed_test(bed):
    """Wherever a process is killed: a filter that is fed has all, and the next policy makes it so."""
    rl("attach", "veth-B", "--policy", "-", policy=PLAIN)
    peer = PEERS.next(4)
    ends = connected(bed.there, 4, peer)
    calls = 1
    while killed(calls, "apply", "-i", "veth-B", "-", policy=ASKING_TCP):
        with contextlib.suppress(FileNotFoundError):
            table = peers_table.Table(pins())
            need(not table.fed or len(peers_table.links(pins())) == 4, f"fed without links after call {calls}")
            need(not table.fed or table.counts(peer), f"fed without the peer after call {calls}")
        if random.randrange(3) == 0:
            rl("apply", "-i", "veth-B", "-", policy=ASKING_TCP)
            table = peers_table.Table(pins())
            same(table.fed, 1, f"fed after call {calls}")
            need(table.counts(peer), f"the peer is nobody after call {calls}")
            rl("apply", "-i", "veth-B", "-", policy=PLAIN)
            same(peers_table.links(pins()), [], "links of a policy that does not ask")
        calls += random.randrange(1, 12)
    need(calls > 60, f"killed at {calls} calls alone")
    for end in ends:
        end.close()
    detach()


def part(pipe, peers):
    """A process may not have as many files as all of them need."""
    bed, ends = Bed(), []
    for i, peer in enumerate(peers):
        ends += connected(bed.there, 4, peer) if i % 2 else accepted(bed.here, 4, peer)
    pipe.send("connected")
    pipe.recv()
    for end in ends:
        end.close()
    pipe.send("closed")
    pipe.recv()


@contextlib.contextmanager
def crowd(peers):
    """A function that closes its connections."""
    parts = []
    for number in range(PARTS):
        pipe, other = multiprocessing.Pipe()
        process = multiprocessing.Process(target=part, args=(other, peers[number::PARTS]), daemon=True)
        process.start()
        other.close()
        parts.append((pipe, process))

    def close():
        for pipe, _ in parts:
            pipe.send("close")
        for pipe, _ in parts:
            same(pipe.recv(), "closed", "a part")

    try:
        for pipe, _ in parts:
            same(pipe.recv(), "connected", "a part")
        yield close
    finally:
        for pipe, process in parts:
            pipe.close()
            process.terminate()
            process.join()


def tcp_sockets(name):
    """How many there are in a namespace, but for those in TIME_WAIT."""
    words = in_ns(name, "cat", "/proc/net/sockstat").split()
    return int(words[words.index("TCP:") + 2])


def crowd_test(bed):
    """More peers than there are sets."""
    peers = [PEERS.next(4) for _ in range(CROWD)]
    counted = [(peer, 0) for peer in peers]
    table = attach()
    with crowd(peers) as close:
        all_count(table, counted)
        same(table.sockets(), CROWD, "sockets")
        detach()
        table = attach()
        all_count(table, counted)
        detach()
        table = attach(policy=ASKING)
        all_count(table, counted)
        close()
    detach()
    eventually(lambda: tcp_sockets("B") < CROWD // 200, "they are closed")
    table = attach()
    eventually(lambda: table.sockets() < CROWD // 100, "what is closed was not there before")
    with crowd(peers) as close:
        all_count(table, counted)
        close()
        eventually(lambda: table.sockets() < CROWD // 100, "few are left")
    detach()


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for name in "ABCD":
        in_ns(name, "sysctl", "-qw", "net.ipv4.tcp_fastopen=3", "net.ipv4.ip_local_port_range=1024 65000")
    for name in "AC":
        in_ns(name, "ip", "route", "add", "local", "10.9.0.0/16", "dev", "lo")
        in_ns(name, "ip", "-6", "route", "add", "local", "fd99::/16", "dev", "lo")
    for name in "BD":
        in_ns(name, "ip", "route", "add", "10.9.0.0/16", "via", "10.77.0.1")
        in_ns(name, "ip", "-6", "route", "add", "fd99::/16", "via", "fd77::1")
    bed = Bed()
    tests = [(name, lambda family=family, make=make: life_test(bed, family, make)) for name, family, make in lives()]
    for name, test in (("a connection that is refused", refused_test), ("a SYN without an answer", waiting_test),
                       ("sockets that were there before", before_test), ("a storm", storm_test),
                       ("attached in a storm", storm_attach_test), ("two instances", two_test),
                       ("two namespaces", namespaces_test), ("a policy that ceases to ask", policy_test),
                       ("a link that is lost", lost_test), ("killed", killed_test), ("a crowd", crowd_test)):
        tests.append((name, lambda test=test: test(bed)))
    failed = 0
    for name, test in tests:
        if not passes(name, test):
            failed += 1
            bed.table = None
            for hook in ("xdp", "egress"):
                rl("detach", "veth-B", "--hook", hook, check=False)
            rl("detach", "veth-D", name="D", check=False)
    return failed != 0


sys.exit(main())
