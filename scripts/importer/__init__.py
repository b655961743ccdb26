# SPDX-License-Identifier: GPL-2.0-only
"""Rate limits of other tools into a policy; scripts/import is the command."""
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
        raise Left("is nft's own language: give what `nft -j list ruleset` prints")
    if re.search(r"\bfilters\s*[=:]\s*\(", text):
        return "xdpfw"
    raise Left("neither iptables-save, nor `nft -j list ruleset`, nor an xdpfw.conf: say which with --from")


def refused(rlctl, texts):
    """(index, why) of the first rule that rlctl itself refuses, for numbers out of range for example."""
    text = "".join(rule + "\n" for rule in texts)
    done = subprocess.run([rlctl, "apply", "--check", "-"], input=text, capture_output=True, text=True, check=False)
    if not done.returncode:
        return None
    found = re.search(r"stdin:(\d+):\d+: (?!warning)(.*)", done.stderr)
    if not found:
        raise Left(f"{rlctl} apply --check: {done.stderr.strip()}")
    return int(found[1]) - 1, found[2]


def convert(text, form=None, device=None, rlctl=None, host=False):
    """A Policy; Left where the text cannot be read at all."""
    policy = Policy(functools.partial(refused, rlctl) if rlctl else None)
    READERS[form or format_of(text)](policy, text, device, host)
    if not rlctl:
        policy.note("rlctl was not found: the policy is not checked")
    return policy
