#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""router.py DEV advertise|solicit: sends a router advertisement to all nodes, by which the sender is
their router for half an hour, or a router solicitation to all routers, from the device's link-local
address. The kernel writes the checksum."""
import socket
import struct
import sys

MESSAGES = {
    "advertise": ("ff02::1", struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0)),
    "solicit": ("ff02::2", struct.pack("!BBHI", 133, 0, 0, 0)),
}


def main():
    device, kind = sys.argv[1:]
    group, message = MESSAGES[kind]
    out = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
    out.sendto(message, (group, 0, 0, socket.if_nametoindex(device)))


main()
