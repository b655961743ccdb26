# SPDX-License-Identifier: GPL-2.0-only
"""rlctl-policy(5), Shares, from its sentences alone: what a limit with `share` or `keep` promises of a capture, and
whether the verdicts keep it. Amounts are packets or bytes, times nanoseconds.

A capture here has a time of peace, in which every sender of the known sends, and then one or more times of steady
traffic that begin at `changes`; what holds in the steady state is claimed from SETTLE after a change to the next one.
"""
import collections
import re
from fractions import Fraction

SECOND = 10**9
SETTLE = Fraction(1)  # seconds: "half a second after a flood begins, and a second where the limit is …"
FILLED = Fraction(95, 100)  # "and together give 95 percent of the limit or more"
BURST = 5  # packets: "one that sends less loses nothing, in bursts of up to 5 packets, …"
PARTS = (60, 30, 10)  # percent
DRAW = 2 * SECOND  # "Every two seconds it is drawn for each source"
CLASSES = ("established", "known", "strangers")
DEVIATIONS = 3  # of what is drawn, which may come so
AHEAD = 8  # packets that a source may be ahead of another: the manual does not say how many
EVEN = Fraction(98, 100)  # "each source has the same rate": the manual does not say how nearly
UNITS = {"k": 1000, "m": 10**6, "": 1}

Packet = collections.namedtuple("Packet", "time size source dest bits proto sport dport flags")
Claim = collections.namedtuple("Claim", "name low got high what")


def packets_read(records):
    """Untagged Ethernet frames without options, extension headers or fragments, as capture.py writes them."""
    for time, frame, size in records:
        six = frame[12:14] == b"\x86\xdd"
        at = 54 if six else 34
        source, dest = (frame[22:38], frame[38:54]) if six else (frame[26:30], frame[30:34])
        proto = frame[20 if six else 23]
        flags = frame[at + 13] if proto == 6 else 0
        yield Packet(time, size, source, dest, 128 if six else 32, proto, frame[at:at + 2], frame[at + 2:at + 4], flags)


def amount(text):
    """In packets or bytes, and whether in bytes."""
    number, unit, kind = re.fullmatch(r"(\d+)([km]?)(bit|byte|)", text).groups()
    return Fraction(int(number) * UNITS[unit], 8 if kind == "bit" else 1), bool(kind)


class Limit:
    """A line of a policy: rule device limit RATE burst N [share … | keep N for CLASS]."""

    def __init__(self, line):
        words = line.split()
        after = dict(zip(words, words[1:]))
        self.rate, self.in_bytes = amount(after["limit"].replace("/second", ""))
        self.burst = amount(after["burst"])[0]
        self.keep, self.keep_for = (amount(after["keep"])[0], after["for"]) if "keep" in words else (0, None)
        self.key, self.parts = None, None
        if "share" in words and "per" in words:
            self.key, _, lengths = after["per"].partition("/")
            self.lengths = [int(n) for n in lengths.split(",")] if lengths else [32, 64]
        elif "share" in words:
            written = after.get("share", "")
            self.parts = [int(n) for n in written.split("/")] if "/" in written else list(PARTS)

    def cost(self, packet):
        return packet.size if self.in_bytes else 1


# ---- arithmetic

def levels(demands, weights, capacity):
    """Weighted max-min: what each has of the capacity; what one leaves is the others' by their weights."""
    got, open_ = dict.fromkeys(demands, Fraction(0)), {k for k in demands if demands[k] > 0}
    left = Fraction(capacity)
    while open_:
        unit = left / sum(weights[k] for k in open_)
        full = {k for k in open_ if demands[k] <= unit * weights[k]}
        for k in full or open_:
            got[k] = demands[k] if full else unit * weights[k]
        left -= sum(got[k] for k in full)
        open_ = open_ - full if full else set()
    return got


def fair(demands, capacity):
    """The rate that none exceeds when all share the capacity evenly."""
    if sum(demands.values()) <= capacity:
        return None
    return max(levels(demands, dict.fromkeys(demands, 1), capacity).values())


def bucket(arrivals, rate, size):
    """Whether a full token bucket would pass each of (time, cost), which it takes only then."""
    tokens, last = Fraction(size), None
    for time, cost in arrivals:
        if last is not None:
            tokens = min(tokens + rate * (time - last) / SECOND, Fraction(size))
        last, passes = time, tokens >= cost
        tokens -= cost if passes else 0
        yield passes


