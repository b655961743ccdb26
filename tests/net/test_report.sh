#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl report: attacks out of a journal whose lines are written here, and of a flood that a follower saw.
source "$(dirname "$0")/../lib.sh"

# at SECONDS: the time so many seconds ago, as events have it.
at() { date -u -d "@$((NOW - $1))" +%FT%T.000Z; }

# put EVENT SECONDS MEMBERS: a line of the journal.
put() { echo "{\"time\":\"$(at "$2")\",\"event\":\"$1\",\"device\":\"veth-B\",\"hook\":\"xdp\",$3}" >>"$(journal)"; }
journal() { echo "$(compgen -G "/run/rlctl/$(basename "$(ns_pins B)")-*")/veth-B-xdp"; }

# drops BEGIN END RULE PACKETS [MEMBERS]: in seconds ago; the end is reported ten seconds after the last drop.
drops() {
	put drops-begin "$1" "\"rule\":\"$3\",\"rate\":{\"packets\":100,\"bytes\":6000},\"text\":\"\""
	put drops-end $(($2 - 10)) "\"rule\":\"$3\",\"last\":\"$(at "$2")\",\"rate\":{\"packets\":$(($4 / ($1 - $2))),\"bytes\":60},\"peak\":{\"packets\":$4,\"bytes\":$(($4 * 60))},\"dropped\":{\"packets\":$4,\"bytes\":$(($4 * 60))},${5:-\"text\":\"\"}"
}
common() { # PORT SHARE [SOURCE SHARE]
	echo "\"common\":{\"port\":[{\"value\":\"$1\",\"share\":$2}]},\"sources\":[${3:+{\"address\":\"$3\",\"share\":$4\}}],\"known\":[{\"address\":\"192.0.2.7\",\"share\":0.001}]"
}

fresh() { NOW=$(date +%s) && : >"$(journal)"; }
reported() { rl B report -j "$@" | jq -c "$FILTER"; }

test_none() {
	fresh && has 'no follower runs' rl B report -j && is "$(rl B report -j -q | jq -c '.incidents, .smaller')" '[]
{"incidents":0,"packets":0}' && rl B report | grep -q '^no attack is on record since 20'
}

