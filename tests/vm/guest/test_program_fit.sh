#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The program behind libxdp's dispatcher follows the policy: `established` comes and goes there, with its
# companion at egress. Where the kernel takes no program that answers behind a dispatcher, it comes to
# stand alone, unless other programs are there. Each row goes on with the instance of the row before.
source "$(dirname "$0")/guest.sh"

ALIEN=$TOP/build/receiver.bpf.o
ALIEN_NAME=receiver_pass
PLAIN='rule any udp deny'
ASKING='rule any udp deny
rule any tcp established limit 1/hour burst 1 over count
rule any icmp not established limit 1/hour burst 1'
CHALLENGING='rule any udp deny
rule any tcp syn limit 1/hour burst 1 over challenge'

companion() { rl B status -j | json '.[0].companion.program_id'; }
program() { rl B status -j | json '.[0].program_id'; }
unloaded() { ! bpftool prog show id "$1" >/dev/null 2>&1; }
seen() { counter B IpInReceives; }
denied() { stat_of B .reasons.denied.packets; }
denied_more() { [[ $(denied) -gt $1 ]]; }

# on_device: the name of the program on the device itself.
on_device() { bpftool -j prog show id "$(xdp_program B veth-B)" | json -r .name; }

# put POLICY: another program has come for it, and the one before is gone.
put() {
	local before
	before=$(program) && rl B apply -i veth-B - <<<"$1" && is "$(rl B show)" "$1" && [[ $(program) -ne $before ]] &&
		eventually 10 unloaded "$before"
}

test_established() {
	rl B attach veth-B && dispatched B veth-B && put "$ASKING" && dispatched B veth-B && companion &&
		is "$(names B veth-B)" rlctl_xdp && put "$PLAIN" && dispatched B veth-B &&
		is "$(rl B status -j | json '.[0].companion // "none"' -r)" none
}

# stands: behind the dispatcher, or alone without a pin of a dispatcher.
stands() {
	echo "on the device: $(on_device)"
	case $(on_device) in
	xdp_dispatcher) is "$(names B veth-B)" rlctl_xdp ;;
	rlctl_xdp) eventually 10 prints '' pins ;;
	*) return 1 ;;
	esac
}
pins() { find "$BPFFS/xdp" -name 'dispatch-*' 2>/dev/null; }

# Nothing passes while the program changes.
test_challenge() {
	local before at
	before=$(seen) && bg flood A --seconds 600 --rate 500 --src 10.78.0.0/16 && eventually 30 denied_more 100 &&
		put "$CHALLENGING" && at=$(denied) && eventually 30 denied_more "$at" && kill -TERM -- "-$BG_PID" &&
		is "$(seen)" "$before" && stands
}

test_challenge_leaves() { put "$PLAIN" && stands && rl B detach veth-B && nothing_left B veth-B; }

test_attached() {
	rl B attach veth-B --policy - <<<"$CHALLENGING" && stands && is "$(rl B show)" "$CHALLENGING" &&
		rl B detach veth-B && nothing_left B veth-B
}

# Where it can stand behind the dispatcher, it comes; where not, nothing changes.
test_others() {
	local before status=0
	rl B attach veth-B && in_ns B xdp-loader load veth-B "$ALIEN" -n "$ALIEN_NAME" -P 50 -m native &&
		rl B apply -i veth-B - <<<"$PLAIN" && before=$(program) || return
	rl B apply -i veth-B - <<<"$CHALLENGING" >"$TMP/said" 2>&1 || status=$?
	cat "$TMP/said"
	is "$(names B veth-B)" "rlctl_xdp $ALIEN_NAME" || return
	[[ $status -ne 0 ]] || return 0
	is "$status" 1 && grep -q 'other XDP programs are in the way' "$TMP/said" && is "$(program)" "$before" &&
		is "$(rl B show)" "$PLAIN"
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B || exit 1
t 'established comes and goes' test_established
t 'a program that answers comes' test_challenge
t 'and goes' test_challenge_leaves
t 'attached with one' test_attached
t 'beside a program of others' test_others
