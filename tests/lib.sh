# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What the shell tests source: network namespaces that clean up after themselves and a runner that
# speaks TAP. Tests touch no device outside the namespaces they made. Namespaces have short names
# (A, B); the system sees rl-SCRIPT-PID-A.
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

# ns_pins A: the folder of the pins that belong to namespace A.
ns_pins() { echo "$BPFFS/rlctl/$(stat -L -c %i "/run/netns/$(ns "$1")")"; }

# veth_pair A B: two new namespaces joined by a cable: veth-A 10.77.0.1 fd77::1, veth-B .2 ::2.
veth_pair() {
	ns_new "$1" "$2" || return
	ip -n "$(ns "$1")" link add "veth-$1" type veth peer name "veth-$2" netns "$(ns "$2")" || return
	_veth_up "$1" 1 && _veth_up "$2" 2
}

_veth_up() {
	local n
	n=$(ns "$1")
	ip -n "$n" link set "veth-$1" addrgenmode none &&
		ip -n "$n" addr add "10.77.0.$2/24" dev "veth-$1" &&
		ip -n "$n" addr add "fd77::$2/64" dev "veth-$1" nodad &&
		ip -n "$n" link set "veth-$1" up
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

# bg CMD…: runs CMD until the test ends (its pid is BG_PID). Its output goes to $TMP/bg.
bg() {
	set -m # a process group of its own, so that all of it can be ended
	"$@" >>"$TMP/bg" 2>&1 </dev/null &
	BG_PID=$!
	set +m
	_jobs+=("$BG_PID")
}

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
	local status=$? name
	trap - EXIT INT TERM
	_end_jobs 2>/dev/null # bash would report each one killed
	for name in ${_namespaces[@]+"${_namespaces[@]}"}; do
		rm -rf "$(ns_pins "$name")"
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
	echo "# command: $*"
	sed 's/^/# /' "$TMP/out"
	return 1
}

# skip NAME REASON…: where the machine cannot run it; the check tolerates only tests/may-skip.
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

# between GOT LOW HIGH: integers, both ends included.
between() { [[ $1 =~ ^-?[0-9]+$ && $1 -ge $2 && $1 -le $3 ]] || _say "got '$1', wanted $2..$3"; }

# has TEXT CMD…: CMD succeeds and its output (both streams) contains TEXT.
has() {
	local text=$1 output
	shift
	output=$("$@" 2>&1) || _say "exit status $? with output: $output" || return
	[[ $output == *"$text"* ]] || _say "no '$text' in: $output"
}

# eventually SECONDS CMD…: CMD succeeds within that time.
eventually() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[[ $SECONDS -lt $end ]] || _say "still fails: $*" || return
		sleep 0.1
	done
}

# json FILTER <DOCUMENT: jq's raw result; fails on null, false and on what is no JSON.
json() { jq -er "$@"; }

_say() {
	echo "$*" >&2
	return 1
}
