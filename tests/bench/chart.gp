# SPDX-License-Identifier: GPL-2.0-only
# Draws what figures.py left in `dir`, with `bars` columns of bars, as SVG to stdout: throughput under flood by number of sources,
# and how the cost of a packet grows with sources, prefixes and limits.
set terminal svg size 960,760 font "sans-serif,12" background "white"
set datafile missing "NaN"
set multiplot
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror

set origin 0,0.45
set size 1,0.55
set title "64-byte packets of a flood that one core drops, by number of sources"
set ylabel "million packets a second"
set yrange [0:*]
set key outside right top
set style data histogram
set style histogram cluster gap 1
set style fill solid 0.9
set boxwidth 0.9
colors = "#999999 #1b6ca8 #5fa8d3 #a3cfe8 #d95f02 #e7a977 #f3d9c0"
plot for [i = 2:bars] dir."/bars" using i:xtic(1) title columnheader(i) lc rgb word(colors, i - 1)

unset xtics
set xtics nomirror
set style data linespoints
set key inside left top
set ylabel "ns a packet above a bare drop"
set size 0.333,0.43
set pointsize 0.7
set logscale x
set format x "10^{%T}"
set origin 0,0
set title "sources"
set xtics 100
plot for [i = 2:4] dir."/sources" using 1:i title word("hot lru cpu", i - 1) lw 2 pt 7 lc rgb word(colors, i)
unset ylabel
set origin 0.333,0
set xtics 10
set title "prefixes, 65,536 sources"
plot dir."/prefixes.dat" using 1:2 title "covering" lw 2 pt 7 lc rgb word(colors, 2), \
     dir."/prefixes.dat" using 1:3 title "elsewhere" lw 2 pt 7 lc rgb word(colors, 5)
unset logscale x
set format x "%g"
set xtics 2
set xrange [0:9]
set origin 0.666,0
set title "limits a packet, admitted by all"
plot dir."/limits" using 1:2 notitle lw 2 pt 7 lc rgb word(colors, 2)
unset multiplot
