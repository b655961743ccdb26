#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads a capture of Ethernet frames and writes one of their IP packets (DLT_RAW), as a filter of a policy sees them:
    raw_capture.py <ETHERNET >RAW
Each packet's time is its number in the first capture, so that `tcpdump -tt -r RAW FILTER` tells which they are."""
import struct
import sys

TAGS = (0x8100, 0x88A8)
IP = (0x800, 0x86DD)


def network_at(frame):
    """Where the IP header begins; None: there is none."""
    at = 12
    while len(frame) >= at + 2 and struct.unpack_from('>H', frame, at)[0] in TAGS:
        at += 4
    return at + 2 if len(frame) >= at + 2 and struct.unpack_from('>H', frame, at)[0] in IP else None


def main():
    data = sys.stdin.buffer.read()
    assert struct.unpack_from('<I', data)[0] in (0xA1B2C3D4, 0xA1B23C4D) and struct.unpack_from('<I', data, 20)[0] == 1
    out = sys.stdout.buffer
    out.write(struct.pack('<IHHiIII', 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
    at, number = 24, 0
    while at < len(data):
        _, _, size, bytes_ = struct.unpack_from('<IIII', data, at)
        frame, at, number = data[at + 16:at + 16 + size], at + 16 + size, number + 1
        start = network_at(frame)
        if start is not None:
            out.write(struct.pack('<IIII', number, 0, len(frame) - start, bytes_ - start) + frame[start:])


if __name__ == '__main__':
    main()
