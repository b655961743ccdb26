# SPDX-License-Identifier: GPL-2.0-only
"""Converts rate limits of other tools to a policy; scripts/import is the command."""
import functools
import re
import subprocess

from . import iptables, nft, nft_text, xdpfw
from .model import Left, Options
from .policy import Policy

READERS = {"iptables": iptables.read, "nft": nft.read, "xdpfw": xdpfw.read}


def format_of(text):
    if re.match(r"\s*\{\s*\"nftables\"", text) or nft_text.BEGINS.search(text):
        return "nft"
    if re.search(r"^(\*\w+|(\[\d+:\d+\] )?-A |:\w+ )", text, re.M):
        return "iptables"
    if re.search(r"^create \S+ (hash|bitmap|list):", text, re.M):
        return "ipset"
    if re.search(r"\bfilters\s*[=:]\s*\(", text):
        return "xdpfw"
    raise Left("unknown format, none of iptables-save, `ipset save`, `nft list ruleset` with or without -j, and "
               "xdpfw.conf: name it with --from")


def together(texts, form=None):
    """One ruleset: the sets of ipset go after the rules of iptables, whose line numbers stay."""
    forms = [form or format_of(text) for text in texts]
    rules = [n for n, found in enumerate(forms) if found != "ipset"]
    if not rules:
        raise Left("sets of addresses have no verdict: pass the output of iptables-save as well")
    if len(rules) > 1 or len(texts) > 1 and forms[rules[0]] != "iptables":
        raise Left("is more than one ruleset: import one at a time (several files are for iptables-save and `ipset save`)")
    return forms[rules[0]], "\n".join([texts[rules[0]], *(t for n, t in enumerate(texts) if n != rules[0])])


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


def convert(texts, form=None, rlctl=None, options=None):
    """Returns a Policy; raises Left if the texts cannot be read at all."""
    policy = Policy(functools.partial(refused, rlctl) if rlctl else None, options)
    form, text = together(texts, form)
    READERS[form](policy, text)
    if not rlctl:
        policy.note("rlctl not found: the policy is not checked")
    return policy
