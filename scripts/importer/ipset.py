# SPDX-License-Identifier: GPL-2.0-only
"""Reads the output of `ipset save`: sets of addresses, networks and ports, as matches."""
import dataclasses
import re

from . import ranges
from .model import Left, Match, network_of, networks_of

MOST = 256  # elements of a set that become rules
PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}
SIDES = {"src": ("src", "sport"), "dst": ("dst", "dport")}
KINDS = ("ip", "net", "port")


@dataclasses.dataclass
class Set:
    kinds: list  # what an element has: ip, net, port
    why: str = ""  # why its elements are not those of a policy
    elements: list = dataclasses.field(default_factory=list)

    def matches(self, sides, family):
        """One for each element; ports alone are one match."""
        if len(sides) != len(self.kinds) or not set(sides) <= set(SIDES):
            raise Left("matches by a set, but not by as many of src and dst as its elements have")
        if self.kinds == ["port"]:
            found = [port_of(e) for e in self.elements]
            protos = {proto for proto, _ in found}
            return [Match(proto=proto, **{SIDES[sides[0]][1]: ranges.normal(p for q, p in found if q == proto)})
                    for proto in protos]
        found = [m for element in self.elements for m in element_matches(element.split(","), self.kinds, sides)]
        return [m for m in found if m.family in (None, family)]


def port_of(text):
    """Protocol and range of ports of [PROTO:]PORT[-PORT]."""
    proto, _, port = text.rpartition(":")
    if proto not in ("", *PROTOCOLS) or not re.fullmatch(r"\d+(-\d+)?", port):
        raise Left(f"matches by a set with '{text}', which is no port")
    first, _, last = port.partition("-")
    return PROTOCOLS.get(proto), (int(first), int(last or first))


def element_matches(parts, kinds, sides):
    found = [Match()]
    for part, kind, side in zip(parts, kinds, sides):
        address, port = SIDES[side]
        if kind == "port":
            proto, numbers = port_of(part)
            found = [m.copy(proto=6 if proto is None else proto, **{port: (numbers,)}) for m in found]
        else:
            networks = networks_of(*part.split("-")) if "-" in part else [network_of(part)]
            found = [m.copy(family=n.version, **{address: n}) for m in found for n in networks]
    return found


def opposite(matches, name):
    """The match of all packets that have none of the elements."""
    if all(m == Match(family=m.family, src=m.src) for m in matches):
        return Match(not_src=tuple(m.src for m in matches))
    if all(m == Match(family=m.family, dst=m.dst) for m in matches):
        return Match(not_dst=tuple(m.dst for m in matches))
    raise Left(f"matches by not being in the set {name} of ports")


def created(words):
    """The set of a line `create NAME TYPE OPTION…`."""
    kinds = words[2].partition(":")[2].split(",")
    if "timeout" in words:
        return Set(kinds, "whose elements come and go")
    if not set(kinds) <= set(KINDS) or len(kinds) > 2 or kinds.count("port") == 2:
        return Set(kinds, f"of the type {words[2]}")
    if {"netmask", "bitmask"} & set(words):
        return Set(kinds, "whose elements stand for networks (netmask)")
    return Set(kinds)


def read(text):
    """The sets by name. A set that a rule adds to changes."""
    sets = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 2 and words[0] == "create":
            sets[words[1]] = created(words)
        elif len(words) > 2 and words[0] == "add" and words[1] in sets:
            found = sets[words[1]]
            found.elements.append(words[2])
            if len(found.elements) > MOST:
                found.why = f"of more than {MOST} elements"
            elif "nomatch" in words:
                found.why = "with exceptions (nomatch)"
        changed = re.search(r"--(?:add|del)-set (\S+)", line)
        if changed and changed[1] in sets:
            sets[changed[1]].why = "whose elements rules change"
    return sets
