#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Limits on open connections, with real sockets of two namespaces. Prints TAP.

connections.py NAMESPACES RLCTL FLOOD [TEXT], where NAMESPACES-A is joined to NAMESPACES-B by veth-A and veth-B. TEXT:
only tests with it in their names."""

import contextlib
import json
import multiprocessing
import os
import select
import socket
import struct
import sys
import time

from checks import eventually, need, passes, same
from connections_bed import (SECONDS, SERVER, Connection, attached, close_all, counted, injected, is_counted, is_refused,
                             kernel_has_warned, limited, link_local, opened, pins, rlctl, rules, run, table)
from namespaces import FAMILY, FLOOD, PREFIX, enter, listen

PORT = 443
ONLY = sys.argv[4] if len(sys.argv) > 4 else ""


# ---- tests


def rule(n, more=""):
    return f"rule any tcp dport {PORT} limit {n} connections {more}\n"


def one_more_is_dropped(*options, family=4, both=False):
    listener = listen(PORT, family, both)
    with attached(rule(5), *options):
        connections = limited(listener, 5, family=family)
        is_counted(5)
        connections.pop().close()
        is_counted(4)
        connections += limited(listener, 1, family=family)
        close_all(connections)
        is_counted(0)
    listener.close()


def those_before_count(family=4, server=None):
    listener = listen(PORT, family)
    before = opened(listener, 3, family=family, server=server and server())
    with attached(rule(5)):
        is_counted(3)
        connections = limited(listener, 2, family=family, server=server and server())
        close_all(before)
        is_counted(2)
        close_all(connections + limited(listener, 3, family=family, server=server and server()))
        is_counted(0)
    listener.close()


def open_ones_go_on():
    """Whatever they send and however they end, over the limit too."""
    listener = listen(PORT)
    connections = opened(listener, 6)
    with attached(rule(2)):
        is_counted(6)
        for number, connection in enumerate(connections):
            connection.client.sendall(b"x" * 5000)
            got = b""
            connection.server.settimeout(SECONDS)
            while len(got) < 5000:
                got += connection.server.recv(5000)
            connection.close(server_first=number % 2)
            is_counted(5 - number)
            if number == 2:
                eventually(lambda: not closing(), "clients are done with closing, while the limit is reached")
        close_all(limited(listener, 2))
    listener.close()


def closing():
    """Sockets of A that wait for an answer to their FIN."""
    return run("nsenter", f"--net=/run/netns/{PREFIX}-A", "ss", "-Htn", "state", "last-ack", "state", "fin-wait-1",
               "state", "closing").stdout


def over_count_passes():
    listener = listen(PORT)
    with attached(rule(2, "over count") + f"rule any tcp syn dport {PORT} limit 5 connections per rule\n"):
        connections = opened(listener, 4)
        connections[0].client.sendall(b"x")
        need(connections[0].server.recv(1) == b"x", "data passes")
        same(sorted((rule["shadow"]["packets"], rule["open_connections"]) for rule in rules()), [(0, 4), (2, 4)],
             "SYNs over the limits, and open")
        close_all(connections + limited(listener, 1))
        is_counted(0)
    listener.close()


def all_ends_are_seen():
    listener = listen(PORT)
    with attached(rule(50)):
        reset, closed, aborted, half = opened(listener, 4)
        is_counted(4)
        reset.reset()
        is_counted(3)
        closed.close(server_first=True)  # which then is in TIME_WAIT
        is_counted(2)
        enter("B")
        run("nsenter", f"--net=/run/netns/{PREFIX}-B", "ss", "-K", "dport", "=",
            str(aborted.client.getsockname()[1]))
        is_counted(1)
        half.client.shutdown(socket.SHUT_WR)
        half.server.recv(1)
        same(counted(), 1, "a connection that is closed on one side is open")
        half.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 300)
        unreachable(True)
        half.server.sendall(b"x")
        is_counted(0)  # it has timed out
        unreachable(False)
        enter("A")
        never_accepted = [socket.create_connection((SERVER[4], PORT), SECONDS) for _ in range(3)]
        is_counted(3)
        listener.close()  # which resets them
        is_counted(0)
    for client in never_accepted:
        client.close()


def unreachable(lost):
    words = ("ip", "-n", f"{PREFIX}-B", "route", "add" if lost else "del", "blackhole", "10.77.0.1/32")
    need(run(*words).returncode == 0, " ".join(words))


def keys_apart():
    """Networks, ports and the rule have counts of their own."""
    listener, other = listen(PORT), listen(444)
    policy = (f"rule any tcp dport {PORT}-444 limit 3 connections per source/30,64\n"
              "rule any tcp dport 443-444 limit 5 connections per dport\n"
              "rule any tcp dport 443-444 limit 7 connections per rule\n")
    for n in (5, 6, 8, 12):
        need(run("ip", "-n", f"{PREFIX}-A", "addr", "replace", f"10.77.0.{n}/24", "dev", "veth-A").returncode == 0,
             "an address")
    with attached(policy):
        first = opened(listener, 2, source="10.77.0.5") + limited(listener, 1, source="10.77.0.6")
        second = opened(listener, 2, source="10.77.0.8")
        need(is_refused(listener, source="10.77.0.12"), "a port has its limit")
        third = opened(other, 2, source="10.77.0.12")
        need(is_refused(other, source="10.77.0.12"), "all have one")
        same(sorted(rule["open_connections"] for rule in rules()), [7, 7, 7], "open of all keys")
        close_all(first + second + third)
        for which in range(3):
            is_counted(0, which)
    listener.close()
    other.close()


def keys_are_counted():
    """And what the smallest table has no room for: it has two sets of eight."""
    listeners = [listen(port) for port in range(1000, 1024)]
    with attached("rule any tcp dport 1000-1023 limit 5 connections per dport\n", "--sources", "1"):
        same(table(), {"keys": 0, "unseen": 0}, "of no connections")
        connections = [Connection(listener) for listener in listeners[:3] * 2]
        same(table(), {"keys": 3, "unseen": 0}, "of six connections to three ports")
        connections += [Connection(listener) for listener in listeners[3:]]
        now = table()
        need(8 < now["keys"] <= 16 and now["keys"] + now["unseen"] == 24, f"24 ports, of which at most 16 have room: {now}")
        same(counted(), 27 - now["unseen"], "open connections that are counted")
        close_all(connections)
        eventually(lambda: table() == {"keys": 0, "unseen": now["unseen"]}, "no keys after the last connection")
    for listener in listeners:
        listener.close()


def forged_syns_change_nothing():
    listener = listen(PORT)
    with attached(rule(3, "per source/24,64")):
        connections = opened(listener, 2)
        enter("A")
        flood = run(*FLOOD.split(), "-i", "veth-A", "--proto", "tcp-syn", "--count", "20000", "--sport", "0",
                    "--src", "10.77.0.99", "--dst", SERVER[4], "--dport", str(PORT))
        need(flood.returncode == 0, flood.stderr)
        same(counted(), 2, "open after the flood")
        connections += limited(listener, 1)
        close_all(connections)
        is_counted(0)
    listener.close()


def others_do_not_count():
    """This machine's own connections, other ports, and other namespaces."""
    listener, other = listen(PORT), listen(445)
    enter("A")
    far = socket.socket()
    far.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    far.bind(("10.77.0.1", PORT))
    far.listen()
    with attached("rule any tcp limit 20 connections per rule\n" + rule(1)):
        enter("B")
        own = socket.create_connection(("10.77.0.1", PORT), SECONDS)
        elsewhere = opened(other, 2)
        same([rule["open_connections"] for rule in rules()], [2, 0], "open")
        own.close()
        close_all(elsewhere)
        is_counted(0)
    for socket_ in (listener, other, far):
        socket_.close()


