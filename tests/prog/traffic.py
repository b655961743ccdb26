# SPDX-License-Identifier: GPL-2.0-only
"""Clients and floods for examples.py, as packets with times: (nanoseconds, frame), in order. Those that the machine
sends itself make connections and questions, as simulate --local follows them."""
import random
from heapq import merge

SECOND = 10**9
BEGIN = 1000 * SECOND
FLOOD_RATE = 100_000
FORGED_S, FLOOD_S = 0.5, 0.25  # the first takes a while to fill a server
HOST = "203.0.113.80"  # the machine, or one behind the router

UDP, TCP, ICMP = 17, 6, 1
SYN, ACK = 2, 16
BEFORE_ZERO = b"\xff" * 4  # the sequence number in front of 0, which is that of every other segment
SMALL, FULL = 60, 1514


def address(text):
    return bytes(map(int, text.split(".")))


def frame(source, proto, sport=0, dport=0, flags=ACK, payload=b""):
    """The bytes that the limiter reads, and a few more; the size of Ethernet's least."""
    head = bytes(12) + b"\x08\x00" + b"\x45\0\0\x2e\0\0\0\0\x40" + bytes([proto, 0, 0])
    ports = sport.to_bytes(2, "big") + dport.to_bytes(2, "big")
    rest = {UDP: ports + b"\0\x1a\0\0" + payload, TCP: ports + bytes(8) + bytes([0x50, flags, 0, 9]) + bytes(4),
            ICMP: b"\x08" + bytes(7)}[proto]
    return head + (address(source) if isinstance(source, str) else source) + address(HOST) + rest.ljust(26, b"\0")


def sent(dest, proto, sport, dport, flags=ACK):
    """The machine sends it; its SYN has the sequence number that the frames of others acknowledge."""
    head, rest = (lambda whole: (whole[:26], whole[34:]))(frame(HOST, proto, sport, dport, flags))
    if flags & SYN:
        rest = rest[:4] + BEFORE_ZERO + rest[8:]
    return head + address(HOST) + address(dest) + rest


def is_sent(data):
    return data[26:30] == address(HOST)


def paced(rate, begin, seconds, *frames):
    """The frames in turn, RATE of them a second."""
    step = SECOND // rate
    for i in range(int(rate * seconds)):
        yield begin + i * step, frames[i % len(frames)]


def asked(rate, begin, seconds, *questions):
    """Answers of name servers to questions (server, port of the machine), each a millisecond after it."""
    return merge(paced(rate, begin - SECOND // 1000, seconds, *(sent(server, UDP, port, 53) for server, port in questions)),
                 paced(rate, begin, seconds, *(frame(server, UDP, 53, port) for server, port in questions)))


# ---- clients, from BEGIN on for a time. The first nanoseconds set them apart, so that the order is always the same.


def players(port):
    """16 of them, 64 packets a second each."""
    frames = [frame(f"198.18.1.{i}", UDP, 5000 + i, port) for i in range(1, 17)]
    return lambda seconds: paced(16 * 64, BEGIN, seconds, *frames)


def resolvers(seconds):
    """20 in five networks, 100 queries a second each."""
    frames = [frame(f"198.18.{20 + i % 5}.{i}", UDP, 30000 + i, 53) for i in range(20)]
    return paced(2000, BEGIN + 1, seconds, *frames)


def browsers(*ports):
    """8 of them; each opens 6 connections a second, and sends 94 more packets on them."""
    frames = [frame(f"198.18.3.{who}", TCP, 40000 + i, ports[i % len(ports)], SYN if i % 16 == 0 and i < 96 else ACK)
              for i in range(100) for who in range(8)]
    return lambda seconds: paced(800, BEGIN + 2, seconds, *frames)


def connection(source, port, rate):
    """It is opened once, and then sends that many packets a second."""
    def play(seconds):
        opened = [(BEGIN + port, frame(source, TCP, 50000, port, SYN)),
                  (BEGIN + port, sent(source, TCP, port, 50000, SYN | ACK))]
        return merge(opened, paced(rate, BEGIN + port + 1, seconds, frame(source, TCP, 50000, port)))
    return play


def download(seconds):
    """A download of the machine from one server, at ten thousand packets a second."""
    opened = [(BEGIN + 1, sent("198.18.6.1", TCP, 40000, 443, SYN)),
              (BEGIN + 2, frame("198.18.6.1", TCP, 443, 40000, SYN | ACK))]
    return merge(opened, paced(10_000, BEGIN + 3, seconds, frame("198.18.6.1", TCP, 443, 40000)))


def answers(source, lowest_port=32768):
    """Answers of the resolver that this machine's own forwards to: 4000 a second."""
    ports = random.Random(3).choices(range(lowest_port, 61000), k=500)
    return lambda seconds: asked(4000, BEGIN + 4, seconds, *((source, port) for port in ports))


def few_answers(seconds):
    """Answers of name servers that this machine asks."""
    return asked(500, BEGIN + 5, seconds, *((f"198.18.7.{i}", 33000 + i) for i in range(50)))


def pings(seconds):
    return paced(2, BEGIN + 6, seconds, *(frame(f"198.18.8.{i}", ICMP) for i in range(2)))


# ---- floods, from a time on


KINDS = {(UDP, SYN): "UDP", (UDP, ACK): "UDP", (TCP, SYN): "SYNs", (TCP, ACK): "TCP"}


class Flood:
    """rule: what the line of the limit that holds it begins with, None for one that is to end at once;
    keys: how many it has under that limit."""

    def __init__(self, name, rule, keys, packets, seconds=FLOOD_S):
        self.name, self.rule, self.keys, self.packets, self.seconds = name, rule, keys, packets, seconds


def of(frames):
    return lambda begin: paced(FLOOD_RATE, begin, FLOOD_S, *frames)


def forged(rule, dport, proto=UDP):
    """Random addresses, each as good as new."""
    before, _, after = frame(b"SRC!", proto, 1000, dport, SYN).partition(b"SRC!")

    def play(begin):
        draw = random.Random(dport)
        for time, _ in paced(FLOOD_RATE, begin, FORGED_S, None):
            yield time, before + (0x0B000000 | draw.getrandbits(24)).to_bytes(4, "big") + after
    return Flood(f"forged {KINDS[proto, SYN]} to port {dport}", rule, 1, play, FORGED_S)


def heavy(rule, dport, proto=UDP, flags=ACK, payload=b""):
    """Four addresses of four networks."""
    return Flood(f"{KINDS[proto, flags]} of four sources to port {dport}", rule, 4,
                 of([frame(f"198.19.{i}.1", proto, 1000, dport, flags, payload) for i in range(4)]))


def fragments(rule):
    """Fragments of UDP after the first, from four addresses."""
    whole = [frame(f"198.22.0.{i}", UDP) for i in range(4)]
    return Flood("fragments", rule, 1, of([data[:20] + b"\0\x64" + data[22:] for data in whole]))


def reflected(rule, sport):
    """Answers of 2000 servers to what this machine did not ask for."""
    return Flood(f"reflected from port {sport}", rule, 1,
                 of([frame(f"198.20.{i >> 8}.{i & 255}", UDP, sport, 40000) for i in range(2000)]))


def pinged(rule, keys=4):
    return Flood("four pinging", rule, keys, of([frame(f"198.21.0.{i}", ICMP) for i in range(4)]))


def coming_from(rule, source, proto=UDP, dport=53):
    return Flood(f"from {source}", rule, 1, of([frame(source, proto, 1000, dport)]))
