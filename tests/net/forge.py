#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""forge.py DESTINATION PORT COUNT [SOURCE SPORT]: that many SYNs, ACKs, RSTs and FINs of TCP and datagrams of UDP each, with
right checksums and wrong sequence numbers, in the name of strangers or of one connection."""
import random
import socket
import sys

from packets import ipv4, tcp, udp

FLAGS = (2, 16, 4, 17)


def main():
    dest, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(count)
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for i in range(count):
        source, sport = (sys.argv[4], int(sys.argv[5])) if len(sys.argv) > 4 else (f"10.78.{i >> 8}.{i & 255}", 1000 + i)
        seq, ack = draw.getrandbits(32), draw.getrandbits(32)
        for flags in FLAGS:
            out.sendto(ipv4(source, dest, 6, tcp(source, dest, sport, port, flags, seq, ack, window=9)), (dest, 0))
        out.sendto(ipv4(source, dest, 17, udp(source, dest, sport, port)), (dest, 0))


main()
