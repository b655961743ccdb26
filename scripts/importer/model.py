# SPDX-License-Identifier: GPL-2.0-only
"""The model that all formats are read into: the steps that a packet meets, in order."""
import dataclasses
import ipaddress

from . import ranges


class Left(Exception):
    """The reason why a rule is left out."""


RANGES = {"sport": 65535, "dport": 65535, "length": 65535, "ttl": 255, "dscp": 63, "icmp": 65535}  # the greatest number


@dataclasses.dataclass
class Match:
    """The packets of a rule; None matches all. `other`: matches that a policy does not have. Fields of RANGES
    are sets of numbers as in ranges.py; length, ttl and dscp are known of every packet, the others, flags and
    payload of none that lacks them."""
    family: int = None  # 4 or 6
    proto: int = None
    not_proto: tuple = ()
    sport: tuple = None
    dport: tuple = None
    src: object = None  # an ip_network
    dst: object = None
    not_src: tuple = ()  # of ip_network
    not_dst: tuple = ()
    flags: int = None  # of TCP: a set as in fields.py
    icmp: tuple = None  # types and codes as in fields.py
    length: tuple = None  # of the IP packet
    ttl: tuple = None
    dscp: tuple = None
    payload: tuple = ()  # ((offset, mask, byte), …) after the transport header
    not_payload: tuple = ()  # of such patterns
    pending: tuple = ()  # what compares bytes, until all else is known: each has `read`
    later: bool = None  # fragments after the first
    device: str = None
    known: bool = None  # of a connection: in rules of a policy alone
    only_syn: bool = False  # narrowed to SYN: in rules of a policy alone
    fresh: bool = False  # of a source that is not known yet: in rules of a policy alone
    other: tuple = ()

    def copy(self, **changes):
        return dataclasses.replace(self, **changes)


ESTABLISHED = "state established"  # in Match.other: packets of known or related connections
RELATED = "state related"  # the same of those that are only related
NEW = "state NEW"
INVALID = "state INVALID"
LEFT_LIMIT = "a limit that was left out"


def state_word(names):
    """The word for Match.other of packets in one of these states of conntrack."""
    names = {name.upper() for name in names}
    if names <= {"ESTABLISHED", "RELATED"}:
        return ESTABLISHED if "ESTABLISHED" in names else RELATED
    return "state " + ",".join(sorted(names))


def is_known(match):
    """Does only the state of its connection keep the match from being one of a policy?"""
    return bool(match.other) and set(match.other) == {ESTABLISHED}


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
    connections: bool = False  # `amount` is of open connections


@dataclasses.dataclass(eq=False)
class Step:
    """Verdicts: accept (ends the chain), drop, leave (skips the other steps inside `leaves`), untrack (conntrack does not
    look at the packet), unknown (may end this chain and the later ones); for a limit: above (packets over it are dropped) or within (packets within it are
    accepted, the others go on)."""
    place: str  # for messages
    verdict: str
    matches: list  # of Match: one of them must match
    limit: object = None  # a Limit, or True: one that cannot be carried over
    remark: str = ""
    differs: tuple = ()  # what differs although it is carried over
    unordered: str = ""  # a step that may come before or after it
    translated: tuple = ()  # fields of its matches and key that NAT has rewritten
    inside: tuple = ()  # numbers of the jumps that lead to it
    leaves: int = None  # of the jump that it returns from

    def counts(self):
        return isinstance(self.limit, Limit)


@dataclasses.dataclass
class Options:
    """The user's words about the machine, and how `established` is to be told."""
    device: str = None
    host: bool = False  # it forwards nothing
    conntrack: bool = False  # the policy is for attach --state conntrack
    every: bool = False  # `established` stands for ESTABLISHED of every protocol, not of TCP alone
    family: int = None  # 4 or 6: of tables of iptables that do not say it
    close: bool = False  # limits that are not equal are carried, too, with what differs


@dataclasses.dataclass
class Chain:
    """The steps for packets that no earlier chain has dropped."""
    name: str
    steps: list
    all_frames: bool = False  # it sees non-IP frames, too
    told: bool = False  # a policy knows the connections of its packets


def network_of(text):
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise Left(f"'{text}' is not an address") from None


def networks_of(first, last):
    """The networks that make up a range of addresses."""
    try:
        return list(ipaddress.summarize_address_range(ipaddress.ip_address(first), ipaddress.ip_address(last)))
    except (ValueError, TypeError):
        raise Left(f"'{first}-{last}' is not a range of addresses") from None


def is_host(network):
    return network is not None and network.prefixlen == network.max_prefixlen


