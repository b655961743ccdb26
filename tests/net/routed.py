# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts of --state conntrack on packets through a router, with NAT and without, IPv4 and IPv6.

  routed.py RLCTL CLIENT ROUTER SERVER: the namespaces that test_conntrack.sh made

Part one sends single packets from hosts that no kernel speaks for, through instances at every hook of both
devices of the router: each of them has to say the same. Part two lets real sockets speak beside forged
packets, and compares with nft's `ct state`. Prints TAP."""
import json
import socket
import struct
import sys
import threading
import time

import packets
from checks import command, need, passes
from packets import ipv4, ipv6, with_checksum
from setns import inside, link_in

RLCTL, CLIENT, ROUTER, SERVER = sys.argv[1:]
PATIENCE_S = 5
SYN, ACK, RST, FIN, PUSH = 2, 16, 4, 1, 8
MACS = {"in": bytes.fromhex("020000000101"), "out": bytes.fromhex("020000000202")}  # the router's
HOSTS = {4: {"inside": "10.1.0.9", "server": "10.2.0.9", "router": "10.2.0.1", "stranger": "198.51.100.7"},
         6: {"inside": "fd01::9", "server": "fd02::9", "router": "fd02::1", "stranger": "2001:db8::7"}}
SERVERS = {4: "10.2.0.2", 6: "fd02::2"}
OTHER = {"in": "out", "out": "in"}
PLACES = [("in", "xdp"), ("in", "egress"), ("out", "xdp"), ("out", "ingress"), ("out", "egress")]
ONE_BY_ONE = """\
rule any established limit 1m/second burst 1m
rule any tcp not established limit 1m/second burst 1m
rule any udp not established limit 1m/second burst 1m
rule any icmp not established limit 1m/second burst 1m
"""


def rlctl(*words, text=None):
    return command(RLCTL, "-n", ROUTER, *words, given=text)


def nft(*words, text=None):
    return command("nsenter", f"--net=/run/netns/{ROUTER}", "nft", *words, given=text)


def within(namespace, make):
    """The result of make() in that namespace: a socket stays there."""
    with inside(namespace):
        return make()


# ---- frames

def frame(side, source, dest, proto, segment, fragment=0):
    ether = b"\x86\xdd" if ":" in source else b"\x08\x00"
    head = ipv4(source, dest, proto, segment, number=1, fragment=fragment) if ether[0] == 8 else ipv6(source, dest, proto, segment)
    return MACS[side] + bytes(6) + ether + head


def tcp(side, source, sport, dest, dport, flags, seq=0, ack=0, data=b""):
    return frame(side, source, dest, 6, packets.tcp(source, dest, sport, dport, flags, seq, ack, data))


def udp(side, source, sport, dest, dport):
    return frame(side, source, dest, 17, packets.udp(source, dest, sport, dport, b"question"))


def echo(side, source, dest, kind, number):
    return frame(side, source, dest, 1, with_checksum(struct.pack("!BBHHH", kind, 0, 0, number, 1), 2))


def instances():
    return {(one["device"], one["hook"]): one for one in json.loads(rlctl("stats", "-j"))}


def counts():
    """{(device, hook): (established, not)}, with the policy ONE_BY_ONE"""
    out = {}
    for place, one in instances().items():
        held = {False: 0, True: 0}
        for rule in one["rules"]:
            held[" not " not in rule["rule"]] += rule["passed"]["packets"]
        out[place] = (held[True], held[False])
    return out


# ---- part one

