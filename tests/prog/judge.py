#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""judge.py RLCTL PACKETS: reads limits from standard input, one a line:

    SEED START edges|steady LIMIT

makes a trace that tries the limit, runs it through `RLCTL simulate --verdicts`, and compares line
by line with the model. START is the first packet's time in nanoseconds. A trace of edges is random
and adversarial around the instants at which verdicts change; a steady one is many times too fast,
with pauses, and as many packets must pass as with the model alone, to 1 %. Says one line in TAP for
each.
"""
import random
import re
import subprocess
import sys
import tempfile

import models
from capture import frame, pcap

UNITS = {'ns': 1, 'us': 1000, 'ms': 10**6, 's': 10**9, 'second': 10**9, 'minute': 60 * 10**9,
         'hour': 3600 * 10**9, 'day': 86400 * 10**9}
HOUR = UNITS['hour']
SPAN_MAX = 2 * 365 * UNITS['day']  # of a trace
HEAD = 62  # bytes of a frame that are captured
# The third and the fourth are of one /64, and so one source.
SOURCES = ('192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::ffff:2', '2001:db8:0:1::1')


# ---- the limit in words

def amount(word):
    """('5000', 'byte') to (5000, 1): how many, and how many of them one packet's unit is."""
    number, unit = re.fullmatch(r'(\d+)(byte|bit|)', word).groups()
    return int(number), 8 if unit == 'bit' else 1


def duration(word):
    number, unit = re.fullmatch(r'(\d*)(\D+)', word).groups()
    return int(number or 1) * UNITS[unit]


def model_make(words):
    """Reads 'token-bucket 1000/second burst 100'; only what this test's limits say is understood."""
    rate, period = words[1].split('/')
    n, part = amount(rate)
    p, more = duration(period), dict(zip(words[2::2], words[3::2]))
    if words[0] in ('token-bucket', 'leaky-bucket'):
        size = more.get('burst') or more.get('queue')
        return models.Bucket(n, p, amount(size)[0], part, HEAD if 'b' in rate else 1)
    if words[0] == 'fixed-window':
        return models.FixedWindow(n, p, part)
    if words[0] == 'sliding-window':
        return models.SlidingWindow(n, p, int(more.get('slots', 10)), part)
    if words[0] == 'sliding-log':
        return models.SlidingLog(n, p)
    return models.WarmUp(n, p, duration(more['ramp']), int(more.get('cold', 3)), int(more.get('burst', 0)))


