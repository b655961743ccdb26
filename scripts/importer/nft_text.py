# SPDX-License-Identifier: GPL-2.0-only
"""nft's own language: nft itself reads it, in a network namespace of its own, and prints it as JSON."""
import os
import re
import subprocess

from .model import Left

BEGINS = re.compile(r"^\s*(?:(?:add|create) )?table (?:(?:ip|ip6|inet|netdev|arp|bridge) )?\w|^#!.*\bnft\b|^\s*flush ruleset|^\s*define \w",
                    re.M)
DEVICES = re.compile(r"\bdevices?\s*=?\s*(\{[^}]*\}|\"?[\w.-]+\"?)|\b[io]if\s+(?:!=\s*)?(\{[^}]*\}|\"?[\w.-]+\"?)")
# Devices that rules name have to exist: nft looks up their indices.
SCRIPT = """for device; do
	ip link add "$device" type dummy 2>/dev/null || ip link add "$device" type veth 2>/dev/null || :
done
nft -f /dev/stdin && exec nft -nj list ruleset"""
HINT = "pass the output of `nft -j list ruleset`"


def devices_in(text):
    words = [w for found in DEVICES.finditer(text) for w in re.findall(r"[\w.-]+", found[1] or found[2])]
    return [w for w in dict.fromkeys(words) if w != "lo" and len(w) < 16]


def as_json(text):
    """The text as `nft -j list ruleset` prints it."""
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    try:
        done = subprocess.run([*alone, "sh", "-c", SCRIPT, "sh", *devices_in(text)], input=text, capture_output=True,
                              text=True, check=False, timeout=60, env={**os.environ, "PATH": path})
    except (OSError, subprocess.TimeoutExpired) as why:
        raise Left(f"nft's own language needs unshare and nft here ({why}): {HINT}") from None
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "rror" in line or "not" in line), done.stderr.strip())
        raise Left(f"nft does not read it in a network namespace of its own ({said.strip()}): {HINT}")
    return done.stdout
