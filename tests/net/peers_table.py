# SPDX-License-Identifier: GPL-2.0-only
"""Reads the filter of peers (include/abi/proof.h) of an instance, through its pins."""

import ctypes
import glob
import ipaddress
import json
import mmap
import os
import platform
import struct
import subprocess

WAYS, SETS, MORE, HEADER, SET_BYTES = 7, 8192, 32768, 32, 32
SOCKET, COUNT, STUCK = 1 << 10, 0x3FF << 10, 1 << 31
BPF_OBJ_GET = 7
SYSCALL = {"x86_64": 321, "aarch64": 280}[platform.machine()]
ALL = (1 << 64) - 1
LIBC = ctypes.CDLL(None, use_errno=True)


def pin_open(path):
    name = ctypes.create_string_buffer(path.encode())
    attr = ctypes.create_string_buffer(struct.pack("=QII", ctypes.addressof(name), 0, 0), 16)
    fd = LIBC.syscall(SYSCALL, BPF_OBJ_GET, attr, 16)
    if fd < 0:
        raise OSError(ctypes.get_errno(), path)
    return fd


def mapped(address):
    """As in a packet, and whether that is IPv4."""
    ip = ipaddress.ip_address(address)
    if ip.version == 6 and not ip.ipv4_mapped:
        return ip.packed, False
    packed = ip.packed if ip.version == 4 else ip.ipv4_mapped.packed
    return bytes(10) + b"\xff\xff" + packed, True


class Table:
    """That which the instance pinned at `path` has now; it stays readable when that is gone."""

    def __init__(self, path):
        pin = f"{path}/peers"
        if not os.path.exists(pin):
            raise FileNotFoundError("no filter")
        listing = subprocess.run(["bpftool", "-j", "map", "show", "pinned", pin], check=True,
                                 capture_output=True, text=True).stdout
        self.id = json.loads(listing)["id"]
        fd = pin_open(pin)
        try:
            self.memory = mmap.mmap(fd, HEADER + (SETS + MORE) * SET_BYTES, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(fd)
        self.seed = struct.unpack_from("=QQ", self.memory)

    @property
    def fed(self):
        return struct.unpack_from("=I", self.memory, 16)[0]

    def words(self, number):
        """The first sets come first, from SETS on those of `more`."""
        return struct.unpack_from("=8I", self.memory, HEADER + number * SET_BYTES)

    def key(self, address):
        """The set and the tag, as bpf/algorithm/peers.h has them; an address of IPv6 has those of its network."""
        packed, ipv4 = mapped(address)
        word = struct.unpack("=QQ", packed)[1 if ipv4 else 0]
        first, second = self.seed[ipv4], self.seed[not ipv4] | 1
        h = (word ^ first) * second & ALL
        h = (h ^ h >> 32) * 0xC4CEB9FE1A85EC53 & ALL
        h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & ALL
        h ^= h >> 32
        return h >> 32 & (MORE - 1), h & 0xFFF or 1

    def counts(self, address):
        """May it be one that has a socket? Questions do not count."""
        number, tag = self.key(address)
        first, more = self.words(number % SETS), self.words(SETS + number)
        return has(first, tag) or first[WAYS] >= SOCKET and (has(more, tag) or more[WAYS] >= SOCKET)

    def sockets(self):
        """How many are noted; those that were there before, once for each address. The last words of the first sets
        count again what the second have."""
        total = 0
        for number, words in enumerate(struct.iter_unpack("=8I", self.memory[HEADER:])):
            if any(words):
                total += sum((word & COUNT) // SOCKET % 1023 or (word & COUNT == COUNT) for word in words[:WAYS])
                total += (words[WAYS] & ~STUCK) // SOCKET if number >= SETS else 0
        return total


def has(words, tag):
    return any(word >> 20 == tag and word & COUNT for word in words[:WAYS])


def links(path):
    """The links that an instance has."""
    return sorted(os.path.basename(pin) for pin in glob.glob(f"{path}/peers-*"))
