#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Clients of an HTTP server that are many, or slow; exit status 0 when all went as it should.

many ADDRESS PORT N   N at once ask for /metrics; each gets the whole document
root ADDRESS PORT N   the same of /
slow ADDRESS PORT N   N that send a byte of a request now and then; says "connected", and ends when
                      the server has ended every one of them
unread ADDRESS PORT N N that ask for /metrics and never read; says "connected", and stays until killed
"""
import signal
import socket
import sys
import time

REQUEST = b"GET /metrics HTTP/1.1\r\nHost: rlctl\r\n\r\n"
END = b"\nrlctl_scrape_duration_seconds "
DRIP_S = 0.2


def connect(address, port, count):
    return [socket.create_connection((address, port), timeout=60) for _ in range(count)]


def connect_narrowly(address, port, count):
    """Answers that are not read stay with the server."""
    clients = []
    for _ in range(count):
        client = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.settimeout(60)
        client.connect((address, port))
        clients.append(client)
    return clients


def answer(client):
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


def ask(clients, request, end):
    for client in clients:
        client.sendall(request)
    wrong = [text for text in map(answer, clients) if not text.startswith(b"HTTP/1.1 200 ") or end not in text]
    if wrong:
        sys.exit(f"{len(wrong)} of {len(clients)} wrong, as {wrong[0][:200]}")


def many(clients):
    ask(clients, REQUEST, END)


def root(clients):
    ask(clients, REQUEST.replace(b"/metrics", b"/"), b"/metrics\n")


def unread(clients):
    for client in clients:
        client.sendall(REQUEST)
    print("connected", flush=True)
    signal.pause()


def slow(clients):
    """Each speaks on as often as it is heard; the request's head has no end."""
    head = REQUEST[:-2] + b"X-Slow: " + b"x" * 4096
    print("connected", flush=True)
    for byte in head:
        alive = []
        for client in clients:
            try:
                client.send(bytes([byte]))
                alive.append(client)
            except ConnectionError:
                pass  # ended
        clients = alive
        if not clients:
            return
        time.sleep(DRIP_S)
    sys.exit(f"{len(clients)} were never ended")


def main():
    what, address, port, count = sys.argv[1:]
    meet = connect_narrowly if what == "unread" else connect
    {"many": many, "root": root, "slow": slow, "unread": unread}[what](meet(address, int(port), int(count)))


main()
