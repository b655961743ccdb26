# SPDX-License-Identifier: GPL-2.0-only
"""gap.py ADDRESS: a ping of 1 kHz until SIGTERM or SIGINT, then the longest time between two answers
in ms. Says "answered" first, once it is. ping(8) itself spins at this rate, and would take a CPU from what is measured."""

import select
import signal
import socket
import struct
import sys
import time

INTERVAL = 0.001
IDENTITY = 0x726C


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def echo(number):
    body = struct.pack(">HH", IDENTITY, number & 0xFFFF)
    return struct.pack(">BBH", 8, 0, checksum(b"\x08\x00" + body)) + body


def answers(sock):
    """Reads what is there; True if an answer to us was among it."""
    got = False
    while True:
        try:
            packet = sock.recv(256)
        except BlockingIOError:
            return got
        got |= packet[20] == 0 and packet[24:26] == struct.pack(">H", IDENTITY)


def main():
    stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.append(True))
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.setblocking(False)
    sock.connect((sys.argv[1], 0))
    longest, last, number = 0.0, None, 0
    due = time.monotonic()
    while not stopped:
        now = time.monotonic()
        if now >= due:
            sock.send(echo(number))
            number, due = number + 1, max(due + INTERVAL, now)
        select.select([sock], [], [], max(0.0, due - time.monotonic()))
        now = time.monotonic()
        if answers(sock):
            if last is None:
                print("answered", flush=True)
            longest, last = max(longest, now - (last or now)), now
    if last is None:
        sys.exit("gap: no answer")
    # an answer that was still owed at the end counts too
    print(f"{1000 * max(longest, time.monotonic() - last):.1f}")


main()
