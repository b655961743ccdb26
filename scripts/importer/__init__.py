# SPDX-License-Identifier: GPL-2.0-only
"""Rate limits of other tools into a policy; scripts/import is the command."""
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


def check(policy, rlctl):
    """What rlctl itself would refuse, numbers out of range for example, is left out for its reason."""
    while policy.lines:
        text = "".join(rule + "\n" for rule, _ in policy.lines)
        done = subprocess.run([rlctl, "apply", "--check", "-"], input=text, capture_output=True, text=True, check=False)
        if not done.returncode:
            return
        found = re.search(r"stdin:(\d+):\d+: (.*)", done.stderr)
        if not found:
            raise Left(f"{rlctl} apply --check: {done.stderr.strip()}")
        rule, remark = policy.lines.pop(int(found[1]) - 1)
        policy.leave(remark.split(": ")[0], f"became '{rule}', but {found[2]}")


def convert(text, form=None, device=None, rlctl=None):
    """A Policy; Left where the text cannot be read at all."""
    policy = Policy()
    READERS[form or format_of(text)](policy, text, device)
    if rlctl:
        check(policy, rlctl)
    else:
        policy.note("rlctl was not found: the policy is not checked")
    return policy
