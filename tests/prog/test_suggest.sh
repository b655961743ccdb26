#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl suggest from captures: clean ones, with floods in them, limits that attacks meet, bad input. check: timeout 300
# tests/unit/test_suggest.c has the statistics.
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

SECONDS_SEEN=150
FLOOD="30 10 2500" # within the first two thirds

# mixture NAME ARG…: makes $TMP/NAME of suggest_lines.py.
mixture() { python3 "$HERE/suggest_lines.py" "${@:2}" | capture "$1"; }

suggest() { "$RLCTL" suggest "$@"; }

# document NAME ARG…: what -j says of $TMP/NAME, kept in $TMP/NAME.json.
document() { suggest --capture "$TMP/$1" -j "${@:2}" >"$TMP/$1.json"; }

# said NAME FILTER WANTED
said() { is "$(json -c "$2" <"$TMP/$1.json")" "$3"; }

python3 "$HERE/suggest_lines.py" "$SECONDS_SEEN" >"$TMP/lines" && capture clean <"$TMP/lines"
awk '$1 < 1700000100' "$TMP/lines" | capture begin
document clean
document begin --enforce
suggest --capture "$TMP/clean" >"$TMP/policy"

services() {
	said clean '[.rules[] | select(.of == "source") | .match]' \
		'["tcp dport 443","udp dport 53","icmp","tcp not dport 443","udp not dport 53",""]'
}

few() {
	said clean .few '[{"match":"tcp dport 22","packets":12}]' &&
		has '# Seen too rarely for a limit of their own: tcp dport 22 (12 packets).' cat "$TMP/policy"
}

# refused NAME POLICY: packets of $TMP/NAME that the policy of $TMP/POLICY.json drops.
refused() { "$RLCTL" simulate <(json -r .policy <"$TMP/$2.json") "$TMP/$1" -j | json '.reasons.over.packets // 0'; }

# Neither what was learnt from nor what follows.
refuses_none() {
	is "$(refused clean begin)" 0
}

counted() {
	is "$(json '"\(.packets) \(.bytes)"' <"$TMP/clean.json")" \
		"$(simulate 'rule any allow' clean -j | json '.passed | "\(.packets) \(.bytes)"')"
}

# The policy is valid, only counts, and each limit follows its evidence.
is_policy() {
	"$RLCTL" apply --check "$TMP/policy" || return
	is "$(grep -c '^rule .* over count$' "$TMP/policy")" "$(grep -c '^rule ' "$TMP/policy")" &&
		is "$(grep -B1 '^rule ' "$TMP/policy" | grep -c '^#   chosen: ')" "$(grep -c '^rule ' "$TMP/policy")" &&
		is "$(grep '^rule ' "$TMP/policy")" "$(json -r .policy <"$TMP/clean.json")"
}

enforced() {
	suggest --capture "$TMP/clean" --enforce >"$TMP/enforced" && "$RLCTL" apply --check "$TMP/enforced" || return
	is "$(grep -c 'over count' "$TMP/enforced")" 0 &&
		is "$(sed -n 's/ over drop unless established//; s/^rule //p' "$TMP/enforced")" \
			"$(json -r .policy <"$TMP/clean.json" | sed 's/ over count//; s/^rule //')"
}

# numbers NAME: rates and bursts of what is suggested.
numbers() { json -c '[.rules[] | .rate, .burst]' <"$TMP/$1.json"; }

# A flood within what is learnt from moves no limit by a tenth, and is said.
# shellcheck disable=SC2016,SC2086 # variables of jq; several words
unmoved() {
	mixture "$1" "$SECONDS_SEEN" "$1" $FLOOD && document "$1" || return
	json -n --argjson a "$(numbers clean)" --argjson b "$(numbers "$1")" \
		'($a | length) == ($b | length) and all(range($a | length); $b[.] <= 1.1 * $a[.] and $b[.] >= 0.9 * $a[.])' ||
		_say "clean: $(numbers clean), with the flood: $(numbers "$1")" || return
	json '.rules[0].left_out.packets >= 25000' <"$TMP/$1.json"
}

# Half of what is learnt from is a flood: it is said in the policy, on standard error and in the document.
# shellcheck disable=SC2016 # of sed
half_a_flood() {
	mixture half 60 forged 20 35 2500 && suggest --capture "$TMP/half" >"$TMP/half.policy" 2>"$TMP/half.err" && document half 2>/dev/null || return
	local text='this looks like a flood: 2,6[0-9]* packets/s in 35 of 60 s, between 2023-11-14T22:13:40Z and 2023-11-14T22:14:14Z, where the quiet seconds have [0-9]*; the limits would let it pass: capture a calm hour instead'
	is "$(sed "s|$text|FLOOD|" "$TMP/half.err")" 'rlctl: warning: FLOOD' && is "$(sed -n "s|$text|FLOOD|p" "$TMP/half.policy")" '# Warning: FLOOD.' &&
		said half '.flood | [.seconds, (.to_ns - .from_ns) / 1e9, .rate > 2500, .usual < 200]' '[35,35,true,true]' &&
		said clean .flood '{"seconds":0}'
}

