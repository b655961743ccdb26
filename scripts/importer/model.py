# SPDX-License-Identifier: GPL-2.0-only
"""The model that all formats are read into: the steps that a packet meets, in order."""
import dataclasses
import ipaddress


class Left(Exception):
    """The reason why a rule is left out."""


@dataclasses.dataclass
class Match:
    """The packets of a rule; None matches all. `other`: matches that a policy does not have."""
    family: int = None  # 4 or 6
    proto: int = None
    sport: tuple = None  # (first, last)
    dport: tuple = None
    src: object = None  # an ip_network
    dst: object = None
    syn: bool = False
    device: str = None
    known: bool = None  # of a connection: in rules of a policy alone
    other: tuple = ()

    def copy(self, **changes):
        return dataclasses.replace(self, **changes)


ESTABLISHED = "state established"  # in Match.other: packets of known or related connections
RELATED = "state related"  # the same of those that are only related


def is_known(match):
    """Does only the state of its connection keep the match from being one of a policy?"""
    return bool(match.other) and set(match.other) == {ESTABLISHED}


def no_syn(match):
    """Does the state of connections keep a SYN from the match?"""
    return bool(match.other) and set(match.other) <= {ESTABLISHED, RELATED}


PERIOD_S = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "7d": 7 * 86400}


@dataclasses.dataclass
class Limit:
    amount: int  # packets or bytes
    period: str
    burst: int  # size of the bucket; None: a window that begins with a packet
    is_bytes: bool
    fields: frozenset  # the key, of saddr, daddr, sport, dport, proto
    masks: tuple = (None, None)  # bits of saddr and daddr that count; None: all
    over: str = ""
    table: str = None  # limits with the same table share their counts
    expire_s: float = None  # a source is forgotten when idle for this time; None: never


@dataclasses.dataclass(eq=False)
class Step:
    """Verdicts: accept (ends the chain), drop, leave (may end the chain), unknown (may end this chain and
    the later ones); for a limit: above (packets over it are dropped) or within (packets within it are
    accepted, the others go on)."""
    place: str  # for messages
    verdict: str
    matches: list  # of Match: one of them must match
    limit: object = None  # a Limit, or True: one that cannot be carried over
    remark: str = ""
    differs: str = ""  # what differs although it is carried over
    unordered: str = ""  # a step that may come before or after it
    translated: tuple = ()  # fields of its matches and key that NAT has rewritten

    def counts(self):
        return isinstance(self.limit, Limit)


@dataclasses.dataclass
class Chain:
    """The steps for packets that no earlier chain has dropped."""
    name: str
    steps: list
    all_frames: bool = False  # it sees non-IP frames, too
    local: bool = False  # its packets are for this machine, whose sockets know their connections


def network_of(text):
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise Left(f"'{text}' is not an address") from None


def is_host(network):
    return network is not None and network.prefixlen == network.max_prefixlen


def apart(a, b):
    """Certainly no packet matches both."""
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
    """May a packet match both steps?"""
    return any(not apart(x, y) for x in a.matches for y in b.matches)


def joined(a, b):
    """The intersection; None if it is empty."""
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
    """A limit with several matches becomes several rules, each of which counts separately: the key must
    contain the fields in which they differ, and no packet may match two of them."""
    for name, field in (("sport", "sport"), ("dport", "dport"), ("proto", "proto"), ("src", "saddr"),
                        ("dst", "daddr"), ("family", "saddr")):
        values = {getattr(m, name) for m in matches}
        bits = dict(zip(("src", "dst"), limit.masks)).get(name)
        apart_by_mask = bits is None or all(v is None or v.prefixlen <= bits for v in values)
        if len(values) > 1 and not (field in limit.fields and apart_by_mask):
            what = {"src": "addresses", "dst": "addresses", "proto": "protocols", "family": "families"}.get(name, "ports")
            raise Left(f"counts several {what} together: each rule of a policy counts separately")
    if any(not apart(a, b) for n, a in enumerate(matches) for b in matches[:n]):
        raise Left("matches the same packets twice: each rule of a policy counts separately")


def check_memory(limit):
    """A source that is forgotten before its burst is refilled gets the whole burst again."""
    if limit.expire_s is None or limit.burst is None:
        return
    if limit.expire_s < 0:
        raise Left("forgets a source at a fixed time, even with debt: a policy never does")
    if limit.burst * PERIOD_S[limit.period] > limit.expire_s * limit.amount:
        raise Left(f"forgets a source after {limit.expire_s:g} s, before its burst of {limit.burst} is refilled: "
                   "a policy never does")
