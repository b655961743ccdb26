# SPDX-License-Identifier: GPL-2.0-only
"""Limits on open connections: connlimit of iptables and `ct count` of nft, and `limit N connections` of a policy. Both
take N connections and refuse the next. Such a limit decides about packets that open a connection, and what another rule drops
costs it nothing."""
import dataclasses

from . import fields
from .model import Left, Limit

TCP = 6
PASSING = "is for forwarded packets: a policy counts this machine's own sockets, and connections that pass through have none"
COUNTS = "a policy counts TCP sockets of this machine, over any device, from the end of their handshakes: the firewall counts what " \
    "conntrack has seen at this rule, half-open connections of forged SYNs too"
UNSEEN = ("icmp", "length", "ttl", "dscp", "payload", "not_payload", "not_src", "not_dst", "not_proto")  # of a socket


def limit_of(number, keys, masks, table=None):
    """A mask of 0 bits leaves one key for all."""
    bits = dict(zip(("saddr", "daddr"), masks))
    keys = frozenset(key for key in keys if bits.get(key) != 0)
    return Limit(number, "second", None, False, keys, masks, table=table, connections=True)


def is_of(step):
    return step.counts() and step.limit.connections


def as_seen(step, p):
    """The step, as a packet meets it: those of open connections are within the limit. None: it does nothing."""
    if not is_of(step) or p.opens:
        return step
    return None if step.verdict == "above" else dataclasses.replace(step, verdict="accept", limit=None)


def costs_nothing(before, step):
    """Does neither charge the other for what it drops?"""
    return before is not step and (is_of(step) and before.verdict == "drop" or is_of(before) and before.verdict == "above")


def match_of(match):
    """The match of the sockets: a policy compares those that open a connection, and the others pass."""
    others = tuple(w for w in match.other if not (w.startswith("state ") and "NEW" in w))
    opens = match.flags is not None and match.flags & fields.OPENS == fields.OPENS
    return match.copy(other=others, flags=None if opens else match.flags)


def check(match, options):
    """Raises Left if a policy cannot count the connections of the match."""
    if options.conntrack:
        raise Left("counts connections: an instance attached with --state conntrack does not")
    if not options.host:
        raise Left("counts connections that pass through this machine, too, a policy those of its own sockets: use --host if it "
                   "forwards nothing")
    if match.proto != TCP:
        raise Left("counts connections of other protocols than TCP, too: a policy counts those of TCP")
    unseen = next((name for name in (*UNSEEN, "flags") if getattr(match, name)), None)
    if unseen or match.later is not None:
        raise Left("matches by more than ports and addresses: a policy does not see more of an open connection")
