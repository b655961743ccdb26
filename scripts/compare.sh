#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The usual comparison of throttling algorithms: three traces through all six, and then senders of several
# habits (tests/bench/senders.py), by `rlctl simulate`. Writes the numbers to docs/algorithms.md and draws
# docs/compare.svg; with --table it only prints the numbers.
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
# 1.2 s, across the end of the window that the first packet opened; slot.pcap, 10,000/s in the last 10 ms
# of the first tenth of a second, and again around the end of the second.
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
write("slot", [90_000_000 + i * 100_000 for i in range(100)] + [980_000_000 + i * 100_000 for i in range(400)])
PYTHON
}

# cumulate TRACE NAME: lines "seconds admitted" for the plot, one for each packet that passes.
cumulate() {
	echo "rule any limit ${limits[$2]}" >"$work/policy"
	"$RLCTL" simulate "$work/policy" "$work/$1.pcap" --verdicts |
		awk '{ split($2, t, "."); s = t[1] - 1000000000 + t[2] / 1e9
		       if ($3 == "pass") print s, ++n } END { print s, n }' >"$work/$1.$2"
}

# most FILE: the largest number admitted within any second.
most() {
	awk '$2 > last { time[n++] = $1; last = $2 }
	     END { for (i = j = 0; i < n; i++) { while (time[i] - time[j] >= 1 - 1e-9) j++
	           if (i - j + 1 > most) most = i - j + 1 } print most + 0 }' "$1"
}

# table: the first part of docs/algorithms.md between markers.
# shellcheck disable=SC2016 # backquotes of Markdown
table() {
	local name
	printf '| 100/second | 300/s for 5 s: admitted | over the edge of a window: most in any second | of a slot |\n|---|---|---|---|\n'
	for name in "${names[@]}"; do
		printf '| `%s` | %d | %d | %d |\n' "${limits[$name]}" "$(tail -n 1 "$work/steady.$name" | cut -d' ' -f2)" \
			"$(most "$work/edge.$name")" "$(most "$work/slot.$name")"
	done
}

traces "$work"
for name in "${names[@]}"; do
	cumulate steady "$name"
	cumulate edge "$name"
	cumulate slot "$name"
done
table >"$work/table"
tests/bench/senders.py "$RLCTL" >"$work/senders"
[[ ${1:-} != --table ]] || {
	cat "$work/table" "$work/senders"
	exit 0
}
sed -i -e "/^<!-- table: by scripts/r $work/table" -e "/^<!-- table: by tests/r $work/senders" \
	-e '/^<!-- table:/,/^<!-- end/{/^|/d}' docs/algorithms.md

gnuplot <<GNUPLOT
set terminal svg size 1200,480 font "sans-serif,11" background "white"
set output "docs/compare.svg"
set multiplot layout 2,6
set grid
set tics nomirror
names = "${names[*]}"
set xrange [0:5]
set yrange [0:650]
set xtics 1
do for [i = 1:words(names)] {
	set title word(names, i)
	set ylabel i == 1 ? "admitted: 300/s for 5 s" : ""
	plot 100 * x notitle lc rgb "gray" dt 2, \
	     "$work/steady.".word(names, i) using 1:2 with steps lw 2 lc 1 notitle
}
set xrange [0:1.3]
set yrange [0:250]
set xtics 0.5
set key left top samplen 1 font ",9"
unset title
set xlabel "seconds"
do for [i = 1:words(names)] {
	set ylabel i == 1 ? "admitted: two floods" : ""
	plot 100 notitle lc rgb "gray" dt 2, 200 notitle lc rgb "gray" dt 2, \
	     "$work/edge.".word(names, i) using 1:2 with steps lw 2 lc 2 title i == 6 ? "edge of a window" : "", \
	     "$work/slot.".word(names, i) using 1:2 with steps lw 2 lc 4 title i == 6 ? "edge of a slot" : ""
}
GNUPLOT
echo "written: docs/algorithms.md; drawn: docs/compare.svg"
