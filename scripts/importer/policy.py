# SPDX-License-Identifier: GPL-2.0-only
"""Converts steps to equivalent rules of a policy. In a chain the first step decides; in a policy the
longest prefix does, then allow before deny before all limits. So every step that may meet a limit gets
the same prefix (any), with its addresses as matches. First every possible step becomes a rule; then those
that cannot be shown to be equivalent (proof.py) are removed."""
import dataclasses
import ipaddress

from . import connections, fields, kinds, proof
from .model import ESTABLISHED, LEFT_LIMIT, NEW, RELATED, Left, Match, Options, apart, check_separate, is_known, meet
from .words import address_words, key_words, limit_words, match_words, pieces_of

TCP = 6
CARRIED = "carried, but "
EVERYBODY = {None: "any", 4: "0.0.0.0/0", 6: "::/0"}


# ---- rules

@dataclasses.dataclass
class Rule:
    step: object
    match: object
    verdict: str  # allow, deny, limit
    length: int  # of its prefix; `any` is -1
    text: str
    of: int  # the id of the firewall's match

    def remark(self):
        return self.step.place + (": " if self.step.remark else "") + self.step.remark


class Policy:
    """The rules, and notes on what did not become a rule."""
    def __init__(self, refused=None, options=None):
        self.options = options or Options()
        self.lines = []  # (rule, remark)
        self.places = []  # of their steps
        self.carried = set()  # places of all carried steps
        self.merged = {}  # the place of a limit that another one says, too
        self.all_differ = []  # what differs of all rules
        self.limits = set()  # places of all limits that were read
        self.left = []  # (place, why)
        self.notes = []
        self.firewall = []  # places of steps without effect on the policy
        self.drops = []  # places of drops that stay with the firewall
        self.refused = refused or (lambda texts: None)  # (index of a rule that rlctl refuses, why) or None

    def leave(self, place, why):
        if (place, str(why)) not in self.left:
            self.left.append((place, str(why)))

    def leave_drop(self, place):
        if place not in self.drops:
            self.drops.append(place)

    def differs(self, place):
        """How what is carried of a place differs."""
        return [why.removeprefix(CARRIED) for where, why in self.left if where == place and why.startswith(CARRIED)]

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)


def head(family_mixed, match, at_prefix):
    """Length of the prefix; prefix and matches. Rules of 0.0.0.0/0 would hide those of `any`: if there are
    both, the family becomes a match."""
    if at_prefix and match.src:
        return match.src.prefixlen, " ".join([address_words(match.src)] + match_words(match))
    if not family_mixed or match.family is None:
        return -1 if match.family is None else 0, " ".join([EVERYBODY[match.family]] + match_words(match, True))
    if not match.src and not match.dst:
        side = "dst" if match.not_src else "src"
        match = match.copy(**{side: ipaddress.ip_network(EVERYBODY[match.family])})
    return -1, " ".join(["any"] + match_words(match, True))


def unsaid(match):
    """The part of the match that a policy does not have."""
    words = ["the state of connections" if w in (ESTABLISHED, RELATED) else w for w in match.other]
    words = [w + ", which a policy knows of TCP alone" if w == NEW else w for w in words]
    return f"matches by {words[0]}" if words else ""


class Apart(Left):
    """The rules of a limit can be said, but come to something else."""


def limit_check(step, matches):
    """Raises Left if no single rule of a policy is equivalent. matches: those of the rules."""
    for match in matches:
        if match.other:
            raise Left(unsaid(match) + ("" if NEW in match.other[:1] else ": a policy cannot"))
        match_words(match)
    used = {name for m in step.matches for name in ("src", "dst", "sport", "dport") if getattr(m, name)}
    used |= {{"saddr": "src", "daddr": "dst"}.get(f, f) for f in step.limit.fields}
    if used & set(step.translated):
        raise Left("matches or counts by fields that NAT rewrites: a policy sees packets as they arrive")
    if step.unordered:
        raise Apart(f"{step.unordered} may come before or after it: their chains have the same priority")
    try:
        check_separate(step.matches, step.limit)
    except Left as why:
        raise Apart(why) from None


