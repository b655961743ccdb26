#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policy that scripts/import prints lets through the packets that the firewall lets through: the rows
# speak TAP themselves (firewalls.py).  SEED, CASES: of the firewalls made at random. check: timeout 400
source "$(dirname "$0")/../lib.sh"

export RLCTL PYTHONDONTWRITEBYTECODE=1

veth_pair C D && veth_quiet C D || exit 1
in_ns D sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.veth-D.rp_filter=0
# A segment without a SYN begins no connection, as the import says of the state NEW; checksums are left empty here.
in_ns D sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0 net.netfilter.nf_conntrack_checksum=0 2>/dev/null
if in_ns D nft list ruleset >/dev/null 2>&1 && in_ns D iptables-restore </dev/null 2>/dev/null; then
	in_ns D python3 "$TOP/tests/net/firewalls.py" "$TOP/scripts/import" "$RLCTL" "$(ns C)" veth-C veth-D "${SEED:-15}" \
		"${CASES:-6}" || _failed=1
else
	skip 'the same packets come through' 'no iptables-nft here'
fi
