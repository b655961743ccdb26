# SPDX-License-Identifier: GPL-2.0-only
"""Reads the output of iptables-save and ip6tables-save, with that of `ipset save` before or after it. hashlimit and
limit are token buckets, initially full."""
import re
import shlex

from . import connections, fields, ipset, payload, ranges
from .chains import Chains, Hook, Rule, chains_convert
from .family import families
from .model import NEW, PERIOD_S, RANGES, Left, Limit, Match, joined, network_of, networks_of, memory_differs, state_word

PRIORITIES = {"raw": -300, "mangle": -150, "nat": -100, "filter": 0, "security": 50}
PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "icmp6": 58, "icmpv6": 58,
             "ipv6-icmp": 58, "sctp": 132}
TARGETS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "drop", "RETURN": "leave", "LOG": "log", "NOTRACK": "untrack",
           **dict.fromkeys(("NFLOG", "ULOG", "AUDIT", "TRACE", "MARK", "CONNMARK", "CT", "CLASSIFY", "CHECKSUM", "TCPMSS",
                            "SET", "TEE", "SECMARK", "CONNSECMARK", "RATEEST", "IDLETIMER", "LED"), "log"),
           **dict.fromkeys(("NFQUEUE", "QUEUE"), "queue")}
PLAIN = ("ACCEPT", "DROP", "RETURN", "NOTRACK")  # targets without options
TRANSLATES = ("DNAT", "REDIRECT", "NETMAP", "SNAT", "MASQUERADE", "TPROXY")
PERIODS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}
BARE = ("tcp", "udp", "sctp", "icmp", "icmp6", "icmpv6", "comment")  # modules that without an option match every packet
FAMILY_UNSAID = "carried, but nothing says whether iptables or ip6tables printed this table: it is taken for IPv4; write --ipv4 " \
    "or --ipv6"
LIMITS = ("hashlimit", "limit", "connlimit")  # modules
FIELDS = {"srcip": "saddr", "dstip": "daddr", "srcport": "sport", "dstport": "dport"}


class Broken(Exception):
    """A line that iptables-save does not write."""


class Never(Left):
    """No packet matches, so the rule has no effect."""


def range_of(text):
    found = re.fullmatch(r"(\d*)(?:([:-])(\d*))?", text)
    if not found or not text:
        raise Left(f"port '{text}' is not a number")
    first = int(found[1] or 0)
    return first, int(found[3] or 65535) if found[2] else first


def ports_of(text):
    first, last = range_of(text)
    if first > last or last > 65535:
        raise Broken(f"no port is in {text}")
    return first, last


def port_list(text):
    return ranges.normal(ports_of(port) for port in text.split(","))


def lengths(text):
    """Unlike ports, the kernel takes a range that no length is in."""
    first, last = range_of(text)
    return ((first, last),) if first <= last else ()


def protocol_of(text):
    if not text.isdigit() and text not in PROTOCOLS:
        raise Left(f"unknown protocol {text}")
    return int(text) if text.isdigit() else PROTOCOLS[text]


def icmp_of(text, names):
    """TYPE[/CODE], or the name of a type."""
    kind, _, code = text.partition("/")
    kind = 256 * fields.named(kind, names, "ICMP type")
    return ((kind + int(code), kind + int(code)),) if code else ((kind, kind + 255),)


def number_of(text):
    return ((int(text, 0), int(text, 0)),)


def below(text):
    if not int(text):
        raise Never("matches no packet: nothing is below 0")
    return ((0, int(text) - 1),)


def above(text):
    if int(text) >= 255:
        raise Never("matches no packet: nothing is above 255")
    return ((int(text) + 1, 255),)


# Matches with one argument that a policy has: field of Match and its parser.
SIMPLE = {}
for _words, _field, _read in ((("-s", "--source"), "src", network_of), (("-d", "--destination"), "dst", network_of),
                              (("-p", "--protocol"), "proto", protocol_of),
                              (("-i", "--in-interface"), "device", str),
                              (("--sport", "--source-port", "--sports", "--source-ports"), "sport", port_list),
                              (("--dport", "--destination-port", "--dports", "--destination-ports"), "dport", port_list),
                              (("--length",), "length", lengths), (("--dscp",), "dscp", number_of),
                              (("--dscp-class",), "dscp", lambda t: number_of(str(fields.named(t, fields.DSCP, "DSCP")))),
                              (("--icmp-type",), "icmp", lambda t: icmp_of(t, fields.ICMP)),
                              (("--icmpv6-type",), "icmp", lambda t: icmp_of(t, fields.ICMP6)),
                              (("--ttl-eq", "--ttl", "--hl-eq"), "ttl", number_of), (("--ttl-lt", "--hl-lt"), "ttl", below),
                              (("--ttl-gt", "--hl-gt"), "ttl", above)):
    SIMPLE.update({word: (_field, _read) for word in _words})

