# SPDX-License-Identifier: GPL-2.0-only
"""docs/performance.md as a text: a section for each that report.py has, and one for each other document of docs/*.json, by the
function of its name."""

import re

from report import MANY, TITLES, case_text, goal_text, value

ABOUT = {
    "flood4": "A flood that `rule any limit 1/second burst 1` drops, from so many sources drawn at random. `bare` is a "
              "program that only drops. The floors do what any limiter by source does at least, and drop: `line-1m` and `line-4m` "
              "parse the packet and read one cache line of an array of 1 or 4 MiB, by a hash of the source; `floor` looks the "
              "source up in an LRU map. `device` has `rule device limit 10000/second burst 1000` as well, `new-source` has "
              "`rule device new-source limit 10000/second burst 1000`, as have all but `device` from a million sources on. `window`, "
              "`log` and `warm-up` are limits of 1/second by these algorithms. xdp-filter has no rate limit: it drops everything "
              "after its look-ups. XDP-Firewall is no package of Debian 12, and did not run.",
    "flood6": "The same over IPv6, each source in a /64 of its own.",
    "modes": "Where the driver has no native XDP.",
    "aged": "A table that more sources came back to than it has slots.",
    "times a floor": "The ratio is that of `--table hot` to `line-4m`, which reads one cache line of an array of 4 MiB for each packet.",
    "times a peer": "The ratio is how many times the peer's packets `--table hot` drops.",
    "IPv6 to IPv4": "IPv6's share of its bare drop, divided by IPv4's.",
    "prefixes": "Limits of so many prefixes that together cover the flood's sources, or lie elsewhere. No more than 65,536 cover "
                "them; a device may have 131,072 limits, so of a million prefixes the others are denials.",
    "two CPUs": "Each of two receive queues on two CPUs, as a share of its rate when it alone is flooded.",
    "admit": "A program that is run over one packet in a loop, every limit by another key; an empty program's time is subtracted. "
             "`look-up` is one look-up in an LRU map.",
    "mechanisms": "The purpose of each: the ratio is how many times as fast it is on this row, and the row that suits it best has the goal. "
                  "`per rule` takes batches of its bucket from a certain rate on (an admitted packet, less an empty program's time). "
                  "The prefix cache keeps what the trie says of 262,144 addresses; what stands for none keeps it of 1,024. All "
                  "packets are denied, so that there is no other state. Sixteen million sources are cached for nothing. `table cpu` is "
                  "compared with `lru`, both queues flooded at once, and generic XDP with tc.",
    "accuracy": "The packets admitted, divided by what the algorithm's definition admits of the same arrivals, at 1.01 to 100 times the "
                "rate. `burst 1` is a token bucket without room.",
    "innocent": "Packets that a known source lost, of so many sent.",
    "rule add": "One rule, added while the device is flooded.",
    "apply": "A whole policy, applied while the device is flooded.",
    "ping gap": "The longest time without an answer to a ping every millisecond beside it.",
}

INTRO = """# Performance

Every figure here but the last table's is from [bench.json](bench.json), which `sudo make bench` writes; this page, the plot and the figures of
README.md and SECURITY.md are written from it by `tests/bench/figures.py`. Measured {date} at commit {commit} on {cpu} ({cores}
cores of a virtual machine, Linux {kernel}): frames of 60 bytes over veth, one core that sends and receives. Each candidate had {rounds}
floods of {ms} ms in turns with the others; a figure is the median of these rounds, with the lowest and the highest
beside it. A ratio is that of two candidates in the same round. {met} of {goals} goals were met.
{busy}
Timings on a virtual machine are noisy, and whoever fills the processor's shared cache slows a limiter down, and its peers
with it: compare within one run. The [instructions and lines of memory](#instructions-and-lines-of-memory-a-packet-touches)
of a packet do not depend on the neighbours.

![throughput by number of sources, and cost per packet](bench.svg)
"""

