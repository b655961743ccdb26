# SPDX-License-Identifier: GPL-2.0-only
"""Random frames, and random rules that often match them, for oracle.py. A world is a number: the part of both
address spaces in which its rules and its packets are, so that one policy has many that do not meet."""
import ipaddress
import struct

from oracle_rule import DSCP, FLAGS, ICMP6_TYPES, ICMP_TYPES, PROTOCOLS

PORTS = (0, 1, 22, 53, 80, 443, 1023, 1024, 27015, 65534, 65535)
TTLS = (0, 1, 63, 64, 254, 255)
LENGTHS = (20, 28, 29, 40, 48, 60, 68, 80, 100, 576, 1500)
CODES = (0, 1, 3, 4, 255)
PROTOCOL_POOL = (6, 6, 6, 17, 17, 17, 1, 1, 58, 58, 132, 47, 50, 0, 2, 4, 41, 44, 51, 59, 89, 255)
CHUNKS = (b"\xff\xff\xff\xffT", b"\0\0\0\0", b"\x12\x34\x01\0\0\x01", b"GET / HTTP", b"\x80", b"", b"\x01")
FAR_SOURCES = ("fe80::1", "fe80::ffff:2", "64:ff9b::c000:201", "::", "::1", "2001:db8:ffff::1", "0.0.0.0", "255.255.255.255",
               "192.0.2.1", "2000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
DESTS4, DESTS6 = ("203.0.113.1", "203.0.113.80", "224.0.0.1", "203.0.112.5"), ("2001:db8:aaaa::1", "2001:db8:aaaa::80", "ff02::1", "fe80::9")
FAR_PREFIXES = ("any", "any", "device", "device", "0.0.0.0/0", "::/0", "fe80::/10", "64:ff9b::/96", "128.0.0.0/1", "::/1", "fe80::/64")


def chance(r, percent):
    return r.random() * 100 < percent


# ---- frames

def packed(address):
    return ipaddress.ip_address(address).packed


def source(r, world, inet6):
    if chance(r, 4):
        found = [a for a in FAR_SOURCES if (":" in a) == inet6]
        return packed(r.choice(found))
    if inet6:
        return struct.pack(">IHHHHHH", 0x20010DB8, world, r.choice((0, 1, 0xFFFF)), r.choice((0, 1)), 0, 0, r.choice((1, 2, 0xFFFF)))
    return struct.pack(">BBBB", 10, world, r.choice((0, 1, 255)), r.choice((0, 1, 2, 127, 128, 255)))


def dest(r, world, inet6):
    if chance(r, 10):
        return source(r, world, inet6)
    return packed(r.choice(DESTS6 if inet6 else DESTS4))


def payload(r):
    data = b"".join(r.choice(CHUNKS) for _ in range(r.randrange(4)))
    if chance(r, 20):
        data = bytes(r.choice((0, 1, 20, 511, 512, 513))) + data
    return data + bytes(r.choice((0, 255, 84)) for _ in range(r.choice((0, 0, 1, 2, 16, 40))))


def tcp(r, port):
    options = r.choice((0, 0, 1, 3, 5, 10))
    flags = r.choice((2, 16, 18, 24, 4, 17, 0, 255, r.randrange(256)))
    return struct.pack(">HHIIBBHHH", port(), port(), 7, 8, (5 + options) << 4 | r.choice((0, 0, 1, 15)), flags, 9, 0, 0) + r.randbytes(4 * options)


def discovery(r, kind):
    """The body of such a message, with a target that is often the right one."""
    target = r.choice((packed("fe80::1"), packed("2001:db8:aaaa::1"), packed("2001:db8::1"), bytes(16)))
    return bytes((kind, r.choice((0, 0, 0, 1)), 0, 0, r.choice((0, 0x40, 0xE0)), 0, 0, 0)) + target[:r.choice((16, 16, 16, 0, 15))]


def transport(r, protocol):
    def port():
        return r.choice(PORTS) if chance(r, 90) else r.randrange(65536)

    data = payload(r)
    if protocol == 6:
        return tcp(r, port) + data
    if protocol == 17:
        return struct.pack(">HHHH", port(), port(), 8 + len(data), 0) + data
    if protocol == 132:
        return struct.pack(">HHII", port(), port(), 5, 6) + data
    if protocol == 58 and chance(r, 30):
        return discovery(r, r.randrange(132, 139))
    if protocol in (1, 58):
        names = ICMP_TYPES if protocol == 1 else ICMP6_TYPES
        return bytes((r.choice((*names.values(), 0, 255)), r.choice(CODES), 0, 0, 0, 7, 0, 1)) + data
    return r.randbytes(r.choice((0, 1, 4, 8, 20))) + data


def damaged(r, data):
    """A header that ends too soon."""
    return data[:r.randrange(len(data) + 1)] if chance(r, 3) else data


def fragment_words(r, unit):
    """Offset and MF as a number; unit: what an offset of one block is."""
    if chance(r, 75):
        return 0
    return r.choice((0, 0, 1, 2, 185, 8191)) * unit


def ipv4(r, world):
    protocol = r.choice(PROTOCOL_POOL) if chance(r, 95) else r.randrange(256)
    data = damaged(r, transport(r, protocol))
    options = r.choice((0, 0, 0, 1, 2, 10))
    fragment = fragment_words(r, 1) | r.choice((0, 0, 0, 0, 0x2000, 0x4000))
    header = struct.pack(">BBHHHBBH", 0x45 + options, r.choice((0, 0xB8, 0xB9, r.randrange(256))), 20 + options * 4 + len(data),
                         9, fragment, r.choice(TTLS), protocol, 0)
    return header + source(r, world, False) + dest(r, world, False) + r.choice((b"\1", b"\x94")) * options * 4 + data


def extension(r, kind, following):
    if kind == 44:
        offset = fragment_words(r, 8) | r.choice((0, 0, 1))
        return struct.pack(">BBHI", following, 0, offset, 77), bool(offset & 0xFFF8)
    units = r.choice((0, 0, 1, 3))
    size = (units + 2) * 4 if kind == 51 else (units + 1) * 8
    if kind == 51 and size < 8:
        size = 8
    return bytes((following, units)) + r.randbytes(size - 2), False


def ipv6(r, world):
    protocol = r.choice(PROTOCOL_POOL) if chance(r, 95) else r.randrange(256)
    count = r.choice((0, 0, 0, 1, 1, 2, 3, 7, 8, 9)) if chance(r, 40) else 0
    kinds = [r.choice((0, 60, 43, 44, 44, 51, 135)) for _ in range(count)]
    following, data = protocol, damaged(r, transport(r, protocol))
    for kind in reversed(kinds):
        head, later = extension(r, kind, following)
        data, following = head + (data if not later else data[r.choice((0, 8)):]), kind
    ttl = 255 if protocol == 58 and chance(r, 60) else r.choice(TTLS)
    header = struct.pack(">IHBB", 6 << 28 | r.choice((0, 0xB8, 0xFF, r.randrange(256))) << 20 | r.choice((0, 0xFFFFF)), len(data), following, ttl)
    addresses = source(r, world, True) + dest(r, world, True)
    if protocol == 58 and chance(r, 30):
        addresses = packed(r.choice(("fe80::1", "::", "2001:db8::1"))) + packed(r.choice(("ff02::1:ff00:1", "2001:db8:aaaa::1", "fe80::1", "ff02::1")))
    return header + addresses + data


def frame(r, world):
    kind = r.choices(("4", "6", "other"), (48, 48, 4))[0]
    if kind == "other":
        ethertype, data = r.choice((0x806, 0x88CC, 0x8864, 0x8847, 60, 0x9100)), r.randbytes(r.choice((0, 28, 46)))
    else:
        ethertype, data = (0x800, ipv4(r, world)) if kind == "4" else (0x86DD, ipv6(r, world))
    if chance(r, 1):
        ethertype = r.choice((0x800, 0x86DD))
    tags = b"".join(struct.pack(">HH", r.choice((0x8100, 0x88A8)), r.randrange(65536))
                    for _ in range(r.choices((0, 1, 2, 3), (70, 17, 12, 1))[0]))
    whole = b"\2\0\0\0\0\1\2\0\0\0\0\2" + tags + struct.pack(">H", ethertype) + data + bytes(r.choice((0, 0, 0, 6, 18)))
    if chance(r, 3):
        at = r.randrange(12, len(whole))
        whole = whole[:at] + bytes((r.randrange(256),)) + whole[at + 1:]
    return whole[:max(14, r.randrange(len(whole) + 1))] if chance(r, 2) else whole


# ---- rules

def prefix(r, world):
    if chance(r, 25):
        return r.choice(FAR_PREFIXES)
    host = r.choice((0, 1, 255)), r.choice((0, 1, 2, 127, 128, 255))
    if chance(r, 50):
        length = r.choice((12, 16, 16, 24, 24, 25, 32, 32))
        return str(ipaddress.ip_network((struct.pack(">BBBB", 10, world, *host), length), strict=False))
    length = r.choice((32, 47, 48, 48, 56, 64, 64, 65, 127, 128))
    address = struct.pack(">IHHHHHH", 0x20010DB8, world, r.choice((0, 1, 0xFFFF)), r.choice((0, 1)), 0, 0, r.choice((1, 2)))
    return str(ipaddress.ip_network((address, length), strict=False))


def span(r, pool, most):
    low = r.choice(pool)
    high = r.choice([n for n in (*pool, most) if n >= low])
    return f"{low}" if chance(r, 40) else f"{low}-{high}"


def ports(r, plain):
    return ",".join(span(r, PORTS, 65535) for _ in range(1 if plain else r.choice((1, 1, 1, 2, 5, 16))))


def names(r, pool):
    return ",".join(r.sample(FLAGS, r.randrange(1, 4))) if pool is None else ",".join(r.sample(pool, r.randrange(1, len(pool) + 1)))


def flags(r):
    if chance(r, 30):
        return r.choice(("none", names(r, None)))
    mask = names(r, None)
    return f"{r.choice(('none', names(r, mask.split(','))))}/{mask}"


def icmp_type(r, protocol):
    table = {"icmp": ICMP_TYPES, "icmp6": ICMP6_TYPES}[protocol]
    word = r.choice(list(table)) if chance(r, 60) else r.choice((0, 3, 8, 128, 135, 255))
    return f"icmp-type {word}" + (f" code {r.choice(CODES)}" if chance(r, 40) else "")


def payload_words(r):
    data = r.choice([chunk for chunk in CHUNKS if chunk])[:16]
    if chance(r, 30):
        data = data[:r.randrange(1, len(data) + 1)]
    words = f"payload {r.choice((0, 0, 0, 1, 2, 4, 5, 20, 511, 512))} {data.hex()}"
    mask = bytes(r.choice((0, 255, 255, 0x80, 1)) for _ in data)
    return f"{words}/{mask.hex()}" if chance(r, 40) and any(mask) else words


def networks(r, world):
    word = r.choice(("203.0.113.0/24", "203.0.113.80", "2001:db8:aaaa::/48", "2001:db8:aaaa::1", "0.0.0.0/0", "::/0", f"10.{world}.0.0/17",
                     f"2001:db8:{world:x}::/49", "fe80::/10", f"10.{world}.1.1"))
    return word


def match_words(r, world, plain):
    """At most one of each kind, as many words; plain: without those that not every program has."""
    protocol = r.choice((*PROTOCOLS, "proto")) if chance(r, 65) else None
    wanted = []
    if protocol:
        wanted.append(protocol if protocol != "proto" else f"proto {r.choice(PROTOCOL_POOL)}")
    kinds = {
        "sport": (8, lambda: f"sport {ports(r, plain)}"), "dport": (25, lambda: f"dport {ports(r, plain)}"),
        "src": (8, lambda: f"src {networks(r, world)}"), "dst": (10, lambda: f"dst {networks(r, world)}"),
        "syn": (15 if protocol in ("tcp", None) else 0, lambda: "syn"), "fragment": (10, lambda: "fragment"),
        "new-source": (4, lambda: "new-source"), "established": (2, lambda: "established"),
    }
    if not plain:
        kinds |= {
            "flags": (35 if protocol == "tcp" else 0, lambda: f"flags {flags(r)}"),
            "icmp-type": (70 if protocol in ("icmp", "icmp6") else 0, lambda: icmp_type(r, protocol)),
            "length": (12, lambda: f"length {span(r, LENGTHS, 65575)}"), "ttl": (12, lambda: f"ttl {span(r, TTLS, 255)}"),
            "dscp": (8, lambda: f"dscp {r.choice((*DSCP, 46, 0, 63))}"),
            "payload": (25 if protocol in ("tcp", "udp", "icmp", "icmp6", None) else 0, lambda: payload_words(r)),
        }
    wanted += [make() for percent, make in kinds.values() if chance(r, percent)]
    if protocol not in ("tcp", "udp", "sctp", None):
        wanted = [words for words in wanted if not words.startswith(("sport", "dport"))]
    if not plain:
        wanted = [f"not {words}" if chance(r, 18) else words for words in wanted]
    r.shuffle(wanted)
    return " ".join(wanted)


def key(r, plain):
    if chance(r, 40):
        return ""
    if chance(r, 50) and not plain:
        parts = r.sample(("source", "dest", "sport", "dport", "proto"), r.randrange(1, 6))
        return " per " + "+".join(f"{part}{r.choice(('', '', '/24', '/24,56', '/8,64', '/32,128'))}" if part in ("source", "dest") else part
                                  for part in parts)
    return " per " + r.choice(("source", "source/24,56", "source/16,64", "source/0,0", "dest", "dest/32,128", "source+dport", "source+dest", "flow", "rule"))


def limit(r, plain):
    """One that never ends, or one of a few packets or bytes a day."""
    if chance(r, 40):
        words = "1m/second burst 1m"
    elif chance(r, 15):
        size = r.choice((1514, 1600, 9000))
        words = f"{size}byte/day burst {size}byte"
    else:
        n = r.choice((1, 1, 2, 5))
        words = r.choice((f"{n}/day burst {n}", f"leaky-bucket {n}/day queue {n}", f"fixed-window {n}/day",
                          f"sliding-window {n}/day slots 3", f"sliding-log {n}/day"))
    return f"limit {words}{key(r, plain)}" + r.choice(("", "", "", " over count", " over drop unless established"))


def action(r, plain):
    return r.choices(("allow", "deny", limit(r, plain)), (20, 30, 50))[0]


def rule(r, world, plain, where=None):
    """where: one prefix of many rules, narrow ones, and few of them limits, as eight at most apply to a packet."""
    what = action(r, plain) if not where or chance(r, 10) else r.choice(("allow", "deny"))
    matches = match_words(r, world, plain)
    while where and "port" not in matches and "proto" not in matches:
        matches = match_words(r, world, plain)
    return " ".join(" ".join(("rule", where or prefix(r, world), matches, what)).split())
