#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Real connections and forged packets of TCP between two namespaces, and what `established` says of each: by the
counters of two rules, one of what is established, one of what is not. Prints TAP.

established.py NAMESPACES RLCTL FLOOD, where NAMESPACES-A is joined to NAMESPACES-B by veth-A and veth-B, and
NAMESPACES-C to NAMESPACES-D, with the same addresses."""

import contextlib
import json
import multiprocessing
import resource
import socket
import struct
import sys
import time

from checks import Bad, command, need, passes, same
from namespaces import FAMILY, FLOOD, PREFIX, RLCTL, enter, listen
from packets import ip, tcp

RULES = ("any tcp established", "any tcp not established")
POLICY = "".join(f"rule {rule} limit 1m/second burst 1m per rule\n" for rule in RULES)
PORT = 8000
OTHER_PORT = 999  # from which nothing is connected
REMOTE = {4: "10.77.0.1", 6: "fd77::1"}
LOCAL = {4: "10.77.0.2", 6: "fd77::2"}
HOOKS = (("native", "--mode", "native"), ("generic", "--mode", "generic"),
         ("ingress", "--hook", "ingress"), ("egress", "--hook", "egress"))
FORGED = ("tcp-ack", "tcp-rst", "tcp-fin", "tcp-xmas", "tcp-null")
CROWD, PARTS = 50000, 8


# ---- namespaces


def rlctl(name, *words, given=None):
    return command(RLCTL, "-n", f"{PREFIX}-{name}", *words, given=given)


@contextlib.contextmanager
def attached(name="B", options=()):
    rlctl(name, "attach", f"veth-{name}", *options, "--policy", "-", given=POLICY)
    try:
        yield
    finally:
        rlctl(name, "detach", f"veth-{name}")


def counters(name="B"):
    """Packets that are established, and those that are not."""
    rules = json.loads(rlctl(name, "stats", "-j"))[0]["rules"]
    return tuple(next(rule["passed"]["packets"] for rule in rules
                      if rule["rule"].startswith(f"{text} limit")) for text in RULES)


def counted(action, name="B"):
    """By how much the counters go up, as soon as they have come to rest."""
    before = counters(name)
    action()
    last, now = None, counters(name)
    while now != last:
        time.sleep(0.02)
        last, now = now, counters(name)
    return now[0] - before[0], now[1] - before[1]


# ---- connections


class Connection:
    """From A to B, after a byte from B: so both ends are complete."""

    def __init__(self, listener, family, port=0):
        enter("A")
        self.family = family
        self.client = socket.socket(FAMILY[family])
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.client.settimeout(10)
        self.client.bind((REMOTE[family], port))
        self.client.connect((LOCAL[family], listener.getsockname()[1]))
        self.server = listener.accept()[0]
        self.server.settimeout(10)
        self.port = self.client.getsockname()[1]
        self.server.send(b"!")
        need(self.client.recv(1) == b"!", "no greeting")

    def send(self):
        self.client.send(b"?")
        need(self.server.recv(1) == b"?", "no answer")

    def close(self, server_first=False):
        ends = [self.client, self.server]
        if server_first:
            ends.reverse()
        ends[0].shutdown(socket.SHUT_WR)
        need(ends[1].recv(1) == b"", "more data")
        ends[1].close()
        need(ends[0].recv(1) == b"", "more data")
        ends[0].close()


def forge(family, port, proto="tcp-ack", count=1, name="A"):
    """Packets that say they come from that port of A."""
    enter(name)
    command(FLOOD, "-i", f"veth-{name}", "--count", str(count), "--proto", proto, "--src", REMOTE[family],
            "--dst", LOCAL[family], "--sport", str(port), "--dport", str(PORT))


def is_said(wanted, family, port, proto="tcp-ack", name="B", what=""):
    """One forged packet is said to be established or not; at egress what the stack says to it is."""
    sender = {"B": "A", "D": "C"}[name]
    same(counted(lambda: forge(family, port, proto, name=sender), name),
         (1, 0) if wanted else (0, 1), what or proto)


# ---- tests


def test_life(family, both=False):
    """A listening socket proves nothing, a connection does, and after its end nothing does."""
    with contextlib.closing(listen(PORT, family, both)) as listener:
        is_said(False, family, OTHER_PORT, what="to a listener")
        connection = Connection(listener, family)
        is_said(True, family, connection.port, what="forged, of the connection")
        is_said(False, family, OTHER_PORT, what="beside the connection")
        need(counted(connection.send)[1] == 0, "its data is not established")
        connection.close()
        is_said(False, family, connection.port, what="after its end")


def test_port_again(family):
    """TIME_WAIT proves nothing; a new connection of the same ports does."""
    with contextlib.closing(listen(PORT, family)) as listener:
        connection = Connection(listener, family)
        connection.close(server_first=True)
        enter("B")
        waits = command("ss", "-Hnt", "state", "time-wait", f"sport = :{PORT}").count("\n")
        need(waits >= 1, "no TIME_WAIT")
        proven, others = counted(lambda: forge(family, connection.port))
        need(proven == 0 and others >= 1, "in TIME_WAIT")  # B answers, and A refuses that
        time.sleep(0.01)  # for the timestamp that shows the SYN to be a later one
        again = Connection(listener, family, connection.port)
        is_said(True, family, again.port, what="the new connection")
        again.close()


def test_other_namespace(family, options):
    """The same numbers at another namespace's device, where nobody has such a socket."""
    with contextlib.closing(listen(PORT, family)) as listener, attached("D", options):
        connection = Connection(listener, family)
        is_said(False, family, connection.port, name="D", what="in another namespace")
        is_said(True, family, connection.port, what="in its own")
        connection.close()


