# SPDX-License-Identifier: GPL-2.0-only
"""Checks that a policy is equivalent to the chains of a firewall, with one packet of every kind that their
matches tell apart. On a machine that forwards nothing, one of those kinds is TCP of a known connection, which the
machine's sockets tell. If a match has other words that a policy lacks, both outcomes are considered. The policy is
equivalent if, for each packet, the verdict is

- deny: the firewall certainly drops it, and no limit has counted it before;
- a limit: it is the first step that may drop or count the packet, and no other carried limit counts it;
- neither: no carried limit counts it."""
import collections
import functools
import itertools

from .model import ESTABLISHED, Left, is_known, no_syn

Packet = collections.namedtuple("Packet", "family proto src dst sport dport syn known")
# known: of a connection; None: that is not told
Event = collections.namedtuple("Event", "step cause")  # cause: the step that makes it uncertain, or None
WITH_PORTS = (6, 17, 132)
OTHER_PROTOCOL = 253
MOST = 1_500_000  # comparisons of matches: some seconds


@functools.lru_cache(maxsize=None)
def bounds(network):
    return network.version, int(network.network_address), int(network.broadcast_address)


def in_network(network, family, address):
    if network is None:
        return True
    version, first, last = bounds(network)
    return version == family and first <= address <= last


def in_ports(ports, port):
    return not ports or port is not None and ports[0] <= port <= ports[1]


def holds(match, p):
    return (match.family in (None, p.family) and match.proto in (None, p.proto) and (p.syn or not match.syn) and
            (match.known is None or match.known == p.known) and in_ports(match.dport, p.dport) and in_ports(match.sport, p.sport) and in_network(match.src, p.family, p.src) and
            in_network(match.dst, p.family, p.dst))


def hits(step, p):
    """True, False, or None (unknown). A SYN is assumed to belong to no known connection."""
    found = False
    for match in step.matches:
        if not holds(match, p) or (ESTABLISHED in match.other and p.known is False) or (p.syn and no_syn(match)):
            continue
        if not match.other or (p.known and is_known(match)):
            return True
        found = None
    return found


# ---- kinds of packets

def starts(ranges):
    """The first value of every interval that no range divides."""
    return sorted({0}.union(*({first, last + 1} for first, last in ranges)))


def addresses(networks, family):
    ranges = [bounds(n)[1:] for n in networks if n is not None and n.version == family]
    return [a for a in starts(ranges) if a < 1 << (32 if family == 4 else 128)]


def ports_and_syn(proto, matches, told):
    """told: TCP of known connections is told apart; a SYN and a later fragment are none."""
    if proto not in WITH_PORTS:
        return [(None, None, False, None)]
    told = told and proto == 6
    sides = [[p for p in starts([r for m in matches for r in [getattr(m, side)] if r]) if p < 65536]
             for side in ("sport", "dport")]
    kinds = [(False, False), (False, True), (True, False)] if told else [(False, None), (True, None)][:1 + (proto == 6)]
    later = (None, None, False, False if told else None)
    return [later, *((sport, dport, *kind) for sport, dport, kind in itertools.product(*sides, kinds))]


def packets(matches, told=False):
    count = 0
    for family in (4, 6):
        of_family = [m for m in matches if m.family in (None, family)]
        for src in addresses([m.src for m in of_family], family) if of_family else ():
            near = [m for m in of_family if in_network(m.src, family, src)]
            for proto in {1, 6, 17, 58, OTHER_PROTOCOL, *(m.proto for m in near if m.proto is not None)}:
                alike = [m for m in near if m.proto in (None, proto)]
                for dst in addresses([m.dst for m in alike], family):
                    for sport, dport, syn, known in ports_and_syn(proto, alike, told):
                        count += 1
                        if count * len(matches) > MOST:
                            raise Left("has too many kinds of packets to compare with a policy: convert a "
                                       "part of it")
                        yield Packet(family, proto, src, dst, sport, dport, syn, known)


# ---- what the firewall does

def excess_kept(step, behind, p):
    """The step that may save packets over an accepting limit from being dropped; None: they are dropped."""
    for other in behind:
        hit = hits(other, p)
        if other.verdict == "drop" and hit:
            return None
        if hit is not False and other.verdict != "drop":
            return other
    return step


def events(chains, p):
    """The drops and limits that a packet may meet, in order."""
    found, dead = [], None
    for chain in chains:
        past = None
        for n, step in enumerate(chain.steps):
            hit = hits(step, p)
            if hit is False:
                continue
            cause = past or dead or (step if hit is None else None)
            if step.limit or step.verdict == "drop":
                kept = excess_kept(step, chain.steps[n + 1:], p) if step.verdict == "within" else None
                found.append(Event(step, cause or kept))
                if step.verdict == "within" and hit and not kept:
                    break
            if step.verdict == "drop" and hit:
                if not cause:
                    return found
                dead = dead or step
                break
            if step.verdict == "accept" and hit:
                break
            if step.verdict in ("accept", "leave", "unknown", "within"):
                past = past or step
            if step.verdict in ("drop", "unknown"):
                dead = dead or step
    return found


def first_before(chains, step, p):
    """The step that keeps, or may keep, a packet from a step."""
    for chain in chains:
        mine = step in chain.steps
        for other in chain.steps:
            if other is step:
                return None
            if (mine and other.verdict != "drop" or other.limit or other.verdict in ("drop", "unknown")) and \
                    hits(other, p) is not False:
                return other
    return None


def spared(chains, step, p):
    """An earlier step that accepts established packets, which a SYN is assumed not to be."""
    for chain in chains:
        if step in chain.steps and p.syn:
            for other in itertools.takewhile(lambda other: other is not step, chain.steps):
                if any(no_syn(m) and holds(m, p) for m in other.matches):
                    return other
    return None


# ---- what the policy does

def decide(rules, p):
    """allow, deny, limit or pass, and the deciding rules: those of the longest prefix with a matching rule."""
    held = [r for r in rules if holds(r.match, p)]
    longest = max((r.length for r in held), default=None)
    held = [r for r in held if r.length == longest]
    for verdict in ("allow", "deny", "limit"):
        acting = [r for r in held if r.verdict == verdict]
        if acting:
            return verdict, acting
    return "pass", []


def drops_surely(found):
    for event in found:
        if event.step.limit:
            return False
        if not event.cause:
            return True
    return False


def wrong(rules, found, p):
    """(step whose rules must be removed, the step that conflicts with it) or None."""
    verdict, acting = decide(rules, p)
    if verdict == "deny":
        return None if drops_surely(found) else (acting[0].step, None)
    carried = {id(r.step) for r in rules if r.verdict == "limit"}
    counting = [e.step for e in found if id(e.step) in carried]
    if verdict == "limit":
        for rule in acting:
            if not found or found[0].step is not rule.step:
                return rule.step, found[0].step if found and not found[0].cause else None
            if found[0].cause:
                return rule.step, found[0].cause
        others = [s for s in counting if s is not acting[0].step]
        return (others[0], acting[0].step) if others else None
    if counting:
        return (acting[0].step, None) if acting else (counting[0], None)
    return None