# Rules and an alarm that are on together are one, with what its packets had in common by their numbers.
test_one() {
	fresh && put alarm-on 605 '"alarm":"flood","rate":{"packets":900},"text":""' && drops 600 500 'any udp deny' 3000 "$(common udp/53 1 198.51.100.9 0.5)" &&
		drops 590 550 'device limit 1/second' 1000 "$(common udp/27015 0.8 198.51.100.9 0.1)" && put alarm-off 490 '"alarm":"flood","text":""' || return
	for i in 1 2 3; do put ban-begin $((580 - i)) "\"key\":\"10.0.0.$i\",\"text\":\"\""; done
	put lost 570 '"count":40,"of":{"ban-begin":37,"drops-begin":3},"text":""'
	put apply 560 '"user":"alice","text":"rule added by alice: 10.0.0.0/8 deny"' && put apply 100 '"user":"bob","text":"later"'
	# shellcheck disable=SC2016 # of jq
	rl B report -j >"$TMP/one" && json '.incidents | length == 1 and (.[0] | .begin == $begin and .end == $over and .seconds == 115 and
			.dropped == {packets: 4000, bytes: 240000} and .peak.packets == 3000 and .bans == 40 and
			(.rules | map([.rule, .dropped.packets, .times]) == [["any udp deny", 3000, 1], ["device limit 1/second", 1000, 1]]) and
			(.alarms | map([.alarm, .begin, .end]) == [["flood", $begin, $over]]) and
			.common == {port: [{value: "udp/53", share: 0.75}, {value: "udp/27015", share: 0.2}]} and
			.sources == [{address: "198.51.100.9", packets: 1600, share: 0.4}] and (.known | map([.address, .packets]) == [["192.0.2.7", 4]]) and
			(.changes | map(.user) == ["alice"]) and (.spans | map([.of, .index]) | sort == [["alarm", 0], ["rule", 0], ["rule", 1]]))' \
		--arg begin "$(at 605)" --arg over "$(at 490)" <"$TMP/one"
}
# Both have most of a pattern: the rule for it is offered while few of its packets are of known sources, and each that is
# offered is one.
pattern() { # SHARE FROM KNOWN
	echo "\"patterns\":[{\"pattern\":\"udp/27015 length 64-95 ttl 240-255\",\"match\":\"udp dport 27015 length 64-95 ttl 240-255\",\"share\":$1,\"from\":\"$2\",\"known\":$3}]"
}
test_pattern() {
	local rule='rule device udp dport 27015 length 64-95 ttl 240-255 not established limit 100/second'
	fresh && drops 600 500 'any udp deny' 3000 "$(pattern 0.8 198.18.0.0/16 0.02)" && drops 590 550 'any deny' 1000 "$(pattern 0.4 198.18.0.0/16 0.06)" &&
		rl B report >"$TMP/text" && grep -qx '    70% of what was dropped: udp/27015 length 64-95 ttl 240-255, from 198.18.0.0/16; 3% of that is of known sources' "$TMP/text" &&
		grep -qx "        to limit it: $rule" "$TMP/text" && is "$(rl B report -j | jq -r '.incidents[0].patterns[].rule' | tee "$TMP/offered")" "$rule" &&
		rl B apply --check - <"$TMP/offered" || return
	drops 545 540 'any deny' 100 "$(pattern 1 10.1.0.0/16 0.02)" && FILTER='.incidents[0].patterns[0] | has("from")' && is "$(reported)" false || return
	fresh && drops 600 500 'any udp deny' 3000 "$(pattern 0.8 198.18.0.0/16 0.2)" && FILTER='.incidents[0].patterns[0] | [.known, has("rule")]' && is "$(reported)" '[0.2,false]' &&
		fresh && drops 600 500 'any udp deny' 3000 "$(pattern 0.2 198.18.0.0/16 0)" && FILTER='.incidents[0].patterns[0] | [has("known"), has("rule")]' && is "$(reported)" '[false,false]'
}
test_text() {
	TZ=UTC rl B report >"$TMP/text" && grep -qE '^veth-B: 20[0-9-]{8} [0-9:]{8} to 20[0-9-]{8} [0-9:]{8}, 1m 55s: 4,000 packets \(234.3 KiB\) dropped, at most 3,000 a second$' "$TMP/text" &&
		grep -qx '    3,000 dropped by any udp deny' "$TMP/text" && grep -qx '    common: port udp/53 75%, udp/27015 20%' "$TMP/text" &&
		grep -qx '    from about: 198.51.100.9 (1,600)' "$TMP/text" && grep -qx '    known sources that lost packets, about: 192.0.2.7 (4)' "$TMP/text" &&
		grep -qx '    40 bans' "$TMP/text" && grep -qE '^    20[0-9-]{8} [0-9:]{8} rule added by alice: 10.0.0.0/8 deny$' "$TMP/text"
}

# A minute apart they are two; a pulse within it belongs to the first.
test_two() {
	fresh && drops 900 890 'any deny' 10 && drops 840 830 'any deny' 20 && drops 700 690 'any deny' 40 &&
		FILTER='.incidents | map([.dropped.packets, .rules[0].times, .seconds])' && is "$(reported)" '[[30,2,70],[40,1,10]]' &&
		FILTER='.incidents | map(.dropped.packets)' && is "$(reported --since 750s)" '[40]' && is "$(reported --since 1m)" '[]' &&
		is "$(reported --since "$(at 830)")" '[30,40]'
}

# No end on record: it goes on, or the device was detached. A begin that nobody saw is computed.
test_open() {
	fresh && put drops-begin 300 '"rule":"any deny","rate":{"packets":70,"bytes":1},"text":""' &&
		FILTER='.incidents | map([.end, .peak.packets, .dropped.packets, (.seconds >= 300)])' && is "$(reported)" '[[null,70,0,true]]' &&
		rl B report | grep -q 'to (no end on record), .* at least 0 packets' && rl B report | grep -qE '^    at most 70 a second dropped, since 20.* without an end on record, by any deny$' || return
	put attach 200 '"user":"root","text":"attached by root, with 1 rule"' && drops 100 90 'any deny' 5 &&
		FILTER='.incidents | map([.end == null, .dropped.packets])' && is "$(reported)" '[[true,0],[false,5]]' || return
	fresh && put drops-end 100 '"rule":"any deny","rate":{"packets":10,"bytes":1},"dropped":{"packets":200,"bytes":1},"text":""' &&
		FILTER='.incidents | map([.seconds, .dropped.packets])' && is "$(reported)" '[[20,200]]'
}

