#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""truncate.py ID: the XDP program with that id, all of whose packets are over a limit `over truncate`, is given DNS
queries one by one (BPF_PROG_TEST_RUN). Each answer is compared byte by byte with the one that dnspython makes of the
same query; then queries are mutated at random. Prints TAP."""
import ctypes
import os
import random
import struct
import sys

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "net"))
from packets import UDP, checksum, ipv4, ipv6, udp  # noqa: E402

SYSCALL = {"x86_64": 321, "aarch64": 280}[os.uname().machine]  # bpf(2)
TEST_RUN, GET_FD_BY_ID = 10, 13
DROP, TX = 1, 3
CLIENT, SERVER = ("192.0.2.7", "2001:db8::7"), ("198.51.100.53", "2001:db8:1::53")
MACS = bytes.fromhex("020000000053 020000000007")  # the device, a client
UDP_SIZE = 1232  # that the answer's OPT record says
SEED, MUTATIONS = 1035, 6000
LONGEST = ".".join(("a" * 63, "b" * 63, "c" * 63, "d" * 61))  # 255 bytes


# ---- the program


class Attr(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_uint32), ("retval", ctypes.c_uint32), ("size_in", ctypes.c_uint32), ("size_out", ctypes.c_uint32),
                ("data_in", ctypes.c_uint64), ("data_out", ctypes.c_uint64), ("repeat", ctypes.c_uint32),
                ("rest", ctypes.c_uint32 * 13)]


LIBC = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    ret = LIBC.syscall(SYSCALL, command, ctypes.byref(attr), ctypes.sizeof(attr))
    if ret < 0:
        raise OSError(ctypes.get_errno(), f"bpf command {command}")
    return ret


class Program:
    def __init__(self, number):
        self.fd = bpf(GET_FD_BY_ID, Attr(fd=number))
        self.out = ctypes.create_string_buffer(4096)

    def run(self, frame):
        """The verdict, and the frame that it left."""
        data = ctypes.create_string_buffer(frame, len(frame))
        attr = Attr(fd=self.fd, size_in=len(frame), data_in=ctypes.addressof(data), data_out=ctypes.addressof(self.out),
                    size_out=len(self.out), repeat=1)
        bpf(TEST_RUN, attr)
        return attr.retval, self.out.raw[:attr.size_out]


# ---- frames


class Shape:
    """How a query travels: family 0 or 1 (IPv4, IPv6), tags, what its headers say."""

    def __init__(self, family=0, tags=(), sport=40000, dport=53, least=60, before=b"", trailer=b"", source=None, dest=None,
                 macs=MACS, **head):
        self.family, self.tags, self.sport, self.dport, self.least = family, tags, sport, dport, least
        self.before, self.trailer, self.macs, self.head = before, trailer, macs, head
        self.source, self.dest = source or CLIENT[family], dest or SERVER[family]

    def ethernet(self, macs, packet):
        kinds = [*(kind for kind, _ in self.tags), (0x0800, 0x86DD)[self.family]]
        middle = struct.pack(">H", kinds[0]) + b"".join(struct.pack(">HH", tci, kind) for (_, tci), kind in zip(self.tags, kinds[1:]))
        return macs + middle + packet

    def packed(self, source, dest, body, proto=UDP, **head):
        return ipv6(source, dest, proto, body, **head) if self.family else ipv4(source, dest, proto, body, **{"fragment": 0x4000, **head})

    def query(self, payload):
        body = udp(self.source, self.dest, self.sport, self.dport, payload)
        frame = self.ethernet(self.macs, self.packed(self.source, self.dest, self.before + body, **self.head) + self.trailer)
        return frame.ljust(self.least, b"\xee")

    def answer(self, payload, least):
        body = udp(self.dest, self.source, self.dport, self.sport, payload)
        return self.ethernet(self.macs[6:12] + self.macs[:6], self.packed(self.dest, self.source, body)).ljust(least, b"\0")


# ---- what becomes of a query


def answer_of(payload):
    """The answer, as dnspython makes it of the same query."""
    query = dns.message.from_wire(payload)
    answer = dns.message.Message(query.id)
    answer.flags = dns.flags.QR | dns.flags.TC | query.flags & (dns.flags.RD | dns.flags.CD)
    if query.flags & dns.flags.RD:
        answer.flags |= dns.flags.RA
    answer.question = query.question
    if query.edns >= 0:
        answer.use_edns(0, query.ednsflags & dns.flags.DO, UDP_SIZE)
    return answer.to_wire(max_size=65535)


def name_end(payload):
    """Where the name of the question ends; None: it is no name without pointers, or not all of it."""
    at = 12
    while at < len(payload) and payload[at]:
        if payload[at] > 63:
            return None
        at += 1 + payload[at]
    return at + 1 if at < len(payload) and at + 1 - 12 <= 255 else None


def is_answered(payload):
    """A query with one question, and nothing behind it but EDNS."""
    if len(payload) < 12 or payload[2] & 0xFA:
        return False
    counts = struct.unpack(">4H", payload[4:12])
    end = name_end(payload)
    if counts[:3] != (1, 0, 0) or counts[3] > 1 or end is None or len(payload) < end + 4:
        return False
    rest = payload[end + 4:]
    if not counts[3]:
        return not rest
    return len(rest) >= 11 and rest[:3] == b"\0\0\x29" and int.from_bytes(rest[9:11], "big") == len(rest) - 11


class Wrong(Exception):
    pass


def need(holds, *words):
    if not holds:
        raise Wrong(" ".join(str(word) for word in words))


def expect_dropped(program, frame):
    verdict, out = program.run(frame)
    need(verdict == DROP, "verdict", verdict, "of", frame.hex(), "left", out.hex())


def expect_answer(program, shape, payload):
    frame = shape.query(payload)
    wanted = shape.answer(answer_of(payload), 0)
    verdict, out = program.run(frame)
    need(verdict == TX, "verdict", verdict, "of", frame.hex())
    need(len(out) == max(len(wanted), min(len(frame), 60)), len(out), "bytes, not", len(wanted))
    need(out.startswith(wanted), "answer\n", out.hex(), "\nnot\n", wanted.hex())
    need(len(out) <= len(frame), "longer than the query")


def query(name="www.Example.oRg.", kind="A", number=0x1234, flags=dns.flags.RD, **edns):
    """A query as on the wire; dnspython keeps the letters' case."""
    message = dns.message.make_query(name, kind, **edns)
    message.id, message.flags = number, flags
    return message.to_wire()


