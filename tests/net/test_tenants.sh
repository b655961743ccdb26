#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Customers on a live device: one account for several prefixes and both families, and a bucket for each member of a
# set. That the buckets are right packet by packet is in prog/test_accounts.c and prog/test_sets.c.
source "$(dirname "$0")/../lib.sh"

# lost COMMAND…: how many of these packets were dropped.
dropped() { rl B stats -i veth-B -j | json '.[0].dropped.packets'; }
lost() { local before; before=$(dropped) && "$@" >/dev/null; echo $(($(dropped) - before)); }
pings() { in_ns A ping -qc "$1" -i 0.01 -W 0.2 "$2" || true; }

TABLE=$'name,prefixes,down,up\n17,10.77.0.0/28 fd77::/64,,5/hour\nother,10.77.0.128/25,,5/hour'

test_table() {
	"$TOP/scripts/tenants" --up - <<<"$TABLE" >"$TMP/policy" && rl B apply "$TMP/policy" &&
		is "$(rl B show | wc -l)" 3 && in_ns A ip addr add 10.77.0.200/24 dev veth-A
}

test_one_account() {
	is "$(lost pings 3 10.77.0.2)" 0 && is "$(lost in_ns A ping -qc 3 -i 0.01 -W 0.2 fd77::2)" 1 &&
		is "$(lost pings 2 10.77.0.2)" 2 && is "$(lost in_ns A ping -qc 5 -i 0.01 -I 10.77.0.200 10.77.0.2)" 0
}

test_shown() {
	has 'account 17' rl B source show 10.77.0.1 && has 'account 17' rl B source show fd77::1 &&
		is "$(rl B source show fd77::1 -j | json '.states[] | select(.rule | test("account 17")) | .remaining')" 0 &&
		has 'yes, over: nothing left' rl B explain 10.77.0.1 icmp icmp-type echo-request length 84
}

test_forgiven() { rl B source forgive 10.77.0.1 && is "$(lost in_ns A ping -qc 2 -i 0.01 fd77::2)" 0; }

# A third prefix of the account finds its bucket spent, and leaves it so.
test_prefix_added() {
	pings 5 10.77.0.2 && rl B rule add 10.77.0.64/27 limit 5/hour per account 17 && in_ns A ip addr add 10.77.0.70/24 dev veth-A &&
		is "$(lost in_ns A ping -qc 2 -i 0.01 -W 0.2 -I 10.77.0.70 10.77.0.2)" 2 && rl B rule del 10.77.0.64/27 limit 5/hour per account 17 &&
		is "$(lost pings 1 10.77.0.2)" 1
}

test_replaced() { rl B attach veth-B --replace && is "$(lost pings 1 10.77.0.2)" 1 && is "$(rl B show | wc -l)" 3; }

test_members() {
	rl B apply - <<<$'set plan\nrule @plan limit 3/hour burst 3 per set member' && rl B set add plan 10.77.0.0/28 10.77.0.200 &&
		is "$(lost pings 2 10.77.0.2)" 0 && is "$(lost in_ns A ping -qc 4 -i 0.01 -W 0.2 -I 10.77.0.200 10.77.0.2)" 1 &&
		is "$(lost pings 2 10.77.0.2)" 1 && has '10.77.0.0/28' rl B source show 10.77.0.1 &&
		has '@plan limit 3/hour burst 3 per set member' rl B source show 10.77.0.1 && has 'by its member 10.77.0.0/28: yes, over' rl B explain 10.77.0.5 udp dport 9
}

test_members_forgiven() {
	rl B source forgive 10.77.0.3 && is "$(lost pings 3 10.77.0.2)" 0 && is "$(lost pings 1 10.77.0.2)" 1 &&
		is "$(lost in_ns A ping -qc 1 -W 0.2 -I 10.77.0.200 10.77.0.2)" 1
}

test_per_set() {
	rl B apply - <<<$'set plan\nrule @plan limit 3/hour burst 3 per set' && is "$(rl B show | tail -n 1)" 'rule @plan limit 3/hour burst 3 per rule' || return
	is "$(lost pings 3 10.77.0.2)" 0
}

applied() { "$TOP/scripts/tenants" --up --device "$1" - <<<$'name,prefixes,devices,down,up\n9,,veth-B tap1,,5/hour' | rl B apply -i "$1" -; }

# Two devices of one customer, in a table, share a bucket, which a detach or another program of one leaves to the other.
test_devices() {
	devices_new tap1 && in_ns B sysctl -qw net.ipv6.conf.tap1{,-peer}.disable_ipv6=1 && in_ns B ip link set tap1 up && in_ns B ip link set tap1-peer up && rl B attach tap1 &&
		applied veth-B && applied tap1 && pings 3 10.77.0.2 >/dev/null &&
		in_ns B "$TOP/build/flood" -i tap1-peer --count 4 >/dev/null &&
		is "$(rl B stats -i tap1 -j | json '.[0] | .passed.packets + .dropped.packets')" 4 &&
		is "$(rl B stats -i tap1 -j | json '.[0].dropped.packets')" 2 && is "$(lost pings 1 10.77.0.2)" 1 &&
		rl B attach tap1 --replace && rl B detach veth-B && rl B attach veth-B &&
		rl B rule add -i veth-B device limit 5/hour per account 9 && is "$(lost pings 1 10.77.0.2)" 1
}

# The last one takes it along.
test_devices_forgotten() {
	rl B detach all && rl B attach veth-B && rl B rule add device limit 5/hour per account 9 && is "$(lost pings 5 10.77.0.2)" 0
}

veth_pair A B && veth_quiet A B && rl B attach veth-B || exit 1
t 'a table becomes a policy' test_table
t 'one account for both families' test_one_account
t 'source show and explain' test_shown
t 'source forgive' test_forgiven
t 'a prefix more' test_prefix_added
t 'another program keeps the account' test_replaced
t 'a bucket for each member' test_members
t 'a member is forgiven' test_members_forgiven
t 'per set' test_per_set
t 'two devices of an account' test_devices
t 'an account of no device' test_devices_forgotten
t 'detach' rl B detach veth-B
