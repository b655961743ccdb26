# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For bench.sh: each mechanism of the data path beside the same without it, where it is of most use. There is no
# option to switch one off: a policy or a size in which it does not apply takes its place.

# loops SECTION CANDIDATE…: their programs run over one packet in a loop, in turns; nanoseconds. LIMITS_OF says how
# many limits each has. THREADS: on so many CPUs at once; without it, on the flood's. SLICES: of each round;
# FRAME: an option of floor that says which packet.
loops() {
	local section=$1 round name ns verdict ids=()
	local -A name_of=()
	local where=(taskset -c "$CPU")
	shift
	for name in "$@"; do
		ids+=("$(program_of "$name")")
		name_of[${ids[-1]}]=$name
	done
	[[ -z ${THREADS:-} ]] || where=(env)
	nice -n -15 "${where[@]}" "$FLOOR" --run --rounds "$(rounds)" ${THREADS:+--threads "$THREADS"} \
		${SLICES:+--slices "$SLICES"} ${FRAME:+"$FRAME"} "${ids[@]}" >"$TMP/loops" || die 'cannot run the programs'
	while read -r round name ns verdict; do
		name=${name_of[$name]:-$name}
		[[ $verdict == 2 ]] || die "$name does not pass the packet: $verdict"
		record "$section" "${LIMITS_OF[$name]:-0}" "$name" "$round" "$ns"
	done <"$TMP/loops"
}

# in_real_time: the loops that follow, and each round in slices, so that what else the machine does matters less.
in_real_time() {
	# shellcheck disable=SC2016 # of the script that is written
	printf '#!/bin/sh\nexec chrt -f 10 "%s" "$@"\n' "$FLOOR" >"$TMP/floor" || die "cannot write $TMP/floor"
	chmod +x "$TMP/floor" || die "cannot run $TMP/floor"
	FLOOR=$TMP/floor SLICES=${SLICES:-25}
}

# A bucket that all CPUs share, with batches, and at a rate just too low for them (numbers.c: batch_compile). Both
# admit all and use the same clock.
batches() {
	local -A LIMITS_OF=()
	limiter batches 'rule any limit 100m/second burst 1g per rule'
	limiter no-batches 'rule any limit 39k/second burst 1g per rule'
	say "batches of per rule, with and without"
	loops batches-1 batches no-batches
	[[ $CPUS -lt 2 ]] || THREADS=2 loops batches-2 batches no-batches
}

# One source's packets at two CPUs.
table_cpu() {
	local -A LIMITS_OF=()
	local name
	for name in lru cpu; do
		limiter "admit-$name" 'rule any limit 100m/second burst 100m' --table "$name"
	done
	say "tables lru and cpu on two CPUs"
	THREADS=2 loops table-2 admit-lru admit-cpu
}

# Plain verdicts, which need no state: only the answers of the trie are cached, for 262,144 addresses or for 1,024,
# which is hardly any. 16 million sources are cached for nothing.
prefix_cache() {
	local n list=(bare)
	local -A PREFIXES_IN=([1]=1 [1k]=1000 [100k]=100000)
	for n in 1 1k 100k; do
		{ echo 'rule any deny' && prefixes in "${PREFIXES_IN[$n]}" deny; } >"$TMP/prefixes"
		cable "cache-$n" B && limiter_on "cache-$n" --table lru --prefixes 131072 --policy "$TMP/prefixes"
		cable "trie-$n" B && limiter_on "trie-$n" --table lru --prefixes 131072 --policy "$TMP/prefixes" --sources 1024
		list+=("cache-$n" "trie-$n")
	done
	section prefix-cache 4 65536 "${list[@]}"
	section prefix-cache 4 "$MANY" bare cache-1k trie-1k
}

# Where the driver has no XDP: tc's program at ingress, beside the generic XDP that it replaces.
modes() {
	limiter_in generic generic "$ONE"
	limiter_in tc mode-tc "$ONE"
	section modes 4 1 hot generic mode-tc
	section modes 4 65536 hot generic mode-tc
}

mechanisms() {
	# shellcheck disable=SC2034 # for rounds()
	local TURNS=$FEWER
	batches
	prefix_cache
	[[ $CPUS -lt 2 ]] || table_cpu
	[[ $QUEUES -lt 2 ]] || modes
}
