#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a capture to standard output, from lines on standard input:

    TIME KIND [SOURCE] [dst=ADDRESS] [size=N] [cap=N] [sport=N] [dport=N] [vlan] [unsegmented] [macs=N,N] [sent]
        [flags=LETTERS] [seq=N] [ack=N] [type=N] [udplen=N] [times=N] [every=SECONDS]

TIME is SECONDS[.FRACTION]; KIND udp, udp6, tcp, tcp6 (flags: of SAFR), icmp, icmp6 (type 8 by default), gre, arp or junk; size is that of the whole frame, cap how
much of it was captured; macs: numbers of the stations it goes from and to, none without; sent: a cooked header says so; unsegmented: its IP header says 0 as length. Options: us or ns, big (endian), ng (pcapng), link=N (Ethernet frames under
that link type) or link=NAME of LINKS (what is behind the Ethernet header, behind that link's).
"""
import functools
import ipaddress
import struct
import sys

SECOND = 10**9


def udp_header(words, room):
    return struct.pack('>HHHH', int(words['sport']), int(words['dport']), int(words.get('udplen', room)), 0)


def tcp_header(words, room):
    flags = sum({'F': 1, 'S': 2, 'R': 4, 'A': 16}[letter] for letter in words.get('flags', 'A'))
    return struct.pack('>HHIIBBHHH', int(words['sport']), int(words['dport']), int(words.get('seq', 0)),
                       int(words.get('ack', 0)), 0x50, flags, 9, 0, 0)


def icmp_header(words, room):
    return struct.pack('>BBHHH', int(words.get('type', 8)), 0, 0, 7, 1)


def gre_header(words, room):
    return struct.pack('>HH', 0, 0x88BE)


def stated(words, length):
    return 0 if words.get('unsegmented') else length


def ipv4(proto, header):
    def build(words, size):
        """Data beyond the longest possible IP packet belongs to no packet."""
        room = max(min(size - 14, 65535), 28)
        head = struct.pack('>BBHHHBBH', 0x45, 0, stated(words, room), 0, 0, 64, proto, 0)
        head += ipaddress.ip_address(words['source']).packed + ipaddress.ip_address(words.get('dst', '192.0.2.1')).packed
        return 0x800, head + header(words, room - 20)
    return build


def ipv6(proto, header):
    def build(words, size):
        room = max(min(size - 54, 65535), 8)
        head = struct.pack('>IHBB', 6 << 28, stated(words, room), proto, 64)
        head += ipaddress.ip_address(words['source']).packed + ipaddress.ip_address(words.get('dst', '2001:db8::1')).packed
        return 0x86DD, head + header(words, room)
    return build


KINDS = {'udp': ipv4(17, udp_header), 'udp6': ipv6(17, udp_header), 'tcp': ipv4(6, tcp_header), 'tcp6': ipv6(6, tcp_header),
         'icmp': ipv4(1, icmp_header), 'icmp6': ipv6(58, icmp_header), 'gre': ipv4(47, gre_header), 'arp': lambda words, size: (0x806, bytes(28)),
         'junk': lambda words, size: (0x800, b'\xff' * 20)}


def stations(words):
    """The two addresses of the Ethernet header: receiver, sender."""
    sender, receiver = words.get('macs', '0,0').split(',')
    return b''.join(struct.pack('>HI', 0x200 if int(n) else 0, int(n)) for n in (receiver, sender))


def frame(words):
    size = int(words['size'])
    tag = struct.pack('>HH', 0x8100, 7) if words.get('vlan') else b''
    ethertype, body = KINDS[words['kind']](words, size - len(tag))
    whole = stations(words) + tag + struct.pack('>H', ethertype) + body
    return (whole + bytes(max(size - len(whole), 0)))[:size]


def family(order, inet6):
    return lambda kind: struct.pack(order + 'I', {0x800: 2, 0x86DD: inet6}.get(kind, 99))


def ppp(before, short=False):
    def head(kind):
        number = {0x800: 0x21, 0x86DD: 0x57}.get(kind, 0xC021)
        return before + (bytes([number]) if short and number < 256 else struct.pack('>H', number))
    return head


def nothing(kind):
    return b''


# Name: link type, and the header of a packet of that EtherType.
LINKS = {
    'sll': (113, lambda kind: struct.pack('>HHH8sH', 0, 1, 6, bytes(8), kind)),
    'sll2': (276, lambda kind: struct.pack('>HHIHBB8s', kind, 0, 2, 1, 0, 6, bytes(8))),
    'raw': (101, nothing), 'ipv4': (228, nothing), 'ipv6': (229, nothing),
    'null': (0, family('<', 30)), 'loop': (108, family('>', 24)),
    'ppp': (9, ppp(b'')), 'ppp-hdlc': (9, ppp(b'\xff\x03')), 'ppp-hdlc-short': (9, ppp(b'\xff\x03', True)),
    'ppp-cisco': (50, lambda kind: struct.pack('>HH', 0x0F00, kind)),
    'pppoe': (51, ppp(struct.pack('>BBHH', 0x11, 0, 7, 60))),
}


SENT = {'sll': 1, 'sll2': 10}  # where the header says whether the packet was sent


def relink(link, whole, sent):
    """The frame under that link type, and how much longer it is."""
    if link not in LINKS:
        return whole, 0
    header = bytearray(LINKS[link][1](struct.unpack('>H', whole[12:14])[0]))
    if sent:
        header[SENT[link]] = 4
    return header + whole[14:], len(header) - 14


def nanoseconds(text):
    whole, _, fraction = text.partition('.')
    return int(whole or 0) * SECOND + int(fraction[:9].ljust(9, '0'))


@functools.lru_cache(1 << 12)
def described(link, description):
    """All of a line but its time: the captured bytes, how many there were, how often, and how far apart."""
    words = {'size': '80', 'sport': '1000', 'dport': '53', 'times': '1', 'every': '0'}
    fields = description.split()
    for field in fields[1:]:
        name, equals, value = field.partition('=')
        if equals:
            words[name] = value
        elif name in ('vlan', 'unsegmented', 'sent'):
            words[name] = name
        else:
            words['source'] = name
    words['kind'] = fields[0]
    whole = frame(words)
    cap = int(words.get('cap', len(whole)))
    whole, longer = relink(link, whole, words.get('sent'))
    return whole[:max(cap + longer, 0)], len(whole), int(words['times']), nanoseconds(words['every'])


def packets(link, lines):
    for line in lines:
        time, description = (line.split(maxsplit=1) + ['', ''])[:2]
        if time:
            data, size, times, step = described(link, description)
            for i in range(times):
                yield nanoseconds(time) + i * step, data, size


def link_type(link):
    return LINKS[link][0] if link in LINKS else int(link)


# `taken`: time, the bytes that were captured, and how many there were.

def pcap(out, order, ns, link, taken):
    out.write(struct.pack(order + 'IHHiIII', 0xA1B23C4D if ns else 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type(link)))
    for time, data, size in taken:
        seconds, fraction = divmod(time, SECOND)
        out.write(struct.pack(order + 'IIII', seconds, fraction // (1 if ns else 1000), len(data), size) + data)


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack(order + 'II', kind, len(body) + 12) + body + struct.pack(order + 'I', len(body) + 12)


def pcapng(out, order, ns, link, taken):
    out.write(block(order, 0x0A0D0D0A, struct.pack(order + 'IHHq', 0x1A2B3C4D, 1, 0, -1)))
    resolution = struct.pack(order + 'HHB3xHH', 9, 1, 9 if ns else 6, 0, 0)
    out.write(block(order, 1, struct.pack(order + 'HHI', link_type(link), 0, 262144) + resolution))
    for time, data, size in taken:
        ticks = time // (1 if ns else 1000)
        head = struct.pack(order + 'IIIII', 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), size)
        out.write(block(order, 6, head + data))


def main():
    options = sys.argv[1:]
    link = next((o[5:] for o in options if o.startswith('link=')), '1')
    write = pcapng if 'ng' in options else pcap
    write(sys.stdout.buffer, '>' if 'big' in options else '<', 'us' not in options, link, packets(link, sys.stdin))


if __name__ == '__main__':
    main()