def past_words(cause, packet):
    if any(map(is_known, cause.matches)) and packet.known is None and packet.proto != TCP:
        return "but matches by the state of connections: a policy does not know the clients that this machine has " \
            "answered (--established all counts their packets, too)"
    why = next((unsaid(m) for m in cause.matches if m.other), "")
    if cause.verdict == "within":
        return "as far as they are within a limit"
    if why:
        return "but " + why
    unclear = cause.verdict in ("leave", "unknown")
    return "which a policy cannot express" if unclear else "in a way that a policy cannot express"


def why_wrong(chains, step, cause, packet):
    """The reason why a limit is left out because of another step, or of itself."""
    if cause is step:
        return "accepts packets within it, but nothing drops packets over it"
    cause = cause or proof.first_before(chains, step, packet)
    if cause is None:
        return "a policy cannot express which packets it is for"
    if step.verdict == "within" and any(step in c.steps and cause in c.steps[c.steps.index(step):] for c in chains):
        return f"accepts packets within it, but {cause.place} may accept packets over it"
    if cause.limit and cause.verdict == "above":
        return f"{cause.place} counts its packets, too: in a policy, a packet that one limit drops costs nothing " \
            "in another"
    if cause.verdict == "drop":
        return f"{cause.place} drops packets before it, which a policy would count"
    return f"{cause.place} lets packets past it, {past_words(cause, packet)}"


# ---- what is carried

