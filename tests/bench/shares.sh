#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of a limit that classes of senders share, and what each has of it. Floods of 16 million sources meet a
# limit of the device, one for what is not established, and a shared one, in turns: nanoseconds a packet, as the
# kernel counts them. Then share.c simulates floods, of packets and of bytes. Writes docs/shares.json and has figures.py
# write docs/performance.md; OUT=DIR writes the first there instead. ROUNDS (5) makes it longer or shorter. Needs root;
# `make bench-shares` builds what it needs.
ROUNDS=${ROUNDS:-5}
source "$(dirname "$0")/bed.sh"
cd "$TOP" || exit 1
no_arguments "$@"

SOURCES=16777216
NEW='rule device new-source not established limit 20000/second'
POLICIES=('rule device limit 20000/second' 'rule device not established limit 20000/second' 'rule device limit 20000/second share'
	"$NEW" "$NEW share")
COUNTED=$(sysctl -n kernel.bpf_stats_enabled)
cleanup() {
	sysctl -qw kernel.bpf_stats_enabled="$COUNTED"
	_cleanup
}
trap cleanup EXIT

program() { bpftool -j prog show id "$(program_of "$1")"; }
spent() { program "$1" | jq -r '"\(.run_time_ns // 0) \(.run_cnt // 0)"'; } # CANDIDATE: nanoseconds and packets
memory() { # CANDIDATE MAP: bytes
	rl B status "b-$1" -j | jq '.[0].program_id' | xargs -I ID bpftool -j prog show id ID | jq '.map_ids[]' |
		xargs -I ID bpftool -j map show id ID | jq "select(.name == \"$2\").bytes_memlock"
}

declare -A FRAMES=() TOTAL=() PASSING=()
ns_new A B || die 'cannot make network namespaces'
sysctl -qw kernel.bpf_stats_enabled=1
for i in "${!POLICIES[@]}"; do
	limiter "$i" "${POLICIES[i]}"
	MS=1000 pilot "$i" 4 "$SOURCES"
done
say "${#POLICIES[@]} policies"
for ((round = 1; round <= ROUNDS; round++)); do
	for i in "${!POLICIES[@]}"; do
		read -r ns count < <(spent "$i")
		flood_one "$i" --src "$(sources 4 "$SOURCES")" --cpu "$CPU" --seed "$round" --count "${FRAMES[$i]}"
		read -r ns_now count_now < <(spent "$i")
		record shares - "${POLICIES[i]}" "$round" $(((ns_now - ns) / (count_now - count)))
	done
done
load=$(cut -d' ' -f1 /proc/loadavg)
memory=$(memory 2 shares) || die 'the map shares is not there'
say 'simulations'
build/share >"$TMP/packets" || [[ $? -eq 1 ]] || die 'share fails' # 1: some goals are missed
build/share -b -r 12500000 >"$TMP/bytes" || [[ $? -eq 1 ]] || die 'share fails'
publish shares "$load" "$memory" "$TMP/packets" "$TMP/bytes"
