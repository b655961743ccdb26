#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Shows rlctl at work: two namespaces joined by a cable, a service with a well-behaved client, and
# a flood, without and with the limiter. Touches nothing outside these namespaces and removes them.
set -euo pipefail
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
# The terminal's locale, for drawing; commands run in the C locale.
[[ ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} =~ [Uu][Tt][Ff]-?8 ]] && utf8=1 || utf8=0
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/root.sh"

HOST=rlctl-demo-$$-host   # has the server and the limiter, on veth-host
WORLD=rlctl-demo-$$-world # has the client and the flood, on veth-world
SERVER=192.0.2.1 CLIENT=192.0.2.10 FLOOD=192.0.2.66
PORT=7777
FLOOD_SECONDS=4 REQUESTS=250 # 100 requests/s, so they end before the flood does
BAR=40

usage() {
	cat <<-'END'
	Usage: demo.sh
	Builds rlctl if necessary, floods a server in its own namespace, first without the limiter and
	then with it, and shows what happened to the packets. Exit 0 if all checks passed.
	Needs root; uses sudo otherwise.
	END
}

die() {
	echo "demo.sh: $*" >&2
	exit 1
}

# ---- the terminal

bold='' dim='' red='' green='' off='' block='#' sliver='|' tick='ok ' cross='NOT'
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
	bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' off=$'\e[0m'
fi
[[ $utf8 == 0 ]] || block='█' sliver='▏' tick='✓' cross='✗'

heading() { printf '\n%s%s%s\n' "$bold" "$*" "$off"; }

# thousands N: 1234567 is 1,234,567.
thousands() {
	local n=$1 tail=''
	while [[ ${#n} -gt 3 ]]; do
		tail=,${n: -3}$tail
		n=${n:0:-3}
	done
	echo "$n$tail"
}

# percent PART WHOLE: with two decimals; only all of it is 100.00 %.
percent() {
	local hundredths=$((10000 * $1 / ($2 > 0 ? $2 : 1)))
	[[ $hundredths -ge 9999 ]] || hundredths=$(((20000 * $1 / ($2 > 0 ? $2 : 1) + 1) / 2)) # rounded
	[[ $hundredths -gt 0 || $1 -eq 0 ]] || { echo 'under 0.01 %' && return; }
	printf '%d.%02d %%' $((hundredths / 100)) $((hundredths % 100))
}

# milliseconds US: "-" if there was no answer.
milliseconds() {
	[[ $1 == null ]] && echo - || printf '%d.%02d ms' $(($1 / 1000)) $(($1 % 1000 / 10))
}

# bar NAME PART WHOLE COLOUR TEXT
bar() {
	local filled=$((BAR * $2 / ($3 > 0 ? $3 : 1))) line=''
	while [[ $filled -gt 0 ]]; do
		line+=$block filled=$((filled - 1))
	done
	[[ -n $line || $2 -eq 0 ]] || line=$sliver
	printf '  %-20s %s%s%s %s\n' "$1" "$4" "$line" "$off" "$5"
}

# ---- processes and namespaces

children=()
TMP=''

# Ends what this script started, and nothing else; also on a signal.
cleanup() {
	local status=$? child inode name
	trap '' INT TERM HUP
	trap - EXIT
	for child in ${children[@]+"${children[@]}"}; do
		kill -TERM "$child" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	if [[ -e /run/netns/$HOST ]]; then
		inode=$(stat -L -c %i "/run/netns/$HOST")
		[[ ! -d /sys/fs/bpf/rlctl/$inode ]] || build/rlctl -q -n "$HOST" detach veth-host 2>/dev/null || true
		rm -rf "/sys/fs/bpf/rlctl/$inode" # left over from an interrupted attach
	fi
	for name in "$HOST" "$WORLD"; do
		[[ ! -e /run/netns/$name ]] || ip netns del "$name"
	done
	[[ -z $TMP ]] || rm -rf "$TMP"
	exit "$status"
}

# Without a bpffs, rlctl would mount one, but not in a container's mount namespace, and the demo should not
# leave one behind: it mounts one in its own namespace.
own_bpffs() {
	[[ $(stat -f -c %T /sys/fs/bpf 2>/dev/null) != bpf_fs ]] || return 0
	# shellcheck disable=SC2016 # for the inner shell
	exec unshare --mount --propagation private bash -c 'mount -t bpf bpf /sys/fs/bpf && exec "$@"' _ "$0" "$@"
}

# Run in a namespace; `ip netns exec` would hide /sys/fs/bpf.
host() { nsenter --net="/run/netns/$HOST" "$@"; }
world() { nsenter --net="/run/netns/$WORLD" "$@"; }

# start PLACE OUTPUT CMD…: in the background, its pid in `started`. With host() or world(), the pid would be
# that of a subshell, and its child would outlive it.
start() {
	local place=$1 output=$2
	shift 2
	[[ $place == host ]] && place=$HOST || place=$WORLD
	nsenter --net="/run/netns/$place" "$@" >"$output" &
	started=$!
	children+=("$started")
}

# finish PID: waits for it; a signal interrupts the wait.
finish() {
	local status=0 i
	wait "$1" || status=$?
	for i in "${!children[@]}"; do
		[[ ${children[i]} -ne $1 ]] || unset 'children[i]'
	done
	return "$status"
}

# show PLACE CMD…: prints the command as a user would type it, and runs it.
show() {
	local place=$1
	shift
	printf '%s%s$%s %s\n' "$dim" "$place" "$off" "$*"
	[[ $1 != rlctl ]] || set -- "build/$1" "${@:2}"
	"$place" "$@" 2>&1 | sed 's/^./  &/' || die "failed: $*"
}

# ---- service, client and flood

write_echo() {
	cat >"$TMP/echo.py" <<-'END'
	# serve PORT: signs and returns every datagram. ask FROM TO PORT N: N requests, 100 a second, as JSON.
	import hashlib, json, select, socket, statistics, struct, sys, time

	SO_TIMESTAMPNS = 35  # kernel timestamp at arrival, independent of scheduling

	def serve(port):
	    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	    s.bind(("", port))
	    print("ready", flush=True)
	    while True:
	        data, peer = s.recvfrom(2048)
	        try:
	            s.sendto(data + hashlib.pbkdf2_hmac("sha256", data, b"demo", 100), peer)
	        except OSError:
	            pass

	def receive(s, trips, until):
	    while True:
	        left = until - time.monotonic()
	        if not select.select([s], [], [], max(left, 0))[0]:
	            return
	        try:
	            data, ancillary, _, _ = s.recvmsg(2048, 64)
	        except OSError:
	            continue
	        arrived = time.time_ns()
	        for level, kind, stamp in ancillary:
	            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
	                seconds, nanoseconds = struct.unpack("ll", stamp)
	                arrived = seconds * 10**9 + nanoseconds
	        number, sent = struct.unpack("!QQ", data[:16])
	        trips[number] = (arrived - sent) // 1000

	def ask(source, server, port, requests):
	    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	    s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
	    s.bind((source, 0))
	    s.connect((server, port))
	    trips, start = {}, time.monotonic()
	    for i in range(requests):
	        receive(s, trips, start + i / 100)
	        # A packet takes as much of the socket's buffer as one of the flood; smaller requests would
	        # fit where those do not.
	        s.send(struct.pack("!QQ", i, time.time_ns()).ljust(600))
	    end = time.monotonic() + 0.5
	    while len(trips) < requests and time.monotonic() < end:
	        receive(s, trips, min(end, time.monotonic() + 0.05))
	    print(json.dumps({
	        "sent": requests, "answered": len(trips),
	        "median": int(statistics.median(trips.values())) if trips else None,
	        "worst": max(trips.values(), default=None)}))

	if sys.argv[1] == "serve":
	    serve(int(sys.argv[2]))
	ask(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
	END
}

start_server() {
	local tries=0
	write_echo
	start host "$TMP/server" taskset -c "$CLIENT_CPU" nice -n -10 \
		python3 "$TMP/echo.py" serve "$PORT"
	until [[ -s $TMP/server ]]; do
		[[ $((tries++)) -lt 100 ]] || die "the service does not start"
		sleep 0.1
	done
	[[ $(<"$TMP/server") == ready ]] || die "the service failed: $(<"$TMP/server")"
}

# ask NAME: sends the client's requests; results are in $TMP/NAME.client.
ask() {
	start world "$TMP/$1.client" taskset -c "$CLIENT_CPU" nice -n -10 \
		python3 "$TMP/echo.py" ask "$CLIENT" "$SERVER" "$PORT" "$REQUESTS"
	finish "$started" || die "the client failed"
}

# flood_and_ask NAME: the flood's own counts are in $TMP/NAME.flood.
flood_and_ask() {
	local flood
	printf '%sworld$%s flood -i veth-world --src %s --dst %s --dport %s --seconds %s\n' \
		"$dim" "$off" "$FLOOD" "$SERVER" "$PORT" "$FLOOD_SECONDS"
	start world "$TMP/$1.flood" taskset -c "$FLOOD_CPU" nice -n -10 build/flood -j -i veth-world \
		--src "$FLOOD" --dst "$SERVER" --dport "$PORT" --seconds "$FLOOD_SECONDS"
	flood=$started
	sleep 0.5
	ask "$1"
	finish "$flood" || die "the flood failed"
	echo "  $(thousands "$(of "$1.flood" .sent)") packets in $FLOOD_SECONDS s:" \
		"the host took $(thousands "$(of "$1.flood" .pps)") a second"
}

# of FILE FILTER
of() { jq -r "$2" "$TMP/$1"; }

# ---- the acts

build() {
	local things=(cmocka.h ip ethtool jq nsenter python3)
	./scripts/deps.sh --build
	./scripts/deps.sh --run
	./scripts/deps.sh --missing "${things[@]}" >/dev/null || ./scripts/deps.sh --test
	make --silent -j"$(nproc)" all benches >"$TMP/make" 2>&1 &
	children+=($!)
	finish $! || { tail -n 20 "$TMP/make" >&2 && die "the build failed"; }
}

# Two CPUs of this script's affinity mask, or the only one twice.
two_cpus() {
	python3 -c 'import os; cpus = sorted(os.sched_getaffinity(0)); print(cpus[0], cpus[1 % len(cpus)])'
}

# A packet is received on the CPU that sent it. The veth has two queues: the flood uses that of its CPU's
# number, the client the other one, as a network card spreads its sources. In a shared queue, the short
# ring would overflow for both.
spread_queues() {
	local queue=$((1 - FLOOD_CPU % 2)) mask word
	[[ $FLOOD_CPU != "$CLIENT_CPU" ]] || return 0
	mask=$(printf '%x' $((1 << CLIENT_CPU % 32)))
	for ((word = CLIENT_CPU / 32; word > 0; word--)); do mask+=,00000000; done
	ip netns exec "$WORLD" sh -c "echo $mask >/sys/class/net/veth-world/queues/tx-$queue/xps_cpus"
}

make_cable() {
	local mac
	heading "A host with a UDP service, the world, and a cable between them (namespaces, a veth)"
	ip netns add "$HOST"
	ip netns add "$WORLD"
	ip -n "$WORLD" link add veth-world numrxqueues 2 numtxqueues 2 type veth \
		peer name veth-host numrxqueues 2 numtxqueues 2 netns "$HOST"
	spread_queues
	ip -n "$HOST" link set veth-host addrgenmode none
	ip -n "$WORLD" link set veth-world addrgenmode none
	show host ip addr add "$SERVER/24" dev veth-host
	show host ip link set veth-host up
	show host ethtool -K veth-host gro on
	show world ip addr add "$CLIENT/24" dev veth-world
	show world ip link set veth-world up
	# Static neighbours: no ARP among the counted packets.
	mac=$(ip -n "$HOST" -j link show veth-host | jq -r '.[0].address')
	ip -n "$WORLD" neigh replace "$SERVER" lladdr "$mac" dev veth-world nud permanent
	mac=$(ip -n "$WORLD" -j link show veth-world | jq -r '.[0].address')
	ip -n "$HOST" neigh replace "$CLIENT" lladdr "$mac" dev veth-host nud permanent
	ip -n "$HOST" neigh replace "$FLOOD" lladdr "$mac" dev veth-host nud permanent
	start_server
	ask quiet
	echo "  a client, $CLIENT, asks 100 times a second: $(of quiet.client .answered) of $REQUESTS answered"
}

limit() {
	heading "The same flood, with a limit for everyone and another for one address"
	show host rlctl attach veth-host
	show host rlctl rule add any limit 200/second burst 50
	show host rlctl rule add "$CLIENT" limit 2000/second
	flood_and_ask with
	host build/rlctl -j stats >"$TMP/stats"
	show host rlctl stats
	show host rlctl detach veth-host
}

row() { printf '  %-22s %16s %16s %16s\n' "$@"; }

# answers FORMATTER FILTER: one line per act.
answers() {
	local act values=()
	for act in quiet without with; do
		values+=("$("$1" "$(of "$act.client" "$2")")")
	done
	printf '%s\n' "${values[@]}"
}

tables() {
	local act answered cells
	passed=$(of stats '.[0].rules[] | select(.rule | startswith("any ")) | .passed.packets')
	dropped=$(of stats '.[0].rules[] | select(.rule | startswith("any ")) | .dropped.packets')
	sent=$(of with.flood .sent)

	heading "The flood, with rlctl: $(thousands "$sent") packets"
	bar "dropped: over" "$dropped" "$sent" "$red" "$(thousands "$dropped"), $(percent "$dropped" "$sent")"
	bar passed "$passed" "$sent" "$green" "$(thousands "$passed"), $(percent "$passed" "$sent")"

	heading "The well-behaved client: requests answered"
	for act in quiet without with; do
		answered=$(of "$act.client" .answered)
		bar "${NAMES[$act]}" "$answered" "$REQUESTS" "$green" "$(percent "$answered" "$REQUESTS")"
	done
	echo
	row '' "${NAMES[quiet]}" "${NAMES[without]}" "${NAMES[with]}"
	mapfile -t cells < <(answers thousands .sent)
	row requests "${cells[@]}"
	mapfile -t cells < <(answers thousands '.sent - .answered')
	row lost "${cells[@]}"
	mapfile -t cells < <(answers milliseconds .median)
	row "round trip, median" "${cells[@]}"
	mapfile -t cells < <(answers milliseconds .worst)
	row "round trip, longest" "${cells[@]}"
}

# verify TEXT CMD…: prints one line of the verdict.
verify() {
	local words=$1
	shift
	if "$@"; then
		echo "  $green$tick$off $words"
	else
		echo "  $red$cross$off $words"
		wrong=1
	fi
}

verdict() {
	local counted total
	counted=$(of stats '.[0].passed.packets + .[0].dropped.packets')
	total=$((sent + $(of with.client .sent)))
	wrong=0
	heading "Is it true?"
	verify "rlctl counted $(thousands "$counted") packets, flood and client sent $(thousands "$total")" \
		[ "$counted" -eq "$total" ]
	verify "the generator and the device's own counters agree" [ "$(of with.flood .exact)" = true ]
	verify "more than 95 % of the flood was dropped" [ $((dropped * 100)) -gt $((sent * 95)) ]
	verify "the client lost nothing" [ "$(of with.client .answered)" -eq "$REQUESTS" ]
	return "$wrong"
}

main() {
	case "${1:-}" in
	'') ;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
	as_root "$0" "$@"
	own_bpffs "$@"
	export LC_ALL=C
	cd "$(dirname "${BASH_SOURCE[0]}")/.."
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	TMP=$(mktemp -d)
	heading "Building rlctl"
	build
	read -r FLOOD_CPU CLIENT_CPU < <(two_cpus)
	declare -gA NAMES=([quiet]="no flood" [without]="flood" [with]="flood and rlctl")

	make_cable
	heading "$FLOOD floods the service, and nothing limits it"
	flood_and_ask without
	limit
	tables
	verdict
}

main "$@"
