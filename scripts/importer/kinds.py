# SPDX-License-Identifier: GPL-2.0-only
"""One packet of every kind that the matches of a firewall tell apart. A kind is known by the matches that hold
for it; fields that no match looks at are not told apart."""
import collections
import functools

from . import fields, ranges
from .model import RANGES, Left, joined_payload

Packet = collections.namedtuple("Packet", "family proto syn known held opens tracked", defaults=(True,))
# known: of a connection, None: that is not told; held: the ids of the matches that hold; tracked: by conntrack, None: perhaps
WITH_PORTS = (6, 17, 132)
WITH_PAYLOAD = (1, 6, 17, 58)
OTHER_PROTOCOL = 253
FIRST_ONLY = ("sport", "dport", "flags", "icmp", "payload", "not_payload")  # what a later fragment does not have
MOST = 3_000_000  # comparisons of matches: some seconds


@functools.lru_cache(maxsize=None)
def bounds(network):
    return network.version, int(network.network_address), int(network.broadcast_address)


def in_network(network, family, address):
    version, first, last = bounds(network)
    return version == family and first <= address <= last


# ---- each field: the values that its matches tell apart, and whether a match holds for a value

def families(_matches, _packet):
    return (4, 6)


def family_holds(match, value, _packet):
    return match.family in (None, value)


def protocols(matches, _packet):
    return sorted({1, 6, 17, 58, OTHER_PROTOCOL, *(m.proto for m in matches if m.proto is not None),
                   *(p for m in matches for p in m.not_proto)})


def protocol_holds(match, value, _packet):
    return match.proto in (None, value) and value not in match.not_proto


def address_field(side):
    def values(matches, packet):
        family = packet["family"]
        networks = [n for m in matches for n in (getattr(m, side), *getattr(m, f"not_{side}")) if n is not None]
        cut = ranges.starts([bounds(n)[1:] for n in networks if n.version == family])
        return [a for a in cut if a < 1 << (32 if family == 4 else 128)]

    def holds(match, value, packet):
        network = getattr(match, side)
        return (network is None or in_network(network, packet["family"], value)) and \
            not any(in_network(n, packet["family"], value) for n in getattr(match, f"not_{side}"))
    return side, values, holds


def parts_of_fragments(matches, _packet):
    """Later fragments are told apart where a match needs what they lack."""
    return (False, True) if any(m.later is not None or needs_header(m) for m in matches) else (False,)


def needs_header(match):
    return any(getattr(match, name) for name in FIRST_ONLY)


def fragment_holds(match, later, _packet):
    return match.later in (None, later) and not (later and needs_header(match))


def length_of(pattern, packet):
    """The length of the shortest IP packet that has the bytes."""
    return {4: 20, 6: 40}[packet["family"]] + (20 if packet["proto"] == 6 else 8) + pattern[-1][0] + 1


def range_field(name, protos=None):
    """protos: the protocols that have the field; None: every packet has it."""
    def values(matches, packet):
        if packet["later"] and name in FIRST_ONLY or protos and packet["proto"] not in protos:
            return (None,)
        cut = [r for m in matches for r in getattr(m, name) or ()]
        if name == "length":
            cut += [(length_of(p, packet), RANGES[name]) for m in matches for p in (m.payload, *m.not_payload) if p]
        return [v for v in ranges.starts(cut) if v <= RANGES[name]]

    def holds(match, value, _packet):
        wanted = getattr(match, name)
        return wanted is None or value is not None and ranges.within(wanted, value)
    return name, values, holds


def flag_values(matches, packet):
    """One byte of every set that the matches tell apart, of SYN, of what opens a connection, and of the others."""
    if packet["later"] or packet["proto"] != 6:
        return (None,)
    wanted = list({m.flags for m in matches if m.flags is not None})
    found = {}
    for byte in range(256):
        found.setdefault((fields.SYN >> byte & 1, fields.OPENS >> byte & 1, *(w >> byte & 1 for w in wanted)), byte)
    return list(found.values())


def flags_hold(match, value, _packet):
    return match.flags is None or value is not None and bool(match.flags >> value & 1)


def payloads(matches, packet):
    """Every set of patterns that may hold at once, as {pattern: True, False or None where the packet is too short}."""
    patterns = list(dict.fromkeys(p for m in matches for p in (m.payload, *m.not_payload) if p))
    if packet["later"] or packet["proto"] not in WITH_PAYLOAD:
        return [dict.fromkeys(patterns)]
    negated = {p for m in matches for p in m.not_payload}
    worlds = [((), {})]
    for pattern in patterns:
        grown = []
        for known, states in worlds:
            both = joined_payload(known, pattern)
            if both is not None and packet["length"] >= length_of(pattern, packet):
                grown.append((both, {**states, pattern: True}))
            if both != known:
                grown += [(known, {**states, pattern: state}) for state in (False, *[None] * (pattern in negated))]
        worlds = grown
        if len(worlds) > 4096:
            raise Left("has too many payloads to compare with a policy: convert a part of it")
    return [states for _, states in worlds]


def payload_holds(match, value, _packet):
    return (not match.payload or value[match.payload] is True) and all(value[p] is False for p in match.not_payload)


def connections(told):
    """told: the protocols whose known connections are told apart; a SYN and a later fragment are of none."""
    def values(_matches, packet):
        if not told(packet["proto"]):
            return (None,)
        syn = packet["flags"] is not None and fields.SYN >> packet["flags"] & 1
        return (False,) if packet["later"] or syn else (False, True)
    return "known", values, lambda match, value, packet: True


DISTINCT = ("family", "proto", "later", "flags", "known", "length")  # all values, though the same matches hold


def order(told):
    return [("family", families, family_holds), address_field("src"), ("proto", protocols, protocol_holds),
            address_field("dst"), ("later", parts_of_fragments, fragment_holds), range_field("dport", WITH_PORTS),
            range_field("sport", WITH_PORTS), ("flags", flag_values, flags_hold), range_field("icmp", (1, 58)),
            range_field("length"), range_field("ttl"), range_field("dscp"), ("payload", payloads, payload_holds),
            connections(told)]


class Kinds:
    def __init__(self, matches, told):
        self.order, self.matches, self.found, self.count = order(told), matches, {}, 0

    def split(self, matches, packet, depth):
        """By one field after the other; only matches that hold so far tell further fields apart."""
        if depth == len(self.order):
            syn, opens = (packet["flags"] is not None and bool(s >> packet["flags"] & 1) for s in (fields.SYN, fields.OPENS))
            found = Packet(packet["family"], packet["proto"], syn, packet["known"], frozenset(map(id, matches)), opens)
            self.found[found] = None
            return
        name, values, holds = self.order[depth]
        seen = set()
        for value in values(matches, packet):
            packet[name] = value
            self.count += len(matches)
            if self.count > MOST:
                raise Left("has too many kinds of packets to compare with a policy: convert a part of it")
            rest = [m for m in matches if holds(m, value, packet)]
            alike = tuple(map(id, rest))
            if name in DISTINCT or alike not in seen:
                seen.add(alike)
                self.split(rest, packet, depth + 1)


def packets(matches, told):
    kinds = Kinds(matches, told)
    kinds.split(matches, {}, 0)
    return list(kinds.found)
