#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# attach --fq: the qdisc is set, removed again, and the previous one comes back.
source "$(dirname "$0")/../../lib.sh"

qdiscs() { tc -n "$(ns A)" qdisc show dev veth-A; }
root_is() { has "$1" qdiscs; }

test_put() {
	local before
	before=$(qdiscs) && rl A attach veth-A --hook egress --fq && root_is 'fq 726c:' || return
	expect_silent rl A rule add any limit leaky-bucket 10/second && rl A detach veth-A &&
		is "$(qdiscs)" "$before"
}
expect_silent() { is "$("$@" 2>&1)" ''; }

# A configured qdisc comes back with its parameters.
test_restored() { # QDISC…
	local before status=0
	tc -n "$(ns A)" qdisc replace dev veth-A root handle 77: "$@" && before=$(qdiscs) || return
	rl A attach veth-A --hook egress --fq && root_is 'fq 726c:' && rl A detach veth-A &&
		is "$(qdiscs)" "$before" || status=1
	tc -n "$(ns A)" qdisc del dev veth-A root && return "$status"
}

# A qdisc that could not be restored is not touched.
test_refused() {
	tc -n "$(ns A)" qdisc replace dev veth-A root handle 77: mq || return
	has 'could not restore' expect_status 1 rl A attach veth-A --hook egress --fq && root_is 'mq 77:' &&
		[[ ! -e $(ns_pins A) ]] && tc -n "$(ns A)" qdisc del dev veth-A root
}

# A foreign fq stays; so does one that replaced ours.
test_others() {
	tc -n "$(ns A)" qdisc replace dev veth-A root handle 77: fq || return
	has 'already has the qdisc fq' rl A attach veth-A --hook egress --fq &&
		expect_silent rl A rule add any limit leaky-bucket 10/second && rl A detach veth-A &&
		root_is 'fq 77:' && tc -n "$(ns A)" qdisc del dev veth-A root || return
	rl A attach veth-A --hook egress --fq && tc -n "$(ns A)" qdisc replace dev veth-A root handle 78: pfifo &&
		has 'without the qdisc fq' rl A rule add any limit leaky-bucket 10/second &&
		rl A detach veth-A && root_is 'pfifo 78:' && tc -n "$(ns A)" qdisc del dev veth-A root
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && ns_mute B || exit 1
t '--fq, where the default was' test_put
t '--fq, where pfifo was' test_restored pfifo limit 17
t '--fq, where mq is' test_refused
t 'an fq of somebody else' test_others