def changed(payload, at, *values):
    return payload[:at] + bytes(values) + payload[at + len(values):]


def option(kind, data):
    return {"use_edns": 0, "options": [dns.edns.GenericOption(kind, data)]}


PLAIN, EDNS = query(), query(use_edns=0, payload=4096)
END = len(PLAIN)  # of the question

ANSWERED = {
    "plain": PLAIN, "no recursion": query(flags=0), "checking disabled": query(flags=dns.flags.RD | dns.flags.CD),
    "AD, RA, AA, Z and a code": changed(PLAIN, 2, 0x05, 0xEF), "id 0": query(number=0), "id 65535": query(number=65535),
    "the root": query(".", "NS"), "one letter": query("a."), "two letters": query("ab."), "three letters": query("abc."),
    "case of letters": query("wWw.eXaMpLe.OrG."), "bytes that are no letters": query(dns.name.Name((b"\0\xff\xc0\x0c", b".", b""))),
    "the longest name": query(LONGEST + "."), "most labels": query("x." * 127), "the longest label": query("y" * 63 + "."),
    "the longest name, EDNS": query(LONGEST + ".", use_edns=0), "most labels, EDNS": query("x." * 127, use_edns=0),
    **{f"type {kind}": query(kind=kind) for kind in ("AAAA", "ANY", "AXFR", "DNSKEY", "TYPE65535")},
    "class CH": changed(PLAIN, END - 1, 3), "class ANY": changed(PLAIN, END - 1, 255),
    **{f"EDNS of {size}": query(use_edns=0, payload=size) for size in (0, 512, 1232, 65535)},
    **{f"EDNS behind {n} letters": query("n" * n + ".", use_edns=0) for n in range(1, 9)},
    "DNSSEC": query(want_dnssec=True), "EDNS version 1": query(use_edns=1), "EDNS flags": query(use_edns=0, ednsflags=0x7FFF),
    "a client's cookie": query(**option(10, bytes(range(8)))), "a server's cookie": query(**option(10, bytes(range(24)))),
    "NSID, DNSSEC": query(want_dnssec=True, options=[dns.edns.GenericOption(3, b"")]),
    "the client's subnet": query(use_edns=0, options=[dns.edns.ECSOption("192.0.2.0", 24)]),
    "two options": query(use_edns=0, options=[dns.edns.GenericOption(10, bytes(8)), dns.edns.GenericOption(12, bytes(300))]),
    "padding to 1232": query(use_edns=0, options=[dns.edns.GenericOption(12, bytes(1232 - len(EDNS) - 4))]),
}
SHAPES = {
    "IPv4": Shape(), "IPv6": Shape(1), "not padded": Shape(least=0), "802.1Q": Shape(tags=[(0x8100, 7)]),
    "802.1ad, 802.1Q": Shape(tags=[(0x88A8, 0xE007), (0x8100, 9)]), "IPv6, 802.1Q": Shape(1, tags=[(0x8100, 7)]),
    "IPv6, 802.1ad, 802.1Q": Shape(1, tags=[(0x88A8, 7), (0x8100, 9)]), "behind the packet": Shape(trailer=bytes(30)),
    "another port": Shape(sport=1, dport=65535), "from port 65535": Shape(1, sport=65535, dport=1),
    "IPv4's fields": Shape(tos=0xFF, number=77, fragment=0, ttl=1), "IPv6's fields": Shape(1, head=0x6FFFFFFF, hops=1),
}
DROPPED = {
    "nothing": b"", "one byte": PLAIN[:1], "half a header": PLAIN[:11], "a header alone": PLAIN[:12],
    "an answer": changed(PLAIN, 2, 0x81), "a truncated one": changed(PLAIN, 2, 0x03),
    **{f"opcode {n}": changed(PLAIN, 2, n << 3 | 1) for n in range(1, 16)},
    "no question": changed(PLAIN, 5, 0), "two questions": changed(PLAIN + PLAIN[12:], 5, 2),
    "256 questions": changed(PLAIN, 4, 1, 0), "257 questions": changed(PLAIN, 4, 1),
    "an answer record": changed(PLAIN, 7, 1), "256 of them": changed(PLAIN, 6, 1), "an authority": changed(PLAIN, 9, 1),
    "256 authorities": changed(PLAIN, 8, 1), "two additional records": changed(EDNS + EDNS[END:], 11, 2),
    "257 additional records": changed(EDNS, 10, 1), "256 additional records": changed(EDNS, 10, 1, 0),
    "EDNS not counted": changed(EDNS, 11, 0), "EDNS not there": changed(PLAIN, 11, 1), "EDNS cut": EDNS[:-1],
    "EDNS cut to a byte": EDNS[:END + 1], "EDNS with a name": changed(EDNS, END, 1),
    "an A record": changed(EDNS, END + 2, 1), "a TSIG record": changed(EDNS, END + 2, 250), "type 41 + 256": changed(EDNS, END + 1, 1),
    "EDNS data too long": changed(EDNS, len(EDNS) - 1, 1), "EDNS data of 256": changed(EDNS, len(EDNS) - 2, 1),
    "EDNS data cut": query(**option(10, bytes(8)))[:-1], "a byte behind EDNS": EDNS + b"\0", "a byte behind the question": PLAIN + b"\0",
    "12 bytes behind the question": PLAIN + bytes(12), "a pointer": PLAIN[:12] + b"\xc0\x0c\0\1\0\1",
    "a pointer behind a label": PLAIN[:12] + b"\1a\xc0\x0c\0\1\0\1", "label type 64": changed(PLAIN, 12, 0x43),
    "label type 128": changed(PLAIN, 12, 0x83), "an endless name": PLAIN[:12] + b"\1a" * 200,
    "a name without an end": PLAIN[:-5], "a name cut in a label": PLAIN[:20], "no class": PLAIN[:-2], "half a class": PLAIN[:-1],
    "no type": PLAIN[:-4], "half a type": PLAIN[:-3],
    "a name of 256 bytes": PLAIN[:12] + (b"\x3f" + b"a" * 63) * 3 + b"\x3e" + b"d" * 62 + b"\0\0\1\0\1",
    "128 labels": PLAIN[:12] + b"\1x" * 128 + b"\0\0\1\0\1", "zeros": bytes(40), "ones": b"\xff" * 40,
}
HEADERS = {  # that no answer can go back by: each a query otherwise
    "from port 53": Shape(sport=53), "from port 0": Shape(sport=0), "to port 0": Shape(dport=0), "IPv6 from port 53": Shape(1, sport=53),
    "a first fragment": Shape(fragment=0x2000), "a later fragment": Shape(fragment=0x2001),
    "an IPv6 extension": Shape(1, proto=60, before=b"\x11\0\1\4\0\0\0\0"),
    "a first IPv6 fragment": Shape(1, proto=44, before=b"\x11\0\0\1\0\0\0\7"),
    "an atomic IPv6 fragment": Shape(1, proto=44, before=b"\x11\0\0\0\0\0\0\7"),
    "to every host on the link": Shape(macs=b"\xff" * 6 + MACS[6:]), "to a group": Shape(macs=b"\x01\0\x5e\0\0\xfb" + MACS[6:]),
    "to another device": Shape(macs=b"\2\0\0\0\0\x54" + MACS[6:]), "IPv6 to another device": Shape(1, macs=b"\2\1\0\0\0\x53" + MACS[6:]),
    "from every host on the link": Shape(macs=MACS[:6] + b"\xff" * 6),
    "from 0.0.0.0": Shape(source="0.0.0.0"), "from 0.1.2.3": Shape(source="0.1.2.3"), "from 127.0.0.1": Shape(source="127.0.0.1"),
    "from a group": Shape(source="224.0.0.251"), "from 255.255.255.255": Shape(source="255.255.255.255"),
    "to a group's address": Shape(dest="224.0.0.251"), "to 255.255.255.255": Shape(dest="255.255.255.255"),
    "from where it goes": Shape(source=SERVER[0]), "from ::": Shape(1, source="::"), "from ::1": Shape(1, source="::1"),
    "from an IPv6 group": Shape(1, source="ff02::fb"), "to an IPv6 group": Shape(1, dest="ff02::fb"),
    "IPv6 from where it goes": Shape(1, source=SERVER[1]),
}


