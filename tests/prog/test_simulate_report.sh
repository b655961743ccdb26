#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl simulate --report and --against: what the page says, as a browser shows it, and what is written when
# writing fails. The screenshots stay in build/artifacts. check: timeout 300
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"
# shellcheck source=page.sh
. "$HERE/page.sh"

# Resolvers that ask all the time, a flood that begins after 40 seconds, and forged IPv6 sources.
traffic() {
	python3 - <<-'END'
		import random
		random.seed(1)
		START, lines = 1780000000, []
		def sends(begin, end, rate, words):
		    time = begin + random.random() / rate
		    while time < end:
		        lines.append((time, words()))
		        time += random.expovariate(rate)
		for n in range(1, 13):
		    sends(0, 120, 3, lambda n=n: f'udp 198.51.100.{n} dport=53 size={80 + n}')
		sends(40.3, 95, 300, lambda: f'udp 203.0.113.{random.randrange(1, 9)} dport=53 size=900')
		sends(42, 90, 80, lambda: f'udp6 2001:db8:{random.randrange(4096):x}::1 dport=123 size=400')
		for time, words in sorted(lines):
		    print(f'{START + time:.6f} {words}')
	END
}

# With a comment that would be a script, an entity, an attribute, another direction of writing.
cat >"$TMP/this.policy" <<'END'
alarm flood when udp dport 53 over 200/second for 2s until under 100/second for 5s
rule any udp dport 53 limit 20/second burst 40 # <script>alert("1")</script> & 'x' onload=" Müller
rule any udp dport 123 deny # </code></style><img src=http://192.0.2.1/x>
rule 198.51.100.0/24 limit 3/second burst 3
rule 192.0.2.99 deny
rule device limit 2000/second burst 400
END
cat >"$TMP/<b>other&.policy" <<'END'
rule any udp dport 53 limit 200/second burst 400
rule 198.51.100.4 deny
rule 198.51.100.0/24 allow
rule any udp dport 123 limit 2/second
END

# The answers of simulate -j and of the browser, for all tests below.
look() {
	traffic >"$TMP/lines" && capture 'x<i>.pcap' <"$TMP/lines" || return
	"$RLCTL" simulate "$TMP/this.policy" "$TMP/x<i>.pcap" --report "$PAGE" --against "$TMP/<b>other&.policy" -j >"$TMP/said" &&
		page_look report
}

each_alone() {
	local run
	for run in this '<b>other&'; do
		"$RLCTL" simulate "$TMP/$run.policy" "$TMP/x<i>.pcap" --verdicts >"$TMP/$run.verdicts" || return
	done
}

# same FILTER_PAGE FILTER_JSON: the page and simulate -j have the same figures, and there are some.
same() {
	local shown said
	shown=$(jq -cS ".page | $1" "$TMP/seen") && said=$(jq -cS "$2" "$TMP/said") || return
	[[ $said != null && $said != '{}' && $said != '[]' ]] || _say "nothing said by $2" || return
	is "$shown" "$said"
}

# The document that the page has is that of simulate -j, and in the file no string of it ends its element.
document() {
	sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$PAGE" >"$TMP/document" &&
		jq -S 'del(.report)' "$TMP/document" | diff - <(jq -S . "$TMP/said") && ! grep -q '<' "$TMP/document" &&
		is "$(jq -r '.report.rules[0].comment' "$TMP/document")" "<script>alert(\"1\")</script> & 'x' onload=\" Müller"
}
# Thousands of sources have sent; who passes the page on passes on those that it shows, no others.
no_other_source() {
	local count
	seen '.page.text | contains("sources in all")' || return
	jq -e '.report.sources | .count > 1000 and ([.heaviest[] | select(.[0] | type == "string")] | length) == 20' "$TMP/document" >/dev/null || return
	count=$(grep -oE '"2001:db8:[^"]*"' "$TMP/document" | sort -u | wc -l)
	((count <= 20)) || _say "$count addresses are in the page"
}
without_colour() { seen '.grey.pass == 1 and .grey.drop >= 3'; }
figures() {
	same .packets .packets && same .passed .passed && same .dropped .dropped &&
		same .reasons '.reasons | with_entries(select(.value.packets > 0))'
}
rules() {
	same '[.rules[] | {rule, passed, dropped, shadow}] | sort_by(.rule)' \
		'[.rules[] | select(.passed.packets + .dropped.packets + .shadow.packets > 0) | .shadow = .shadow.packets | {rule, passed, dropped, shadow}] | sort_by(.rule)'
}
over_time() { same .bins '[.passed.packets, .passed.bytes, .dropped.packets, .dropped.bytes]'; }
comments() {
	seen '.page.rules[0].comment' "$(jq -n --arg c "<script>alert(\"1\")</script> & 'x' onload=\" Müller" '$c')" &&
		seen '.page.title | contains("x<i>.pcap") and contains("this.policy")' && seen '.page.text | contains("<b>other&.policy")'
}
glance() {
	seen .page.began '"20:27:22"' && seen '.page.lead | startswith("Drops began at 20:27:22, 42s into the capture, and reached ")' && seen '.page.stopper | startswith("any udp dport 53 limit 20/second burst 40")' &&
		seen '.page.known[0] | length > 3 and all(.[0] | startswith("198.51.100."))' &&
		seen '[.page.sources[:8][].source | startswith("203.0.113.")] | all'
}