class Carrier:
    """The steps that are carried over: removed until the rest is equivalent."""
    def __init__(self, policy, chains):
        self.policy, self.chains = policy, chains
        self.steps = [s for c in chains for s in c.steps]
        for step in self.steps:
            step.matches = [piece for match in step.matches for piece in pieces_of(match)]
        self.some_told = any(ESTABLISHED in m.other for c in chains if c.told for s in c.steps for m in s.matches)
        self.packets, self.rules, self.moot = [], [], set()
        self.close = set()  # ids of limits that differ, and are carried
        self.carried = [s for s in self.steps if self.possible(s)]

    def told(self, proto):
        """Does a policy know the same connections of the protocol as conntrack, or is it to be taken so?"""
        return self.some_told and (proto == TCP or self.policy.options.every)

    def behind_known(self, step, match):
        """Does an earlier step of its chain accept its packets of known connections?"""
        for chain in self.chains:
            if step in chain.steps:
                return any(other.verdict == "accept" and not other.limit and is_known(m) and not apart(m, match)
                           for other in chain.steps[:chain.steps.index(step)] for m in other.matches)
        return False

    def close_match(self, step, match):
        """The nearest match to the connections of a limit, which spares those that are known."""
        new = any(word.startswith("state ") and "NEW" in word and "ESTABLISHED" not in word for word in match.other)
        others = tuple(w for w in match.other if not (w.startswith("state ") and "NEW" in w) and w != LEFT_LIMIT)
        if LEFT_LIMIT in match.other:
            step.differs += ("in the firewall, another limit, which is left out, decides which packets it is asked about",)
        if NEW in match.other and match.proto == TCP:
            return match.copy(other=tuple(w for w in match.other if w != LEFT_LIMIT))
        if set(others) & {ESTABLISHED, RELATED}:
            step.differs += ("it counts packets of no connection, too",)
            others = tuple(w for w in others if w not in (ESTABLISHED, RELATED))
            return match.copy(other=others) if match.proto != TCP else match.copy(known=True, other=others)
        if new and match.proto is None:
            step.differs += ("it counts new connections of TCP alone",)
            return match.copy(proto=TCP, other=(NEW, *others))
        if not new and (others or not self.behind_known(step, match)):
            return match.copy(other=others)
        if match.proto in (None, TCP):
            return match.copy(known=False, other=others)
        step.differs += ("it counts packets of sources that are not known yet, as nearest to packets of no connection",)
        return match.copy(fresh=True, other=others)

    def match_of(self, step, match):
        """The match of the step's rule."""
        if connections.is_of(step):
            return connections.match_of(match)
        if self.policy.options.close and step.counts():
            match = self.close_match(step, match)
            if match.known is not None or match.fresh:
                return match
        if NEW in match.other and match.proto == TCP:
            flags = fields.OPENS & (fields.EVERY_FLAGS if match.flags is None else match.flags)
            others = tuple(word for word in match.other if word != NEW)
            match = match.copy(flags=flags, other=others, only_syn=flags != match.flags) if flags else match
        syn = match.flags is not None and not match.flags & ~fields.SYN
        if syn or not self.told(match.proto):
            return match
        if is_known(match) and match.proto == TCP:
            return match.copy(known=True, other=())
        if step.verdict != "accept" and not match.other and self.behind_known(step, match):
            return match.copy(known=False)
        return match

    def matches_of(self, step):
        return [self.match_of(step, m) for m in step.matches]

    def limit_check(self, step, matches):
        """A limit that may differ stays in, as long as its rules can be said."""
        try:
            limit_check(step, matches)
            for match in matches if step.limit.connections else ():
                connections.check(match, self.policy.options)
        except Apart as why:
            if not self.policy.options.close:
                raise
            step.differs += (str(why),)
            self.close.add(id(step))

    def possible(self, step):
        matches = self.matches_of(step)
        if step.counts():
            try:
                self.limit_check(step, matches)
                return bool([key_words(step.limit, m) for m in matches])
            except Left as why:
                self.policy.leave(step.place, why)
                step.limit = True
                return False
        rewritten = any(getattr(m, name) for m in step.matches for name in step.translated)
        if step.verdict not in ("accept", "drop") or step.limit or rewritten or step.unordered or \
                step.verdict == "accept" and any(m.known for m in matches) or any(m.other for m in matches):
            return False
        try:
            return all(match_words(m) or m.src for m in matches)
        except Left:
            return False

    def write(self):
        limits = [s for s in self.carried if s.limit]
        mixed = any(m.family is None for s in (self.carried if limits and self.policy.options.close else limits) for m in s.matches)
        self.rules = []
        for step in self.carried:
            verdict = "limit" if step.limit else {"accept": "allow", "drop": "deny"}[step.verdict]
            at_prefix = not step.limit or not any(meet(s, step) for s in self.carried if s is not step)
            for of, match in zip(step.matches, self.matches_of(step)):
                length, words = head(mixed, match, at_prefix)
                tail = " ".join(limit_words(step.limit, match)) if step.limit else verdict
                self.rules.append(Rule(step, match, verdict, length, f"rule {words} {tail}", id(of)))

    def remove(self, step, why=None):
        self.carried = [s for s in self.carried if s is not step]
        if step.limit:
            self.policy.leave(step.place, why)
        self.write()

    def settle(self):
        """Removes steps that are not equivalent, those without effect, and those that rlctl refuses."""
        refused = True
        while refused:
            self.settle_wrong()
            self.prune()
            refused = self.rules and self.policy.refused([r.text for r in self.texts()])
            if refused:
                rule = self.texts()[refused[0]]
                self.policy.leave(rule.step.place, f"became '{rule.text}', but {refused[1]}")
                self.remove(rule.step, f"became '{rule.text}', but {refused[1]}")

    def settle_wrong(self):
        changed = True
        while changed:
            changed = False
            for packet, found in self.packets:
                wrong = proof.wrong(self.rules, found, packet, self.close)
                while wrong:
                    step, cause = wrong
                    why = step.limit and why_wrong(self.chains, step, cause, packet)
                    if self.policy.options.close and step.limit and not proof.drops_nothing(self.chains, step, packet):
                        self.close.add(id(step))
                    else:
                        self.remove(step, why)
                    changed = True
                    wrong = proof.wrong(self.rules, found, packet, self.close)

    def texts(self):
        return list({r.text: r for r in reversed(self.rules)}.values())[::-1]

    def verdicts(self):
        """Which packets a rule drops, or may drop."""
        return [proof.decide(self.rules, packet)[0] in ("deny", "limit") for packet, _ in self.packets]

    def prune(self):
        """Removes every `allow` without effect."""
        for step in [s for s in self.carried if s.verdict == "accept" and not s.limit]:
            before, verdicts = self.carried, self.close and self.verdicts()
            self.carried = [s for s in before if s is not step]
            self.write()
            if any(proof.wrong(self.rules, found, packet, self.close) for packet, found in self.packets) or \
                    self.close and verdicts != self.verdicts():
                self.carried = before
        self.write()

    def compare(self):
        matches = [m for s in self.steps for m in s.matches]
        self.packets = [(p, proof.events(self.chains, p, self.moot)) for p in kinds.packets(matches, self.told)]
        self.moot -= {event.step for _, found in self.packets for event in found}
        self.carried = [step for step in self.carried if step not in self.moot]
        self.policy.firewall += [step.place for step in self.steps if step in self.moot]
        self.write()

    def tell_close(self, step, packet, found):
        """The difference of a limit for one kind of packets."""
        wrong = id(step) in self.close and proof.wrong(self.rules, found, packet, self.close - {id(step)})
        if wrong and wrong[0] is step and wrong[1] is not step:
            self.policy.leave(step.place, CARRIED + why_wrong(self.chains, *wrong, packet))

    def tell(self):
        """Notes what the firewall does beyond the policy."""
        named = {s.place for s in self.carried}
        for step in self.carried if self.policy.options.close else ():
            for text in step.differs if step.limit else ():
                self.policy.leave(step.place, CARRIED + text)
        for step in self.steps:
            if step.verdict == "accept" and not step.limit and step.place not in named:
                self.policy.firewall.append(step.place)
        for packet, found in self.packets:
            verdict, acting = proof.decide(self.rules, packet)
            if verdict != "pass" and verdict != "allow":
                self.tell_rule(acting[0], packet, found)
                for rule in acting if verdict == "limit" else ():
                    self.tell_close(rule.step, packet, found)
            for event in found if verdict != "deny" else ():
                if not event.step.limit:
                    self.policy.leave_drop(event.step.place)

    def tell_rule(self, rule, packet, found):
        step = rule.step
        differs = [*step.differs, *self.state_differs(rule, packet)]
        differs += [f"it counts what {other.place} drops" for other in proof.counted_too(found, step)]
        if packet.family == 6 and packet.proto == 58 and not step.differs:
            differs.append("neighbour discovery always passes in a policy")
        if any(step in c.steps and c.all_frames for c in self.chains) and Match() in step.matches:
            differs.append("it counts ARP and other non-IP frames, which pass in a policy")
        wide = step.limit and "saddr" in step.limit.fields and step.limit.masks[0] not in (None, 128)
        if wide and packet.family == 6:
            differs.append("link-local sources count by /128")
        for text in differs:
            self.policy.leave(step.place, CARRIED + text)

    def state_differs(self, rule, packet):
        """The packets that conntrack takes otherwise than the words of a policy."""
        if connections.is_of(rule.step):
            yield connections.COUNTS
            return
        other = rule.step.limit and proof.spared(self.chains, rule.step, packet)
        if other:
            yield f"a SYN of a known connection passes by {other.place}"
        if rule.match.known is not None and packet.proto == TCP:
            yield "the ACK that ends a handshake is not established" if self.policy.options.conntrack else \
                "the ACK that ends a handshake, and TCP of closed connections, are not established"
        elif rule.match.known is not None:
            yield "ICMP, and UDP of clients that this machine has answered, are not established"
        if rule.match.only_syn:
            yield "it counts every SYN and nothing else: to conntrack, a SYN of a known connection is not new, and other " \
                "segments may be (net.netfilter.nf_conntrack_tcp_loose)"


def chains_carry(policy, chains):
    carrier = Carrier(policy, chains)
    if carrier.carried:
        carrier.compare()
        carrier.settle()
    carrier.tell()
    if not carrier.carried:
        for step in carrier.steps:
            if step.verdict == "drop" and not step.limit:
                policy.leave_drop(step.place)
    policy.lines = [(r.text, r.remark()) for r in carrier.texts()]
    policy.places = [r.step.place for r in carrier.texts()]
    policy.carried = {s.place for s in carrier.carried}
    policy.carried |= {place for place, of in policy.merged.items() if of in policy.carried}
    policy.limits = policy.limits or {s.place for s in carrier.steps if s.limit}