class Limit:
    def __init__(self, text):
        words = text.split()
        rate, period = words[1].split('/')
        self.text, self.words = text, words
        self.counts_bytes = 'b' in rate
        self.amount = amount(rate)[0] // amount(rate)[1]
        self.period = duration(period)
        self.packets = max(1, self.amount // (700 if self.counts_bytes else 1))
        self.step = max(1, self.period // self.packets)


# ---- the trace

class Trace:
    """Packets (time, source, size) that a model tries its limit with."""

    def __init__(self, limit, seed, start, kind):
        self.limit, self.random, self.steady = limit, random.Random(seed), kind == 'steady'
        self.start, self.now, self.rush = start, start, 0

    def below(self, bound):
        return int(self.random.random() * bound)

    def jump(self, edge):
        limit, kind = self.limit, self.below(24)
        if kind < 6:
            return max(0, edge - self.now + kind % 3 - 1)
        if kind == 6:
            return limit.period - 1 + self.below(3)
        if kind == 7:
            return self.below(limit.period)
        if kind == 8:
            return HOUR * self.below(30) if not self.below(16) else 4 * 10**6
        if kind == 9:
            return limit.period * self.below(40) if not self.below(16) else 1
        return self.below(2 * limit.step + 2)

    def pause(self):
        """Between the packets of a steady trace."""
        if not self.below(4000):
            return HOUR * self.below(3)
        return self.below(self.limit.step // 16 + 2)

    def wait(self, edge):
        wait = 0
        if self.steady:
            wait = self.pause()
        elif self.rush:
            self.rush -= 1
            if not self.below(4):
                wait = self.below(self.limit.step + 2)
        else:
            wait = self.jump(edge)
            if not self.below(8):
                self.rush = self.below(2 * min(self.limit.packets, 1000) + 2)
        if self.now + wait - self.start < SPAN_MAX:
            self.now += wait

    def size(self, left):
        kind = self.below(16)
        if not self.limit.counts_bytes or kind > 4:
            return HEAD + self.below(1453)
        size = (left, left + 1, self.limit.amount + self.below(2), 9014, 65549)[kind]
        return max(HEAD, min(size, 200000))

    def packets(self, count):
        by = keys_make(self.limit)
        for _ in range(count):
            source = self.below(len(SOURCES)) if not self.below(8) else self.now // HOUR % 3
            model = by[source]  # mostly one of three, by the hour
            self.wait(model.edge(self.now))
            size = self.size(model.left(self.now))
            cost = size if self.limit.counts_bytes else 1
            if model.admits(self.now, cost):
                model.take(self.now, cost)
            yield self.now, source, size


def keys_make(limit):
    """A model for every source."""
    by = [model_make(limit.words) for _ in SOURCES]
    by[3] = by[2]
    return by


# ---- the capture

def head_make(source):
    return frame({'kind': 'udp6' if ':' in source else 'udp', 'source': source, 'dst': '2001:db8:9::9' if ':' in source else '192.0.2.9',
                  'size': str(HEAD), 'sport': '1000', 'dport': '53'})


def capture_write(out, packets):
    heads = [head_make(source) for source in SOURCES]
    pcap(out, '<', True, '1', ((time, heads[source], size) for time, source, size in packets))
    out.flush()


def simulate(rlctl, limit, packets):
    with tempfile.NamedTemporaryFile() as capture:
        capture_write(capture, packets)
        run = subprocess.run([rlctl, 'simulate', '-', capture.name, '--verdicts'], check=True,
                             input=f'rule any limit {limit.text}\n', capture_output=True, text=True)
    return run.stdout.splitlines()


# ---- the verdicts

class Wrong(Exception):
    pass


def judge(limit, packets, lines):
    """How many passed, how many were too close to call, and how many pass with a model alone."""
    by, free = keys_make(limit), keys_make(limit)
    passed = close = free_passed = 0
    if len(lines) != len(packets):
        raise Wrong(f'{len(lines)} verdicts of {len(packets)} packets')
    for number, ((time, source, size), line) in enumerate(zip(packets, lines), 1):
        cost = size if limit.counts_bytes else 1
        model, alone = by[source], free[source]
        said = f'{number} {time // 10**9}.{time % 10**9:09} '
        within = line == said + 'pass within'
        if not within and line != said + 'drop over':
            raise Wrong(f'"{line}", not "{said}…"')
        if within != model.admits(time, cost):
            margin = model.margin(time, cost)
            if margin is None or abs(margin) > model.doubt():
                raise Wrong(f'{line}: wrong, {SOURCES[source]}, cost {cost}, margin {margin}')
            close += 1
        if within:
            model.take(time, cost)
        if alone.admits(time, cost):
            alone.take(time, cost)
            free_passed += 1
        passed += within
    return passed, close, free_passed


def limit_judge(rlctl, count, line):
    seed, start, kind, text = line.strip().split(maxsplit=3)
    limit = Limit(text)
    packets = list(Trace(limit, int(seed), int(start), kind).packets(count))
    passed, close, alone = judge(limit, packets, simulate(rlctl, limit, packets))
    print(f'# {text}: {passed} of {count} passed, {close} within the doubt, {alone} by the model alone')
    if not count / 50 < passed < count * 19 / 20:
        raise Wrong('the trace tries nothing')
    if close > count / 20:
        raise Wrong(f'{close} verdicts differ')
    if kind == 'steady' and abs(passed - alone) > alone / 100:
        raise Wrong(f'{passed} passed, not {alone} within 1 %')


def main():
    rlctl, count, failed = sys.argv[1], int(sys.argv[2]), 0
    for line in filter(str.strip, sys.stdin):
        text = line.strip().split(maxsplit=2)[2]
        try:
            limit_judge(rlctl, count, line)
            print('ok', text, flush=True)
        except (Wrong, subprocess.CalledProcessError) as e:
            print(f'not ok {text}\n# {e}\n# {getattr(e, "stderr", "")}', flush=True)
            failed = 1
    return failed


if __name__ == '__main__':
    sys.exit(main())
