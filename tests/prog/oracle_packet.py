# SPDX-License-Identifier: GPL-2.0-only
"""The kind of a frame, read from its bytes as rlctl-policy(5) words it, for oracle.py."""
from dataclasses import dataclass

ICMP, TCP, UDP, FRAGMENT, AH, ICMP6, SCTP = 1, 6, 17, 44, 51, 58, 132
HEADERS = {TCP: 20, UDP: 8, SCTP: 12, ICMP: 8, ICMP6: 8}  # bytes that a first fragment must have
EXTENSIONS = {0: 8, 43: 8, 60: 8, FRAGMENT: 0, AH: 4, 135: 8, 139: 8, 140: 8}  # their unit of length
EXTENSIONS_MAX, TAGS_MAX = 8, 2
TAGS = (0x8100, 0x88A8)
MAPPED = bytes(10) + b"\xff\xff"
DISCOVERY = {133: 8, 134: 16, 135: 24, 136: 24, 137: 40}  # bytes of such a message (RFC 4861)
LINK_LOCAL, NAT64 = (0xFE80 << 112, 10), (0x64FF9B << 96, 96)


class Malformed(Exception):
    """Its headers are truncated or contradictory."""


@dataclass
class Packet:
    """None: the packet does not have it."""
    size: int  # of the frame, on the wire
    bits: int  # of an address
    source: int
    dest: int
    length: int
    ttl: int
    dscp: int
    protocol: int = 0
    fragment: bool = False
    later: bool = False
    extended: bool = False
    ports: tuple = None
    flags: int = None
    icmp: tuple = None
    payload: bytes = None
    message: bytes = b""  # of neighbour discovery: all of ICMPv6


def within(address, bits, prefix):
    value, length, family = prefix
    return bits == family and (address ^ value) >> (bits - length) == 0


def need(holds):
    if not holds:
        raise Malformed


def number(data):
    return int.from_bytes(data, "big")


def transport(packet, protocol, data):
    """Everything behind the headers of IP, in a packet that is whole or a first fragment."""
    packet.protocol = protocol
    if packet.later:
        return packet
    need(len(data) >= HEADERS.get(protocol, 0))
    if protocol in (TCP, UDP, SCTP):
        packet.ports = number(data[:2]), number(data[2:4])
    if protocol == TCP:
        header = (data[12] >> 4) * 4
        need(20 <= header <= len(data))
        packet.flags, packet.payload = data[13], data[header:]
    elif protocol == UDP:
        need(number(data[4:6]) >= 8 and (packet.fragment or number(data[4:6]) <= len(data)))
        packet.payload = data[8:number(data[4:6])]
    elif protocol in (ICMP, ICMP6):
        packet.icmp, packet.payload, packet.message = (data[0], data[1]), data[8:], data
    return packet


def ipv4(size, data):
    need(len(data) >= 20 and data[0] >> 4 == 4)
    header, total, fragment = (data[0] & 15) * 4, number(data[2:4]), number(data[6:8])
    need(20 <= header <= total <= len(data))
    packet = Packet(size, 32, number(data[12:16]), number(data[16:20]), total, data[8], data[1] >> 2)
    packet.later, packet.fragment = fragment & 0x1FFF > 0, fragment & 0x3FFF > 0
    return transport(packet, data[9], data[header:total])


def ipv6(size, data):
    need(len(data) >= 40 and data[0] >> 4 == 6)
    length = number(data[4:6])
    need(length + 40 <= len(data) and MAPPED not in (data[8:20], data[24:36]))
    packet = Packet(size, 128, number(data[8:24]), number(data[24:40]), length + 40, data[7], number(data[:2]) >> 6 & 63)
    protocol, rest, count = data[6], data[40:40 + length], 0
    while protocol in EXTENSIONS and not packet.later:
        need(count < EXTENSIONS_MAX and len(rest) >= 8)
        count += 1
        packet.extended = True
        if protocol == FRAGMENT:
            offset = number(rest[2:4])
            packet.later, packet.fragment = offset >> 3 > 0, packet.fragment or offset & 0xFFF9 > 0
            header = 8
        else:
            header = rest[1] * EXTENSIONS[protocol] + 8
        need(len(rest) >= header)
        protocol, rest = rest[0], rest[header:]
    return transport(packet, protocol, rest)


def read(frame, size):
    """A packet; None: not IP."""
    at, tags = 12, 0
    need(len(frame) >= 14)
    while (kind := number(frame[at:at + 2])) in TAGS:
        tags += 1
        at += 4
        need(tags <= TAGS_MAX and len(frame) >= at + 2)
    return {0x800: ipv4, 0x86DD: ipv6}.get(kind, lambda *_: None)(size, frame[at + 2:])


def is_discovery(p):
    """A message of neighbour discovery, which passes without any rule."""
    if p.protocol != ICMP6 or p.bits != 128 or p.extended or p.fragment or p.ttl != 255:
        return False
    kind, code = p.icmp
    if code or len(p.message) < DISCOVERY.get(kind, 1 << 16):
        return False
    if within(p.source, 128, (*LINK_LOCAL, 128)):
        return True
    target = number(p.message[8:24])
    if kind == 133:
        return p.source == 0
    if kind == 135:
        return p.dest in (target, 0xFF02 << 112 | 0x1FF << 24 | target & 0xFFFFFF)
    solicited, multicast = p.message[4] & 0x40, p.dest >> 120 == 0xFF
    return kind == 136 and (target == p.source or bool(solicited) and not multicast)
