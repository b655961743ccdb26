#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Sockets for proof.sh, held until this process is ended:
  sockets.py listen ADDR PORT N       accepts N connections
  sockets.py connect ADDR PORT FIRST SPORT N   makes N of them, from FIRST and the addresses behind it
  sockets.py udp ADDR PORT FIRST DPORT PEERS N   binds N of UDP, from PORT upwards, over as many addresses as that takes;
                                      the first sends a datagram to each of PEERS addresses
  sockets.py udp-connected ADDR PORT FIRST DPORT N   connects N of UDP, from PORT and those after it, to FIRST and the
                                      addresses after it; where the ports do not suffice, two share one
Each says "ready" when it has them all. No process may have so many descriptors: each takes a share."""

import os
import signal
import socket
import sys
from ipaddress import ip_address

SHARE = 16384
PORTS = 16384


def listen(listener, n):
    held = [listener.accept()[0] for _ in range(n)]
    return held


def connect(target, first, sport, n):
    held = []
    for i in range(n):
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND
        s.bind((str(first + i), sport))
        s.connect(target)
        held.append(s)
    return held


def bound(address, port, n, asked=()):
    """asked: (address, port) of peers that the first is to send to."""
    held = []
    for i in range(n):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_IP, 15, 1)
        s.bind((str(address + i // PORTS), port + i % PORTS))
        held.append(s)
    for peer in asked:
        held[0].sendto(b"?", peer)
    return held


def udp_connected(address, port, first, dport, begin, n):
    held = []
    for i in range(begin, begin + n):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port + i % (65536 - port)))
        s.connect((str(first + i), dport))
        held.append(s)
    return held


def hold(n, work):
    """work(first, count) in processes of SHARE each; says ready when all are."""
    children = []
    for first in range(0, n, SHARE):
        ready, tell = os.pipe()
        pid = os.fork()
        if not pid:
            held = work(first, min(SHARE, n - first))
            os.write(tell, b"x")
            signal.pause()
            os._exit(len(held) == 0)
        os.close(tell)
        children.append((pid, ready))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if all(os.read(ready, 1) for _, ready in children):
            print("ready", flush=True)
            signal.pause()
    finally:
        for pid, _ in children:
            os.kill(pid, signal.SIGKILL)


def main():
    kind, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    n = int(sys.argv[-1])
    if kind == "listen":
        listener = socket.create_server((address, port), backlog=4096)
        hold(n, lambda first, count: listen(listener, count))
    elif kind == "udp":
        begin, dport, peers = ip_address(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
        asked = [(str(begin + i), dport) for i in range(peers)]
        hold(n, lambda first, count: bound(ip_address(address) + first // PORTS, port, count, () if first else asked))
    elif kind == "udp-connected":
        begin, dport = ip_address(sys.argv[4]), int(sys.argv[5])
        hold(n, lambda first, count: udp_connected(address, port, begin, dport, first, count))
    elif kind == "connect":
        begin, sport = ip_address(sys.argv[4]), int(sys.argv[5])
        hold(n, lambda first, count: connect((address, port), begin + first, sport, count))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
