#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Filters of pcap-filter(7) come and go on a device under a flood that every policy here denies: each change replaces
# the program, and no packet passes, whatever the change is interrupted by. check: timeout 240
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/swap.sh"

HOOK=xdp
FIRST='rule any filter "udp and src net 10.78.0.0/16" deny'
SECOND='rule any filter "tcp port 1" deny
rule any filter "udp and (less 200 or host 10.77.0.1)" deny
rule any filter "len > 1000" limit 1000/second burst 100'
PLAIN='rule any udp deny'

put() { rl B apply -i veth-B --hook "$HOOK" - <<<"$1"; }
in_force() { is "$(rl B show -i veth-B --hook "$HOOK")" "$1"; }

# holds: the flood arrives and is denied.
holds() { local seen && seen=$(denied) && eventually 10 denied_more $((seen + 200)) && is "$(arrived)" "$QUIET"; }

changed() { # POLICY
	local before
	before=$(program) && put "$1" && in_force "$1" && [[ $(program) -ne $before ]] && eventually 5 unloaded "$before" && holds
}

begin_flood() { # ATTACH-OPTION…
	echo "$FIRST" >"$TMP/policy" && rl B attach veth-B --hook "$HOOK" "$@" --policy "$TMP/policy" || return
	QUIET=$(arrived) && flooding && holds
}
end_flood() { kill -TERM -- "-$BG_PID" && rl B detach veth-B --hook "$HOOK"; }

test_changes() { # HOOK ATTACH-OPTION…
	HOOK=$1
	begin_flood "${@:2}" && changed "$SECOND" && changed "$PLAIN" && end_flood
}

# The same filters once more are no reason to replace the program, nor are rules without one.
test_same() {
	local before
	HOOK=xdp
	rl B attach veth-B --policy - <<<"$SECOND" && before=$(program) && put "$SECOND" && is "$(program)" "$before" &&
		rl B rule add any icmp deny && rl B rule add any filter '"len > 1000"' udp deny && is "$(program)" "$before" &&
		rl B rule del any filter '"tcp port 1"' && [[ $(program) -ne $before ]] && rl B attach veth-B --replace && put "$FIRST" && rl B detach veth-B
}

# More than a program has bits for, with those in force; nothing changes.
test_too_many() {
	local many before
	HOOK=xdp
	many=$(for n in {1..32}; do echo "rule 10.0.0.$n filter \"udp port $n\" deny"; done)
	rl B attach veth-B --policy - <<<"$many" && before=$(program) && has 'too many different filters' expect_status 1 put "$FIRST" &&
		is "$(program)" "$before" && in_force "$many" && put "$(tail -n 31 <<<"$many")" && put "$(tail -n 31 <<<"$many")"$'\n'"$FIRST" && rl B detach veth-B
}

# More instructions than a program has room for, with those in force, which the message says; without these they have room.
test_too_long() {
	local before
	HOOK=xdp
	rl B attach veth-B --policy - <<<"$(long 2001)" && before=$(program) &&
		has 'of this policy and of that in force' expect_status 1 put "$(long 3001)" && is "$(program)" "$before" &&
		put "$PLAIN" && put "$(long 3001)" && rl B detach veth-B
}
long() { # NET: 16 filters
	local n
	for n in {1..16}; do
		echo "rule 10.0.0.$n filter \"host $(($1 + n))$(printf ':%d::1 or host '"$(($1 + n))" {1..10}):11::1\" deny"
	done
}

# ---- killed, on trial

either() { case $(rl B show) in "$FIRST" | "$SECOND") ;; *) rl B show && return 1 ;; esac }

test_crash() {
	local n calls kills=0
	HOOK=xdp
	begin_flood && echo "$SECOND" >"$TMP/next" && strace -o "$TMP/calls" -e trace=bpf "$RLCTL" -n "$(ns B)" apply "$TMP/next" && put "$FIRST" || return
	calls=$(grep -c '^bpf' "$TMP/calls")
	for ((n = calls / 3; n <= calls; n += 1 + calls / 6)); do
		! killed bpf "$n" apply "$TMP/next" || kills=$((kills + 1))
		either && holds && put "$FIRST" && in_force "$FIRST" || return
	done
	[[ $kills -ge 3 ]] && end_flood
}

test_trial() {
	HOOK=xdp
	begin_flood && echo "$SECOND" >"$TMP/next" && bg rl B apply --try 1m "$TMP/next" || return
	eventually 30 prints "$SECOND" rl B show && holds && kill -TERM -- "-$BG_PID" && eventually 30 prints "$FIRST" rl B show && holds &&
		bg rl B apply --try 1m "$TMP/next" && eventually 30 prints "$SECOND" rl B show && rl B confirm && holds && put "$PLAIN" && holds && rl B detach veth-B
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on || exit 1
t 'xdp' test_changes xdp
t 'xdp, generic' test_changes xdp --mode generic
t 'ingress' test_changes ingress
t 'the program stays' test_same
t 'too many' test_too_many
t 'too long' test_too_long
t 'killed in the middle' test_crash
t 'on trial' test_trial