# Matches that must not follow a limit, which would count before they are checked.
MATCHING = {*SIMPLE, "--syn", "--tcp-flags", "--state", "--ctstate", "--u32", "--string", "--hex-string", "--match-set",
            "--src-range", "--dst-range", "--ports"} - {"-s", "-d", "-p", "-i", "--source", "--destination", "--protocol",
                                                        "--in-interface"}


def negation(field, value):
    """The match of all that have the field, and another value in it."""
    if field in RANGES:
        rest = ranges.complement(value, RANGES[field])
        if not rest:
            raise Never(f"matches no packet: every {field} is excluded")
        return Match(**{field: rest})
    if field == "flags":
        return Match(flags=fields.EVERY_FLAGS & ~value)
    return Match(**{f"not_{field}": (value,)})


class Line:
    """The words after -A CHAIN, read into a rule."""
    def __init__(self, words, place, family, sets, close=False):
        self.words, self.family, self.sets, self.close = words, family, sets, close
        self.match = Match(family=family)
        self.rule = Rule(place, [self.match])
        self.options = {}  # of hashlimit or limit
        self.connlimit = {}  # its options
        self.searched = {}  # of string
        self.bytes = []  # what compares bytes: read when all else is known
        self.limits, self.recent = 0, False
        self.other = []

    def take(self):
        if not self.words:
            raise Broken("the line ends too early")
        return self.words.pop(0)

    def read(self):
        while self.words:
            negated = self.words[0] == "!" and bool(self.take())
            word = self.take()
            if self.limits and word in MATCHING:
                self.soften("counts packets before its last match: write the limit last")
            if not self.word(word, negated):
                argument = [] if not self.words or self.words[0][0] in "-!" else [self.take()]
                self.other.append(" ".join(["not"] * negated + [word.lstrip("-")] + argument))
        self.payloads()
        self.rule.matches = [m.copy(other=m.other + tuple(self.other)) for m in self.rule.matches]
        if self.options:
            self.rule.limit = self.limit()
        if self.connlimit:
            self.rule.limit = self.connections()

    def narrow(self, *alternatives):
        """Only packets that match one of them."""
        found = [both for m in self.rule.matches for a in alternatives for both in [joined(m, a)] if both]
        if not found:
            raise Never("matches no packet")
        self.rule.matches = found

    def word(self, word, negated):
        """False if a policy has no such word."""
        if word in ("-j", "--jump", "-g", "--goto"):
            self.target(self.take())
            self.rule.goes = word in ("-g", "--goto")
        elif word in ("-m", "--match"):
            self.module(self.take())
        elif word == "--comment":
            self.rule.remark = " ".join(self.take().split())
        elif word in SIMPLE:
            return self.simple(word, negated)
        elif word in ("-f", "--fragment"):
            self.narrow(Match(later=not negated))
        elif word == "--syn":
            self.flags("FIN,SYN,RST,ACK", "SYN", negated)
        elif word == "--tcp-flags":
            self.flags(self.take(), self.take(), negated)
        elif word in ("--state", "--ctstate") and not negated:
            self.state(set(self.take().split(",")))
        elif word in ("--src-range", "--dst-range"):
            self.addresses(word[2:5], networks_of(*self.take().partition("-")[::2]), negated)
        elif word == "--match-set":
            return self.set(self.take(), self.take(), negated)
        else:
            return self.byte_word(word, negated) or self.recent_word(word, negated) or \
                self.limit_word(word, negated) or self.connlimit_word(word, negated)
        return True

    def target(self, name):
        """The rest of the line is the target's. iptables takes matches there, too, and iptables-save prints them before."""
        late = next((w for w in self.words if name in PLAIN or w in MATCHING or w in ("-s", "-d", "-p", "-i", "-o", "-f", "-m")), "")
        if late:
            raise Broken(f"'{late}' is behind -j {name}")
        self.rule.target = TARGETS.get(name, f"jump {name}")
        if name == "CT" and "--notrack" in self.words:
            self.rule.target = "untrack"
        self.words.clear()

    def recent_word(self, word, negated):
        """The match recent: --set always holds, and only notes the source for other rules."""
        if word in ("--rcheck", "--update", "--remove") and self.limits:
            raise Left("counts packets before its last match: write the limit last")
        if not self.recent or word not in ("--set", "--rsource", "--rdest", "--name", "--mask") or negated:
            return False
        if word == "--set":
            self.rule.differs += ("sources over it no longer get on the list of `recent`",)
        return bool(word in ("--set", "--rsource", "--rdest") or self.take())

    def simple(self, word, negated):
        field, read = SIMPLE[word]
        if field == "device" and negated:
            return self.words[:1] == ["lo"] and bool(self.take())
        value = self.take()
        if word == "--icmp-type" and value.partition("/")[0] in ("any", "255") or field == "proto" and value in ("0", "all"):
            return not negated  # to the kernel, 255 and 0 are any
        value = read(value)
        self.narrow(negation(field, value) if negated else Match(**{field: value}))
        return True

    def addresses(self, side, networks, negated):
        if negated:
            return self.narrow(Match(**{f"not_{side}": tuple(networks)}))
        return self.narrow(*(Match(family=n.version, **{side: n}) for n in networks))

    def flags(self, mask, flags, negated):
        wanted = fields.flags_set(self.flag_bits(flags), self.flag_bits(mask))
        self.narrow(Match(flags=fields.EVERY_FLAGS & ~wanted if negated else wanted))

    @staticmethod
    def flag_bits(text):
        return {"ALL": 63, "NONE": 0}[text] if text in ("ALL", "NONE") else fields.flag_bits(text.split(","))

    def state(self, names):
        """Not every new TCP connection begins with SYN: conntrack takes one up in the middle (tcp_loose)."""
        self.other.append(state_word(names))

    def set(self, name, sides, negated):
        """The elements of an ipset; False if they are not known, or change."""
        found = self.sets.get(name)
        if found is None or found.why:
            self.other.append(f"{'not ' * negated}the set {name}, {found.why if found else 'whose elements are not known (add the output of `ipset save`)'}")
            return True
        matches = found.matches(sides.split(","), self.family)
        if negated:
            self.narrow(ipset.opposite(matches, name))
        else:
            self.narrow(*matches)
        self.rule.differs += (f"it has the elements of the set {name} as they are now",)
        return True

    # ---- bytes

    def byte_word(self, word, negated):
        """u32 and string."""
        if word == "--u32":
            self.bytes.append((self.take(), negated))
        elif word in ("--from", "--to") and self.searched is not None:
            self.searched[word[2:]] = int(self.take())
        elif word == "--algo":
            self.take()
        elif word == "--string":
            self.bytes.append((self.take().encode("latin-1"), negated))
        elif word == "--hex-string":
            self.bytes.append((payload.hex_string(self.take()), negated))
        else:
            return False
        return True

    def payloads(self):
        """They are read when the chains that lead here have told the protocol."""
        for what, negated in self.bytes:
            if negated:
                raise Left("holds for packets, too, that are too short for its bytes: a policy's `not payload` does not")
            found = payload.Bytes(payload.of_u32, (what,))
            if isinstance(what, bytes):
                found = payload.Bytes(payload.of_string, (what, self.searched.get("from"), self.searched.get("to")))
            self.narrow(Match(pending=(found,)))

    def module(self, name):
        if name not in BARE and not (self.words and self.words[0].startswith(("--", "!"))):
            self.other.append(f"the module {name}")
        self.limits += name in LIMITS
        self.recent |= name == "recent"
        if self.limits > 1:
            raise Left("has two limits: write one rule for each")
        if self.limits and name not in (*LIMITS, "comment", "recent"):
            self.soften("counts packets before its last match: write the limit last")

    def soften(self, why):
        """A difference, or a reason to leave the rule out."""
        if not self.close:
            raise Left(why)
        if why not in self.rule.differs:
            self.rule.differs += (why,)

    def limit_word(self, word, negated):
        found = re.fullmatch(r"--(?:hashlimit|limit)-?(.*)", word)
        if not found:
            return False
        name = found[1] or "upto"
        self.options[name] = "" if name == "rate-match" else self.take()
        if name in ("upto", "above"):
            self.rule.above = (name == "above") != negated
        return True

    def connlimit_word(self, word, negated):
        if not word.startswith("--connlimit-"):
            return False
        name = word.removeprefix("--connlimit-")
        self.connlimit[name] = 0 if name in ("saddr", "daddr") else int(self.take())
        if name in ("upto", "above"):
            self.rule.above = (name == "above") != negated
        return True

    def connections(self):
        by_dest, bits = "daddr" in self.connlimit, self.connlimit.get("mask")
        return connections.limit_of(self.connlimit.get("above", self.connlimit.get("upto")), {"daddr" if by_dest else "saddr"},
                                    (None, bits) if by_dest else (bits, None))

    def limit(self):
        if "rate-match" in self.options:
            raise Left("compares with the rate of an interval (rate-match), which is not a token bucket")
        if "htable-max" in self.options:
            self.soften("drops new sources when its table is full (htable-max): a policy does not")
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


