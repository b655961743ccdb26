#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# stats --since: what was counted since an earlier document, of the same instance only. stats --sort: the order
# of the rules, in text and JSON. On a terminal: as wide as that.
source "$(dirname "$0")/../lib.sh"

ping_b() { in_ns A ping -q -c "$1" -i 0.01 -W 1 -s "${3:-56}" "$2" >/dev/null; } # N ADDRESS [BYTES]

# since FILTER: of the difference from $TMP/then
since() { rl B stats --since "$TMP/then" -j | json ".[0] | $1"; }
then_is_now() { rl B stats -j >"$TMP/then"; }

test_since() {
	rl B apply - <<<'rule 10.77.0.1 limit 1000/second burst 100' && ping_b 4 10.77.0.2 && then_is_now || return
	is "$(since .passed.packets)" 0 && ping_b 3 10.77.0.2 && is "$(since .passed.packets)" 3 &&
		is "$(since '.rules[0].passed.packets')" 3 && is "$(since .reasons.within.packets)" 3 &&
		is "$(stat_of B .passed.packets)" 7 && is "$(since .from)" "$(json '.[0].time' <"$TMP/then")" &&
		has 'in the last ' rl B stats --since - <"$TMP/then"
}

# A rule whose rate changed is the same one; one that was deleted and added begins at zero, and is not less.
test_since_rules() {
	then_is_now && rl B rule add 10.77.0.1 limit 900/second burst 90 && ping_b 2 10.77.0.2 &&
		is "$(since '.rules[0].passed.packets')" 2 && ping_b 3 10.77.0.2 && then_is_now &&
		rl B rule del 10.77.0.1 && rl B rule add 10.77.0.1 limit 900/second burst 90 && ping_b 1 10.77.0.2 &&
		is "$(since '.rules[0].passed.packets')" 1 && is "$(since .passed.packets)" 1
}

# Rates are those of the time between the two readings.
test_since_rates() {
	jq '.[0].time = (now - 3600 | todate)' "$TMP/then" >"$TMP/hour" &&
		has 'in the last 1h' rl B stats --since "$TMP/hour"
}

refused() { has "$1" expect_status 1 rl B stats --since "$2"; } # TEXT FILE

# shellcheck disable=SC2016 # the backquotes are those of messages
test_since_refused() {
	echo '{}' >"$TMP/object" && echo '[' >"$TMP/broken" && echo '[]' >"$TMP/empty" && echo '[1, null, [], "a"]' >"$TMP/odd" &&
		jq '.[0].time = "yesterday"' "$TMP/then" >"$TMP/time" &&
		jq '.[0].reasons.within.packets = 1000000' "$TMP/then" >"$TMP/more" || return
	refused 'object: not a document of `rlctl stats -j`' "$TMP/object" && refused 'not a document' "$TMP/broken" &&
		refused 'not a document' "$TMP/time" && refused 'empty: has no instance of veth-B at xdp' "$TMP/empty" &&
		refused 'odd: has no instance' "$TMP/odd" && refused 'more: veth-B was attached again at xdp' "$TMP/more" &&
		refused 'not a document' /dev/null
}

# A null or a number in place of a text.
test_since_kinds() {
	local value
	for value in null 1 '[]'; do
		echo "[{\"device\":$value},{\"device\":\"veth-B\",\"hook\":$value}]" >"$TMP/kind" &&
			refused 'kind: has no instance of veth-B' "$TMP/kind" &&
			jq ".[0].time = $value" "$TMP/then" >"$TMP/kind" && refused 'not a document' "$TMP/kind" &&
			jq ".[0].since = $value" "$TMP/then" >"$TMP/kind" && refused 'was attached again' "$TMP/kind" &&
			jq ".[0].rules[0].rule = $value" "$TMP/then" >"$TMP/kind" && rl B stats --since "$TMP/kind" >/dev/null || return
	done
	has 'zero: not a file but a device: name a file' expect_status 1 timeout 10 "$RLCTL" -n "$(ns B)" stats --since /dev/zero
}

test_since_other() {
	then_is_now && rl B detach veth-B && rl B attach veth-B &&
		refused 'veth-B was attached again at xdp since then: its counters began at zero' "$TMP/then"
}

# Only where the selection would have it: an instance of the document that is gone.
test_since_gone() {
	local gone='then: veth-B at egress is no longer attached: its counters are left out'
	rl B attach veth-B --hook egress && then_is_now && ! rl B stats --since "$TMP/then" 2>&1 | grep 'no longer' &&
		rl B detach veth-B --hook egress && has "$gone" rl B stats --since "$TMP/then" &&
		has "$gone" rl B stats 'veth*' --since "$TMP/then" -j &&
		! rl B stats --hook xdp --since "$TMP/then" 2>&1 | grep 'no longer' &&
		jq '(.[] | select(.hook == "egress")).device = "veth-X"' "$TMP/then" >"$TMP/other" &&
		! rl B stats veth-B --since "$TMP/other" 2>&1 | grep 'no longer'
}

# order BY: the rules, by the first word of each
order() { rl B stats --sort "$1" -j | json '[.[0].rules[].rule | split(" ")[0]] | join(" ")'; }