def cut_datagram(shape, payload, length):
    """The query with another length in its UDP header."""
    frame = shape.query(payload)
    at = len(shape.ethernet(shape.macs, b"")) + (20, 40)[shape.family]
    return frame[:at + 4] + struct.pack(">H", length) + frame[at + 6:]


# ---- mutations


def mutated(rng, payload):
    """Some bytes changed, cut off, inserted, repeated or appended."""
    data = bytearray(payload)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0 | 1:
                data[at:at + 1] = bytes([rng.choice((0, 1, 0x29, 0xC0, 63, 64, 255, rng.randrange(256)))])
            case 2:
                del data[at:]
            case 3:
                del data[at:at + rng.randrange(1, 5)]
            case 4:
                data[at:at] = data[at:at + rng.randrange(64)]
            case 5:
                data += rng.randbytes(rng.randrange(20))
    return bytes(data[:1400])


def expect_as_model(program, rng, payload):
    """Answered or not, as is_answered says, in any shape."""
    shape = rng.choice(list(SHAPES.values()))
    if not is_answered(payload):
        expect_dropped(program, shape.query(payload))
        return False
    try:
        expect_answer(program, shape, payload)
    except dns.exception.DNSException:  # options that dnspython does not read: the answer has none
        end = name_end(payload) + 4
        expect_answer(program, shape, payload[:end] + payload[end:end + 9] + b"\0\0" if payload[11] else payload)
    return True