def a_policy_that_follows_keeps_counts():
    listener = listen(PORT)
    with attached(rule(5)):
        connections = opened(listener, 4)
        rlctl("apply", "-", given=rule(6))
        is_counted(4)
        connections += limited(listener, 2)
        rlctl("apply", "-", given=rule(7, "per rule"))
        is_counted(6)
        connections.pop().close()
        is_counted(5)
        rlctl("apply", "-", given="rule any tcp dport 1 limit 5/second\n")
        connections.pop().close()
        rlctl("rule", "add", *rule(5).split()[1:])
        which = [rule["rule"].endswith("connections") for rule in rules()].index(True)
        is_counted(4, which)
        connections += limited(listener, 1)
        for n in range(20):  # each limit is a new one; places are for 16
            rlctl("apply", "-", given="".join(
                f"rule any tcp dport {PORT} sport {n * 8 + i + 1}-65535 limit 5 connections\n" for i in range(8)))
        same([rule["open_connections"] for rule in rules()], [5] * 8, "open after many policies")
        close_all(connections)
        is_counted(0, 7)
    listener.close()


def limits_come_and_go_with_links():
    def links():
        return sorted(os.path.basename(path) for path in pins("connections*"))

    def programs():
        found = json.loads(run("bpftool", "-j", "prog", "list").stdout)
        return {program["id"] for program in found
                if program.get("name", "").startswith(("rlctl_state", "rlctl_recount"))}

    before = programs()
    with attached("rule any tcp dport 443 limit 50/second\n"):
        same(links(), [], "pins without a limit on connections")
        rlctl("apply", "-", given=rule(5))
        first = programs() - before
        same(links(), ["connections", "connections-recount", "connections-state", "connections-state_again"], "pins")
        rlctl("apply", "-", given="rule any tcp dport 443 limit 50/second\n")
        same(links(), [], "pins after the limit")
        eventually(lambda: not programs() & first, "its programs are gone")
        rlctl("apply", "-", given=rule(5))
        second = programs() - before - first
    same(links(), [], "pins after detach")
    need(len(first) == len(second) == 3, f"programs {first} and {second}")
    eventually(lambda: not programs() & second, "its programs are gone after detach")


