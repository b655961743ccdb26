#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A fleet of three members: one limit of 1000 packets a second, wherever the packets arrive; without
# Redis, without an agent, and with a Redis that lies.
source "$(dirname "$0")/fleet.sh"

RULE='any limit 1000/second burst 100 fleet'
N=3

# ---- words

words() { # STATUS TEXT WORD…: refused with that status and text
	local status=$1 text=$2 got=0
	shift 2
	RLCTL_REDIS_URL='' RLCTL_REDIS_PASSWORD='' "$RLCTL" "$@" >"$TMP/words" 2>&1 || got=$?
	is "$got" "$status" && has "$text" cat "$TMP/words"
}

test_words() {
	echo 'redis://:geheim@127.0.0.1:1/0' >"$TMP/url"
	words 2 'missing fleet name' fleet join --redis redis://127.0.0.1 &&
		words 2 'every user can read a password' fleet join --redis redis://:geheim@h --name f &&
		! grep -q geheim "$TMP/words" &&
		words 2 'write redis://HOST' fleet join --redis http://h --name f &&
		words 2 '5ms to 500ms' fleet join --redis redis://h --name f --interval 1s &&
		words 2 'letters, digits' fleet join --redis redis://h --name 'a b' &&
		words 1 'nothing attached' -n "$(ns S)" fleet join --redis "@$TMP/url" --name f
}

# ---- sums

test_alone_without_agent() {
	local result
	policy "$RULE" && result=$(in_ns S "${FIRST[@]}" "$TOP/build/flood" -i s-m1 -j --rate 20000 --seconds 1 --src 10.9.0.1) &&
		admitted "$(passed)" 1000 100 "$(json .seconds <<<"$result")"
}

test_join() {
	each join && eventually 10 together $N && has m1 rl m2 fleet status -j &&
		expect_fail rl m1 fleet join --redis "unix://$REDIS/socket" --name f --node other &&
		is "$(rl m1 fleet status -j | json '.[0].limits[0].identity')" "$(rl m2 fleet status -j | json '.[0].limits[0].identity')"
}

# A flood of strangers, a packet each, does not reach Redis.
test_strangers() {
	redis config resetstat && in_ns S "$TOP/build/flood" -i s-m1 --count 16384 --src 10.64.0.0/18 --sequential &&
		sleep 0.3 && is "$(redis keys 'rlctl:{f}:*:*')" ''
}

# ---- failures

local_mode() { fleet_is "$1" '.mode == "local"'; }
shared_mode() { fleet_is "$1" '.mode == "shared"'; }

# Redis dies under load, and comes back empty: neither gap nor burst.
test_redis_dies() {
	local m meter
	for m in "${MEMBERS[@]}"; do
		load "$m" 800 20
	done
	sleep 0.8
	meter 3.5 >"$TMP/samples" &
	meter=$!
	sleep 0.5 && kill -KILL "$REDIS_PID" && eventually 5 each local_mode && sleep 0.5 && redis_start &&
		eventually 5 each shared_mode && wait "$meter" && unload && judge 800 1200
}

# part RATE BURST PART MEMBER: of one address it admits that much, to a PARTth.
part() {
	local result before
	before=$(stat_of "$4" .passed.packets) && result=$(flooded "$4" "10.9.1.$((++address))") &&
		admitted $(($(stat_of "$4" .passed.packets) - before)) "$1" "$2" "$(json .seconds <<<"$result")" "$3"
}
third() { part 333 33 10 "$1"; } # of the limit, and of its burst
address=0
flooded() { # MEMBER SOURCE: for a second
	in_ns S "${FIRST[@]}" "$TOP/build/flood" -i "s-$1" -j --rate 20000 --seconds 1 --src "$2"
}

# A member without an agent admits its own part; then the others share without it.
test_agent_dies() {
	kill -KILL "${AGENT[m3]}" && eventually 4 local_mode m3 && patiently third m3 &&
		eventually 4 _together 2 m1 && join m3 && eventually 10 together "$N"
}

alone() { fleet_is "$2" ".mode == \"local\" and .member_count == $1"; }
agent_stop() { kill -TERM "${AGENT[$1]}" && eventually 5 agent_gone "$1"; }
anew() { rl "$1" -q detach "d-$1" && rl "$1" -q attach "d-$1" && _policy "$RULE" "$1"; }

# While Redis is away, an agent that starts knows how many share: from the one before it, after a reboot from the
# file, and if there was never one from --members, more than which are not believed.
test_starts_alone() {
	kill -KILL "$REDIS_PID" && eventually 5 each local_mode && agent_stop m1 && join m1 && eventually 5 alone 3 m1 &&
		patiently third m1 && agent_stop m1 && anew m1 && join m1 && eventually 5 alone 3 m1 && patiently third m1 &&
		agent_stop m1 && anew m1 && STATE_DIRECTORY=$TMP/none join m1 --members 3 && eventually 5 alone 3 m1 &&
		patiently third m1 && agent_stop m1 && join m1 --members 2 && redis_start && eventually 10 _together 2 m1 &&
		eventually 5 _together 3 m2 && agent_stop m1 && join m1 && eventually 10 together "$N"
}

