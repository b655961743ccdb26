# SPDX-License-Identifier: GPL-2.0-only
"""Fields of packets by the names of iptables and nft. A set of TCP flags is a number with one bit for each of
the 256 values of the byte; an ICMP type and its code are one number, 256 * type + code."""
from .model import Left

FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32, "ecn": 64, "ece": 64, "cwr": 128}
FLAG_WORDS = ("fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr")
DSCP = {"be": 0, "df": 0, "lephb": 1, "le": 1, "va": 44, "ef": 46, **{f"cs{n}": 8 * n for n in range(8)},
        **{f"af{n}{m}": 8 * n + 2 * m for n in range(1, 5) for m in range(1, 4)}}
ICMP = {"echo-reply": 0, "pong": 0, "destination-unreachable": 3, "source-quench": 4, "redirect": 5, "echo-request": 8,
        "ping": 8, "router-advertisement": 9, "router-solicitation": 10, "time-exceeded": 11, "ttl-exceeded": 11,
        "parameter-problem": 12, "timestamp-request": 13, "timestamp-reply": 14, "info-request": 15,
        "info-reply": 16, "address-mask-request": 17, "address-mask-reply": 18}
ICMP6 = {"destination-unreachable": 1, "packet-too-big": 2, "time-exceeded": 3, "ttl-exceeded": 3,
         "parameter-problem": 4, "echo-request": 128, "ping": 128, "echo-reply": 129, "pong": 129, "mld-listener-query": 130,
         "mld-listener-report": 131, "mld-listener-done": 132, "mld-listener-reduction": 132,
         "nd-router-solicit": 133, "router-solicitation": 133, "nd-router-advert": 134, "router-advertisement": 134,
         "nd-neighbor-solicit": 135, "neighbour-solicitation": 135, "neighbor-solicitation": 135,
         "nd-neighbor-advert": 136, "neighbour-advertisement": 136, "neighbor-advertisement": 136,
         "nd-redirect": 137, "redirect": 137, "router-renumbering": 138, "ind-neighbor-solicit": 141,
         "ind-neighbor-advert": 142, "mld2-listener-report": 143}
CODES = {"net-unreachable": 0, "host-unreachable": 1, "prot-unreachable": 2, "port-unreachable": 3,
         "frag-needed": 4, "net-prohibited": 9, "host-prohibited": 10, "admin-prohibited": 13}
CODES6 = {"no-route": 0, "admin-prohibited": 1, "addr-unreachable": 3, "port-unreachable": 4, "policy-fail": 5,
          "reject-route": 6}
EVERY_FLAGS = (1 << 256) - 1


def named(value, names, what):
    """A number, or one of the names."""
    if isinstance(value, int):
        return value
    if str(value).lower() in names:
        return names[str(value).lower()]
    try:
        return int(str(value), 0)
    except ValueError:
        raise Left(f"unknown {what} '{value}'") from None


def flag_bits(names):
    """The byte of flags with these names, or numbers."""
    return sum({named(name, FLAGS, "TCP flag") for name in names})


def flags_set(value, mask=255):
    """The bytes of which these bits, and of the mask no others, are set."""
    return sum(1 << byte for byte in range(256) if byte & mask == value)


SYN = flags_set(2, 18)  # the word syn: without ACK, whatever FIN and RST are
OPENS = flags_set(2, 23)  # what begins a connection to conntrack, and --syn of iptables: without FIN, RST and ACK


def flags_words(wanted):
    """flags FLAGS[/FLAGS] of the set; None: not one value under one mask."""
    if not wanted:
        return None
    values = [byte for byte in range(256) if wanted >> byte & 1]
    same = 255
    for byte in values:
        same &= ~(byte ^ values[0])
    if flags_set(values[0] & same, same) != wanted:
        return None
    mask, value = (",".join(w for n, w in enumerate(FLAG_WORDS) if bits >> n & 1) for bits in (same, values[0] & same))
    return f"flags {value or 'none'}" + ("" if same == 255 else f"/{mask}")
