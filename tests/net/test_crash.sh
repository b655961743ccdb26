#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kill -9 in the middle of anything: the policy is the old or the new one, the next command works, an
# instance is whole or gone, and nothing is left behind. The moments of the kills are spread evenly
# over the time that the command takes, and a little beyond. check: timeout 240
source "$(dirname "$0")/../lib.sh"

KILLS=50
ENTRIES=1241 # of our tries alone

# span CMD…: how long CMD takes, the shortest of three times, in milliseconds; UNDO is run after each.
span() {
	local n start ms shortest=60000
	for n in 1 2 3; do
		start=$(date +%s%N)
		"$@" >/dev/null || return
		ms=$((($(date +%s%N) - start) / 1000000 + 1))
		[[ $ms -ge $shortest ]] || shortest=$ms
		"$UNDO" || return
	done >&2
	echo "$shortest"
}
nothing() { :; }
UNDO=nothing

# kill_at NUMBER SPAN CMD…: starts CMD and kills it at that part of the time. True if it was killed.
kill_at() {
	local pid delay status=0
	delay=$(jq -n "$1 * $2 * 1.3 / $KILLS / 1000") || return
	"${@:3}" >/dev/null &
	pid=$!
	sleep "$delay"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null || status=$?
	[[ $status -eq 137 ]]
}

# rlctl itself is to be killed, not a function around it.
apply() { exec "$RLCTL" -n "$(ns B)" apply "$1"; }
attach() { exec "$RLCTL" -n "$(ns B)" attach veth-B --policy "$TMP/x"; }
detach() { exec "$RLCTL" -n "$(ns B)" detach veth-B; }
rule_add() { exec "$RLCTL" -n "$(ns B)" rule add 192.0.2.1 deny; }

in_subshell() { ("$@"); }

# tries: inner tries of our policies.
tries() { bpftool -j map show | jq "[.[] | select(.name == \"rlctl_trie\" and .max_entries == $ENTRIES)] | length"; }
few_tries() { between "$(tries)" 1 2; }
no_tries() { is "$(tries)" 0; }

policy() { # NAME NUMBER: 1237 rules that differ by the number, and one whose comment does
	seq -f "rule 10.$2.%.0f.0/24 limit $2/second burst 1" 0 255 | sed 's/^rule \([^ ]*\).*/& # \1/' >"$TMP/$1"
	seq -f "rule fd78:$2:%.0f::/48 deny" 1000 1980 >>"$TMP/$1"
	echo "rule 192.0.2.2 deny # $2" >>"$TMP/$1"
}

# ---- apply

judge_apply() {
	rl B show >"$TMP/shown" || return
	if ! cmp -s "$TMP/shown" "$TMP/x" && ! cmp -s "$TMP/shown" "$TMP/y"; then
		echo 'neither policy:' && head -n 5 "$TMP/shown"
		return 1
	fi
	rl B rule add 192.0.2.9 deny && rl B rule del 192.0.2.9
}

test_apply() {
	local n ms killed=0 old=0 next
	rl B attach veth-B --prefixes $ENTRIES && for n in x y; do
		rl B apply "$TMP/$n" && rl B show >"$TMP/$n" || return
	done
	ms=$(span in_subshell apply "$TMP/y") || return
	for ((n = 0; n < KILLS; n++)); do
		if ((n % 2)); then next=y; else next=x; fi
		! kill_at "$n" "$ms" apply "$TMP/$next" || killed=$((killed + 1))
		judge_apply || return
		cmp -s "$TMP/shown" "$TMP/$next" || old=$((old + 1))
	done
	echo "$killed killed in $ms ms, $old of them left the old policy"
	[[ $killed -ge 10 && $old -gt 0 ]] && few_tries && rl B apply "$TMP/y" &&
		eventually 10 is_one_trie
}
is_one_trie() { is "$(tries)" 1; }

test_apply_state() {
	local n ms before
	rl B apply - <<<'rule 10.78.0.0/16 limit 1/hour burst 10' &&
		flood A --count 100 --src 10.78.1.1 || return
	eventually 5 spent && before=$(stats_of B) && rl B show >"$TMP/same" || return
	ms=$(span in_subshell apply "$TMP/same") || return
	for ((n = 0; n < 20; n++)); do
		kill_at $((n * KILLS / 20)) "$ms" apply "$TMP/same"
	done
	is "$(stats_of B)" "$before" && flood A --count 100 --src 10.78.1.1 && eventually 5 spent_again
}
spent() { is "$(rule_stat B 10.78.0.0/16 '"\(.passed.packets) \(.dropped.packets)"')" '10 90'; }
spent_again() { is "$(rule_stat B 10.78.0.0/16 '"\(.passed.packets) \(.dropped.packets)"')" '10 190'; }

