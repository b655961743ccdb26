#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl set: members from the command line, from lines and from a running stream, as packets meet them; bad
# input, several instances, and a swap under a flood. check: timeout 240
source "$(dirname "$0")/../lib.sh"

# The policy of all tests: members of `bad` are dropped, `small` has room for three.
policy() {
	printf '%s\n' 'set bad max 200000' 'set small max 3' 'set brief timeout 1h' \
		'set mass max 1000000' 'rule @bad deny' 'rule @small deny' 'rule @brief deny' 'rule @mass deny' \
		'rule any src 10.77.0.1 allow'
}
empty() { rl B set flush bad -q && rl B set flush small -q && rl B set flush brief -q; }
members() { rl B set list "$1" | paste -sd,; }

# dropped CMD…: how many packets B dropped meanwhile.
dropped() { growth 'stat_of B .dropped.packets' "$@"; }
sends() { flood A --count 4 --src "$1"; }
drops() { is "$(dropped sends "$1")" 4; }
passes() { is "$(dropped sends "$1")" 0; }

begin() {
	veth_pair A B && policy >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" -q
}

# ---- the command line

test_add() {
	empty && passes 10.77.0.1 && is "$(rl B set add bad 10.77.0.1)" 'bad: 1 added' && drops 10.77.0.1 &&
		is "$(rl B set add bad 10.77.0.1 192.0.2.1 192.0.2.1)" 'bad: 1 added, 2 present' &&
		is "$(rl B set del bad 10.77.0.1 192.0.2.99)" 'bad: 1 deleted, 1 not there' && passes 10.77.0.1 &&
		is "$(members bad)" 192.0.2.1
}
test_families() {
	empty && rl B set add bad 10.78.0.0/16 fd78::/32 -q && drops 10.78.200.1 && drops fd78::5 && passes 10.79.0.1 &&
		passes fd79::5 && rl B set add bad 0.0.0.0/0 -q && drops 10.79.0.1 && passes fd79::5 &&
		rl B set del bad 10.78.0.0/16 0.0.0.0/0 fd78::/32 -q && passes 10.78.200.1 && passes fd78::5
}
test_order() {
	empty && rl B set add bad 2001:db8::/32 ::1 10.0.0.0/8 9.255.255.255 10.0.0.0 10.0.0.0/24 -q &&
		is "$(members bad)" '9.255.255.255,10.0.0.0/8,10.0.0.0/24,10.0.0.0,::1,2001:db8::/32'
}
test_longest() {
	empty && rl B set add bad 10.0.0.0/8 10.1.0.0/16 -q && rl B set add bad 10.1.2.3 for 1h -q &&
		has 'bad: 10.1.2.3 for ' rl B set test bad 10.1.2.3 && is "$(rl B set test bad 10.1.2.4)" 'bad: 10.1.0.0/16' &&
		is "$(rl B set test bad 10.1.0.0/15)" 'bad: 10.0.0.0/8' &&
		ends 1 'bad: 11.0.0.1 is not a member' rl B set test bad 11.0.0.1 &&
		ends 1 'is not a member' rl B set test bad 2001:db8::1 &&
		is "$(expect_status 1 rl B set test bad 11.0.0.1 -q)" ''
}
test_extends() {
	empty && rl B set add bad 192.0.2.1 192.0.2.2 for 1h -q && rl B set add bad 192.0.2.3 -q &&
		is "$(rl B set add bad 192.0.2.1 192.0.2.3 for 2h)" 'bad: 0 added, 1 extended, 1 present' &&
		is "$(rl B set add bad 192.0.2.1 for 10m)" 'bad: 0 added, 1 present' &&
		is "$(rl B set add bad 192.0.2.2)" 'bad: 0 added, 1 extended' &&
		is "$(members bad | sed 's/ for 2h\| for 7[12][0-9][0-9]s\| for 119m/ LATER/')" '192.0.2.1 LATER,192.0.2.2,192.0.2.3'
}
# A set with a timeout, which `for` overrides.
test_timeout() {
	empty && rl B set add brief 192.0.2.1 -q && rl B set add brief 192.0.2.2 for 10m -q &&
		rl B set list brief -j | json '[.members[].expires_in] | (.[0] > 3500 and .[0] <= 3600 and .[1] > 500 and .[1] <= 600)'
}
# It is a member up to its second, and afterwards neither a packet nor a command finds it.
test_expires() {
	local begun=$SECONDS left
	empty && rl B set add bad 10.77.0.1 for 8s -q && drops 10.77.0.1 && left=$(rl B set list bad) &&
		between "$(sed -nE 's/^10\.77\.0\.1 for ([0-9]+)s$/\1/p' <<<"$left")" $((7 - (SECONDS - begun))) 8 &&
		sleep 8.2 && passes 10.77.0.1 && is "$(members bad)" '' && is "$(rl B set list -j | json -r '.sets[0].ipv4')" 0 &&
		is "$(rl B set add bad 10.77.0.1)" 'bad: 1 added' && drops 10.77.0.1
}
test_flush() {
	empty && rl B set add bad 10.77.0.1 10.78.0.0/16 -q && rl B set add small 10.79.0.1 -q &&
		is "$(rl B set flush bad)" 'bad: 2 deleted' && passes 10.77.0.1 && drops 10.79.0.1 && is "$(members bad)" ''
}
test_json() {
	empty && is "$(rl B set add bad 10.1.2.3/8 192.0.2.1 -j)" \
		'{"device":"veth-B","hook":"xdp","set":"bad","added":2,"extended":0,"present":0,"refused":0,"host_bits":1}' &&
		is "$(rl B set del bad 192.0.2.1 192.0.2.2 -j | jq -c '[.deleted, .missing]')" '[1,1]' &&
		is "$(rl B set list bad -j)" '{"device":"veth-B","hook":"xdp","set":"bad","members":[{"member":"10.0.0.0/8"}]}' &&
		is "$(rl B set test bad 10.1.1.1 -j | jq -c '[.address, .member]')" '["10.1.1.1","10.0.0.0/8"]' &&
		is "$(rl B set list -j | jq -c '[.sets[] | [.set, .ipv4, .ipv6, .max]]')" '[["bad",1,0,200000],["brief",0,0,65536],["mass",0,0,1000000],["small",0,0,3]]' &&
		is "$(rl B set flush bad -j | jq .deleted)" 1
}
# The pins of the sets' maps, that a writer does not tidy away; members stay with the set, more room or less.
test_apply() {
	empty && rl B set add bad 10.77.0.1 -q && policy | sed 's/200000/300000/' | rl B apply -q - && drops 10.77.0.1 &&
		policy | rl B apply -q - && is "$(rl B set add bad 10.77.0.2)" 'bad: 1 added' && drops 10.77.0.1
}