def excess(arrivals, rate, size):
    """By how much more than size + rate x t passed in the worst interval; 0 or less: never."""
    owed, worst, last = Fraction(0), -Fraction(size), 0
    for time, cost in arrivals:
        owed = max(owed - rate * (time - last) / SECOND, Fraction(0)) + cost
        last, worst = time, max(worst, owed - size)
    return worst


# ---- what the manual promises

class Model:
    def __init__(self, line, packets, verdicts, changes, own=None, members=()):
        self.limit, self.changes, self.members = Limit(line), changes, members
        self.rows = self.classify(packets, verdicts, own)  # (packet, passed, class, source)
        self.end = max(row[0].time for row in self.rows)

    def source(self, packet):
        lengths = self.limit.lengths if self.limit.key else (32, 64)
        address = packet.dest if self.limit.key == "dest" else packet.source
        length = lengths[len(address) == 16]
        value = int.from_bytes(address, "big") >> (packet.bits - length)
        return packet.bits, value

    def classify(self, packets, verdicts, own):
        """Established: it answers what `own` sent first. Known: its source was there in peace."""
        rows, asked, known, verdict = [], set(), set(), iter(verdicts)
        for packet in packets:
            if packet.source == own:
                asked.add((packet.dest, packet.dport, packet.sport))
                continue
            source, passed = self.source(packet), next(verdict)
            if packet.time < self.changes[0] and passed:
                known.add(source)
            kind = 1 if source in known else 2
            if (packet.source, packet.sport, packet.dport) in asked:
                kind = 0
            rows.append((packet, passed, CLASSES[kind], source))
        return rows

    def spans(self):
        """The steady times, settled: after each change, to the next or the end."""
        for begin, end in zip(self.changes, self.changes[1:] + [self.end]):
            if end > begin + SETTLE * SECOND:
                yield int(begin + SETTLE * SECOND), end

    def taken(self, begin, end, of=CLASSES):
        return [row for row in self.rows if begin <= row[0].time < end and row[2] in of]

    def sum(self, rows, passed=False):
        return sum(self.limit.cost(p) for p, ok, *_ in rows if ok or not passed)

    def grouped(self, rows, key):
        groups = collections.defaultdict(list)
        for row in rows:
            groups[key(row)].append(row)
        return groups

    def claims(self):
        limit = self.limit
        passed = [(p.time, limit.cost(p)) for p, ok, *_ in self.rows if ok]
        yield Claim("never more than the limit", None, excess(passed, limit.rate, limit.burst), 0, "over")
        if limit.keep:
            yield self.kept()
            return
        yield self.peace()
        for begin, end in self.spans():
            yield from self.filled(begin, end)
            if limit.key:
                yield from self.sources(self.taken(begin, end), limit.rate, begin, end, "all")
            else:
                yield from self.classes(begin, end)

    def peace(self):
        """While all that comes fits, nothing is refused."""
        fits = bucket(((p.time, self.limit.cost(p)) for p, *_ in self.rows), self.limit.rate, self.limit.burst)
        lost = 0
        for (packet, ok, *_), fit in zip(self.rows, fits):
            if not fit or packet.time >= self.changes[0]:
                break
            lost += not ok
        return Claim("nothing refused while all fits", None, lost, 0, "packets lost")

    def filled(self, begin, end):
        """Where more comes than the limit, in every second at least so much passes."""
        for start in range(begin, end - SECOND + 1, SECOND):
            rows = self.taken(start, start + SECOND)
            arrived = Fraction(self.sum(rows))
            if arrived > self.limit.rate:
                strangers = [row for row in rows if row[2] == "strangers" and not self.limit.key]
                chance = self.sum(strangers, True) / (self.sum(strangers) or 1)
                yield Claim("95 percent of the limit", FILLED * self.limit.rate - self.spread(strangers, chance), self.sum(rows, True), None, "passed in a second")

    def classes(self, begin, end):
        """A class has at least its part of what is given, and where that follows, what the others leave."""
        time = Fraction(end - begin, SECOND)
        rows = {c: self.taken(begin, end, (c,)) for c in CLASSES}
        demands = {c: Fraction(self.sum(rows[c])) for c in CLASSES}
        weights = dict(zip(CLASSES, self.limit.parts))
        whole = self.limit.rate * time
        low, high = levels(demands, weights, FILLED * whole), levels(demands, weights, whole)
        needy = [c for c in CLASSES if high[c] < demands[c]]
        if needy and demands["strangers"]:
            yield from self.drawn(rows["strangers"])
        for c in CLASSES:
            if not demands[c]:
                continue
            if c in needy:
                drawn = self.spread(rows[c], low[c] / demands[c]) if c == "strangers" else 0
                yield Claim(f"{c}: their part", low[c] - drawn, self.sum(rows[c], True), high[c] / FILLED, "passed")
            if c != "strangers":
                yield from self.sources(rows[c], low[c] / time, begin, end, c)
            elif c in needy:
                yield from self.patterns(rows[c], low[c])

    def sources(self, rows, rate, begin, end, name):
        """Each source has the same rate; one that sends less loses nothing, in bursts of up to 5 packets."""
        time = Fraction(end - begin, SECOND)
        groups = self.grouped(rows, lambda row: row[3])
        demands = {s: Fraction(self.sum(of)) / time for s, of in groups.items()}
        pace = fair(demands, min(rate, FILLED * self.limit.rate))
        lost, below, over = 0, 0, []
        for source, of in groups.items():
            largest = max(self.limit.cost(p) for p, *_ in of)
            size = BURST * largest
            if pace and demands[source] > pace:
                over.append((self.sum(of, True), largest))
            elif not pace or demands[source] < EVEN * pace and all(bucket(((p.time, self.limit.cost(p)) for p, *_ in of), pace, size)):
                below, lost = below + 1, lost + self.sum(of) - self.sum(of, True)
        if below:
            yield Claim(f"{name}: who sends less loses nothing", None, lost, 0, f"lost by {below} sources")
        if over:
            (least, small), (most, large) = min(over), max(over)
            yield Claim(f"{name}: who sends more has the fair rate", EVEN * pace * time - AHEAD * small, least, None, f"least of {len(over)}")
            yield Claim(f"{name}: who sends more is held to the same", None, most, least / EVEN ** 2 + 2 * AHEAD * large, f"most of {len(over)}")

    def patterns(self, rows, part):
        """Packets of one pattern have the same part each."""
        groups = self.grouped(rows, lambda row: (row[0].proto, row[0].dport, row[0].size // 8, row[0].flags))
        demands = {k: Fraction(self.sum(of)) for k, of in groups.items()}
        got = levels(demands, dict.fromkeys(demands, 1), part)
        for k, of in groups.items():
            over = got[k] < demands[k]
            drawn = self.spread(of, got[k] / demands[k])
            yield Claim(f"strangers: patterns {'over' if over else 'below'} their part", got[k] - drawn, self.sum(of, True), None,
                        f"passed of {int(demands[k])} of one of {len(groups)}")

    def drawn(self, rows):
        """Whole handshakes pass: packets that a source sends one soon after the other have the same verdict, but for
        those between which it was drawn anew."""
        pairs = differ = between = 0
        chance = self.sum(rows, True) / self.sum(rows)
        for of in self.grouped(rows, lambda row: row[3]).values():
            for (one, ok, *_), (other, passed, *_) in zip(of, of[1:]):
                if other.time - one.time < DRAW // 8:
                    pairs, differ, between = pairs + 1, differ + (ok != passed), between + other.time - one.time
        if pairs > 100:
            single = pairs * 2 * chance * (1 - chance)
            yield Claim("strangers: whole handshakes, not single packets", None, differ, between / DRAW + single / 4, f"of {pairs} pairs differ, of single packets {single:.0f}")

    def spread(self, rows, chance):
        """Deviations of what is drawn: a sum over sources and times of a draw."""
        groups = self.grouped(rows, lambda row: (row[3], row[0].time // DRAW))
        return DEVIATIONS * float(chance * (1 - chance) * sum(self.sum(of) ** 2 for of in groups.values())) ** 0.5

    def kept(self):
        """The last of the burst is for the class alone: each verdict, from the first refusal on."""
        limit, tokens, last, wrong, refused = self.limit, Fraction(self.limit.burst), None, 0, False
        for packet, passed, kind, source in self.rows:
            if last is not None:
                tokens = min(tokens + limit.rate * (packet.time - last) / SECOND, limit.burst)
            last, cost = packet.time, limit.cost(packet)
            mine = kind == limit.keep_for or limit.keep_for[0] == "@" and packet.source in self.members
            refused |= not passed
            wrong += refused and passed != (tokens - cost >= (0 if mine else limit.keep))
            tokens -= cost if passed else 0
        return Claim("keep: each verdict", None, wrong, 0, "verdicts differ")