def line_read(chains, place, family, text, policy, sets):
    words = shlex.split(text)
    line = Line(words[2:], place, family, sets, policy.options.close)
    target = re.search(r" (-j|-g) (\S+)", text)
    try:
        line.read()
        if line.rule.limit:
            line.rule.differs += memory_differs(line.rule.limit)
            if target and target[2] == "REJECT":
                policy.note("REJECT answers the packets it drops, a policy drops silently")
    except Never:
        line.rule = Rule(place, [])
    except (Left, ValueError) as why:
        limits = re.search(r" -m (hashlimit|limit|connlimit) ", text)
        name = re.search(r" --hashlimit-name (\S+)", text)
        line.rule = Rule(place, [m.copy(other=("unreadable words",)) for m in line.rule.matches],
                         above="limit-above" in text, goes=bool(target) and target[1] == "-g",
                         target=target and TARGETS.get(target[2], f"jump {target[2]}"), left=str(why) if limits else "",
                         tables=(f"{family} {name[1]}",) if name else ())
    if target and target[2] in TRANSLATES:
        chains.translates.append((words[1], line.rule))
    chains.rules.setdefault(words[1], []).append(line.rule)


def rules_read(chains, number, family, line, policy, sets):
    """A line -A; its words have to be whole, and its chain declared."""
    try:
        words = shlex.split(line)
        if words[1:2] and words[1] not in chains.rules:
            raise Broken(f"its table has no line :{words[1]}")
        line_read(chains, f"line {number}", family, line, policy, sets)
    except (Broken, ValueError) as why:
        refuse(number, line, why)


