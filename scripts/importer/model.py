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


ESTABLISHED = "state established"  # in Match.other: what belongs to a connection that is known, or is related to one
PERIOD_S = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "7d": 7 * 86400}


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
    expire_s: float = None  # what was idle for so long is forgotten; None: never


@dataclasses.dataclass(eq=False)
class Step:
    """Verdicts: accept (the rest of the chain is not asked), drop, leave (perhaps it is not), unknown (nor
    the chains behind it); of a limit: above (what is over it is dropped) or within (what is within it is
    accepted, the rest goes on)."""
    place: str  # as messages name it
    verdict: str
    matches: list  # of Match: any of them
    limit: object = None  # a Limit, or true: one that a policy cannot have
    remark: str = ""
    differs: str = ""  # what differs all the same where it is carried
    unordered: str = ""  # a step that comes before or behind it, nobody knows
    translated: tuple = ()  # fields of its matches and its key that are not those of the packet that arrived

    def counts(self):
        return isinstance(self.limit, Limit)


@dataclasses.dataclass
class Chain:
    """What every packet meets that no chain before it has dropped."""
    name: str
    steps: list
    all_frames: bool = False  # it sees what is not IP, too


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
    return False


def meet(a, b):
    """Of steps: a packet may come to both."""
    return any(not apart(x, y) for x in a.matches for y in b.matches)


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
    count what they differ in, and no packet may meet two of them."""
    for name, field in (("sport", "sport"), ("dport", "dport"), ("proto", "proto"), ("src", "saddr"),
                        ("dst", "daddr"), ("family", "saddr")):
        values = {getattr(m, name) for m in matches}
        bits = dict(zip(("src", "dst"), limit.masks)).get(name)
        apart_by_mask = bits is None or all(v is None or v.prefixlen <= bits for v in values)
        if len(values) > 1 and not (field in limit.fields and apart_by_mask):
            what = {"src": "addresses", "dst": "addresses", "proto": "protocols", "family": "families"}.get(name, "ports")
            raise Left(f"counts several {what} together: each rule of a policy counts for itself")
    if any(not apart(a, b) for n, a in enumerate(matches) for b in matches[:n]):
        raise Left("matches the same packets twice over: each rule of a policy counts for itself")


def check_memory(limit):
    """A source that was forgotten before its burst was back has the whole burst again."""
    if limit.expire_s is None or limit.burst is None:
        return
    if limit.expire_s < 0:
        raise Left("forgets a source at a fixed time, whatever it owes: a policy never does")
    if limit.burst * PERIOD_S[limit.period] > limit.expire_s * limit.amount:
        raise Left(f"forgets a source after {limit.expire_s:g} s, before its burst of {limit.burst} is back: "
                   "a policy never does")
