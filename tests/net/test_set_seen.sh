#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets as they are seen: in stats, the exporter's text, rule get, explain, monitor and doctor.
source "$(dirname "$0")/../lib.sh"

policy() {
	printf '%s\n' 'set bad max 10' 'set idle' "set feed file $TMP/feed every 1h" 'rule @bad deny' 'rule any src @feed deny'
}

# of SET FILTER: of that set, in stats.
of() { rl B stats -j | jq -r ".[0].sets[] | select(.set == \"$1\") | $2"; }

begin() {
	echo 192.0.2.0/24 >"$TMP/feed"
	veth_pair A B && policy >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" -q
}

# finding NAME: what doctor says of the sets.
finding() { rl B doctor veth-B -j | jq -r '.[] | select(.check == "sets") | .what' | grep -c "$1"; }

test_counts() {
	rl B set add bad 10.77.0.1 10.78.0.0/16 fd77::1 -q && rl B set add bad 10.77.0.1 for 1h -q &&
		flood A --count 4 --src 10.77.0.1 && flood A --count 3 --src 10.79.0.1 &&
		is "$(of bad '"\(.ipv4) \(.ipv6) \(.max) \(.added) \(.source)"')" '2 1 10 3 dynamic' &&
		is "$(of bad .matched.packets)" 4 && is "$(of idle .matched.packets)" 0 &&
		is "$(of feed '"\(.ipv4) \(.source) \(.loaded | length > 0)"')" '1 file true'
}
test_expired() {
	rl B set add idle 198.51.100.1 for 5s -q && is "$(of idle .ipv4)" 1 && sleep 5.5 && is "$(of idle .ipv4)" 0
}
test_refused() {
	expect_status 1 rl B set add bad 198.51.100.{1..9} -q >/dev/null && is "$(of bad .refused)" 2 &&
		is "$(of bad '.ipv4 + .ipv6')" 10
}
test_table() { rl B stats | grep -Eq '^ +10 +10 +4 .* 2  bad$'; }
test_metrics() {
	rl B stats --prometheus >"$TMP/metrics" &&
		grep -q '^rlctl_set_members{device="veth-B",hook="xdp",set="bad",family="ipv6"} 1$' "$TMP/metrics" &&
		grep -q '^rlctl_set_capacity{device="veth-B",hook="xdp",set="bad"} 10$' "$TMP/metrics" &&
		grep -q '^rlctl_set_matched_packets_total{device="veth-B",hook="xdp",set="bad"} 4$' "$TMP/metrics" &&
		grep -q '^rlctl_set_refused_total{device="veth-B",hook="xdp",set="bad"} 2$' "$TMP/metrics" &&
		grep -q '^rlctl_set_loaded_timestamp_seconds{device="veth-B",hook="xdp",set="feed"} 1' "$TMP/metrics"
}
test_rule_get() {
	has 'its member 10.78.0.0/16 is the longest prefix' rl B rule get 10.78.3.4 &&
		has '@bad deny' rl B rule get 10.78.3.4 && has 'any src @feed deny' rl B rule get 192.0.2.9
}
test_explain() { has 'by its member 10.78.0.0/16' rl B explain 10.78.3.4 udp; }
test_monitor() {
	timeout 20 "$RLCTL" -n "$(ns B)" monitor -j --count 1 -i veth-B >"$TMP/monitored" &
	local pid=$!
	until [[ -s $TMP/monitored ]] || ! kill -0 $pid 2>/dev/null; do
		flood A --count 20 --src 10.78.5.6 --rate 100 >/dev/null
	done
	wait $pid
	is "$(jq -r '.rule + " " + .member' "$TMP/monitored" | head -n 1)" '@bad deny 10.78.0.0/16'
}
test_doctor() {
	is "$(finding 'set bad has 10 of at most 10 members')" 1 && is "$(finding 'no rule names set idle')" 1 &&
		is "$(finding 'the file of set feed')" 0 && touch -d '3 hours ago' "$TMP/feed" &&
		is "$(finding 'the file of set feed is .* s old')" 1 && : >"$TMP/feed" &&
		expect_status 1 rl B set load feed >/dev/null && is "$(finding 'the file of set feed failed to load')" 1
}
test_well() {
	printf '%s\n' 'set bad' 'set gold' 'set watched' 'rule @bad deny' 'rule device limit 9/second keep 1 for @gold' \
		'alarm a when src @watched over 900/second for 1s until under 500/second for 1s' |
		rl B apply - -q && is "$(finding .)" 1 && is "$(finding '^3$')" 1
}

t 'a policy with three sets' begin
t 'members, packets and loads in stats' test_counts
t 'members that have expired are not counted' test_expired
t 'members that a set had no room for' test_refused
t 'a line of each set' test_table
t 'metrics' test_metrics
t 'rule get names the member' test_rule_get
t 'explain does' test_explain
t 'monitor does' test_monitor
t 'doctor warns of full, unused, old and broken sets' test_doctor
t 'and of nothing else' test_well
