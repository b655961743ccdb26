#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Ends of TCP connections.

serve PORT [BACKLOG]   echoes on all addresses until killed
stay ADDRESS PORT      one connection: for each line of standard input sends it, prints the echo
each ADDRESS PORT N    N connections, one after the other: connect, send, receive, close; prints how
                       many were served
many ADDRESS PORT N S  the same by N processes at once, for S seconds: each gives an attempt up after
                       PATIENCE_S. Prints JSON: attempts, how many were served, and the milliseconds
                       that half and 95 in 100 of these took at most. A connection ends with a reset,
                       so that no port stays in TIME_WAIT.
"""
import json
import os
import selectors
import socket
import struct
import sys
import time

LINE = b"a line that comes back\n"
PATIENCE_S = 0.25
ABORT = struct.pack("ii", 1, 0)  # struct linger: close with a reset


def listen(port, backlog):
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=backlog)
    listener.setblocking(False)
    return listener


def accept(listener, poll):
    try:
        client = listener.accept()[0]
    except OSError:  # it has gone again
        return
    poll.register(client, selectors.EVENT_READ)


def echo(client, poll):
    try:
        if data := client.recv(65536):
            client.sendall(data)
            return
    except OSError:
        pass
    poll.unregister(client)
    client.close()


def serve(port, backlog):
    poll, listener = selectors.DefaultSelector(), listen(port, backlog)
    poll.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in poll.select():
            (accept if key.fileobj is listener else echo)(key.fileobj, poll)


def echoed(connection, line):
    connection.sendall(line)
    return connection.makefile("rb").readline() == line


def each(address, port, count):
    served = 0
    for _ in range(count):
        with socket.create_connection((address, port), timeout=30) as connection:
            served += echoed(connection, LINE)
    print(served)


def stay(address, port):
    with socket.create_connection((address, port), timeout=30) as connection:
        for line in sys.stdin.buffer:
            print("echoed" if echoed(connection, line) else "lost", flush=True)


def attempt(address, port):
    try:
        with socket.create_connection((address, port), timeout=PATIENCE_S) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            return echoed(connection, LINE)
    except OSError:
        return False


def client(address, port, until):
    """[the milliseconds of each attempt that was served, how many attempts]"""
    times, attempts = [], 0
    while (begin := time.monotonic()) < until:
        attempts += 1
        if attempt(address, port):
            times.append((time.monotonic() - begin) * 1e3)
    return times, attempts


def apart(work, *arguments):
    """A process that does it, and where its result can be read."""
    read, write = os.pipe()
    if not os.fork():
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(work(*arguments), out)
        os._exit(0)
    os.close(write)
    return read


def many(address, port, count, seconds):
    until = time.monotonic() + seconds
    times, attempts = [], 0
    for pipe in [apart(client, address, port, until) for _ in range(count)]:
        with os.fdopen(pipe) as result:
            theirs, tried = json.load(result)
        times += theirs
        attempts += tried
    times.sort()
    p50, p95 = (round(times[int(len(times) * part)], 3) if times else None for part in (0.5, 0.95))
    print(json.dumps({"attempts": attempts, "served": len(times), "p50": p50, "p95": p95}))


def main(what, *rest):
    if what == "serve":
        serve(int(rest[0]), int(rest[1]) if rest[1:] else 64)
    elif what == "stay":
        stay(rest[0], int(rest[1]))
    elif what == "each":
        each(rest[0], int(rest[1]), int(rest[2]))
    else:
        many(rest[0], int(rest[1]), int(rest[2]), float(rest[3]))


main(*sys.argv[1:])
