# SPDX-License-Identifier: GPL-2.0-only
"""Reads the output of `nft -j list ruleset` and of `nft list ruleset`: limits of rules, and of elements of sets and
meters. A limit is a token bucket, initially full."""
import collections
import dataclasses
import json

from . import connections, nft_text
from .chains import Chains, Hook, Rule, chains_convert
from .model import Left, Limit, Match, joined, memory_differs
from .nft_match import ADDRESSES, FAMILIES, PROTOCOLS, Test, Unknown, as_list, bits_of, name_of

VERDICTS = {"accept": "accept", "drop": "drop", "reject": "drop", "return": "leave", "queue": "queue"}
PERIODS = {"second": "second", "minute": "minute", "hour": "hour", "day": "day", "week": "7d"}
BYTES = {"bytes": 1, "kbytes": 1 << 10, "mbytes": 1 << 20, "gbytes": 1 << 30}
LIMITS = ("limit", "ct count")
IGNORED = ("counter", "comment", "mangle")
ENDS = ("synproxy", "fwd")  # a packet does not come back from them
TRANSLATES = ("dnat", "redirect", "snat", "masquerade", "tproxy")


class Reader:
    """Reads the expressions of one rule, in order, into a Rule."""
    def __init__(self, ruleset, table, place, comment):
        self.ruleset, self.table = ruleset, table
        self.rule = Rule(place, [Match(family=FAMILIES[table[0]])], remark=" ".join(comment.split()))
        self.other = []
        self.rules = []  # of a map of verdicts
        self.untracks = False

    def soften(self, why):
        """A difference, or a reason to leave the rule out."""
        if not self.ruleset.close:
            raise Left(why)
        self.rule.differs += (why,)

    def read(self, expressions):
        for expression in expressions:
            for name, value in expression.items():
                self.expression(name, value)
        self.rule.matches = [m.copy(other=m.other + tuple(self.other)) for m in self.rule.matches]
        if self.rule.limit:
            self.rule.differs += memory_differs(self.rule.limit)

    def expression(self, name, value):
        if name == "match":
            if self.rule.limit:
                self.soften("counts packets before its last match: write the limit last")
            self.match(value)
        elif name == "limit":
            self.limit(value, frozenset(), (None, None), None)
        elif name == "ct count":
            self.connections(value, frozenset(), (None, None), None)
        elif name in ("set", "meter"):
            self.element(name, value)
        elif name in VERDICTS:
            self.rule.target = VERDICTS[name]
        elif name in ("jump", "goto"):
            self.rule.target, self.rule.goes = "jump " + value["target"], name == "goto"
        elif name == "log":
            self.rule.target = "log"
        elif name == "vmap":
            self.vmap(value)
        elif name == "notrack":
            self.untracks = True
        elif name in ENDS:
            self.rule.target = f"jump {name}"
        elif name == "xt":
            raise Left("was made by iptables: pass the output of iptables-save")
        elif name not in IGNORED:
            self.other.append(name)

    # ---- matches

    def narrow(self, allowed):
        """Only packets that match one of the matches."""
        found = [both for m in self.rule.matches for a in allowed for both in [joined(m, a)] if both]
        if not found:
            raise Left("matches no packet: another address family, for example")
        self.rule.matches = found

    def match(self, match):
        try:
            self.narrow(Test(self.ruleset, self.table).allowed(match["left"], match["op"], match["right"]))
        except Unknown as name:
            self.transport(match["left"].get("payload", {}).get("protocol"))
            self.other.append(str(name))

    def transport(self, protocol):
        """A field such as tcp dport implies its protocol."""
        if protocol in PROTOCOLS:
            self.narrow([Match(proto=PROTOCOLS[protocol])])

    def family(self, family):
        if family:
            self.narrow([Match(family=family)])

    def vmap(self, value):
        """A map of verdicts whose elements do not change: one rule for each. Otherwise: unknown."""
        data = value["data"]
        if isinstance(data, str):
            found = self.ruleset.sets.get(self.table + (data[1:],), {})
            moving = {"timeout", "dynamic"} & set(as_list(found.get("flags", [])))
            elements = [] if moving else found.get("elem", [])
        else:
            elements = data["set"]
        rules = [self.mapped(value["key"], key, verdict) for key, verdict in elements]
        if not rules or None in rules:
            self.rule.target = "jump a map of verdicts"
            self.other.append("a map of verdicts")
        self.rules = [rule for rule in rules if rule and rule.matches] if None not in rules else []

    def mapped(self, left, key, verdict):
        """The rule of an element; None if it cannot be read."""
        kind = next(iter(verdict))
        reader = Reader(self.ruleset, self.table, self.rule.place, "")
        reader.rule.matches = self.rule.matches
        try:
            reader.narrow(Test(self.ruleset, self.table).allowed(left, "==", key))
        except Unknown:
            return None
        except Left as why:
            return dataclasses.replace(reader.rule, matches=[]) if str(why).startswith("matches no packet") else None
        if kind not in (*VERDICTS, "jump", "goto"):
            return None if kind != "continue" else dataclasses.replace(reader.rule, matches=[])
        reader.expression(kind, verdict[kind])
        return reader.rule

    # ---- limits

    def element(self, kind, value):
        """add @SET { KEY limit … }, and a meter."""
        found = self.ruleset.sets.get(self.table + (str(value.get("set"))[1:],), {})
        limits = [(name, s[name]) for s in as_list(value.get("stmt", [])) for name in LIMITS if name in s]
        if found.get("stmt"):
            raise Left(f"counts by a limit in the set {value['set']}: move it to the rule")
        if not limits:
            return self.soften(f"adds to the set {value.get('set')}: a policy bans with `over ban`, write it by hand")
        key = value["key"] if kind == "meter" else value["elem"]
        element = key.get("elem", {})
        key = element.get("val", key)
        masks, fields = {"saddr": None, "daddr": None}, set()
        for part in key["concat"] if "concat" in key else [key]:
            field, bits = self.key_field(part)
            fields.add(field)
            if field in masks:
                masks[field] = bits
        read = self.connections if limits[0][0] == "ct count" else self.limit
        read(limits[0][1], frozenset(fields), tuple(masks.values()), value.get("set") or "@" + value["name"])
        expire_s = element.get("timeout", found.get("timeout"))
        if expire_s is not None and read == self.limit:  # `add` lets an element go so long after it came, whatever has been since
            self.rule.limit.expire_s = expire_s if value.get("op") == "update" else -expire_s

    def key_field(self, part):
        """Field and bits of a part of a key; ip saddr implies IPv4."""
        bits = None
        if "&" in part:
            part, bits = part["&"][0], bits_of(part["&"][1])
        payload = part.get("payload", {})
        if part.get("meta", {}).get("key") == "l4proto":
            return "proto", None
        if payload.get("field") in ADDRESSES and payload["protocol"] in ("ip", "ip6"):
            self.family(FAMILIES[payload["protocol"]])
            return payload["field"], bits
        if payload.get("field") in ("sport", "dport") and bits is None:
            self.transport(payload["protocol"])
            return payload["field"], None
        raise Left(f"counts by {name_of(part)}: a policy has no such key")

    def alone(self):
        if self.rule.limit:
            raise Left("has two limits: write one rule for each")

    def connections(self, count, fields, masks, table):
        self.alone()
        self.rule.above = bool(count.get("inv"))
        self.rule.limit = connections.limit_of(count["val"], fields, masks, table and " ".join(self.table + (table,)))

    def limit(self, limit, fields, masks, table):
        self.alone()
        if isinstance(limit, str):
            table, limit = f"limit {limit}", self.ruleset.limits.get(self.table + (limit,))
        if not limit or limit.get("per") not in PERIODS:
            raise Left("has an unknown limit")
        self.rule.above = bool(limit.get("inv"))
        unit = limit.get("rate_unit", "packets")
        if unit != "packets":
            self.soften("counts bytes of IP packets, a policy counts bytes of frames, which are longer")
        rate, burst = limit["rate"] * BYTES.get(unit, 1), limit.get("burst", 5) or 5
        if unit != "packets":
            burst = rate + limit.get("burst", 0) * BYTES.get(limit.get("burst_unit", "bytes"), 1)
        self.rule.limit = Limit(rate, PERIODS[limit["per"]], burst, unit != "packets", fields, masks,
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
    def __init__(self, objects, handles, close=False):
        self.close = close
        self.sets, self.limits, self.tables, self.handles = {}, {}, {}, handles
        self.count = collections.Counter()  # of rules by chain
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
        chains.rules.setdefault(value["name"], [])
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
        return "limit" in foreign or any(words_in([expressions, [s.get("stmt", []) for s in named]], LIMITS))

    def targets_in(self, where, expressions):
        maps = [self.sets.get(where + (v[1:],), {}) for n, v in words_in(expressions, ("data",)) if isinstance(v, str)]
        return tuple(v["target"] for _, v in words_in([expressions, maps], ("jump", "goto")) if "target" in v)

    def place_of(self, where, value):
        """By the handle, or by the rule's number where the handles are not those of the user's ruleset."""
        chain = (*where, value["chain"])
        self.count[chain] += 1
        number = f"handle {value['handle']}" if self.handles else f"rule {self.count[chain]}"
        return " ".join((*chain, number))

    def rule(self, policy, value):
        where = (value["family"], value["table"])
        place = self.place_of(where, value)
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
        rules = [dataclasses.replace(r, remark=reader.rule.remark) for r in reader.rules] or [reader.rule]
        if reader.untracks:
            matches = [m.copy(other=m.other + ("a limit",) * bool(limits)) for m in reader.rule.matches]
            rules.insert(0, Rule(place, matches, target="untrack"))
        return self.tables[where].rules.setdefault(value["chain"], []).extend(rules)

    def unread(self, rule, expressions, limits, why):
        """A rule that cannot be read: only its verdict and jumps are known."""
        text = str(why) if isinstance(why, Left) else f"has unknown words ({type(why).__name__}: {why})"
        rule.matches = [m.copy(other=("unreadable words",)) for m in rule.matches]
        rule.limit, rule.left = None, text if limits else ""
        rule.tables = tuple(self.tables_in((rule.place.split()[0], rule.place.split()[1]), expressions))
        rule.above = any(v.get("inv") for _, v in words_in(expressions, LIMITS) if isinstance(v, dict))
        targets = [n for e in expressions for n in e if n in VERDICTS]
        ends = any(n in ("vmap", "xt", *ENDS) for e in expressions for n in e)
        jumps = [(n, e[n]["target"]) for e in expressions for n in e if n in ("jump", "goto")]
        rule.target = VERDICTS[targets[0]] if targets else f"jump {jumps[0][1]}" if jumps else "unknown" if limits or ends else None
        rule.goes = bool(jumps) and jumps[0][0] == "goto"


def read(policy, text):
    own = bool(nft_text.BEGINS.search(text)) and not text.lstrip().startswith("{")
    try:
        objects = json.loads(nft_text.as_json(text) if own else text)["nftables"]
        ruleset = Ruleset(objects, not own, policy.options.close)
        for entry in objects:
            if "rule" in entry:
                ruleset.rule(policy, entry["rule"])
    except (KeyError, TypeError, AttributeError) as why:
        raise Left(f"is not output of `nft -j list ruleset` ({type(why).__name__}: {why})") from None
    if ruleset.count and not any(chains.hooks for chains in ruleset.tables.values()):
        raise Left("has no chain with a hook, which versions of nft before 1.0 may leave out of JSON: pass the output of `nft list "
                   "ruleset`")
    chains_convert(policy, ruleset.tables.values())
