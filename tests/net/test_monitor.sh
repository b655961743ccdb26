#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl monitor on a live veth: its lines match the packets that were sent, the rate holds under a flood and
# the figures add up, captures can be read, filters filter, each watcher has its own samples, and watching
# ends with the watcher, however it ends. check: processor
source "$(dirname "$0")/../lib.sh"

policy() {
	cat <<-'END'
	rule 10.78.0.0/16 deny
	rule fd78::/32 deny
	rule 10.79.0.0/16 limit 1/hour burst 3
	rule 10.80.0.0/16 allow
	END
}

# begin NAME ARG…: a monitor in the background until the test ends; lines in $TMP/NAME, the rest in
# $TMP/NAME.err. It may not watch yet.
begin() {
	local name=$1
	shift
	: >"$TMP/$name"
	bg into "$TMP/$name" "$RLCTL" -n "$(ns B)" monitor "$@"
	MONITOR=$BG_PID
}

# begin_alone NAME ARG…: begins once no watch is on, and waits until this one watches. (A watch that has ended
# stays on until a packet finds it so.)
begin_alone() {
	eventually 10 off_with_packets && begin "$@" && eventually 10 is_on 1
}

# sent ARG…: COUNT frames, or one.
sent() { flood A --count "${COUNT:-1}" "$@"; }

# reported NAME ARG…: sends a frame until the monitor has reported it.
reported() {
	local name=$1
	shift
	sent "$@" >&2 && [[ -s $TMP/$name ]]
}

is_on() { watch_board veth-B-xdp ".on == $1"; } # 0|1

# says FILTER MONITOR-ARGS -- FLOOD-ARG…: the first frame's line, by jq.
says() {
	local filter=$1 args=()
	shift
	while [[ $1 != -- ]]; do
		args+=("$1")
		shift
	done
	shift
	begin says -j --count 1 "${args[@]}"
	eventually 10 reported says "$@" && eventually 5 ended "$MONITOR" || return
	cat "$TMP/says" "$TMP/says.err" >&2
	json -s "length == 1 and (.[0] | $filter)" <"$TMP/says"
}

