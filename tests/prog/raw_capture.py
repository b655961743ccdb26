#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads a capture of any link type that rlctl simulate reads, and writes one of its IP packets (DLT_RAW), as a filter
of a policy sees them:
    raw_capture.py <CAPTURE >RAW
Each packet's time is its number in the first capture, so that `tcpdump -tt -r RAW FILTER` tells which they are. The
layouts are those of https://www.tcpdump.org/linktypes.html; raw captures go through it as they are."""
import struct
import sys

TAGS = (0x8100, 0x88A8)
IP = (0x800, 0x86DD)
EXTENSIONS = (0, 43, 44, 51, 60, 135, 139, 140)
PPP_IP = (0x21, 0x57)
FAMILIES = (2, 10, 24, 28, 30)  # IPv4, and IPv6 on Linux and the BSDs


def behind_tags(frame, at):
    """Where the IP header begins, of an EtherType at that place; None: there is none."""
    while len(frame) >= at + 2 and struct.unpack_from('>H', frame, at)[0] in TAGS:
        at += 4
    return at + 2 if len(frame) >= at + 2 and struct.unpack_from('>H', frame, at)[0] in IP else None


def behind_ppp(frame, at):
    """Numbers are of one byte, odd, or of two, the first of which is even."""
    if frame[at:at + 1] and frame[at] & 1:
        return at + 1 if frame[at] in PPP_IP else None
    return at + 2 if len(frame) >= at + 2 and struct.unpack_from('>H', frame, at)[0] in PPP_IP else None


def ppp(frame):
    return behind_ppp(frame, 2 if frame[:2] == b'\xff\x03' else 0)


def serial(frame):
    return ppp(frame) if frame[:2] == b'\xff\x03' else behind_tags(frame, 2)


def family(order):
    return lambda frame: 4 if len(frame) >= 4 and struct.unpack_from(order + 'I', frame)[0] in FAMILIES else None


def whole(frame):
    return 0


def pppoe(frame):
    return behind_ppp(frame, 6)


def sll2(frame):
    """Its EtherType is its first field, and is asked for without tags."""
    return 20 if len(frame) >= 20 and struct.unpack_from('>H', frame)[0] in IP else None


NETWORK_AT = {1: lambda frame: behind_tags(frame, 12), 113: lambda frame: behind_tags(frame, 14), 276: sll2, 101: whole,
              228: whole, 229: whole, 0: family('<'), 108: family('>'), 9: ppp, 50: serial, 51: pppoe}


def without_extensions(packet):
    """IPv6 as a filter sees it: what is behind the extension headers follows the fixed one, and so does the fragment
    header of a later fragment."""
    if packet[:1] and packet[0] >> 4 != 6:
        return packet
    at, kind = 40, packet[6] if len(packet) > 6 else None
    while kind in EXTENSIONS and len(packet) >= at + 8:
        if kind == 44 and packet[at + 2] << 8 & 0xFFF8 | packet[at + 3] & 0xF8:
            break
        size = 8 if kind == 44 else (packet[at + 1] + 2) * 4 if kind == 51 else (packet[at + 1] + 1) * 8
        kind, at = packet[at], at + size
    return packet if at == 40 else packet[:6] + bytes([kind]) + packet[7:40] + packet[at:]


def records(data):
    """Its packets: what was captured, how many bytes there were."""
    at = 24
    while at < len(data):
        _, _, size, bytes_ = struct.unpack_from('<IIII', data, at)
        yield data[at + 16:at + 16 + size], bytes_
        at += 16 + size


def main():
    data = sys.stdin.buffer.read()
    magic, link = struct.unpack_from('<I', data)[0], struct.unpack_from('<I', data, 20)[0]
    assert magic in (0xA1B2C3D4, 0xA1B23C4D)
    out = sys.stdout.buffer
    out.write(struct.pack('<IHHiIII', 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
    for number, (frame, bytes_) in enumerate(records(data), 1):
        start = NETWORK_AT[link](frame)
        if start is not None:
            seen = without_extensions(frame[start:])
            out.write(struct.pack('<IIII', number, 0, len(seen), bytes_ - start) + seen)


if __name__ == '__main__':
    main()