# An agent that does not respond has not left, and when it goes on it finds that it has.
test_stopped() {
	kill -STOP "${AGENT[m1]}" && sleep 2.2 && has 'does not respond' expect_status 1 _leave m1 && kill -KILL "${AGENT[m1]}" &&
		eventually 5 agent_gone m1 && _leave m1 && join m1 && eventually 10 together "$N"
}

# Every answer takes 0.2 s: too slow a Redis to share through, however often it is tried.
test_slow() {
	bg python3 "$TOP/tests/net/slow.py" "$TMP/slow" "$REDIS/socket" 0.2
	eventually 20 test -S "$TMP/slow" && _leave m1 && eventually 5 agent_gone m1 && URL="unix://$TMP/slow" join m1 &&
		eventually 5 _together 3 m2 && sleep 1 && local_mode m1 && _leave m1 && eventually 5 agent_gone m1 && join m1 && eventually 10 together "$N"
}

test_stop() {
	redis client pause 3000 ALL && eventually 2 local_mode m1 && eventually 5 shared_mode m1
}

# ---- fixed window

# policy_known RULE: in force, and the agents have seen it.
policy_known() { policy "$1" && eventually 5 each limit_shared; }
limit_shared() { fleet_is "$1" '.limits[0].shared'; }

test_fixed_window() {
	policy_known 'any limit fixed-window 1000/minute fleet' && measure 1 3000 "${MEMBERS[@]}" &&
		between "$(passed)" 950 1000
}

# ---- a cluster's node: keys of one slot alone, or it refuses the call

test_cluster() {
	each _leave && kill -KILL "$REDIS_PID" && eventually 5 expect_fail redis ping && redis_run --cluster-enabled yes --port 6379 --bind 127.0.0.1 &&
		redis cluster addslotsrange 0 16383 && eventually 10 cluster_is_up && policy "$RULE" && each join && eventually 10 together "$N" &&
		load m1 3000 20 && eventually 5 has 'rlctl:{f}:' redis keys '*:10.9.0.1' && unload && each shared_mode
}
cluster_is_up() { redis cluster info | grep -q cluster_state:ok; }

# ---- members that lie

# Any share, any window, any number of members: never more than the limit.
test_liar() {
	local result before
	bg python3 "$TOP/tests/net/liar.py" "$TMP/liar"
	eventually 20 test -S "$TMP/liar" && each _leave && policy "$RULE" &&
		URL="unix://$TMP/liar" join m1 && eventually 5 shared_mode m1 && before=$(stat_of m1 .passed.packets) &&
		result=$(in_ns S "${FIRST[@]}" "$TOP/build/flood" -i s-m1 -j --rate 20000 --seconds 1 --src 10.9.0.1) &&
		between $(($(stat_of m1 .passed.packets) - before)) 100 \
			"$(json '.seconds * 1000 + 115 | round' <<<"$result")"
}

LIAR=0
# lies HOW: m1 is in the fleet of such a Redis.
lies() {
	[[ $LIAR -eq 0 ]] || kill -KILL -- "-$LIAR" 2>/dev/null
	: >"$TMP/bg" && rm -f "$TMP/liar" && bg python3 "$TOP/tests/net/liar.py" "$TMP/liar" "$1"
	LIAR=$BG_PID
	eventually 20 test -S "$TMP/liar" && _leave m1 && URL="unix://$TMP/liar" join m1 "${@:2}"
}

# A thousand members that are not there: no more are believed than --members says, nor is the rest remembered.
test_lies_names() {
	lies names --members 4 && eventually 5 _together 4 m1 && kill -KILL -- "-$LIAR" && eventually 5 alone 4 m1
}

# A signal is answered while an answer drips, and the kernel's memory is not Redis' to fill.
test_lies_drip() {
	lies drip && eventually 5 fleet_is m1 '.lost >= 1' && kill -TERM "${AGENT[m1]}" && eventually 1 agent_gone m1
}
test_lies_large() { # HOW
	lies "$1" && eventually 5 fleet_is m1 '.lost >= 1' && sleep 0.5 && has 'the answer is too long' cat "$TMP/bg" &&
		between "$(awk '/VmHWM/ { print $2 }' "/proc/${AGENT[m1]}/status")" 1 40000
}

test_leave() {
	rl m1 fleet leave && eventually 5 agent_gone m1 && patiently part 1000 100 4 m1
}

redis_start && for ((i = 1; i <= N; i++)); do
	member "m$i" || exit 1
done
t 'words that are refused' test_words
t 'without an agent a member holds alone' patiently test_alone_without_agent
t 'members find one another' test_join
t 'strangers do not reach Redis' test_strangers
t 'all members loaded' patiently sum 970 1.3 600 "${MEMBERS[@]}"
t 'one member loaded' patiently sum 970 1.3 3000 m2
t 'Redis dies and comes back' patiently test_redis_dies
t 'Redis stops for a while' test_stop
t 'Redis is slow' test_slow
t 'an agent dies' test_agent_dies
t 'an agent starts while Redis is away' test_starts_alone
t 'an agent that does not respond' test_stopped
t 'a fixed window is one for all' test_fixed_window
t 'a node of a cluster' test_cluster
t 'Redis lies' test_liar
t 'Redis lies: members' test_lies_names
t 'Redis lies: an answer that drips' test_lies_drip
t 'Redis lies: a long word' test_lies_large long
t 'Redis lies: a wide array' test_lies_large wide
t 'leave' test_leave
