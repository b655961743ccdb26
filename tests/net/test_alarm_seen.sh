#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Alarms as they are seen: in status, stats, top, monitor and the exporter's text, before a flood, in it, and after.
source "$(dirname "$0")/../lib.sh"

RATE=2000

policy() {
	cat <<-'END'
	alarm bulk when over 100kbit for 300ms until under 50kbit for 300ms # bytes
	alarm flood when udp dport 53 over 400/second for 300ms until under 200/second for 300ms
	rule any udp dport 53 limit 10/second burst 10 while flood
	END
}

# of ALARM FILTER: of that alarm, in stats.
of() { rl B stats -j | json ".[0].alarms[] | select(.alarm == \"$1\") | $2"; }
is_on() { is "$(of flood .on)" true && is "$(of bulk .on)" true; }
is_off() { is "$(of flood .on)" false && is "$(of bulk .on)" false; }

metrics() { rl B stats --prometheus >"$TMP/metrics"; }
metric() { sed -nE "s/^rlctl_alarm_$1\{device=\"veth-B\",hook=\"xdp\",alarm=\"$2\"\} //p" "$TMP/metrics"; }

test_peace() {
	json '.[0].alarms | map(.alarm) == ["bulk", "flood"] and all(.[]; (.on | not) and .changes == 0 and (has("since") | not))' \
		<<<"$(rl B stats -j)" && is "$(of flood '"\(.over), \(.under)"')" '400/second for 300ms, 200/second for 300ms' || return
	has 'veth-B xdp: alarm flood off, 0 packets/s, on over 400/second for 300ms' rl B status -q &&
		has 'veth-B xdp: alarm bulk off, 0 bits/s, on over 100kbit for 300ms' rl B status -q &&
		rl B stats | grep -Eq '^off +- +0 +0 packets/s +400/second for 300ms +200/second for 300ms +flood$' &&
		! rl B top --once | grep 'alarms on'
}

# From here on: two monitors, and a document of stats.
watch_begin() {
	rl B stats -j >"$TMP/earlier" || return
	bg into "$TMP/lines" "$RLCTL" -n "$(ns B)" monitor -i veth-B --rate 10
	LINES_PID=$BG_PID
	bg into "$TMP/objects" "$RLCTL" -n "$(ns B)" monitor -j -i veth-B --rate 10
	OBJECTS_PID=$BG_PID
	eventually 10 watchers veth-B-xdp 2
}

flood_begin() {
	bg flood A --seconds 60 --rate "$RATE" --dport 53 --size 100
	FLOOD_PID=$BG_PID
	eventually 10 is_on
}

test_stats() {
	local age
	is "$(of flood .changes)" 1 && between "$(of flood .rate.packets)" $((RATE / 3)) $((RATE * 3)) &&
		between "$(of bulk .rate.bytes)" $((RATE * 100 / 3)) $((RATE * 300)) && between "$(of flood .counted.packets)" 100 200000 &&
		age=$(($(date +%s) - $(date -d "$(of flood .since)" +%s))) && between "$age" 0 60 || return
	rl B stats && rl B stats |
		grep -Eq '^on +20[0-9T:+-]+ \([0-9hms ]+\) +1 +[0-9,]+ packets/s +400/second for 300ms +200/second for 300ms +flood$'
}
test_status() {
	rl B status | grep -E '^veth-B xdp: alarm flood on since 20.* \(.*\), [0-9,]+ packets/s, off under 200/second for 300ms$' &&
		rl B status | grep -E '^veth-B xdp: alarm bulk on since 20.*, [0-9,]+ bits/s, off under 50kbit for 300ms$' &&
		json '.[0].alarms | map(.on) == [true, true]' <<<"$(rl B status -j)"
}
test_top() {
	rl B top --once | grep -E '^alarms on: bulk since .*, [0-9,]+ bits/s; flood since [0-9:]+ \(.*\), [0-9,]+ packets/s$' &&
		json '.alarms | map(.alarm) == ["bulk", "flood"] and all(.[]; .on)' <<<"$(rl B top -j)" &&
		python3 "$TOP/tests/terminal.py" 'alarms on: bulk since' q -- "$RLCTL" -n "$(ns B)" top >"$TMP/screen"
}
# Each is of a tenth of a second, in which the machine may have kept the sender waiting.
rates_are_shown() {
	metrics && between "$(metric packets_per_second flood | cut -d. -f1)" 600 6000 &&
		between "$(metric bytes_per_second bulk | cut -d. -f1)" 60000 600000
}
test_metrics() {
	local name
	metrics && promtool check metrics <"$TMP/metrics" && is "$(metric on flood) $(metric changes_total flood)" '1 1' &&
		is "$(metric bytes_total flood)$(metric packets_total bulk)" '' && between "$(metric packets_total flood)" 100 200000 &&
		between "$(metric bytes_total bulk)" 10000 20000000 && eventually 10 rates_are_shown || return
	grep -ohE '\brlctl_alarm_[a-z_]+' "$TOP/scripts/grafana.json" "$TOP/scripts/alerts.yml" | sort -u >"$TMP/names" && [[ -s $TMP/names ]] || return
	while read -r name; do
		grep -q "^$name{" "$TMP/metrics" || _say "no samples of $name" || return
	done <"$TMP/names"
}

