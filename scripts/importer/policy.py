# SPDX-License-Identifier: GPL-2.0-only
"""Steps into rules of a policy that mean the same. In a chain the first step decides; in a policy the
longest prefix does, then allow before deny before limits, all of them. So everything that may meet a
limit stands beside it at the prefix of everybody, with its addresses as matches."""
import ipaddress

from .model import ESTABLISHED, Left, covers, inside, is_host, meet

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
    return words + (["syn"] if match.syn else [])


def amount_words(amount, is_bytes):
    if not is_bytes:
        return str(amount)
    for unit, factor in (("gibyte", 1 << 30), ("mibyte", 1 << 20), ("kibyte", 1 << 10)):
        if amount % factor == 0:
            return f"{amount // factor}{unit}"
    return f"{amount}byte"


def lengths_words(name, bits, family):
    """per source/LEN4,LEN6 with what is usual left out."""
    if family == 4:
        return name if bits == 32 else f"{name}/{bits}"
    return name if family == 6 and bits == 64 else f"{name}/32,{bits}"


def fixed_fields(match):
    """What the match leaves but one value of: it need not be counted by, and may be."""
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
        raise Left("counts by ports of all protocols together: no key of a policy does")
    if fields == {"saddr", "dport"} and source == {4: 32, 6: 64}.get(match.family):
        return "source+dport"
    if fields == {"saddr", "daddr"} and full:
        return "source+dest"
    if {"saddr", "daddr", "sport", "dport"} - fixed <= fields and full:
        return "flow"
    lengths = "" if full else f" (/{source} and /{dest})"
    raise Left(f"counts by {', '.join(sorted(fields))}{lengths}: no key of a policy does")


def limit_words(limit, match):
    rate = f"{amount_words(limit.amount, limit.is_bytes)}/{limit.period}"
    words = ["limit fixed-window " + rate]
    if limit.burst is not None:
        words = [f"limit {rate} burst {amount_words(limit.burst, limit.is_bytes)}"]
    key = key_words(limit, match)
    return words + ([] if key == "source" else ["per " + key]) + ([f"over {limit.over}"] if limit.over else [])


# ---- rules

class Policy:
    """Rules, and what there is to say of those that did not become one."""
    def __init__(self):
        self.lines = []  # (rule, remark)
        self.left = []  # (place, why)
        self.notes = []
        self.firewall = []  # places of what stays with the firewall
        self.known = {}  # identity of a rule: (place, rule)

    def leave(self, place, why):
        if (place, str(why)) not in self.left:
            self.left.append((place, str(why)))

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def add(self, step, match, head, tail, identity):
        """A rule of two halves; of one identity there can be but one."""
        rule = f"rule {head} {tail}"
        place, same = self.known.setdefault((head, identity), (step.place, rule))
        if place != step.place and same != rule:
            raise Left(f"has the prefix, match, key and unit of {place}: a policy holds one such limit")
        if place == step.place:
            self.lines.append((rule, step.place + (": " if step.remark else "") + step.remark))
        step.rules.append(match)


def head_words(steps, match, at_prefix):
    """Prefix and matches. The rules of 0.0.0.0/0 would hide those of `any`: where there are both, the
    family is a match too."""
    mixed = any(m.family is None for s in steps if s.limit for m in s.matches)
    if at_prefix and match.src:
        return " ".join([address_words(match.src)] + match_words(match))
    if not mixed or match.family is None:
        return " ".join([EVERYBODY[match.family]] + match_words(match, True))
    if not match.src and not match.dst:
        match = match.copy(src=ipaddress.ip_network(EVERYBODY[match.family]))
    return " ".join(["any"] + match_words(match, True))


def unsaid(match):
    """What of the match a policy cannot say."""
    words = [w.replace(ESTABLISHED, "the state of connections") for w in match.other]
    return f"matches by {words[0]}" if words else ""


