# SPDX-License-Identifier: GPL-2.0-only
"""Reads the output of `nft -j list ruleset`: limits of rules, and of elements of sets and meters. A limit is
a token bucket, initially full."""
import ipaddress
import json

from .chains import Chains, Hook, Rule, chains_convert
from .model import ESTABLISHED, RELATED, Left, Limit, Match, check_memory, network_of

FAMILIES = {"ip": 4, "ip6": 6, "inet": None, "netdev": None}
NFPROTO = {"ipv4": 4, 2: 4, "ipv6": 6, 10: 6}
PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "icmpv6": 58, "ipv6-icmp": 58, "sctp": 132}
ADDRESSES = {"saddr": "src", "daddr": "dst"}
VERDICTS = {"accept": "accept", "drop": "drop", "reject": "drop", "return": "leave", "queue": "leave"}
PERIODS = {"second": "second", "minute": "minute", "hour": "hour", "day": "day", "week": "7d"}
IGNORED = ("counter", "comment", "notrack", "mangle")
TRANSLATES = ("dnat", "redirect", "snat", "masquerade", "tproxy")


def as_list(value):
    if isinstance(value, dict) and ("set" in value or "|" in value):
        value = value.get("set") or value["|"]
    return value if isinstance(value, list) else [value]


def bits_of(mask):
    """Prefix length of a netmask."""
    bits = bin(int(ipaddress.ip_address(mask)))[2:]
    if "01" in bits or len(bits) not in (32, 128):
        raise Left(f"'{mask}' is not a netmask")
    return bits.count("1")