def hardware_address(name):
    link = json.loads(command("ip", "-n", f"{PREFIX}-{name}", "-j", "link", "show", f"veth-{name}"))
    return bytes.fromhex(link[0]["address"].replace(":", ""))


def ack_packet(family, port):
    ends = REMOTE[family], LOCAL[family]
    return ip(*ends, 6, tcp(*ends, port, PORT, 0x10)[:16] + bytes(4))  # without a sum, so that no stack answers


def test_tags(family):
    """A connection's packets behind VLAN tags, as on the device below one."""
    def send(port, tags):
        enter("A")
        protocol = struct.pack("!H", {4: 0x0800, 6: 0x86dd}[family])
        head = hardware_address("B") + hardware_address("A") + tags + protocol
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
            link.bind(("veth-A", 0))
            link.send(head + ack_packet(family, port))

    with contextlib.closing(listen(PORT, family)) as listener:
        connection = Connection(listener, family)
        for tags in bytes.fromhex("81000005"), bytes.fromhex("88a8000781000005"):
            same(counted(lambda: send(connection.port, tags)), (1, 0), f"behind {tags.hex()}")
            same(counted(lambda: send(OTHER_PORT, tags)), (0, 1), f"of none, behind {tags.hex()}")
        connection.close()


# ---- conntrack has its own opinion of the same packets

ORACLE = """
table inet oracle {
    counter established {}
    counter new {}
    counter invalid {}
    chain in {
        type filter hook prerouting priority 0
        iifname "veth-B" meta l4proto tcp ct state vmap { established : jump is_established, new : jump is_new, invalid : jump is_invalid }
    }
    chain is_established { counter name established; }
    chain is_new { counter name new; }
    chain is_invalid { counter name invalid; }
}
"""
CONNECTIONS = 20


def conntrack():
    enter("B")
    listed = json.loads(command("nft", "-j", "list", "counters"))["nftables"]
    found = {entry["counter"]["name"]: entry["counter"]["packets"] for entry in listed if "counter" in entry}
    return found["established"], found["new"], found["invalid"]


def opinions(action):
    """The counts of rlctl and conntrack: ((established, not), (established, new, invalid))."""
    before = conntrack()
    ours = counted(action)
    return ours, tuple(now - then for now, then in zip(conntrack(), before))


def agree(action, late=0):
    """Except for the last ACK of a handshake: conntrack has seen enough by then, and there is no socket yet."""
    ours, theirs = opinions(action)
    text = f"rlctl {ours}, conntrack {theirs}"
    need(sum(ours) > 0, text)
    same(ours, (theirs[0] - late, theirs[1] + theirs[2] + late), text)
    return theirs


@contextlib.contextmanager
def oracle():
    """Without GRO, which merges packets on their way to conntrack, and connections picked up in the middle."""
    enter("B")
    command("ethtool", "-K", "veth-B", "gro", "off")
    command("nft", "-f", "-", given=ORACLE)
    command("sysctl", "-qw", "net.netfilter.nf_conntrack_tcp_loose=0")
    try:
        yield
    finally:
        enter("B")
        command("nft", "flush", "ruleset")
        command("ethtool", "-K", "veth-B", "gro", "on")