BUSY = """
The machine's load average was {load:.1f} before; during the run other processes took {others:.1%} of one CPU, and other guests of the
host {stolen:.1%}. Where a goal is missed, the floors of the same rounds are beside it, in the unit of the goal: one that they do not
reach either is beyond this machine.
"""


INSTRUCTIONS = """
## Instructions and lines of memory a packet touches

`sudo tests/bench/instructions.sh` steps through the JITed program in a guest, so that it counts the same on a busy machine, and
writes [instructions.json](instructions.json): rlctl {version}, Linux {kernel} on x86-64. It follows a packet of each of three
sources once the state of the row has settled (their sources are known, their refusals are cached) and takes the middle one's figures.
A source's place in the tables changes them by a few instructions, the place of a map in memory by a line or two. `in the kernel`
counts the instructions in the functions that the program calls there. Lines are the 64 bytes that a cache holds,
without the stack and the packet; a source's `own` lines are those that no packet of the others touches: a flood from
many sources misses the cache with these, and the rest stays there.

"""


CHALLENGE = """
## Handshakes beside floods of SYNs

`sudo make bench-challenge` writes [challenge.json](challenge.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}; the load average was
{busy[load]:.1f} before, and during the run other processes took {busy[others]:.1%} of one CPU. Eight clients connect, get an answer, and begin
again, and give an attempt up after 250 ms; beside them SYNs come from sources that do not exist. `none` is `tcp_syncookies=0`, `kernel-1` and
`kernel-2` are `=1` and `=2` with nothing else, `synproxy` is that of nftables. `drop` is `rule any tcp syn limit 2000/second burst 200 per rule`,
and `challenge-1` and `challenge-2` are the same with `over challenge` and `tcp_syncookies` `=1` and `=2`. A figure is the median of {rounds}
rounds of {window_s} s; where two stand behind it, they are the lowest and the highest.

Clients and server have one core. `apart`, the flood has another core and a receive queue of its own; `together`, it is made and received on the core
and by the queue of the clients, so that its maker takes time of them too. `softirq` is the part of the flood's core that went into
receiving, by the kernel's tick, answers included: apart, the flood's maker runs there too, together the maker, the clients and the server, and at both places what else the machine does.
Where the core is full, the flood falls behind what was offered: `SYNs/s` is how many came.

{verdict}
"""


PROOF = """
## Asking whether a packet is established

`sudo make bench-proof` writes [proof.json](proof.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}. Floods that a policy drops
because they are established, or because they are not, in turns with a program that only drops: nanoseconds a packet above that
one, the median of {rounds} rounds with the lowest and the highest. `rule any tcp deny`, `rule any udp deny` and a limit that spares nothing are the same without
the question. A SYN is never established, so that nothing is looked up for it. Hits come from the sockets' own peers, misses from as many
strangers; of UDP the machine has asked up to 4,096 peers from one of its sockets, and the socket is looked at first.

"""


FLEET = """
## A fleet's Redis

`make bench-fleet-keys` writes [fleet_keys.json](fleet_keys.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}, Redis {redis}, at a load average
of {load}. Processor time of Redis: for a key in calls of 100, as agents send them, and for a heartbeat, of which each member sends
four a second to each shard, in fleets of several sizes; the median of {rounds} rounds with the lowest and the highest.

{measured}
From these follow, by calculation and not measured, how many keys a second a fleet with limits of shares accounts for, by the agents and the keys that each of them has (the
formula is in `man rlctl-fleet`), how much of a core that takes one Redis, and how many masters, with a shard on each, have no more than half of a core to do. None: the
heartbeats alone take more. A master is taken to have a core, and shards to be spread evenly.

"""


