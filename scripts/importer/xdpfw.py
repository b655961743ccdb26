# SPDX-License-Identifier: GPL-2.0-only
"""Reads the configuration of XDP-Firewall, in libconfig syntax, as of 2026. The first matching filter decides. A rate
N matches the Nth and later packets of a source, of any kind, since its second began, or those of a flow: source,
source port and protocol. A packet that a filter drops blocks its source entirely for block_time, before any filter is
checked. Only TCP, UDP and ICMP are filtered; everything else passes, including ICMPv6. Lengths are those of frames."""
import re

from . import fields, ranges
from .model import Chain, Left, Limit, Match, Step, joined, network_of
from .policy import chains_carry

TOKEN = re.compile(r"""(?P<skip>\s+|\#[^\n]*|//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\])*")|
    (?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|\d+(?![.\w])|\d+L{1,2}))|(?P<name>@?[A-Za-z*][-\w*]*)|(?P<sign>[=:;,{}()\[\]])""",
                   re.S | re.X)
OLD = {"srcip": "src_ip", "dstip": "dst_ip", "srcip6": "src_ip6", "dstip6": "dst_ip6", "blocktime": "block_time",
       "pps": "ip_pps", "bps": "ip_bps"}
RATES = {"ip_pps": ("saddr",), "ip_bps": ("saddr",), "flow_pps": ("saddr", "sport", "proto"),
         "flow_bps": ("saddr", "sport", "proto")}
PROTOCOLS = {"tcp": 6, "udp": 17, "icmp": 1}
FLAGS = tuple(f"tcp_{name}" for name in fields.FLAG_WORDS)
KNOWN = {"enabled", "action", "block_time", "log", "src_ip", "dst_ip", "src_ip6", "dst_ip6", "tcp_enabled",
         "udp_enabled", "icmp_enabled", "tcp_sport", "tcp_dport", "udp_sport", "udp_dport", "icmp_type", "icmp_code",
         "min_ttl", "max_ttl", "min_len", "max_len", *FLAGS, *RATES}
ETHERNET, PADDED = 14, 60  # bytes of the header, and of the shortest frame


# ---- libconfig

class Config:
    """Settings, groups as dicts, lists and arrays as lists; a group knows its line as "\\0line"."""
    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            found = TOKEN.match(text, at)
            line = text.count("\n", 0, at) + 1
            if not found:
                raise Left(f"line {line}: '{text[at:].split()[0][:20]}' is not libconfig syntax")
            if found.lastgroup != "skip":
                self.tokens.append((found.lastgroup, found[0], line))
            at = found.end()
        self.tokens.append(("end", "the end", text.count("\n") + 1))

    def peek(self):
        return self.tokens[0][1] if self.tokens[0][0] == "sign" else None

    def take(self, *kinds):
        kind, text, line = self.tokens[0]
        if kind not in kinds and text not in kinds:
            raise Left(f"line {line}: unexpected {text}")
        self.tokens.pop(0)
        return text

    def settings(self, end):
        line = self.tokens[0][2]
        group = {}
        while self.tokens[0][1] != end:
            name = self.take("name")
            if name.startswith("@"):
                raise Left(f"line {line}: {name}: includes are not read, convert the files one by one")
            self.take("=", ":")
            group[name] = self.value()
            while self.peek() in (";", ","):
                self.take("sign")
        self.take(end)
        return {**group, "\0line": line}

    def value(self):
        sign, line = self.peek(), self.tokens[0][2]
        if sign == "{":
            self.take("{")
            return {**self.settings("}"), "\0line": line}
        if sign in ("(", "["):
            return self.items(self.take("sign"))
        text = self.take("string", "number", "name")
        if text.startswith('"'):
            while self.tokens[0][0] == "string":
                text = text[:-1] + self.take("string")[1:]
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        try:
            return int(text.rstrip("L"), 0)
        except ValueError:
            raise Left(f"line {line}: {text} is not a value") from None

    def items(self, sign):
        end = {"(": ")", "[": "]"}[sign]
        items = []
        while self.peek() != end:
            items.append(self.value())
            if self.peek() == ",":
                self.take(",")
        self.take(end)
        return items


