#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""datagrams.py ADDRESS COUNT SIZE [SEGMENT]: sends UDP payloads of SIZE bytes to port 9; with SEGMENT the
kernel is to cut each into datagrams of that many (UDP_SEGMENT), so that they travel as one skb."""
import socket
import sys

UDP_SEGMENT = 103


def main():
    address, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    out = socket.socket(family, socket.SOCK_DGRAM)
    if len(sys.argv) > 4:
        out.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, int(sys.argv[4]))
    out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    for _ in range(count):
        out.sendto(bytes(size), (address, 9))


main()
