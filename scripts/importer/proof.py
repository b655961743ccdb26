# SPDX-License-Identifier: GPL-2.0-only
"""Checks that a policy is equivalent to the chains of a firewall, with one packet of every kind that their
matches tell apart (kinds.py). Where the state of connections is told, it is by the words of a policy. If a match has
other words that a policy lacks, both outcomes are considered. The policy is equivalent if, for each packet, the
verdict is

- deny: the firewall certainly drops it, and no limit has counted it before;
- a limit: it is the first step that may drop or count the packet, and no other carried limit counts it;
- neither: no carried limit counts it."""
import collections

from . import connections
from .model import ESTABLISHED, INVALID, NEW, RELATED

Event = collections.namedtuple("Event", "step cause")  # cause: the step that makes it uncertain, or None
TCP = 6


# ---- the state of connections

def by_state(step):
    """Does it only drop what conntrack takes for invalid, or for new without a SYN?"""
    return all(m.other and set(m.other) <= {INVALID, NEW} and (INVALID in m.other or m.proto == TCP) for m in step.matches)


def counted(drop, step):
    """May a policy count in the limit what the step before it may have dropped? So far as a source pays for its own
    packets alone, and where conntrack drops what belongs to nothing; either is said. Limits on connections count no packets."""
    if connections.costs_nothing(drop, step):
        return True
    return drop.verdict == "drop" and step.counts() and ("saddr" in step.limit.fields or by_state(drop))


def word_holds(word, step, p):
    """True, False, or None (unknown). A SYN is of no known connection, and alone begins one of TCP."""
    if word.startswith("state ") and not p.tracked:
        return None if p.tracked is None or "UNTRACKED" in word else False
    if word == ESTABLISHED:
        return p.known if p.known is not None else False if p.syn else None
    if word == RELATED:
        return False if p.syn else None
    if word == NEW and p.proto == TCP:
        return True if p.opens else None if step.verdict == "drop" else False
    if word == NEW and p.known is not None:
        return not p.known
    return None


def hits(step, p):
    """True, False, or None (unknown)."""
    found = False
    for match in step.matches:
        if id(match) not in p.held:
            continue
        words = [word_holds(word, step, p) for word in match.other]
        if all(words):
            return True
        if False not in words:
            found = None
    return found


# ---- what the firewall does

class Way:
    """The way of a packet through a chain: the jumps that it has left, and those that it may have left by a step."""
    def __init__(self, p, left=(), maybe=None):
        self.p, self.left, self.maybe = p, set(left), dict(maybe or {})

    def meets(self, steps):
        """(number, step, hit, the step that may lead past it) of those that the packet may meet."""
        for n, step in enumerate(steps):
            hit = False if self.left & set(step.inside) else hits(step, self.p)
            if hit is not False:
                yield n, step, hit, next((self.maybe[jump] for jump in step.inside if jump in self.maybe), None)

    def leave(self, step, surely):
        if surely:
            self.left.add(step.leaves)
        else:
            self.maybe.setdefault(step.leaves, step)


def excess_kept(step, behind, way):
    """The step that may save packets over an accepting limit from being dropped; None: they are dropped."""
    way = Way(way.p, way.left, way.maybe)
    for _, other, hit, past in way.meets(behind):
        if other.verdict == "leave":
            way.leave(other, hit and not past)
        elif other.verdict == "drop" and hit and not past:
            return None
        elif other.verdict not in ("drop", "above", "untrack"):
            return other
    return next(iter(way.maybe.values()), step)


def drops_nothing(chains, step, p):
    """Does a limit accept what is within it, and nothing drop the rest?"""
    steps = next((c.steps for c in chains if step in c.steps), [])
    for other in steps[steps.index(step) + 1:] if step.verdict == "within" else ():
        hit = hits(other, p)
        if other.verdict == "drop" and hit is not False:
            return False
        if other.verdict == "accept" and not other.limit and hit:
            return True
    return step.verdict == "within"