# Only the twenty largest are told each; those of another device or hook are others.
test_many() {
	fresh && for i in {1..30}; do drops $((86000 - i * 200)) $((85990 - i * 200)) 'any deny' $((100 + i)); done
	FILTER='[(.incidents | length), .smaller.incidents, .smaller.packets, (.incidents | map(.dropped.packets) | min)]' &&
		is "$(reported)" '[20,10,1055,111]' && rl B report | tail -1 | grep -qx '1,055 packets were dropped in 10 smaller ones' || return
	sed -i 's/"hook":"xdp"/"hook":"egress"/' "$(journal)" && fresh_egress && is "$(reported -i veth-A)" '[0,0,0,null]'
}
fresh_egress() { is "$(rl B report -j | jq -r '.incidents[0].hook')" egress; }

# Lines that are cut, of other types, or hostile.
test_hostile() {
	fresh && drops 600 590 'any deny' 10 && printf '{"time":"%s","event":"drops-end","device":"veth-B","hook":"xdp","dropped":7,"rate":[],"common":{"port":5},"sources":{"a":1},"rule":{},"patterns":[7,{"pattern":5,"share":1},{"pattern":"x","share":"a"}]}\n{"cut' "$(at 580)" >>"$(journal)" &&
		printf '\n{"event":"drops-begin"}\n[]\n7\n' >>"$(journal)" && put drops-begin 595 '"rule":"\u001b[31mred","rate":{"packets":1,"bytes":1},"text":""' && rl B report >"$TMP/hostile" &&
		! grep -q $'\033' "$TMP/hostile" && grep -q '10 dropped by any deny' "$TMP/hostile"
}

# The page says what the document says.
test_page() {
	fresh && drops 600 500 'any udp deny # </script>' 3000 "$(common udp/53 1 198.51.100.9 0.5)" && rl B report --write "$TMP/page.html" &&
		sed -n 's,.*id="data">\(.*\)</script>.*,\1,p' "$TMP/page.html" | jq -c .incidents >"$TMP/page" && is "$(<"$TMP/page")" "$(rl B report -j | jq -c .incidents)" &&
		has 'No such file' expect_status 1 rl B report --write "$TMP/none/page.html"
}

test_bad() {
	has 'such as 2h' expect_status 2 rl B report --since never && has 'unexpected' expect_status 2 rl B report veth-B more
}

# A real flood, seen by a follower: its clients were known when it began, and the rule takes from them too.
test_real() {
	local follower
	rl B detach veth-B && printf 'rule device new-source limit 1000/second burst 100\nrule device udp dport 53 limit 500/second burst 500\n' >"$TMP/policy" &&
		rl B attach veth-B --policy "$TMP/policy" && fresh && bg "$RLCTL" -n "$(ns B)" events --follow -q || return
	follower=$BG_PID
	sleep 1 && flood A --seconds 4 --rate 40 --src 10.66.0.0/30 --dport 53 >&2 && { flood A --seconds 4 --rate 40 --src 10.66.0.0/30 --dport 53 >&2 & } &&
		flood A --seconds 4 --rate 4000 --src 198.18.7.7 --dport 53 >&2 && wait "$!" && kill "$follower" && eventually 5 ended "$follower" &&
		rl B report -j >"$TMP/real" && cat "$TMP/real" >&2 && json '.incidents | length == 1 and (.[0] | .end != null and .rules[0].rule == "device udp dport 53 limit 500/second burst 500" and
			.dropped.packets > 8000 and .peak.packets > 2000 and .peak.packets < 8000 and .sources[0].address == "198.18.7.7" and
			(.patterns[0] | (.match | startswith("udp dport 53 length ")) and .from == "198.18.0.0/16" and .known > 0) and
			(.known | map(.address) | length > 0 and all(startswith("10.66.0."))))' <"$TMP/real" &&
		is "$(jq '.incidents[0].dropped.packets' <"$TMP/real")" "$(rule_stat B 'device udp dport 53 limit 500/second burst 500' .dropped.packets)"
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && rl B attach veth-B || exit 1
t 'nothing is on record' test_none
t 'one attack of rules, an alarm and bans' test_one
t 'the same as text' test_text
t 'a pattern, and a rule for it' test_pattern
t 'two attacks, and which are over' test_two
t 'without an end, or a begin' test_open
t 'many attacks' test_many
t 'lines that are none' test_hostile
t 'the page' test_page
t 'bad words' test_bad
t 'a real attack' test_real
