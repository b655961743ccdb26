# SPDX-License-Identifier: GPL-2.0-only
"""The rules of rlctl-policy(5), read from their text, and the packets that they match: for oracle.py."""
import ipaddress
import re
from dataclasses import dataclass, field

from oracle_packet import ICMP, ICMP6, LINK_LOCAL, NAT64, TCP, within

PROTOCOLS = {"tcp": 6, "udp": 17, "icmp": 1, "icmp6": 58, "sctp": 132, "gre": 47, "esp": 50}
FLAGS = ("fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr")
DSCP = {f"cs{n}": n * 8 for n in range(8)} | {f"af{n}{m}": n * 8 + m * 2 for n in range(1, 5) for m in range(1, 4)} | {"ef": 46}
ICMP_TYPES = {"echo-reply": 0, "destination-unreachable": 3, "source-quench": 4, "redirect": 5, "echo-request": 8,
              "router-advertisement": 9, "router-solicitation": 10, "time-exceeded": 11, "parameter-problem": 12,
              "timestamp-request": 13, "timestamp-reply": 14, "info-request": 15, "info-reply": 16,
              "address-mask-request": 17, "address-mask-reply": 18}
ICMP6_TYPES = {"destination-unreachable": 1, "packet-too-big": 2, "time-exceeded": 3, "parameter-problem": 4,
               "echo-request": 128, "echo-reply": 129, "mld-listener-query": 130, "mld-listener-report": 131,
               "mld-listener-done": 132, "mld-listener-reduction": 132, "nd-router-solicit": 133, "nd-router-advert": 134,
               "nd-neighbor-solicit": 135, "nd-neighbor-advert": 136, "nd-redirect": 137, "router-renumbering": 138,
               "ind-neighbor-solicit": 141, "ind-neighbor-advert": 142, "mld2-listener-report": 143}
SYN = (0x02, 0x12)
WORDS = re.compile(r'(?:"[^"]*"|\S)+')
ANY = (0, 0, 0)  # value, length and family (in bits) of a prefix


@dataclass
class Rule:
    line: str
    prefix: tuple = ANY
    device: bool = False
    matches: dict = field(default_factory=dict)  # kind: (negated, value)
    action: str = ""
    key: tuple = ()
    bytes: bool = False
    capacity: int = 0
    shadow: bool = False

    def identity(self):
        limit = (self.key, self.bytes) if self.action == "limit" else ()
        return self.device, self.prefix, frozenset(self.matches.items()), self.action == "limit", limit

    def holds(self, packet, known):
        """Whether it matches the packet, of a source that is known or not."""
        for kind, (negated, value) in self.matches.items():
            answer = MATCHES[kind](packet, value, self, known)
            if kind == "payload" and answer is None and self.action == "deny" and packet.payload is not None and packet.fragment:
                continue
            if answer is None or bool(answer) == negated:
                return False
        return True


def prefix_of(word):
    if word in ("any", "device"):
        return ANY
    net = ipaddress.ip_network(word)
    return int(net.network_address), net.prefixlen, net.max_prefixlen


# ---- matches: None where the packet does not have what they ask for

def ranges_hold(value, ranges):
    return any(low <= value <= high for low, high in ranges)


def port_holds(side):
    return lambda p, value, rule, known: None if p.ports is None else ranges_hold(p.ports[side], value)


def flags_hold(p, value, rule, known):
    return None if p.flags is None else p.flags & value[1] == value[0]


def icmp_holds(p, value, rule, known):
    if p.icmp is None or (p.protocol == ICMP6) != (rule.matches["proto"][1] == ICMP6):
        return None
    return p.icmp[0] == value[0] and value[1] in (None, p.icmp[1])


def payload_holds(p, value, rule, known):
    offset, wanted, mask = value
    if p.payload is None or len(p.payload) < offset + len(mask):
        return None
    return all(byte & m == w for byte, m, w in zip(p.payload[offset:], mask, wanted))


MATCHES = {
    "proto": lambda p, value, rule, known: p.protocol == value,
    "sport": port_holds(0),
    "dport": port_holds(1),
    "src": lambda p, value, rule, known: within(p.source, p.bits, value),
    "dst": lambda p, value, rule, known: within(p.dest, p.bits, value),
    "syn": flags_hold,
    "flags": flags_hold,
    "icmp-type": icmp_holds,
    "length": lambda p, value, rule, known: ranges_hold(p.length, (value,)),
    "ttl": lambda p, value, rule, known: ranges_hold(p.ttl, (value,)),
    "dscp": lambda p, value, rule, known: p.dscp == value,
    "fragment": lambda p, value, rule, known: p.fragment,
    "payload": payload_holds,
    "new-source": lambda p, value, rule, known: not known,
    "established": lambda p, value, rule, known: False,  # without --local, nothing is
}


# ---- text