def events(chains, p, moot):
    """The drops and limits that a packet may meet, in order. moot: gains the limits of what an earlier limit does not
    accept, and of which nothing is accepted anyway."""
    found, dead, doubtful = [], None, []  # doubtful: steps that may have dropped it
    for chain in chains:
        past, way = None, Way(p)
        for n, step, hit, around in way.meets(chain.steps):
            step = connections.as_seen(step, p)
            if not step:
                continue
            cause = past or around or dead or (step if hit is None else None)
            if step.verdict == "leave" and not step.limit:
                way.leave(step, not cause)
                continue
            if step.verdict == "untrack":
                p = way.p = p._replace(tracked=None if cause and p.tracked is not False else False)
                continue
            if step.limit or step.verdict == "drop":
                kept = excess_kept(step, chain.steps[n + 1:], way) if step.verdict == "within" else None
                unsure = next((d for d in doubtful if not counted(d, step)), None) if step.limit else None
                found.append(Event(step, cause or unsure or kept))
                if step.verdict == "within" and hit and not kept and not cause:
                    moot.update(other for _, other, _, _ in Way(p, way.left).meets(chain.steps[n + 1:]) if other.limit)
                    break
            if step.verdict == "drop" and not step.limit:
                if hit and not cause:
                    return found
                doubtful.append(step)
                if hit and not around:
                    break
            if step.verdict == "accept" and hit and not around:
                break
            if step.verdict in ("accept", "unknown", "within"):
                past = past or step
            if step.verdict == "unknown":
                dead = dead or step
    return found


def first_before(chains, step, p):
    """The step that keeps, or may keep, a packet from a step."""
    for chain in chains:
        mine = step in chain.steps
        for other in chain.steps:
            if other is step:
                return None
            if (mine and other.verdict not in ("drop", "untrack") or other.limit or other.verdict in ("drop", "unknown")) and \
                    hits(other, p) is not False:
                return other
    return None


def before(chains, step):
    """The earlier steps of its chain."""
    return next((c.steps[:c.steps.index(step)] for c in chains if step in c.steps), [])


def spared(chains, step, p):
    """An earlier step that accepts established packets, which a SYN is assumed not to be."""
    for other in before(chains, step):
        if p.syn and other.verdict != "drop" and \
                any(id(m) in p.held and m.other and set(m.other) <= {ESTABLISHED, RELATED} for m in other.matches):
            return other
    return None


def counted_too(found, step):
    """The steps whose drops are counted in a policy's limit."""
    for event in found:
        if event.step is step:
            return
        if counted(event.step, step) and not connections.costs_nothing(event.step, step):
            yield event.step


# ---- what the policy does

def rule_holds(match, p):
    """The rule's own words beyond those of the firewall's match."""
    return match.known in (None, p.known) and (p.opens or not match.only_syn) and not (match.fresh and p.known)


def decide(rules, p):
    """allow, deny, limit or pass, and the deciding rules: those of the longest prefix with a matching rule."""
    held = [r for r in rules if r.of in p.held and rule_holds(r.match, p)]
    longest = max((r.length for r in held), default=None)
    held = [r for r in held if r.length == longest and (p.opens or not connections.is_of(r.step))]
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


def wrong(rules, found, p, close=frozenset()):
    """(step whose rules must be removed, the step that conflicts with it) or None. close: the ids of limits that need not
    be equal, which no `allow` may hide all the same."""
    verdict, acting = decide(rules, p)
    if verdict == "deny":
        return None if drops_surely(found) else (acting[0].step, None)
    carried = {id(r.step) for r in rules if r.verdict == "limit"}
    counting = [e.step for e in found if id(e.step) in carried]
    if verdict == "allow" and counting:
        return acting[0].step, None
    counting = [step for step in counting if id(step) not in close]
    if verdict == "limit":
        for rule in acting:
            if id(rule.step) in close:
                continue
            first = next((e for e in found if not counted(e.step, rule.step)), None)
            if not first and drops_surely(found):
                continue
            if not first or first.step is not rule.step:
                told = first and (not first.cause or first.step.verdict == "drop")
                return rule.step, first.step if told else None
            if first.cause:
                return rule.step, first.cause
        others = [s for s in counting if all(s is not rule.step for rule in acting)]
        others += [s for s in counting if not connections.is_of(s)][1:]
        return (others[0], acting[0].step) if others else None
    if counting:
        return (acting[0].step, None) if acting else (counting[0], None)
    return None
