#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl top --by pattern under a flood beside clients: JSON, text, the screen, and the rule it offers. check: processor
# tests/unit/test_pattern.c has the patterns.
source "$(dirname "$0")/../lib.sh"

PATTERN='udp/27015 length 64-95 ttl 64-79'
MATCH='udp dport 27015 length 64-95 ttl 64-79'

# The largest share comes first, and the flood is the network that most of its sources are in.
test_json() {
	rl B top -j --by pattern --seconds 2 >"$TMP/top" && cat "$TMP/top" >&2 || return
	# shellcheck disable=SC2016 # of jq
	json '(has("sources") or has("prefixes") | not) and (.patterns | map(.pattern) | .[0] == $pattern and contains(["tcp/443 flags syn length 32-63 ttl 64-79", "icmp6 length 64-95 ttl 64-79"])) and
		(.patterns[0] | .match == $match and .from == "198.18.0.0/16" and .share > 0.6 and .share < 0.9 and .rule == "198.18.0.0/16 deny" and
			.dropped.packets_per_second > 2000 and .dropped.packets_per_second < 20000 and .passed.packets_per_second < 200) and
		(.patterns[1] | has("from") | not) and (.patterns | map(.share) | add > 0.98 and add < 1.02)' \
		--arg pattern "$PATTERN" --arg match "$MATCH" <"$TMP/top"
}

test_text() {
	rl B top --once --by pattern >"$TMP/text" && cat "$TMP/text" >&2 &&
		is "$(grep '^share' "$TMP/text" | tr -s ' ')" 'share pattern from dropped/s +- passed/s +-' &&
		grep -A1 '^share' "$TMP/text" | grep -qE "^ +[678][0-9]%  $PATTERN +198.18.0.0/16 +[0-9.]+k "
}

# It is accepted, and holds for the flood.
test_rule() {
	local rule
	# shellcheck disable=SC2086 # several words
	rule=$(json -r '.patterns[0].match' <"$TMP/top") && rl B rule add device $rule not established limit 100/second -q &&
		rl B rule del 198.18.0.0/16 deny && eventually 5 limited "device $rule not established limit 100/second"
}
limited() { between "$(rule_stat B "$1" .dropped.packets)" 100 1000000; }

test_words() {
	has 'leave one out' expect_status 2 rl B top -j --by pattern --prefix 10.0.0.0/8
}

# ---- in a terminal
_tmux() { env -u TMUX tmux -S "$TMP/tmux" -f /dev/null "$@"; }
screen_has() { _tmux capture-pane -p | grep -qE -- "$1" || { _tmux capture-pane -p && return 1; }; }

# At each width no line is cut in a word: the pattern is whole, with its share and its drops.
test_screen() {
	_tmux new-session -d -x 140 -y 24 "env TERM=screen-256color LC_ALL=C.UTF-8 $RLCTL -n $(ns B) top --by pattern" &&
		eventually 10 screen_has "^ +[678][0-9]%  $PATTERN  +198.18.0.0/16 +[0-9.]+k " && screen_has 'patterns by dropped' || return
	for columns in 100 80 60; do
		_tmux resize-window -x "$columns" -y 24 && eventually 5 screen_has "^ +[678][0-9]%  $PATTERN .* [0-9.]+k( |$)" || return
	done
	_tmux resize-window -x 140 -y 24 && _tmux send-keys x &&
		eventually 5 screen_has "rlctl rule add -i veth-B device $MATCH not established limit 100/second" &&
		_tmux send-keys / && eventually 5 screen_has 'a prefix is of addresses' && _tmux send-keys r && eventually 5 screen_has "^$PATTERN: 198.18.0.0/16 deny" &&
		_tmux send-keys Tab && eventually 5 screen_has '^source +dropped/s' && _tmux send-keys 4 && eventually 5 screen_has '^share +pattern'
}

cleanup() {
	_tmux kill-server 2>/dev/null
	_cleanup
}
trap cleanup EXIT

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on &&
	printf 'rule 198.18.0.0/16 deny\nrule any limit 100000/second\n' >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" || exit 1
bg flood A --seconds 900 --rate 6000 --src 198.18.0.0/16 --proto udp --dport 27015 --size 92
bg flood A --seconds 900 --rate 1000 --src 0.0.0.0/1 --proto tcp-syn --dport 443 --size 60
bg flood A --seconds 900 --rate 500 --src fd78::1 --proto icmp --size 92
sleep 0.5
t 'as JSON' test_json
t 'as text' test_text
t 'live, at four widths' test_screen
t 'no prefix of patterns' test_words
t 'the rule for it' test_rule