def three_are_counted(policy, change, most):
    """Those that were there, after the change, which leaves a limit of so many."""
    listener = listen(PORT)
    with attached(policy):
        connections = opened(listener, 3)
        change()
        is_counted(3)
        close_all(connections + limited(listener, most - 3))
        is_counted(0)
    listener.close()


def programs_that_are_lost_come_back():
    """One is taken away: all is counted anew with the next policy."""
    def lost():
        os.unlink(pins("connections-state")[0])
        rlctl("apply", "-", given=rule(6))
    three_are_counted(rule(5), lost, 6)


def those_of_a_former_rlctl_are_replaced():
    """An iterator is pinned beside them; whatever its other programs are, all are made anew."""
    def replaced():
        state = pins("connections-state")[0]
        walk = os.path.join(os.path.dirname(state), "connections-walk")
        need(run("bpftool", "prog", "pin", "pinned", pins("connections-recount")[0], walk).returncode == 0, walk)
        before = os.stat(state).st_ino
        rlctl("apply", "-", given=rule(6))
        need(os.stat(state).st_ino != before and not os.path.exists(walk), "other pins")
    three_are_counted(rule(5), replaced, 6)


def a_kernel_without_membarrier_waits():
    def applied():
        done = injected("membarrier:error=EINVAL", "apply", "-", given=rule(5))
        same((done.returncode, done.stderr), (0, ""), "apply")
    three_are_counted("rule any tcp dport 1 limit 5/second\n", applied, 5)


