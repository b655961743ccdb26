#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Honest clients as lines for capture.py, and a flood beside them: suggest_lines.py SECONDS [KIND BEGIN SECONDS RATE]

Browsers that load pages, one address that many of them share, resolvers, a ping a second, answers to the machine's own
questions, and a few segments to port 22. KIND: one, few or forged sources of SYNs; none: the flood alone, of forged sources; six: only
browsers, of IPv6.
"""
import random
import sys

BEGIN = 1_700_000_000
rng = random.Random(7)
lines = []


def add(time, line):
    lines.append((time, line))


def browser(source, sport, seconds, kind='tcp', size=80):
    time = rng.uniform(0, 15)
    while time < seconds:
        for i in range(3 + min(int(rng.lognormvariate(3, .8)), 150)):
            add(time + i * .01, f"{kind} {source} sport={sport} dport=443 size={size} flags={'A' if i else 'S'}")
        time += rng.expovariate(1 / 12)


def shared(seconds):
    """About 20 times the median browser, again and again."""
    for second in range(seconds):
        for i in range(400 if second % 25 == 3 else 8):
            add(second + i * .002, 'tcp 198.18.2.1 sport=333 dport=443 size=300')


def resolver(source, seconds):
    rate, time = rng.lognormvariate(0, 1), rng.random() * 10
    while time < seconds:
        add(time, f'udp {source} sport=5353 dport=53 size=75')
        time += rng.expovariate(rate)


def clients(seconds):
    for i in range(1, 41):
        browser(f'198.18.1.{i}', 20000 + i, seconds)
    shared(seconds)
    for i in range(1, 21):
        resolver(f'198.18.3.{i}', seconds)
    for second in range(seconds):
        add(second + .5, 'icmp 198.18.4.1 size=98')
        if second % 3 == 0:
            add(second + .7, f'udp 198.18.4.9 sport=53 dport={33000 + rng.randrange(20000)} size=200')
    for i in range(12):
        add(3 + i * 5, 'tcp 198.18.4.7 sport=900 dport=22 size=90 flags=S')


def flood(kind, begin, seconds, rate):
    sources = {'one': lambda: '203.0.113.9', 'few': lambda: f'203.0.113.{rng.randrange(1, 100)}'}
    forged = lambda: f'{rng.randrange(1, 200)}.{rng.randrange(256)}.{rng.randrange(256)}.7'
    for i in range(int(seconds * rate)):
        source = sources.get(kind, forged)()
        add(begin + i / rate, f'tcp {source} sport=4000 dport=443 size=60 flags=S')


def main():
    seconds, kind = int(sys.argv[1]), (sys.argv[2:3] or [''])[0]
    rest = [float(word) for word in sys.argv[3:]]
    if kind == 'six':
        for i in range(1, 41):
            browser(f'2001:db8:{i:x}:1::7', 20000 + i, seconds, 'tcp6', 100)
    elif kind != 'none':
        clients(seconds)
    if rest:
        flood(kind, *rest)
    for time, line in sorted(lines):
        print(f'{BEGIN + time:.6f} {line}')


main()
