#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""mumble.py ADDRESS PORT NAME RATE: a client of Mumble that talks without end, RATE packets of voice a second, and
says "NAME hears N" each second; an error if it is not heard, or hears nobody, for five seconds.

Debian's own client waits for a person at its first start, for the questions of two dialogues.
"""
import os
import select
import socket
import ssl
import struct
import sys
import time

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

VERSION, AUTHENTICATE, PING, SERVER_SYNC, CRYPT_SETUP = 0, 2, 3, 5, 15
UDP_PING, UDP_OPUS = 0x20, 0x80
BLOCK = 16
VOICE_BYTES = 110  # 20 ms at 40 kbit/s
PATIENCE_S = 5


# ---- protobuf, as far as this needs it


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """{number: bytes} of those with a length."""
    out, at = {}, 0

    def read():
        nonlocal at
        n, shift = 0, 0
        while True:
            n |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return n
    while at < len(data):
        key = read()
        size = read() if key & 7 in (0, 2) else 4
        if key & 7:
            out[key >> 3] = data[at:at + size]
            at += size
    return out


# ---- OCB2 with AES-128


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def twice(block):
    n = int.from_bytes(block, "big") << 1
    return (n & (1 << 128) - 1 ^ (0x87 if n >> 128 else 0)).to_bytes(BLOCK, "big")


class Crypt:
    def __init__(self, key, nonce):
        self.encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update
        self.nonce = int.from_bytes(nonce, "little")

    def seal(self, plain):
        self.nonce = (self.nonce + 1) % (1 << 128)
        nonce = self.nonce.to_bytes(BLOCK, "little")
        delta, total, out = self.encrypt(nonce), bytes(BLOCK), b""
        while len(plain) > BLOCK:
            block, plain, delta = plain[:BLOCK], plain[BLOCK:], twice(delta)
            out += xor(delta, self.encrypt(xor(delta, block)))
            total = xor(total, block)
        delta = twice(delta)
        pad = self.encrypt(xor((8 * len(plain)).to_bytes(BLOCK, "big"), delta))
        last = plain + pad[len(plain):]
        tag = self.encrypt(xor(xor(delta, twice(delta)), xor(total, last)))
        return nonce[:1] + tag[:3] + out + xor(pad, last)[:len(plain)]


# ---- the client


def voice_number(n):
    """A number as in packets of voice, up to 2^28."""
    if n < 0x80:
        return bytes([n])
    if n < 0x4000:
        return struct.pack("!H", 0x8000 | n)
    if n < 0x200000:
        return struct.pack("!I", 0xC00000 | n)[1:]
    return struct.pack("!I", 0xE0000000 | n)


class Client:
    def __init__(self, address, port, name):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.tcp = context.wrap_socket(socket.create_connection((address, port)))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.connect((address, port))
        self.name, self.crypt, self.synced, self.rest = name, None, False, b""
        self.send(VERSION, field(1, 0x10304) + field(2, b"play"))
        self.send(AUTHENTICATE, field(1, name.encode()) + field(5, 1))
        while not (self.crypt and self.synced):
            self.read()

    def send(self, kind, data):
        self.tcp.sendall(struct.pack("!HI", kind, len(data)) + data)

    def read(self):
        data = self.tcp.recv(65536)
        if not data:
            sys.exit("the server has closed the connection")
        self.rest += data
        while len(self.rest) >= 6:
            kind, size = struct.unpack("!HI", self.rest[:6])
            if len(self.rest) < 6 + size:
                break
            data, self.rest = self.rest[6:6 + size], self.rest[6 + size:]
            if kind == CRYPT_SETUP and len(fields(data)) == 3:
                self.crypt = Crypt(fields(data)[1], fields(data)[2])
            self.synced |= kind == SERVER_SYNC

    def pinged(self):
        self.send(PING, field(1, int(time.time())))
        self.udp.send(self.crypt.seal(bytes([UDP_PING]) + voice_number(int(time.time()) % 1000)))

    def talk(self, sequence):
        self.udp.send(self.crypt.seal(bytes([UDP_OPUS]) + voice_number(sequence) + voice_number(VOICE_BYTES) + os.urandom(VOICE_BYTES)))

    def listen(self, until):
        """How much voice came."""
        heard = 0
        while (left := until - time.monotonic()) > 0:
            for s in select.select([self.tcp, self.udp], [], [], left)[0]:
                if s is self.tcp:
                    self.read()
                else:
                    heard += len(self.udp.recv(2048)) > VOICE_BYTES
        return heard


def main():
    address, port, name, rate = sys.argv[1:]
    client, rate = Client(address, int(port), name), int(rate)
    begun, sequence, heard, silent = time.monotonic(), 0, 0, 0
    while silent < PATIENCE_S:
        if sequence % rate == 0:
            client.pinged()
            print(f"{name} hears {heard}", flush=True)
            silent, heard = 0 if heard else silent + 1, 0
        client.talk(sequence)
        sequence += 1
        heard += client.listen(begun + sequence / rate)
    sys.exit("Error: nobody was heard for 5 s")


if __name__ == "__main__":
    main()
