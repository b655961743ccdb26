# SPDX-License-Identifier: GPL-2.0-only
"""The words of a policy for matches and limits of the model."""
import functools

from . import fields, ranges
from .model import RANGES, Left, Match, is_host

PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 47: "gre", 50: "esp", 58: "icmp6", 132: "sctp"}
WITH_PORTS = (6, 17, 132)
BITS = {None: 128, 4: 32, 6: 128}
MOST_RANGES = 16  # of ports in one rule
MOST_PIECES = 64  # rules that one match becomes


# ---- matches

def address_words(network):
    return str(network.network_address if is_host(network) else network)


def proto_words(number):
    return PROTOCOLS.get(number, f"proto {number}")


def ranges_words(found):
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def icmp_words(found):
    """icmp-type N [code N]; None: not one type, and not one code of it."""
    if len(found) != 1:
        return None
    (first, last), = found
    if first % 256 == 0 and last == first + 255:
        return f"icmp-type {first // 256}"
    return f"icmp-type {first // 256} code {first % 256}" if first == last else None


def numbers_words(name, found):
    """The words of a field of RANGES; None: one match cannot say it."""
    if name == "icmp":
        return icmp_words(found)
    most = {"sport": MOST_RANGES, "dport": MOST_RANGES}.get(name, 1)
    if len(found) > most or name == "dscp" and ranges.single(found) is None:
        return None
    return f"{name} {ranges_words(found)}"


def either_words(name, found, words, complement):
    """[words] of the set, or [not words] of its complement; Left: neither can be said."""
    said, rest = words(found), words(complement) if complement else None
    if said and not (rest and "port" in name and rest.count(",") < said.count(",")):
        return [said]
    if rest:
        return ["not " + rest]
    raise Left(f"matches by a set of {name} that no single match of a policy has")


def field_words(match, *names):
    """The words for these fields of RANGES."""
    words = []
    for name in names:
        found = getattr(match, name)
        if found is not None:
            rest = ranges.complement(found, RANGES[name])
            words += either_words(name, found, functools.partial(numbers_words, name), rest)
    return words


def flag_words(match):
    """The words for the flags of TCP."""
    if match.flags in (fields.SYN, fields.EVERY_FLAGS & ~fields.SYN):
        return ["syn" if match.flags == fields.SYN else "not syn"]
    if match.flags is None:
        return []
    return either_words("flags", match.flags, fields.flags_words, fields.EVERY_FLAGS & ~match.flags)


def payload_words(pattern):
    first, last = pattern[0][0], pattern[-1][0]
    if last - first > 15 or first > 512:
        raise Left("matches by bytes that are too far apart, or too far behind the header, for `payload`")
    known = {offset: (mask, byte) for offset, mask, byte in pattern}
    both = [known.get(offset, (0, 0)) for offset in range(first, last + 1)]
    mask = "".join(f"{mask:02x}" for mask, _ in both)
    return f"payload {first} " + "".join(f"{byte:02x}" for _, byte in both) + ("" if set(mask) == {"f"} else f"/{mask}")


def once(words, what):
    if len(words) > 1:
        raise Left(f"matches by several {what}: a rule of a policy has one")
    return words


def match_words(match, with_src=False):
    """Words of the match in their usual order, src only if it is not the prefix; Left if one rule cannot say it."""
    if match.later or match.later is False and not (match.sport or match.dport or match.icmp or match.flags is not None):
        raise Left("tells later fragments from the others: a policy's `fragment` is the first one, too")
    words = [proto_words(match.proto)] if match.proto is not None else []
    words += once([f"not {proto_words(number)}" for number in match.not_proto], "protocols with `not`")
    words += field_words(match, "icmp", "sport", "dport")
    for side, said in (("src", with_src), ("dst", True)):
        network, without = getattr(match, side), [f"not {side} {address_words(n)}" for n in getattr(match, f"not_{side}")]
        words += once([f"{side} {address_words(network)}"] * bool(network and said) + without, "addresses with `not`")
    words += flag_words(match) + field_words(match, "length", "ttl", "dscp")
    patterns = [match.payload] * bool(match.payload) + list(match.not_payload)
    words += once([("" if p == match.payload else "not ") + payload_words(p) for p in patterns], "payloads")
    words += [] if match.known is None else ["established"] if match.known else ["not", "established"]
    return words + ["new-source"] * match.fresh