class Reader:
    """Reads the expressions of one rule, in order, into a Rule."""
    def __init__(self, ruleset, table, place, comment):
        self.ruleset, self.table = ruleset, table
        self.rule = Rule(place, [Match(family=FAMILIES[table[0]])], remark=" ".join(comment.split()))
        self.other = []

    def read(self, expressions):
        for expression in expressions:
            for name, value in expression.items():
                self.expression(name, value)
        self.rule.matches = [m.copy(other=m.other + tuple(o for o in self.other if not (m.syn and o == "state new")))
                             for m in self.rule.matches]
        if self.rule.limit:
            check_memory(self.rule.limit)

    def expression(self, name, value):
        if name == "match":
            if self.rule.limit:
                raise Left("counts packets before its last match: write the limit last")
            self.match(value)
        elif name == "limit":
            self.limit(value, frozenset(), (None, None), None)
        elif name in ("set", "meter"):
            self.element(name, value)
        elif name in VERDICTS:
            self.rule.target = VERDICTS[name]
        elif name in ("jump", "goto"):
            self.rule.target, self.rule.goes = "jump " + value["target"], name == "goto"
        elif name == "log":
            self.rule.target = "log"
        elif name == "vmap":
            self.vmap()
        elif name == "xt":
            raise Left("was made by iptables: pass the output of iptables-save")
        elif name not in IGNORED:
            self.other.append(name)

    # ---- matches

    def narrow(self, **values):
        """Combines every match so far with each of the values: field=[value, …]."""
        for field, choices in values.items():
            self.rule.matches = [m.copy(**{field: c}) for m in self.rule.matches for c in choices]

    def family_set(self, family):
        if family and all(m.family not in (None, family) for m in self.rule.matches):
            raise Left("matches no packet: another address family")
        if family:
            self.narrow(family=[family])

    def match(self, match):
        left, right = match["left"], match["right"]
        payload, meta = left.get("payload", {}), left.get("meta", {}).get("key")
        if match["op"] not in ("==", "in"):
            self.other.append(f"not {self.name_of(left)}")
        elif "ct" in left and left["ct"]["key"] == "state":
            self.state(set(as_list(right)))
        elif meta in ("iifname", "iif"):
            self.narrow(device=as_list(right))
        elif meta == "nfproto":
            self.family_set(NFPROTO[right])
        elif meta in ("l4proto", "protocol") or payload.get("field") == "protocol":
            self.protocols(left, right, meta)
        elif payload.get("field") in ADDRESSES and payload["protocol"] in ("ip", "ip6"):
            self.family_set(FAMILIES[payload["protocol"]])
            self.narrow(**{ADDRESSES[payload["field"]]: [self.network(v) for v in self.values(right)]})
        elif payload.get("field") in ("sport", "dport") and payload["protocol"] in PROTOCOLS:
            self.transport(payload["protocol"])
            self.narrow(**{payload["field"]: [self.ports(v) for v in self.values(right)]})
        elif not self.flags(match["op"], left, right):
            self.transport(payload.get("protocol"))
            self.other.append(self.name_of(left))

    def name_of(self, left):
        if "payload" in left:
            return f"{left['payload'].get('protocol', '')} {left['payload'].get('field', 'bytes')}".strip()
        kind = next(iter(left))
        return f"{kind} {left[kind].get('key', '')}".strip() if isinstance(left[kind], dict) else "what is computed"

    def transport(self, protocol):
        """A field such as tcp dport implies its protocol."""
        if protocol in PROTOCOLS:
            self.narrow(proto=[PROTOCOLS[protocol]])

    def protocols(self, left, right, meta):
        if meta == "protocol":
            return self.family_set({"ip": 4, "ip6": 6, 0x0800: 4, 0x86dd: 6}[right])
        if not meta:
            self.family_set(FAMILIES[left["payload"]["protocol"]])
        names = as_list(right)
        if not all(isinstance(n, int) or n in PROTOCOLS for n in names):
            return self.other.append(self.name_of(left))
        return self.narrow(proto=[n if isinstance(n, int) else PROTOCOLS[n] for n in names])

    def values(self, right):
        """The values that a match compares with; for a named set, its elements."""
        if not isinstance(right, str) or not right.startswith("@"):
            return as_list(right)
        found = self.ruleset.sets.get(self.table + (right[1:],), {})
        if not found.get("elem") or found.get("stmt") or {"timeout", "dynamic"} & set(as_list(found.get("flags", []))):
            raise Left(f"matches by the set {right}, whose elements change")
        return [e["elem"]["val"] if isinstance(e, dict) and "elem" in e else e for e in found["elem"]]

    def network(self, value):
        if isinstance(value, dict) and "prefix" in value:
            value = f"{value['prefix']['addr']}/{value['prefix']['len']}"
        if not isinstance(value, str):
            raise Left("matches by a range of addresses: a policy has prefixes only")
        return network_of(value)

    def ports(self, value):
        first, last = value["range"] if isinstance(value, dict) and "range" in value else (value, value)
        if not isinstance(first, int):
            raise Left(f"port '{first}' is not a number: pass the output of `nft -nj list ruleset`")
        return first, last

    def flags(self, how, left, right):
        """TCP with SYN and without ACK. `tcp flags syn` alone matches answers too."""
        if "&" not in left or left["&"][0].get("payload", {}).get("field") != "flags":
            return False
        mask = set(as_list(left["&"][1]))
        if how != "==" or as_list(right) != ["syn"] or not {"syn", "ack"} <= mask <= {"syn", "ack", "fin", "rst"}:
            return False
        self.narrow(proto=[6], syn=[True])
        return True

    def state(self, states):
        """Not every new TCP connection begins with SYN: conntrack takes one up in the middle (tcp_loose)."""
        known = ESTABLISHED if "established" in states else RELATED
        of_known = states <= {"established", "related"}
        self.other.append(known if of_known else "state " + ",".join(sorted(map(str, states))))

    def vmap(self):
        """A verdict map may drop, accept or jump: unknown."""
        self.rule.target = "a map of verdicts"
        self.other.append("a map of verdicts")

    # ---- limits

    def element(self, kind, value):
        """add @SET { KEY limit … }, and a meter."""
        found = self.ruleset.sets.get(self.table + (str(value.get("set"))[1:],), {})
        limits = [s["limit"] for s in as_list(value.get("stmt", [])) if "limit" in s]
        if found.get("stmt"):
            raise Left(f"counts by a limit in the set {value['set']}: move it to the rule")
        if not limits:
            raise Left(f"adds to the set {value.get('set')}: a policy bans with `over ban`, write it by hand")
        key = value["key"] if kind == "meter" else value["elem"]
        element = key.get("elem", {})
        key = element.get("val", key)
        masks, fields = {"saddr": None, "daddr": None}, set()
        for part in key["concat"] if "concat" in key else [key]:
            field, bits = self.key_field(part)
            fields.add(field)
            if field in masks:
                masks[field] = bits
        self.limit(limits[0], frozenset(fields), tuple(masks.values()), value.get("set") or "@" + value["name"])
        expire_s = element.get("timeout", found.get("timeout"))
        if expire_s is not None:  # `add` lets an element go so long after it came, whatever has been since
            self.rule.limit.expire_s = expire_s if value.get("op") == "update" else -1

    def key_field(self, part):
        """Field and bits of a part of a key; ip saddr implies IPv4."""
        bits = None
        if "&" in part:
            part, bits = part["&"][0], bits_of(part["&"][1])
        payload = part.get("payload", {})
        if part.get("meta", {}).get("key") == "l4proto":
            return "proto", None
        if payload.get("field") in ADDRESSES and payload["protocol"] in ("ip", "ip6"):
            self.family_set(FAMILIES[payload["protocol"]])
            return payload["field"], bits
        if payload.get("field") in ("sport", "dport") and bits is None:
            self.transport(payload["protocol"])
            return payload["field"], None
        raise Left(f"counts by {self.name_of(part)}: a policy has no such key")

    def limit(self, limit, fields, masks, table):
        if self.rule.limit:
            raise Left("has two limits: write one rule for each")
        if isinstance(limit, str):
            table, limit = f"limit {limit}", self.ruleset.limits.get(self.table + (limit,))
        if not limit or limit.get("per") not in PERIODS:
            raise Left("has an unknown limit")
        self.rule.above = bool(limit.get("inv"))
        if limit.get("rate_unit", "packets") != "packets":
            raise Left("counts bytes of IP packets, a policy counts bytes of frames, which are longer")
        self.rule.limit = Limit(limit["rate"], PERIODS[limit["per"]], limit.get("burst", 5) or 5, False, fields, masks,
                                table=table and " ".join(self.table + (table,)))