class Devices:
    """Instances at the hooks of both devices."""

    def __init__(self):
        self.links = {"in": link_in(CLIENT, "veth"), "out": link_in(SERVER, "veth")}
        for device, hook in PLACES:
            rlctl("attach", device, "--hook", hook, "--state", "conntrack", "--policy", "-", text=ONE_BY_ONE)

    def send(self, name, side, packet, established, forwarded=True, leaving=None):
        """leaving: at hook egress, behind conntrack, where it differs from what is established before."""
        before = counts()
        step, left = ((1, 0) if held else (0, 1) for held in (established, established if leaving is None else leaving))
        wanted = {(side, "xdp"): step, (side, "ingress"): step, (OTHER[side], "egress"): left if forwarded else (0, 0)}
        wanted = {place: wanted.get(place, (0, 0)) for place in PLACES}
        self.links[side].send(packet)
        end = time.monotonic() + PATIENCE_S
        while True:
            now = counts()
            seen = {place: tuple(b - a for a, b in zip(before[place], now[place])) for place in now}
            if all(sum(seen[place]) == sum(step) for place, step in wanted.items()):
                break
            need(time.monotonic() < end, f"{name}: seen (established, not): {seen}")
        need(seen == wanted, f"{name}: established, not: {seen}, wanted {wanted}")


def opened_inside(devices, hosts, nat):
    """A client behind the router opens a connection. With NAT what is forged goes to the router itself, and no further."""
    inside, server, outside = hosts["inside"], hosts["server"], hosts["router" if nat else "inside"]
    port = 40100 + nat
    there = lambda flags, seq, ack, data=b"": tcp("in", inside, port, server, 80, flags, seq, ack, data)
    back = lambda flags, seq, ack, data=b"": tcp("out", server, 80, outside, port, flags, seq, ack, data)
    devices.send("SYN", "in", there(SYN, 100, 0), False)
    devices.send("the same SYN", "in", there(SYN, 100, 0), False)
    devices.send("SYN and ACK in answer", "out", back(SYN | ACK, 500, 101), True)
    devices.send("the ACK that completes it", "in", there(ACK, 101, 501), False, leaving=True)
    devices.send("a request", "in", there(ACK | PUSH, 101, 501, b"x" * 50), True)
    devices.send("its answer", "out", back(ACK | PUSH, 501, 151, b"y" * 90), True)
    for name, flags in (("ACK", ACK), ("RST", RST), ("FIN", FIN | ACK), ("null", 0), ("xmas", 41), ("SYN, ACK", SYN | ACK)):
        forged = tcp("out", server, 81, outside, port, flags, 501, 151)
        devices.send(f"{name} of another port", "out", forged, False, forwarded=not nat)
        forged = tcp("out", hosts["stranger"], 80, outside, port, flags, 501, 151)
        devices.send(f"{name} of a stranger", "out", forged, False, forwarded=not nat)
    devices.send("a request", "in", there(ACK | PUSH, 151, 591, b"x" * 50), True)


def opened_outside(devices, hosts):
    """A client outside opens a connection to a server behind the router."""
    there = lambda flags, seq, ack, data=b"": tcp("out", hosts["stranger"], 40002, hosts["inside"], 443, flags, seq, ack, data)
    back = lambda flags, seq, ack, data=b"": tcp("in", hosts["inside"], 443, hosts["stranger"], 40002, flags, seq, ack, data)
    devices.send("SYN", "out", there(SYN, 100, 0), False)
    devices.send("the same SYN", "out", there(SYN, 100, 0), False)
    devices.send("an ACK too early", "out", there(ACK, 101, 7), False)
    devices.send("SYN and ACK in answer", "in", back(SYN | ACK, 500, 101), True)
    devices.send("the ACK that completes it", "out", there(ACK, 101, 501), False, leaving=True)
    devices.send("a request", "out", there(ACK | PUSH, 101, 501, b"x" * 50), True)
    devices.send("its answer", "in", back(ACK | PUSH, 501, 151, b"y" * 90), True)


def in_the_middle(devices, hosts):
    """Conntrack makes an entry of an ACK that belongs to nothing; it proves nothing."""
    for turn in range(2):
        forged = tcp("out", hosts["stranger"], 40003, hosts["inside"], 443, ACK, 900, 900)
        devices.send(f"ACK {turn}", "out", forged, False)
    entries = command("nsenter", f"--net=/run/netns/{ROUTER}", "cat", "/proc/net/nf_conntrack")
    need("sport=40003" in entries, f"no entry was made:\n{entries}")