# ---- a match as several

def pieces_of_numbers(name, found):
    if name != "icmp":
        step = MOST_RANGES if name.endswith("port") else 1
        if name == "dscp":
            found = [(value, value) for first, last in found for value in range(first, last + 1)]
        return [tuple(found[n:n + step]) for n in range(0, len(found), step)]
    pieces = []
    for first, last in found:
        while first <= last and len(pieces) <= MOST_PIECES:
            end = first + 255 if first % 256 == 0 and first + 255 <= last else first
            pieces.append(((first, end),))
            first = end + 1
    return pieces


def sayable(name, value):
    try:
        return bool(flag_words(Match(flags=value)) if name == "flags" else field_words(Match(**{name: value}), name))
    except Left:
        return False


def pieces_of(match):
    """Matches that rules can say and that together hold for the same packets; [match] if there are none."""
    found = [match]
    for name in (*RANGES, "flags"):
        value = getattr(match, name)
        if value is None or sayable(name, value):
            continue
        if name == "flags":
            pieces = [1 << byte for byte in range(256) if value >> byte & 1]
        else:
            pieces = pieces_of_numbers(name, value)
        if len(pieces) * len(found) > MOST_PIECES:
            return [match]
        found = [m.copy(**{name: piece}) for m in found for piece in pieces]
    return found


# ---- limits

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
             "sport": ranges.single(match.sport) is not None,
             "dport": ranges.single(match.dport) is not None,
             "proto": match.proto is not None}
    return {field for field in fixed if fixed[field]}


def plain_key(fields_left, source, match, full, fixed):
    """The keys that have a name of their own."""
    if fields_left == {"saddr"}:
        return lengths_words("source", source, match.family)
    if fields_left == {"saddr", "dport"} and source == {4: 32, 6: 64}.get(match.family):
        return "source+dport"
    if fields_left == {"saddr", "daddr"} and full:
        return "source+dest"
    if {"saddr", "daddr", "sport", "dport"} - fixed <= fields_left and full:
        return "flow"
    return None


def key_words(limit, match):
    fixed = fixed_fields(match)
    left = limit.fields - fixed
    source, dest = (BITS[match.family] if bits is None else bits for bits in limit.masks)
    if match.proto not in (None, *WITH_PORTS) and "proto" in limit.fields:
        left -= {"sport", "dport"}
    if not left:
        return "rule"
    if left & {"sport", "dport"} and match.proto not in WITH_PORTS and "proto" not in limit.fields:
        raise Left("counts by ports of all protocols together: a policy has no such key")
    plain = plain_key(left, source, match, source == dest == BITS[match.family], fixed)
    parts = {"saddr": lengths_words("source", source, match.family), "daddr": lengths_words("dest", dest, match.family)}
    return plain or "+".join(parts.get(name, name) for name in ("saddr", "daddr", "sport", "dport", "proto") if name in left)


def limit_words(limit, match):
    key = key_words(limit, match)
    rate = f"{amount_words(limit.amount, limit.is_bytes)}/{limit.period}"
    words = ["limit fixed-window " + rate]
    if limit.burst is not None:
        words = [f"limit {rate} burst {amount_words(limit.burst, limit.is_bytes)}"]
    if limit.connections:
        words = [f"limit {limit.amount} connections"]
    return words + ([] if key == "source" else ["per " + key]) + ([f"over {limit.over}"] if limit.over else [])