SHARES = """
## Limits that senders share

`sudo make bench-shares` writes [shares.json](shares.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}, at a load average of {load}. Floods from 16
million forged sources, in turns: nanoseconds a packet in the program, as the kernel counts them, the median with the lowest and the highest.
A limit of all packets asks nothing of them; `new-source not established` asks what a shared limit asks of each, too: whether
its source is established, or known. The map `shares`, which all such limits of a policy have together, takes {kib:.0f} KiB.

{costs}
Simulated by `build/share` with the arithmetic of the program, beside floods of fifty times the limit (`tests/bench/share_scenarios.h`): how much of what
these senders sent passed, of what exact max-min would let pass; how much of the limit was filled while more came; and how long after
a flood began or ended its senders had less than nine tenths of what they had later. These are the median of four seeds, and the least that was filled. The limit
is 20,000 packets a second, or 100 Mbit/s of packets of 64 to 1,500 bytes. Bold is what misses a goal: the scenario's own, 95 % of the limit, or
200 ms; {met} of {goals} miss none.

"""


RULES = """
## Hundreds of rules

`sudo make bench-rules` writes [rules.json](rules.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}. As many rules as are written, each
`rule any udp dport N limit 100m/second burst 100m`, and a packet that one of them admits: nanoseconds above an empty program, of programs
that run over the packet in a loop, in turns, and above 8 rules in the same round. A round is many short turns, of which the faster half counts. A
figure is the median of {rounds} rounds, and half of the rounds lie within what stands beside it. Up to 8 rules are asked one by one; of more, those that may match are found by an index.

"""


MATCHES = """
## Matches, filters and keys

`sudo make bench-matches` writes [matches.json](matches.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}. One packet that the rule
matches, and that passes: nanoseconds above an empty program, of programs that run over the packet in a loop, in turns, and above the first
row of its kind in the same round. A round is many short turns, of which the faster half counts. A figure is the median of {rounds} rounds, and half
of the rounds lie within what stands beside it. The last of several filters matches.

"""


SETS = """
## Sets

`sudo make bench-sets` writes [sets.json](sets.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}. The time of a whole command, its start
included, by the wall clock: `set add` of one address in a process of its own, beside `rlctl --version`, which only starts; one `set add` that reads a
stream; `set swap` of as many addresses for as many others, with and without a flood from one of them. `memory` is what the kernel accounts to
the map of members. A figure is the median of {rounds} rounds.

"""
SET_LOOKUPS = """
`sudo make bench-set-lookups` writes [set_lookups.json](set_lookups.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}. One packet, of programs that
run over it in a loop, in turns: nanoseconds above an empty program, and above a policy without a set in the same round. `no set` is `rule any allow`; `member` is
`rule @members allow`, and the source is one; `no member` has `rule @members deny` before it, and the source is none, but others of its length are there.{floods} Members are
IPv4 addresses and IPv6 networks of 64 bits. A round is many short turns, of which the faster half counts. A figure is the median of {rounds} rounds, and
half of the rounds lie within what stands beside it.

"""
SET_LOOKUP_FLOODS = """ Floods come from as many sources
as there are members, at random, and all packets are dropped: nanoseconds above a program that only drops, and above `rule any deny`, of fewer rounds."""


POLICIES = """
## Whole policies under floods that they refuse

`sudo make bench-policies` writes [bench_policies.json](bench_policies.json): rlctl {version}, {date}, on {cpu}, Linux {kernel}; the load average
was {busy[load]:.1f} before, and during the run other processes took {busy[others]:.1%} of one CPU, and other guests of the host {busy[stolen]:.1%}.
The policies are those of `tests/bench/policy_texts.sh`, with `limit 1/second burst 1` for each source: `plain` is that alone, `plain-new` has
`rule device new-source limit 10000/second` as well, and the others are compared with it. `udp` and `udp-port` limit that
protocol alone, and a range of its ports; `quick-start` is README's; `ports-256`, `set-million` and
`filter` are it with 256 rules of a port, a set of a million addresses, a filter; `web` and `game-alarm` are packaged policies. Where
a name ends in `-port`, the flood goes to a port that the policy names. `readme` and `unless` have limits that admit most of the flood.
The floors: `line` parses the packet and reads one line of an array by a hash of the source, `line_filter` two of such
arrays, and `look_up_udp` and `look_up_tcp` look a socket up.

The programs alone, over packets from random sources: nanoseconds above a program that only drops, the median of {rounds} rounds; in
brackets how many times that of `plain-new`, where most packets are refused. The goal is {goal} times at most, and was met by {met} of {goals};
bold is what misses it.
"""
POLICY_FLOODS = """
Through a veth, as a share of what a program drops that only drops:

"""


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(re.sub("  +", " ", f"| {' | '.join(line)} |\n") for line in lines)


