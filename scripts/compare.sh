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
			"$(<"$work/edge.$name.most")" "$(<"$work/slot.$name.most")"
	done
}

traces "$work"
for name in "${names[@]}"; do
	echo "${limits[$name]#* 100/second}" >"$work/$name" # its other numbers
	for trace in steady edge slot; do
		cumulate "$trace" "$name"
		most "$work/$trace.$name" >"$work/$trace.$name.most"
	done
done
table >"$work/table"
tests/bench/senders.py "$RLCTL" >"$work/senders"
[[ ${1:-} != --table ]] || {
	cat "$work/table" "$work/senders"
	exit 0
}
sed -i -e "/^<!-- table: by scripts/r $work/table" -e "/^<!-- table: by tests/r $work/senders" \
	-e '/^<!-- table:/,/^<!-- end/{/^|/d}' docs/algorithms.md

# A row for each algorithm, a column for each trace; all panels of a column have the same axes.
gnuplot <<GNUPLOT
set terminal svg size 900,760 font "sans-serif,12" background "white"
set output "docs/compare.svg"
names = "${names[*]}"
traces = "steady edge slot"
rows = words(names)
left(column) = 0.18 + 0.28 * (column - 1)
top(row) = 0.88 - 0.14 * (row - 1)
set multiplot
set border 3 lc rgb "#888888"
set tics nomirror out scale 0.5 textcolor rgb "#444444"
set grid ytics lc rgb "#e4e4e4"
set style rectangle fillstyle solid noborder

set label 1 "Packets admitted since the start, under the same limit of 100 a second" at screen 0.5,0.978 center font ",15"
set label 2 "shaded: when packets come; dashed: the limit; orange: more than 100 within one second" \
	at screen 0.5,0.953 center tc rgb "#555555"
set label 3 "300/s for 5 s" at screen left(1),0.917 font ",13"
set label 4 "1,000/s from 0.8 s to 1.2 s" at screen left(2),0.917 font ",13"
set label 5 "10,000/s at 0.09 s and around 1 s" at screen left(3),0.917 font ",13"
set label 6 "three times the limit" at screen left(1),0.897 font ",11" tc rgb "#555555"
set label 7 "across the end of the first packet's window" at screen left(2),0.897 font ",11" tc rgb "#555555"
set label 8 "at the end of a slot, and when it has left" at screen left(3),0.897 font ",11" tc rgb "#555555"
do for [row = 1:rows] {
	set tmargin at screen top(row)
	set bmargin at screen top(row) - 0.115
	do for [column = 1:3] {
		data = "$work/".word(traces, column).".".word(names, row)
		most = int(system("cat ".data.".most"))
		set lmargin at screen left(column)
		set rmargin at screen left(column) + 0.235
		unset object
		set format x row == rows ? "%g s" : ""
		if (column == 1) {
			set label 9 word(names, row) at screen 0.012,(top(row) - 0.04) font ",13"
			set label 10 system("cat $work/".word(names, row)) at screen 0.012,(top(row) - 0.065) font ",11" tc rgb "#555555"
			set xrange [0:5]
			set yrange [0:650]
			set xtics 1
			set ytics 200
			set object rectangle from 0,graph 0 to 5,graph 1 behind fc rgb "#eeeeee"
			stats data using 2 nooutput
			set label 11 sprintf("%d in 5 s", STATS_max) at graph 0.97,0.14 right tc rgb "#1b6ca8"
			plot 100 * x notitle lc rgb "#888888" dt 2, data with lines lw 2.5 lc rgb "#1b6ca8" notitle
		} else {
			unset label 9
			unset label 10
			set xrange [0:1.3]
			set yrange [0:230]
			set xtics 0.5
			set ytics 100
			if (column == 2) {
				set object rectangle from 0.8,graph 0 to 1.2,graph 1 behind fc rgb "#e4e4e4"
			} else {
				set object rectangle from 0.09,graph 0 to 0.1,graph 1 behind fc rgb "#d0d0d0"
				set object rectangle from 0.98,graph 0 to 1.02,graph 1 behind fc rgb "#d0d0d0"
			}
			color = most > 100 ? "#c04a00" : "#1b6ca8"
			set label 11 sprintf("%d in one second", most) left at graph 0.03,0.9 tc rgb color
			plot 100 notitle lc rgb "#888888" dt 2, data with lines lw 2.5 lc rgb color notitle
		}
		unset for [i = 1:8] label i
	}
}
GNUPLOT
echo "written: docs/algorithms.md; drawn: docs/compare.svg"