def test_oracle_served(family, server_first):
    def talk():
        for _ in range(CONNECTIONS):
            connection = Connection(listener, family)
            connection.send()
            connection.close(server_first)

    with contextlib.closing(listen(PORT, family)) as listener, oracle():
        theirs = agree(talk, late=CONNECTIONS)
        same(theirs[1:], (CONNECTIONS, 0), "SYNs, and what is invalid")


def test_oracle_client(family):
    """B connects to A: the SYN-ACK answers what it asked."""
    def talk():
        for _ in range(CONNECTIONS):
            enter("B")
            with socket.create_connection((REMOTE[family], PORT), 10) as client, listener.accept()[0] as server:
                client.send(b"?")
                need(server.recv(1) == b"?", "no question")
                server.send(b"!" * 100000)
                server.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass

    enter("A")
    with socket.socket(FAMILY[family]) as listener, oracle():
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((REMOTE[family], PORT))
        listener.listen()
        same(agree(talk)[1:], (0, 0), "new and invalid")


def test_oracle_forged(family):
    """Without a connection: invalid to conntrack. With one: established, as their sequence numbers are not looked at."""
    with contextlib.closing(listen(PORT, family)) as listener, oracle():
        for proto in FORGED:
            theirs = agree(lambda: forge(family, OTHER_PORT, proto, 100))
            same(theirs, (0, 0, 100), proto)
        connection = Connection(listener, family)
        ours, theirs = opinions(lambda: forge(family, connection.port, count=100))
        same((ours, theirs[1]), ((100, 0), 0), "of a connection")
        connection.send()
        connection.close()


# ---- many


class Part:
    """A part of the crowd, in a process of its own, for a process may not have so many files."""

    def __init__(self, number):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=part_run, args=(number, theirs))
        self.process.start()
        theirs.close()

    def waits(self):
        try:
            return self.pipe.recv()
        except EOFError:
            raise Bad("a part of the crowd has ended") from None


def part_run(number, pipe):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    listeners = {family: listen(PORT + 1 + number, family) for family in (4, 6)}
    enter("A")
    pairs = [part_connect(listeners, number) for number in range(CROWD // PARTS)]
    pipe.send("connected")
    pipe.recv()
    for client, _ in pairs:
        client.send(b"?")
    for _, server in pairs:
        server.recv(1)
    pipe.send("sent")
    pipe.recv()  # until it is killed


def part_connect(listeners, number):
    family = (4, 6)[number % 2]
    client = socket.socket(FAMILY[family])
    client.settimeout(10)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no TIME_WAIT
    client.connect((LOCAL[family], listeners[family].getsockname()[1]))
    return client, listeners[family].accept()[0]


def test_crowd():
    """With 50,000 connections every one is found, and no other."""
    def send():
        for part in crowd:
            part.pipe.send("go on")
        for part in crowd:
            same(part.waits(), "sent", "a part of the crowd")

    crowd = [Part(number) for number in range(PARTS)]
    try:
        for part in crowd:
            same(part.waits(), "connected", "a part of the crowd")
        proven, others = counted(send)
        need(others == 0 and CROWD <= proven <= CROWD * 1.01, f"{proven} of {CROWD}, not established: {others}")
        for family in 4, 6:
            same(counted(lambda: forge(family, OTHER_PORT, count=1000)), (0, 1000), "of none")
    finally:
        for part in crowd:
            part.process.kill()
        for part in crowd:
            part.process.join()


# ---- all of it


def tests_of(hook, options):
    """The tests of an instance that is attached with these options."""
    for family in 4, 6:
        yield f"{hook}, IPv{family}: a connection's life", test_life, family
        yield f"{hook}, IPv{family}: TIME_WAIT, and the port again", test_port_again, family
    yield f"{hook}: IPv4 on a socket of IPv6", test_life, 4, True
    if hook == "egress":
        return
    yield f"{hook}: another namespace's connection", test_other_namespace, 4, options
    for family in 4, 6:
        yield f"{hook}, IPv{family}: behind VLAN tags", test_tags, family
    if hook != "native":
        return
    for family in 4, 6:
        yield f"conntrack agrees, IPv{family}: clients that close first", test_oracle_served, family, False
        yield f"conntrack agrees, IPv{family}: a server that closes first", test_oracle_served, family, True
        yield f"conntrack agrees, IPv{family}: this machine's own downloads", test_oracle_client, family
        yield f"conntrack agrees, IPv{family}: forged packets", test_oracle_forged, family
    yield "50,000 connections", test_crowd


def main():
    results = []
    for hook, *options in HOOKS:
        with attached(options=options):
            results += [passes(*test) for test in tests_of(hook, options)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
