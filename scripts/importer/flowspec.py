# SPDX-License-Identifier: GPL-2.0-only
"""FlowSpec routes (RFC 8955, 8956), as exabgp and gobgp write them, as rules of rlctl, for scripts/rlctl-flowspec.

The first route that matches a packet decides, and rlctl has no order. So a route is a set of packets, as disjoint
boxes; those of a former route that accepts or limits are subtracted, and what is left becomes rules of the `device`. A
former route that drops needs nothing: `deny` comes before limits. A limit is one rule, or each part would have the
whole rate: a route that needs several is refused.
"""
import collections
import functools
import hashlib
import ipaddress
import itertools
import json
import math
import re
import struct

from . import fields
from .ranges import common, complement, normal
from .words import WITH_PORTS, proto_words

RULES_MAX = 64  # of a route
RATE_MAX = {'byte': 50 * 10**9, 'packet': 10**8}  # a second, those of rlctl

NAMES = dict(enumerate('destination source protocol port destination-port source-port icmp-type icmp-code tcp-flags '
                       'packet-length dscp fragment'.split(), 1))
EXABGP = {**{name: number for number, name in NAMES.items()}, 'destination-ipv4': 1, 'destination-ipv6': 1,
          'source-ipv4': 2, 'source-ipv6': 2, 'next-header': 3, 'traffic-class': 11}
NUMERIC = {'false': 0, '=': 1, '>': 2, '>=': 3, '<': 4, '<=': 5, '!=': 6, 'true': 7}  # RFC 8955, 4.2.1
BITS = {'': 0, '=': 1, '!': 2, '!=': 3}
VALUES = {number: dict(zip(text.split()[::2], map(int, text.split()[1::2]))) for number, text in {
    3: 'icmp 1 igmp 2 tcp 6 egp 8 udp 17 rsvp 46 gre 47 esp 50 ah 51 ospf 89 ipip 94 pim 103 sctp 132',
    7: 'echo-reply 0 unreachable 3 source-quench 4 redirect 5 echo-request 8 router-advertisement 9 router-solicit 10 '
       'time-exceeded 11 parameter-problem 12 timestamp 13 timestamp-reply 14 info-request 15 info-reply 16 '
       'mask-request 17 mask-reply 18 traceroute 30',
    9: 'fin 1 syn 2 rst 4 push 8 ack 16 urg 32 urgent 32 ece 64 cwr 128',
    12: 'is-fragment 2 first-fragment 4'}.items()}
# The words as rlctl prints them: of several names of one number, that of nft.
DSCP = {number: name for name, number in fields.DSCP.items() if name[:2] in ('cs', 'af', 'ef')}
OTHERS = ('pong', 'ping', 'ttl-exceeded', 'mld-listener-reduction', 'redirect', 'router-solicitation', 'router-advertisement')
ICMP = {4: {number: name for name, number in fields.ICMP.items() if name not in OTHERS[:3]},
        6: {number: name for name, number in fields.ICMP6.items() if name not in OTHERS and 'neighbo' not in name[:9]}}

Action = collections.namedtuple('Action', 'drop limits goes_on')  # limits: ((unit, amount a second), ...)
Route = collections.namedtuple('Route', 'label peer family parts action boxes')


class Refused(Exception):
    """A route is not in force; the text says why."""


# ---- sets of packets: boxes, {field: set of numbers, see ranges.py}

def minus(one, other):
    return common(one, complement(other, 1 << 128))


def members(ranges, most=256):
    return list(itertools.islice(itertools.chain.from_iterable(range(a, b + 1) for a, b in ranges), most))


# Protocol and fragment come before the fields that only some packets have: packets without them are split off first.
FIELDS = ('dst', 'src', 'proto', 'frag', 'icmp', 'sport', 'dport', 'flags', 'length', 'dscp')
WHOLE, FIRST, LATER = 0, 1, 2  # of 'frag'; a later fragment has no ports
PORTED = tuple((number, number) for number in WITH_PORTS)
HEADERS = {'sport': PORTED, 'dport': PORTED, 'flags': [(6, 6)], 'icmp': [(1, 1), (58, 58)]}


