#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Starts a guest whose last words are build/steps, steps through the program of each row as it handles a packet of each
of three sources, and tells how many instructions it takes and how many cache lines it touches."""

import argparse
import re
import signal
import socket
import subprocess
import sys
from dataclasses import asdict, dataclass
from statistics import median_low

sys.dont_write_bytecode = True
from annotate import TOP, Program, annotated
from document import document_write
from gdb_remote import Gdb
from operands import BYTES_MAX, disassemble

LINE, PAGE, STACK = 64, 4096, 16384  # bytes
ROUNDS = 4  # of packets from all sources in turns: the last one is looked at
HEAD = ("row", "packet", "instructions", "in kernel", "lines", "own", "own written")


class Guest:
    """qemu, the serial line on which steps answers, and the gdb stub."""

    def __init__(self, folder, command):
        line, stub = f"{folder}/line", f"{folder}/stub"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(line)
        listener.listen()
        self.qemu = subprocess.Popen([*command, "-serial", f"unix:{line}", "-gdb", f"unix:{stub},server=on,wait=off"])
        self.serial = listener.accept()[0]
        self.answers = self.serial.makefile("r", errors="replace")
        self.greeting = self.answer("ready")
        self.gdb = Gdb(stub)
        self.gdb.go()

    def answer(self, end="done"):
        """The words of each line before END."""
        lines = []
        for line in self.answers:
            if line.strip() == end:
                return [words.split() for words in lines]
            lines.append(line.rstrip())
            if line.startswith(("error", "#### end")):
                break
        sys.exit("\n".join(("instructions.py: the guest says:", *lines[-10:])))

    def tell(self, text):
        self.serial.sendall(text.encode() + b"\n")

    def ask(self, text):
        self.tell(text)
        return self.answer()

    def told(self, word):
        return [words[1:] for words in self.greeting if words[:1] == [word]]

    def end(self):
        self.qemu.kill()
        self.qemu.wait()


# ---- what a packet does

@dataclass
class Step:
    pc: int
    registers: dict
    again: bool  # a string instruction repeats itself


@dataclass
class Trace:
    steps: list
    packet: int  # its first byte
    stack: int


@dataclass
class Line:
    """Accesses to memory."""
    number: int
    step: int  # that touches it first
    written: bool
    own: bool = False

    def __str__(self):
        return f"{self.number * LINE:x} {'written' if self.written else 'read'}{', OWN' if self.own else ''}"


def trace(gdb, codes):
    """From the first instruction, which is the next one, to the return."""
    registers = gdb.registers()
    result = Trace([], gdb.word(registers["rdi"]), registers["rsp"])
    back = gdb.word(result.stack)
    while registers["rip"] != back or registers["rsp"] <= result.stack:
        pc = registers["rip"]
        if pc not in codes:
            codes[pc] = gdb.memory(pc, BYTES_MAX)
        result.steps.append(Step(pc, registers, bool(result.steps) and result.steps[-1].pc == pc))
        gdb.step()
        registers = gdb.registers()
    return result


def traces(guest, entry, program_id, sources):
    """One for each source, all verdicts, and {address: bytes} of the code."""
    gdb, found, codes, packets = guest.gdb, [], {}, ROUNDS * len(sources)
    gdb.stop()
    gdb.break_at(entry)
    gdb.go()
    guest.tell(f"run {program_id} {ROUNDS} {' '.join(sources)}")
    for i in range(packets):
        gdb.receive()
        gdb.no_break_at(entry)
        if i < packets - len(sources):
            gdb.step()
        else:
            found.append(trace(gdb, codes))
        if i < packets - 1:
            gdb.break_at(entry)
        gdb.go()
    return found, [int(verdict) for _, verdict in guest.answer()], codes


def touched(one, code):
    """Lines of memory by number, but for those of the stack and the packet."""
    lines = {}
    for i, step in enumerate(one.steps):
        for operand in code[step.pc].operands:
            at = operand.address(step.registers, step.pc + code[step.pc].length)
            if at // STACK == one.stack // STACK or at // PAGE == one.packet // PAGE:
                continue
            for number in range(at // LINE, (at + operand.size - 1) // LINE + 1):
                line = lines.setdefault(number, Line(number, i, False))
                line.written |= operand.written
    return lines


def all_touched(found, code):
    """The lines of each trace; its own are those that no other one touches."""
    lines = [touched(one, code) for one in found]
    for mine in lines:
        for number, line in mine.items():
            line.own = sum(number in others for others in lines) == 1
    return [list(mine.values()) for mine in lines]


# ---- rows

@dataclass
class Row:
    row: str
    policy: list
    packet: str
    verdict: int
    instructions: int
    in_kernel: int
    lines: int
    own: int
    own_written: int

    def words(self):
        return [str(getattr(self, name.replace(" ", "_"))) for name in HEAD]


def program_of(guest, program_id, with_lines):
    """The address of its first instruction, and the program."""
    functions = [(int(a, 16), int(n), name) for _, a, n, name in guest.ask(f"functions {program_id}")]
    lines = guest.ask(f"lines {program_id}") if with_lines else []
    return functions[0][0], Program(sorted(functions), sorted((int(a, 16), re.sub(r"^.*/(?=bpf/)", "", at)) for _, a, at in lines),
                                    sorted((int(a, 16), name) for a, name in guest.told("symbol")))


def measured(guest, name, packet, program_id, sources, with_trace):
    """The figures are the middle ones of the sources', where their places in the table make them differ."""
    entry, program = program_of(guest, program_id, with_trace)
    found, verdicts, codes = traces(guest, entry, program_id, sources)
    code = disassemble(codes)
    lines = all_touched(found, code)

    def middle(count):
        return median_low([count(one, mine) for one, mine in zip(found, lines)])

    if with_trace:
        (TOP / f"build/trace-{name}.txt").write_text(annotated(program, found[0].steps, lines[0], code))
    return Row(name, [" ".join(rule) for of, *rule in guest.told("policy") if of == name], packet, verdicts[-1],
               middle(lambda one, _: sum(not s.again for s in one.steps)),
               middle(lambda one, _: sum(not s.again and program.function(s.pc) is None for s in one.steps)),
               middle(lambda _, mine: len(mine)),
               middle(lambda _, mine: sum(line.own for line in mine)),
               middle(lambda _, mine: sum(line.own and line.written for line in mine)))


def told(words):
    print("{:17s} {:7s} {:>12s} {:>10s} {:>6s} {:>4s} {:>12s}".format(*words), flush=True)


def rows(guest, options):
    wanted = {*options.only, *options.trace}
    told(HEAD)
    for name, packet, program_id, *sources in guest.told("row"):
        if not wanted or name in wanted:
            row = measured(guest, name, packet, program_id, sources, name in options.trace and packet == "IPv4")
            told(row.words())
            yield row


def version():
    words = subprocess.run([TOP / "build/rlctl", "--version"], check=True, capture_output=True, text=True).stdout.split()
    return words[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="ROW", action="append", default=[])
    parser.add_argument("--trace", metavar="ROW", action="append", default=[])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("folder")
    parser.add_argument("qemu", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    guest = Guest(options.folder, options.qemu)
    try:
        kernel = next(words[2] for words in guest.greeting if words[:2] == ["####", "kernel"])
        document = {"version": version(), "kernel": kernel, "rows": [asdict(row) for row in rows(guest, options)]}
    finally:
        guest.end()
    if options.json:
        document_write(options.json, document)


if __name__ == "__main__":
    main()
