#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Ends of TCP connections.

serve PORT             echoes on all addresses until killed
stay ADDRESS PORT      one connection: for each line of standard input sends it, prints the echo
each ADDRESS PORT N    N connections, one after the other: connect, send, receive, close; prints how
                       many were served
"""
import socket
import socketserver
import sys

LINE = b"a line that comes back\n"


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Server(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def echoed(connection, line):
    connection.sendall(line)
    return connection.makefile("rb").readline() == line


def each(address, port, count):
    served = 0
    for _ in range(count):
        with socket.create_connection((address, port), timeout=5) as connection:
            served += echoed(connection, LINE)
    print(served)


def stay(address, port):
    with socket.create_connection((address, port), timeout=30) as connection:
        for line in sys.stdin.buffer:
            print("echoed" if echoed(connection, line) else "lost", flush=True)


def main(what, *rest):
    if what == "serve":
        Server(("::", int(rest[0])), Echo).serve_forever()
    elif what == "stay":
        stay(rest[0], int(rest[1]))
    else:
        each(rest[0], int(rest[1]), int(rest[2]))


main(*sys.argv[1:])