def sound(frame, out):
    """An answer, to whatever frame: not longer, both checksums right, and all of it a truncated answer."""
    need(len(out) <= len(frame), "longer")
    at = 14
    while out[at - 2:at] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    family, size = out[at] >> 4, int.from_bytes(out[at + 2:at + 4], "big")
    packet = out[at:at + size] if family == 4 else out[at:at + 40 + int.from_bytes(out[at + 4:at + 6], "big")]
    ends, body = (packet[12:20], packet[20:]) if family == 4 else (packet[8:40], packet[40:])
    need(family == 6 or checksum(packet[:20]) == 0, "checksum of IPv4")
    need(checksum(ends + struct.pack(">II", len(body), UDP) + body) == 0, "checksum of UDP")
    need(int.from_bytes(body[4:6], "big") == len(body), "length of UDP")
    answer = dns.message.from_wire(body[8:])
    need(answer.flags & dns.flags.QR and answer.flags & dns.flags.TC and answer.opcode() == dns.opcode.QUERY, "flags")
    need(len(answer.question) == 1 and not answer.answer and not answer.authority and not answer.options, "sections")


def broken(rng, frame):
    data = bytearray(frame)
    for _ in range(rng.randrange(1, 4)):
        data[rng.randrange(12, min(len(data), 90))] = rng.choice((0, 1, 5, 6, 8, 0x11, 0x45, 0x46, 0x60, 0x81, 255, rng.randrange(256)))
    return bytes(data[:rng.choice((len(data), len(data), rng.randrange(14, len(data) + 1)))])


