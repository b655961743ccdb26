# SPDX-License-Identifier: GPL-2.0-only
"""Matches of nft's JSON: what each allows, as matches of the model."""
import ipaddress
import itertools

from . import fields, payload, ranges
from .model import RANGES, Left, Match, joined, network_of, networks_of, state_word

FAMILIES = {"ip": 4, "ip6": 6, "inet": None, "netdev": None}
NFPROTO = {"ipv4": 4, 2: 4, "ipv6": 6, 10: 6}
ETHER = {"ip": 4, "ip6": 6, 0x0800: 4, 0x86dd: 6}
PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "icmpv6": 58, "ipv6-icmp": 58, "sctp": 132}
ADDRESSES = {"saddr": "src", "daddr": "dst"}
STATES = {1: "INVALID", 2: "ESTABLISHED", 4: "RELATED", 8: "NEW", 64: "UNTRACKED"}
NUMBERS = {("ip", "ttl"): "ttl", ("ip6", "hoplimit"): "ttl", ("ip", "dscp"): "dscp", ("ip6", "dscp"): "dscp",
           ("ip", "length"): "length"}


class Unknown(Exception):
    """A match that a policy does not have, with its name."""


def as_list(value):
    if isinstance(value, dict) and ("set" in value or "|" in value):
        value = value.get("set") or value["|"]
    return value if isinstance(value, list) else [value]


def flat(value):
    """The names joined by |, which nft before 1.1 nests where there are more than two."""
    return [name for v in as_list(value) for name in (flat(v) if isinstance(v, dict) and "|" in v else [v])]


def name_of(left):
    if "payload" in left:
        return f"{left['payload'].get('protocol', '')} {left['payload'].get('field', 'bytes')}".strip()
    kind = next(iter(left))
    return f"{kind} {left[kind].get('key', '')}".strip() if isinstance(left[kind], dict) else "what is computed"


# ---- values

def numbers(values, names, what):
    found = []
    for value in values:
        first, last = value["range"] if isinstance(value, dict) and "range" in value else (value, value)
        found.append((fields.named(first, names, what), fields.named(last, names, what)))
    return ranges.normal(found)


def compared(op, found, top):
    """The numbers that compare so with these."""
    if op in ("==", "in"):
        return found
    if op == "!=":
        return ranges.complement(found, top)
    first, last = found[0]
    return {"<": ((0, first - 1),), "<=": ((0, last),), ">": ((last + 1, top),), ">=": ((first, top),)}.get(op) or ()


def number_match(op, field, found, **more):
    found = tuple(r for r in compared(op, found, RANGES[field]) if r[0] <= r[1])
    if not found:
        raise Left("matches no packet")
    return Match(**{field: found}, **more)


def networks(value):
    if isinstance(value, dict) and "range" in value:
        return networks_of(*value["range"])
    if isinstance(value, dict) and "prefix" in value:
        value = f"{value['prefix']['addr']}/{value['prefix']['len']}"
    if not isinstance(value, str):
        raise Left("matches by what is no address")
    return [network_of(value)]


def bits_of(mask):
    """Prefix length of a netmask."""
    bits = bin(int(ipaddress.ip_address(mask)))[2:]
    if "01" in bits or len(bits) not in (32, 128):
        raise Left(f"'{mask}' is not a netmask")
    return bits.count("1")


# ---- one match