def spread(ns):
    return [str(ns["median"]), f"{ns['low']} to {ns['high']}"]


def spread_signed(ns):
    return [f"{ns['median']:+}", f"{ns['low']:+} to {ns['high']:+}"]


def cells(row):
    one = row["min"] == row["max"]
    ratio = f"{row['ratio']['median']:.3f} of {row['ratio']['of']}" if "ratio" in row else ""
    goal, met = goal_text(row)
    spread = "" if one else f"{value(row['min'], row['unit'])} to {value(row['max'], row['unit'])}"
    return [case_text(row), row["candidate"], value(row["median"], row["unit"]), spread, ratio,
            f"{goal}, {met.replace('missed', '**missed**')}" if met else ""]


def rounds_of(figures):
    """How many floods a candidate had: from the fewest to the most."""
    counts = {len(r["samples"]) for r in figures.rows if r["unit"] == "packets/s"}
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def performance(figures):
    d, judged = figures.document, [r for r in figures.rows if "met" in r]
    text = INTRO.format(date=d["date"][:10], commit=figures.commit(), rounds=rounds_of(figures), ms=d["flood_ms"], **d["machine"],
                        met=sum(r["met"] for r in judged), goals=len(judged), busy=BUSY.format(**d["busy"]) if "busy" in d else "")
    for section, (title, case) in TITLES.items():
        rows = [r for r in figures.rows if r["section"] == section]
        if rows:
            heading = title if title.startswith("rlctl") else title[0].upper() + title[1:]
            text += f"\n## {heading}\n\n{ABOUT[section]}\n\n"
            text += table([case, "", "median", "lowest to highest", "ratio", "goal"], map(cells, rows))
    return text + "".join(globals()[name](document) for name, document in figures.others.items())


def instructions(document):
    """The section that docs/instructions.json makes, which does not come from this machine's timing."""
    def line(row):
        policy = "; ".join(f"`{rule}`" if rule.startswith(("rule ", "attach ")) else rule for rule in row["policy"]) or "no rule"
        return [row["row"], policy, row["packet"], {1: "drop", 2: "pass"}[row["verdict"]],
                *(f"{row[k]:,}" for k in ("instructions", "in_kernel", "lines", "own", "own_written"))]

    return INSTRUCTIONS.format(**document) + table(
        ["row", "policy", "packet", "verdict", "instructions", "in the kernel", "lines", "own", "own, written"],
        map(line, document["rows"]))


# Written beside the figures of the run in the file: look at them again after another one.
VERDICT = """With the kernel's cookies and with `over challenge` every attempt is served, and without cookies none (`none`); `drop` lets in only those
whose SYN comes between two bursts of the flood, and a flood from a network comes more evenly. So a server with `tcp_syncookies=1` needs no `over challenge` to be
reached: it saves the core. With the flood apart, at 400,000/s, receiving takes [apart/400000/challenge-1/softirq] and [apart/400000/challenge-2/softirq] of it with
`challenge-1` and `challenge-2`, and all SYNs are taken; with `kernel-1` and `kernel-2` it takes [apart/400000/kernel-1/softirq] and [apart/400000/kernel-2/softirq], and
fewer SYNs come through. The clients then complete [apart/400000/challenge-1/served] and [apart/400000/challenge-2/served] a second against [apart/400000/kernel-1/served]
and [apart/400000/kernel-2/served], and [apart/0/kernel-1/served] without a flood. At 100,000/s they complete no more than beside the kernel's cookies alone.

It does not help clients that share one core with flood and server: at 400,000/s they complete [together/400000/challenge-1/served] and [together/400000/challenge-2/served] against
[together/400000/kernel-1/served] and [together/400000/kernel-2/served]. The core then takes [together/400000/challenge-1/arrived] SYNs a second rather than [together/400000/kernel-1/arrived], and their maker, which
no server has, takes its part too. synproxy costs about as much as the kernel's cookies, and some attempts beside it fail. Eight
divided by `served/s` is how many seconds an attempt took on average: where that is far above the p50, a few attempts took much longer than
the p95."""