# ---- lines

test_lines() {
	empty && printf '%s\n' '# a list' '' '10.77.0.1 for 1h # one' $'  192.0.2.1\t' $'192.0.2.2\r' 'fd77::1' |
		has 'bad: 4 added' rl B set add bad - for 2h && drops 10.77.0.1 &&
		is "$(rl B set list bad -j | json -c '[.members[].expires_in > 3600]')" '[false,true,true,true]' &&
		is "$(printf '10.77.0.1\n192.0.2.9' | rl B set del bad -)" 'bad: 1 deleted, 1 not there' && passes 10.77.0.1
}
test_bad_lines() {
	local status=0
	empty || return
	printf '%s\n' 192.0.2.1 nonsense 192.0.2.2/33 fe80::1%eth0 ::ffff:192.0.2.3 '192.0.2.4 for' '192.0.2.4 for soon' \
		'192.0.2.4 for 0s' '192.0.2.4 for 3000d' '192.0.2.4 192.0.2.5' '192.0.2.4 for 1h more' 192.0.2.6 |
		rl B set add bad - >"$TMP/lines" 2>&1 || status=$?
	is "$status" 1 && is "$(sed 's/^rlctl: //' "$TMP/lines")" "stdin:2: 'nonsense': not an address or prefix: write for example 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32
stdin:3: '192.0.2.2/33': prefix length out of range: write /0 to /32 for IPv4, /0 to /128 for IPv6
stdin:4: 'fe80::1%eth0': has a zone, which packets do not carry: leave out % and what follows
stdin:5: '::ffff:192.0.2.3': an IPv4 address written as IPv6: write it as IPv4, for example 203.0.113.7
stdin:6: '192.0.2.4 for': missing duration after 'for': write for example 10m, 1h or 7d
stdin:7: '192.0.2.4 for soon': invalid duration: write for example 10m, 1h or 7d
stdin:8: '192.0.2.4 for 0s': duration out of range: write 1ms to 2920d, or leave it out
stdin:9: '192.0.2.4 for 3000d': duration too long: write 1ms to 2920d, or leave it out
stdin:10: '192.0.2.4 192.0.2.5': unexpected word after the address: only \`for DURATION\` may follow
stdin:11: '192.0.2.4 for 1h more': unexpected word after the duration: write one address a line
bad: 2 added" && is "$(members bad)" '192.0.2.1,192.0.2.6'
}
test_many_bad_lines() {
	local status=0
	empty && { seq 1 50 | sed 's/^/x/' && head -c 300000 /dev/zero | tr '\0' y && printf '\n192.0.2.1\n'; } |
		rl B set add bad - >"$TMP/lines" 2>&1 || status=$?
	is "$status" 1 && is "$(grep -c stdin "$TMP/lines")" 21 && has 'stdin: 31 more lines were wrong' cat "$TMP/lines" &&
		is "$(members bad)" 192.0.2.1
}
# On the command line one wrong word refuses all.
test_bad_words() {
	empty && ends 2 "invalid address '1.2.3': not an address" rl B set add bad 192.0.2.1 1.2.3 &&
		ends 2 'has a zone' rl B set add bad fe80::1%lo && ends 2 'written as IPv6' rl B set add bad ::ffff:1.2.3.4 &&
		ends 2 'prefix length out of range' rl B set add bad 192.0.2.1 2001:db8::/129 &&
		ends 2 "for '0s': duration out of range" rl B set add bad 192.0.2.1 for 0s &&
		ends 2 "for '9999d': duration too long" rl B set add bad 192.0.2.1 for 9999d &&
		ends 2 "missing duration after 'for'" rl B set add bad 192.0.2.1 for &&
		ends 2 'the duration comes last' rl B set add bad for 1h 192.0.2.1 &&
		ends 2 'missing address' rl B set add bad for 1h && ends 2 'beside addresses' rl B set add bad - 192.0.2.1 &&
		ends 2 'stands without @' rl B set add @bad 192.0.2.1 && ends 2 'invalid set name' rl B set add Bad 192.0.2.1 &&
		ends 2 "invalid address 'for'" rl B set del bad 192.0.2.1 for 1h && is "$(members bad)" ''
}
test_unknown() {
	ends 1 "veth-B: no set 'bda' (did you mean bad?)" rl B set add bda 192.0.2.1 &&
		ends 1 "no set 'elsewhere': its sets are bad, brief, mass, small; a line \"set elsewhere\"" rl B set test elsewhere 192.0.2.1 &&
		ends 1 "no set 'elsewhere'" rl B set list elsewhere && ends 1 "no set 'elsewhere'" rl B set flush elsewhere
}
test_host_bits() {
	empty && has 'host bits cleared in 2 addresses' rl B set add bad 10.1.2.3/8 2001:db8::1/32 192.0.2.0/24 &&
		is "$(members bad)" '10.0.0.0/8,192.0.2.0/24,2001:db8::/32'
}
test_full() {
	empty && rl B set add small 192.0.2.1 192.0.2.2 -q &&
		ends 1 'veth-B: small: 192.0.2.4 refused: the set is full (max 3)' rl B set add small 192.0.2.3 192.0.2.4 192.0.2.1 &&
		is "$(members small)" '192.0.2.1,192.0.2.2,192.0.2.3' || return
	ends 1 'small: 5 more were refused' rl B set add small - < <(seq -f '198.51.100.%g' 1 25) &&
		is "$(rl B set add small 192.0.2.1 for 1h)" 'small: 0 added, 1 present' &&
		is "$(rl B set list -j | json '.sets[] | select(.set == "small").refused')" 26
}

# ---- a running stream

# stream_begin: `set add bad -` in the background, which reads descriptor 7.
stream_begin() {
	rm -f "$TMP/pipe" && mkfifo "$TMP/pipe" && : >"$TMP/bg" || return
	exec 7<>"$TMP/pipe"
	# shellcheck disable=SC2016 # for the inner shell
	bg env --default-signal bash -c 'exec "$@" <"$0" 7>&-' "$TMP/pipe" "$RLCTL" -n "$(ns B)" set add bad -
}

# Lines that have arrived are in force while the stream is open; others change the set and the policy meanwhile.
test_stream() {
	empty && stream_begin || return
	echo 10.77.0.1 >&7 && eventually 2 drops 10.77.0.1 && rl B set add bad 192.0.2.1 -q && rl B set del bad 10.77.0.1 -q &&
		passes 10.77.0.1 && rl B rule add 192.0.2.200 deny -q && rl B rule del 192.0.2.200 -q &&
		printf '10.77.0.1\n10.78.0.' >&7 && eventually 2 drops 10.77.0.1 && echo 1 >&7 && eventually 2 drops 10.78.0.1
	local rc=$?
	exec 7>&-
	[[ $rc -eq 0 ]] && wait "$BG_PID" && is "$(<"$TMP/bg")" 'bad: 3 added'
}
# SIGNAL: what was read is in the set and in the answer.
test_stream_signal() {
	local rc=0 status=0
	empty && stream_begin || return
	seq -f '198.51.100.%g' 1 200 >&7
	eventually 2 prints 200 count_of bad && kill "-$1" "$BG_PID" || rc=1
	wait "$BG_PID" || status=$?
	exec 7>&-
	[[ $rc -eq 0 ]] && is "$(<"$TMP/bg")" 'bad: 200 added' && is "$status" 0 && rl B set add bad 192.0.2.1 -q
}
count_of() { rl B set list "$1" | wc -l; }

# Killed in the middle: what it had added may be there or not, the others are, and the next writer goes on.
test_stream_killed() {
	empty && rl B set add bad 10.77.0.1 -q && : >"$TMP/bg" || return
	seq 0 99999 | awk '{ printf "11.%d.%d.%d\n", $1 / 65536, $1 / 256 % 256, $1 % 256 }' >"$TMP/many"
	# shellcheck disable=SC2016 # for the inner shell
	bg bash -c 'exec "$@" <"$0"' "$TMP/many" "$RLCTL" -n "$(ns B)" set add bad -
	eventually 5 some_in && kill -KILL "$BG_PID"
	wait "$BG_PID"
	drops 10.77.0.1 && has added rl B set add bad - <"$TMP/many" && is "$(count_of bad)" 100001 && drops 11.1.134.159
}
some_in() { [[ $(count_of bad) -gt 1 ]]; }

# The policy no longer has the set, or the instance is gone: said, and what was not added is named.
test_stream_ends() { # CMD…
	local rc=0 status=0
	empty && stream_begin || return
	echo 192.0.2.1 >&7 && eventually 2 prints 1 count_of bad && "$@" && echo 192.0.2.2 >&7 || rc=1
	wait "$BG_PID" || status=$?
	exec 7>&-
	rl B attach veth-B --policy "$TMP/policy" --or-apply -q || return
	[[ $rc -eq 0 ]] && is "$status" 1 && has 'stdin:2: stopped: the last 1 addresses may be missing' cat "$TMP/bg" &&
		has 'bad: 1 added' cat "$TMP/bg"
}
no_set() { rl B apply -q - <<<'rule 192.0.2.9 deny'; }

# ---- swap

test_swap() {
	empty && rl B set add bad 10.77.0.1 10.78.0.1 -q && printf '%s\n' 10.78.0.1 10.79.0.0/16 10.79.0.0/16 >"$TMP/list" &&
		is "$(rl B set swap bad "$TMP/list")" 'bad: 1 added, 1 present, 1 deleted' && passes 10.77.0.1 && drops 10.78.0.1 &&
		drops 10.79.1.1 && rl B set list bad | rl B set swap brief - && is "$(members brief | sed 's/ for [0-9]*[hms]//g')" '10.78.0.1,10.79.0.0/16'
}
test_swap_refused() {
	empty && rl B set add small 192.0.2.1 -q && ends 1 'no addresses: the members of small stay as they are' rl B set swap small - </dev/null &&
		ends 1 'the members of small stay as they are: correct' rl B set swap small - <<<$'192.0.2.2\nx' &&
		ends 1 'small holds up to 3 members' rl B set swap small - < <(seq -f '198.51.100.%g' 1 4) &&
		ends 1 'No such file' rl B set swap small "$TMP/none" && is "$(members small)" 192.0.2.1
}
# A million members that end at one moment: all are dropped until then and none after it, but one that was added again;
# and then their memory is given back.
# Packets of a member are dropped as long as `set test` says afterwards that it still is one.
enforced_to_the_end() {
	local dropped rounds=0
	while dropped=$(dropped sends "$1") && rl B set test mass "$1" >"$TMP/alive" 2>&1; do
		is "$dropped" 4 || return
		rounds=$((rounds + 1))
	done
	[[ $rounds -gt 1 ]] || _say "it was looked at too late: $(cat "$TMP/alive")"
}

test_mass_expiry() {
	local pages
	awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "13.%d.%d.%d for 12s\n", i / 65536, i / 256 % 256, i % 256 }' >"$TMP/mass"
	empty && rl B set swap mass "$TMP/mass" -q && is "$(dropped flood A --count 3000 --src 13.0.0.0/13)" 3000 &&
		enforced_to_the_end 13.4.5.6 && rl B set add mass 13.1.2.3 for 1h -q && sleep 0.5 && drops 13.1.2.3 &&
		is "$(dropped flood A --count 3000 --src 13.2.0.0/16)" 0 && is "$(members mass | sed 's/ for .*//')" 13.1.2.3 || return
	pages=$(members_pages) && rl B set load --due -q && [[ $(members_pages) -lt $((pages / 100)) ]] && drops 13.1.2.3
}
members_pages() {
	local pin
	for pin in "$(ns_pins B)"/veth-B-xdp/*; do
		bpftool -j map show pinned "$pin" 2>/dev/null | jq -e '.name == "rlctl_members"' >/dev/null &&
			bpftool map dump pinned "$pin" -j | jq length
	done
	true
}

# A member of both lists is one throughout: of a flood from it, not one packet passes.
test_swap_flood() {
	local passed
	awk 'BEGIN { print "10.77.0.1"; for (i = 0; i < 50000; i++) printf "11.%d.%d.1\n", i / 256, i % 256 }' >"$TMP/one"
	awk 'BEGIN { print "10.77.0.1"; for (i = 0; i < 50000; i++) printf "12.%d.%d.1\n", i / 256, i % 256 }' >"$TMP/two"
	empty && rl B set swap bad "$TMP/one" -q && passed=$(stat_of B .reasons.allowed.packets) || return
	bg in_ns A "$TOP/build/flood" -i veth-A --src 10.77.0.1 --seconds 30 --rate 200000
	for _ in 1 2 3 4 5; do
		rl B set swap bad "$TMP/two" -q && rl B set swap bad "$TMP/one" -q || return
	done
	kill -- "-$BG_PID"
	wait "$BG_PID"
	is "$(($(stat_of B .reasons.allowed.packets) - passed))" 0 && is "$(count_of bad)" 50001 && passes 12.1.1.1 && drops 11.1.1.1
}

# ---- several instances

test_several() {
	ip -n "$(ns B)" link add other type veth peer name other-peer && echo 'set elsewhere' | rl B attach other --policy - -q &&
		empty && is "$(rl B set add bad 192.0.2.1)" 'bad: 1 added' && rl B set add elsewhere 192.0.2.2 -q &&
		ends 1 "every attached device: no set 'nowhere'" rl B set add nowhere 192.0.2.1 &&
		ends 1 'nothing was changed on any device' rl B set add -i all bad 192.0.2.3 &&
		is "$(members bad)" 192.0.2.1 && is "$(rl B set list -j | jq -c 'map(.device)')" '["other","veth-B"]' || return
	policy | rl B apply -i other -q - && is "$(rl B set add bad 192.0.2.3 | paste -sd';')" 'other: bad: 1 added;veth-B: bad: 1 added' &&
		is "$(rl B set add -i 'veth*' bad 192.0.2.4 | paste -sd';')" 'veth-B: bad: 1 added' &&
		is "$(rl B set add -i all bad - -j <<<192.0.2.4 | jq -c 'map([.device, .added, .present])')" '[["other",1,0],["veth-B",0,1]]' &&
		is "$(rl B set list -i all bad | paste -sd';')" '# other xdp;192.0.2.3;192.0.2.4;;# veth-B xdp;192.0.2.1;192.0.2.3;192.0.2.4' &&
		is "$(rl B set list -i all bad -j | jq -c 'map(.members | length)')" '[2,3]' &&
		ends 1 'other: bad: 192.0.2.1 is not a member' rl B set test bad 192.0.2.1 && rl B set test bad 192.0.2.3 &&
		rl B detach other && is "$(rl B set add bad 192.0.2.1)" 'bad: 0 added, 1 present'
}
test_none() {
	ns_new C && ends 1 'nothing attached' rl C set add bad 192.0.2.1 && ends 1 'nothing attached' rl C set list
}
test_completion() {
	is "$(rl B complete -- set '' | cut -f1 | paste -sd' ')" 'add del test list flush swap load save restore' &&
		is "$(rl B complete -- set add b | cut -f1 | paste -sd' ')" 'bad brief'
}

t 'begin' begin || exit 0
t 'add, del' test_add
t 'both families, prefixes' test_families
t 'list: in order' test_order
t 'test: the longest member' test_longest
t 'added again: extended' test_extends
t "a set's timeout" test_timeout
t 'expires to the second' test_expires
t 'flush' test_flush
t 'JSON' test_json
t 'apply keeps members' test_apply
t 'lines' test_lines
t 'bad lines' test_bad_lines
t 'many bad lines, a long one' test_many_bad_lines
t 'bad words' test_bad_words
t 'unknown sets' test_unknown
t 'host bits' test_host_bits
t 'a full set' test_full
t 'a stream with pauses and other writers' test_stream
t 'a stream ended by SIGTERM' test_stream_signal TERM
t 'a stream ended by SIGINT' test_stream_signal INT
t 'a stream killed in the middle' test_stream_killed
t 'a stream whose set goes' test_stream_ends no_set
t 'a stream whose instance goes' test_stream_ends rl B detach veth-B
t 'swap' test_swap
t 'a million members end at one moment' test_mass_expiry
t 'swap: refused' test_swap_refused
t 'swap under a flood' test_swap_flood
t 'several instances' test_several
t 'nothing attached' test_none
t 'completion' test_completion
