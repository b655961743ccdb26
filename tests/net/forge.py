#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""forge.py DESTINATION PORT COUNT [SOURCE SPORT]: that many SYNs, ACKs, RSTs and FINs of TCP and datagrams of UDP each, with
right checksums and wrong sequence numbers, in the name of strangers or of one connection."""
import random
import socket
import struct
import sys

FLAGS = (2, 16, 4, 17)


def checksum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def packet(source, dest, proto, segment, at):
    pseudo = source + dest + struct.pack(">HH", proto, len(segment))
    segment = segment[:at] + struct.pack(">H", checksum(pseudo + segment)) + segment[at + 2:]
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, proto, 0) + source + dest + segment


def main():
    dest, port, count = socket.inet_aton(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(count)
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for i in range(count):
        source, sport = socket.inet_aton(f"10.78.{i >> 8}.{i & 255}"), 1000 + i
        if len(sys.argv) > 4:
            source, sport = socket.inet_aton(sys.argv[4]), int(sys.argv[5])
        numbers = draw.getrandbits(32), draw.getrandbits(32)
        for flags in FLAGS:
            out.sendto(packet(source, dest, 6, struct.pack(">HHIIBBHHH", sport, port, *numbers, 0x50, flags, 9, 0, 0), 16),
                       (sys.argv[1], 0))
        out.sendto(packet(source, dest, 17, struct.pack(">HHHH", sport, port, 8, 0), 6), (sys.argv[1], 0))


main()
