#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""connections.py hold|ask|serve SECONDS ADDRESS PORT: who holds connections to a web server, who asks it, and a server.

hold: 300 connections a second from the addresses of 10.78.0.0/22 in turn, which send half a request and stay open until
the server closes them. Prints how many were accepted.
ask: a request five times a second, each on a connection of its own. Prints "OK ASKED MEDIAN 99TH": times
in ms, of those that were answered.
serve: 16 processes, each of which takes one connection at a time and waits two seconds for its request."""
import asyncio
import os
import signal
import socket
import sys
import time

TIMEOUT_S = 2
RATE = {'hold': 300, 'ask': 5}
SOURCES = 1024


async def hold(number, at, results):
    source = ('10.78.%d.%d' % divmod(number % SOURCES, 256), 0)
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(*at, local_addr=source), TIMEOUT_S)
    except (OSError, asyncio.TimeoutError):
        return
    results.append(number)
    writer.write(b'GET / HTTP/1.1\r\nX-')
    try:
        await reader.read()
    except OSError:
        pass
    writer.close()


async def ask(_, at, results):
    began = time.monotonic()
    try:
        answer = await asyncio.wait_for(request(at), TIMEOUT_S)
    except (OSError, asyncio.TimeoutError):
        answer = b''
    results.append((answer.startswith(b'HTTP/1.1 200'), (time.monotonic() - began) * 1000))


async def request(at):
    reader, writer = await asyncio.open_connection(*at)
    writer.write(b'GET / HTTP/1.1\r\nHost: play\r\nConnection: close\r\n\r\n')
    try:
        return await reader.read()
    finally:
        writer.close()


async def run(what, seconds, at):
    one, results, tasks = {'hold': hold, 'ask': ask}[what], [], []
    began, number = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        tasks.append(asyncio.create_task(one(number, at, results)))
        number += 1
        await asyncio.sleep(max(0, began + number / RATE[what] - time.monotonic()))
    if what == 'ask':
        await asyncio.gather(*tasks)
        times = sorted(took_ms for ok, took_ms in results if ok) or [0]
        print(sum(ok for ok, _ in results), len(results), *('%.0f' % times[int(part * (len(times) - 1))] for part in (.5, .99)))
    else:
        print(len(results))
        for task in tasks:
            task.cancel()


def answer_one(server):
    connection, _ = server.accept()
    connection.settimeout(2)
    request = b''
    try:
        while b'\r\n\r\n' not in request and len(request) < 4096:
            piece = connection.recv(4096)
            if not piece:
                break
            request += piece
        else:
            connection.sendall(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\na page\n')
    except OSError:
        pass
    connection.close()


def serve(seconds, at):
    server = socket.create_server(at, backlog=16)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for _ in range(15):
        if not os.fork():
            break
    signal.alarm(int(seconds))
    while True:
        answer_one(server)


if sys.argv[1] == 'serve':
    serve(float(sys.argv[2]), (sys.argv[3], int(sys.argv[4])))
asyncio.run(run(sys.argv[1], float(sys.argv[2]), (sys.argv[3], int(sys.argv[4]))))
