# SPDX-License-Identifier: GPL-2.0-only
"""Chains of rules that jump to one another, as iptables and nft have them, into steps."""
import dataclasses

from .model import Left, Limit, Match, Step, joined
from .policy import steps_convert

SENT = "is for packets that are sent or delivered elsewhere: a policy holds those that arrive"


@dataclasses.dataclass
class Rule:
    place: str
    matches: list
    limit: Limit = None
    above: bool = False  # the limit matches what is over it
    target: str = None  # accept, drop, leave, log, "jump CHAIN"; None: it decides nothing
    remark: str = ""
    left: str = ""  # why its limit cannot be said


class Chains:
    """Of one table."""
    def __init__(self):
        self.rules = {}  # of a chain
        self.hooks = []  # (chain, family, receives packets, what becomes of the rest, device)

    def limits(self):
        return [rule for rules in self.rules.values() for rule in rules if rule.limit or rule.left]

    def only_drops(self, chain):
        """A chain that tells of packets and then drops them all."""
        for rule in self.rules.get(chain, ()):
            if rule.target not in (None, "log"):
                return rule.target == "drop" and not rule.limit and not rule.left and \
                    all(m == Match(family=m.family) for m in rule.matches)
        return False

    def target_of(self, rule):
        if rule.target and rule.target.startswith("jump ") and self.only_drops(rule.target[5:]):
            return "drop"
        return rule.target


class Walk:
    """One chain with a hook, and those that it jumps to."""
    def __init__(self, policy, chains, device):
        self.policy, self.chains, self.device = policy, chains, device
        self.steps = []

    def chain(self, name, outer, seen):
        for rule in self.chains.rules.get(name, ()):
            matches = [both for o in outer for m in rule.matches for both in [joined(o, m)] if both]
            matches = [m.copy(device=None) for m in matches if m.device in (None, self.device)]
            if matches and rule.target:
                self.rule(rule, matches, seen | {name})

    def rule(self, rule, matches, seen):
        target = self.chains.target_of(rule)
        if rule.left:
            self.policy.leave(rule.place, rule.left)
        elif rule.limit:
            return self.limit(rule, matches, target)
        if target == "log" or rule.left and target == "drop":
            return
        chain = target[5:] if target.startswith("jump ") else None
        if chain in self.chains.rules and chain not in seen and not rule.left:
            return self.chain(chain, matches, seen)
        verdict = target if target in ("accept", "drop") else "leave"
        if rule.left:
            matches = [m.copy(other=m.other + ("a limit that was left out",)) for m in matches]
        self.steps.append(Step(rule.place, verdict, matches, remark=rule.remark))

    def limit(self, rule, matches, target):
        verdict = {("drop", True): "above", ("accept", False): "within"}.get((target, rule.above))
        if verdict:
            self.steps.append(Step(rule.place, verdict, matches, rule.limit, rule.remark))
            return
        which = "over" if rule.above else "within"
        does = {"accept": "accepts", "drop": "drops", "leave": "does not ask further for",
                "log": "only tells of"}.get(target, "hands on to " + target.replace("jump ", "chain "))
        self.policy.leave(rule.place, f"{does} what is {which} its limit: a policy can drop what is over it")
        if target not in ("drop", "log"):
            other = ("a limit that was left out",)
            self.steps.append(Step(rule.place, "leave", [m.copy(other=m.other + other) for m in matches]))


def device_choose(policy, tables, wanted):
    """The device whose policy it is. Rules of other devices do not count."""
    named = {m.device for chains in tables for rule in chains.limits() for m in rule.matches if m.device}
    named |= {hook[4] for chains in tables for hook in chains.hooks if hook[4]}
    if wanted or not named:
        return wanted
    if len(named) > 1:
        raise Left(f"the limits are of several devices ({', '.join(sorted(named))}): choose one with -i")
    policy.note(f"these are the limits of {min(named)}")
    return named.pop()


def limits_below(chains, name, seen):
    for rule in chains.rules.get(name, ()):
        if rule.limit or rule.left:
            yield rule
        if rule.target and rule.target.startswith("jump ") and rule.target[5:] not in seen:
            yield from limits_below(chains, rule.target[5:], seen | {name})


def chains_walk(policy, tables, device):
    """(steps, what becomes of the rest) of every chain with a hook."""
    for chains in tables:
        for name, family, receives, default, hook_device in chains.hooks:
            if hook_device and hook_device != device:
                continue
            if not receives:
                for rule in limits_below(chains, name, {name}):
                    policy.leave(rule.place, SENT)
                continue
            walk = Walk(policy, chains, device)
            walk.chain(name, [Match(family=family)], frozenset())
            if name.lower() == "forward" and any(s.limit for s in walk.steps):
                policy.note("limits of forwarded packets hold packets for this host as well")
            yield walk.steps, default


def chains_convert(policy, tables, wanted):
    walks = list(chains_walk(policy, tables, device_choose(policy, tables, wanted)))
    for steps, default in walks:
        foreign = [s for other, _ in walks if other is not steps for s in other if s.limit]
        steps_convert(policy, steps, default, foreign)
