# SPDX-License-Identifier: GPL-2.0-only
"""Packets of IP, UDP and TCP as bytes, with right checksums. Addresses are texts."""

import ipaddress
import struct

TCP, UDP = 6, 17


def checksum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def with_checksum(data, at, pseudo=b""):
    return data[:at] + struct.pack(">H", checksum(pseudo + data)) + data[at + 2:]


def ends(source, dest):
    return ipaddress.ip_address(source).packed + ipaddress.ip_address(dest).packed


def ipv4(source, dest, proto, body, tos=0, number=0, fragment=0, ttl=64, options=b""):
    head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, tos, 20 + len(options) + len(body), number, fragment, ttl, proto, 0)
    return with_checksum(head + ends(source, dest) + options, 10) + body


def ipv6(source, dest, proto, body, head=6 << 28, hops=64):
    return struct.pack(">IHBB", head, len(body), proto, hops) + ends(source, dest) + body


def ip(source, dest, proto, body):
    return (ipv6 if ":" in source else ipv4)(source, dest, proto, body)


def pseudo(source, dest, proto, body):
    return ends(source, dest) + struct.pack(">II", proto, len(body))


def udp(source, dest, sport, dport, data=b""):
    """The header of UDP and its data. A sum of 0 would mean none."""
    body = with_checksum(struct.pack(">HHHH", sport, dport, 8 + len(data), 0) + data, 6,
                         pseudo(source, dest, UDP, bytes(8) + data))
    return body if body[6:8] != b"\0\0" else body[:6] + b"\xff\xff" + body[8:]


def tcp(source, dest, sport, dport, flags, seq=0, ack=0, data=b"", window=8192):
    body = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, window, 0, 0) + data
    return with_checksum(body, 16, pseudo(source, dest, TCP, body))