# Ten tenths of 2 s over 200/second, and not the one before them, are just before it goes on; ten of 5 s under 100/second before it
# goes off.
alarms() {
	seen '.page.spans | map(.[0])' '["flood"]' && seen .page.alarms 1 || return
	# In the drawing it stands at its time, in that of 120 bins of a second.
	seen '.page | .alarmPlaces[0] * 120 - (.spans[0][1][6:] | tonumber) - 20 | fabs < 0.05' || return
	jq -r '.page.spans[0][1:][] | split(":") | map(tonumber) | .[0] * 3600 + .[1] * 60 + .[2] - 73600' "$TMP/seen" | paste -sd ' ' >"$TMP/turns"
	awk 'NR == FNR { on = $1; off = $2; next }
		/udp .* dport=53 / { t = $1 - 1780000000; over[int((t - on) / 0.2 + 999) - 999]++; under[int((t - off) / 0.5 + 999) - 999]++ }
		END { for (i = -10; i < 0; i++) n += (over[i] > 40) + (under[i] < 50); print n, (over[-11] > 40), (under[-11] < 50) }' \
		"$TMP/turns" "$TMP/lines" >"$TMP/tenths"
	is "$(<"$TMP/tenths")" '20 0 0'
}

# The figures of the heaviest sources, by another way: the verdicts of each packet beside the capture's lines.
sources() {
	paste -d ' ' "$TMP/lines" "$TMP/this.verdicts" | awk '$3 == "203.0.113.5" { n[$8]++ } END { print n["drop"] " " n["pass"] }' >"$TMP/wanted"
	is "$(jq -r '.page.sources[] | select(.source == "203.0.113.5") | "\(.dropped) \(.passed)"' "$TMP/seen")" "$(<"$TMP/wanted")"
}

# Those that sent a single packet are one row, after the others.
folded() {
	local count
	count=$(awk '{ n[$3]++ } END { for (source in n) once += n[source] == 1; print once }' "$TMP/lines") && ((count > 1)) || return
	seen '.page.sources[20:] | map([(.source | gsub(","; "")), .dropped + .passed])' "[[\"$count sources with one packet each\",$count]]"
}

# ---- against

# lost RUN: the packets that a policy drops of the sources that were there before.
lost() { paste -d ' ' "$TMP/lines" "$TMP/$1.verdicts" | awk '$3 ~ /^198\.51\.100\./ { n += $8 == "drop" } END { print n }'; }
known_to_both() {
	local a b
	a=$(lost this) && b=$(lost '<b>other&') && ((a > 0 && b > 0 && a != b)) || return
	seen .page.lost "[$a,$b]" && seen '.page.known | map(map(.[1]) | add)' "[$a,$b]"
}