class Test:
    """left op right."""
    def __init__(self, ruleset, table):
        self.ruleset, self.table = ruleset, table

    def allowed(self, left, op, right):
        """Matches of which one holds; Unknown: a policy has no such match."""
        if "concat" in left:
            return self.concat(left["concat"], op, self.values(right))
        key = next(iter(left))
        if key == "&":
            return self.masked(left["&"][0], left["&"][1], op, right)
        by = {"payload": self.payload, "meta": self.meta, "ct": self.ct}.get(key)
        if by is None:
            raise Unknown(("not " if op == "!=" else "") + name_of(left))
        return by(left, op, right)

    def values(self, right):
        """The values that a match compares with; for a named set, its elements."""
        if not isinstance(right, str) or not right.startswith("@"):
            return as_list(right)
        found = self.ruleset.sets.get(self.table + (right[1:],), {})
        if not found.get("elem") or found.get("stmt") or {"timeout", "dynamic"} & set(as_list(found.get("flags", []))):
            raise Left(f"matches by the set {right}, whose elements change")
        return [e["elem"]["val"] if isinstance(e, dict) and "elem" in e else e for e in found["elem"]]

    def concat(self, parts, op, values):
        if op not in ("==", "in"):
            raise Unknown("not what is computed")
        found = []
        for value in values:
            sides = [self.allowed(part, "==", v) for part, v in zip(parts, value["concat"])]
            for combined in itertools.product(*sides):
                both = Match()
                for match in combined:
                    both = both and joined(both, match)
                found += [both] if both else []
        return found

    # ---- fields of headers

    def payload(self, left, op, right):
        where = left["payload"]
        protocol, field = where.get("protocol"), where.get("field")
        if "base" in where:
            return [self.raw(where, op, right, None)]
        if field in ADDRESSES and protocol in ("ip", "ip6"):
            return self.addresses(FAMILIES[protocol], ADDRESSES[field], op, right)
        if (protocol, field) in NUMBERS:
            found = numbers(self.values(right), fields.DSCP, field)
            return [number_match(op, NUMBERS[protocol, field], found, family=FAMILIES[protocol])]
        if (protocol, field) == ("ip6", "length"):
            found = tuple((a + 40, b + 40) for a, b in numbers(self.values(right), {}, field))
            return [number_match(op, "length", found, family=6)]
        if (protocol, field) == ("ip", "protocol"):
            return [m.copy(family=4) for m in self.protocols(left, op, right)]
        if protocol in ("icmp", "icmpv6") and field in ("type", "code"):
            return [self.icmp(protocol, field, op, right)]
        if (protocol, field) == ("tcp", "flags"):
            return [self.flags(255, op, right)]
        if field in ("sport", "dport") and protocol in ("th", *PROTOCOLS):
            proto = {} if protocol == "th" else {"proto": PROTOCOLS[protocol]}
            return [number_match(op, field, self.ports(right), **proto)]
        raise Unknown(("not " if op == "!=" else "") + name_of(left))

    def addresses(self, family, side, op, right):
        found = [n for value in self.values(right) for n in networks(value)]
        if op == "!=":
            return [Match(family=family, **{f"not_{side}": tuple(found)})]
        if op not in ("==", "in"):
            raise Unknown("addresses that are less or greater")
        return [Match(family=family, **{side: n}) for n in found]

    def ports(self, right):
        values = self.values(right)
        for value in values:
            if isinstance(value, str):
                raise Left(f"port '{value}' is not a number: pass the output of `nft -nj list ruleset`")
        return numbers(values, {}, "port")

    def icmp(self, protocol, field, op, right):
        proto, names = (1, fields.ICMP) if protocol == "icmp" else (58, fields.ICMP6)
        family = 4 if proto == 1 else 6  # nft asks for it, too
        codes = fields.CODES if proto == 1 else fields.CODES6
        found = compared(op, numbers(self.values(right), names if field == "type" else codes, f"ICMP {field}"), 255)
        if field == "type":
            return Match(family=family, proto=proto, icmp=ranges.normal((256 * a, 256 * b + 255) for a, b in found))
        return Match(family=family, proto=proto, icmp=ranges.normal((256 * n + a, 256 * n + b) for n in range(256) for a, b in found))

    def flags(self, mask, op, right):
        """`in` holds for any of the flags, `!` for none."""
        if op in ("in", "!"):
            none = fields.flags_set(0, fields.flag_bits(flat(right)) & mask)
            return Match(proto=6, flags=none if op == "!" else fields.EVERY_FLAGS & ~none)
        if op not in ("==", "!="):
            raise Unknown("tcp flags")
        wanted = 0
        for value in self.values(right) if isinstance(right, dict) and "set" in right else [right]:
            bits = fields.flag_bits(flat(value))
            wanted |= fields.flags_set(bits, mask)
        wanted = wanted if op == "==" else fields.EVERY_FLAGS & ~wanted
        if not wanted:
            raise Left("matches no packet")
        return Match(proto=6, flags=wanted)

    def masked(self, left, mask, op, right):
        where = left.get("payload", {})
        if where.get("field") == "flags" and where.get("protocol") == "tcp":
            return [self.flags(fields.flag_bits(flat(mask)), op, right)]
        if "base" in where:
            return [self.raw(where, op, right, mask)]
        if where == {"protocol": "ip", "field": "frag-off"} and mask == 0x1fff and right == 0 and op in ("==", "!="):
            return [Match(family=4, later=op == "!=")]
        if where.get("field") in ADDRESSES and where.get("protocol") in ("ip", "ip6"):
            network = network_of(f"{right}/{bits_of(mask)}")
            return self.addresses(FAMILIES[where["protocol"]], ADDRESSES[where["field"]], op, str(network))
        raise Unknown(("not " if op == "!=" else "") + name_of(left))

    def raw(self, where, op, right, mask):
        """Bits of the payload. Packets that lack them match neither == nor !=."""
        if op not in ("==", "!=") or not all(isinstance(v, (int, str, type(None))) for v in (right, mask)):
            raise Unknown(name_of({"payload": where}))
        right, mask = (int(v, 0) if isinstance(v, str) else v for v in (right, mask))
        words = ((where["base"], where["offset"], where["len"]), right, mask)
        return Match(pending=(payload.Bytes(payload.of_raw, words, op == "!="),))

    # ---- meta and ct

    def meta(self, left, op, right):
        key = left["meta"]["key"]
        if key in ("iifname", "iif"):
            names = as_list(right)
            if op == "!=" and names == ["lo"]:
                return [Match()]
            if op == "==":
                return [Match(device=name) for name in names]
        elif key == "nfproto" and op == "==":
            return [Match(family=NFPROTO[right])]
        elif key == "protocol" and op == "==":
            return [Match(family=ETHER[v]) for v in as_list(right)]
        elif key == "l4proto":
            return self.protocols(left, op, right)
        elif key == "length" and self.table[0] != "netdev":  # there it has the padding of short frames
            return [number_match(op, "length", numbers(self.values(right), {}, "length"))]
        raise Unknown(("not " if op == "!=" else "") + name_of(left))

    def protocols(self, left, op, right):
        names = self.values(right)
        if op not in ("==", "in", "!=") or not all(isinstance(n, int) or n in PROTOCOLS for n in names):
            raise Unknown(name_of(left))
        found = [n if isinstance(n, int) else PROTOCOLS[n] for n in names]
        return [Match(not_proto=tuple(found))] if op == "!=" else [Match(proto=n) for n in found]

    def ct(self, left, op, right):
        """Not every new TCP connection begins with SYN: conntrack takes one up in the middle (tcp_loose)."""
        if left["ct"]["key"] != "state" or op not in ("==", "in"):
            raise Unknown(("not " if op == "!=" else "") + name_of(left))
        names = {STATES.get(v, str(v)) if isinstance(v, int) else str(v) for v in flat(self.values(right))}
        return [Match(other=(state_word(names),))]
