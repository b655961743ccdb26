# SPDX-License-Identifier: GPL-2.0-only
"""Reads the output of iptables-save and ip6tables-save. hashlimit and limit are token buckets, initially
full."""
import re
import shlex

from .chains import Chains, Hook, Rule, chains_convert
from .model import ESTABLISHED, PERIOD_S, RELATED, Left, Limit, Match, check_memory, check_separate, network_of

PRIORITIES = {"raw": -300, "mangle": -150, "nat": -100, "filter": 0, "security": 50}
PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "icmp6": 58, "icmpv6": 58,
             "ipv6-icmp": 58, "sctp": 132}
TARGETS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "drop", "RETURN": "leave", "LOG": "log",
           **dict.fromkeys(("NFLOG", "ULOG", "AUDIT", "TRACE", "MARK", "CONNMARK", "CT", "NOTRACK", "CLASSIFY",
                            "CHECKSUM", "TCPMSS"), "log")}
TRANSLATES = ("DNAT", "REDIRECT", "NETMAP", "SNAT", "MASQUERADE", "TPROXY")
PERIODS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}
FIELDS = {"srcip": "saddr", "dstip": "daddr", "srcport": "sport", "dstport": "dport"}


def ports_of(text):
    found = re.fullmatch(r"(\d*)(?:([:-])(\d*))?", text)
    if not found or not text:
        raise Left(f"port '{text}' is not a number")
    first = int(found[1] or 0)
    return first, int(found[3] or 65535) if found[2] else first


def protocol_of(text):
    if not text.isdigit() and text not in PROTOCOLS:
        raise Left(f"unknown protocol {text}")
    return int(text) if text.isdigit() else PROTOCOLS[text]


# Matches that must not follow a limit, which would count before they are checked.
MATCHING = ("sport", "dport", "source-port", "destination-port", "sports", "dports", "syn", "tcp-flags", "state",
            "ctstate")

# Matches with one argument that a policy has: field of Match and its parser.
SIMPLE = {}
for _words, _field, _read in ((("-s", "--source"), "src", network_of), (("-d", "--destination"), "dst", network_of),
                              (("-p", "--protocol"), "proto", protocol_of),
                              (("-i", "--in-interface"), "device", str),
                              (("--sport", "--source-port"), "sport", ports_of),
                              (("--dport", "--destination-port"), "dport", ports_of)):
    SIMPLE.update({word: (_field, _read) for word in _words})


