#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl simulate --local: which packets are run, which of them are established, what is said of it.
# tests/unit/test_local_stack.c has the states of a socket.
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

KNOWN='rule any established allow;rule any deny'
E='pass allowed' N='drop denied'
OWN=192.0.2.1 OWN6=2001:db8::1

# A client connects, is answered, sends; forged segments before, between and behind it.
cat >"$TMP/accepted.lines" <<'END'
1 tcp 198.51.100.9 flags=A seq=7 ack=7
2 tcp 198.51.100.7 flags=S seq=500 size=54
3 tcp 192.0.2.1 dst=198.51.100.7 sport=53 dport=1000 flags=SA seq=100 ack=501 size=54
4 tcp 198.51.100.7 flags=A seq=501 ack=101 size=54
5 tcp 198.51.100.7 flags=A seq=501 ack=101 size=63
6 tcp 198.51.100.9 flags=R seq=7
7 tcp 198.51.100.7 flags=R seq=7 size=54
8 tcp 198.51.100.7 flags=A seq=510 ack=101 size=54
9 tcp 198.51.100.7 flags=R seq=510 size=54
10 tcp 198.51.100.7 flags=A seq=510 ack=101 size=54
END
sed 's/tcp/tcp6/; s/198.51.100./2001:db8:1::/g; s/192.0.2.1/2001:db8::1/; s/size=54/size=74/; s/size=63/size=83/' \
	"$TMP/accepted.lines" >"$TMP/accepted6.lines"
ACCEPTED_POLICY='rule any tcp established allow;rule any tcp limit 1000/second'
ACCEPTED='pass within,pass within,pass within,pass allowed,pass within,pass allowed,pass allowed,pass allowed,pass within'

# local_verdicts POLICY NAME WANTED OPTION…
local_verdicts() {
	local got
	got=$(simulate "$1" "$2" --verdicts "${@:4}" | cut -d ' ' -f 3- | paste -sd ,) || return
	is "$got" "$3"
}

accepted() { # LINES LOCAL CAPTURE-OPTION…
	capture accepted "${@:3}" <"$TMP/$1.lines" && local_verdicts "$ACCEPTED_POLICY" accepted "$ACCEPTED" --local "$2"
}

# A packet that the policy drops reaches no socket.
dropped() {
	capture accepted <"$TMP/accepted.lines"
	local_verdicts "$KNOWN" accepted "$N,$N,$N,$N,$N,$N,$N,$N,$N" --local "$OWN"
}

behind_vlan() {
	sed 's/$/ vlan/; s/size=54/size=58/; s/size=63/size=67/' "$TMP/accepted.lines" >"$TMP/vlan.lines"
	accepted vlan "$OWN"
}

unless() {
	capture accepted <"$TMP/accepted.lines"
	local_verdicts 'rule any limit 3/day burst 3 per rule over drop unless established' accepted \
		"pass within,pass within,pass within,pass established,drop over,pass established,pass established,pass established,drop over" \
		--local "$OWN"
}

# The machine asks 198.51.100.8, and answers 198.51.100.7.
questions() {
	capture questions <<-'END'
		1 udp 198.51.100.7 sport=4000
		2 udp 192.0.2.1 dst=198.51.100.7 sport=53 dport=4000
		3 udp 198.51.100.7 sport=4000
		4 udp 192.0.2.1 dst=198.51.100.8 sport=4001
		5 udp 198.51.100.8 sport=53 dport=4001
		6 udp 198.51.100.8 sport=53 dport=4002
		65 udp 198.51.100.8 sport=53 dport=4001
	END
	local w='pass within'
	local_verdicts 'rule any established allow;rule any limit 9/second' questions "$w,$w,$E,$w,$w" --local $OWN &&
		is "$(simulate "$KNOWN" questions -j --local $OWN | json -c .established)" \
			'{"known":1,"guessed":2,"unseen":2,"forgotten":0}'
}

# The lines of the packets that were run, by their numbers in the capture.
numbers() {
	capture accepted <"$TMP/accepted.lines"
	is "$(simulate "$KNOWN" accepted --verdicts --local $OWN | cut -d ' ' -f 1 | paste -sd ' ')" '1 2 4 5 6 7 8 9 10'
}

