#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tunnel.py DEV COUNT: COUNT UDP packets of 128 bytes come from 10.99.0.2 to 10.99.0.1 through the tun
device DEV, as from the other end of a tunnel.
tunnel.py --link TYPE DEV: DEV, which is down, says that it is a link of that type (linux/if_arp.h)."""
import fcntl
import os
import socket
import struct
import sys

TUNSETIFF, TUNSETLINK, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x400454CD, 1, 0x1000


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def packet():
    def header(check):
        return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 128, 0, 0, 64, 17, check,
                           socket.inet_aton("10.99.0.2"), socket.inet_aton("10.99.0.1"))
    return header(checksum(header(0))) + struct.pack("!HHHH", 1000, 7, 108, 0) + bytes(100)


def tun_open(device):
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def main():
    if sys.argv[1] == "--link":
        fcntl.ioctl(tun_open(sys.argv[3]), TUNSETLINK, int(sys.argv[2]))
        return
    tun = tun_open(sys.argv[1])
    for _ in range(int(sys.argv[2])):
        os.write(tun, packet())


main()
