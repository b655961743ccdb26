# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the shell tests: network namespaces that clean up after themselves and a runner that prints TAP.
# Tests touch no device outside the namespaces they made. Namespaces have short names (A, B); the system sees
# rl-SCRIPT-PID-A.
set -u
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RLCTL=${RLCTL:-$TOP/build/rlctl}
BPFFS=/sys/fs/bpf

_script=$(basename "$0" .sh)
_prefix="rl-${_script#test_}-$$"
_namespaces=()
_jobs=()
_failed=0
TMP=$(mktemp -d) # for the test's own files

# ---- namespaces

# ns A: the full name of namespace A, as `ip -n` and `rlctl -n` want it.
ns() { echo "$_prefix-$1"; }

# ns_new A…: makes namespaces with only lo, up.
ns_new() {
	local name
	for name in "$@"; do
		ip netns add "$(ns "$name")" || return
		_namespaces+=("$name")
		ip -n "$(ns "$name")" link set lo up || return
	done
}

# in_ns A CMD…: nsenter, because `ip netns exec` hides /sys/fs/bpf. /sys/class/net stays the host's.
in_ns() {
	local name=$1
	shift
	nsenter --net="/run/netns/$(ns "$name")" "$@"
}

# rl A ARG…: rlctl in namespace A.
rl() {
	local name=$1
	shift
	"$RLCTL" -n "$(ns "$name")" "$@"
}

# ns_pins A: the directory of the pins that belong to namespace A.
ns_pins() {
	local inode
	inode=$(stat -L -c %i "/run/netns/$(ns "$1")") && echo "$BPFFS/rlctl/$inode"
}

# veth_pair A B [QUEUES]: two new namespaces joined by a cable: veth-A 10.77.0.1 fd77::1, veth-B .2
# ::2.
veth_pair() {
	local queues="numtxqueues ${3:-1} numrxqueues ${3:-1}"
	ns_new "$1" "$2" || return
	# shellcheck disable=SC2086 # queues is several words
	ip -n "$(ns "$1")" link add "veth-$1" $queues type veth peer name "veth-$2" $queues \
		netns "$(ns "$2")" || return
	_veth_up "$1" 1 && _veth_up "$2" 2
}

_veth_up() {
	local n
	n=$(ns "$1")
	ip -n "$n" link set "veth-$1" addrgenmode none && _mld_at_once "$1" "veth-$1" &&
		ip -n "$n" addr add "10.77.0.$2/24" dev "veth-$1" &&
		ip -n "$n" addr add "fd77::$2/64" dev "veth-$1" nodad &&
		ip -n "$n" link set "veth-$1" up
}

# Makes a device report its multicast groups as soon as it is up, not seconds later among the packets that a
# test counts.
_mld_at_once() {
	in_ns "$1" sysctl -qw "net.ipv6.conf.$2.mldv1_unsolicited_report_interval=1" \
		"net.ipv6.conf.$2.mldv2_unsolicited_report_interval=1"
}

# no_native A B: veth-B of veth_pair A B 2 runs no native XDP any more, since its peer sends into more queues
# than it has.
no_native() { in_ns "$2" ethtool -L "veth-$2" rx 1; }

# devices_new NAME…: further devices of B, each with a peer NAME-peer beside it.
devices_new() {
	local n
	for n in "$@"; do
		ip -n "$(ns B)" link add "$n" type veth peer name "$n-peer" || return
	done
}

# veth_quiet A B: fixed neighbours, so that no ARP or neighbour discovery disturbs exact counts.
veth_quiet() {
	_neighbour "$1" "$2" 2 && _neighbour "$2" "$1" 1
}

_neighbour() {
	local mac address
	mac=$(ip -n "$(ns "$2")" -j link show "veth-$2" | jq -er '.[0].address') || return
	for address in "10.77.0.$3" "fd77::$3"; do
		ip -n "$(ns "$1")" neigh replace "$address" lladdr "$mac" dev "veth-$1" nud permanent || return
	done
}

# ns_mute A: namespace A sends nothing by itself (no IPv6, hence no MLD or router solicitation), so that only
# packets of the test arrive from it.
ns_mute() {
	in_ns "$1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
}

# answers N [SENT]: so many of five echo requests of A to B come back.
answers() { is "$(in_ns A ping -q -c "${2:-5}" -i 0.01 -W 0.3 10.77.0.2 | sed -nE 's/.* ([0-9]+) received.*/\1/p')" "$1"; }