def asked_inside(devices, hosts, nat):
    """DNS, as of a client behind the router."""
    inside, server, outside = hosts["inside"], hosts["server"], hosts["router" if nat else "inside"]
    port = 40200 + nat
    devices.send("a query", "in", udp("in", inside, port, server, 53), False)
    devices.send("the same query", "in", udp("in", inside, port, server, 53), False)
    devices.send("its answer", "out", udp("out", server, 53, outside, port), True)
    devices.send("another answer", "out", udp("out", server, 53, outside, port), True)
    devices.send("a query after it", "in", udp("in", inside, port, server, 53), False)
    devices.send("an answer of a stranger", "out", udp("out", hosts["stranger"], 53, outside, port), False, not nat)
    devices.send("an answer to another port", "out", udp("out", server, 53, outside, 40299), False, not nat)


def asked_outside(devices, hosts):
    """A server behind the router that is asked: who asks is not established by being answered."""
    query = udp("out", hosts["stranger"], 40006, hosts["inside"], 53)
    devices.send("a query", "out", query, False)
    devices.send("its answer", "in", udp("in", hosts["inside"], 53, hosts["stranger"], 40006), True)
    devices.send("the query again", "out", query, False)


def others(devices, hosts, nat):
    """Those that the kernel's function does not look for; a fragment without ports."""
    outside = hosts["router" if nat else "inside"]
    devices.send("echo", "in", echo("in", hosts["inside"], hosts["server"], 8, 70 + nat), False)
    devices.send("its reply", "out", echo("out", hosts["server"], outside, 0, 70 + nat), False)
    later = frame("out", hosts["server"], outside, 6, bytes(64), fragment=8)
    devices.send("a later fragment", "out", later, False, forwarded=False)


def one_by_one(devices):
    for version, hosts in HOSTS.items():
        for nat in (False, True):
            masquerade(nat)
            where = f"IPv{version}, {'NAT' if nat else 'no NAT'}"
            yield f"{where}: TCP opened inside", lambda: opened_inside(devices, hosts, nat)
            yield f"{where}: UDP asked inside", lambda: asked_inside(devices, hosts, nat)
            if version == 4:
                yield f"{where}: ICMP echo, fragments", lambda: others(devices, hosts, nat)
        masquerade(False)
        yield f"IPv{version}: TCP opened outside", lambda: opened_outside(devices, hosts)
        yield f"IPv{version}: TCP picked up in the middle", lambda: in_the_middle(devices, hosts)
        yield f"IPv{version}: UDP asked outside", lambda: asked_outside(devices, hosts)


def masquerade(nat):
    """The router's rules anew; nothing is for itself. Entries of before stay, as they are: hence other ports
    with NAT than without."""
    nft("-f", "-", text=f"""flush ruleset
table inet t {{
	counter out_established {{ }}
	counter in_established {{ }}
	chain seen {{
		type filter hook prerouting priority 0
		iifname "out" ct state established counter name out_established
		iifname "in" ct state established counter name in_established
	}}
	chain local {{
		type filter hook input priority 0; policy drop
		iifname "lo" accept
	}}
	chain post {{
		type nat hook postrouting priority 100
		{'oifname "out" masquerade' if nat else ''}
	}}
}}
""")


# ---- part two

SIZE = 4 << 20
QUERIES = 200
FLOOD = 500  # of each kind
BURST = 10


