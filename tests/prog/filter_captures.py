#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""filter_captures.py RLCTL FOLDER [ROW…]: filters on packets from each writer of captures in tests/, under all link
types; of a long trace a part. Captures that tests take from a device are not among them. `rlctl simulate` and tcpdump
say the same of each packet. Prints TAP; files are made in FOLDER.

A filter sees the packet from its IP header on, as rlctl-policy(5) says. So tcpdump is asked twice: about the packets
that raw_capture.py takes out of the capture, and about the capture itself, where the two must mean the same:
    len, less, greater   count from the IP header; tcpdump counts the link's header as well
    VLAN tags            are taken off; tcpdump finds no IP packet behind one that a filter does not name
    ether[N]             is a byte of the IP packet, as in any capture of link type RAW; vlan, ether host … are refused
    not …                matches no packet but IP packets; tcpdump finds ARP as well
    extension headers    of IPv6 are taken out; captures with such packets are not compared themselves
Two kinds of IP packets come to no rule: malformed ones, and neighbour discovery, which passes.
"""
import concurrent.futures
import glob
import io
import itertools
import os
import random
import re
import struct
import subprocess
import sys

import capture
import examples
import judge
import oracle_random
import raw_capture

HERE = os.path.dirname(os.path.abspath(__file__))
ETHERNET = "1"
LINE = re.compile(rf"^\s*([0-9.]+ (?:{'|'.join(capture.KINDS)})(?: [a-z0-9.:=,]+)*)$", re.MULTILINE | re.IGNORECASE)

FILTERS = """\
tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn or icmp6 or icmp[icmptype] = icmp-echo
portrange 50-60 and not src net 198.51.100.0/28 and greater 100
ip6 host 2001:db8::2 or net 2001:db8:0:1::/64 or host 198.51.100.7
ip[8] > 32 and ip[2:2] - ((ip[0] & 0xf) << 2) > 500 and (ip[300] = 0 or len < 400) or ip6[700:4] = 0
udp[0:2] % 2 = 1 and udp[4:2] = len - 20
ip
ip6
tcp
udp
icmp
icmp6
host 192.0.2.1
src host 192.0.2.1 and not tcp
dst host 203.0.113.1 or dst host 2001:db8:aaaa::1
net 198.51.100.0/24
src net 2001:db8::/32 and udp
not net 192.0.0.0/8 and not ip6
port 53
src port 53 or dst port 443
udp portrange 1000-1100
not tcp portrange 0-1023 and tcp
port domain or port http
proto 47 or proto 50 or ip proto 2
ip6 proto 17 or ip proto 132
sctp or ah or esp or pim
ip proto 1 and ip[20] < 9 or tcp[13] & 2 != 0
tcp[tcpflags] & (tcp-rst|tcp-fin|tcp-push) != 0
tcp[tcpflags] = tcp-syn and tcp[14:2] < 1024
(tcp[12] >> 4) * 4 > 20
udp[8:4] = 0xffffffff
udp[8] = 0x47 or udp[8:2] = 0
udp and udp[4:2] > 8 and udp[6:2] = 0
icmp[icmptype] != icmp-echo and icmp[icmptype] != icmp-echoreply
icmp6[icmp6type] = icmp6-echo or icmp[icmptype] = icmp-unreach
ip6 and ip6[6] != 6 and ip6[7] > 63
ip[6:2] & 0x1fff != 0 or ip[6] & 0x20 != 0
ip[0] & 0xf > 5
ip[1] & 0xfc >> 2 = 46 or ip6[0:2] & 0xfc0 != 0
len > 100
less 60 or greater 1400
len % 4 = 0 and not len = 48
ip and len - ip[2:2] > 0
ip multicast or ip6 multicast
dst host 224.0.0.1 or dst net ff00::/8
not (tcp or udp) and not (icmp or icmp6)
(tcp port 80 or (udp port 53 and not src net 2001:db8::/32)) and not (less 50 or ip[8] = 64)
ip[ip[0] & 0xf] + ip[9] * 3 - (ip[12] | ip[15]) ^ 0x55 > 100
ip[16:4] / 7 % 3 = 1 or ip6[36:4] << 3 > 1000
ip[((ip[0] & 0xf) << 2) + 2:2] = 53
ip[120] = 0 or ip[126:4] = 0 or ip[500] = 0
ip[9] = 17 and ip[16] & 0xf0 != 0xe0 and ip[19] & 1 = 1
ether[0] & 0xf0 = 0x40 and ether[9] = 6""".splitlines()

# tcpdump is not asked about these captures themselves, but about their IP packets alone.
UNLIKE = {"ppp": "tcpdump takes 0xff 0x03 for granted", "ppp-cisco": "tcpdump takes PPP for granted",
          "ppp-hdlc-short": "tcpdump asks for a protocol's number of two bytes"}

REFUSED = {
    "vlan 7": "without Ethernet and VLAN tags",
    "vlan and udp": "without Ethernet and VLAN tags",
    "ether host 02:00:00:00:00:01": "without Ethernet and VLAN tags",
    "broadcast": "refused by libpcap",
    "ip broadcast": "netmask not known",
    "inbound": "inbound",
    "ip protochain 6": "protochain",
}


# ---- the packets of the tests: Ethernet frames, and how long they were

def of_scripts():
    """The lines for capture.py in all scripts, but for those with variables, and many with random fields."""
    r = random.Random(7)
    for path in sorted(glob.glob(os.path.join(HERE, "..", "*", "test_*.sh"))):
        with open(path, encoding="utf-8") as f:
            for line in LINE.findall(f.read()):
                yield re.sub(r"times=\S+|sent", "", line)
    for _ in range(400):
        kind = r.choice(("udp 198.51.100.", "tcp 198.51.100.", "tcp6 2001:db8::", "udp6 2001:db8:0:1::"))
        yield (f"1 {kind}{r.randrange(20)} size={r.randrange(80, 1500)} sport={r.randrange(1000, 2100)} dport={r.randrange(40, 90)}"
               f"{' vlan' if r.random() < 0.2 else ''} flags={r.choice(('S', 'A', 'SA', 'F', 'R'))}")


def of_lines():
    for _, data, size in capture.packets(ETHERNET, of_scripts()):
        yield data, size


def of_examples():
    packets, _ = examples.played(*examples.PLAYS["example.policy"])
    for _, _, data in itertools.islice(packets, 0, 200000, 200):
        yield data, len(data)


def of_oracle():
    r = random.Random(3)
    for n in range(2500):
        data = oracle_random.frame(r, n % 30)
        yield data, len(data)


def of_judge():
    for source in judge.SOURCES:
        yield judge.head_make(source), 600


SOURCES = {"scripts": of_lines, "oracle.py": of_oracle, "examples.py": of_examples, "judge.py": of_judge}


# ---- captures

class Capture:
    """Its packets are numbered by their times in seconds."""

    def __init__(self, folder, name, link, frames, form=capture.pcap):
        self.path, self.raw = os.path.join(folder, name), os.path.join(folder, name + ".raw")
        plain, out = io.BytesIO(), io.BytesIO()
        taken = [(n * capture.SECOND, data, size) for n, (data, size) in enumerate(frames, 1)]
        self.count = len(taken)
        capture.pcap(plain, "<", True, link, taken)
        form(out, "<" if form is capture.pcap else ">", False, link, taken)
        for path, data in ((self.path, out.getvalue()), (self.raw, self.packets_of(plain.getvalue()))):
            with open(path, "wb") as f:
                f.write(data)

    @staticmethod
    def packets_of(data):
        return subprocess.run([sys.executable, raw_capture.__file__], input=data, capture_output=True, check=True).stdout


def has_tags(frame):
    return frame[12:14] in (b"\x81\0", b"\x88\xa8")


def is_extended(frame):
    return frame[12:14] == b"\x86\xdd" and frame[20:21] and frame[20] in raw_capture.EXTENSIONS


def relinked(link, frames):
    """Those that the link type can carry: a RAW capture has no ARP, and one of IPv4 no IPv6."""
    wanted = {"ipv4": (b"\x08\0",), "ipv6": (b"\x86\xdd",), "raw": (b"\x08\0", b"\x86\xdd")}.get(link)
    for data, size in frames:
        if has_tags(data) or len(data) < 14 or (wanted and data[12:14] not in wanted):
            continue
        found, longer = capture.relink(link, data, False)
        yield bytes(found), size + longer


# ---- what both say

def ours(rlctl, taken, text):
    """The numbers of the packets that match, and of those that come to no rule."""
    run = subprocess.run([rlctl, "-q", "simulate", "-", taken.path, "--verdicts"], input=f'rule any filter "{text}" deny\n',
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise ValueError(run.stderr)
    by = {}
    for line in run.stdout.splitlines():
        number, _, _, reason = line.split()
        by.setdefault(reason, set()).add(int(number))
    assert sum(map(len, by.values())) == taken.count and set(by) <= {"denied", "unmatched", "malformed", "allowed", "non-ip"}, by.keys()
    return by.get("denied", set()), by.get("malformed", set()) | by.get("allowed", set()), by.get("non-ip", set())


def theirs(path, text):
    run = subprocess.run(["tcpdump", "-r", path, "-w", "-", text], capture_output=True, check=False)
    if b"rejects all packets" in run.stderr:
        return set()
    if run.returncode:
        raise ValueError(run.stderr.decode())
    data, at, found = run.stdout, 24, set()
    while at < len(data):
        seconds, _, size, _ = struct.unpack_from("<IIII", data, at)
        found.add(seconds)
        at += 16 + size
    return found


def compare(rlctl, taken, text, same=None):
    """The packets of which they do not say the same, with who says that they match; how many match. `same`: what
    tcpdump is asked about the capture itself."""
    mine, unasked, others = ours(rlctl, taken, text)
    lines = []
    for path, asked, beside in ((taken.raw, text, unasked), *([(taken.path, same, unasked | others)] if same else ())):
        his = theirs(path, asked) - beside
        lines += [f"packet {n}: {'rlctl' if n in mine else 'tcpdump'} alone says that it matches ({os.path.basename(path)})"
                  for n in sorted(mine ^ his)]
    return lines, len(mine)


def counts(text):
    """Does it count from where the link's header begins?"""
    return re.search(r"\b(len|less|greater|ether)\b", text)


