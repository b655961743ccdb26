#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A Redis that is far away: slow.py SOCKET REDIS-SOCKET SECONDS hands everything on, answers that much
later."""
import asyncio
import sys


async def carry(reader, writer, delay):
    while data := await reader.read(65536):
        await asyncio.sleep(delay)
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve(reader, writer):
    redis_reader, redis_writer = await asyncio.open_unix_connection(sys.argv[2])
    try:
        await asyncio.gather(carry(reader, redis_writer, 0),
                             carry(redis_reader, writer, float(sys.argv[3])))
    except OSError:
        pass


async def main():
    async with await asyncio.start_unix_server(serve, sys.argv[1]) as server:
        await server.serve_forever()


asyncio.run(main())
