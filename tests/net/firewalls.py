# SPDX-License-Identifier: GPL-2.0-only
"""The same train of packets through the kernel's own firewall and through what scripts/import makes of
it: the packets that come through have to be the same ones. Runs in the receiver's namespace; the input
hook notes the IP identification of what comes through.

  firewalls.py IMPORT RLCTL SENDER_NETNS SENDER_DEV RECEIVER_DEV SEED RANDOM_CASES

Each case goes through the firewall alone; through the policy with the firewall behind it, out of which
the limits that were carried are taken; and, where the import says that nothing differs, through the policy
alone. Prints TAP."""
import collections
import ctypes
import itertools
import os
import random
import re
import socket
import struct
import subprocess
import sys
import time

from firewall_cases import CASES, random_case

IMPORT, RLCTL, SENDER, SENDER_DEV, DEV, SEED, CASES_RANDOM = sys.argv[1:]
CLONE_NEWNET = 0x40000000
RUNS = itertools.count(1)
SOURCES = ("10.1.2.3", "10.1.2.4", "10.1.9.9", "10.9.9.9")
Kind = collections.namedtuple("Kind", "proto dport flags data ttl tos icmp", defaults=(0, 0, bytes(8), 64, 0, (8, 0)))
QUERY = b"\xff\xff\xff\xff"
KINDS = [Kind(17, 53), Kind(17, 55), Kind(17, 99), Kind(6, 53, 2), Kind(6, 53, 16), Kind(6, 99, 2), Kind(1), Kind(47)]
MORE = [Kind(17, 53, data=bytes(300)), Kind(17, 53, data=b""), Kind(17, 53, ttl=3), Kind(17, 53, tos=0xb8),
        Kind(17, 27015, data=QUERY + b"T" + bytes(20)), Kind(17, 27015, data=QUERY + b"U" + bytes(20)),
        Kind(17, 27015, data=QUERY + b"T"), Kind(6, 53, 0), Kind(6, 53, 3), Kind(6, 53, 20), Kind(6, 80, 24, b"GET / HTTP/1.1"),
        Kind(1, icmp=(3, 1)), Kind(1, icmp=(13, 0))]
REPEATS = 7
COUNTER = """table ip rl_came {
	set came { typeof ip id; size 4096; flags dynamic; }
	chain input { type filter hook input priority 1000; update @came { ip id counter }; }
}"""


def run(*words, text=None, status=0):
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if status is not None and done.returncode != status:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}\n{text or ''}")
    return done


