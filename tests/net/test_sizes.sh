#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sizes: lists as large as the public ones fit a default attach, unused capacity takes no memory, and
# --prefixes and --bans are raised during a flood, with all state kept.
source "$(dirname "$0")/../lib.sh"

# list N: as many prefixes that lie beside one another, and those that the flood comes from.
list() {
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
		printf "rule 20.%d.%d.%d/31 deny\n", i / 32768, i / 128 % 256, 2 * i % 256 }'
	echo 'rule 10.78.0.0/16 deny'
}

denied() { rule_stat B "$1" .dropped.packets; }
sends() { flood A --count "$1" --src "$2"; }
memory() { rl B status -j | json '.[0].memory_bytes'; }

# The drops of its last prefix are counted, also after another list replaces it.
test_list() { # N LAST
	list "$1" >"$TMP/list" && rl B apply "$TMP/list" && is "$(stat_of B '.rules | length')" $(($1 + 1)) &&
		sends 100 "$2" && is "$(denied "$2/31 deny")" 100 && list $(($1 + 1000)) >"$TMP/list" &&
		rl B apply "$TMP/list" && sends 10 "$2" && is "$(denied "$2/31 deny")" 110
}

# Counters for two lists, and the policy itself; the next policy but one is without them, but for the array of rules.
test_memory() {
	local empty=$EMPTY full
	full=$(memory) && [[ $((full - empty)) -lt $((8 << 20)) ]] || _say "$full beside $empty" || return
	[[ $full -gt $empty ]] && rl B rule flush && rl B rule flush && between "$(memory)" "$empty" $((empty + (1 << 20)))
}

# The maps that only some policies need go with the rule that needed them; a banned source stays banned. A
# bucket of a flow needs none, for it is in the hot table.
test_release() {
	local rule before full
	rl B rule flush && rl B apply - <<<'rule any limit 9/s' && before=$(memory) || return
	for rule in 'any limit sliding-window 9/s' 'any limit sliding-log 9/s' 'any limit fixed-window 9/s per flow' \
		'any new-source limit 9/s' 'any limit 9/s over ban 1h'; do
		rl B apply - <<<"rule $rule" && full=$(memory) && rl B apply - <<<'rule any limit 9/s' || return
		[[ $full -gt $((before + 100000)) ]] && between "$(memory)" "$before" $((before + 65536)) ||
			_say "$rule: $before, $full, $(memory)" || return
	done
	rl B apply - <<<'rule any limit 9/s per flow' && between "$(memory)" "$before" $((before + 65536)) || return
	rl B apply - <<<'rule any udp limit 1/hour burst 1 over ban 1h source' && sends 9 10.79.0.1 &&
		rl B apply - <<<'rule any limit 1000/s' && [[ $(memory) -gt $((before + 100000)) ]] &&
		rl B apply - <<<'rule any udp limit 1/hour burst 1 over ban 1h source' &&
		has everything rl B source show 10.79.0.1 && rl B rule flush
}

# A limit of a rule is held also where its state is in a chunk.
test_shared() {
	{ list 9000 && echo 'rule 21.0.0.0/8 limit 1/hour burst 5 per rule'; } >"$TMP/list" &&
		rl B apply "$TMP/list" && [[ $(slot_of 21.0.0.0/8) -ge 8192 ]] && sends 20 21.0.0.0/16 &&
		is "$(rule_stat B 21.0.0.0/8 '"\(.passed.packets) \(.dropped.packets)"')" '5 15' &&
		rl B rule add 192.0.2.1 deny && sends 20 21.0.0.0/16 &&
		is "$(rule_stat B 21.0.0.0/8 '"\(.passed.packets) \(.dropped.packets)"')" '5 35'
}
slot_of() { rl B rule list -v "$1" | awk 'NR == 2 { print $1 }'; }

# ---- raised while it runs

LIMITS='rule 10.78.0.0/16 deny
rule 22.0.0.0/8 udp limit 1/hour burst 2 over ban 1h'
# No packet gets past, adding one rule after the other still fits as a list does, and counters and spent
# limits stay.
test_grow() {
	local before n seconds=3
	rl B detach veth-B && rl B attach veth-B --prefixes 100 --bans 50 && rl B apply - <<<"$LIMITS" || return
	flood A --count 100 --src 22.0.0.0/28 --sequential && before=$(banned) && [[ $before -gt 0 ]] || return
	list 90 >"$TMP/list" && cat - "$TMP/list" <<<"$LIMITS" | rl B apply - || return
	list 1000 >"$TMP/list" && has 'attach --replace' expect_status 1 rl B apply "$TMP/list" || return
	bg flood A --seconds "$seconds" --rate 200000 --src 10.78.0.0/16
	rl B attach veth-B --replace --prefixes 2000 --bans 500 || return
	wait "$BG_PID"
	is "$(stat_of B '.passed.packets')" "$(rule_stat B 22.0.0.0/8 .passed.packets)" &&
		is "$(rl B status -j | json '.[0].bans | "\(.used) \(.capacity)"')" '16 500' &&
		flood A --count 16 --src 22.0.0.0/28 --sequential && is "$(banned)" $((before + 16)) || return
	for ((n = 0; n < 20; n++)); do rl B rule add "192.0.2.$n" deny || return; done
	list 1000 >"$TMP/list" && rl B apply "$TMP/list" && has 'can only raise' \
		expect_status 1 rl B attach veth-B --replace --prefixes 1000
}
banned() { stat_of B .reasons.banned.packets; }

# ---- bans

# A flood that earns more bans than there are slots evicts none in force, and the rest is counted.
test_bans() {
	rl B detach veth-B && rl B attach veth-B --bans 100 && is "$(rl B status -j | json '.[0].bans.used')" 0 &&
		rl B rule add any udp limit 1/hour burst 1 over ban 1h && sends 2 10.79.0.1 || return
	is "$(ban_of 10.79.0.1)" true && flood A --count 3000 --src 10.80.0.0/22 --sequential || return
	between "$(stat_of B .pressure.bans_refused)" 900 2000 && between "$(stat_of B .pressure.strangers)" 1025 1025 &&
		is "$(rl B status -j | json '.[0].bans.used')" 100 &&
		is "$(ban_of 10.79.0.1)" true &&
		has 'bans_refused' rl B stats && has 'rlctl_bans_refused_total{' rl B stats --prometheus
}

ban_of() { rl B source show "$1" -j | json '.states[0].ban_ns > 0'; }

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on &&
	rl B attach veth-B && EMPTY=$(memory) || exit 1
t 'a list of 18,112 prefixes' test_list 18112 20.0.141.126
t 'a list of 20,391 prefixes' test_list 20391 20.0.159.76
t 'memory comes and goes with the list' test_memory
t 'memory comes and goes with what rules need' test_release
t 'a shared state beyond the array' test_shared
t 'more prefixes and bans under a flood' test_grow
t 'bans in force stay' test_bans