def words_in(value, names):
    """All values with one of the names, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in names:
                yield name, inner
            yield from words_in(inner, names)
    elif isinstance(value, list):
        for inner in value:
            yield from words_in(inner, names)


class Ruleset:
    def __init__(self, objects):
        self.sets, self.limits, self.tables = {}, {}, {}
        for entry in objects:
            for kind, value in entry.items():
                where = (value.get("family"), value.get("table"))
                if kind in ("set", "map"):
                    self.sets[where + (value["name"],)] = value
                elif kind == "limit":
                    self.limits[where + (value["name"],)] = value
                elif kind == "chain":
                    self.chain(where, value)

    def chain(self, where, value):
        chains = self.tables.setdefault(where, Chains())
        if not value.get("hook"):
            return
        for device in value.get("dev") if isinstance(value.get("dev"), list) else [value.get("dev")]:
            chains.hooks.append(Hook(value["name"], FAMILIES.get(where[0]), value["hook"], value.get("prio", 0),
                                     value.get("policy", "accept"), device, f"{where[0]} {where[1]} {value['name']}",
                                     value.get("type") == "nat", where[0] == "netdev"))

    def tables_in(self, where, expressions):
        """The tables of counts of a rule that cannot be read."""
        for name, value in words_in(expressions, ("set", "limit", "meter")):
            if name == "meter":
                value = "@" + value["name"]
            if isinstance(value, str):
                yield " ".join(where + (f"limit {value}" if name == "limit" else value,))

    def limits_in(self, where, expressions):
        """Is there a limit in the rule, or in a set that it names?"""
        named = [self.sets.get(where + (v[1:],), {}) for n, v in words_in(expressions, ("set", "right"))
                 if isinstance(v, str)]
        foreign = json.dumps([e["xt"] for e in expressions if "xt" in e])
        return "limit" in foreign or any(words_in([expressions, [s.get("stmt", []) for s in named]], ("limit",)))

    def targets_in(self, where, expressions):
        maps = [self.sets.get(where + (v[1:],), {}) for n, v in words_in(expressions, ("data",)) if isinstance(v, str)]
        return tuple(v["target"] for _, v in words_in([expressions, maps], ("jump", "goto")) if "target" in v)

    def rule(self, policy, value):
        where = (value["family"], value["table"])
        place = f"{where[0]} {where[1]} {value['chain']} handle {value['handle']}"
        limits = self.limits_in(where, value["expr"])
        if where[0] not in FAMILIES:
            return limits and policy.leave(place, f"is for the family {where[0]}: a policy is for IP only")
        reader = Reader(self, where, place, value.get("comment", ""))
        try:
            reader.read(value["expr"])
            if reader.rule.limit and any("reject" in e for e in value["expr"]):
                policy.note("reject answers the packets it drops, a policy drops silently")
        except (Left, ValueError, KeyError, TypeError, AttributeError) as why:
            self.unread(reader.rule, value["expr"], limits, why)
        reader.rule.targets = self.targets_in(where, [e for e in value["expr"] if "vmap" in e])
        if any(name in e for e in value["expr"] for name in TRANSLATES) or \
                any("payload" in e["mangle"].get("key", {}) for e in value["expr"] if "mangle" in e):
            self.tables[where].translates.append((value["chain"], reader.rule))
        return self.tables[where].rules.setdefault(value["chain"], []).append(reader.rule)

    def unread(self, rule, expressions, limits, why):
        """A rule that cannot be read: only its verdict and jumps are known."""
        text = str(why) if isinstance(why, Left) else f"has unknown words ({type(why).__name__}: {why})"
        rule.matches = [m.copy(other=("unreadable words",)) for m in rule.matches]
        rule.limit, rule.left = None, text if limits else ""
        rule.tables = tuple(self.tables_in((rule.place.split()[0], rule.place.split()[1]), expressions))
        rule.above = any(v.get("inv") for _, v in words_in(expressions, ("limit",)) if isinstance(v, dict))
        targets = [n for e in expressions for n in e if n in VERDICTS]
        jumps = [(n, e[n]["target"]) for e in expressions for n in e if n in ("jump", "goto")]
        rule.target = VERDICTS[targets[0]] if targets else f"jump {jumps[0][1]}" if jumps else "unknown"
        rule.goes = bool(jumps) and jumps[0][0] == "goto"


def read(policy, text, device, host):
    try:
        objects = json.loads(text)["nftables"]
        ruleset = Ruleset(objects)
        for entry in objects:
            if "rule" in entry:
                ruleset.rule(policy, entry["rule"])
    except (KeyError, TypeError, AttributeError) as why:
        raise Left(f"is not output of `nft -j list ruleset` ({type(why).__name__}: {why})") from None
    chains_convert(policy, ruleset.tables.values(), device, host)