def challenge(document):
    rows = {(r["where"], r["rate"], r["defence"]): r for r in document["rows"]}

    def figure(row, name, form="{:,}", spread=False):
        values = row[name]
        if not values:
            return ""
        text = form.format(values["median"])
        return f"{text} ({form.format(values['low'])} to {form.format(values['high'])})" if spread else text

    def line(row):
        return [row["where"], f"{row['rate']:,}", row["defence"], figure(row, "served", spread=True), figure(row, "share", "{:.1%}"),
                figure(row, "p50"), figure(row, "p95", spread=True), figure(row, "softirq", "{:.0%}", spread=True),
                figure(row, "arrived"), figure(row, "answers")]

    def named(m):
        where, rate, defence, name = m[1].split("/")
        return figure(rows[where, int(rate), defence], name, "{:.0%}" if name in ("softirq", "share") else "{:,}")

    return CHALLENGE.format(**document, verdict=re.sub(r"\[(.+?/.+?)\]", named, VERDICT)) + "\n" + table(
        ["", "offered/s", "", "served/s", "of attempts", "p50, ms", "p95, ms", "softirq", "SYNs/s", "SYN-ACKs/s"],
        map(line, sorted(document["rows"], key=lambda r: (r["where"], r["rate"]))))


def proof(document):
    def line(row):
        return [f"{row['sockets']:,}", "; ".join(f"`{part}`" for part in row["policy"].split("; ")), row["traffic"], *spread(row["ns"])]

    return PROOF.format(**document) + table(["sockets", "policy", "flood", "ns", "lowest to highest"], map(line, document["rows"]))


