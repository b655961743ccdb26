#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The figures that the command line shows of a limit that classes of senders share: in peace, under a flood of forged sources
# beside a known one, and after another limit has taken its place.
source "$(dirname "$0")/../lib.sh"

share() { stat_of B ".rules[0].share | $1"; }
send() { flood A --count "$1" --rate "$2" >/dev/null; } # PACKETS PPS: of a source that is known after 300 ms

# counts_are CLASS…: for each class what arrived and passed
counts_are() { is "$(share '[.established, .known, .strangers, .unasked | "\(.arrived)/\(.passed)"] | join(" ")')" "$*"; }

test_peace() {
	local before=unshared
	before=$(rl B status -j | json '.[0].memory_bytes')
	rl B apply - <<<'rule device limit 5k/second burst 1000 share' && send 300 300 || return
	counts_are 0/0 0/0 0/0 300/300 && has 'not short now: device limit 5000/second burst 1000 share' rl B stats &&
		has '    300     300  100.0 %  all, while not short' rl B stats || return
	between $(($(rl B status -j | json '.[0].memory_bytes') - before)) 140000 14000000 # with the table of its senders
}
test_shape() {
	is "$(share 'keys_unsorted | join(" ")')" 'short unit established known strangers unasked' && is "$(share .unit)" packets &&
		is "$(share '.known | keys_unsorted | join(" ")')" 'arrived passed' && is "$(share '.short | not')" true
}

# passed CLASS [FROM]: in parts per thousand
passed() { jq -er ".[0].rules[0].share.$1 | .passed * 1000 / .arrived | floor" "$TMP/short"; }
test_flood() {
	rl B stats -j >"$TMP/then" || return
	flood A --src 198.18.0.0/15 --sport 0 --rate 40000 --seconds 3 >/dev/null &
	sleep 0.5 && send 400 250 && rl B stats -j >"$TMP/short" && rl B stats >"$TMP/text" && rl B stats --prometheus >"$TMP/metrics" &&
		COLUMNS=60 LINES=40 python3 "$TOP/tests/terminal.py" refused '' -- "$RLCTL" -n "$(ns B)" stats >"$TMP/screen" && wait $! || return
	cat "$TMP/text" "$TMP/short" "$TMP/screen"
	jq -e '.[0].rules[0].share | .short and .strangers.room > 0 and .strangers.pace > 0 and .established.room > 0' "$TMP/short" &&
		is "$(jq '.[0].rules[0].share.known.arrived > 300' "$TMP/short")" true && between "$(passed known)" 950 1000 &&
		between "$(passed strangers)" 1 400 && grep -qE '^short now: device limit' "$TMP/text" &&
		grep -qE '^ *[0-9,]+ +[0-9,]+ +[0-9.]+ %  strangers$' "$TMP/text" &&
		grep -qE '^rlctl_share_passed_packets_total\{.*,class="known"\} [1-9]' "$TMP/metrics" &&
		between "$(sed 's/\r$//' "$TMP/screen" | awk 'length > most { most = length } END { print most }')" 40 60
}

# The class of a source, as far as its address says it; whether a packet passes depends on others.
test_source() {
	is "$(rl B source show 10.77.0.1 -j | jq -c '[.known, .states, (.shares[] | .class, .short, has("room"))]')" '[true,[],"known",false,false]' &&
		has "'device limit 5000/second burst 1000 share' is not short now" rl B source show 198.18.0.1 &&
		is "$(rl B source show 198.18.0.1 -j | jq -c '[.known, .shares[0].class]')" '[false,"strangers"]' &&
		has 'yes, it passes while the limit has room for its class of senders' rl B explain 10.77.0.1 &&
		has 'no source is banned or at a limit' rl B source list
}

# Amounts since then.
test_since() {
	between "$(rl B stats --since "$TMP/then" -j | json '.[0].rules[0].share.unasked.arrived')" 0 5000 &&
		between "$(rl B stats --since "$TMP/then" -j | json '.[0].rules[0].share.known.arrived')" 301 400
}

# The same limit with another rate goes on; another one has the number of the former, but not its counts.
test_other() {
	local known
	known=$(share .known.arrived) && rl B apply - <<<'rule device limit 6k/second burst 1000 share' && is "$(share .known.arrived)" "$known" &&
		rl B apply - <<<'rule any udp dport 9 limit 6k/second burst 1000 share' && counts_are 0/0 0/0 0/0 0/0 &&
		! rl B stats | grep 'short now' && send 10 100 && counts_are 0/0 0/0 0/0 10/10 || return
	printf '%s\n' 'rule any udp dport 8 limit 6k/second burst 1000 share' 'rule any udp dport 9 limit 6k/second burst 1000 share per source' |
		rl B apply - && send 10 100 && is "$(stat_of B '.rules | map(.share | type) | join(" ")')" 'object object'
}

# Sources that share one bucket: how many send, and what each may.
test_keys() {
	rl B apply - <<<'rule any udp limit 5k/second burst 1000 share per source' && is "$(share '[.short, has("keys")] | join(" ")')" 'false false' || return
	flood A --src 198.18.0.0/27 --rate 20000 --seconds 2 >/dev/null &
	sleep 1.5 && rl B stats -j >"$TMP/short" && rl B stats >"$TMP/text" && rl B stats --prometheus >"$TMP/metrics" && wait $! || return
	cat "$TMP/text" "$TMP/short"
	is "$(jq -c '.[0].rules[0].share | keys_unsorted' "$TMP/short")" '["short","unit","keys","pace"]' &&
		between "$(jq '.[0].rules[0].share.keys' "$TMP/short")" 25 40 && between "$(jq '.[0].rules[0].share.pace' "$TMP/short")" 100 250 &&
		grep -qE '^short now, about [0-9]+ sources, each [0-9]+/s: any udp limit .* share per source$' "$TMP/text" &&
		grep -qE '^rlctl_share_packets_per_second\{.*share per source"\} [1-9]' "$TMP/metrics" &&
		eventually 3 has 'not short now: any udp limit' rl B stats
}

veth_pair A B && veth_quiet A B && rl B attach veth-B || exit 1
t 'in peace' test_peace
t 'the document' test_shape
t 'under a flood' test_flood
sleep 1.1 # until the limit is no longer short
t 'a source' test_source
t 'since a document' test_since
t 'another limit' test_other
t 'a limit that sources share' test_keys
