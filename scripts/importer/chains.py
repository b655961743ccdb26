# SPDX-License-Identifier: GPL-2.0-only
"""Converts chains of rules with jumps, as in iptables and nft, to the steps that a packet meets on its way
to this host."""
import collections
import dataclasses
import itertools

from . import connections, payload
from .model import LEFT_LIMIT, Chain, Left, Limit, Match, Step, apart, joined, meet
from .policy import Policy, chains_carry
from .words import WITH_PORTS

STAGES = {"ingress": 0, "prerouting": 1, "input": 2, "forward": 2}  # hooks of arriving packets, in order
NAT = -100  # after this priority, NAT has rewritten addresses and ports
SENT = "is for packets that are sent or delivered elsewhere: a policy is for arriving packets"
FIRST_ONLY = "is in a nat chain, which sees only the first packet of a connection"
HOST_ONLY = "is for packets to this host, a policy for all arriving packets: use --host if the machine " \
    "forwards nothing"
FORWARDED = "is for forwarded packets, a policy for all arriving packets"
KNOWN = ("accept", "drop", "leave", "log", "untrack")  # verdicts
TRACKS = (1, -200)  # conntrack's own hook


@dataclasses.dataclass
class Rule:
    place: str
    matches: list
    limit: Limit = None
    above: bool = False  # the limit matches packets over it
    target: str = None  # accept, drop, leave, log, untrack, queue, "jump CHAIN"; None: no verdict; others: unknown
    remark: str = ""
    left: str = ""  # why its limit cannot be carried over
    goes: bool = False  # goto: a jump that does not return
    tables: tuple = ()  # tables with the counts of a limit that is left out
    targets: tuple = ()  # chains that a verdict map jumps to
    differs: tuple = ()  # what differs although it is carried over


@dataclasses.dataclass
class Hook:
    chain: str
    family: int
    name: str  # lower case
    priority: int
    default: str  # verdict of packets that no rule decides on
    device: str = None
    place: str = ""
    nat: bool = False
    all_frames: bool = False


class Chains:
    """The chains of one table."""
    def __init__(self):
        self.rules = {}  # by chain
        self.hooks = []
        self.translates = []  # (chain, rule) of rules that rewrite addresses or ports

    def only_drops(self, chain):
        """Does the chain only log packets and then drop them all?"""
        for rule in self.rules.get(chain, ()):
            if rule.target not in (None, "log"):
                return rule.target == "drop" and not rule.limit and not rule.left and \
                    all(m == Match(family=m.family) for m in rule.matches)
        return False

    def target_of(self, rule):
        if rule.target and rule.target.startswith("jump ") and self.only_drops(rule.target[5:]):
            return "drop"
        return rule.target

    def unsure(self, rule):
        """Why nobody can say from the rules whether a packet of the rule passes; "" if they say it."""
        target = rule.target or ""
        if rule.left or target in ("", *KNOWN) or target.startswith("jump ") and target[5:] in self.rules:
            return ""
        if target == "queue":
            return "hands packets to a program, which may drop them"
        name = target.removeprefix("jump ")
        does = f"hands packets to {name}, which" if name != target else "has words that are not read, and"
        return does + " may drop them or change them"

    def below(self, chain, seen=frozenset()):
        """Every rule that a packet may reach from the chain, once per path."""
        for rule in self.rules.get(chain, ()):
            yield rule
            ways = rule.targets + ((rule.target[5:],) if (rule.target or "").startswith("jump ") else ())
            for way in ways:
                if way not in seen | {chain}:
                    yield from self.below(way, seen | {chain})


def same_device(pattern, device):
    """eth+ in iptables and eth* in nft match every name with that beginning."""
    if pattern and pattern[-1] in "+*":
        return device is not None and device.startswith(pattern[:-1])
    return pattern in (None, device)


def exact_ports(match):
    """Ports of other protocols than these three cannot be carried over."""
    if match.proto in WITH_PORTS or not (match.sport or match.dport):
        return match
    return match.copy(sport=None, dport=None, other=match.other + ("ports of another protocol",))


def covers(rule, other):
    """Certainly every packet of the other matches the rule."""
    return all(any(joined(m, o) == o for m in rule.matches) for o in other.matches)


