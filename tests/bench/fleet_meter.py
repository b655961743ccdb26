#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Packets that the members of a fleet let through, sampled from their pinned counters.

fleet_meter.py SECONDS PIN-FOLDER...   a line for every 100 ms: seconds since the first, and the sum
over all members of the packets that passed since then. Read by fleet.sh.
"""
import ctypes
import os
import struct
import sys
import time

SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
BPF_MAP_LOOKUP_ELEM, BPF_OBJ_GET = 1, 7
PASSING = 5  # reasons that pass stand first: rlctl_abi.h
EVERY = 0.1

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    result = libc.syscall(SYS_BPF, command, attr, len(attr))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def open_pin(path):
    name = ctypes.create_string_buffer(path.encode())
    attr = ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(name), 0, 0), 16)
    return bpf(BPF_OBJ_GET, attr)


def possible_cpus():
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as file:
        return int(file.read().strip().split("-")[-1]) + 1


class Counter:
    """Packets that passed one member."""

    def __init__(self, folder):
        self.fd = open_pin(folder + "/reasons")
        self.words = 2 * possible_cpus()
        self.value = ctypes.create_string_buffer(8 * self.words)
        self.key = ctypes.c_uint32()

    def read(self):
        packets = 0
        for reason in range(PASSING):
            self.key.value = reason
            attr = struct.pack("IIQQQ", self.fd, 0, ctypes.addressof(self.key),
                               ctypes.addressof(self.value), 0)
            bpf(BPF_MAP_LOOKUP_ELEM, ctypes.create_string_buffer(attr, 32))
            packets += sum(struct.unpack(f"{self.words}Q", self.value.raw)[0::2])
        return packets


def main():
    seconds, counters = float(sys.argv[1]), [Counter(folder) for folder in sys.argv[2:]]
    start, base = time.monotonic(), sum(c.read() for c in counters)
    for n in range(int(seconds / EVERY) + 1):
        time.sleep(max(0, start + n * EVERY - time.monotonic()))
        print(f"{time.monotonic() - start:.4f} {sum(c.read() for c in counters) - base}",
              flush=True)


main()