def socket_in(netns, device):
    """A packet socket of another network namespace."""
    libc, home = ctypes.CDLL(None, use_errno=True), os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    if libc.setns(there, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((device, 0))
    if libc.setns(home, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    return link


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def frame(mac, number, source, kind):
    echo = struct.pack("!BBHHH", *kind.icmp, 0, 7, number)
    body = {17: struct.pack("!HHHH", 4000, kind.dport, 8 + len(kind.data), 0) + kind.data,
            6: struct.pack("!HHIIBBHHH", 4000 + number, kind.dport, number, 0, 0x50, kind.flags, 1000, 0, 0) + kind.data,
            1: echo[:2] + struct.pack("!H", checksum(echo)) + echo[4:],
            47: struct.pack("!HH", 0, 0x0800) + bytes(8)}[kind.proto]
    head = struct.pack("!BBHHHBBH4s4s", 0x45, kind.tos, 20 + len(body), number, 0, kind.ttl, kind.proto, 0,
                       socket.inet_aton(source), socket.inet_aton("10.77.0.2"))
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return mac + bytes(6) + b"\x08\x00" + head + body


def train(dice):
    """The packets of a case: kinds and sources mixed."""
    mixed = [(s, k) for s in SOURCES for k in KINDS + MORE for _ in range(REPEATS)]
    dice.shuffle(mixed)
    return mixed


def train(dice):
    """The packets of a case: kinds and sources mixed."""
    mixed = [(s, k) for s in SOURCES for k in KINDS for _ in range(REPEATS)]
    dice.shuffle(mixed)
    return mixed


class Bed:
    def __init__(self):
        self.link = socket_in(SENDER, SENDER_DEV)
        address = run("ip", "-j", "link", "show", DEV).stdout
        self.mac = bytes.fromhex(re.search(r'"address":"([0-9a-f:]+)"', address)[1].replace(":", ""))

    def firewall(self, text):
        run("nft", "flush ruleset")
        if text.startswith("table"):
            run("nft", "-f", "-", text=text)
        elif text:
            run("iptables-restore", text=text.replace("-name @", f"-name r{next(RUNS)}"))
        run("nft", "-f", "-", text=COUNTER)

    def came(self, packets):
        """The numbers of those that came through."""
        for number, (source, kind) in enumerate(packets, 1):
            self.link.send(frame(self.mac, number, source, kind))
            if number % 64 == 0:
                time.sleep(0.002)
        time.sleep(0.02)
        printed = run("nft", "-nj", "list", "set", "ip", "rl_came", "came").stdout
        return {int(number) for number in re.findall(r'"val": (\d+)', printed)}

    def through_policy(self, policy, rest, packets):
        self.firewall(rest)
        run(RLCTL, "attach", DEV, "--policy", "-", text=policy)
        try:
            return self.came(packets)
        finally:
            run(RLCTL, "detach", DEV)


def save_text(lines):
    """What iptables-save prints of a case: (table, line) in their order."""
    out = ["# Generated by iptables-save v1.8.9"]
    for table, chains in (("raw", ("PREROUTING",)), ("mangle", ("PREROUTING",)), ("filter", ("INPUT", "FORWARD"))):
        policies = {w[1]: w[2] for t, w in ((t, l.split()) for t, l in lines) if t == table and w[0] == "-P"}
        of_table = [line for t, line in lines if t == table and not line.startswith("-P")]
        out += [f"*{table}"] + [f":{chain} {policies.get(chain, 'ACCEPT')} [0:0]" for chain in chains]
        out += [f":{chain} - [0:0]" for chain in ("SUB", "TWO")]
        out += [f"-A {line}" for line in of_table] + ["COMMIT"]
    return "\n".join(out + [""])


LIMIT = re.compile(r" -m (?:hashlimit|limit)(?: --(?:hashlimit|limit)\S* \S+)*")


def rest_of(text, policy):
    """The firewall without the limits that the policy has."""
    carried = {int(n) for n in re.findall(r" limit .*# line (\d+)", policy)}
    lines = text.split("\n")
    for number in carried:
        line = lines[number - 1]
        lines[number - 1] = "#" if "-above" in line else LIMIT.sub("", line)
    return "\n".join(lines)


def judge(bed, text, packets, wanted_status):
    """What is wrong, or None."""
    bed.firewall(text)
    alone = bed.came(packets)
    is_nft = text.startswith("table")
    printed = run("nft", "-j", "list", "ruleset").stdout if is_nft else text
    done = run(IMPORT, "--host", "-i", DEV, "-", text=printed, status=None)
    said = f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    if done.returncode not in (0, 1) or "Traceback" in done.stderr or \
            wanted_status is not None and done.returncode != wanted_status:
        return said
    runs = [("the firewall behind the policy", rest_of(text, done.stdout))] if done.stdout and not is_nft else []
    runs += [("the policy alone", "")] if not done.returncode else []
    for name, rest in runs:
        other = bed.through_policy(done.stdout, rest, packets)
        fewer = "it counts what" in done.stderr  # the policy's limits count what the firewall drops before them
        if other - alone or (other != alone and not fewer):
            kinds = [packets[n - 1] for n in sorted(other ^ alone)[:5]]
            return f"{name}: {len(alone)} came before, {len(other)} now; among them {kinds}\n{said}"
    return None


def main():
    bed, dice = Bed(), random.Random(int(SEED))
    cases = [(name, save_text(lines) if isinstance(lines, list) else lines, status) for name, status, lines in CASES]
    cases += [(f"at random {SEED}:{n}", save_text(random_case(dice)), None) for n in range(int(CASES_RANDOM))]
    failed = 0
    bed.firewall("")
    if bed.came(packets := train(dice)) != set(range(1, len(packets) + 1)):
        print("not ok all packets come where nothing drops them")
        return 1
    for name, text, status in cases:
        wrong = judge(bed, text, train(dice), status)
        failed += wrong is not None
        print(f"{'not ok' if wrong else 'ok'} {name}", flush=True)
        if wrong:
            print("\n".join("# " + line for line in f"{wrong}\n{text}".split("\n")))
    return 1 if failed else 0


sys.exit(main())