# Packet by packet, the verdicts of two runs.
differs() {
	paste -d ' ' "$TMP/this.verdicts" "$TMP/<b>other&.verdicts" | awk '$3 != $7 { n[$3]++ } END { print "[" n["drop"] + 0 "," n["pass"] + 0 "]" }' >"$TMP/wanted"
	is "$(jq -c '[.against.dropped_only_by | .policy.packets, .against.packets]' "$TMP/said")" "$(<"$TMP/wanted")" &&
		seen .page.only "$(<"$TMP/wanted")" && [[ $(<"$TMP/wanted") != *'0]' && $(<"$TMP/wanted") != '[0,'* ]]
}
against_rules() {
	same '[.differences[].packets]' '[.against.differences[].packets]' &&
		is "$(jq '[.against.differences[].packets] | add' "$TMP/said")" "$(jq '[.against.dropped_only_by[].packets] | add' "$TMP/said")" &&
		is "$(jq -r '.against.differences[] | select(.dropped_by == "against") | "\(.reason) \(.rule)"' "$TMP/said")" 'denied 198.51.100.4 deny' &&
		seen '.page.differing[0] | .source | startswith("203.0.113.")' &&
		same '[.differing[:10][] | [.source, .a, .b]]' '[.against.sources[] | [.source, .policy.packets, .against.packets]]'
}
# The other policy alone says the same of itself as beside this one.
other_alone() {
	"$RLCTL" simulate "$TMP/<b>other&.policy" "$TMP/x<i>.pcap" -j | jq -S 'del(.packets)' >"$TMP/alone" &&
		jq -S '.against | {passed, dropped, reasons, rules}' "$TMP/said" | diff "$TMP/alone" -
}
against_text() {
	capture two <<<$'1 udp 192.0.2.1\n2 udp 192.0.2.2 times=3' && echo 'rule 192.0.2.2 deny' >"$TMP/b" && echo 'rule 192.0.2.1 deny' >"$TMP/a" || return
	"$RLCTL" simulate "$TMP/a" "$TMP/two" --against "$TMP/b" >"$TMP/text" &&
		grep -q "^against $TMP/b: 1 dropped only by $TMP/a, 3 only by $TMP/b\$" "$TMP/text" &&
		grep -qE '^ +3 +240 +.*/b +denied +192.0.2.2 deny$' "$TMP/text" || _say "$(<"$TMP/text")" || return
	is "$("$RLCTL" simulate "$TMP/a" - --against "$TMP/b" --verdicts <"$TMP/two" | head -n 2 | cut -d ' ' -f 3- | paste -sd ,)" \
		'drop denied pass unmatched,pass unmatched drop denied'
}
same_policy() { has "against $TMP/a: both drop the same packets" "$RLCTL" simulate "$TMP/a" "$TMP/two" --against "$TMP/a"; }

named_policy() {
	"$RLCTL" simulate source "$TMP/two" --against web --report "$TMP/named.html" >"$TMP/text" 2>/dev/null &&
		grep -qx 'against web: both drop the same packets' "$TMP/text" && shows "$TMP/named.html" .page >"$TMP/text" &&
		! grep -F policies/ "$TMP/named.html" && grep -qw 'web' "$TMP/text"
}

# ---- limits that senders share

# A class of which nothing came is not there; the page fits as others do.
shares() {
	shared_lines 1780000000 | capture shared && echo 'rule device limit 1200/second burst 100 share' >"$TMP/share" &&
		"$RLCTL" simulate "$TMP/share" "$TMP/shared" --report "$TMP/share.html" -j >"$TMP/shared.json" &&
		python3 "$HERE/browser.py" "$TMP/share.html" "$TOP/build/artifacts/shares" >"$TMP/shared.seen" || return
	is "$(jq -c '.page.shares[0] | to_entries | map(.value)' "$TMP/shared.seen")" \
		"$(jq -c '[.rules[0].share | .known, .strangers, .unasked | [.arrived, .passed]]' "$TMP/shared.json")" &&
		is "$(jq -c '.page.shares[0] | keys_unsorted' "$TMP/shared.seen")" '["known sources","strangers","all, while not short"]' &&
		is "$(jq -c '.page | [.layers, .figures, .captions, .wrong]' "$TMP/shared.seen")" '[[[0,1,1,1,1]],0,0,[]]' &&
		is "$(jq -c '[.messages, .requests, (.views[] | .outside, .faint, .small)] | add' "$TMP/shared.seen")" '[]'
}

# ---- files

report() { "$RLCTL" simulate "$TMP/a" "$TMP/two" --report "$@"; }
fails_to_save() { # TEXT FILE
	fails_with "$1" report "$2"
}
bad_files() {
	mkdir -p "$TMP/folder" && fails_to_save '/dev/full: not a file' /dev/full && fails_to_save 'Is a directory' "$TMP/folder" &&
		fails_to_save 'make its directory first' "$TMP/absent/page.html" &&
		expect_status 2 "$RLCTL" simulate "$TMP/a" "$TMP/two" --report - &&
		expect_status 2 "$RLCTL" simulate - "$TMP/two" --against - </dev/null
}