def fleet_keys(document):
    """The costs, and what follows from them. A shard takes its part of the keys, and all heartbeats."""
    us = {(row["what"], row["members"]): row["us"] for row in document["rows"]}
    words = {"shares": "key, a share", "window": "key, a fixed window"}
    measured = table(["", "members", "µs", "lowest to highest"],
                     [[words.get(what, what), f"{members:,}" if members else "", *spread(cost)]
                      for (what, members), cost in us.items()])
    rows = []
    for agents in (members for what, members in us if what == "heartbeat"):
        for keys in (100, 1000, 10000):
            asks = agents * keys * max(0.9, 1 / (0.25 + 0.0001 * keys))
            beats, work = 4 * agents * us["heartbeat", agents]["median"] / 1e6, asks * us["shares", 0]["median"] / 1e6
            masters = -(-work // (0.5 - beats)) if beats < 0.5 else 0
            rows.append([f"{agents:,}", f"{keys:,}", f"{asks:,.0f}", f"{beats + work:.0%}", f"{max(1, masters):.0f}" if 0 < masters <= 64 else "none"])
    return FLEET.format(**document, measured=measured) + table(["agents", "keys of each", "keys/s", "of a core, one Redis", "masters"], rows)


def shares(document):
    """A line for each group of senders, with the packets and the bytes of the same scenario."""
    rows = document["rows"]

    def cell(row):
        text = f"{row['got']:.1f} of {row['exact']:.1f} %, {row['filled']:.0%}, {row['ms']} ms"
        return text if row["met"] else f"**{text}**"

    costs = [[f"`{row['policy']}`", *spread(row["ns"])] for row in document["costs"]]
    lines = [[row["scenario"], row["who"], cell(row), cell(other)] for row, other in zip(rows, rows[len(rows) // 2:])]
    return SHARES.format(**{**document, "costs": table(["policy", "ns", "lowest to highest"], costs)}, kib=document["memory"] / 1024,
                         met=sum(row["met"] for row in rows), goals=len(rows)) + table(["flood", "senders", "in packets", "in bytes"], lines)


def rules(document):
    def line(row):
        return [f"{row['rules']:,}", *spread(row["ns"]), *spread_signed(row["above 8"])]

    return RULES.format(**document) + table(["rules", "ns", "half of the rounds", "above 8 rules, ns", "half of the rounds"],
                                            map(line, document["rows"]))


def sets(document):
    def line(row):
        one = row["min"] == row["max"]
        spread = "" if one else f"{row['min']:,} to {row['max']:,}"
        return [row["what"], f"{row['members']:,}" if row["members"] else "", f"{row['median']:,} {row['unit']}", spread]

    return SETS.format(**document) + table(["what", "members", "median", "lowest to highest"], map(line, document["rows"]))


def matches(document):
    def line(row):
        return [{"tcp": "TCP", "icmp": "ICMP"}.get(row["section"], "UDP"), "; ".join(f"`{rule}`" if rule.startswith("rule ") else rule for rule in row["policy"].split("; ")),
                *spread(row["ns"]), *spread_signed(row["above first"])]

    return MATCHES.format(**document) + table(["packet", "policy", "ns", "half of the rounds", "above the first, ns", "half of the rounds"],
                                              map(line, document["rows"]))


def set_lookups(document):
    def line(row):
        members = row["members"] if row["members"] == "-" else f"{int(row['members']):,}"
        return ["flood" if row["flood"] else "one packet", f"IPv{row['family']}", members, row["what"], *spread(row["ns"]),
                *spread_signed(row["above first"])]

    floods = SET_LOOKUP_FLOODS if any(row["flood"] for row in document["rows"]) else ""
    return SET_LOOKUPS.format(**document, floods=floods) + table(["packets", "family", "members", "source", "ns", "half of the rounds", "above no set, ns", "half of the rounds"],
                                           map(line, document["rows"]))


PROTOCOLS = {"udp": "UDP", "syn": "SYN", "ack": "ACK"}


def bench_policies(document):
    """A table for each number of sockets, with a line for each policy and a column for each kind of flood."""
    rows = document["rows"]
    by = {(r["section"], r["sockets"], r["proto"], r["sources"], r["candidate"]): r for r in rows}
    judged = [r for r in rows if "met" in r]

    def names(*where):
        return list(dict.fromkeys(key[-1] for key in by if key[:len(where)] == where))

    def kinds(*where):
        return list(dict.fromkeys(key[2:4] for key in by if key[:len(where)] == where))

    def title(kind):
        return f"{PROTOCOLS[kind[0]]}, {'16 million' if kind[1] == MANY else f'{kind[1]:,}'}"

    def cell(row):
        if not row:
            return ""
        text = f"{row['ns']['median']:.0f}" + (f" ({row['ratio']['median']:.2f})" if "median" in row.get("ratio", {}) else "")
        return f"**{text}**" if row.get("met") is False else text

    def lines(cell, *where):
        return [[name, *(cell(by.get((*where, *kind, name))) for kind in kinds(*where))] for name in names(*where)]

    text = POLICIES.format(**document, met=sum(r["met"] for r in judged), goals=len(judged))
    for sockets in dict.fromkeys(r["sockets"] for r in rows if r["section"] == "alone"):
        crowd = f"With {sockets:,} connections and as many UDP sockets on the machine:" if sockets else "Without a socket on the machine:"
        text += f"\n{crowd}\n\n" + table(["", *map(title, kinds("alone", sockets))], lines(cell, "alone", sockets))
    return text + POLICY_FLOODS + table(["", *map(title, kinds("flood", 0))], lines(lambda r: f"{r['share']:.2f}" if r else "", "flood", 0))
