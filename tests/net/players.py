#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A game over UDP, as far as a limiter sees it.

serve PORT                       returns each datagram to its sender
play ADDRESS PORT SECONDS FROM…  a player at each address FROM sends 64 datagrams a second and expects as many;
                                 prints {"sent", "lost"} as JSON
"""
import json
import select
import socket
import sys
import time

PER_SECOND = 64
PATIENCE_S = 1
SO_RCVBUFFORCE = 33


def roomy():
    """A socket that keeps what arrives while a busy machine lets nobody read it."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    return s


def serve(port):
    s = roomy()
    s.bind(("", port))
    print("ready", flush=True)
    while True:
        data, peer = s.recvfrom(2048)
        try:
            s.sendto(data, peer)
        except OSError:
            pass  # a forged address


def receive(players, until):
    answers = 0
    while (left := until - time.monotonic()) > 0:
        for s in select.select(players, [], [], left)[0]:
            s.recv(2048)
            answers += 1
    return answers


def play(address, port, seconds, sources):
    players, answers = [], 0
    for source in sources:
        s = roomy()
        s.bind((source, 0))
        s.connect((address, port))
        players.append(s)
    start = time.monotonic()
    rounds = seconds * PER_SECOND
    for i in range(rounds):
        for s in players:
            s.send(bytes(100))
        answers += receive(players, start + (i + 1) / PER_SECOND)
    sent, end = rounds * len(players), time.monotonic() + PATIENCE_S
    while answers < sent and time.monotonic() < end:
        answers += receive(players, time.monotonic() + 0.01)
    print(json.dumps({"sent": sent, "lost": sent - answers}))


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
play(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