# ---- filters

def ports_of(value):
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", str(value))
    if not found:
        raise Left(f"port '{value}' is neither a number nor a range")
    return int(found[1]), int(found[2] or found[1])


class Filter:
    def __init__(self, policy, settings):
        self.policy = policy
        self.settings = {OLD.get(name, name): value for name, value in settings.items() if value != -1}
        self.place = f"line {settings[chr(0) + 'line']}"
        self.limits = [name for name in RATES if name in self.settings]

    def get(self, name, usual=None):
        return self.settings.get(name, usual)

    def step(self):
        matches = self.matches()
        if self.get("action", 1) not in (0, 1):
            raise Left("has an unknown action: write 0 to drop, 1 to allow")
        if self.get("action", 1) == 1:
            if self.limits:
                raise Left("allows packets over a rate: a policy can only drop them")
            return Step(self.place, "accept", matches)
        if self.limits:
            limit = self.limit(matches)
            by_flow = "proto" in limit.fields
            everything = "it counts every protocol: xdpfw looks at TCP, UDP and ICMP only"
            return Step(self.place, "above", seen_only(matches) if by_flow else matches, limit,
                        differs=() if by_flow else (everything,))
        self.check_block(matches)
        return Step(self.place, "drop", seen_only(matches))

    def check_block(self, matches):
        """`deny` does not ban; if it matches everything of a source, it need not."""
        if self.get("block_time", 1) and any(m != Match(family=m.family, src=m.src) for m in matches):
            text = f"a source that is dropped is not blocked from everything for {self.get('block_time', 1)} s"
            self.policy.leave(self.place, f"block_time: {text}, a deny does not ban")

    def matches(self):
        unknown = [n for n in self.settings if n not in KNOWN and n[0] != "\0"]
        if unknown:
            raise Left(f"matches by {unknown[0]}: a policy cannot")
        match = Match(length=self.length(), ttl=self.between("ttl", 255))
        chosen = next((name for name in PROTOCOLS if self.get(f"{name}_enabled")), None)
        if chosen:  # the first of them decides, as in xdpfw
            match = match.copy(proto=PROTOCOLS[chosen])
        for side in ("sport", "dport"):
            if f"{chosen}_{side}" in self.settings:
                match = match.copy(**{side: (ports_of(self.get(f"{chosen}_{side}")),)})
        if chosen == "tcp":
            match = match.copy(flags=self.flags())
        if chosen == "icmp":  # ICMPv6 is not filtered
            match = match.copy(family=4, icmp=self.icmp())
        found = [joined(match, Match(**family)) for family in self.families()]
        if None in found:
            raise Left("never matches: it asks for ICMP of IPv6")
        return found

    def families(self):
        """The addresses, by family; [{}] if there are none."""
        found = []
        for family, end in ((4, ""), (6, "6")):
            sides = {side: network_of(self.get(f"{side}_ip{end}")) for side in ("src", "dst")
                     if self.get(f"{side}_ip{end}")}
            if sides:
                found.append({"family": family, **sides})
        if len(found) > 1:
            raise Left("never matches: it asks for addresses of both families")
        return found or [{}]

    def between(self, name, top):
        first, last = self.get(f"min_{name}", 0), self.get(f"max_{name}", top)
        if not isinstance(first, int) or not isinstance(last, int) or first > last:
            raise Left(f"never matches: no {name} is between {first} and {last}")
        return ((first, min(last, top)),) if (first, last) != (0, top) else None

    def length(self):
        """The length of the IP packet. Frames of less than 60 bytes are padded, so shorter ones cannot be told apart."""
        found = self.between("len", 65535)
        if not found:
            return None
        (first, last), = found
        if 0 < first <= PADDED or last < PADDED:
            raise Left(f"matches by lengths of frames below {PADDED} bytes, which are padded: a policy counts IP packets")
        return ((max(0, first - ETHERNET), last - ETHERNET if "max_len" in self.settings else 65535),)

    def flags(self):
        """None: any; without flags that are not asked for."""
        asked = [(1 << n, self.get(name)) for n, name in enumerate(FLAGS) if name in self.settings]
        if not asked:
            return None
        return fields.flags_set(sum(bit for bit, value in asked if value is True), sum(bit for bit, _ in asked))

    def icmp(self):
        kinds = [self.get("icmp_type")] if "icmp_type" in self.settings else range(256)
        if "icmp_code" in self.settings:
            return ranges.normal((256 * kind + self.get("icmp_code"),) * 2 for kind in kinds)
        return ranges.normal((256 * kind, 256 * kind + 255) for kind in kinds) if "icmp_type" in self.settings else None

    def limit(self, matches):
        if len(self.limits) > 1:
            raise Left(f"drops what is over both {self.limits[0]} and {self.limits[1]}: limits of a policy drop what "
                       "is over any")
        name, block = self.limits[0], self.get("block_time", 1)
        flow = "sport" in RATES[name]
        same = ("family", "src", "proto", "sport") if flow else ("family", "src")
        if any(m != Match(**{field: getattr(m, field) for field in same}) for m in matches):
            raise Left(f"{name} counts all packets of a {'flow' if flow else 'source'}, a policy those that match")
        if not isinstance(self.get(name), int) or self.get(name) < 2:
            raise Left(f"{name} = {self.get(name)} lets no packet pass, or is no number: write a deny by hand")
        if not flow:
            self.policy.note(f"{name}: XDP-Firewall ignores it unless it was built with ENABLE_RL_IP")
        return Limit(self.get(name) - 1, "second", None, name.endswith("bps"), frozenset(RATES[name]),
                     over=f"ban {block}s source" if block else "")


