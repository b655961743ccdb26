#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tunnel.py DEV COUNT: COUNT UDP packets of 128 bytes come from 10.99.0.2 to 10.99.0.1 through the tun
device DEV, as from the other end of a tunnel.
tunnel.py --link TYPE DEV: DEV, which is down, says that it is a link of that type (linux/if_arp.h)."""
import fcntl
import os
import struct
import sys

from packets import ipv4, udp

TUNSETIFF, TUNSETLINK, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x400454CD, 1, 0x1000


def tun_open(device):
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def main():
    if sys.argv[1] == "--link":
        fcntl.ioctl(tun_open(sys.argv[3]), TUNSETLINK, int(sys.argv[2]))
        return
    tun = tun_open(sys.argv[1])
    ends = "10.99.0.2", "10.99.0.1"
    packet = ipv4(*ends, 17, udp(*ends, 1000, 7, bytes(100)))
    for _ in range(int(sys.argv[2])):
        os.write(tun, packet)


main()