def check_before(step, earlier):
    """What goes past the limit in the chain has to go past it in the policy."""
    for other in earlier:
        if not other.lets_past() or not meet(other, step):
            continue
        if other.verdict == "within":
            raise Left(f"{other.place} lets packets past it, as far as they are within a limit")
        if not other.rules:
            raise Left(f"{other.place} lets packets past it, {other.unsayable or 'which a policy cannot say'}")


def check_behind(step, later, default):
    """What exceeds a limit that accepts goes on: it has to end in a drop, whatever comes between."""
    for other in later:
        if not meet(other, step):
            continue
        if other.verdict == "drop" and all(any(covers(o, m) for o in other.matches) for m in step.matches):
            return
        if other.lets_past():
            raise Left(f"accepts what is within it, but {other.place} may accept what is over it")
    if default != "drop":
        raise Left("accepts what is within it, but nothing drops what is over it")


def limit_convert(policy, steps, i, default):
    step = steps[i]
    for match in step.matches:
        if match.other:
            raise Left(unsaid(match) + ": a policy cannot")
    for other in steps[:i]:
        if step.limit.table and other.limit and other.limit.table == step.limit.table:
            raise Left(f"shares its counts with {other.place}: each rule of a policy has its own")
    check_before(step, steps[:i])
    if step.verdict == "within":
        check_behind(step, steps[i + 1:], default)
    alone = not any(meet(s, step) for s in steps if s is not step and s.verdict != "leave")
    for match in step.matches:
        policy.add(step, match, head_words(steps, match, alone), " ".join(limit_words(step.limit, match)),
                   (key_words(step.limit, match), step.limit.is_bytes))


def exempts(accept, drop):
    """The drop may become a `deny`: longer prefixes allow what is accepted before it."""
    return accept.verdict == "accept" and all(m.src and any(inside(m.src, d.src) for d in drop.matches)
                                              for m in accept.matches)


def accept_convert(policy, steps, i, foreign):
    """An `allow` where it keeps packets from a limit or a deny behind it, and nowhere else."""
    step = steps[i]
    limited = [s for s in steps[:i] if s.limit and meet(s, step)]
    if not any((s.limit or s.verdict == "drop" and exempts(step, s)) and meet(s, step) for s in steps[i + 1:]):
        return policy.firewall.append(step.place)
    if any(m.other for m in step.matches):
        step.unsayable = "but " + unsaid(next(m for m in step.matches if m.other))
    elif limited:
        step.unsayable = f"but only those that {limited[0].place} has not dropped"
    elif any(meet(s, step) for s in foreign):
        step.unsayable = "though not past the limits of other chains"
    elif not all(m.src or match_words(m) for m in step.matches):
        step.unsayable = "all of them"
    if step.unsayable:
        return policy.firewall.append(step.place)
    for match in step.matches:
        policy.add(step, match, head_words(steps, match, True), "allow", "verdict")


def drop_convert(policy, steps, i):
    """A `deny` where nothing before it accepts such packets, but what a longer prefix allows."""
    step = steps[i]
    past = [s for s in steps[:i] if s.lets_past() and meet(s, step)]
    if not all(s.rules and exempts(s, step) for s in past) or \
            any(m.other or not (m.src or match_words(m)) for m in step.matches):
        return policy.firewall.append(step.place)
    for match in step.matches:
        policy.add(step, match, head_words(steps, match, True), "deny", "verdict")


def steps_convert(policy, steps, default, foreign=()):
    """default: what becomes of packets behind the last step; foreign: steps with limits that packets
    meet in other chains as well."""
    for i, step in enumerate(steps):
        try:
            if step.limit:
                limit_convert(policy, steps, i, default)
            elif step.verdict == "accept":
                accept_convert(policy, steps, i, foreign)
            elif step.verdict == "drop":
                drop_convert(policy, steps, i)
        except Left as why:
            policy.leave(step.place, why)
