# SPDX-License-Identifier: GPL-2.0-only
"""A client of qemu's gdb stub, as far as stepping through a program needs one."""

import socket

GENERAL = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip")
GS_BASE = 17 * 8 + 7 * 4 + 8  # behind them, the flags, six selectors, and the base of fs
NO_INTERRUPTS = "Qqemu.sstep=7"


class Gdb:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.rest = b""
        self.send(NO_INTERRUPTS)
        while self.receive() != "OK":  # before that, that the machine has stopped
            pass

    def send(self, text):
        self.socket.sendall(f"${text}#{sum(text.encode()) & 255:02x}".encode())

    def receive(self):
        """The next packet; what stands before it are acknowledgements."""
        while (end := self.rest.find(b"#", self.rest.find(b"$") + 1)) < 0 or len(self.rest) < end + 3:
            data = self.socket.recv(65536)
            if not data:
                raise RuntimeError("the guest is gone")
            self.rest += data
        packet = self.rest[self.rest.find(b"$") + 1:end]
        self.rest = self.rest[end + 3:]
        self.socket.sendall(b"+")
        return packet.decode()

    def ask(self, text):
        self.send(text)
        return self.receive()

    def go(self):
        self.send("c")

    def stop(self):
        self.socket.sendall(b"\x03")
        self.receive()

    def step(self):
        self.ask("s")

    def break_at(self, address):
        self.ask(f"Z1,{address:x},1")

    def no_break_at(self, address):
        self.ask(f"z1,{address:x},1")

    def registers(self):
        data = bytes.fromhex(self.ask("g").replace("x", "0"))
        values = {name: int.from_bytes(data[8 * i:8 * i + 8], "little") for i, name in enumerate(GENERAL)}
        return values | {"gs": int.from_bytes(data[GS_BASE:GS_BASE + 8], "little")}

    def memory(self, address, size):
        return bytes.fromhex(self.ask(f"m{address:x},{size:x}"))

    def word(self, address):
        return int.from_bytes(self.memory(address, 8), "little")