def apart(a, b):
    """Certainly no packet matches both."""
    return joined(a, b) is None


def meet(a, b):
    """May a packet match both steps?"""
    return any(not apart(x, y) for x in a.matches for y in b.matches)


def joined_address(a, b, side):
    """Network and excluded networks that both allow; None if there is no address left."""
    x, y = getattr(a, side), getattr(b, side)
    if x and y and (x.version != y.version or not x.overlaps(y)):
        return None
    network = x if not y or x and x.subnet_of(y) else y
    without = tuple(dict.fromkeys(getattr(a, f"not_{side}") + getattr(b, f"not_{side}")))
    if network and any(n.version == network.version and network.subnet_of(n) for n in without):
        return None
    if network:
        without = tuple(n for n in without if n.version == network.version and n.overlaps(network))
    return {side: network, f"not_{side}": without}


def joined_payload(a, b):
    """The pattern of both; None if they contradict each other."""
    found = {offset: (mask, byte) for offset, mask, byte in a}
    for offset, mask, byte in b:
        before, value = found.get(offset, (0, 0))
        if (value ^ byte) & before & mask:
            return None
        found[offset] = (before | mask, value | byte)
    return tuple((offset, *found[offset]) for offset in sorted(found))


def joined_plain(a, b):
    """Family, protocol and device of both; None if they differ."""
    changes = {"not_proto": tuple(dict.fromkeys(a.not_proto + b.not_proto))}
    for name in ("family", "proto", "device", "later"):
        x, y = getattr(a, name), getattr(b, name)
        if None not in (x, y) and x != y:
            return None
        changes[name] = x if y is None else y
    if changes["proto"] in changes["not_proto"]:
        return None
    if changes["proto"] is not None:
        changes["not_proto"] = ()
    return changes


def joined(a, b):
    """The intersection; None if it is empty."""
    changes = {name: tuple(dict.fromkeys(getattr(a, name) + getattr(b, name))) for name in ("other", "pending", "not_payload")}
    for part in (joined_plain(a, b), joined_address(a, b, "src"), joined_address(a, b, "dst")):
        if part is None:
            return None
        changes.update(part)
    for name in RANGES:
        changes[name] = ranges.common(getattr(a, name), getattr(b, name))
        if changes[name] == ():
            return None
    changes["flags"] = b.flags if a.flags is None else a.flags if b.flags is None else a.flags & b.flags
    changes["payload"] = joined_payload(a.payload, b.payload)
    if changes["flags"] == 0 or changes["payload"] is None:
        return None
    return Match(**changes)


SEPARATE = {"sport": "ports", "dport": "ports", "proto": "protocols", "src": "addresses", "dst": "addresses",
            "family": "families", "icmp": "ICMP types", "flags": "sets of TCP flags", "length": "lengths", "ttl": "TTLs",
            "dscp": "DSCPs", "payload": "payloads", "not_payload": "payloads", "not_src": "addresses",
            "not_dst": "addresses"}
IN_KEY = {"sport": "sport", "dport": "dport", "proto": "proto", "src": "saddr", "dst": "daddr", "family": "saddr"}


def check_separate(matches, limit):
    """A limit with several matches becomes several rules, each of which counts separately: the key must
    contain the fields in which they differ, and no packet may match two of them."""
    for name, what in SEPARATE.items():
        values = [getattr(m, name) for m in matches]
        bits = dict(zip(("src", "dst"), limit.masks)).get(name)
        apart_by_mask = bits is None or all(v is None or v.prefixlen <= bits for v in values)
        if any(v != values[0] for v in values) and not (IN_KEY.get(name) in limit.fields and apart_by_mask):
            raise Left(f"counts several {what} together: each rule of a policy counts separately")
    if any(not apart(a, b) for n, a in enumerate(matches) for b in matches[:n]):
        raise Left("matches the same packets twice: each rule of a policy counts separately")


def memory_differs(limit):
    """A source that is forgotten before its burst is refilled gets the whole burst again. A policy does otherwise."""
    if limit.expire_s is None or limit.burst is None:
        return ()
    after = f"{abs(limit.expire_s):g} s"
    if limit.expire_s < 0:
        return (f"the firewall gives each source its whole burst again every {after}, as it forgets it even with debt",)
    if limit.burst * PERIOD_S[limit.period] > limit.expire_s * limit.amount:
        back = max(1, int(limit.expire_s * limit.amount / PERIOD_S[limit.period]))
        return (f"a source that is silent for {after} has its whole burst of {limit.burst} again in the firewall, in a policy "
                f"{back} of it",)
    return ()