def range_of(word):
    low, _, high = word.partition("-")
    return int(low), int(high or low)


def ports_of(words):
    merged = []
    for low, high in sorted(range_of(word) for word in words.pop(0).split(",")):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


def flag_bits(word):
    return sum(1 << FLAGS.index(name) for name in word.split(",") if name != "none")


def flags_of(words):
    value, slash, mask = words.pop(0).partition("/")
    return flag_bits(value), flag_bits(mask) if slash else 255


def payload_of(words):
    offset, (value, _, mask) = int(words.pop(0)), words.pop(0).partition("/")
    mask = bytes.fromhex(mask or "ff" * (len(value) // 2))
    return offset, bytes(byte & m for byte, m in zip(bytes.fromhex(value), mask)), mask


def icmp_of(words, protocol):
    kind, code = words.pop(0), None
    if words[0] == "code":
        code = int(words[1])
        del words[:2]
    return int({ICMP: ICMP_TYPES, ICMP6: ICMP6_TYPES}[protocol].get(kind, kind)), code


VALUES = {
    "proto": lambda words: PROTOCOLS.get(words[0]) or int(words[0]),
    "sport": ports_of, "dport": ports_of, "flags": flags_of, "payload": payload_of,
    "src": lambda words: prefix_of(words.pop(0)), "dst": lambda words: prefix_of(words.pop(0)),
    "syn": lambda words: SYN,
    "length": lambda words: range_of(words.pop(0)), "ttl": lambda words: range_of(words.pop(0)),
    "dscp": lambda words: int(DSCP.get(words[0], words[0])),
}


def match_read(rule, words, late):
    negated = words[0] == "not"
    del words[:negated]
    kind = words.pop(0)
    if kind in PROTOCOLS:
        words.insert(0, kind)
        kind = "proto"
    if kind == "icmp-type":
        late.append((kind, negated, words[:3]))
        del words[:3 if words[1] == "code" else 1]
        return
    value = VALUES.get(kind, lambda words: None)(words)
    if kind in ("proto", "dscp"):
        words.pop(0)
    rule.matches["syn" if kind == "flags" and value == SYN else kind] = negated, value


def limit_read(rule, words):
    key = words[words.index("per") + 1] if "per" in words else "rule" if rule.device else "source"
    rule.key = parts_of(key)
    rate = next(word for word in words if "/" in word or word.endswith("pps"))
    rule.bytes = "b" in rate
    amounts = [int(word) for word in re.findall(r"(?:burst|queue) (\d+)", " ".join(words))]
    rule.capacity = (amounts or [int(re.match(r"\d+", rate)[0])])[0] if "day" in rate else None
    rule.shadow = "count" in words


def rule_read(line):
    """From a line, with the word rule or without; what a limit holds is known if it is per day."""
    words = WORDS.findall(line.partition("#")[0])
    rule, late = Rule(line), []
    if words[0] == "rule":
        words.pop(0)
    rule.device, rule.prefix = words[0] == "device", prefix_of(words.pop(0))
    while words[0] not in ("allow", "deny", "limit"):
        match_read(rule, words, late)
    for kind, negated, arguments in late:
        rule.matches[kind] = negated, icmp_of([*arguments, ""], rule.matches["proto"][1])
    if "flags" in rule.matches or "syn" in rule.matches:
        rule.matches.setdefault("proto", (False, TCP))
    rule.action = words.pop(0)
    if rule.action == "limit":
        limit_read(rule, words)
    return rule


# ---- keys

def address_key(address, bits, lengths=(32, 64)):
    """The first bits of an address; those of link-local ones and of a NAT64 count in full by default."""
    v4, v6 = lengths
    if bits == 128 and v6 == 64 and any(within(address, 128, (*prefix, 128)) for prefix in (LINK_LOCAL, NAT64)):
        v6 = 128
    return bits, address >> (bits - (v4 if bits == 32 else v6))


def parts_of(key):
    """The parts of a key, each address with its lengths, in one order."""
    if key == "flow":
        key = "source+dest+sport+dport+proto"
    names = [] if key == "rule" else key.split("+")
    v6_default = 128 if sum(name[:4] in ("sour", "dest") for name in names) == 2 else 64
    parts = []
    for name, _, lengths in (name.partition("/") for name in names):
        v4, _, v6 = lengths.partition(",")
        parts.append((name, int(v4 or 32), int(v6 or v6_default)) if name in ("source", "dest") else (name,))
    return tuple(sorted(parts))


def key_of(rule, packet):
    """The key by which the limit counts this packet."""
    sport, dport = packet.ports or (0, 0)
    values = {"source": packet.source, "dest": packet.dest, "sport": sport, "dport": dport, "proto": packet.protocol}
    return tuple(address_key(values[name], packet.bits, lengths) if lengths else values[name] for name, *lengths in rule.key)
