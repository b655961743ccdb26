# SPDX-License-Identifier: GPL-2.0-only
# Draws what figures.py left in `dir`, as SVG to stdout: throughput under flood by number of sources, and how the cost of a packet
# grows with sources, prefixes and limits. The first line of `bars` and of `sources` names their columns; `bar_colors`, `line_colors` and
# `line_dashes` have a word for each.
set terminal svg size 960,860 font "sans-serif,12" background "white"
set datafile missing "NaN"
set multiplot
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror
set origin 0,0.58
set size 1,0.42
set title "60-byte packets of a flood that one core drops, by number of sources"
set ylabel "million packets a second"
set yrange [0:*]
set key outside right top
set style data histogram
set style histogram cluster gap 1
set style fill solid 0.9
set boxwidth 0.9
plot for [i = 2:words(bar_colors) + 1] dir."/bars" using i:xtic(1) title columnheader(i) lc rgb word(bar_colors, i - 1)

unset xtics
set xtics nomirror
set style data linespoints
set pointsize 0.6
set origin 0,0.30
set size 1,0.28
set title "cost by number of sources; floors are dashed"
set ylabel "ns above a bare drop"
set logscale x
set xtics ("1" 1, "16" 16, "256" 256, "4,096" 4096, "65,536" 65536, "1M" 1048576, "16M" 16777216)
set xrange [0.8:22000000]
plot for [i = 2:words(line_colors) + 1] dir."/sources" using 1:i title columnheader(i) lw 2 pt 7 \
	dt int(word(line_dashes, i - 1)) lc rgb word(line_colors, i - 1)

set origin 0,0
set size 0.5,0.30
set key inside left top
set ylabel "ns above a bare drop"
set title "cost by number of prefixes, 65,536 sources"
set xtics ("none" 0.3, "1" 1, "10" 10, "1,000" 1000, "100k" 100000, "1M" 1000000)
set xrange [0.2:2000000]
plot dir."/prefixes" using 1:2 title "covering" lw 2 pt 7 lc rgb "#1b6ca8", \
     dir."/prefixes" using 1:3 title "elsewhere" lw 2 pt 7 lc rgb "#d95f02"

unset logscale x
set ylabel "ns above an empty program"
set xtics (1, 2, 4, 8)
set xrange [0:9]
set origin 0.5,0
set title "cost by number of limits that admit a packet"
plot dir."/limits" using 1:2 notitle lw 2 pt 7 lc rgb "#1b6ca8"
unset multiplot
