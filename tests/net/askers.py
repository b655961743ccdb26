#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sockets of two namespaces, as a limiter between them sees them: askers.py A B SCENARIO. B is the machine.

Scenarios: bound, connected, served, and closed, which leaves the count of packets to the caller."""
import socket
import sys

from setns import setns

PEERS = {socket.AF_INET: ("10.77.0.1", "10.77.0.2"), socket.AF_INET6: ("fd77::1", "fd77::2")}
PATIENCE_S = 2
SILENCE_S = 0.1


class Machines:
    def __init__(self, names, family):
        self.namespaces = dict(zip("AB", (f"/run/netns/{name}" for name in names)))
        self.family = family

    def address(self, of):
        return PEERS[self.family]["AB".index(of)]

    def socket(self, of, port):
        """It is bound in that namespace."""
        setns(self.namespaces[of])
        s = socket.socket(self.family, socket.SOCK_DGRAM)
        s.bind((self.address(of), port))
        return s

    def arrives(self, sender, receiver):
        """Does a packet to the receiver come through?"""
        sender.sendto(b"packet", receiver.getsockname())
        if not self.comes(receiver, SILENCE_S):
            return False
        return receiver.recv(99) == b"packet"

    @staticmethod
    def comes(receiver, seconds):
        receiver.settimeout(seconds)
        try:
            receiver.recv(99, socket.MSG_PEEK)
        except TimeoutError:
            return False
        return True

    def sent(self, sender, receiver):
        """From B, where nothing is in the way."""
        sender.sendto(b"question", receiver.getsockname())
        assert self.comes(receiver, PATIENCE_S) and receiver.recv(99) == b"question"


def bound(m):
    """Under `any udp not established deny`."""
    mine, peer, other, stranger = (m.socket(*which) for which in (("B", 4000), ("A", 5000), ("A", 5001), ("A", 5002)))
    assert not m.arrives(peer, mine), "an answer to nothing"
    m.sent(mine, peer)
    assert m.arrives(peer, mine), "an answer"
    assert m.arrives(peer, mine), "one more"
    assert not m.arrives(other, mine), "another port's answer"
    m.sent(mine, other)
    assert m.arrives(other, mine) and m.arrives(peer, mine), "answers of both"
    assert not m.arrives(stranger, mine), "a stranger's"


def connected(m):
    """Under the same."""
    mine, peer, other = m.socket("B", 4100), m.socket("A", 5100), m.socket("A", 5101)
    mine.connect(peer.getsockname())
    assert m.arrives(peer, mine), "before it was asked"
    assert not m.arrives(other, mine), "another port's"
    mine.close()
    mine = m.socket("B", 4100)
    assert not m.arrives(peer, mine), "when it is connected no more"


def served(m):
    """Under `any udp established deny`: no client is established by being answered, and none by asking it from another port."""
    server, client = m.socket("B", 4200), m.socket("A", 5200)
    for _ in range(3):
        assert m.arrives(client, server), "a client of this machine's server"
        m.sent(server, client)
    asker, peer = m.socket("B", 4201), m.socket("A", 5201)
    m.sent(asker, peer)
    assert not m.arrives(peer, asker), "an answer, which is established"
    m.sent(asker, client)
    assert m.arrives(client, server), "the client, when another port has asked it"


def closed(m):
    """The answer finds no socket, and then another one on its port: 1 packet less of two."""
    mine, peer = m.socket("B", 4300), m.socket("A", 5300)
    m.sent(mine, peer)
    where = mine.getsockname()
    mine.close()
    peer.sendto(b"late", where)
    mine = m.socket("B", 4300)
    assert not m.comes(mine, SILENCE_S), "an answer from before"
    assert m.arrives(peer, mine), "an answer to the port that asked"


def main():
    names, scenario = sys.argv[1:3], globals()[sys.argv[3]]
    for family in PEERS:
        scenario(Machines(names, family))


main()
