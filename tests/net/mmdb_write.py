#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a database in MaxMind's format, from its published specification (version 2.0):

    mmdb_write.py FILE [--ipv4] [--alias] [--loop] <LINES

A line is PREFIX KEY=VALUE…, with the keys country, registered (ISO codes) and asn. Longer prefixes
come behind the shorter ones that hold them. --ipv4: a tree of IPv4 only. --alias: ::ffff:0:0/96 and
2002::/16 are the IPv4 part again, as in the published databases. --loop: a broken tree, whose nodes
lead back to the second.
"""
import ipaddress
import struct
import sys

MARKER = b"\xab\xcd\xefMaxMind.com"
SEPARATOR = bytes(16)
STRING, BYTES, UINT16, UINT32, MAP, UINT64, ARRAY = 2, 4, 5, 6, 7, 9, 11


def head(kind, size):
    """The control bytes of a value."""
    assert size < 29 + 256
    low = size if size < 29 else 29
    first = bytes([kind << 5 | low]) if kind <= 7 else bytes([low, kind - 7])
    return first + (bytes([size - 29]) if size >= 29 else b"")


def number(kind, value):
    """An integer, without leading zero bytes."""
    raw = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return head(kind, len(raw)) + raw


def encode(value):
    """A value of the data section."""
    if isinstance(value, dict):
        return head(MAP, len(value)) + b"".join(encode(k) + encode(v) for k, v in value.items())
    if isinstance(value, list):
        return head(ARRAY, len(value)) + b"".join(map(encode, value))
    if isinstance(value, tuple):
        return number(*value)
    raw = value.encode()
    return head(STRING, len(raw)) + raw


def record(words):
    """The record of a network, from KEY=VALUE words."""
    out = {}
    for key, value in (word.split("=") for word in words):
        if key == "asn":
            out["autonomous_system_number"] = (UINT32, int(value))
        else:
            name = "registered_country" if key == "registered" else key
            out[name] = {"iso_code": value}
    return out


class Tree:
    """Nodes are lists of two: None, a node, or the bytes of a record."""

    def __init__(self, bits):
        self.bits = bits
        self.root = [None, None]

    def insert(self, value, length, leaf):
        node = self.root
        for depth in range(length - 1):
            bit = value >> (self.bits - 1 - depth) & 1
            if not isinstance(node[bit], list):
                node[bit] = [node[bit], node[bit]]
            node = node[bit]
        node[value >> (self.bits - length) & 1] = leaf

    def below(self, value, length):
        """The node of a prefix, which is made if there is none."""
        node = self.root
        for depth in range(length):
            bit = value >> (self.bits - 1 - depth) & 1
            if not isinstance(node[bit], list):
                node[bit] = [node[bit], node[bit]]
            node = node[bit]
        return node

    def nodes(self):
        """Each node once, the root first."""
        found, seen, waiting = [], set(), [self.root]
        while waiting:
            node = waiting.pop(0)
            if id(node) in seen:
                continue
            seen.add(id(node))
            found.append(node)
            waiting += [child for child in node if isinstance(child, list)]
        return found


def read(lines, ipv4):
    tree = Tree(32 if ipv4 else 128)
    for line in lines:
        prefix, *words = line.split()
        network = ipaddress.ip_network(prefix)
        length = network.prefixlen + (96 if network.version == 4 and not ipv4 else 0)
        tree.insert(int(network.network_address), length, encode(record(words)))
    return tree


def write(tree, loop):
    """The whole file. With `loop`, what has no record leads back to the node of this number."""
    nodes = tree.nodes()
    # The root cannot be led to: libmaxminddb knows that it is wrong.
    numbers = {id(node): i for i, node in enumerate(nodes)}
    data, offsets = b"", {}

    def value(child):
        nonlocal data
        if child is None:
            return loop if loop else len(nodes)
        if isinstance(child, list):
            return numbers[id(child)]
        if child not in offsets:
            offsets[child] = len(data)
            data += child
        return len(nodes) + len(SEPARATOR) + offsets[child]

    search = b"".join(struct.pack(">I", value(child))[1:] for node in nodes for child in node)
    metadata = encode({
        "node_count": (UINT32, len(nodes)), "record_size": (UINT16, 24),
        "ip_version": (UINT16, 4 if tree.bits == 32 else 6), "database_type": "rlctl-test",
        "languages": ["en"], "binary_format_major_version": (UINT16, 2),
        "binary_format_minor_version": (UINT16, 0), "build_epoch": (UINT64, 1790000000),
        "description": {"en": "for tests"},
    })
    return search + SEPARATOR + data + MARKER + metadata


def main():
    path, *options = sys.argv[1:]
    tree = read(sys.stdin.read().splitlines(), "--ipv4" in options)
    if "--alias" in options:
        start = tree.below(0, 96)
        tree.insert(0xffff << 32, 96, start)
        tree.insert(0x2002 << 112, 16, start)
    with open(path, "wb") as file:
        file.write(write(tree, int("--loop" in options)))


main()
