#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""hidden.py KIND ADDRESS PORT: sends the bytes `deadbeef`, and where they end `more`, in one datagram: `plain`, behind an
`extension` header of IPv6, or in `fragments`, of which the first has the header of UDP alone; then `last` to the port
before that one.
    hidden.py listen PORT: prints what arrives at both ports."""
import random
import select
import socket
import struct
import sys

from packets import ipv4, ipv6, udp

KIND, ADDRESS, PORT = sys.argv[1], sys.argv[-2], int(sys.argv[-1])
IPV6 = ":" in ADDRESS
DATA = bytes.fromhex("deadbeef") + b"more"
DSTOPTS = 59  # IPV6_DSTOPTS; Python has it only where the C library says so


def fragment(source, number, offset, data, more):
    if IPV6:
        return ipv6(source, ADDRESS, 44, struct.pack(">BBHI", 17, 0, offset | more, number) + data)
    return ipv4(source, ADDRESS, 17, data, number=number, fragment=offset // 8 | more << 13)


if KIND == "listen":
    sockets = [socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) for _ in range(2)]
    for i, listener in enumerate(sockets):
        listener.bind(("::", PORT - i))
    while True:
        for ready in select.select(sockets, [], [])[0]:
            print(ready.recv(999)[-4:].decode(), flush=True)

with socket.socket(socket.AF_INET6 if IPV6 else socket.AF_INET, socket.SOCK_DGRAM) as out:
    out.connect((ADDRESS, PORT))
    if KIND == "fragments":
        source, number = out.getsockname()[0], random.randrange(1, 65536)
        whole = udp(source, ADDRESS, 4000, PORT, DATA)
        with socket.socket(out.family, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
            for packet in (fragment(source, number, 0, whole[:8], 1), fragment(source, number, 8, whole[8:], 0)):
                raw.sendto(packet, (ADDRESS, 0))
    else:
        if KIND == "extension":
            out.setsockopt(socket.IPPROTO_IPV6, DSTOPTS, bytes((0, 0, 1, 4, 0, 0, 0, 0)))
        out.send(DATA)
    out.connect((ADDRESS, PORT - 1))
    out.send(b"last")