@functools.lru_cache(None)
def everything(family):
    """All packets of IPv4 or IPv6, but for the ICMP of the other."""
    addresses = ((0, 2**32 - 1 if family == 4 else 2**128 - 1),)
    return {'dst': addresses, 'src': addresses, 'proto': complement([(58, 58) if family == 4 else (1, 1)], 255),
            'frag': ((WHOLE, LATER),), 'icmp': ((0, 65535),), 'sport': ((0, 65535),), 'dport': ((0, 65535),),
            'flags': ((0, 255),), 'length': ((20 if family == 4 else 40, 65535),), 'dscp': ((0, 63),)}


def narrow(box, field, ranges):
    """The packets of a box whose field is in the ranges: a list of one box, or of none."""
    box = {**box, field: common(box[field], ranges)}
    if field in HEADERS:
        box['proto'], box['frag'] = common(box['proto'], HEADERS[field]), common(box['frag'], [(WHOLE, FIRST)])
    return [box] if all(box.values()) else []


def without(one, other):
    """Disjoint boxes with the packets of one that are not in the other."""
    if not all(common(one[field], other[field]) for field in FIELDS):
        return [one]
    found, rest = [], dict(one)
    for field in FIELDS:
        left = minus(rest[field], other[field])
        found += [{**rest, field: left}] if left else []
        rest[field] = common(rest[field], other[field])
    return found


# ---- routes: {number of a component: prefix, or [[(operation, value), ... and ...], ... or ...]}

def matching(number, groups, numbers):
    """The numbers that a component matches."""
    def one(operation, operand):
        if number not in (9, 12):
            found = [(operand, operand)] * (operation & 1) + [(operand + 1, numbers[-1][1])] * (operation >> 1 & 1) + \
                [(0, operand - 1)] * (operation >> 2 & 1)
            return normal(part for part in found if part[0] <= part[1])
        if operand & ~(6 if number == 12 else 255):
            raise Refused('its %s has bits that rlctl does not match' % NAMES[number])
        return normal((n, n) for n in members(numbers) for bits in [(0, 4, 2)[n] if number == 12 else n]
                     if (bits & operand == operand if operation & 1 else bits & operand > 0) != bool(operation & 2))
    return common(numbers, normal(part for group in groups
                                 for part in functools.reduce(common, itertools.starmap(one, group))))


def region(family, parts):
    """The packets that a route is for, as disjoint boxes."""
    box = everything(family)
    wanted = [(field, [(int(parts[number][0]), int(parts[number][-1]))])
              for number, field in ((1, 'dst'), (2, 'src')) if number in parts]
    wanted += [(field, matching(number, parts[number], box[field])) for number, field in (
        (3, 'proto'), (5, 'dport'), (6, 'sport'), (9, 'flags'), (10, 'length'), (11, 'dscp'), (12, 'frag')) if number in parts]
    if 7 in parts or 8 in parts:
        kinds, codes = (matching(number, parts.get(number, [[(7, 0)]]), [(0, 255)]) for number in (7, 8))
        wanted.append(('icmp', normal((kind << 8 | a, kind << 8 | b) for kind in members(kinds) for a, b in codes)))
    boxes = [box]
    for field, ranges in wanted:
        boxes = [found for box in boxes for found in narrow(box, field, ranges)]
    if 4 in parts:
        sport, dport = ([found for box in boxes for found in narrow(box, field, matching(4, parts[4], box[field]))]
                        for field in ('sport', 'dport'))
        boxes = sport + [left for box in dport for left in (without(box, sport[0]) if sport else [box])]
    return boxes


def label_of(peer, parts):
    """The comment of its rules, the same for the same route whoever reads it."""
    def text(number, value):
        signs = {sign: word for word, sign in (BITS if number in (9, 12) else NUMERIC).items()}
        return NAMES[number] + ' ' + (str(value) if number <= 2 else ','.join(
            '&'.join(signs[operation] + str(operand) for operation, operand in group) for group in value))
    found = ' '.join(['flowspec', peer, *(text(*part) for part in sorted(parts.items()))])
    return found if len(found) <= 120 else found[:107] + '~' + hashlib.sha256(found.encode()).hexdigest()[:12]


def encoded(groups):
    """The bytes of a component, by which RFC 8955 orders."""
    flat = [(i > 0, *pair) for group in groups for i, pair in enumerate(group)]
    found = b''
    for i, (joined, operation, operand) in enumerate(flat, 1):
        size = sum(operand >= 1 << bits for bits in (8, 16))
        found += bytes([(i == len(flat)) << 7 | joined << 6 | size << 4 | operation]) + operand.to_bytes(1 << size, 'big')
    return found


