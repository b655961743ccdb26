#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A server of the Source engine, as far as a firewall sees it: A2S queries with their challenge, and players whose
datagrams it answers.

serve PORT
play ADDRESS PORT FROM…   a player at each address FROM sends 100 datagrams a second of 50 to 250 bytes (cl_cmdrate 100, beside cl_updaterate
                            66 back) until it is ended; ends with an error if answers stay away
"""
import os
import random
import select
import socket
import struct
import sys
import time

CONNECTIONLESS = b"\xff\xff\xff\xff"
CMDRATE = 100
PATIENCE_S = 5


def information(players):
    return (CONNECTIONLESS + b"I\x11play\0de_play\0cstrike\0Play\0" + struct.pack("<HBBBccBB", 240, min(players, 255), 32, 0, b"d", b"l", 0, 1)
            + b"1.0\0")


def answer(data, peer, key, players):
    """The answer to a query: nothing without the challenge that the sender's address has, but the challenge."""
    challenge = struct.pack("<I", hash((key, peer)) & 0xFFFFFFFF)
    if not data.endswith(challenge):
        return CONNECTIONLESS + b"A" + challenge
    if data[4:5] == b"T":
        return information(players)
    return CONNECTIONLESS + (b"D\0" if data[4:5] == b"U" else b"E\0\0")


def serve(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", port))
    key, seen = os.urandom(8), {}
    while True:
        data, peer = s.recvfrom(2048)
        try:
            if data.startswith(CONNECTIONLESS):
                if data[4:5] in (b"T", b"U", b"V", b"W"):
                    s.sendto(answer(data, peer, key, len(seen)), peer)
                continue
            seen[peer] = seen.get(peer, 0) + 1
            if seen[peer] % 3:  # 66 of 100
                s.sendto(data[:8] + bytes(random.randint(100, 600)), peer)
        except OSError:
            pass  # a forged address


def play(address, port, players):
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in players]
    for s, player in zip(sockets, players):
        s.bind((player, 0))
        s.connect((address, port))
    sequence, heard, begun = 0, time.monotonic(), time.monotonic()
    while time.monotonic() - heard < PATIENCE_S:
        sequence += 1
        for s in sockets:
            s.send(struct.pack("<II", sequence, sequence) + bytes(random.randint(40, 240)))
        while (left := begun + sequence / CMDRATE - time.monotonic()) > 0:
            for s in select.select(sockets, [], [], left)[0]:
                s.recv(2048)
                heard = time.monotonic()
    sys.exit("no answer for 5 s")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    play(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
