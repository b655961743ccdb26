#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl-overload with the kernel's own signs: the accept queue of a server that takes no connections, and tasks that wait
# for a CPU. It pulls the alarm, again and again while they last, and not any more after that.
#
# check: timeout 180
source "$(dirname "$0")/../lib.sh"

OVERLOAD=$TOP/scripts/rlctl-overload

# watches NAME OPTION…: it runs in the background until the test ends; what it says is in $TMP/NAME.
watches() {
	local name=$1
	shift
	bg into "$TMP/$name" "$OVERLOAD" --rlctl "$RLCTL" -i veth-B "$@"
	WATCHER=$BG_PID
}
into() { exec nsenter --net="/run/netns/$(ns B)" "${@:2}" >"$1" 2>&1; }
says() { grep -F "$2" "$TMP/$1"; }
stops() {
	kill -TERM "$WATCHER" && eventually 5 ended "$WATCHER"
}
ended() { ! kill -0 "$1" 2>/dev/null; }
of() { rl B alarm list -j | jq -r ".alarms[] | select(.alarm == \"overload\") | $1"; }
is_on() { is "$(of .on)" "$1"; }

# A server whose queue holds one connection, and which takes none; each further handshake that ends is an overflow.
full_begin() {
	bg in_ns B python3 -c "import socket, time
s = socket.socket()
s.bind(('10.77.0.2', 7))
s.listen(0)
time.sleep(600)"
	eventually 5 listens
}
listens() { in_ns B ss -Hltn 'sport = :7' | grep -q :7; }
connections() { # N
	in_ns A timeout 10 python3 -c "import socket, time
tried = []
for _ in range($1):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(('10.77.0.2', 7))
    tried.append(s)
time.sleep(1.2)"
}
overflows() { in_ns B nstat -az TcpExtListenOverflows | awk '/ListenOverflows/ { print $2 }'; }

test_queue() {
	full_begin && watches queue --listen-overflows 5 --for 3s overload && eventually 10 pulled_by_queue && is_on true &&
		is "$(of 'has("until")')" true && says queue 'alarm overload is on: accept queues were full for'
}
pulled_by_queue() { connections 20 && says queue 'is on'; }

# As long as they are refused, it is one time, and one message; it ends by itself.
test_lasts() {
	local since
	connections 20 && is_on true && since=$(of .since) && for _ in 1 2 3 4; do connections 20 || return; done && is_on true && is "$(of .since)" "$since" &&
		is "$(grep -c 'is on' "$TMP/queue")" 1 && eventually 8 is_on false && kill -0 "$WATCHER"
}
# Fewer than it is to take for a sign.
test_few() {
	local changes before
	stops && changes=$(of .changes) && watches few --listen-overflows 100000 --for 3s overload && before=$(overflows) && connections 20 && connections 20 &&
		[[ $(overflows) -gt $before ]] && is "$(of .changes)" "$changes" && kill -0 "$WATCHER" && stops && [[ ! -s $TMP/few ]]
}
# Without the alarm it says so once, goes on, and works as soon as there is one.
test_absent() {
	rl B apply -q - <<<'rule any allow' && watches absent --listen-overflows 5 --for 1s overload && eventually 10 refused && connections 20 && connections 20 &&
		is "$(grep -c . "$TMP/absent")" 1 && rl B apply -q --yes - <<<'alarm overload manual' && eventually 10 works && stops
}
refused() { connections 20 && says absent "unknown alarm 'overload'"; }
works() { connections 20 && says absent 'alarm overload is on'; }

# Four tasks for each processor; whatever else this machine does adds to it.
test_psi() {
	local busy=()
	rl B alarm off overload -q && watches psi --psi cpu --over 'some 200000 2000000' --for 2s overload
	for _ in $(seq $((4 * $(nproc)))); do
		timeout 20 nice -n 19 sh -c 'while :; do :; done' &
		busy+=($!)
	done
	eventually 8 says psi "is on: /proc/pressure/cpu was over 'some 200000 2000000'" && is_on true && kill "${busy[@]}" && stops &&
		eventually 5 is_on false
}

test_words() {
	local status words text
	while IFS='|' read -r status words text; do
		# shellcheck disable=SC2086 # several words
		has "$text" expect_status "$status" timeout 10 "$OVERLOAD" --rlctl "$RLCTL" $words </dev/null || return
		# shellcheck disable=SC2086 # several words
		! timeout 10 "$OVERLOAD" $words 2>&1 | grep Traceback || return
	done <<-END
		2||the following arguments are required: ALARM
		2|overload|nothing to watch: give --psi, --listen-overflows or both
		2|Over --psi cpu|'Over' is not the name of an alarm
		2|overload --listen-overflows 0|'0' is not a number from 1 on
		2|overload --listen-overflows 5 --interval 1ms|'1ms' is not a time: write for example 30s
		2|overload --psi cpu --for ever|'ever' is not a time
		2|overload --psi cpu --for 99999999d|'99999999d' is not a time
		1|overload --psi nothing|/proc/pressure/nothing: No such file or directory: write cpu, memory, io or
		1|overload --psi /dev/null|/dev/null: this is not a file of pressure stall information
		1|overload --psi $TMP|$TMP: Is a directory
		1|overload --psi cpu --over some|the kernel refuses 'some' (Invalid argument): write some or full, then microseconds
		1|overload --psi cpu --over all|the kernel refuses 'all'
	END
}
psi() { [[ -w /proc/pressure/cpu ]] && head -n 1 /proc/pressure/cpu | grep -q '^some '; }

veth_pair A B && rl B attach veth-B --policy - -q <<<'alarm overload manual' || exit 1
t 'a full accept queue' test_queue
t 'while it lasts, and no longer' test_lasts
t 'too few' test_few
t 'no such alarm yet' test_absent
if psi; then
	t 'pressure' test_psi
	t 'words that are wrong' test_words
else
	skip 'pressure, and words that are wrong' 'this kernel has no pressure stall information'
fi