def compare(one, other):
    """RFC 8955, 5.1: below 0 if the first one is first. Equal ones of two peers go by the peer."""
    for number in sorted({*one.parts, *other.parts}):
        a, b = one.parts.get(number), other.parts.get(number)
        if a is None or b is None:
            return 1 if a is None else -1
        if number <= 2 and a != b:
            return b.prefixlen - a.prefixlen if a.overlaps(b) else -1 if a < b else 1
        a, b = (a, b) if number <= 2 else (encoded(a), encoded(b))
        if a != b:
            return len(b) - len(a) if a.startswith(b) or b.startswith(a) else -1 if a < b else 1
    return -1 if one.peer < other.peer else 1


def action_of(communities):
    """The action of the extended communities (type, rate, whether it goes on)."""
    limits, goes_on = {}, False
    for kind, rate, on in communities:
        kind &= 0xbfff  # without the bit "not transitive"
        if kind in (0x8006, 0x800c):
            if math.isnan(rate) or rate == math.inf:
                raise Refused('its rate is %s' % rate)
            unit = 'byte' if kind == 0x8006 else 'packet'
            amount = math.ceil(min(max(rate, 0), RATE_MAX[unit]))  # a negative rate is 0 (RFC 8955, 7.1)
            limits[unit] = min(amount, limits.get(unit, amount))
        elif kind == 0x8007:
            goes_on = on
        elif kind >> 8 in (0x80, 0x81, 0x82) or kind in (0x010c, 0x0800):
            raise Refused('its action 0x%04x neither drops nor limits' % kind)
    return Action(0 in limits.values(), tuple(sorted(limits.items())), goes_on)


# ---- what exabgp and gobgp write: readers yield (what, peer, rest), see Keeper.take

def exabgp_value(number, word):
    """A number, "unknown ... type 58", or names, of flags joined by +."""
    found, unknown = 0, re.fullmatch(r'unknown [a-z ]+ type (\d+)', word)
    for name in [unknown[1]] if unknown else word.split('+') if number in (9, 12) else [word]:
        if not re.fullmatch('[0-9]{1,8}', name) and name not in VALUES.get(number, {}):
            raise Refused('its %s has the unknown value %.40s' % (NAMES[number], word))
        found |= int(name) if name.isdigit() else VALUES[number][name]
    return found


def exabgp_groups(number, items):
    """The alternatives of ["=53", ">=1024&<=2000"]."""
    signs, pattern = (BITS, '(!=|!|=|)(.+)') if number in (9, 12) else (NUMERIC, '(true|false|[<>]=?|!=|=)(.*)')
    groups = [[re.fullmatch(pattern, word) for word in item.split('&')] for item in items]
    if not items or not all(map(all, groups)):
        raise Refused('its %s has the unknown value %.40s' % (NAMES[number], items))
    return [[(signs[one[1]], exabgp_value(number, one[2]) if one[2] else 0) for one in group] for group in groups]


def exabgp_flags(number, items, text):
    """exabgp 4 and 5 write the one =syn+ack as "=syn", "=ack", which are the alternatives =syn and =ack, too: its text
    says which."""
    if len(items) > 1 and '+' not in ''.join(items) and re.search('[!=&]', ''.join(items)):
        sign = re.match('[!=]*', items[0])[0]
        joined = '+'.join([items[0], *(item.replace(sign, '', 1) for item in items[1:])])
        if ' %s %s ' % (NAMES[number], joined) in text + ' ':
            return [joined]
        if ' %s [ %s ]' % (NAMES[number], ' '.join(items)) not in text:
            raise Refused('its %s may mean "and" or "or": exabgp does not say which' % NAMES[number])
    return items


def exabgp_parts(route):
    parts = {}
    for word, value in route.items():
        number = EXABGP.get(word)
        if number and (not isinstance(value, list) or not all(isinstance(one, str) for one in value)):
            raise Refused('its %s is no list of words' % word)
        if number and number <= 2:
            address, length, *offset = value[0].split('/')
            if len(value) > 1 or offset not in ([], ['0']):
                raise Refused('its %s is more than one prefix, or has an offset' % word)
            parts[number] = ipaddress.ip_network(address + '/' + length)
        elif number:
            parts[number] = exabgp_groups(number, exabgp_flags(number, value, str(route.get('string')))
                                          if number in (9, 12) else value)
        elif word not in ('string', 'next-hop'):
            raise Refused('its component %.40s is unknown' % word)
    return parts