# A flood's pattern has a rule, which is valid and takes almost all of the flood and nothing of the clients; one that is
# that of clients too has none. A short flood has it as well as one that half of the capture is.
pattern() {
	local text
	mixture brief 60 one 30 5 2500 && document brief && json -r .pattern.rule <"$TMP/brief.json" >"$TMP/pattern.policy" && cat "$TMP/pattern.policy" >&2 &&
		is "$(<"$TMP/pattern.policy")" 'rule device tcp dport 443 flags syn length 32-63 ttl 64-79 not established limit 100/second' &&
		"$RLCTL" apply --check - <"$TMP/pattern.policy" && suggest --capture "$TMP/brief" >"$TMP/brief.policy" && "$RLCTL" apply --check "$TMP/brief.policy" &&
		grep -qx "#$(<"$TMP/pattern.policy")" "$TMP/brief.policy" &&
		grep -qE '^# 9[0-9]% of the packets in the seconds of a flood: tcp/443 flags syn length 32-63 ttl 64-79, from 203.0.0.0/16. Uncomment to limit it:$' "$TMP/brief.policy" || return
	text=$("$RLCTL" simulate "$TMP/pattern.policy" "$TMP/brief" -j) && between "$(json .dropped.packets <<<"$text")" 11500 12500 &&
		is "$("$RLCTL" simulate "$TMP/pattern.policy" "$TMP/clean" -j | json .dropped.packets)" 0 &&
		said half '.pattern | [.pattern, has("from"), .share > 0.8, .quiet]' '["tcp/443 flags syn length 32-63 ttl 64-79",false,true,0]' &&
		said clean 'has("pattern")' false || return
	sed 's/size=60 flags=S/size=80 flags=A/' <(python3 "$HERE/suggest_lines.py" 60 one 30 5 2500) | capture alike && document alike && json .pattern <"$TMP/alike.json" >&2 &&
		said alike '.pattern | [.quiet > 0.03, has("rule")]' '[true,false]' && has ': a rule would hit both.' suggest --capture "$TMP/alike"
}

# A limit for what nobody sent would hurt the first who does.
unseen() {
	is "$(grep -c fragment <(grep '^rule' "$TMP/policy"))" 0 && has '# fragment: no packets, so no limit' cat "$TMP/policy" &&
		printf '%d udp 198.51.100.7 dport=53 times=30\n' {1..20} | capture udp && document udp &&
		said udp '[.rules[].match] | unique' '["","udp dport 53"]'
}

# attacked KIND: no more than a twentieth of a flood passes.
attacked() {
	local over
	python3 "$HERE/suggest_lines.py" 0 "$1" 0 2 25000 | grep -F dport=443 | capture attack
	suggest --capture "$TMP/clean" -j --enforce >"$TMP/enforced.json" && over=$(refused attack enforced) || return
	((over * 20 >= 19 * 50000)) || _say "of 50000 packets $over were refused"
}

# Traffic that comes only after what was learnt from is refused.
later_flood() {
	mixture late "$SECONDS_SEEN" one 130 5 3000
	(($(refused late begin) > 13000))
}

# shellcheck disable=SC2016 # variables of jq
headroom() {
	suggest --capture "$TMP/clean" -j --headroom 4 >"$TMP/four.json" || return
	json -n --argjson a "$(numbers clean)" --argjson b "$(numbers four)" \
		'($b[0] / $a[0] - 2 | fabs) < 0.1 and ($b[1] / $a[1] - 2 | fabs) < 0.1'
}

ipv6() {
	mixture six "$SECONDS_SEEN" six && document six &&
		said six '[.rules[0].match, .rules[0].sources]' '["tcp dport 443",40]'
}

# Two captures, in whatever order, are what one of both is.
several() {
	awk '$1 < 1700000075' "$TMP/lines" | capture first && awk '$1 >= 1700000075' "$TMP/lines" | capture second &&
		suggest --capture "$TMP/second" "$TMP/first" -j >"$TMP/both.json" && is "$(numbers both)" "$(numbers clean)"
}

# moved CONDITION SECONDS TEXT: packets for which the condition holds are under another clock. It is said, and changes nothing of
# what is found.
moved() {
	awk "$1 { \$1 = sprintf(\"%.6f\", \$1 + $2) } { print }" "$TMP/lines" | capture moved && document moved 2>"$TMP/moved.err" &&
		is "$(json -cS 'del(.begin_ns)' <"$TMP/moved.json")" "$(json -cS 'del(.begin_ns)' <"$TMP/clean.json")" &&
		is "$(<"$TMP/moved.err")" "${3:+rlctl: $TMP/moved: time jumps $3: what follows is put right after what came before}"
}