document() {
	capture accepted < <(cat "$TMP/accepted.lines" && echo '11 udp 198.51.100.7 dst=198.51.100.8')
	simulate "$ACCEPTED_POLICY" accepted -j --local $OWN >"$TMP/document" || return
	is "$(json -c '[.packets, .passed.packets, .sent, .elsewhere, .established]' <"$TMP/document")" \
		'[9,9,{"packets":1,"bytes":54},{"packets":1,"bytes":80},{"known":6,"guessed":0,"unseen":2,"forgotten":0}]' &&
		simulate "$ACCEPTED_POLICY" accepted --local $OWN >"$TMP/text" || return
	has 'not run: 1 sent by local addresses, 1 between other addresses' cat "$TMP/text" &&
		has 'asked whether established: 8: 6 known, 0 guessed, 2 unseen' cat "$TMP/text"
}

# Without the option, all is as it was, and JSON has no keys of it.
without() {
	capture accepted <"$TMP/accepted.lines"
	local_verdicts "$KNOWN" accepted "$N,$N,$N,$N,$N,$N,$N,$N,$N,$N" &&
		simulate "$KNOWN" accepted -j | json 'has("established") or has("sent") | not'
}

counted() { # TEXT N: in how many lines of what was said
	is "$(grep -cF -e "$1" "$TMP/said")" "$2" || _say "said: $(<"$TMP/said")"
}

# said TEXT POLICY NAME OPTION…: once, on stderr; -q silences it.
said() {
	simulate "${@:2}" 2>"$TMP/said" >/dev/null && counted "$1" 1 || return
	simulate "${@:2}" -q 2>"$TMP/said" >/dev/null && is "$(<"$TMP/said")" ''
}
unsaid() { simulate "${@:2}" 2>"$TMP/said" >/dev/null && counted "$1" 0; }

one_way() {
	capture one <<<'1 tcp 198.51.100.7'
	said 'no packet was sent by a local address' "$KNOWN" one --local $OWN &&
		unsaid 'has no packet from or to' "$KNOWN" one --local $OWN
}

both_ways() {
	capture two link=sll < <(cat "$TMP/accepted.lines")
	unsaid 'both directions' "$KNOWN" two --local $OWN
}

restarted() {
	capture back <<-'END'
		100 tcp 192.0.2.1 dst=198.51.100.7 sport=53 dport=1000 seq=1 ack=1
		101 tcp 198.51.100.7 seq=1 ack=27
		1 tcp 198.51.100.7 seq=1 ack=27
	END
	local_verdicts "$KNOWN" back "$E,$N" --local $OWN 2>"$TMP/said"
}

refused() { # TEXT OPTION…
	local output
	output=$(expect_status 2 simulate "$KNOWN" accepted "${@:2}" 2>&1) && is "$output" "rlctl: $1"
}

capture accepted <"$TMP/accepted.lines"
t 'a connection that was accepted' accepted accepted $OWN
t 'IPv6' accepted accepted6 $OWN6
t 'a prefix' accepted accepted 192.0.2.0/24
t 'behind a VLAN tag' behind_vlan
t 'Linux cooked' accepted accepted $OWN link=sll
t 'pcapng' accepted accepted $OWN ng
t 'a policy that drops the handshake' dropped
t 'over drop unless established' unless
t 'UDP: who asked' questions
t 'numbers of packets that are run' numbers
t 'JSON and text' document
t 'without --local' without
t 'note: a policy that asks, without --local' said 'nothing counts as established, because a capture has no sockets' "$KNOWN" accepted
t 'no note: a policy that does not ask' unsaid 'nothing counts' 'rule any limit 9/second' accepted
t 'note: one direction' one_way
t 'note: an address that is not in the capture' said '--local 203.0.113.1: ' "$KNOWN" accepted --local $OWN --local 203.0.113.1
t 'no note: both directions' both_ways
t 'time goes back' restarted
mapfile -t TOO_MANY < <(printf -- '--local\n10.0.0.%d\n' {1..65})
t '64 addresses' simulate "$KNOWN" accepted "${TOO_MANY[@]::128}"
t '65 addresses' refused 'too many --local: give 64 at most, or a prefix of several' "${TOO_MANY[@]}"
t 'no address' refused "invalid --local 'x': use an IPv4 or IPv6 address, with /LEN for a prefix" --local x
t 'host bits' refused "invalid --local '192.0.2.1/24': write 192.0.2.0/24" --local 192.0.2.1/24
t 'mapped' refused "invalid --local '::ffff:192.0.2.1': write 192.0.2.1" --local ::ffff:192.0.2.1
t 'no argument' refused '--local requires an argument: ADDRESS[/LEN]' --local