class Report:
    failed = False

    def say(self, name, lines):
        print("not ok" if lines else "ok", name, flush=True)
        for line in lines[:10]:
            print("#", line)
        self.failed = self.failed or bool(lines)


def jobs(folder):
    """(name, capture, filter, what tcpdump is asked of the capture itself, how few may match)"""
    parts = {name: list(source()) for name, source in SOURCES.items()}
    frames = [frame for part in parts.values() for frame in part]
    print("#", ", ".join(f"{len(part)} packets of {name}" for name, part in parts.items()))
    ethernet = Capture(folder, "ethernet", ETHERNET, frames)
    for text in FILTERS:
        yield text, ethernet, text, None, 3
    plain = [frame for frame in frames if not has_tags(frame[0]) and not is_extended(frame[0])]
    untagged = Capture(folder, "untagged.pcapng", ETHERNET, plain, capture.pcapng)
    for text in filter(lambda text: not counts(text), FILTERS[::7]):
        yield f"untagged, pcapng: {text}", untagged, text, text, 3
    yield "untagged: len is without the link's header", untagged, "len > 100", "len > 114", 3
    turns = itertools.cycle(text for text in FILTERS if not counts(text))
    for link in capture.LINKS:
        linked = Capture(folder, link, link, relinked(link, plain))
        for text in (next(turns), next(turns)):
            yield f"{link}: {text}", linked, text, None if link in UNLIKE else text, 0
    yield "sll: len is without the link's header", Capture(folder, "len", "sll", relinked("sll", plain)), "len > 100", "len > 116", 3


def main():
    rlctl, folder, *only = sys.argv[1:]
    report = Report()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = [(name, taken, least, pool.submit(compare, rlctl, taken, text, same))
                for name, taken, text, same, least in jobs(folder) if not only or name in only]
        for name, taken, least, row in rows:
            try:
                lines, matched = row.result()
            except ValueError as refused:
                report.say(name, str(refused).splitlines())
                continue
            if not least <= matched < taken.count + (not least):
                lines.append(f"{matched} of {taken.count} match")
            report.say(name, lines)
    for text, words in ({} if only else REFUSED).items():
        run = subprocess.run([rlctl, "simulate", "-", os.path.join(folder, "raw")], input=f'rule any filter "{text}" deny\n',
                             capture_output=True, text=True, check=False)
        report.say(f"refused: {text}", [] if run.returncode == 1 and words in run.stderr else [run.stderr.strip() or "taken"])
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