# shellcheck disable=SC2016 # of awk
clocks() {
	moved '$1 >= 1700000075' -3600 'back by 1 hour at packet 10981' && moved 'NR == 1' 3600 'back by 1 hour at packet 2' &&
		moved '$1 < 1700000020' -1700000000 'forward by 53 years at packet 3767' && moved '$1 >= 1700000075' 86400 ''
}

# Without headers a packet says nothing; of the rest it is said.
without_headers() {
	sed 's/$/ cap=30/' "$TMP/lines" | capture headless
	fails_with "$TMP/headless: 21826 packets were captured without all headers, not learnt from: capture more bytes" suggest --capture "$TMP/headless" &&
		fails_with 'no IP packets to learn from' suggest --capture "$TMP/headless"
}

# Both directions of the same: what the machine sends does not count.
directions() {
	awk '{ print } NR % 2 { print $1, "tcp 192.0.2.1 dst=198.18.1.1 sport=443 dport=20001 sent macs=1,2" }' "$TMP/lines" \
		>"$TMP/ways.lines"
	capture ways <"$TMP/ways.lines" && document ways --local 192.0.2.1 && is "$(numbers ways)" "$(numbers clean)" &&
		capture cooked link=sll <"$TMP/ways.lines" && document cooked && is "$(numbers cooked)" "$(numbers clean)"
}

both_ways() {
	for ((i = 0; i < 30; i++)); do
		printf '%d tcp 198.51.100.7 macs=1,2\n%d tcp 192.0.2.1 dst=198.51.100.7 macs=2,1\n' $i $i
	done | capture both
	fails_with "$TMP/both: the capture seems to have both directions: give the machine's addresses with --local, or capture with" \
		suggest --capture "$TMP/both"
}

short() {
	capture short <<<'1 udp 198.51.100.7'
	fails_with 'suggest: all packets are of the same second: capture 10 s at least' suggest --capture "$TMP/short" &&
		printf '%d udp 198.51.100.7\n' 1 5 9 | capture short || return
	fails_with 'suggest: 8s of packets is too short: capture 10 s at least' suggest --capture "$TMP/short" || return
	echo '1 udp 198.51.100.7 times=499 every=.1' | capture short
	fails_with '499 packets are too few to learn from' suggest --capture "$TMP/short" || return
	echo '1 udp 198.51.100.7 times=500 every=.1' | capture short
	has '# Learnt from 500 packets' suggest --capture "$TMP/short"
}

# GRE is never established, so no limit of it spares what is.
other_protocols() {
	printf '%d gre 198.51.100.7 times=30\n%d icmp 198.51.100.7 times=30\n' {1..20}{,} | capture gre
	suggest --capture "$TMP/gre" --enforce >"$TMP/gre.policy" && "$RLCTL" apply --check "$TMP/gre.policy" &&
		grep -x 'rule device gre limit [0-9]*/second burst [0-9]*' "$TMP/gre.policy" &&
		grep -x 'rule device icmp limit .* over drop unless established' "$TMP/gre.policy"
}

sent_only() {
	printf '%d udp 198.51.100.7 sent\n' 1 20 | capture sent link=sll
	fails_with 'all packets were sent by the machine' suggest --capture "$TMP/sent" &&
		fails_with 'no packet arrives at the addresses of --local' suggest --capture "$TMP/clean" --local 203.0.113.1
}

no_ip() {
	printf '%d arp\n' 1 20 | capture arp
	fails_with 'no IP packets to learn from' suggest --capture "$TMP/arp"
}

empty() {
	capture empty </dev/null
	fails_with "$TMP/empty: no packets" suggest --capture "$TMP/empty" &&
		fails_with 'No such file or directory' suggest --capture "$TMP/clean" "$TMP/absent" &&
		fails_with 'can be read only once' suggest --capture <(cat "$TMP/clean")
}

cut() {
	head -c 3000 "$TMP/clean" >"$TMP/cut"
	fails_with "$TMP/cut: packet " suggest --capture "$TMP/cut" &&
		fails_with ' keeps the packets before it' suggest --capture "$TMP/cut"
}

t 'services' services
t 'few packets' few
t 'refuses nothing like it' refuses_none
t 'packets and bytes' counted
t 'a policy with its evidence' is_policy
t '--enforce' enforced
t 'a flood of one source within' unmoved one
t 'a flood of some sources within' unmoved few
t 'a flood of forged sources within' unmoved forged
t 'half is a flood' half_a_flood
t 'the pattern of a flood, and a rule for it' pattern
t 'no limit for what was not seen' unseen
t 'an attack of forged sources' attacked none
t 'an attack of one source' attacked one
t 'a flood afterwards' later_flood
t '--headroom' headroom
t 'IPv6' ipv6
t 'several captures' several
t 'clocks that jump' clocks
t 'packets without headers' without_headers
t 'what the machine sent' directions
t 'both directions, but whose' both_ways
t 'too short, too few' short
t 'protocols without ports' other_protocols
t 'nothing arrives' sent_only
t 'no IP' no_ip
t 'no packets' empty
t 'a capture that was cut off' cut