def a_limit_finds_another_one_in_its_place():
    """A writer is killed before its policy is in force; the next policy has another limit of the same id."""
    listener = listen(PORT)
    other = "rule any tcp dport 444 limit 3 connections\n"
    with attached(rule(50)):
        connections = opened(listener, 3)
        killed = injected("membarrier:signal=KILL:when=2", "apply", "-", given=rule(50) + other)
        need(killed.returncode not in (0, 1), f"apply was killed: {killed}")
        same(len(rules()), 1, "rules in force")
        rlctl("apply", "-", given=rule(50) + rule(5, "per source/8,8"))
        is_counted(3)
        is_counted(3, 1)
        close_all(connections + limited(listener, 2))
        is_counted(0)
        is_counted(0, 1)
    listener.close()


# ---- many at once


def at_once(cpu, count, done, end):
    """Opens so many connections as fast as it can, on one CPU; says how many the server took."""
    enter("A")
    os.sched_setaffinity(0, {cpu})
    clients = []
    for _ in range(count):
        client = socket.socket()
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            client.connect((SERVER[4], PORT))
        clients.append(client)
    done.put(cpu)
    end.wait()
    for client in clients:
        client.close()


def accepted(listener, seconds):
    """Those that come until none does for the time."""
    sockets = []
    while select.select([listener], [], [], seconds)[0]:
        sockets.append(listener.accept()[0])
    return sockets


def all_are_closed(listener):
    """A handshake that had to wait may be completed late: its connection is open until it is taken and closed."""
    def closed():
        for connection in accepted(listener, 0.02):
            connection.close()
        return not any(rule["open_connections"] for rule in rules())
    eventually(closed, "no open connections")


def a_burst_is_held():
    """All SYNs of a burst come before the first handshake is complete: the last packet of it is held to the limit.
    What is over it are those of which the packets were let through together: at most 64 a CPU."""
    listener = listen(PORT)
    cpus = sorted(os.sched_getaffinity(0))[:2]
    done, end = multiprocessing.Queue(), multiprocessing.Event()
    with attached(rule(100)):
        clients = [multiprocessing.Process(target=at_once, args=(cpu, 400, done, end)) for cpu in cpus]
        for client in clients:
            client.start()
        for _ in clients:
            done.get(timeout=SECONDS)
        enter("B")
        taken = accepted(listener, 1.5)
        count = counted()
        print(f"# of {400 * len(cpus)} at once, limited to 100: {len(taken)} accepted, {count} counted")
        same(count, len(taken), "counted, of those that are open")
        need(100 <= count <= 100 + 64 * len(cpus), f"{count} open, limited to 100")
        end.set()
        for client in clients:
            client.join(SECONDS)
        for connection in taken:
            connection.close()
        all_are_closed(listener)
    listener.close()


def churn(cpu, seconds, family, seed):
    """Opens, closes, resets and half-closes connections by itself, in B as well as in A."""
    enter("A")
    os.sched_setaffinity(0, {cpu})
    end, n = time.monotonic() + seconds, seed
    while time.monotonic() < end:
        n = n * 1103515245 + 12345 & 0x7FFFFFFF
        client = socket.socket(FAMILY[family])
        client.settimeout(0.2)
        with contextlib.suppress(OSError):
            client.connect((SERVER[family], PORT))
            if n >> 8 & 1:
                client.sendall(b"x")
            if n >> 9 & 1:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()


def answer(cpu, seconds, listener):
    os.sched_setaffinity(0, {cpu})
    end, n = time.monotonic() + seconds, cpu
    while time.monotonic() < end:
        if not select.select([listener], [], [], 0.1)[0]:
            continue
        with contextlib.suppress(OSError):
            connection = listener.accept()[0]
            n += 1
            if n & 1:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()


LIMITS_AT, LIMIT_SIZE, LIMITS = 64, 264, 16  # include/abi/connections.h


def keys_left():
    """How many keys have a count, of any limit."""
    dump = json.loads(run("bpftool", "-j", "map", "dump", "pinned", pins("connections")[0]).stdout)
    table = bytes(int(byte, 16) for byte in dump[0]["value"])[LIMITS_AT + LIMITS * LIMIT_SIZE:]
    return sum(way & 0xfffff > 0 for (way,) in struct.iter_unpack("<Q", table))