test_rule_add() {
	local n ms
	rl B rule flush && ms=$(span in_subshell rule_add) || return
	for ((n = 0; n < 20; n++)); do
		rl B rule flush && { kill_at $((n * KILLS / 20)) "$ms" rule_add || true; } || return
		[[ -z $(rl B show) ]] || is "$(rl B show)" 'rule 192.0.2.1 deny' || return
	done
}

test_detach_leaves_nothing() {
	local ids
	read -ra ids <<<"$(maps_of "$(xdp_program B veth-B)")" && rl B detach veth-B && eventually 10 maps_gone "${ids[@]}" &&
		eventually 10 no_tries
}

# ---- attach and detach

whole() { # the instance on the device is that of attach
	is "$(rl B status -j | json '.[0].program_id')" "$(xdp_program B veth-B)" &&
		cmp "$TMP/x" <(rl B show) && rl B rule add 192.0.2.9 deny
}

gone() { [[ -z $(xdp_program B veth-B) && ! -e $(ns_pins B) ]]; }

detach_quietly() { rl B detach veth-B; }

# Killed at any point, attach leaves an instance that works, or nothing on the device; leftovers do not block
# the next command.
test_attach() {
	local n ms killed=0
	UNDO=detach_quietly
	ms=$(span in_subshell attach) || return
	for ((n = 0; n < 8; n++)); do
		! kill_at $((n * KILLS / 8)) "$ms" attach || killed=$((killed + 1))
		if [[ -n $(xdp_program B veth-B) ]]; then
			whole || return
		else
			is "$(rl B status -j)" '[]' && rl B attach veth-B --policy "$TMP/x" &&
				whole || return
		fi
		rl B detach veth-B && gone || return
	done
	[[ $killed -ge 3 ]] && eventually 10 no_tries
}

# Killed between attaching the program and noting its id, which is all zero then.
test_not_noted() {
	local note bytes zeros
	attach_quietly && note=$(ns_pins B)/veth-B-xdp/program && bytes=$(bpftool -j map show pinned "$note" | json .bytes_value) &&
		mapfile -t zeros < <(yes 00 | head -n "$bytes") &&
		bpftool map update pinned "$note" key hex 00 00 00 00 value hex "${zeros[@]}" && whole && rl B detach veth-B && gone
}

# Interrupted half way, and then detached: the same.
test_attach_then_detach() {
	local n ms
	UNDO=detach_quietly
	ms=$(span in_subshell attach) || return
	for ((n = 0; n < 4; n++)); do
		kill_at $((n * KILLS / 4)) "$ms" attach
		[[ ! -e $(ns_pins B)/veth-B-xdp ]] || rl B detach veth-B || return
		[[ -z $(xdp_program B veth-B) && ! -e $(ns_pins B)/veth-B-xdp ]] || return
	done
	eventually 10 no_tries
}

attach_quietly() { rl B attach veth-B --policy "$TMP/x"; }

test_detach() {
	local n ms
	UNDO=attach_quietly
	attach_quietly && ms=$(span in_subshell detach) || return
	for ((n = 0; n < 8; n++)); do
		[[ -n $(xdp_program B veth-B) ]] || attach_quietly || return
		kill_at $((n * KILLS / 8)) "$ms" detach
		[[ -z $(xdp_program B veth-B) ]] || whole || return
		[[ ! -e $(ns_pins B)/veth-B-xdp ]] || rl B detach veth-B || return
		[[ -z $(xdp_program B veth-B) && ! -e $(ns_pins B)/veth-B-xdp ]] || return
	done
	eventually 10 no_tries
}

veth_pair A B && veth_quiet A B && policy x 1 && policy y 2 || exit 1
t 'apply' test_apply
t 'apply keeps the state' test_apply_state
t 'rule add' test_rule_add
t 'then detach leaves nothing' test_detach_leaves_nothing
rl B attach veth-B --policy "$TMP/x" && rl B show >"$TMP/x" && rl B detach veth-B # as show prints it
t 'attach' test_attach
t 'attach, not noted' test_not_noted
t 'attach, then detach' test_attach_then_detach
t 'detach' test_detach