# On a disk of a few pages, in a mount namespace of its own, the former file stays as it was, and nothing is left
# beside it.
full_disk() {
	mkdir -p "$TMP/small" || return
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount bash -c 'mount -t tmpfs -o size=8k tmpfs "$1" && echo former >"$1/page.html" || exit 9
		"$2" simulate "$3" "$4" --report "$1/page.html" 2>&1 >/dev/null
		echo "$? $(<"$1/page.html") $(ls -A "$1")"' full "$TMP/small" "$RLCTL" "$TMP/a" "$TMP/two" >"$TMP/full"
	is "$(<"$TMP/full")" "rlctl: $TMP/small/page.html: saving failed: No space left on device
1 former page.html"
}
replaced() {
	echo former >"$TMP/old.html" && chmod 600 "$TMP/old.html" && capture one <<<'1 udp 192.0.2.2' &&
		"$RLCTL" simulate "$TMP/a" "$TMP/one" --report "$TMP/old.html" >"$TMP/sums" || return
	is "$(stat -c %a "$TMP/old.html")" 600 && head -n 1 "$TMP/old.html" | grep -q '^<!DOCTYPE html>$' && tail -n 1 "$TMP/old.html" | grep -q '^</html>$' &&
		is "$(find "$TMP" -name '.old.html*')" '' && is "$(head -n 1 "$TMP/sums")" '1 packet'
}

# Time jumps back by an hour while an alarm is on: it goes off there, since the policy starts over, and on again after that.
alarm_jump() {
	printf '%s udp 192.0.2.1 times=%d every=%s\n' 1780003600 2000 .005 1780000000 2000 .005 1780000010 20 .5 | capture jump &&
		echo 'alarm a when over 100/second for 1s until under 50/second for 2s' >"$TMP/alarm" &&
		"$RLCTL" simulate "$TMP/alarm" "$TMP/jump" --report "$TMP/j.html" >/dev/null || return
	is "$(shows "$TMP/j.html" .page.spans)" '[["a","21:26:41.000","21:26:49.995"],["a","20:26:41.000","20:26:52.000"]]'
}

# A capture that cannot be read to its end makes no page.
no_half() {
	head -c 150 "$TMP/two" >"$TMP/cut" && rm -f "$TMP/half.html" || return
	fails_with truncated "$RLCTL" simulate "$TMP/a" "$TMP/cut" --report "$TMP/half.html" && [[ ! -e $TMP/half.html ]]
}
empty() { capture empty </dev/null && "$RLCTL" simulate "$TMP/a" "$TMP/empty" --report "$TMP/e.html" --against "$TMP/b" >/dev/null && is "$(shows "$TMP/e.html" '.page | [.lead, .wrong]')" '["No packet was run.",[]]'; }
one_packet() { is "$(shows "$TMP/old.html" '.page | [.lead, .passed.packets]')" '["Nothing was dropped.",1]'; }

t 'a page, seen in a browser' look || exit
t 'each policy alone' each_alone
page_rows 'rlctl simulate -j'
t 'the document of simulate -j is in it' document
t 'of its sources it has those that it shows' no_other_source
t 'without colours' without_colour
t 'figures are those of simulate -j' figures
t 'figures of rules' rules
t 'figures over time' over_time
t 'figures of sources' sources
t 'sources with one packet each are one row' folded
t 'when an alarm went on and off' alarms
t 'hostile comments and names' comments
t 'when it began, what stopped it, who was there before' glance
t 'against: each packet that differs' differs
t 'against: by rule and by source' against_rules
t 'against: packets lost by sources that were there before, under both' known_to_both
t 'against: the other policy as if it were alone' other_alone
t 'against: text, and verdicts of a capture from a pipe' against_text
t 'against: the same policy' same_policy
t 'against: a policy of rlctl is called by its name' named_policy
t 'by class of senders' shares
t 'files that cannot be written' bad_files
t 'a full disk' full_disk
t 'a former file is replaced as a whole' replaced
t 'an alarm when time jumps' alarm_jump
t 'a truncated capture' no_half
t 'an empty capture' empty
t 'one packet' one_packet
