# SPDX-License-Identifier: GPL-2.0-only
"""Converts rate limits of other tools to a policy; scripts/import is the command."""
import functools
import re
import subprocess

from . import iptables, nft, xdpfw
from .model import Left
from .policy import Policy

READERS = {"iptables": iptables.read, "nft": nft.read, "xdpfw": xdpfw.read}


def format_of(text):
    if re.match(r"\s*\{\s*\"nftables\"", text):
        return "nft"
    if re.search(r"^(\*\w+|-A |:\w+ )", text, re.M):
        return "iptables"
    if re.search(r"^\s*table (ip|ip6|inet|netdev|arp|bridge) ", text, re.M):
        raise Left("nft's own language cannot be read: pass the output of `nft -j list ruleset`")
    if re.search(r"\bfilters\s*[=:]\s*\(", text):
        return "xdpfw"
    raise Left("unknown format, neither iptables-save, `nft -j list ruleset` nor xdpfw.conf: name it with --from")


def refused(rlctl, texts):
    """(index, error) of the first rule that rlctl refuses, for example for numbers out of range."""
    text = "".join(rule + "\n" for rule in texts)
    done = subprocess.run([rlctl, "apply", "--check", "-"], input=text, capture_output=True, text=True, check=False)
    if not done.returncode:
        return None
    found = re.search(r"stdin:(\d+):\d+: (?!warning)(.*)", done.stderr)
    if not found:
        raise Left(f"{rlctl} apply --check: {done.stderr.strip()}")
    return int(found[1]) - 1, found[2]


def convert(text, form=None, device=None, rlctl=None, host=False):
    """Returns a Policy; raises Left if the text cannot be read at all."""
    policy = Policy(functools.partial(refused, rlctl) if rlctl else None)
    READERS[form or format_of(text)](policy, text, device, host)
    if not rlctl:
        policy.note("rlctl not found: the policy is not checked")
    return policy
