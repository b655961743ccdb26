#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# stats --prometheus: promtool accepts it, the figures are those of stats and status, documents stay complete
# when instances go or cannot be read, and dashboard and alerts use only metrics that exist.
source "$(dirname "$0")/../lib.sh"

document() { rl B stats --prometheus >"$TMP/document"; }

# whole FILE: nothing but comments and samples, and the end is there.
whole() {
	local sample='rlctl_[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.]+'
	! grep -vE "^(# (HELP|TYPE) rlctl_[a-z_]+ .+|$sample)$" "$1" || return
	tail -n 1 "$1" | grep '^rlctl_scrape_duration_seconds '
}

# ---- what it says

test_promtool() { document && whole "$TMP/document" && promtool check metrics <"$TMP/document"; }

test_build() {
	document && grep -qxF "rlctl_build_info{version=\"$("$RLCTL" --version | cut -d' ' -f2)\"} 1" "$TMP/document"
}

# "packets over 5" of each reason, "passed packets 5 RULE" of each rule, from JSON and from here.
figures_of_json() {
	rl B stats -j | jq -r '.[0] | (.reasons | to_entries[] | .key as $r | .value | to_entries[]
		| "\(.key) \($r) \(.value)"), (.rules[] | .rule as $r | to_entries[] | select(.key != "rule")
		| .key as $v | .value | to_entries[] | "\($v) \(.key) \(.value) \($r)")' | sort
}
figures_of_document() {
	sed -nE -e 's/^rlctl_(passed|dropped)_(packets|bytes)_total\{.*,reason="(.*)"\} (.*)/\2 \3 \4/p' \
		-e 's/^rlctl_rule_(.*)_(packets|bytes)_total\{.*,rule="(.*)"\} (.*)/\1 \2 \4 \3/p' "$TMP/document" | sort
}

test_figures() {
	flood A --count 50 --src 10.78.1.1 && flood A --count 30 --src 10.78.2.1 || return
	eventually 5 prints '40 30' stat_of B '.reasons | "\(.over.packets) \(.denied.packets)"' || return
	document && figures_of_json >"$TMP/wanted" && diff "$TMP/wanted" <(figures_of_document) || return
	grep -qx 'over packets 40' <(sed -E 's/^(packets) (over)/\2 \1/' "$TMP/wanted")
}

value_of() { sed -nE "s/^$1(\{[^}]*\})? //p" "$TMP/document"; }

# slots_live may become fewer between the two readings
test_status() {
	local status
	document && status=$(rl B status -j) || return
	is "$(value_of rlctl_memory_bytes)" "$(json '.[0].memory_bytes' <<<"$status")" &&
		is "$(value_of rlctl_sources_capacity)" "$(json '.[0].sources.capacity' <<<"$status")" &&
		is "$(value_of rlctl_rules)" "$(json '.[0].rules | length' <<<"$status")" &&
		is "$(value_of rlctl_hot_strangers_total)" "$(json '.[0].pressure.strangers' <<<"$status")" &&
		is "$(value_of rlctl_hot_slots)" "$(json '.[0].pressure.slots' <<<"$status")" &&
		is "$(value_of rlctl_scrape_errors)" 0 &&
		grep -q "program_id=\"$(xdp_program B veth-B)\"" "$TMP/document" &&
		between "$(($(date +%s) - $(value_of rlctl_attached_timestamp_seconds | cut -d. -f1)))" 0 600
}

# The remaining time is not in the label; otherwise every reading would make new series.
test_for() {
	rl B rule add 192.0.2.8/31 deny for 1h && document && rl B rule del 192.0.2.8/31 &&
		is "$(grep -c ',rule="192.0.2.8/31 deny"} 0' "$TMP/document")" 6
}

# Rules of single addresses have metrics only with --rules all; what they drop is in the totals.
test_single_address() {
	local before
	document && before=$(value_of_label denied) && rl B rule add 10.78.9.9 deny &&
		flood A --count 7 --src 10.78.9.9 && eventually 5 denied_are $((before + 7)) &&
		is "$(grep -c 10.78.9.9 "$TMP/document")" 0 && is "$(value_of rlctl_rules_single_address)" 1 &&
		is "$(value_of rlctl_rules_unlisted)" 0 || return
	rl B stats --prometheus --rules all >"$TMP/document" && is "$(value_of rlctl_rules_single_address)" 0 &&
		grep -q '^rlctl_rule_dropped_packets_total{.*,rule="10.78.9.9 deny"} 7' "$TMP/document" || return
	rl B stats --prometheus --rules none >"$TMP/document" && is "$(grep -c ^rlctl_rule_dropped "$TMP/document")" 0 &&
		rl B rule del 10.78.9.9 && document && is "$(value_of_label denied)" $((before + 7))
}
value_of_label() { sed -nE "s/^rlctl_dropped_packets_total\{.*,reason=\"$1\"\} //p" "$TMP/document"; }
denied_are() { document && is "$(value_of_label denied)" "$1"; }