def seen_only(matches):
    """Replaces a match of every protocol by those that xdpfw filters."""
    protocols = {4: (6, 17, 1), 6: (6, 17), None: (6, 17, 1)}
    return [m.copy(proto=p, family=4 if p == 1 else m.family) for m in matches
            for p in ((m.proto,) if m.proto is not None else protocols[m.family])]


def whole_sources(step):
    """Does it decide on all packets of its sources?"""
    return all(m == Match(family=m.family, src=m.src, proto=m.proto) for m in step.matches) and \
        (step.limit or step.verdict == "accept" and all(m.proto is None for m in step.matches) or
         {6, 17} <= {m.proto for m in step.matches})


def rates_check(policy, steps):
    """A rate also counts packets that other filters decide on, and its block overrides what they allow; in a
    policy, deny and allow come before limits, and allow overrides a ban."""
    for n, step in enumerate(steps):
        for other in steps if step.counts() else ():
            late = other.verdict == "accept" and steps.index(other) > n
            if other is not step and (late or not whole_sources(other)):
                policy.leave(step.place, f"counts what {other.place} decides on, too: in a policy that comes first")
                step.limit = True
                break


def ranges_read(policy, config, steps):
    """Networks that are dropped before any filter is checked."""
    for name in ("ip_drop_ranges", "ip_range_drop"):
        if config.get(name):
            policy.note(f"{name}: XDP-Firewall ignores it unless it was built with ENABLE_IP_RANGE_DROP")
        for text in config.get(name, ()):
            try:
                network = network_of(text)
                matches = seen_only([Match(family=network.version, src=network)])
                steps.append(Step(f"{name} {text}", "drop", matches))
            except Left as why:
                policy.leave(f"{name}", why)


def read(policy, text):
    device = policy.options.device
    config = Config(text).settings("the end")
    steps = []
    devices = config.get("interface", [])
    devices = devices if isinstance(devices, list) else [devices]
    if device and devices and device not in devices:
        raise Left(f"is for {', '.join(devices)}, not for {device}")
    ranges_read(policy, config, steps)
    for settings in config.get("filters", ()):
        entry = Filter(policy, settings)
        if entry.get("enabled") is False:
            continue
        try:
            steps.append(entry.step())
        except Left as why:
            policy.leave(entry.place, why)
            verdict = "accept" if entry.get("action", 1) == 1 else "unknown"
            steps.append(Step(entry.place, verdict, [Match(other=("a filter that was left out",))], bool(entry.limits)))
    rates_check(policy, steps)
    chains_carry(policy, [Chain("filters", steps)])
