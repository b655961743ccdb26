# SPDX-License-Identifier: GPL-2.0-only
# Draws what chart.py left in `dir`, as SVG to stdout. `columns` has a quoted word for each column of bars, `line_colors` and
# `line_dashes` have a word for each line of `sources`, `missing` says why a peer did not run at all.
set terminal svg size 960,1010 font "sans-serif,12" background "white"
set multiplot
set border 3 lc rgb "#888888"
set tics nomirror out scale 0.5 textcolor rgb "#444444"
soft = "#555555"

# ---- bars: COLUMN wide is one number of sources
COLUMN = 29.0
set lmargin at screen 0.235
set rmargin at screen 0.995
set tmargin at screen 0.915
set bmargin at screen 0.705
set label 1 "Packets of a flood that one core drops, millions a second" at screen 0.5,0.978 center font ",15"
set label 2 "60 bytes each; more is better" at screen 0.5,0.957 center tc rgb soft
set label 3 "not measured: the others ran with 256 and 65,536 sources alone; nft's set had room for 131,072, hashlimit's table for 262,144. XDP-Firewall is" \
	at screen 0.012,0.688 font ",11" tc rgb soft
set label 4 "no package of Debian 12. xdp-filter has no rate limit: it drops everything after its look-ups. From a million sources on, rlctl limits new sources as" \
	at screen 0.012,0.672 font ",11" tc rgb soft
set label 5 "well, except beside the limit of the device. ".missing at screen 0.012,0.656 font ",11" tc rgb soft
do for [c = 0:3] {
	set label word(columns, c + 1) at COLUMN * c,-1.1 font ",13"
	set arrow from COLUMN * c,-0.6 to COLUMN * c,9.6 nohead lc rgb "#888888"
}
set border 0
set xrange [0:4 * COLUMN]
set yrange [9.6:-0.6]
unset xtics
set ytics scale 0
set style fill solid noborder
measured(c) = strcol(c + 3) ne "-"
end(c) = COLUMN * c + (measured(c) ? column(c + 3) : 0)
plot for [c = 0:3] dir."/bars" using (COLUMN * c):0:(COLUMN * c):(end(c)):($0 - 0.36):($0 + 0.36):2:ytic(1) \
		with boxxyerror lc rgb variable notitle, \
	for [c = 0:3] dir."/bars" using (measured(c) ? end(c) + 0.4 : NaN):0:(sprintf("%.1f", column(c + 3))) \
		with labels left notitle, \
	for [c = 0:3] dir."/bars" using (measured(c) ? NaN : COLUMN * c + 0.6):0:("not measured") \
		with labels left font ",11" tc rgb "#666666" notitle
unset label
unset arrow
set border 3

# ---- lines
set datafile missing "-"
set grid ytics lc rgb "#e4e4e4"
set style data linespoints
set pointsize 0.5
set lmargin at screen 0.05
set rmargin at screen 0.775
set tmargin at screen 0.565
set bmargin at screen 0.315
set label 1 "Nanoseconds that a packet costs above a program that only drops, by number of sources" at screen 0.5,0.612 center font ",15"
set label 2 "dashed: no limiter, only what each has to do at least: read one cache line of a table, or look the source up in a map" \
	at screen 0.5,0.591 center tc rgb soft
set logscale x
set xtics nomirror out scale 0.5 textcolor rgb "#444444" ("1" 1, "16" 16, "256" 256, "4,096" 4096, "65,536" 65536, "1 million" 1048576, "16 million" 16777216)
set ytics autofreq scale 0.5
set xrange [0.8:16777216]
set yrange [0:*]
plot for [i = 1:words(line_colors)] dir."/sources" using 1:i + 1 lw 2 pt 7 dt int(word(line_dashes, i)) lc rgb int(word(line_colors, i)) notitle, \
	dir."/names" using 1:2:3:4 with labels left offset 0.8,0 tc rgb variable notitle
unset label

set lmargin at screen 0.05
set rmargin at screen 0.37
set tmargin at screen 0.215
set bmargin at screen 0.04
set label 1 "By number of prefixes in the policy" at screen 0.05,0.255 font ",15"
set label 2 "65,536 sources; nanoseconds above a program that only drops" at screen 0.05,0.234 tc rgb soft
set xtics ("none" 0.3, "1" 1, "10" 10, "1,000" 1000, "100k" 100000, "1M" 1000000)
set xrange [0.2:1000000]
stats dir."/prefixes" using 1:2 nooutput
plot dir."/prefixes" using 1:2 lw 2 pt 7 lc rgb "#1b6ca8" notitle, dir."/prefixes" using 1:3 lw 2 pt 7 lc rgb "#c65a11" notitle, \
	"" using ($1 == STATS_max_x ? $1 : NaN):2:("that cover these") with labels left offset 0.8,0 tc rgb "#1b6ca8" notitle, \
	"" using ($1 == STATS_max_x ? $1 : NaN):3:("of other addresses") with labels left offset 0.8,0 tc rgb "#c65a11" notitle
unset label
unset logscale x
set lmargin at screen 0.62
set rmargin at screen 0.95
set label 1 "By number of limits that admit a packet" at screen 0.62,0.255 font ",15"
set label 2 "nanoseconds above an empty program" at screen 0.62,0.234 tc rgb soft
set xtics (1, 2, 4, 8)
set xrange [0.5:8]
plot dir."/limits" using 1:2 lw 2 pt 7 lc rgb "#1b6ca8" notitle
unset multiplot