# By rule, and without those that are over or that no rule asks for.
test_rule_bans() {
	rl B rule add 10.78.0.0/16 udp limit 1/hour burst 1 over ban 1h && flood A --count 32 --src 10.78.16.0/28 --sequential &&
		eventually 5 bans_are 16 && rl B source forgive 10.78.16.3 && bans_are 15 &&
		rl B rule del 10.78.0.0/16 udp && document && is "$(grep -c 'rule_bans{.*10.78' "$TMP/document")" 0
}
bans_are() { document && grep -q "^rlctl_rule_bans{.*,rule=\"10.78.0.0/16 udp limit .*\"} $1\$" "$TMP/document"; }

test_nothing_attached() {
	rl A stats --prometheus >"$TMP/document" && whole "$TMP/document" && promtool check metrics <"$TMP/document" &&
		! grep 'device=' "$TMP/document"
}

test_no_such_instance() {
	expect_status 1 rl B stats lo --prometheus >"$TMP/document" && [[ ! -s $TMP/document ]]
}

refuses() { # TEXT ARG…: wrong words, and no data
	local text=$1
	shift
	has "$text" expect_status 2 rl B "$@" && [[ -z $(rl B "$@" 2>/dev/null) ]]
}

# ---- what goes, and what cannot be read

# One bpf() call of a reading fails, every eleventh in turn. The output is complete and misses one instance at
# most; the exit status and the document report it, unless the instance counts as gone.
test_fault() { # ERROR
	local calls n status left=0
	strace -f -qq -e trace=bpf -o "$TMP/calls" "$RLCTL" -n "$(ns B)" stats --prometheus >/dev/null || return
	calls=$(wc -l <"$TMP/calls")
	for ((n = 1; n <= calls; n += 11)); do
		status=0
		strace -qq -o "$TMP/calls" -e trace=bpf -e inject=bpf:error="$1":when="$n" \
			"$RLCTL" -n "$(ns B)" stats --prometheus >"$TMP/document" || status=$?
		whole "$TMP/document" && between "$(grep -c '^rlctl_rules{' "$TMP/document")" 1 2 &&
			is "$(value_of rlctl_scrape_errors)" "$status" || _say "call $n of $calls" || return
		left=$((left + status))
	done
	echo "$calls calls, $left times an instance was left out"
	[[ $1 == ENOENT || $left -gt 0 ]]
}

stopped() { [[ $(ps -o stat= -p "$(<"$TMP/pid")") == [Tt]* ]]; }

# stop_at N: a reading that stands still at its Nth bpf() call, traced by BG_PID.
stop_at() {
	rm -f "$TMP/pid"
	# shellcheck disable=SC2016 # the inner shell's
	bg strace -qq -o "$TMP/calls" -e trace=bpf -e inject=bpf:signal=SIGSTOP:when="$1" \
		sh -c 'echo $$ >"$1" && exec "$2" -n "$3" stats --prometheus >"$4"' \
		_ "$TMP/pid" "$RLCTL" "$(ns B)" "$TMP/document"
	eventually 10 test -s "$TMP/pid" && eventually 10 stopped
}

