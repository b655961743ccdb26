#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""matches.py ADDRESS: real sockets send for each rule of test_matches.sh three packets that it matches, and some that
differ from them in that alone."""
import socket
import sys

ADDRESS = sys.argv[1]
FAMILY = socket.AF_INET6 if ":" in ADDRESS else socket.AF_INET
LEVEL = socket.IPPROTO_IPV6 if ":" in ADDRESS else socket.IPPROTO_IP
HOPS = socket.IPV6_UNICAST_HOPS if ":" in ADDRESS else socket.IP_TTL
CLASS = socket.IPV6_TCLASS if ":" in ADDRESS else socket.IP_TOS


def send(port, datagrams, option=None, value=0):
    with socket.socket(FAMILY, socket.SOCK_DGRAM) as out:
        if option is not None:
            out.setsockopt(LEVEL, option, value)
        for datagram in datagrams:
            out.sendto(datagram, (ADDRESS, port))


EACH = [b"\1some", b"\1other", b"\1last"]
send(7001, [bytes(1), bytes(50), bytes(32), bytes(60), bytes(200)])
for hops in (8, 9, 10):
    send(7002, EACH, HOPS, hops)
for dscp in (45, 46, 47):
    send(7003, EACH, CLASS, dscp << 2 | 1)
for port in (7003, 7004, 7005, 7006, 7007):
    send(port, [b"to", b""][:1 + (port == 7004)])
# The last one comes in fragments, of which only the first has these bytes.
send(7008, [b"\0\0\xca\xfe", b"\0\0\xca\xfe more", b"\0\0\xca", b"\0\xca\xfe", b"\xff\xff\xca\xfe" + bytes(3000)])
send(7009, [b"\2", b"\0" * 20, b"\3\1", b"", b"\1"])