def is_rest(rule, after):
    """Does a rule let what is within a limit go, and the next one drop what is over an equal limit?"""
    a, b = rule.limit, after.limit
    return bool(a and b and not rule.above and after.above and rule.target and covers(after, rule)) and \
        dataclasses.replace(a, table=None) == dataclasses.replace(b, table=None)


def narrowed(outer, rule):
    return [both for o in outer for m in rule.matches for both in [joined(o, m)] if both]


class Walk:
    """Walks a base chain and the chains that it jumps to."""
    def __init__(self, policy, chains, device, shared, every_device=False):
        self.every_device, self.uses = every_device, []  # (table of counts, place) of limits
        self.policy, self.chains, self.device, self.shared = policy, chains, device, shared
        self.steps, self.met = [], set()
        self.inside, self.jumps = [], itertools.count()

    def chain(self, name, outer, seen):
        self.inside.append(next(self.jumps))
        for rule in self.returns_joined(name, outer):
            self.met.add(rule.place)
            matches = narrowed(outer, rule)
            matches = [exact_ports(m.copy(device=None)) for m in matches
                       if self.every_device or same_device(m.device, self.device)]
            if matches and rule.target:
                self.resolved(rule, matches, seen | {name})
        self.inside.pop()

    def resolved(self, rule, matches, seen):
        """The rule with the bytes that it compares; a jump leaves them to the chain that it leads to."""
        if not (rule.target.startswith("jump ") and not rule.limit and rule.target[5:] in self.chains.rules):
            read = [payload.resolved(m) for m in matches]
            matches = [m for m, _ in read if m]
            differs = tuple(dict.fromkeys(text for _, more in read for text in more))
            rule = dataclasses.replace(rule, differs=rule.differs + differs)
        if matches:
            self.rule(rule, matches, seen)

    def add(self, step):
        step.inside, step.leaves = tuple(self.inside), self.inside[-1]
        self.steps.append(step)

    def returns_joined(self, name, outer):
        """The rules of a chain. A packet that returns within a limit, and is dropped otherwise by the chain's last rule, is
        dropped over the limit."""
        rules = self.chains.rules.get(name, [])
        acting = [rule for rule in rules if rule.target != "log"]
        if self.policy.options.close:
            rules = self.excess_dropped(rules, outer)
        if len(acting) < 2 or any(hook.chain == name for hook in self.chains.hooks):
            return rules
        first, last = acting[-2:]
        if first.limit and not first.above and first.target == "leave" and narrowed(outer, last) == narrowed(outer, first) and \
                self.chains.target_of(last) == "drop" and not last.limit and not last.left:
            both = dataclasses.replace(first, above=True, target="drop")
            return [both if rule is first else rule for rule in rules if rule is not last]
        return rules

    def excess_dropped(self, rules, outer):
        """A limit that lets packets within it go on elsewhere, before a rule that drops those over it, drops them itself."""
        found, acting, dead = [], [rule for rule in rules if rule.target != "log"], []
        for rule in rules:
            after = acting[acting.index(rule) + 1:][:1] if rule in acting else []
            if rule in dead:
                self.met.add(rule.place)
                continue
            if after and is_rest(rule, after[0]) and self.chains.target_of(after[0]) == "drop":
                found += [dataclasses.replace(rule, above=True, target="drop"), dataclasses.replace(rule, limit=None)]
                dead += after
                self.policy.merged[after[0].place] = rule.place
                continue
            target = rule.target or ""
            goes = target == "leave" or target.startswith("jump ") and target[5:] in self.chains.rules
            if rule.limit and not rule.above and goes and after and not after[0].limit and not after[0].left and \
                    self.chains.target_of(after[0]) == "drop" and covers(after[0], rule):
                why = "what is within it goes on in the firewall" if target == "leave" else \
                    f"what is within it goes on through chain {target[5:]}"
                found += [dataclasses.replace(rule, above=True, target="drop", differs=rule.differs + (why,)),
                          dataclasses.replace(rule, limit=None)]
            elif rule.limit and rule.above and goes and self.drops_all(target[5:]):
                why = f"chain {target[5:]} does more with what is over it than to drop it"
                found.append(dataclasses.replace(rule, target="drop", differs=rule.differs + (why,)))
            else:
                found.append(rule)
        return found

    def drops_all(self, chain):
        """Does nothing come out of it?"""
        rules = self.chains.rules.get(chain, [])
        return bool(rules) and all(rule.target not in ("accept", "leave") for rule in rules) and \
            self.chains.target_of(rules[-1]) == "drop" and all(m == Match(family=m.family) for m in rules[-1].matches)

    def rule(self, rule, matches, seen):
        target = self.chains.target_of(rule)
        if rule.left:
            if target != "log":
                self.policy.leave(rule.place, rule.left)
            matches = [m.copy(other=m.other + (LEFT_LIMIT,)) for m in matches]
        if rule.limit or rule.left:
            return self.limit(rule, matches, target)
        if target == "log":
            return
        chain = target[5:] if target.startswith("jump ") else None
        if chain in self.chains.rules and chain not in seen:
            self.chain(chain, matches, seen)
            if rule.goes:
                self.add(Step(rule.place, "leave", matches))
            return
        if self.chains.unsure(rule):
            self.policy.leave(rule.place, self.chains.unsure(rule))
        verdict = target if target in ("accept", "drop", "leave", "untrack") else "unknown"
        self.add(Step(rule.place, verdict, matches, remark=rule.remark, differs=rule.differs))

    def limit(self, rule, matches, target):
        self.uses += [(table, rule.place) for table in tables_of(rule)]
        verdict = {("drop", True): "above", ("accept", False): "within"}.get((target, rule.above))
        if verdict:
            step = Step(rule.place, verdict, matches, rule.limit or True, rule.remark, rule.differs)
            for table in () if self.every_device else tables_of(rule):
                others = [p for p in dict.fromkeys(self.shared[table]) if p != rule.place]
                if rule.limit and others:
                    self.share(step, f"shares its counts with {others[0]}")
                elif rule.limit and len(self.shared[table]) > 1:
                    self.share(step, "is reached on several paths, which share its counts")
            return self.add(step)
        if target == "log":
            return self.policy.firewall.append(rule.place)
        self.limit_leave(rule, target)
        return self.add(Step(rule.place, "unknown", matches, True))

    def share(self, step, why):
        if self.policy.options.close:
            step.differs += (why + ": each rule of a policy has its own",)
            return
        self.policy.leave(step.place, why + ": each rule of a policy has its own")
        step.limit = True

    def limit_leave(self, rule, target):
        which = "over" if rule.above else "within"
        does = {"accept": "accepts", "drop": "drops", "leave": "does not ask further for", "untrack": "does not track",
                "queue": "hands to a program"}.get(target, "hands on to " + target.replace("jump ", "chain "))
        if not rule.left:
            self.policy.leave(rule.place, f"{does} what is {which} its limit: a policy can drop what is over it")


