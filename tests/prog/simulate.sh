# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the tests of rlctl simulate: captures from lines, verdicts, sums.
# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# capture NAME OPTION… <LINES: makes $TMP/NAME; capture.py describes the lines.
capture() { python3 "$HERE/capture.py" "${@:2}" >"$TMP/$1"; }

# simulate POLICY NAME ARG…: POLICY is text with ; for line ends.
simulate() { tr ';' '\n' <<<"$1" | "$RLCTL" simulate - "$TMP/$2" "${@:3}"; }

# verdicts_are POLICY NAME WANTED ARG…: WANTED is `VERDICT REASON` of all packets, joined by commas.
verdicts_are() {
	local got
	got=$(simulate "$1" "$2" --verdicts "${@:4}" | cut -d ' ' -f 3- | paste -sd ,) || return
	is "$got" "$3"
}

# sum_is POLICY NAME [FILTER WANTED]…: of one run.
sum_is() {
	simulate "$1" "$2" -j >"$TMP/sum" || return
	shift 2
	while [[ $# -gt 0 ]]; do
		is "$(json "$1" <"$TMP/sum")" "$2" || return
		shift 2
	done
}

# fails_with TEXT CMD…: exit 1, this text on stderr, nothing on stdout.
fails_with() {
	local text=$1 status=0 output
	shift
	output=$("$@" 2>&1 >"$TMP/stdout") || status=$?
	is "$status" 1 && is "$(cat "$TMP/stdout")" '' || return
	[[ $output == *"$text"* ]] || _say "no '$text' in: $output"
}

# shared_lines SECOND: a source in peace, then beside 6000 forged ones a second, five times the limit, for two seconds.
shared_lines() {
	python3 - "$1" <<-'END'
		import random, sys
		random.seed(1)
		begin, lines = int(sys.argv[1]), [(n / 100, '198.51.100.9') for n in range(400)]
		lines += [(2 + n / 6000, f'{random.randrange(1, 224)}.{random.randrange(256)}.{random.randrange(256)}.1') for n in range(12000)]
		for time, source in sorted(lines):
		    print(f'{begin + time:.6f} udp {source}')
	END
}