# flood A ARG…: the generator in A on veth-A; prints its JSON. Nothing else is to hold it up.
flood() { in_ns "$1" nice -n -15 "$TOP/build/flood" -i "veth-$1" -j "${@:2}"; }

# serve A: an iperf3 server in A until the test ends.
serve() {
	bg in_ns "$1" iperf3 --server
	eventually 5 listens "$1" 5201
}

# listens A PORT: a socket of TCP or UDP is there.
listens() { in_ns "$1" ss -Hlntu "sport = :$2" | grep -q ":$2"; }

# stat_of A FILTER: FILTER of the counters of the one instance in namespace A (.passed.packets).
stat_of() { rl "$1" stats -j | json ".[0] | $2"; }

# stats_of A: the counters of all instances in namespace A, without the time at which they were read.
stats_of() { rl "$1" stats -j | jq 'del(.[].time)'; }

# rule_stat A RULE FILTER: FILTER of the counters of the rule whose line begins with RULE.
rule_stat() {
	rl "$1" stats -j | json --arg rule "$2" ".[0].rules[] | select(.rule | startswith(\$rule)) | $3"
}

# counter A NAME: a figure of A's network stack, as nstat names it (IpInReceives).
counter() { in_ns "$1" nstat -azsj "$2" | json ".kernel.$2"; }

# growth COUNTER CMD…: by how much CMD raises the number that the words of COUNTER print.
growth() {
	local before after
	before=$($1) && "${@:2}" >&2 && after=$($1) && echo $((after - before))
}

# xdp_program A DEV: the id of the XDP program on a device, nothing where there is none.
xdp_program() { ip -n "$(ns "$1")" -j link show "$2" | jq -r '.[0].xdp.prog.id // empty'; }

# unloaded PROGRAM: its id is that of none.
unloaded() { ! bpftool prog show id "$1" >/dev/null 2>&1; }

# maps_of PROGRAM: their ids.
maps_of() { bpftool -j prog show id "$1" | json '.map_ids | join(" ")'; }

# maps_gone ID…: no such maps in the kernel; a map goes some time after its last user.
maps_gone() {
	local id
	for id in "$@"; do
		! bpftool map show id "$id" 2>/dev/null || return
	done
}

# watch_board INSTANCE FILTER: who watches the packets of an instance in B.
watch_board() {
	bpftool -j map dump pinned "$(ns_pins B)/$1/data_watch" | json ".[0].formatted.value[\".data.watch\"][0].watch_board | $2"
}

# watchers INSTANCE N: so many watch its packets.
watchers() { watch_board "$1" "($2 == 0 or .on == 1) and ([.watcher[] | select(.reasons > 0)] | length) == $2"; }

# renamed DEV NAME: a device of B.
renamed() {
	ip -n "$(ns B)" link set "$1" down && ip -n "$(ns B)" link set "$1" name "$2" && ip -n "$(ns B)" link set "$2" up
}

# on_machine: the test runs on the machine itself, and not in a container.
on_machine() {
	[[ $(readlink /proc/self/ns/pid) == 'pid:[4026531836]' ]] &&
		grep -q "^$(awk '$5 == "/" { id = $1 } END { print id }' /proc/self/mountinfo) " /proc/1/mountinfo
}

# bg CMD…: runs CMD until the test ends (its pid is BG_PID). Its output goes to $TMP/bg.
bg() {
	set -m # a process group of its own, so that all of it can be ended
	"$@" >>"$TMP/bg" 2>&1 </dev/null &
	BG_PID=$!
	set +m
	_jobs+=("$BG_PID")
}

# into FILE CMD…: for `bg`: becomes CMD, with its own files.
into() { exec "${@:2}" >"$1" 2>"$1.err"; }

ended() { ! kill -0 "$1" 2>/dev/null; } # PID

_end_jobs() {
	local job name
	for job in ${_jobs[@]+"${_jobs[@]}"}; do
		kill -KILL -- "-$job" 2>/dev/null
	done
	for name in ${_namespaces[@]+"${_namespaces[@]}"}; do
		ip netns pids "$(ns "$name")" 2>/dev/null | xargs -r kill -KILL 2>/dev/null
	done
	wait 2>/dev/null
}