def refuse(number, line, why):
    raise Left(f"line {number}: '{line[:60]}' is not what iptables-save prints: {why}: nothing is imported; pass the output "
               "of iptables-save")


def whole(tables, ended):
    """Refuses an input that was cut off, chains that are nowhere, and those that lead back to themselves."""
    if not ended:
        raise Left("ends without COMMIT, so a part of it is missing: pass the whole output of iptables-save")
    for chains in tables:
        for rule in (rule for rules in chains.rules.values() for rule in rules):
            name = (rule.target or "").removeprefix("jump ")
            if name != rule.target and rule.target and not name.isupper() and name not in chains.rules:
                raise Left(f"{rule.place}: jumps to chain {name}, which its table does not have: pass the whole output of "
                           "iptables-save")
        for hook in chains.hooks:
            no_circle(chains, hook.chain, ())


def no_circle(chains, name, above):
    """The kernel takes a circle of chains only where no packet gets to it."""
    for rule in chains.rules.get(name, ()):
        target = (rule.target or "").removeprefix("jump ")
        if target in (*above, name) and target != rule.target:
            raise Left(f"{rule.place}: jumps back to chain {target}, which iptables-restore refuses: nothing is imported; "
                       "pass the output of iptables-save")
        if target in chains.rules and target != rule.target:
            no_circle(chains, target, (*above, name))


def read(policy, text):
    family, tables, chains, sets, ended = 4, [], None, ipset.read(text), True
    told, unsaid = families(text, policy.options.family), 0
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"^\[\d+:\d+\] ", "", line.strip())
        if line.startswith("*"):
            chains, table, ended = Chains(), line[1:], False
            family, unsaid = told[number] or 4, 0 if told[number] else number
            tables.append(chains)
        elif not line or line.startswith(("#", "create ", "add ")):
            continue  # the sets were read before
        elif chains is None or ended:
            refuse(number, line, "it is in no table")
        elif line == "COMMIT":
            ended = True
        elif re.match(r":\S+ \S", line):
            name, default = line[1:].split()[:2]
            chains.rules.setdefault(name, [])
            if default != "-":
                chains.hooks.append(Hook(name, family, name.lower(), PRIORITIES.get(table, 0),
                                         "drop" if default == "DROP" else "accept", place=f"line {number}",
                                         nat=table == "nat"))
        elif line.startswith("-A "):
            if unsaid:
                policy.leave(f"line {unsaid}", FAMILY_UNSAID)
            rules_read(chains, number, family, line, policy, sets)
        else:
            refuse(number, line, "it begins with another word than -A, : or COMMIT")
    whole(tables, ended)
    chains_convert(policy, tables)