class Line:
    """The words after -A CHAIN, read into a rule."""
    def __init__(self, words, place, family):
        self.words, self.family = words, family
        self.match = Match(family=family)
        self.rule = Rule(place, [self.match])
        self.ports = {}  # of multiport: sport or dport to ranges
        self.options = {}  # of hashlimit or limit
        self.limits = 0
        self.other = []

    def take(self):
        return self.words.pop(0) if self.words else ""

    def read(self):
        while self.words:
            negated = self.words[0] == "!" and bool(self.take())
            word = self.take()
            if self.limits and word.lstrip("-") in MATCHING:
                raise Left("counts packets before its last match: write the limit last")
            if negated or not self.word(word):
                argument = [] if not self.words or self.words[0][0] in "-!" else [self.take()]
                self.other.append(" ".join(["not"] * bool(negated) + [word.lstrip("-")] + argument))
        other = [o for o in self.other if not (self.match.syn and o == "state NEW")]
        self.rule.matches = [self.match.copy(other=tuple(other))]
        for name, ranges in self.ports.items():
            self.rule.matches = [m.copy(**{name: r}) for m in self.rule.matches for r in ranges]
        if self.options:
            self.rule.limit = self.limit()
            self.rule.above = "above" in self.options

    def word(self, word):
        """False if a policy has no such word."""
        if word in ("-m", "--match"):
            self.module(self.take())
        elif word in ("-j", "--jump", "-g", "--goto"):
            target = self.take()
            self.rule.target = TARGETS.get(target, f"jump {target}")
            self.rule.goes = word in ("-g", "--goto")
            self.words.clear()  # the rest is the target's
        elif word == "--comment":
            self.rule.remark = " ".join(self.take().split())
        elif word in SIMPLE:
            field, read = SIMPLE[word]
            self.match = self.match.copy(**{field: read(self.take())})
        elif word in ("--sports", "--dports"):
            self.ports[word[2:-1]] = [ports_of(p) for p in self.take().split(",")]
        elif word == "--syn":
            self.match = self.match.copy(syn=True)
        elif word == "--tcp-flags":
            self.flags(self.take(), self.take())
        elif word in ("--state", "--ctstate"):
            self.state(set(self.take().split(",")))
        else:
            return self.limit_word(word)
        return True

    def flags(self, mask, flags):
        if flags == "SYN" and {"SYN", "ACK"} <= set(mask.split(",")) <= {"SYN", "ACK", "FIN", "RST"}:
            self.match = self.match.copy(syn=True)
        else:
            self.other.append(f"tcp-flags {mask} {flags}")

    def state(self, names):
        """Not every new TCP connection begins with SYN: conntrack takes one up in the middle (tcp_loose)."""
        known = ESTABLISHED if "ESTABLISHED" in names else RELATED
        self.other.append(known if names <= {"ESTABLISHED", "RELATED"} else "state " + ",".join(sorted(names)))

    def module(self, name):
        self.limits += name in ("hashlimit", "limit")
        if self.limits > 1:
            raise Left("has two limits: write one rule for each")
        if self.limits and name not in ("hashlimit", "limit", "comment"):
            raise Left("counts packets before its last match: write the limit last")

    def limit_word(self, word):
        found = re.fullmatch(r"--(?:hashlimit|limit)-?(.*)", word)
        if not found:
            return False
        name = found[1] or "upto"
        self.options[name] = "" if name == "rate-match" else self.take()
        return True

    def limit(self):
        if "rate-match" in self.options:
            raise Left("compares with the rate of an interval (rate-match), which is not a token bucket")
        if "htable-max" in self.options:
            raise Left("drops new sources when its table is full (htable-max): a policy does not")
        text = self.options.get("above") or self.options.get("upto") or "3/hour"
        found = re.fullmatch(r"(\d+)(?:([kmg]?b))?(?:/(s|m|h|d)\w*)?", text)
        if not found:
            raise Left(f"has an unknown rate: {text}")
        burst, amount, period = self.options.get("burst"), int(found[1]), PERIODS[found[3] or "s"]
        common = {"fields": frozenset(FIELDS[f] for f in self.options.get("mode", "").split(",") if f in FIELDS),
                  "masks": tuple(int(self.options[m]) if m in self.options else None for m in ("srcmask", "dstmask")),
                  "table": self.options.get("name") and f"{self.family} {self.options['name']}"}
        if not found[2]:
            common["expire_s"] = self.expire_s(period)
            return Limit(amount, period, int(burst or 5), False, **common)
        raise Left("counts bytes of IP packets, a policy counts bytes of frames, which are longer")

    def expire_s(self, period):
        """Defaults to the period of the rate, as in iptables. `limit` never expires."""
        if "name" not in self.options:
            return None
        return int(self.options.get("htable-expire", PERIOD_S[period] * 1000)) / 1000


def line_read(chains, place, family, text, policy):
    words = shlex.split(text)
    line = Line(words[2:], place, family)
    target = re.search(r" (-j|-g) (\S+)", text)
    try:
        line.read()
        if line.rule.limit:
            check_memory(line.rule.limit)
            if target and target[2] == "REJECT":
                policy.note("REJECT answers the packets it drops, a policy drops silently")
    except (Left, ValueError) as why:
        limits = re.search(r" -m (hashlimit|limit) ", text)
        name = re.search(r" --hashlimit-name (\S+)", text)
        line.rule = Rule(place, [line.match.copy(other=("unreadable words",))],
                         above="--hashlimit-above" in text, goes=bool(target) and target[1] == "-g",
                         target=target and TARGETS.get(target[2], f"jump {target[2]}"), left=str(why) if limits else "",
                         tables=(f"{family} {name[1]}",) if name else ())
    if target and target[2] in TRANSLATES:
        chains.translates.append((words[1], line.rule))
    chains.rules.setdefault(words[1], []).append(line.rule)


def read(policy, text, device, host):
    family, tables, chains = 4, [], Chains()
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"^\[\d+:\d+\] ", "", line.strip())
        if line.startswith("# Generated by"):
            family = 6 if "ip6tables" in line else 4
        elif line.startswith("*"):
            chains, table = Chains(), line[1:]
            tables.append(chains)
        elif line.startswith(":"):
            name, default = line[1:].split()[:2]
            if default != "-":
                chains.hooks.append(Hook(name, family, name.lower(), PRIORITIES.get(table, 0),
                                         "drop" if default == "DROP" else "accept", place=f"line {number}",
                                         nat=table == "nat"))
        elif line.startswith("-A "):
            line_read(chains, f"line {number}", family, line, policy)
    chains_convert(policy, tables, device, host)