def exabgp_communities(attributes):
    for word, values in attributes.items():
        if word.startswith('extended-community'):
            for value in [one['value'] for one in values]:
                kind = value >> 48 if word == 'extended-community' else 0x800b  # of IPv6: redirections
                yield kind, struct.unpack('!f', (value & 0xffffffff).to_bytes(4, 'big'))[0], bool(value & 1)


def from_exabgp(document):
    neighbor = document.get('neighbor') or {}
    message = neighbor.get('message', {})
    peer = str(ipaddress.ip_address(neighbor['address']['peer'])) if neighbor else ''
    if neighbor.get('state') in ('up', 'down'):
        yield neighbor['state'], peer, None
    if 'flow' in message.get('eor', {}).get('safi', ''):
        yield 'complete', peer, message['eor']['afi'][-1]
    update = message.get('update', {})
    for what in ('withdraw', 'announce'):
        for family, found in update.get(what, {}).items():
            for route in (itertools.chain(*found.values()) if isinstance(found, dict) else found) if ' flow' in family else ():
                yield what, peer, (functools.partial(exabgp_parts, route), route.get('string', family),
                                   functools.partial(exabgp_communities, update.get('attribute', {})))


def gobgp_parts(components):
    parts = {}
    for one in components:
        number, value = one['type'], one['value']
        if number not in NAMES or one.get('offset'):
            raise Refused('its component %.40s is unknown, or has an offset' % number)
        if number <= 2:
            parts[number] = ipaddress.ip_network(value['prefix'])
            continue
        parts[number] = []
        for item in value:
            if not item['op'] & 0x40 or not parts[number]:
                parts[number].append([])
            parts[number][-1].append((item['op'] & (3 if number in (9, 12) else 7), item['value']))
    return parts


def gobgp_communities(attributes):
    for attribute in attributes:
        for one in attribute['value'] if attribute['type'] in (16, 25) else ():
            kind = one['type'] << 8 | one['subtype'] if attribute['type'] == 16 else 0x800b
            yield kind, one.get('rate', math.nan), one.get('terminal', False)


def from_gobgp(document):
    for path in document:
        peer, components = path['neighbor-ip'], path['nlri']['value']
        yield ('withdraw' if path.get('withdrawal') else 'announce',
               str(ipaddress.ip_address(peer)) if peer != '<nil>' else 'local',
               (functools.partial(gobgp_parts, components), json.dumps(components),
                functools.partial(gobgp_communities, path.get('attrs', []))))


# ---- rules

def prefixes(family, ranges):
    kind = ipaddress.IPv4Address if family == 4 else ipaddress.IPv6Address
    nets = (net for a, b in ranges for net in ipaddress.summarize_address_range(kind(a), kind(b)))
    return [str(net.network_address if net.prefixlen == net.max_prefixlen else net) for net in nets]


def either(ranges, full, listed):
    """The cases of a field of which a rule has one value, or all but one."""
    left = listed(minus(full, ranges))
    return [''] if not left else ['not ' + left[0]] if len(left) == 1 else listed(ranges)


def icmp_words(family, ranges):
    found = []
    for a, b in ranges:
        while a <= b and len(found) <= RULES_MAX:
            whole = not a & 255 and a | 255 <= b
            found.append('icmp-type %s' % ICMP[family].get(a >> 8, a >> 8) + ('' if whole else ' code %d' % (a & 255)))
            a += 256 if whole else 1
    return found


def flag_words(ranges):
    """Disjoint cases of "these flags among those"."""
    values = members(ranges)
    if not values:
        return []
    varying = functools.reduce(int.__or__, values) ^ functools.reduce(int.__and__, values)
    if len(values) == 1 << bin(varying).count('1'):
        value, mask = (','.join(name for i, name in enumerate(fields.FLAG_WORDS) if bits >> i & 1) or 'none'
                       for bits in (values[0] & ~varying, 255 & ~varying))
        return ['' if mask == 'none' else 'syn' if (value, mask) == ('syn', 'syn,ack') else 'flags %s/%s' % (value, mask)]
    bit = varying & -varying
    return [word for side in (0, bit) for word in flag_words([(n, n) for n in values if n & bit == side])]