# An instance is detached in the middle of a reading: the document has all of it or nothing.
test_gone() { # N DEVICE LEFT: devices that stay
	stop_at "$1" && rl B detach "$2" && kill -CONT "$(<"$TMP/pid")" && wait "$BG_PID" || return
	whole "$TMP/document" && is "$(value_of rlctl_scrape_errors)" 0 &&
		is "$(grep -o '^rlctl_rules{device="[^"]*"' "$TMP/document" | grep -vc "\"$2\"")" "$3"
}

# ---- dashboard and alerts

# metrics_exist: each metric that standard input names has samples. Those of alarms: test_alarm_seen.sh.
metrics_exist() {
	local name
	grep -oE '\brlctl_[a-z_]+' | grep -v '^rlctl_alarm_' | sort -u >"$TMP/names" && [[ $(wc -l <"$TMP/names") -ge 5 ]] || return
	while read -r name; do
		grep -qE "^${name}[{ ]" "$TMP/document" || _say "no samples of $name" || return
	done <"$TMP/names"
}

queries() { jq -er '.. | .expr?, .query?.query? | strings' "$TOP/scripts/grafana.json"; }

test_dashboard() {
	json '.title == "rlctl" and ([.panels[].id] | length == (unique | length)) and
		all(.panels[]; (.targets | length > 0) and all(.targets[]; .expr != ""))' <"$TOP/scripts/grafana.json" &&
		document && queries | metrics_exist
}

# Annotations have the data source of the panels, a title and a text.
test_annotations() {
	# shellcheck disable=SC2016 # Grafana's
	json '.annotations.list | length == 7 and ([.[].name] | length == (unique | length)) and
		all(.[]; .enable and .datasource.uid == "${source}" and .expr != "" and .titleFormat != "" and .textFormat != "")' \
		<"$TOP/scripts/grafana.json"
}

# annotation NAME: its query over five minutes, of all machines and devices, as a string of YAML.
annotation() {
	# shellcheck disable=SC2016 # of jq and Grafana
	jq -er --arg name "$1" '.annotations.list[] | select(.name == $name).expr' "$TOP/scripts/grafana.json" |
		sed -e 's/\$__rate_interval/5m/g' -e 's/\$\(instance\|device\)/.*/g' | jq -R .
}

# An alarm that is on from the 10th to the 19th minute, and one that is on all the time; a rule that drops from the
# 15th minute on, and one that always does. Grafana shows values of 1 and more.
annotation_tests() {
	cat <<-END
		evaluation_interval: 1m
		tests:
		  - interval: 1m
		    input_series:
		      - {series: 'rlctl_alarm_on{device="eth0",alarm="flood"}', values: '0x9 1x9 0x20'}
		      - {series: 'rlctl_alarm_changes_total{device="eth0",alarm="flood"}', values: '0x9 1x9 2x20'}
		      - {series: 'rlctl_alarm_on{device="eth0",alarm="always"}', values: '1x40'}
		      - {series: 'rlctl_alarm_changes_total{device="eth0",alarm="always"}', values: '7x40'}
		      - {series: 'rlctl_rule_dropped_packets_total{device="eth0",rule="sudden"}', values: '5x14 6+1x20'}
		      - {series: 'rlctl_rule_dropped_packets_total{device="eth0",rule="steady"}', values: '0+1x40'}
		    promql_expr_test:
	END
	at 9 'Alarms that are on' 'rlctl_alarm_on{device="eth0",alarm="always"}'
	at 15 'Alarms that are on' 'rlctl_alarm_on{device="eth0",alarm="always"}' 'rlctl_alarm_on{device="eth0",alarm="flood"}'
	at 9 'Alarms that go on or off'
	at 12 'Alarms that go on or off' '{device="eth0",alarm="flood"}'
	at 18 'Alarms that go on or off'
	at 21 'Alarms that go on or off' '{device="eth0",alarm="flood"}'
	at 10 'Rules that begin to drop'
	at 17 'Rules that begin to drop' '{device="eth0",rule="sudden"}'
	at 30 'Rules that begin to drop'
}

# at MINUTE NAME SERIES…: the annotation has these, with the value 1, and no others.
at() {
	local series
	printf '      - expr: %s\n        eval_time: %sm\n        exp_samples: [' "$(annotation "$2")" "$1"
	for series in "${@:3}"; do
		printf "{labels: '%s', value: 1}, " "$series"
	done
	echo ']'
}

test_annotations_show() {
	annotation_tests >"$TMP/annotations.yml" && cat "$TMP/annotations.yml" && promtool test rules "$TMP/annotations.yml"
}

test_alerts_exist() { document && grep -v '^ *description:' "$TOP/scripts/alerts.yml" | metrics_exist; }

cat >"$TMP/policy" <<'END'
rule 10.78.1.0/24 limit 1/hour burst 10
rule 10.78.2.0/24 deny
rule 10.78.0.0/16 limit 1/hour burst 1 over count
END
veth_pair A B && ns_mute A && ns_mute B && rl B attach veth-B --policy "$TMP/policy" || exit
t 'promtool takes it' test_promtool
t 'version' test_build
t 'figures of stats' test_figures
t 'figures of status' test_status
t 'no time left in a label' test_for
t 'nothing attached' test_nothing_attached
t 'no such instance' test_no_such_instance
t 'rules of single addresses' test_single_address
t 'bans by rule' test_rule_bans
t 'rules only for Prometheus' refuses 'add it' stats --rules all
t 'not with --json' refuses 'leave one out' stats --prometheus -j
t 'not with --watch' refuses 'leave one out' stats --prometheus --watch
t 'dashboard' test_dashboard
t 'annotations' test_annotations
t 'annotations show alarms, and rules that begin to drop' test_annotations_show
t 'alerts: promtool takes them' promtool check rules "$TOP/scripts/alerts.yml"
t 'alerts: they fire when they should' promtool test rules "$TOP/tests/net/alerts.yml"
t 'alerts: their metrics exist' test_alerts_exist
rl B attach lo --quiet || exit
t 'calls that fail' test_fault EIO
t 'calls that find nothing' test_fault ENOENT
t 'gone before it is looked at' test_gone 22 lo 1
t 'gone while it is read' test_gone 60 veth-B 0
