# SPDX-License-Identifier: GPL-2.0-only
"""Bytes of packets: what iptables' u32 and string and nft's raw payload compare, as patterns of Match.payload."""
import dataclasses
import re

from .model import Left, Match, joined, joined_payload

OPTIONS = "it is for packets without IP options: in others the bytes are elsewhere"
BEFORE_66 = "Linux before 6.6 finds these bytes further behind, too"


def pattern(offset, data, masks=None):
    """((offset, mask, byte), …) of bytes from an offset on. The last one has to be there, whatever its mask."""
    masks = masks or b"\xff" * len(data)
    last = len(data) - 1
    return tuple((offset + n, mask, byte & mask) for n, (mask, byte) in enumerate(zip(masks, data)) if mask or n == last)


def of_bits(first, length, value, mask=None):
    """For `length` bits from bit `first` on."""
    mask = (1 << length) - 1 if mask is None else mask
    behind = -(first + length) % 8
    size = (first % 8 + length + behind) // 8
    return pattern(first // 8, (value << behind).to_bytes(size, "big"), (mask << behind).to_bytes(size, "big"))


def header_of(match):
    """The length of the transport header; 0: TCP, whose header has options."""
    if match.proto not in (1, 6, 17, 58):
        raise Left("compares bytes of any protocol: a policy those of UDP, TCP and ICMP (add -p, or meta l4proto)")
    return 0 if match.proto == 6 else 8


def whole_needed(match):
    """u32 and string read later fragments, too, as if they had headers."""
    if not (match.sport or match.dport or match.icmp or match.flags is not None):
        raise Left("reads the bytes of later fragments, too: a policy does not (add --dport)")


# ---- u32: TESTS as in iptables-extensions(8)

U32 = re.compile(r"(0>>22&60@)?(12>>26&60@)?(\d+)((?:(?:&|>>|<<)\d+)*)=([\d:,]+)")


def u32_test(text):
    """(is after the IP header, is after a TCP header, offset, value, mask) of one test."""
    found = U32.fullmatch(re.sub(r"0x[0-9a-f]+", lambda number: str(int(number[0], 16)), text.lower()))
    if not found or "<<" in found[4]:
        raise Left(f"u32 '{text.strip()}' is more than bytes at a fixed offset")
    mask, shift = 0xffffffff, 0
    for how, number in re.findall(r"(&|>>)(\d+)", found[4]):
        if how == ">>":
            shift += int(number)
            mask &= (0xffffffff << shift) & 0xffffffff
        else:
            mask &= (int(number) << shift) & 0xffffffff
    if not found[5].isdigit():
        raise Left(f"u32 '{text.strip()}' compares with a range")
    value = int(found[5]) << shift
    if value & ~mask:
        raise Left(f"u32 '{text.strip()}' never holds")
    return bool(found[1]), bool(found[2]), int(found[3]), value, mask


def of_u32(text, match):
    """Pattern of the payload, and what differs."""
    whole_needed(match)
    if match.family != 4:
        raise Left("compares bytes of IPv6 by u32: the length of its headers is not known")
    header, found, differs = header_of(match), (), ()
    for test in re.sub(r"\s", "", text).split("&&"):
        behind_ip, behind_tcp, offset, value, mask = u32_test(test)
        if not behind_ip:
            if not header:
                raise Left(f"u32 '{test}' depends on the length of headers")
            differs = (OPTIONS,)
        if behind_tcp != (header == 0):
            raise Left(f"u32 '{test}' is not in the payload of its protocol")
        start = offset - header - (0 if behind_ip else 20)
        if start < 0:
            raise Left(f"u32 '{test}' is in a header")
        found = joined_payload(found, of_bits(start * 8, 32, value, mask))
        if found is None:
            raise Left("u32 never holds: its tests contradict each other")
    return found, differs


# ---- string

def hex_string(text):
    """--hex-string: text with |hex| in it."""
    found = b""
    for n, part in enumerate(text.split("|")):
        try:
            found += bytes.fromhex(part) if n % 2 else part.encode("latin-1")
        except ValueError:
            raise Left(f"'{text}' is not a string with hexadecimal bytes") from None
    return found


def of_string(data, first, last, match):
    """A string that begins at one offset; from 20 + 8 on it is in the payload."""
    whole_needed(match)
    if first is None or last is None or last != first + len(data):
        raise Left("looks for a string anywhere: a policy compares bytes at one offset (--from N --to N + its length)")
    header = header_of(match)
    start = first - header - {4: 20, 6: 40}.get(match.family, 0)
    if not header or match.family is None or start < 0:
        raise Left("looks for a string in a header, or behind one whose length is not known")
    return pattern(start, data), (*((OPTIONS,) if match.family == 4 else ()), BEFORE_66)


# ---- nft: @th,BIT,BITS and @ih,BIT,BITS

def of_raw(where, value, mask, match):
    base, first, length = where
    header = header_of(match) if base == "th" else 0
    if base not in ("th", "ih") or base == "th" and (not header or first < header * 8):
        raise Left(f"compares bits of @{base},{first},{length}, in a header or behind one whose length is not known")
    return of_bits(first - header * 8, length, value, mask), ()


# ---- what is read when the protocol, the ports and the family are known

@dataclasses.dataclass(frozen=True)
class Bytes:
    """reader(*words, match) gives a pattern, and what differs."""
    reader: object
    words: tuple
    negated: bool = False

    def read(self, match):
        found, differs = self.reader(*self.words, match)
        return Match(**({"not_payload": (found,)} if self.negated else {"payload": found})), differs


def resolved(match):
    """The match with its bytes, and what differs; None if it matches nothing. The rest, which cannot be said, is in `other`."""
    differs, plain = (), match.copy(pending=())
    for pending in match.pending:
        try:
            found, more = pending.read(match)
        except Left as why:
            plain = plain.copy(other=plain.other + (f"bytes ({why})",))
            continue
        differs += tuple(text for text in more if text not in differs)
        plain = plain and joined(plain, found)
        if plain is None:
            return None, ()
    return plain, differs