def fragment_words(family, states, headed):
    """Where a word asks for a header, later fragments are left out anyhow."""
    early, late = ('filter "%s"' % text for text in (
        ('ip[6:2] & 0x1fff = 0', 'ip[6:2] & 0x1fff != 0') if family == 4 else ('ip6[6] != 44', 'ip6[6] = 44')))
    early = '' if headed else early
    return {(0, 1, 2): [''], (1, 2): ['fragment'], (0,): ['not fragment'], (2,): [late], (0, 2): ['not fragment', late],
            (0, 1): [early], (1,): [('fragment ' + early).strip()]}[states]


def cases(family, box):
    """The words of rules that hold for the packets of a box, each packet by one of them."""
    full = everything(family)
    states = tuple(members(box['frag']))
    ported = LATER not in states and not minus(box['proto'], PORTED)
    headed = ported or any(box[field] != full[field] for field in HEADERS)
    words = {field: [''] if box[field] == full[field] else [
        field + ' ' + ','.join('%d-%d' % part if part[0] < part[1] else '%d' % part[0] for part in box[field][i:i + size])
        for i in range(0, len(box[field]), size)] for field, size in (('sport', 16), ('dport', 16), ('length', 1))}
    if ported and states != (WHOLE,) and not any(box[field] != full[field] for field in HEADERS):
        words['dport'] = ['dport 0-65535']
    anyhow = box['proto'] == PORTED and words['sport'] + words['dport'] != ['', '']
    slots = [
        [''] if anyhow else either(box['proto'], full['proto'], lambda ranges: [
            proto_words(number) for number in members(ranges)]),
        either(box['icmp'], full['icmp'], functools.partial(icmp_words, family)), words['sport'], words['dport'],
        [''] if box['src'] == full['src'] else ['src ' + one for one in prefixes(family, box['src'])],
        ['dst ' + one for one in prefixes(family, box['dst'])], either(box['flags'], full['flags'], flag_words),
        words['length'], either(box['dscp'], full['dscp'], lambda ranges: [
            'dscp %s' % DSCP.get(number, number) for number in members(ranges)]),
        fragment_words(family, states, headed)]
    bounded(math.prod(map(len, slots)))
    return [' '.join(['device', *filter(None, choice)]) for choice in itertools.product(*slots)]


def bounded(count):
    if count > RULES_MAX:
        raise Refused('it takes more than %d rules' % RULES_MAX)


def subtract(boxes, routes):
    """The packets of the boxes that are in none of the routes, as boxes."""
    for other in itertools.chain.from_iterable(route.boxes for route in routes):
        boxes = [left for box in boxes for left in without(box, other)]
        bounded(len(boxes))
    return boxes


def rules_of(route, boxes):
    """{(match, kind): text} of the rules of a route for these packets of it."""
    found = [words for box in boxes for words in cases(route.family, box)]
    bounded(len(found))
    if route.action.drop:
        return {(words, 'deny'): words + ' deny' for words in found}
    if len(found) > 1:
        raise Refused('it takes %d rules, and each would have the rate' % len(found))
    return {(words, unit): '%s limit %d%s/second' % (words, amount, unit if unit == 'byte' else '')
            for words in found for unit, amount in route.action.limits}


def meet(one, other):
    """Whether routes may have packets in common: by their destinations."""
    if not one.boxes or not other.boxes or one.family != other.family:
        return False
    (a, b), (c, d) = one.boxes[0]['dst'][0], other.boxes[0]['dst'][0]
    return a <= d and c <= b


def rules(routes):
    """({(match, kind): (text, label)}, [why a route is refused]) for routes in the order of their coming."""
    taken, boxes, found, refused = [], {}, {}, []
    for route in routes:
        later = [one for one in taken if decides(route) and meet(route, one) and compare(route, one) < 0]
        try:
            left = {route.label: subtract(route.boxes if route.action.drop or route.action.limits else [], [
                one for one in taken if decides(one) and meet(one, route) and compare(one, route) < 0])}
            left.update({one.label: subtract(boxes[one.label], [route]) for one in later})
            found.update({one.label: rules_of(one, left[one.label]) for one in [route, *later]})
            boxes.update(left)
            taken.append(route)
        except Refused as e:
            refused.append('%s is refused: with the routes before, %s' % (route.label, e))
    wanted = {}
    for label, texts in found.items():
        for name, text in texts.items():
            if wanted.setdefault(name, (text, label))[0] != text:
                refused.append('%s is refused: another route has a rate for the same packets' % label)
    return wanted, refused


def decides(route):
    """Whether no later route is for the packets of this one, other than by `deny`."""
    return not route.action.drop and not route.action.goes_on
