# SPDX-License-Identifier: GPL-2.0-only
"""Converts steps to equivalent rules of a policy. In a chain the first step decides; in a policy the
longest prefix does, then allow before deny before all limits. So every step that may meet a limit gets
the same prefix (any), with its addresses as matches. First every possible step becomes a rule; then those
that cannot be shown to be equivalent (proof.py) are removed."""
import dataclasses
import ipaddress

from . import proof
from .model import ESTABLISHED, RELATED, Left, Match, apart, check_separate, is_host, is_known, meet

PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 47: "gre", 50: "esp", 58: "icmp6", 132: "sctp"}
WITH_PORTS = (6, 17, 132)
EVERYBODY = {None: "any", 4: "0.0.0.0/0", 6: "::/0"}
BITS = {None: 128, 4: 32, 6: 128}


# ---- words

def address_words(network):
    return str(network.network_address if is_host(network) else network)


def ports_words(name, ports):
    if not ports:
        return []
    return [f"{name} {ports[0]}" + (f"-{ports[1]}" if ports[1] > ports[0] else "")]


def match_words(match, with_src=False):
    words = []
    if match.proto is not None:
        words.append(PROTOCOLS.get(match.proto, f"proto {match.proto}"))
    words += ports_words("sport", match.sport) + ports_words("dport", match.dport)
    if match.src and with_src:
        words.append("src " + address_words(match.src))
    if match.dst:
        words.append("dst " + address_words(match.dst))
    words += ["syn"] if match.syn else []
    return words + ([] if match.known is None else ["established"] if match.known else ["not", "established"])


def amount_words(amount, is_bytes):
    if not is_bytes:
        return str(amount)
    for unit, factor in (("gibyte", 1 << 30), ("mibyte", 1 << 20), ("kibyte", 1 << 10)):
        if amount % factor == 0:
            return f"{amount // factor}{unit}"
    return f"{amount}byte"


def lengths_words(name, bits, family):
    """per source/LEN4,LEN6 without default lengths."""
    if family == 4:
        return name if bits == 32 else f"{name}/{bits}"
    return name if family == 6 and bits == 64 else f"{name}/32,{bits}"


def fixed_fields(match):
    """Fields of which the match leaves one value: the key may contain them or not."""
    fixed = {"saddr": is_host(match.src), "daddr": is_host(match.dst),
             "sport": match.sport and match.sport[0] == match.sport[1],
             "dport": match.dport and match.dport[0] == match.dport[1],
             "proto": match.proto is not None}
    return {field for field in fixed if fixed[field]}


def key_words(limit, match):
    fixed = fixed_fields(match)
    fields = limit.fields - fixed
    source, dest = (BITS[match.family] if bits is None else bits for bits in limit.masks)
    full = source == dest == BITS[match.family]
    if not fields:
        return "rule"
    if fields == {"saddr"}:
        return lengths_words("source", source, match.family)
    if fields == {"daddr"}:
        return lengths_words("dest", dest, match.family)
    if fields & {"sport", "dport"} and match.proto not in WITH_PORTS and "proto" not in limit.fields:
        raise Left("counts by ports of all protocols together: a policy has no such key")
    if fields == {"saddr", "dport"} and source == {4: 32, 6: 64}.get(match.family):
        return "source+dport"
    if fields == {"saddr", "daddr"} and full:
        return "source+dest"
    if {"saddr", "daddr", "sport", "dport"} - fixed <= fields and full:
        return "flow"
    lengths = "" if full else f" (/{source} and /{dest})"
    raise Left(f"counts by {', '.join(sorted(fields))}{lengths}: a policy has no such key")


def limit_words(limit, match):
    rate = f"{amount_words(limit.amount, limit.is_bytes)}/{limit.period}"
    words = ["limit fixed-window " + rate]
    if limit.burst is not None:
        words = [f"limit {rate} burst {amount_words(limit.burst, limit.is_bytes)}"]
    key = key_words(limit, match)
    return words + ([] if key == "source" else ["per " + key]) + ([f"over {limit.over}"] if limit.over else [])


