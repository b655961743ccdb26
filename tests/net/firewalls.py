# SPDX-License-Identifier: GPL-2.0-only
"""The same train of packets through the kernel's own firewall and through what scripts/import makes of
it: the packets that come through have to be the same ones. Runs in the receiver's namespace; the input
hook notes the IP identification of what comes through.

  firewalls.py IMPORT RLCTL SENDER_NETNS SENDER_DEV RECEIVER_DEV SEED RANDOM_CASES

Each case goes through the firewall alone; through the policy with the firewall behind it, out of which
the limits that were carried are taken; and, where the import says that nothing differs, through the policy
alone. The firewalls come first: while they are measured nothing is attached, and then one attach lasts for many
policies. Prints TAP."""
import collections
import itertools
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys

from firewall_cases import CASES, random_case
from packets import ipv4, with_checksum
from setns import link_in

IMPORT, RLCTL, SENDER, SENDER_DEV, DEV, SEED, CASES_RANDOM = sys.argv[1:]
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
FIRST_PORT = 4000
AT_ONCE = 64  # fewer than a ring of the cable holds
MARK = 0x88b5  # an EtherType for experiments, which no firewall here looks at
COUNTER = """table ip rl_came {
	set came { typeof ip id; size 4096; flags dynamic; }
	chain input { type filter hook input priority 1000; update @came { ip id counter }; }
}"""


def run(*words, text=None, status=0):
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if status is not None and done.returncode != status:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}\n{text or ''}")
    return done


def frame(mac, number, source, kind, port):
    body = {17: struct.pack("!HHHH", 4000, kind.dport, 8 + len(kind.data), 0) + kind.data,
            6: struct.pack("!HHIIBBHHH", port, kind.dport, number, 0, 0x50, kind.flags, 1000, 0, 0) + kind.data,
            1: with_checksum(struct.pack("!BBHHH", *kind.icmp, 0, 7, number), 2),
            47: struct.pack("!HH", 0, 0x0800) + bytes(8)}[kind.proto]
    packet = ipv4(source, "10.77.0.2", kind.proto, body, tos=kind.tos, number=number, ttl=kind.ttl)
    return mac + bytes(6) + b"\x08\x00" + packet


def train(dice, kinds):
    """The packets of a case: kinds and sources mixed."""
    mixed = [(s, k) for s in SOURCES for k in kinds for _ in range(REPEATS)]
    dice.shuffle(mixed)
    return mixed


class Bed:
    def __init__(self):
        self.link = link_in(SENDER, SENDER_DEV)
        address = run("ip", "-j", "link", "show", DEV).stdout
        self.mac = bytes.fromhex(re.search(r'"address":"([0-9a-f:]+)"', address)[1].replace(":", ""))
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # or a frame overtakes others on another CPU
        self.marks, self.mark = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM), 0
        self.marks.bind((DEV, MARK))
        self.marks.settimeout(60)
        self.port = FIRST_PORT

    def firewall(self, text):
        run("nft", "flush ruleset")
        if text.startswith("table"):
            run("nft", "-f", "-", text=text)
        elif text:
            run("iptables-restore", text=text.replace("-name @", f"-name r{next(RUNS)}"))
        run("nft", "-f", "-", text=COUNTER)

    def wait(self):
        """Until all frames before have arrived: one behind them has."""
        self.mark += 1
        text = struct.pack("!Q", self.mark)
        self.link.send(self.mac + bytes(6) + struct.pack("!H", MARK) + text + bytes(38))
        while self.marks.recv(100)[:8] != text:
            pass

    def came(self, packets):
        """The numbers of those that came through. Each is a connection of its own, also to a conntrack that remembers
        those of other runs."""
        for number, (source, kind) in enumerate(packets, 1):
            self.port = self.port + 1 if self.port < 65535 else FIRST_PORT
            self.link.send(frame(self.mac, number, source, kind, self.port))
            if number % AT_ONCE == 0:
                self.wait()
        self.wait()
        printed = run("nft", "-nj", "list", "set", "ip", "rl_came", "came").stdout
        return {int(number) for number in re.findall(r'"val": (\d+)', printed)}

    def attach(self):
        run(RLCTL, "attach", DEV)
        self.plain = program_bytes()

    def through_policy(self, policy, rest, packets):
        self.firewall(rest)
        self.renew(policy)
        return self.came(packets)

    def renew(self, policy):
        """The policy with fresh state. Flushing the rules makes limits new, but also brings the plain program
        back: where another one is in force, an attach loads one program instead of two."""
        if program_bytes() == self.plain:
            run(RLCTL, "rule", "flush")
            run(RLCTL, "apply", "-", text=policy)
        else:
            run(RLCTL, "detach", DEV)
            run(RLCTL, "attach", DEV, "--policy", "-", text=policy)