test_sort() {
	local n
	rl B apply - <<-'END' || return
	rule 10.77.0.1 icmp allow
	rule fd77::/64 icmp6 limit 1000/second burst 100
	rule fd77::1 icmp6 limit 1/hour
	rule 10.77.0.1 udp deny
	END
	in_ns A bash -c 'for n in 1 2 3 4 5; do echo >/dev/udp/10.77.0.2/9; done' && ping_b 3 10.77.0.2 || return
	is "$(rl B stats --sort dropped -j | json '.[0].rules[0].rule')" '10.77.0.1 udp deny' &&
		is "$(rl B stats --sort passed -j | json '.[0].rules[0].rule')" '10.77.0.1 icmp allow' &&
		is "$(rl B stats --sort bytes -j | json '.[0].rules[0].rule')" '10.77.0.1 icmp allow' &&
		is "$(order rule)" "$(rl B show -j | json '[.policy[] | split(" ")[1]] | join(" ")')" &&
		is "$(rl B stats -j | jq -c '.[0].rules')" "$(rl B stats --sort rule -j | jq -c '.[0].rules')" || return
	is "$(rl B stats --sort dropped | sed -n '/rule$/{n;p}' | grep -o '10.77.*')" '10.77.0.1 udp deny'
}

# By what was counted since: the rule that counted most before comes second.
test_sort_since() {
	then_is_now && ping_b 9 10.77.0.2 &&
		is "$(rl B stats --sort passed --since "$TMP/then" -j | json '.[0].rules[0].passed.packets')" 9 &&
		is "$(rl B stats --sort dropped --since "$TMP/then" -j | json '.[0].rules[0].dropped.packets')" 0
}

# ---- on a terminal

WIDE='rule any udp not sport 53 dport 27015-27030 limit 123456/second burst 234567 over drop unless established'
wide_policy() {
	printf '%s\n' "$WIDE" 'alarm flood when udp over 100k/second for 1s until under 50k/second for 10s' \
		'set members max 100' 'rule @members limit 1000/second burst 2000'
}

# terminal COLUMNS LINES LAST KEYS CMD…: what CMD prints on such a terminal, whose user presses KEYS at the LAST words.
terminal() {
	COLUMNS=$1 LINES=$2 python3 "$TOP/tests/terminal.py" "$3" "$4" -- "$RLCTL" -n "$(ns B)" "${@:5}" |
		sed 's/\r$//; s/\x1b\[[HJ]//g'
}
widest() { awk 'length > most { most = length } END { print most }'; }

# Dropped packets stay, and the rule, as far as there is room for it. Elsewhere nothing is left out.
fits() { # COLUMNS
	local text watched
	text=$(terminal "$1" 24 refused '' stats) && watched=$(terminal "$1" 40 refused '\x03' stats --watch) || return
	printf '%s\n' "$text" "$watched"
	between "$(widest <<<"$text")" 40 "$1" && between "$(widest <<<"$watched")" 40 "$1" &&
		grep -qE '^passed .*dropped .* rule$' <<<"$text" && grep -qE ' any udp not sport 53.*\.\..*stablished$' <<<"$text" &&
		grep -qE '(^| )dropped +/s .* rule$' <<<"$watched" && grep -qE '^members .* refused +set$' <<<"$text"
}
test_width() {
	wide_policy | rl B apply --yes - && ping_b 3 10.77.0.2 && fits 60 && fits 80 || return
	has "${WIDE#*-27030 }" rl B stats && has 'bytes' rl B stats && has 'extended' rl B stats
}
test_status_width() {
	local text columns
	for columns in 60 80; do
		text=$(terminal $columns 24 alarm '' status) && echo "$text" && between "$(widest <<<"$text")" 40 $columns &&
			grep -qE '^device +hook +mode .* memory$' <<<"$text" && grep -qE '^veth-B +xdp ' <<<"$text" &&
			grep -q '^veth-B xdp: alarm flood off' <<<"$text" || return
	done
	has 'companion' rl B status && has 'on over 100000/second for 1s' rl B status
}

# The first line is that of the instance.
test_watch_height() {
	local text
	text=$(terminal 80 10 'more lines' '\x03' stats --watch) && echo "$text" && is "$(head -n 1 <<<"$text")" 'veth-B xdp' &&
		is "$(sed -n 9p <<<"$text" | sed 's/^[0-9]*//')" ' more lines: make the terminal higher, or add --sort dropped'
}

# A botnet has a name: the prefix that bears most of what is dropped, as in top.
test_prefix() {
	local text
	echo 'rule any limit 1/hour burst 1' | rl B apply --yes - && { flood A --seconds 12 --rate 20000 --src 100.64.0.0/22 >&2 & } &&
		text=$(terminal 100 40 'dropped/s' '\x03' stats --watch) && wait $! && echo "$text" && is "$(head -n 1 <<<"$text")" 'veth-B xdp' &&
		grep -qE '^100\.64\.0\.0/2[234]: .*sources.*, [0-9.]+k dropped/s$' <<<"$text" && ! has 100.64 rl B stats 2>/dev/null
}

# One that has read what it wanted.
test_reader_gone() {
	(sleep 0.2 && exec "$RLCTL" -n "$(ns B)" stats 2>"$TMP/said") | true
	is "${PIPESTATUS[0]}" 141 && is "$(<"$TMP/said")" ''
}

veth_pair A B && veth_quiet A B && rl B attach veth-B || exit 1
t 'since a document' test_since
t 'since: rules that changed' test_since_rules
t 'since: the time between' test_since_rates
t 'since: refused documents' test_since_refused
t 'since: other kinds of values' test_since_kinds
t 'since: another instance' test_since_other
t 'since: an instance that is gone' test_since_gone
t 'sort' test_sort
t 'sort, since a document' test_sort_since
t 'as wide as the terminal' test_width
t 'status as wide as the terminal' test_status_width
t 'watched, the first line stays' test_watch_height
t 'nobody reads any more' test_reader_gone
t 'the prefix of a botnet' test_prefix
