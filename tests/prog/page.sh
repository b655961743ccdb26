# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The rows of tests that hold for every page which a browser shows. Sourced after lib.sh.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PAGE=$TMP/page.html

# page_look NAME: the answers of the browser, for all rows; the screenshots go into build/artifacts/NAME.
page_look() { python3 "$HERE/browser.py" "$PAGE" "$TOP/build/artifacts/$1" >"$TMP/seen"; }

# seen FILTER [WANTED]: of what the browser found.
seen() { is "$(jq -c "$1" "$TMP/seen")" "${2:-true}"; }

# shows PAGE FILTER: of what a browser finds in another page.
shows() { python3 "$HERE/browser.py" "$1" | jq -c "$2"; }

# Two scripts: the document, and what draws it, which alone may run.
alone() {
	seen .requests '[]' && seen .messages '[]' && seen '[.page | .scripts, .others, .handlers, .links]' '[2,0,0,0]' &&
		! grep -qiE '<script[^>]+src|javascript:|url\((.?http|//)|@import' "$PAGE"
}
policy_is_strict() {
	local hash
	hash=$(sed -n '/^<script>$/,/^<\/script>$/p' "$PAGE" | sed '1s/<script>//; $d' | openssl dgst -sha256 -binary | base64) || return
	grep -qF "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-$hash'\"" "$PAGE"
}
without_script() { sed -n '/<noscript>/,/<\/noscript>/p' "$PAGE" | grep -qF "<code>$1</code>"; }
units() { seen .page.wrong '[]'; }

# No row may be seen to be wider than the window, in any view, and no word is faint or tiny.
fits() {
	seen '[.views[] | .width <= .window] | all' &&
		seen '[.views[].outside | length] | add' 0 && seen '.views["phone-light"].window' 360
}
readable() { seen '[.views[] | .faint, .small | length] | add' 0 && seen '[.views[].words > 300] | all'; }
one_line() { seen '[.views[].time] | all'; }
dark() { seen '[.views | to_entries[] | .value.dark == (.key | endswith("dark"))] | all'; }
structure() { seen '[.page | .lang, .headings, .captions, .figures]' '["en",1,0,0]'; }

# page_rows COMMAND: prints the same figures where no script runs.
page_rows() {
	t 'it asks for nothing, runs its own script alone, and nothing is complained about' alone
	t 'it forbids what it does not need' policy_is_strict
	t 'without scripts it says where the figures are' without_script "$1"
	t 'text, shares, rates, sizes and times' units
	t 'it fits a telephone' fits
	t 'every word can be read' readable
	t 'a time takes one line' one_line
	t 'in the dark' dark
	t 'language, headings, captions, names of drawings' structure
}
