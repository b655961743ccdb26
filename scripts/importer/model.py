# SPDX-License-Identifier: GPL-2.0-only
"""What the formats are read into: steps that a packet meets one after the other, as in a chain.
Knows no format and no word of a policy."""
import dataclasses
import ipaddress


class Left(Exception):
    """Why a rule is left out."""


@dataclasses.dataclass
class Match:
    """Which packets; None is all. What a policy has no word for stands in `other`."""
    family: int = None  # 4 or 6
    proto: int = None
    sport: tuple = None  # (first, last)
    dport: tuple = None
    src: object = None  # an ip_network
    dst: object = None
    syn: bool = False
    device: str = None
    other: tuple = ()

    def copy(self, **changes):
        return dataclasses.replace(self, **changes)


ESTABLISHED = "state established"  # in Match.other: what belongs to a connection that is known


@dataclasses.dataclass
class Limit:
    amount: int  # packets or bytes
    period: str
    burst: int  # what the bucket holds; None: no bucket but a window that begins with a packet
    is_bytes: bool
    fields: frozenset  # of saddr, daddr, sport, dport, proto: what it counts by
    masks: tuple = (None, None)  # bits of saddr and daddr that count; None: all
    over: str = ""
    table: str = None  # limits that name the same one share their counts


@dataclasses.dataclass
class Step:
    """Verdicts: accept, drop, leave (the rest of the chain is not asked); of a limit: above (what is
    over it is dropped) or within (what is within it is accepted, the rest goes on)."""
    place: str  # as messages name it
    verdict: str
    matches: list  # of Match: any of them
    limit: Limit = None
    remark: str = ""
    unsayable: str = ""  # of what lets packets past: why a policy cannot say so
    rules: list = dataclasses.field(default_factory=list)  # the matches that became rules

    def lets_past(self):
        return self.verdict in ("accept", "leave", "within")


def network_of(text):
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise Left(f"'{text}' is no address") from None


def is_host(network):
    return network is not None and network.prefixlen == network.max_prefixlen


def apart(a, b):
    """No packet is in both, for certain."""
    for x, y in ((a.family, b.family), (a.proto, b.proto), (a.device, b.device)):
        if x is not None and y is not None and x != y:
            return True
    for x, y in ((a.sport, b.sport), (a.dport, b.dport)):
        if x and y and (x[1] < y[0] or y[1] < x[0]):
            return True
    for x, y in ((a.src, b.src), (a.dst, b.dst)):
        if x and y and (x.version != y.version or not x.overlaps(y)):
            return True
    return a.syn and ESTABLISHED in b.other or b.syn and ESTABLISHED in a.other


def meet(a, b):
    """Of steps: a packet may come to both."""
    return any(not apart(x, y) for x in a.matches for y in b.matches)


def inside_ports(inner, outer):
    return not outer or (inner and outer[0] <= inner[0] and inner[1] <= outer[1])


def inside(inner, outer):
    """Of networks; None is all."""
    return not outer or (inner and inner.version == outer.version and inner.subnet_of(outer))


def covers(outer, inner):
    """Every packet of `inner` is in `outer`."""
    same = all(x is None or x == y for x, y in ((outer.family, inner.family), (outer.proto, inner.proto),
                                                (outer.device, inner.device)))
    return (same and set(outer.other) <= set(inner.other) and (inner.syn or not outer.syn) and
            inside_ports(inner.sport, outer.sport) and inside_ports(inner.dport, outer.dport) and
            inside(inner.src, outer.src) and inside(inner.dst, outer.dst))


def joined(a, b):
    """What is in both; None where nothing is."""
    if apart(a, b):
        return None
    changes = {"other": a.other + b.other, "syn": a.syn or b.syn}
    for name in ("family", "proto", "device"):
        changes[name] = getattr(a, name) if getattr(b, name) is None else getattr(b, name)
    for name in ("sport", "dport"):
        x, y = getattr(a, name), getattr(b, name)
        changes[name] = (max(x[0], y[0]), min(x[1], y[1])) if x and y else x or y
    for name in ("src", "dst"):
        x, y = getattr(a, name), getattr(b, name)
        changes[name] = x if not y or x and x.subnet_of(y) else y
    return Match(**changes)


def check_separate(matches, limit):
    """A limit of several matches is several rules, each of which counts for itself: the key has to
    count what they differ in."""
    for name, field in (("sport", "sport"), ("dport", "dport"), ("proto", "proto"), ("src", "saddr"),
                        ("dst", "daddr")):
        values = {getattr(m, name) for m in matches}
        bits = dict(zip(("src", "dst"), limit.masks)).get(name)
        apart_by_mask = bits is None or all(v is None or v.prefixlen <= bits for v in values)
        if len(values) > 1 and not (field in limit.fields and apart_by_mask):
            what = {"src": "addresses", "dst": "addresses", "proto": "protocols"}.get(name, "ports")
            raise Left(f"counts several {what} together: each rule of a policy counts for itself")