# ---- rules

@dataclasses.dataclass
class Rule:
    step: object
    match: object
    verdict: str  # allow, deny, limit
    length: int  # of its prefix; `any` is -1
    text: str

    def remark(self):
        return self.step.place + (": " if self.step.remark else "") + self.step.remark


class Policy:
    """The rules, and notes on what did not become a rule."""
    def __init__(self, refused=None):
        self.lines = []  # (rule, remark)
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
        match = match.copy(src=ipaddress.ip_network(EVERYBODY[match.family]))
    return -1, " ".join(["any"] + match_words(match, True))


def unsaid(match):
    """The part of the match that a policy does not have."""
    words = ["the state of connections" if w in (ESTABLISHED, RELATED) else w for w in match.other]
    words = [w + ", which not only a SYN has (add --syn)" if w.lower() == "state new" else w for w in words]
    return f"matches by {words[0]}" if words else ""


def limit_check(step, matches):
    """Raises Left if no single rule of a policy is equivalent. matches: those of the rules."""
    for match in matches:
        if match.other:
            raise Left(unsaid(match) + ": a policy cannot")
    if step.unordered:
        raise Left(f"{step.unordered} may come before or after it: their chains have the same priority")
    used = {name for m in step.matches for name in ("src", "dst", "sport", "dport") if getattr(m, name)}
    used |= {{"saddr": "src", "daddr": "dst"}.get(f, f) for f in step.limit.fields}
    if used & set(step.translated):
        raise Left("matches or counts by fields that NAT rewrites: a policy sees packets as they arrive")
    check_separate(step.matches, step.limit)


def past_words(cause):
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
    return f"{cause.place} lets packets past it, {past_words(cause)}"


# ---- what is carried