def speak(address, version):
    """A download and some queries of a client inside, one connection and one socket."""
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    listener = within(SERVER, lambda: socket.create_server((address, 8080), family=family))
    names = within(SERVER, lambda: socket.socket(family, socket.SOCK_DGRAM))
    within(SERVER, lambda: names.bind((address, 53)))

    def serve():
        peer, _ = listener.accept()
        with peer:
            peer.sendall(bytes(SIZE))

    def answer():
        for _ in range(QUERIES):
            data, peer = names.recvfrom(512)
            names.sendto(data, peer)

    threads = [threading.Thread(target=f, daemon=True) for f in (serve, answer)]
    for thread in threads:
        thread.start()
    client = within(CLIENT, lambda: socket.socket(family, socket.SOCK_STREAM))
    asker = within(CLIENT, lambda: socket.socket(family, socket.SOCK_DGRAM))
    for one in (client, asker):
        one.settimeout(PATIENCE_S)
    with listener, names, client, asker:
        client.connect((address, 8080))
        asker.connect((address, 53))
        got = 0
        while data := client.recv(1 << 16):
            got += len(data)
        for _ in range(QUERIES):
            asker.send(b"question")
            asker.recv(512)
        for thread in threads:
            thread.join(PATIENCE_S)
    need(got == SIZE, f"{got} of {SIZE} bytes came")


def counter(name):
    found = [o["counter"] for o in json.loads(nft("-j", "list", "counters"))["nftables"] if "counter" in o]
    return next(c["packets"] for c in found if c["name"] == name)


def agree(name, read):
    """Both counts are the same once the last packets are through."""
    end = time.monotonic() + PATIENCE_S
    while not (both := read())[0] == both[1] > 0:
        need(time.monotonic() < end, f"{name}: {both[0]} established, {both[1]} by nft")


def oracle(version, nat):
    """All that arrives outside are replies, for conntrack as for nft. Inside the program sees each packet before
    conntrack does: not that which completes a handshake, nor the first question; nor those that ask again."""
    masquerade(nat)
    before = counts()
    speak(SERVERS[version], version)
    for device, early in (("out", 0), ("in", 1 + QUERIES - 1)):
        agree(device, lambda: (counts()[device, "xdp"][0] - before[device, "xdp"][0], counter(f"{device}_established") - early))


SPARING = f"""\
rule any limit 1/hour burst {BURST} over drop unless established
rule any udp sport 53 not established deny
"""


def flood(link, version, count):
    """Forged in the name of the server: TCP of all kinds, and answers that nobody asked for."""
    source, dest = SERVERS[version], HOSTS[version]["router"]
    for n in range(count):
        flags = (ACK, RST, FIN | ACK, 0, 41, SYN | ACK)[n % 6]
        link.send(tcp("out", source, 8080, dest, 1024 + n, flags, n, n))
        link.send(udp("out", source, 53, dest, 1024 + n))
        if n % 32 == 0:
            time.sleep(0.001)


def beside_a_flood(version):
    """The limit is empty before the client says its first word: only what is established comes through."""
    masquerade(True)
    link = link_in(SERVER, "veth")
    rlctl("apply", "-i", "out", "--hook", "xdp", "-", text=SPARING)
    before = instances()["out", "xdp"]["reasons"]
    flood(link, version, FLOOD // 2)
    beside = threading.Thread(target=flood, args=(link, version, FLOOD // 2))
    beside.start()
    speak(SERVERS[version], version)
    beside.join()
    agree("out", lambda: (since(before, "established"), counter("out_established")))
    need(since(before, "denied") == FLOOD and since(before, "over") == FLOOD - BURST,
         f"of {FLOOD} of each kind: {instances()['out', 'xdp']['reasons']}, before {before}")


def since(before, reason):
    """How many packets came to this since then."""
    return sum(sign * reasons.get(reason, {"packets": 0})["packets"]
               for sign, reasons in ((1, instances()["out", "xdp"]["reasons"]), (-1, before)))


def real(_devices):
    for version in SERVERS:
        for nat in (False, True):
            yield f"IPv{version}, {'NAT' if nat else 'no NAT'}: nft says the same", lambda: oracle(version, nat)
    for version in SERVERS:
        yield f"IPv{version}: a download and DNS beside a flood lose nothing", lambda: beside_a_flood(version)


def main():
    devices = Devices()
    results = [passes(*test) for part in (one_by_one, real) for test in part(devices)]
    return 0 if all(results) else 1


sys.exit(main())
