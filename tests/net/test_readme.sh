#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the commands of README.md and docs/guide.md as written, in a namespace whose device is called eth0, and
# measures the protection that they promise. The policies that they show are checked in tests/unit/test_manual.sh, the two commands
# of the beginning in test_demo.sh and test_first_run.sh. check: processor check: timeout 120
source "$(dirname "$0")/typed.sh"

# runs_on COMMAND: beside packets that are dropped it has not ended by itself after two seconds, and has said
# something.
runs_on() {
	bg flood A --src 198.51.100.1 --dport 443 --rate 5000 --seconds 3 "${SMOOTH[@]}"
	expect_status 124 typed "timeout 2 $1" >"$TMP/said" 2>&1
	wait "$BG_PID" && grep . "$TMP/said"
}

# in_terminal COMMAND: until it shows a picture and is told to quit.
in_terminal() { typed "python3 '$TOP/tests/terminal.py' 'by dropped' q -- $1"; }

# routes COMMAND: with the policy that stands before it, and another instance than before.
routes() {
	section "$TOP/docs/guide.md" 'In front of a network' | grep '^rule ' >"$TMP/tree/router.policy" &&
		typed 'rlctl detach eth0' && typed "$1"
}

# try LINE: as it is meant.
try() {
	case "$1" in
	./scripts/demo.sh* | ./scripts/check.sh*) test -x "$TOP/${1%% *}" ;;
	*'rlctl top'*) in_terminal "${1%%#*}" ;;
	*'stats --watch'* | *'rlctl monitor'* | *'rlctl exporter'* | *'events --follow') runs_on "${1%%#*}" ;;
	*router.policy*) routes "$1" ;;
	*iptables-save*) in_ns B iptables -A INPUT -m hashlimit --hashlimit-above 100/sec --hashlimit-mode srcip \
		--hashlimit-name readme -j DROP && typed "$1" ;;
	*) typed_as_meant "$1" ;;
	esac
}

# ---- what the device is then protected from

passed() { stat_of B "$1 // 0"; }

# Its rate is chosen so that neither the cable nor the machine loses any.
test_allowed() {
	flood A --src 203.0.113.7 --dport 22 --count 8000 --rate 8000 "${SMOOTH[@]}" && is "$(passed .reasons.allowed.packets)" 8000
}

test_service() {
	local sent before
	sleep 2 # for a second attempt: the bucket is full again
	before=$(rule_stat B 'any limit' .passed.packets) &&
		sent=$(flood A --src 198.51.100.2 --dport 443 --count 40000 --rate 20000 "${SMOOTH[@]}") || return
	admitted $(($(rule_stat B 'any limit' .passed.packets) - before)) 1000 2000 "$(json .seconds <<<"$sent")" 20
}

# asks: the machine asks the server of the downloads, whose answers are established as long as its socket is open.
asks() {
	bg in_ns B python3 -c "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 40000))
s.sendto(b'x', ('192.0.2.80', 443))
open('$TMP/asked', 'w').write('yes')
time.sleep(60)"
	eventually 5 test -s "$TMP/asked"
}

# Its answers are more than the limit of each source.
test_download() {
	local before
	before=$(stat_of B .dropped.packets) && asks &&
		flood A --src 192.0.2.80 --dport 40000 --sport 443 --count 40000 --rate 20000 "${SMOOTH[@]}" || return
	is "$(stat_of B .dropped.packets)" "$before" && [[ $(passed .reasons.established.packets) -gt 30000 ]]
}

# Strangers share their limit; the download goes on beside them.
test_strangers() {
	local sent before held
	sleep 1
	before=$(rule_stat B 'device new-source' .passed.packets) && held=$(rule_stat B 'any limit' .dropped.packets) || return
	bg flood A --src 10.0.0.0/8 --dport 53 --rate 100000 --seconds 3 "${SMOOTH[@]}"
	sleep 0.5
	flood A --src 192.0.2.80 --dport 40000 --sport 443 --count 10000 --rate 5000 "${SMOOTH[@]}" || return
	wait "$BG_PID" && sent=$(tail -n 1 "$TMP/bg") || return
	rl B stats
	admitted $(($(rule_stat B 'device new-source' .passed.packets) - before)) 10000 1000 "$(json .seconds <<<"$sent")" 20 &&
		is "$(rule_stat B 'any limit' .dropped.packets)" "$held"
}

# The picture of top is one: its columns are of those that there are, in their order.
test_picture() {
	local columns
	columns=$(grep '^source  ' "$TOP/README.md" | tr -s ' ' | sed 's/+/[+]/')
	rl B top --once | grep '^source ' | tr -s ' ' >&2
	grep -qxE "${columns// /.* }" <(rl B top --once | grep '^source ' | tr -s ' ')
}

test_numbers_of_algorithms() {
	diff <("$TOP/scripts/compare.sh" --table) <(sed -n '/^<!-- table:/,/^<!-- end/{/^|/p}' "$TOP/docs/algorithms.md")
}

# shellcheck disable=SC2016 # as it is written
test_detach() {
	grep -qF '`sudo rlctl detach eth0`' "$TOP/README.md" && typed 'sudo rlctl detach eth0' && is "$(xdp_program B eth0)" ''
}

# The memory that README names: two megabytes, fifteen where each source has a limit, and three with its options.
test_memory() {
	typed 'rlctl attach eth0' && typed 'rlctl rule add device limit 20000/second' && between "$(memory)" 1000000 2500000 && typed 'rlctl detach eth0' &&
		typed 'rlctl attach eth0 --policy web' && between "$(memory)" 13000000 16000000 && typed 'rlctl detach eth0' &&
		typed "rlctl attach eth0 --policy web $(grep -o -e '--sources 4096[^`]*' "$TOP/README.md")" && between "$(memory)" 2000000 3800000 &&
		typed 'rlctl detach eth0'
}
memory() { rl B status -j | json '.[0] | .memory // .memory_bytes'; }

test_short() { between "$(wc -l <"$TOP/README.md")" 60 145; }

# commands FILE
commands() {
	local line
	while read -r line; do
		t "$(basename "$1"): $line" try "$line"
	done < <(blocks <"$1" && spans <"$1" | sort -u | grep -v ' detach ')
}

found() { between "$(blocks <"$TOP/README.md" | wc -l)" 7 30 && between "$(blocks <"$TOP/docs/guide.md" | grep -c rlctl)" 10 40; }

typed_place && ns_mute A && ns_mute B && ip -n "$(ns B)" route add default via 10.77.0.1 || exit 1
t 'README.md is short' test_short
t 'the commands are found' found
commands "$TOP/README.md"
t 'the allowed address: all of it' test_allowed
t 'a source to a service: held to its limit' patiently test_service
t 'a download: all of it' test_download
t 'strangers: held together, and the download is not' patiently test_strangers
t 'the columns of top' test_picture
t 'docs/algorithms.md: the numbers' test_numbers_of_algorithms
echo 'rule 192.0.2.77 deny' >"$TMP/tree/rules"
echo '1 udp 192.0.2.10 times=10' | python3 "$TOP/tests/prog/capture.py" >"$TMP/tree/capture.pcap" || exit 1
commands "$TOP/docs/guide.md"
t 'README.md: sudo rlctl detach eth0' test_detach
t 'README.md: the memory of an instance' test_memory
