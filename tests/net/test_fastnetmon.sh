#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Packets to hosts that detectors report: by rlctl-fastnetmon, called as FastNetMon Community and Advanced do, and by the
# line for Wanguard. The policies and that line are those of docs/bans.md.
source "$(dirname "$0")/../lib.sh"

VICTIM=203.0.113.7

# shown SET: the policy in which the document defines it.
shown() { sed -n "/^set $1/,/^\`\`\`/p" "$TOP/docs/bans.md" | grep -v '^```'; }

notify() { in_ns B "$TOP/scripts/rlctl-fastnetmon" --rlctl "$RLCTL" "$@"; }
# report ACTION: as Advanced does, with a packet of 10.77.0.9 and an answer to it.
report() {
	jq -n --arg action "$1" --arg ip "$VICTIM" '{ip: $ip, $action, alert_scope: "host", attack_details: {attack_direction: "incoming"},
		packet_dump_detailed: [["10.77.0.9", $ip], [$ip, "10.77.0.9"] | {source_ip: .[0], destination_ip: .[1]}]}'
}

# dropped SOURCE DESTINATION: how many of 300 packets at once.
dropped() { growth 'stat_of B .dropped.packets' flood A --count 300 --src "$1" --dst "$2"; }
passes() { is "$(dropped "$@")" 0; }
members() { rl B set list "$1" | awk '{ print $1 }' | paste -sd,; }

flood_held() {
	local before sent
	before=$(stat_of B .dropped.packets) && sent=$(flood A --seconds 1 --rate 300000 --src 10.77.0.0/16 --dst "$VICTIM") &&
		admitted $(($(jq .sent <<<"$sent") - $(stat_of B .dropped.packets) + before)) 20000 2000 "$(jq .seconds <<<"$sent")" 10
}
# The hosts beside it are not affected; the member ends by itself, within an hour.
test_community() {
	passes 10.77.0.9 "$VICTIM" && seq 100000 | notify "$VICTIM" incoming 200000 ban && is "$(members under-attack)" "$VICTIM" &&
		rl B set list under-attack -j | json '.members[0].expires_in | . > 3500 and . <= 3600' && is "$(members attackers)" '' &&
		patiently flood_held && passes 10.77.0.8 203.0.113.8 &&
		notify "$VICTIM" incoming 200000 unban </dev/null && is "$(members under-attack)" '' && passes 10.77.0.9 "$VICTIM"
}

# The real FastNetMon sees a flood on the device, reports the host, and lives on.
fastnetmon_start() {
	echo 203.0.113.0/24 >"$TMP/networks_list" && : >"$TMP/white_list" &&
		printf '#!/bin/sh\nexec "%s" -n "%s" "$@"\n' "$RLCTL" "$(ns B)" >"$TMP/rlctl" &&
		printf '#!/bin/sh\nexec "%s" --rlctl "%s" -i veth-B "$@"\n' "$TOP/scripts/rlctl-fastnetmon" "$TMP/rlctl" >"$TMP/notify_script" &&
		chmod 755 "$TMP/rlctl" "$TMP/notify_script" &&
		sed -E 's/^(disable_usage_report|mirror_afpacket) = .*/\1 = on/; s/^(enable_api|prometheus|monitor_local_ip_addresses) = .*/\1 = off/
			s/^threshold_pps = .*/threshold_pps = 2000/; s/^average_calculation_time = .*/average_calculation_time = 1/
			s/^interfaces = .*/interfaces = veth-B/
			s,^(networks_list|white_list|notify_script|cli_stats_file|cli_stats_ipv6_file)_path = .*,\1_path = '"$TMP"'/\1,' \
			/etc/fastnetmon.conf >"$TMP/fastnetmon.conf" || return
	bg in_ns B fastnetmon --configuration_file "$TMP/fastnetmon.conf" --log_file "$TMP/fastnetmon.log" --disable_pid_logic
	FASTNETMON=$BG_PID
}
reported() { flood A --seconds 1 --rate 20000 --dst "$VICTIM" && is "$(members under-attack)" "$VICTIM"; }
test_fastnetmon() {
	if ! fastnetmon_start || ! eventually 20 reported; then
		_say "FastNetMon says: $(tail -n 20 "$TMP/fastnetmon.log")"
		return
	fi
	kill -0 "$FASTNETMON" && kill -- -"$FASTNETMON" && rl B set flush under-attack -q
}

# Those who send most have less, and towards the victim alone.
test_advanced() {
	report ban | notify --sources attackers && is "$(members under-attack) $(members attackers)" "$VICTIM 10.77.0.9" &&
		between "$(dropped 10.77.0.9 "$VICTIM")" 280 300 && passes 10.77.0.9 203.0.113.8 && passes 10.77.0.8 "$VICTIM" &&
		report unban | notify --sources attackers && is "$(members under-attack) $(members attackers)" ' 10.77.0.9' &&
		passes 10.77.0.9 "$VICTIM"
}

test_no_set() {
	has "no set 'elsewhere'" expect_status 1 notify --set elsewhere "$VICTIM" incoming 9 ban </dev/null
}

# The line as Wanguard calls it, for this address.
wanguard() {
	local line
	line=$(sed -n 's/^sudo rlctl \(set add wanguard .*\)/\1/p' "$TOP/docs/bans.md") && line=${line//\{ip\}/$VICTIM} || return
	# shellcheck disable=SC2086 # several words
	rl B $line
}
left() { rl B set list wanguard -j | jq -r '.members[0].expires_in'; }
test_wanguard() {
	shown wanguard | rl B apply - -q && passes 10.77.0.9 "$VICTIM" && is "$(wanguard)" 'wanguard: 1 added' &&
		between "$(dropped 10.77.0.9 "$VICTIM")" 200 300 && passes 10.77.0.9 203.0.113.8 && eventually 5 older &&
		is "$(wanguard)" 'wanguard: 0 added, 1 extended' && jq -en "$(left) > 599"
}
older() { jq -en "$(left) < 599"; }

veth_pair A B && ns_mute A && ns_mute B && rl B attach veth-B --policy - -q < <(shown under-attack) || exit 1
t 'Community: a host is limited' test_community
t 'the real FastNetMon Community' test_fastnetmon
t 'Advanced: and those who send most to it' test_advanced
t 'no such set' test_no_set
t 'Wanguard: each call extends the time' test_wanguard
