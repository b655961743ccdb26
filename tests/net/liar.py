#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A Redis that lies: liar.py SOCKET [HOW]. It calls itself a master and answers every script
with arrays of numbers that are far too large, negative, or new at every time. HOW, from the third
script of a connection on, and from the first for names:
    names   a thousand members that are not there
    drip    five bytes a second
    long    a word of 400 MB
    wide    an array of a billion elements
"""
import random
import socket
import sys
import time

HOW = sys.argv[2] if len(sys.argv) > 2 else "numbers"
scripts = 0


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
    global scripts
    scripts += 1
    if HOW == "names":
        return b"*1003\r\n:1\r\n:1000\r\n:1000\r\n" + b"".join(
            b"$4\r\nm%03d\r\n" % i for i in range(1000))
    if HOW != "numbers" and scripts < 3:
        return b"*4\r\n:1\r\n:1\r\n:1\r\n$2\r\nm1\r\n"
    if HOW == "long":
        return b"*1\r\n$400000000\r\n"
    if HOW == "wide":
        return b"*1000000000\r\n" + b":1\r\n" * 1000
    numbers = [random.choice([2**63 - 1, 2**40 * 990000 + 990000, 1000000, 10**9, 1])
               for _ in range(3 * int(words[2]))]
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % n for n in numbers)


def write(stream, text):
    slow = HOW == "drip" and scripts > 2
    for part in [text[i:i + 1] for i in range(len(text))] if slow else [text]:
        stream.write(part)
        stream.flush()
        time.sleep(0.2 * slow)
    if HOW == "long" and scripts > 2:
        for _ in range(400):
            stream.write(bytes(1000000))


def main():
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1])
    server.listen()
    global scripts
    while True:
        scripts = 0
        stream = server.accept()[0].makefile("rwb")
        try:
            while (words := command_read(stream)) is not None:
                write(stream, answer(words))
        except OSError:
            pass


main()