def tables_of(rule):
    """The tables that hold the counts of a rule's limit."""
    if rule.limit:
        return (rule.limit.table or rule.place,)
    return rule.tables


def device_choose(policy, hooks, wanted):
    """The device that the policy is for. Rules for other devices are ignored."""
    named = {m.device for chains, hook in hooks for rule in chains.below(hook.chain) if rule.target
             for m in rule.matches if m.device}
    named |= {hook.device for _, hook in hooks if hook.device}
    named.discard("lo")
    if wanted or not named:
        return wanted
    if len(named) > 1 or min(named)[-1] in "+*":
        raise Left(f"the rules are for several devices ({', '.join(sorted(named))}): choose one with -i")
    policy.note(f"these are the rules of {min(named)}")
    return named.pop()


def translated_fields(walk_hook, translates, step):
    """Fields of the step's matches and key that NAT may have rewritten before."""
    if (STAGES[walk_hook.name], walk_hook.priority) <= (1, NAT):
        return ()
    fields = set()
    for hook, rule in translates:
        wide = [m.copy(src=None, dst=None, sport=None, dport=None, not_src=(), not_dst=(), device=None, other=())
                for m in rule.matches]
        if any(not apart(w, m) for w in wide for m in step.matches):
            fields |= {"src", "dst", "sport", "dport"} if hook == "OUTPUT" else {"dst", "dport"}
    return tuple(sorted(fields))