def misses():
    """Events for which the kernel did not run one of the two programs, as the other one was at work."""
    found = json.loads(run("bpftool", "-j", "prog", "list").stdout)
    return [program.get("recursion_misses", 0) for program in found
            if program.get("name", "").startswith("rlctl_state")][-2:]


def nothing_drifts():
    """Thousands of connections are opened and closed on two CPUs, under limits and policies that change: then the
    counts are as many as are open, none, and the kernel has no complaint."""
    warned = kernel_has_warned()
    listener = listen(PORT, both=True)
    listener.setblocking(False)
    cpus = sorted(os.sched_getaffinity(0))[:2] * 2
    policies = [rule(30) + rule(1000, "per source+dport") + rule(2000, "per rule"), rule(30)]
    with attached(policies[0]):
        processes = [multiprocessing.Process(target=churn, args=(cpu, 6, 4 + 2 * (i & 1), i))
                     for i, cpu in enumerate(cpus)]
        processes += [multiprocessing.Process(target=answer, args=(cpu, 8, listener)) for cpu in cpus[:2]]
        for process in processes:
            process.start()
        for i in range(8):
            rlctl("apply", "-", given=policies[i % 2])
        rlctl("apply", "-", given=policies[0])
        for process in processes:
            process.join(SECONDS)
        seen = sum(rule["passed"]["packets"] for rule in rules())
        print(f"# {seen} packets passed the limits; missed by each program: {misses()}")
        all_are_closed(listener)
        same(keys_left(), 0, "keys with a count")
        same(kernel_has_warned(), warned, "warnings of the kernel (dmesg)")
        listener.setblocking(True)
        close_all(opened(listener, 3))
        is_counted(0)
    listener.close()


TESTS = (
    ("xdp: one connection more than the limit is dropped, and closing one frees a place", one_more_is_dropped, ()),
    ("the same in mode generic", one_more_is_dropped, ("--mode", "generic")),
    ("the same at ingress", one_more_is_dropped, ("--hook", "ingress")),
    ("the same over IPv6", lambda: one_more_is_dropped(family=6), ()),
    ("the same for IPv4 to a socket of IPv6", lambda: one_more_is_dropped(both=True), ()),
    ("those that were open before count", those_before_count, ()),
    ("the same over IPv6 on one link", lambda: those_before_count(6, lambda: link_local(PORT)), ()),
    ("those that are open go on over the limit, to their ends", open_ones_go_on, ()),
    ("over count: SYNs over the limit are counted, and pass; and a rule of syn", over_count_passes, ()),
    ("RST, FIN, abort, timeout and a listener that is closed end connections", all_ends_are_seen, ()),
    ("networks, ports and rules have counts of their own", keys_apart, ()),
    ("keys are counted, and connections that found no room", keys_are_counted, ()),
    ("a flood of forged SYNs changes nothing", forged_syns_change_nothing, ()),
    ("own connections, other ports and namespaces do not count", others_do_not_count, ()),
    ("a policy that follows keeps counts, or counts anew", a_policy_that_follows_keeps_counts, ()),
    ("programs come with the first limit and go with the last", limits_come_and_go_with_links, ()),
    ("programs that are lost come back with the next policy", programs_that_are_lost_come_back, ()),
    ("programs of a former rlctl are replaced", those_of_a_former_rlctl_are_replaced, ()),
    ("a kernel without membarrier waits otherwise", a_kernel_without_membarrier_waits, ()),
    ("a limit finds another one in its place", a_limit_finds_another_one_in_its_place, ()),
    ("a burst on two CPUs is held to the limit", a_burst_is_held, ()),
    ("nothing drifts", nothing_drifts, ()),
)


def main():
    results = [passes(name, test, *options) for name, test, options in TESTS if ONLY in name]
    sys.exit(0 if all(results) else 1)


main()