# ---- rows


def row(name, test, *words):
    """Whether it passes."""
    wrong = []
    try:
        test(*words)
    except (Wrong, dns.exception.DNSException) as failure:
        wrong = f"{type(failure).__name__} {failure}".splitlines()
    print(f"{'not ok' if wrong else 'ok'} {name}", *(f"# {line}" for line in wrong), sep="\n", flush=True)
    return not wrong


def all_answered(program, shape):
    for name, payload in ANSWERED.items():
        try:
            expect_answer(program, shape, payload)
        except (Wrong, dns.exception.DNSException) as failure:
            raise Wrong(f"{name}: {failure}") from failure


def all_dropped(program, shape):
    for name, payload in DROPPED.items():
        need(not is_answered(payload), name, "is a query")
        try:
            expect_dropped(program, shape.query(payload))
        except Wrong as failure:
            raise Wrong(f"{name}: {failure}") from failure


def lengths(program):
    for shape in Shape(), Shape(1):
        for payload in PLAIN, EDNS:
            whole = 8 + len(payload)
            expect_answer(program, shape, payload)
            for length in range(whole):
                expect_dropped(program, cut_datagram(shape, payload, length))


def mutations(program):
    rng, answered = random.Random(SEED), 0
    bases = [*ANSWERED.values(), *DROPPED.values()]
    for _ in range(MUTATIONS):
        answered += expect_as_model(program, rng, mutated(rng, rng.choice(bases)))
    need(MUTATIONS / 10 < answered < MUTATIONS * 9 / 10, answered, "of", MUTATIONS, "answered")


def broken_frames(program):
    rng, answered, bases = random.Random(SEED), 0, list(ANSWERED.values())
    for _ in range(MUTATIONS):
        frame = broken(rng, rng.choice(list(SHAPES.values())).query(rng.choice(bases)))
        verdict, out = program.run(frame)
        if verdict == TX:
            answered += 1
            sound(frame, out)
    need(answered > MUTATIONS / 10, answered, "of", MUTATIONS, "answered")


def main():
    program = Program(int(sys.argv[1]))
    program.run(Shape().query(PLAIN))  # the one within the limit
    passes = [row(f"{len(ANSWERED)} queries, {name}", all_answered, program, shape) for name, shape in SHAPES.items()]
    passes += [row(f"{len(DROPPED)} others, {name}", all_dropped, program, SHAPES[name]) for name in ("IPv4", "IPv6, 802.1ad, 802.1Q")]
    passes += [row(f"dropped: {name}", expect_dropped, program, shape.query(PLAIN)) for name, shape in HEADERS.items()]
    passes.append(row("each length of a datagram", lengths, program))
    passes.append(row("mutations of a message", mutations, program))
    passes.append(row("mutations of a frame", broken_frames, program))
    sys.exit(not all(passes))


if __name__ == "__main__":
    main()