def program_bytes():
    """How long the attached program is, which tells the plain one from others."""
    link = json.loads(run("ip", "-j", "link", "show", DEV).stdout)[0]
    return json.loads(run("bpftool", "-j", "prog", "show", "id", str(link["xdp"]["prog"]["id"])).stdout)["bytes_xlated"]


def save_text(lines):
    """A case as iptables-save prints it: (table, line) in their order."""
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


class Case:
    """A firewall, what comes through it alone, and what the import says of it."""

    def __init__(self, name, text, packets):
        self.name, self.text, self.packets = name, text, packets
        self.is_nft = text.startswith("table")

    def measure(self, bed):
        bed.firewall(self.text)
        self.alone = bed.came(self.packets)
        printed = run("nft", "-j", "list", "ruleset").stdout if self.is_nft else self.text
        self.done = run(IMPORT, "--host", "-i", DEV, "-", text=printed, status=None)
        self.said = f"exit status {self.done.returncode}\n{self.done.stdout}{self.done.stderr}"

    def judge(self, bed, wanted_status):
        """An error, or None."""
        done = self.done
        if done.returncode not in (0, 1) or "Traceback" in done.stderr or \
                wanted_status is not None and done.returncode != wanted_status:
            return self.said
        behind = done.stdout and not self.is_nft
        runs = [("the firewall behind the policy", rest_of(self.text, done.stdout))] if behind else []
        runs += [("the policy alone", "")] if not done.returncode else []
        for name, rest in runs:
            wrong = self.differs(name, bed.through_policy(done.stdout, rest, self.packets))
            if wrong:
                return wrong
        return None

    def differs(self, name, other):
        # The policy's limits count what the firewall drops before them.
        fewer = "it counts what" in self.done.stderr
        if not other - self.alone and (other == self.alone or fewer):
            return None
        kinds = [self.packets[n - 1] for n in sorted(other ^ self.alone)[:5]]
        return f"{name}: {len(self.alone)} came before, {len(other)} now; among them {kinds}\n{self.said}"


def report(case, wrong):
    print(f"{'not ok' if wrong else 'ok'} {case.name}", flush=True)
    if wrong:
        print("\n".join("# " + line for line in f"{wrong}\n{case.text}".split("\n")))


def main():
    bed, dice = Bed(), random.Random(int(SEED))
    texts = [(name, save_text(lines) if isinstance(lines, list) else lines, status) for name, status, lines in CASES]
    texts += [(f"at random {SEED}:{n}", save_text(random_case(dice)), None) for n in range(int(CASES_RANDOM))]
    failed = 0
    bed.firewall("")
    if bed.came(packets := train(dice, KINDS + MORE)) != set(range(1, len(packets) + 1)):
        print("not ok all packets come where nothing drops them")
        return 1
    cases = [(Case(name, text, train(dice, KINDS + MORE)), status)
             for name, text, status in texts]
    for case, _ in cases:
        case.measure(bed)
    bed.attach()
    for case, status in cases:
        wrong = case.judge(bed, status)
        failed += wrong is not None
        report(case, wrong)
    run(RLCTL, "detach", DEV)
    return 1 if failed else 0


sys.exit(main())
