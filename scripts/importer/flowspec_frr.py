# SPDX-License-Identifier: GPL-2.0-only
"""Reads what FRR shows of FlowSpec routes, for scripts/rlctl-flowspec: the output of `vtysh -E -c 'show bgp ipv4 flowspec
detail' -c 'show bgp ipv6 flowspec detail'`, again and again. A route that is no longer shown is withdrawn.

FRR (8.4) shows neither the peer nor whether several values of a component are joined by "and" or "or", but for flags;
and it shows traffic-action as the same words, whatever it says. So a route is refused that may mean two things.
"""
import functools
import ipaddress
import re

from .flowspec import NUMERIC, Refused

COMPONENTS = {name: number for number, name in enumerate(
    ('Destination Address', 'Source Address', 'IP Protocol', 'Port', 'Destination Port', 'Source Port', 'ICMP Type', 'ICMP Code',
     'TCP Flags', 'Packet Length', 'DSCP field', 'Packet Fragment'), 1)}


def prefix(name, text):
    found = re.fullmatch(r'([0-9a-f.:]+/\d+)(?:/off (\d+))?', text)
    if not found or int(found[2] or 0):
        raise Refused('its %s is no prefix, or has an offset' % name)
    return ipaddress.ip_network(found[1], strict=False)


def flags(name, text):
    """For " = 18,&∋ ! 1,|= 4": these bits, and not any of those, or those."""
    groups = []
    for alternative in text.split(',|'):
        terms = [re.fullmatch(r'\s*([=∋])\s*(!?)\s*(\d+)\s*', term) for term in alternative.split(',&')]
        if not all(terms):
            raise Refused('its %s has the unknown value %.40s' % (name, text))
        groups.append([((term[1] == '=') | (term[2] == '!') << 1, int(term[3])) for term in terms])
    return groups


def numbers(name, text):
    """For "= 53 , >= 1024 , <= 2000": a lower bound before an upper one is a range, since as alternatives they would be
    everything. Another bound is alone, or between equal signs."""
    groups = []
    for term in text.split(','):
        found = re.fullmatch(r'\s*([<>]=?|=)\s*(\d+)\s*', term)
        if not found:
            raise Refused('its %s has the unknown value %.40s' % (name, text))
        one = (NUMERIC[found[1]], int(found[2]))
        if groups and found[1][0] == '<' and groups[-1][-1][0] in (2, 3) and groups[-1][-1][1] < one[1]:
            groups[-1].append(one)
        else:
            groups.append([one])
    if sum(len(group) == 1 and group[0][0] != 1 for group in groups) > 1:
        raise Refused('its %s may mean "and" or "or": FRR does not say which' % name)
    return groups


def parts_of(lines):
    parts = {}
    for line in lines:
        name, value = re.fullmatch('(%s) (.*)' % '|'.join(COMPONENTS), line).groups()
        number = COMPONENTS[name]
        parts[number] = (prefix if number <= 2 else flags if number in (9, 12) else numbers)(name, value)
    return parts


def communities_of(lines):
    for one in [one for line in lines for one in re.split(' (?=FS:)', line)]:
        found = re.fullmatch(r'FS:rate (-?[0-9.]+|-?inf|-?nan)', one)
        if not found:
            raise Refused('its "%.60s" is no component that is known, and no rate' % one)
        yield 0x8006, float(found[1]), False


class Frr:
    def __init__(self):
        self.shown = {'4': {}, '6': {}}
        self.family, self.entries = None, []

    def __call__(self, line):
        text = line.decode(errors='replace').strip()
        begin = re.search('# show bgp ipv([46]) flowspec detail$', text)
        if begin:
            self.family, self.entries = begin[1], []
        elif text.startswith('BGP flowspec entry'):
            self.entries.append([])
        elif self.family and re.match('Displayed .* entries|No BGP prefixes displayed', text):
            yield from self.changes()
            self.family = None
        elif text and self.entries and not re.match('received for|(not )?installed in PBR', text):
            self.entries[-1].append(text)

    def changes(self):
        """(what, peer, rest), see Keeper.take."""
        now = {}
        for entry in self.entries:
            match = tuple(line for line in entry if re.match('|'.join(COMPONENTS), line))
            now[match] = tuple(line for line in entry if line not in match)
        former, self.shown[self.family] = self.shown[self.family], now
        for what, routes in ('withdraw', former.keys() - now.keys()), ('announce', [one for one in now if former.get(one) != now[one]]):
            for match in routes:
                yield what, 'frr', (functools.partial(parts_of, match), '; '.join(match),
                                    functools.partial(communities_of, now.get(match, ())))
        yield 'complete', 'frr', self.family