test_fields() {
	local now
	now=$(date +%s)
	t 'a denied packet' says '.verdict == "drop" and .reason == "denied" and .protocol == "udp" and
		.source == "10.78.1.2" and .sport == 1234 and .destination == "10.77.0.2" and .dport == 53 and
		.bytes == 900 and .stands_for >= 1 and .rule == "10.78.0.0/16 deny"' -- \
		--src 10.78.1.2 --sport 1234 --dport 53 --size 900
	t 'IPv6' says '.source == "fd78::9" and .destination == "fd77::2" and .protocol == "tcp" and
		.rule == "fd78::/32 deny"' -- --src fd78::9 --proto tcp-syn
	t 'no ports' says '.protocol == "icmp" and (has("sport") or has("dport") | not)' -- --src 10.78.1.2 --proto icmp
	t 'a limit' says '.reason == "over" and (.rule | startswith("10.79.0.0/16 limit 1/hour burst 3"))' -- --src 10.79.1.2
	t 'a packet that passes' says '.verdict == "pass" and .reason == "allowed" and .rule == "10.80.0.0/16 allow"' \
		--passed -- --src 10.80.1.2
	t 'a packet that no rule speaks of' says '.reason == "unmatched" and (has("rule") | not)' --passed -- --src 10.81.1.2
	t 'the time' says "(.time[:19] + \"Z\" | fromdate) >= $now - 1 and
		(.time[:19] + \"Z\" | fromdate) <= now + 1" -- --src 10.78.1.2
	begin line --count 1 && eventually 10 reported line --src 10.78.1.2 --sport 7
	t 'a line for people' grep -qE '^[0-9:.]{15} drop denied    udp   10\.78\.1\.2:7 -> 10\.77\.0\.2:9 60 bytes, one of [0-9]+, rule 10\.78\.0\.0/16 deny$' "$TMP/line"
}

# ---- how many

# A flood at full speed: never more than the rate, and shown, skipped and lost packets add up to all. Those are lost
# for which a busy machine left the reader no time.
test_rate() {
	local lines figures
	begin_alone rate -j --rate 200 --seconds 2 || return
	flood A --seconds 1 --src 10.78.0.0/16 >&2 && eventually 10 ended "$MONITOR" || return
	cat "$TMP/rate.err"
	lines=$(wc -l <"$TMP/rate")
	figures=$(tr -d , <"$TMP/rate.err" | sed -nE \
		's/.*: ([0-9]+) packets shown in .* of ([0-9]+) dropped; ([0-9]+) not sampled .*200\) ([0-9]+) lost.*/\1 \2 \3 \4/p')
	read -r shown dropped skipped lost <<<"$figures"
	is "$shown" "$lines" && is $((shown + skipped + lost)) "$dropped" && between "$((lines + lost))" 50 $((200 * 2 + 20)) &&
		[[ $dropped -gt $((20 * (lines + lost))) && $lines -gt 0 ]] || return
	between "$(jq -s 'map(.stands_for) | add' <"$TMP/rate")" $((dropped * lines / (lines + lost) / 2)) "$dropped"
}

# ---- captures

# Frames longer than the part that is kept: their lengths and times are correct all the same.
test_capture() {
	local result
	begin_alone none -w "$TMP/pcap" --count 50 &&
		flood A --count 20000 --rate 20000 --src 10.78.0.0/16 --size 1000 >&2 && eventually 10 ended "$MONITOR" || return
	is "$(tcpdump -nr "$TMP/pcap" 2>"$TMP/err" | grep -c '10.78.*> 10.77.0.2.9: UDP, length 958')" 50 &&
		has 'snapshot length 256' cat "$TMP/err" || return
	policy >"$TMP/policy"
	result=$(rlctl_simulate "$TMP/policy" "$TMP/pcap") || return
	is "$(json '.dropped | [.packets, .bytes] | join(" ")' <<<"$result")" '50 50000' &&
		between "$(tcpdump -tt -nr "$TMP/pcap" -c 1 2>/dev/null | cut -d. -f1)" "$(($(date +%s) - 60))" "$(date +%s)"
}

rlctl_simulate() { "$RLCTL" simulate -j "$@"; }

test_pipe() {
	bg flood A --seconds 60 --rate 10000 --src 10.78.0.0/16
	rl B monitor -w - | tcpdump -nr - -c 5 >"$TMP/pipe" 2>/dev/null # ends with its reader
	kill -- "-$BG_PID"
	is "$(grep -c UDP "$TMP/pipe")" 5
}

# ---- filters

# only FILTER ARG…: with this option only such packets are shown, of a mix.
only() {
	local filter=$1 i
	shift
	begin_alone only -j --passed "$@" || return
	COUNT=5
	for i in 10.78.1.2 10.78.1.3 10.79.1.2 10.80.1.2 fd78::9; do
		sent --src "$i" >&2 || return
	done
	unset COUNT
	eventually 5 json -s "length >= 5 and all(.[]; $filter)" <"$TMP/only"
	local status=$?
	kill -INT "$MONITOR" && eventually 5 ended "$MONITOR" && return "$status"
}

test_filters() {
	t 'a prefix' only '.source == "10.78.1.2"' --prefix 10.78.1.2
	t 'a prefix of the other side' only '.destination == "10.77.0.2"' --prefix 10.77.0.0/24
	t 'an IPv6 prefix' only '.source == "fd78::9"' --prefix fd78::/64
	t 'a reason' only '.reason == "allowed"' --reason allowed
	t 'two reasons' only '.reason == "allowed" or .reason == "over"' --reason over,allowed
	t 'a rule' only '.rule == "10.78.0.0/16 deny"' --rule '10.78.0.0/16 deny'
	t 'a rule by its prefix' only '.rule == "10.80.0.0/16 allow"' --rule 10.80.0.0/16
}

# ---- several, and their ends

test_own_samples() {
	local i
	for i in 1 2; do
		begin "own$i" -j --prefix "10.78.1.$i" || return
	done
	COUNT=5
	for i in 1 2; do
		eventually 10 reported "own$i" --src "10.78.1.$i" || return
	done
	unset COUNT
	json -s 'all(.[]; .source == "10.78.1.1")' <"$TMP/own1" && json -s 'all(.[]; .source == "10.78.1.2")' <"$TMP/own2" || return
	for i in 3 4; do # before the fifth, who would take their place
		begin "own$i" && eventually 10 reported "own$i" --src 10.78.1.1 || return
	done
	eventually 5 has '4 watches are already running' fifth && end_all
}

fifth() { ! rl B monitor --seconds 1; }

end_all() {
	local pid
	for pid in "${_jobs[@]}"; do
		kill -INT "$pid" 2>/dev/null
	done
	for pid in "${_jobs[@]}"; do
		eventually 5 ended "$pid" || return
	done
}

# A shell without job control ignores SIGINT for what it starts with &.
test_interrupt_of_script() {
	# shellcheck disable=SC2016 # for the inner shell
	local script='"$@" & echo $! >"$0"; wait $!'
	bg bash -c "$script" "$TMP/script-pid" "$RLCTL" -n "$(ns B)" monitor
	eventually 5 test -s "$TMP/script-pid" && sleep 0.5 && kill -INT "$(<"$TMP/script-pid")" &&
		eventually 5 ended "$(<"$TMP/script-pid")"
}

test_interrupt() {
	local status=0
	begin int -j && eventually 10 reported int --src 10.78.1.2 && kill -INT "$MONITOR" || return
	wait "$MONITOR" || status=$?
	is "$status" 0 && has 'packets shown' cat "$TMP/int.err" && json -s 'length >= 1' <"$TMP/int" &&
		eventually 5 off_with_packets
}

# A watcher's ring has no pin, and a reader has no capability to open it by its id.
test_readers() {
	local verb
	begin_alone readers || return
	for verb in status stats 'stats --prometheus' doctor show; do
		# shellcheck disable=SC2086 # several words
		rl B $verb >"$TMP/readers.out" || { cat "$TMP/readers.out" && _say "$verb" || return; }
	done
	kill -INT "$MONITOR" && wait "$MONITOR" && eventually 5 off_with_packets
}

# A killed monitor cannot switch anything off: its slot expires after three seconds.
test_killed() {
	begin_alone killed && kill -KILL "$MONITOR" && is_on 1 && eventually 10 off_with_packets
}

off_with_packets() { sent --src 10.78.1.2 >&2 && is_on 0; }

test_detached() {
	local status=0
	begin_alone detached && rl B detach veth-B || return
	wait "$MONITOR" || status=$?
	is "$status" 0 && has 'no longer attached' cat "$TMP/detached.err" && rl B attach veth-B --policy "$TMP/policy"
}

test_new_policy() {
	begin_alone anew -j --count 1 --prefix 10.82.1.1 && rl B rule add 10.82.0.0/16 deny &&
		eventually 10 reported anew --src 10.82.1.1 && is "$(json .rule <"$TMP/anew")" '10.82.0.0/16 deny'
}

# Captures are for their owner alone, and take no other's place.
test_capture_file() {
	local theirs=$TMP/theirs
	mkdir "$theirs" && chown 54321 "$theirs" && ln -s "$TMP/made" "$theirs/link" && ln -s "$TMP/mine" "$theirs/mine" && echo theirs >"$theirs/file" &&
		echo mine >"$TMP/mine" && chown -h 54321 "$theirs"/* && ln -s "$TMP/mine" "$TMP/link" || return
	rl B monitor -w "$TMP/new" --seconds 1 && is "$(stat -c %a "$TMP/new")" 600 && rl B monitor -w "$TMP/new" --seconds 1 &&
		tcpdump -nr "$TMP/new" >/dev/null && has 'symbolic link of another user' expect_status 1 rl B monitor -w "$theirs/link" &&
		[[ ! -e $TMP/made ]] && has 'symbolic link of another user' expect_status 1 rl B monitor -w "$theirs/mine" && is "$(<"$TMP/mine")" mine &&
		has 'a file of another user' expect_status 1 rl B monitor -w "$theirs/file" && is "$(<"$theirs/file")" theirs &&
		rl B monitor -w "$TMP/link" --seconds 1 && tcpdump -nr "$TMP/mine" >/dev/null && rl B monitor -w >(cat >"$TMP/through") --seconds 1 &&
		eventually 5 tcpdump -nr "$TMP/through"
}

# Each packet on one line of the terminal, with the number that it stands for.
fits() { # COLUMNS
	SHOWN=$(COLUMNS=$1 LINES=24 python3 "$TOP/tests/terminal.py" -- "$RLCTL" -n "$(ns B)" monitor --count 3 2>&1 |
		tr -d '\r' | grep ' denied ') && echo "$SHOWN" && is "$(awk "length > $1" <<<"$SHOWN")" '' && is "$(grep -cE \
		'^[0-9:]{8} denied    udp   10\.78\.[0-9.]+ -> :27015, one of [0-9]+(, rule 10\..* deny)?$' <<<"$SHOWN")" 3
}
test_width() {
	local status=0
	bg flood A --seconds 60 --rate 1000 --src 10.78.0.0/16 --dport 27015
	fits 60 && fits 80 && has ', rule 10.' echo "$SHOWN" || status=$?
	kill -- "-$BG_PID"
	return "$status"
}

test_wrong_words() {
	t 'no such reason' expect_status 2 rl B monitor --reason dropped
	t 'host bits' expect_status 2 rl B monitor --prefix 10.0.0.1/8
	t 'no such rule' expect_status 1 rl B monitor --rule '10.99.0.0/16 deny'
	t 'no rule at all' expect_status 2 rl B monitor --rule 'nonsense deny'
	t 'rate 0' expect_status 2 rl B monitor --rate 0
	t 'a capture in JSON' expect_status 2 rl B monitor -j -w "$TMP/x"
	t 'a capture that cannot be made' expect_status 1 rl B monitor -w "$TMP/none/x"
	t 'a capture for a terminal' expect_status 0 on_terminal
}

on_terminal() {
	python3 - "$RLCTL" -n "$(ns B)" monitor -w - --seconds 1 <<-'END' | grep -q 'capture to a terminal'
	import pty, sys
	sys.exit(pty.spawn(sys.argv[1:]) == 0)
	END
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on &&
	policy >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" || exit 1
# the limit of 10.79.0.0/16 is spent, so that the next one is over
COUNT=3 sent --src 10.79.1.2 >/dev/null
test_fields
t 'the rate holds under a flood' test_rate
t 'a capture' test_capture
t 'a capture into a pipe' test_pipe
t 'captures in files' test_capture_file
test_filters
t 'each watcher has its own samples' test_own_samples
t 'SIGINT ends it with a summary' test_interrupt
t 'SIGINT ends one that a script started' test_interrupt_of_script
t 'others read meanwhile' test_readers
t 'killed, watching ends by itself' test_killed
t 'a rule that is added meanwhile' test_new_policy
t 'as wide as the terminal' test_width
t 'it ends with the instance' test_detached
test_wrong_words