_cleanup() {
	local status=$? name pins
	trap - EXIT INT TERM
	_end_jobs 2>/dev/null # bash would report each one killed
	for name in ${_namespaces[@]+"${_namespaces[@]}"}; do
		pins=$(ns_pins "$name" 2>/dev/null) || continue # the test took the namespace away
		rm -rf "$pins" "/run/rlctl/${pins##*/}"-*
		ip netns del "$(ns "$name")"
	done
	rm -rf "$TMP"
	[[ $_failed -eq 0 ]] || status=1
	exit "$status"
}
trap _cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ---- running and judging

# t NAME CMD…: one test. Its output is shown only when it fails.
t() {
	local name=$1
	shift
	if "$@" >"$TMP/out" 2>&1; then
		echo "ok $name"
		return 0
	fi
	_failed=$((_failed + 1))
	echo "not ok $name"
	echo "# command:$(printf ' %q' "$@")"
	sed 's/^/# /' "$TMP/out"
	return 1
}

# skip NAME REASON…: for tests that the machine cannot run; the check tolerates only those in tests/may-skip.
skip() {
	local name=$1
	shift
	echo "ok $name # SKIP $*"
}

# expect_fail CMD…: CMD must exit 1..125; a crash or a missing command is no proper failure.
expect_fail() {
	local status=0
	"$@" || status=$?
	[[ $status -ge 1 && $status -le 125 ]] || _say "exit status $status, wanted 1..125"
}

# expect_status N CMD…
expect_status() {
	local wanted=$1 status=0
	shift
	"$@" || status=$?
	[[ $status -eq $wanted ]] || _say "exit status $status, wanted $wanted"
}

# is GOT WANTED
is() { [[ $1 == "$2" ]] || _say "got '$1', wanted '$2'"; }

# prints WANTED CMD…: for `eventually`, where "$(CMD)" would be evaluated only once.
prints() {
	local wanted=$1
	shift
	is "$("$@")" "$wanted"
}

# between GOT LOW HIGH: integers, both ends included.
between() { [[ $1 =~ ^-?[0-9]+$ && $1 -ge $2 && $1 -le $3 ]] || _say "got '$1', wanted $2..$3"; }

# admitted GOT RATE BURST SECONDS [PART]: under overload a limit of RATE per second let through burst +
# rate × time: to a PARTth of the rate (100), and never more but for one tick, here of the slowest
# kernel (HZ=100). 2: it was less, as when the machine kept the sender waiting for longer than the
# burst lasts.
admitted() {
	local ms low
	ms=$(jq -n "$4 * 1000 | round")
	low=$(($3 + $2 * ms / 1000 - $2 * ms / 1000 / ${5:-100}))
	[[ $1 -ge $low ]] || { _say "got $1, wanted $low at least" || return 2; }
	between "$1" "$low" $(($3 + $2 * (ms + 10) / 1000))
}

# patiently CMD…: again, ten times at most, while CMD returns 2: a machine that does other work keeps senders waiting.
patiently() {
	local n status
	for n in {1..10}; do
		status=0
		"$@" || status=$?
		[[ $status -eq 2 ]] || break
	done
	return "$status"
}

# has TEXT CMD…: CMD succeeds and its output (both streams) contains TEXT.
has() {
	local text=$1 output
	shift
	output=$("$@" 2>&1) || _say "exit status $? with output: $output" || return
	[[ $output == *"$text"* ]] || _say "no '$text' in: $output"
}

# ends STATUS TEXT CMD…: CMD ends so, and prints TEXT.
ends() { has "$2" expect_status "$1" "${@:3}"; }

# eventually SECONDS CMD…: CMD succeeds within that time, the most that an idle machine needs; a busy one, which may stand
# still for a quarter of a minute, is given ten times as much. Only its last output is shown.
eventually() {
	local end=$((SECONDS + 10 * $1)) asked=0
	shift
	until "$@" >"$TMP/eventually" 2>&1; do
		[[ $SECONDS -lt $end ]] || _say "$(<"$TMP/eventually")"$'\n'"still fails: $*" || return
		if [[ $((++asked)) -lt 10 ]]; then sleep 0.1; else sleep 0.4; fi
	done
}

# descriptors_of PID: how many it keeps open: the fewest of two seconds, for some are open only while it works.
descriptors_of() {
	for _ in {1..20}; do
		find "/proc/$1/fd" -mindepth 1 | wc -l
		sleep 0.1
	done | sort -n | head -n 1
}

# json FILTER <DOCUMENT: jq's raw result; fails on null, on false and on input that is not JSON.
json() { jq -er "$@"; }

_say() {
	echo "$*" >&2
	return 1
}
