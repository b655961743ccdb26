#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The usual comparison of throttling algorithms: two traces through all six, by `rlctl simulate`. Writes
# the numbers to docs/algorithms.md and draws docs/compare.svg; with --table it only prints the numbers.
# Needs root, for simulate.
set -euo pipefail
cd "$(dirname "$0")/.."
RLCTL=${RLCTL:-build/rlctl}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The same limit for all: 100 packets a second, and 100 at once where an algorithm has a burst.
names=(token-bucket leaky-bucket fixed-window sliding-window sliding-log warm-up)
declare -A limits=(
	[token-bucket]='token-bucket 100/second burst 100'
	[leaky-bucket]='leaky-bucket 100/second queue 100'
	[fixed-window]='fixed-window 100/second'
	[sliding-window]='sliding-window 100/second slots 10'
	[sliding-log]='sliding-log 100/second'
	[warm-up]='warm-up 100/second ramp 2s'
)

# traces DIR: steady.pcap, 300 packets/s for 5 s; edge.pcap, one packet at 0 and 1000/s from 0.8 to
# 1.2 s, across the end of the window that the first packet opened.
traces() {
	python3 - "$1" <<'PYTHON'
import struct, sys

FRAME = bytes.fromhex("020000000002020000000001" "0800"
                      "4500001c0000000040110000" "0a4d0001" "0a4d0002"
                      "9c40000900080000")

def write(name, times_ns):
    with open(f"{sys.argv[1]}/{name}.pcap", "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for t in times_ns:
            t += 1_000_000_000 * 1_000_000_000  # a full second of the epoch
            f.write(struct.pack("<IIII", t // 10**9, t % 10**9, len(FRAME), len(FRAME)))
            f.write(FRAME)

write("steady", [i * 10**9 // 300 for i in range(1500)])
write("edge", [0] + [800_000_000 + i * 1_000_000 for i in range(400)])
PYTHON
}

# cumulate TRACE NAME: lines "seconds admitted" for the plot.
cumulate() {
	echo "rule any limit ${limits[$2]}" >"$work/policy"
	"$RLCTL" simulate "$work/policy" "$work/$1.pcap" --verdicts |
		awk '{ split($2, t, "."); s = t[1] - 1000000000 + t[2] / 1e9
		       if ($3 == "pass") n++; print s, n + 0 }' >"$work/$1.$2"
}

# most FILE: the largest number admitted within any second.
most() {
	awk '$2 > last { time[n++] = $1; last = $2 }
	     END { for (i = j = 0; i < n; i++) { while (time[i] - time[j] >= 1 - 1e-9) j++
	           if (i - j + 1 > most) most = i - j + 1 } print most + 0 }' "$1"
}

# table: the part of docs/algorithms.md between its markers.
# shellcheck disable=SC2016 # backquotes of Markdown
table() {
	local name
	printf '| 100/second | 300/s for 5 s: admitted | 1000/s over the edge of a window: most in any second |\n|---|---|---|\n'
	for name in "${names[@]}"; do
		printf '| `%s` | %d | %d |\n' "${limits[$name]}" "$(tail -n 1 "$work/steady.$name" | cut -d' ' -f2)" \
			"$(most "$work/edge.$name")"
	done
}

traces "$work"
for name in "${names[@]}"; do
	cumulate steady "$name"
	cumulate edge "$name"
done
table >"$work/table"
[[ ${1:-} != --table ]] || {
	cat "$work/table"
	exit 0
}
sed -i -e "/^<!-- table:/r $work/table" -e '/^<!-- table:/,/^<!-- end/{/^|/d}' docs/algorithms.md

gnuplot <<GNUPLOT
set terminal svg size 960,400 font "sans-serif,12" background "white"
set output "docs/compare.svg"
set multiplot layout 1,2
set xlabel "seconds"
set ylabel "packets admitted"
set key left top
set grid
names = "${names[*]}"
set title "steady: 300/s against 100/second"
plot 100 * x title "100/second" lc rgb "gray" dt 2, \
     for [i = 1:words(names)] "$work/steady.".word(names, i) using 1:2 with lines lw 2 lc i title word(names, i)
set title "edge: 1000/s from 0.8 to 1.2 s"
set xrange [0.7:1.3]
plot for [i = 1:words(names)] "$work/edge.".word(names, i) using 1:2 with lines lw 2 lc i title word(names, i)
GNUPLOT
echo "written: docs/algorithms.md; drawn: docs/compare.svg"
