#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A Redis that lies: liar.py SOCKET. It calls itself a master and answers every script with arrays
of numbers that are far too large, negative, or new at every time."""
import random
import socket
import sys


def command_read(stream):
    """The words of one command, None at the end."""
    head = stream.readline()
    if not head.startswith(b"*"):
        return None
    words = []
    for _ in range(int(head[1:])):
        size = int(stream.readline()[1:])
        words.append(stream.read(size + 2)[:-2])
    return words


def answer(words):
    if words[0] == b"ROLE":
        return b"*1\r\n$6\r\nmaster\r\n"
    if words[0] == b"SCRIPT":
        return b"$40\r\n" + b"%040d" % random.randrange(10**9) + b"\r\n"
    if words[0] != b"EVALSHA":
        return b"+OK\r\n"
    numbers = [random.choice([2**63 - 1, 2**40 * 950000 + 950000, 1000000, 10**9, 1])
               for _ in range(3 * int(words[2]))]
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % n for n in numbers)


def main():
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1])
    server.listen()
    while True:
        stream = server.accept()[0].makefile("rwb")
        try:
            while (words := command_read(stream)) is not None:
                stream.write(answer(words))
                stream.flush()
        except OSError:
            pass


main()