class Carrier:
    """The steps that are carried over: removed until the rest is equivalent."""
    def __init__(self, policy, chains):
        self.policy, self.chains = policy, chains
        self.steps = [s for c in chains for s in c.steps]
        self.told = any(ESTABLISHED in m.other for c in chains if c.local for s in c.steps for m in s.matches)
        self.carried = [s for s in self.steps if self.possible(s)]
        self.packets, self.rules = [], []

    def behind_known(self, step, match):
        """Does an earlier step of its chain accept its packets of known connections?"""
        for chain in self.chains:
            if step in chain.steps:
                return any(other.verdict == "accept" and not other.limit and is_known(m) and not apart(m, match)
                           for other in chain.steps[:chain.steps.index(step)] for m in other.matches)
        return False

    def match_of(self, step, match):
        """The match of the step's rule. Conntrack and sockets know the same connections of TCP, but no others."""
        if not self.told or match.proto != 6 or match.syn:
            return match
        if is_known(match):
            return match.copy(known=True, other=())
        if step.verdict != "accept" and not match.other and self.behind_known(step, match):
            return match.copy(known=False)
        return match

    def matches_of(self, step):
        return [self.match_of(step, m) for m in step.matches]

    def possible(self, step):
        matches = self.matches_of(step)
        if step.counts():
            try:
                limit_check(step, matches)
                return bool([key_words(step.limit, m) for m in matches])
            except Left as why:
                self.policy.leave(step.place, why)
                step.limit = True
                return False
        rewritten = any(getattr(m, name) for m in step.matches for name in step.translated)
        return step.verdict in ("accept", "drop") and not step.limit and \
            not rewritten and not step.unordered and \
            not (step.verdict == "accept" and any(m.known for m in matches)) and \
            all(not m.other and (m.src or match_words(m)) for m in matches)

    def write(self):
        limits = [s for s in self.carried if s.limit]
        mixed = any(m.family is None for s in limits for m in s.matches)
        self.rules = []
        for step in self.carried:
            verdict = "limit" if step.limit else {"accept": "allow", "drop": "deny"}[step.verdict]
            at_prefix = not step.limit or not any(meet(s, step) for s in self.carried if s is not step)
            for match in self.matches_of(step):
                length, words = head(mixed, match, at_prefix)
                tail = " ".join(limit_words(step.limit, match)) if step.limit else verdict
                self.rules.append(Rule(step, match, verdict, length, f"rule {words} {tail}"))

    def remove(self, step, why=None):
        self.carried = [s for s in self.carried if s is not step]
        if step.limit:
            self.policy.leave(step.place, why)
        self.write()

    def settle(self):
        """Removes steps that are not equivalent, and those that rlctl refuses."""
        changed = True
        while changed:
            changed = False
            for packet, found in self.packets:
                wrong = proof.wrong(self.rules, found, packet)
                while wrong:
                    step, cause = wrong
                    self.remove(step, step.limit and why_wrong(self.chains, step, cause, packet))
                    changed = True
                    wrong = proof.wrong(self.rules, found, packet)
            refused = not changed and self.rules and self.policy.refused([r.text for r in self.texts()])
            if refused:
                rule = self.texts()[refused[0]]
                self.policy.leave(rule.step.place, f"became '{rule.text}', but {refused[1]}")
                self.remove(rule.step, f"became '{rule.text}', but {refused[1]}")
                changed = True

    def texts(self):
        return list({r.text: r for r in reversed(self.rules)}.values())[::-1]

    def prune(self):
        """Removes every `allow` without effect."""
        for step in [s for s in self.carried if s.verdict == "accept" and not s.limit]:
            before = self.carried
            self.carried = [s for s in before if s is not step]
            self.write()
            if any(proof.wrong(self.rules, found, packet) for packet, found in self.packets):
                self.carried = before
        self.write()

    def compare(self):
        matches = [m for s in self.steps for m in s.matches]
        self.packets = [(p, proof.events(self.chains, p)) for p in proof.packets(matches, self.told)]

    def tell(self):
        """Notes what the firewall does beyond the policy."""
        named = {s.place for s in self.carried}
        for step in self.steps:
            if step.verdict == "accept" and not step.limit and step.place not in named:
                self.policy.firewall.append(step.place)
        for packet, found in self.packets:
            verdict, acting = proof.decide(self.rules, packet)
            if verdict != "pass" and verdict != "allow":
                self.tell_rule(acting[0], packet)
            for event in found if verdict != "deny" else ():
                if not event.step.limit:
                    self.policy.leave_drop(event.step.place)

    def tell_rule(self, rule, packet):
        step = rule.step
        differs = [step.differs] if step.differs else []
        other = step.limit and proof.spared(self.chains, step, packet)
        if other:
            differs.append(f"a SYN of a known connection passes by {other.place}")
        if rule.match.known is not None:
            differs.append("the ACK that ends a handshake, and TCP of closed connections, are not established")
        if packet.family == 6 and packet.proto == 58 and not step.differs:
            differs.append("neighbour discovery always passes in a policy")
        if any(step in c.steps and c.all_frames for c in self.chains) and Match() in step.matches:
            differs.append("it counts ARP and other non-IP frames, which pass in a policy")
        wide = step.limit and "saddr" in step.limit.fields and step.limit.masks[0] not in (None, 128)
        if wide and packet.family == 6:
            differs.append("link-local sources count by /128")
        for text in differs:
            self.policy.leave(step.place, "carried, but " + text)


def chains_carry(policy, chains):
    carrier = Carrier(policy, chains)
    if carrier.carried:
        carrier.write()
        carrier.compare()
        carrier.settle()
        carrier.prune()
    carrier.tell()
    if not carrier.carried:
        for step in carrier.steps:
            if step.verdict == "drop" and not step.limit:
                policy.leave_drop(step.place)
    policy.lines = [(r.text, r.remark()) for r in carrier.texts()]
