#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""paged.py DEV COUNT: UDP frames of 5000 bytes to port 7, of which the kernel is told that no header has
to be linear: it then keeps all but Ethernet's in pages."""
import socket
import struct
import sys

SOL_PACKET, PACKET_VNET_HDR, ETHERNET = 263, 15, 14
SIZE = 5000


def frame():
    ip_bytes = SIZE - ETHERNET
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, ip_bytes, 0, 0, 64, 17, 0,
                     socket.inet_aton("10.77.0.1"), socket.inet_aton("10.77.0.2"))
    udp = struct.pack("!HHHH", 1000, 7, ip_bytes - 20, 0)
    return b"\2" * 12 + b"\x08\x00" + ip + udp + bytes(ip_bytes - 28)


def main():
    device, count = sys.argv[1], int(sys.argv[2])
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    link.bind((device, 0))
    for _ in range(count):
        try:
            link.send(struct.pack("=BBHHHH", 0, 0, ETHERNET, 0, 0, 0) + frame())
        except OSError as error:  # a packet that was dropped on its way out
            print(error)


main()
