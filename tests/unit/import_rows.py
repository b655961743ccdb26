# SPDX-License-Identifier: GPL-2.0-only
"""Rows of test_import.sh: what is read, the policy that comes of it (rules without their first word,
None for none), and part of what is said to be left out, None where all is carried over. Every policy has
to be accepted by `rlctl apply --check`. Prints TAP.  import_rows.py SCRIPTS RLCTL"""
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import importer  # noqa: E402
from import_rows_common import FLAGS  # noqa: E402
from import_rows_iptables import IPTABLES, iptables_text  # noqa: E402
from import_rows_nft import NFT, nft_text  # noqa: E402
from import_rows_xdpfw import XDPFW, xdpfw_text  # noqa: E402

RLCTL = sys.argv[2]


# ---- one test per row

def outcome(text, form, flags):
    """Rules joined by ; and what is said to be left out."""
    try:
        policy = importer.convert([text], rlctl=RLCTL, options=importer.Options(
            host="-host" not in flags, conntrack="-conntrack" in flags, every="-all" in flags, family=6 if "-ipv6" in flags else None,
            close="-close" in flags))
    except importer.Left as why:
        return None, str(why)
    if importer.format_of(text) != form:
        return f"recognised as {importer.format_of(text)}", None
    rules = ";".join(rule.removeprefix("rule ") for rule, _ in policy.lines)
    said = [f"{place} {why}" for place, why in policy.left] + [f"{place} left to the firewall" for place in policy.drops]
    return rules or None, "; ".join(said) or None


def accepted(rules):
    text = "".join(f"rule {rule}\n" for rule in rules.split(";")) if rules else ""
    return subprocess.run([RLCTL, "apply", "--check", "-"], input=text, text=True, check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def row(name, wanted, left, text, form, flags):
    rules, said = outcome(text, form, flags)
    good = rules == wanted and (said is None if left is None else left in (said or "")) and accepted(rules)
    print(f"{'ok' if good else 'not ok'} {form}: {name}")
    if not good:
        print(f"# rules:  {rules}\n# wanted: {wanted}\n# left out: {said}\n# wanted:   {left}")
    return good


def main():
    tables = (("iptables", IPTABLES, iptables_text), ("nft", NFT, nft_text), ("xdpfw", XDPFW, xdpfw_text))
    results = [row(name, wanted, left, make(entry), form, FLAGS.intersection(map(str, entry)))
               for form, rows, make in tables for name, wanted, left, *entry in rows]
    return 0 if all(results) else 1


sys.exit(main())