# Reading needs no capability, as that of all else in stats.
test_unprivileged() {
	json '.[0].alarms | length == 2' <<<"$(in_ns B setpriv --inh-caps=-all --bounding-set=-all "$RLCTL" stats -j)"
}

flood_end() { kill -- "-$FLOOD_PID" && eventually 10 is_off && is "$(of flood .changes)" 2; }

test_since() {
	rl B stats -j --since "$TMP/earlier" >"$TMP/since" && json '.[0].alarms | map(.changes) == [2, 2]' <"$TMP/since" &&
		rl B stats -j >"$TMP/now" && rl B stats -j --since "$TMP/now" | json '.[0].alarms | map(.changes) == [0, 0]'
}

# Both alarms went on, then off; each line once.
test_monitor() {
	eventually 5 four_lines || return
	kill -INT "$LINES_PID" "$OBJECTS_PID" && wait "$LINES_PID" && wait "$OBJECTS_PID" && grep alarm- "$TMP/lines"
	is "$(grep -oE 'alarm-(on|off) flood' "$TMP/lines" | paste -sd' ')" 'alarm-on flood alarm-off flood' &&
		grep -Eq '^[0-9:]{8}\.[0-9]{6} alarm-on flood, [0-9,]+ packets/s$' "$TMP/lines" || return
	jq -s -c 'map(select(.event))[]' "$TMP/objects"
	json -s 'map(select(.event)) | length == 4 and (map(select(.alarm == "flood") | .event) == ["alarm-on", "alarm-off"]) and
		all(.[]; .device == "veth-B" and .hook == "xdp" and (.time | length) == 30 and (.rate | has("packets") or has("bytes")))' \
		<"$TMP/objects"
}
four_lines() { is "$(cat "$TMP/lines" "$TMP/objects" | grep -c alarm-)" 8; }

# A policy without an alarm shows nothing of them.
test_none() {
	rl B apply - <<<'rule any limit 1000/second burst 100' && metrics && ! grep rlctl_alarm "$TMP/metrics" &&
		! rl B status | grep alarm && ! rl B stats | grep -i alarm &&
		json 'all(.[]; has("alarms") | not)' <<<"$(rl B stats -j)" && json 'has("alarms") | not' <<<"$(rl B top -j)"
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on &&
	policy >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" -q || exit 1
t 'in peace all are off' test_peace
t 'they are watched' watch_begin || exit 1
t 'a flood puts them on' flood_begin || exit 1
t 'stats' test_stats
t 'status' test_status
t 'top' test_top
t 'metrics' test_metrics
t 'stats without capabilities' test_unprivileged
t 'its end puts them off' flood_end
t 'stats since an earlier one' test_since
t 'monitor told each change once' test_monitor
t 'no alarm, nothing of them' test_none
