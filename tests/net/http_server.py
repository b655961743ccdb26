#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""http_server.py PORT: answers every request with "ok" and leaves the connection open."""
import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"


class Peer(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.rest = transport, b""

    def data_received(self, data):
        *requests, self.rest = (self.rest + data).split(b"\r\n\r\n")
        self.transport.write(ANSWER * len(requests))


async def main():
    server = await asyncio.get_running_loop().create_server(Peer, None, int(sys.argv[1]), backlog=1000)
    await server.serve_forever()


asyncio.run(main())
