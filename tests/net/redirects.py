#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two nodes of a cluster, 127.0.0.1:7001 and 7002, before one Redis: redirects.py SOCKET HOW. They hand everything on
but scripts, which 7001 sends away:
    moved    to 7002, in the short form without a host
    ask      to 7002 for one call, which refuses what does not come by ASKING
    circle   to 7002, which sends them back
    unknown  to a node without a known address
    wrong    to a port that there is none
    closed   to a port where nobody listens
    moving   nowhere: the slot's keys are on both nodes
"""
import socket
import socketserver
import sys
import threading

AWAY = {"moved": {7001: b"-MOVED 1 :7002"},
        "ask": {7001: b"-ASK 1 127.0.0.1:7002", 7002: b"-MOVED 1 127.0.0.1:7001"},
        "circle": {7001: b"-MOVED 1 127.0.0.1:7002", 7002: b"-MOVED 1 127.0.0.1:7001"},
        "unknown": {7001: b"-MOVED 1 ?:7002"},
        "wrong": {7001: b"-MOVED 1 127.0.0.1:70002"},
        "closed": {7001: b"-MOVED 1 127.0.0.1:7003"},
        "moving": {7001: b"-TRYAGAIN Multiple keys request during rehashing of slot"}}[sys.argv[2]]


def value(stream):
    """The bytes of a command or an answer, none at the end."""
    line = stream.readline()
    if line[:1] == b"$" and int(line[1:]) >= 0:
        return line + stream.read(int(line[1:]) + 2)
    if line[:1] == b"*":
        return line + b"".join(value(stream) for _ in range(int(line[1:])))
    return line


class Node(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        redis = socket.socket(socket.AF_UNIX)
        redis.connect(sys.argv[1])
        stream, asking = redis.makefile("rwb"), False
        while command := value(self.rfile):
            word = command.split(b"\r\n")[2]
            away = AWAY.get(self.server.server_address[1]) if word == b"EVALSHA" and not asking else None
            asking = word == b"ASKING"
            if asking or away:
                self.wfile.write(away + b"\r\n" if away else b"+OK\r\n")
                continue
            stream.write(command)
            stream.flush()
            self.wfile.write(value(stream))


class Nodes(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, *_):
        """A connection that the agent gave up."""


def main():
    nodes = [Nodes(("127.0.0.1", port), Node) for port in (7002, 7001)]
    threading.Thread(target=nodes[0].serve_forever, daemon=True).start()
    nodes[1].serve_forever()


main()