def hook_leave(policy, chains, hook, why):
    """Leaves out the rules of a hook whose packets a policy does not see."""
    for rule in chains.below(hook.chain):
        if rule.limit or rule.left:
            policy.leave(rule.place, connections.PASSING if why == FORWARDED and rule.limit and rule.limit.connections else why)
        elif why in (HOST_ONLY, FORWARDED, FIRST_ONLY) and chains.target_of(rule) == "drop":
            policy.leave_drop(rule.place)
        elif why in (HOST_ONLY, FORWARDED) and chains.unsure(rule):
            policy.leave(rule.place, chains.unsure(rule))
    if hook.default == "drop" and why in (HOST_ONLY, FORWARDED, FIRST_ONLY):
        policy.leave_drop(f"{hook.place}, the policy of {hook.chain}")


def why_not(hook, host):
    if hook.name not in STAGES:
        return SENT
    if hook.nat:
        return FIRST_ONLY
    if hook.name == "forward":
        return FORWARDED
    return HOST_ONLY if hook.name == "input" and not host else None


def shared_counts(hooks):
    """The places that use each table of counts, once per path on which a packet may reach them."""
    shared = collections.defaultdict(list)
    for chains, hook in hooks:
        walk = Walk(Policy(), chains, None, shared, every_device=True)
        walk.chain(hook.chain, [Match(family=hook.family)], frozenset())
        for table, place in walk.uses:
            shared[table].append(place)
    return shared


def hook_walk(policy, chains, hook, device, shared, translates):
    walk = Walk(policy, chains, device, shared)
    walk.chain(hook.chain, [Match(family=hook.family)], frozenset())
    if hook.default == "drop":
        walk.steps.append(Step(f"{hook.place}, the policy of {hook.chain}", "drop", [Match(family=hook.family)]))
    for rule in chains.below(hook.chain):
        if (rule.limit or rule.left) and rule.place not in walk.met:
            policy.leave(rule.place, rule.left or "is in a chain that only what was left out leads to")
    if (STAGES[hook.name], hook.priority) >= TRACKS:
        walk.steps = [step for step in walk.steps if step.verdict != "untrack"]  # too late
    for step in walk.steps:
        step.translated = translated_fields(hook, translates, step)
    return Chain(hook.chain, walk.steps, hook.all_frames, policy.options.host or policy.options.conntrack)


def decisive(step):
    return step.limit or step.verdict in ("drop", "unknown")


def unordered_mark(chain, other):
    """Two chains of the same priority may come in either order."""
    for step in (s for s in chain.steps if decisive(s)):
        step.unordered = next((s.place for s in other.steps if decisive(s) and meet(s, step)), step.unordered)


def chains_convert(policy, tables):
    policy.limits = {rule.place for chains in tables for rules in chains.rules.values() for rule in rules
                     if (rule.limit or rule.left) and rule.target != "log"}
    guessed = policy.options.close and not policy.options.host
    if guessed:
        policy.options = dataclasses.replace(policy.options, host=True)
    host = policy.options.host
    hooks = [(chains, hook) for chains in tables for hook in chains.hooks
             if not (host and hook.name == "forward" and hook.default == "drop" and not chains.rules.get(hook.chain))]
    translates = [(name, rule) for chains in tables for name, rule in chains.translates]
    met = [(chains, hook) for chains, hook in hooks if not why_not(hook, host)]
    device = device_choose(policy, met, policy.options.device)
    met = [(chains, hook) for chains, hook in met if hook.device in (None, device)]
    for chains, hook in hooks:
        why = why_not(hook, host)
        if why and not (why == FORWARDED and host):
            hook_leave(policy, chains, hook, why)
        elif why:
            for rule in chains.below(hook.chain):
                if rule.limit or rule.left:
                    policy.leave(rule.place, connections.PASSING if rule.limit and rule.limit.connections else FORWARDED)
    shared = shared_counts([(c, h) for c, h in hooks if not (host and h.name == "forward")])
    met.sort(key=lambda entry: (STAGES[entry[1].name], entry[1].priority))
    chains = [hook_walk(policy, c, h, device, shared, translates) for c, h in met]
    if guessed and any(hook.name == "input" and chain.steps for chain, (_, hook) in zip(chains, met)):
        policy.all_differ.append("rules of INPUT are for packets to this host; a policy is for all that arrive, also on their way to "
                                 "others if this machine forwards")
    for (a, (_, hook)), (b, (_, other)) in itertools.permutations(zip(chains, met), 2):
        if (STAGES[hook.name], hook.priority) == (STAGES[other.name], other.priority):
            unordered_mark(a, b)
    chains_carry(policy, chains)
