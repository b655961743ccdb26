#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The commands that rlctl-fastnetmon makes of reports, hostile and odd ones too, by an rlctl that writes them down.
source "$(dirname "$0")/../lib.sh"

# shellcheck disable=SC2016 # for the shell of that script
printf '%s\n' '#!/bin/sh' '{ echo "$*:"; cat; } >>"$0.got"; exec "$0.then"' >"$TMP/rlctl"
printf '%s\n' '#!/bin/sh' 'exit 0' >"$TMP/rlctl.then"
chmod 755 "$TMP/rlctl" "$TMP/rlctl.then"

notify() { python3 "$TOP/scripts/rlctl-fastnetmon" --rlctl "$TMP/rlctl" "$@"; }
# makes STATUS WANTED SAID INPUT ARGUMENT…: WANTED are the commands and their lines, with blanks between.
makes() {
	local status=0
	: >"$TMP/rlctl.got"
	notify "${@:5}" <<<"$4" >"$TMP/said" 2>&1 || status=$?
	is "$status" "$1" && is "$(xargs <"$TMP/rlctl.got")" "$2" || return
	! grep Traceback "$TMP/said" || return
	if [[ -n $3 ]]; then grep -F -- "$3" "$TMP/said" || _say "$(<"$TMP/said")"; else is "$(<"$TMP/said")" ''; fi
}

ADD='-q set add under-attack -:'
DEL='-q set del under-attack -:'
VICTIM='"ip": "203.0.113.7"'

# ---- Community

community() { makes 0 "$1" '' "${3:-IP: 203.0.113.7}" 203.0.113.7 incoming 12345 "$2"; }
test_nothing_there() { timeout 5 python3 "$TOP/scripts/rlctl-fastnetmon" --rlctl "$TMP/rlctl" 203.0.113.7 incoming 1 unban </dev/null; }

# More than a pipe holds is read, also where the report or the usage is wrong: FastNetMon would end by SIGPIPE.
drained() { # STATUS ARGUMENT…
	local statuses
	head -c 40000000 /dev/zero | notify "${@:2}" >/dev/null 2>&1
	statuses="${PIPESTATUS[*]}"
	is "$statuses" "0 $1"
}

# ---- Advanced

# host ACTION SCOPE DIRECTION MEMBER…: further members.
host() {
	local rest
	printf -v rest ', %s' "${@:4}"
	echo "{$VICTIM, \"action\": \"$1\", \"alert_scope\": \"$2\", \"attack_details\": {\"attack_direction\": \"$3\"}${4:+$rest}}"
}
dump() { printf '"packet_dump_detailed": ['; printf '{"source_ip": "%s", "destination_ip": "%s"}, ' "$@"; echo '{}, 7]'; }

test_hostgroup() {
	local report='{"action": "ban", "alert_scope": "hostgroup", "hostgroup_networks": ["192.168.1.0/24", "10.10.1.2/16", "2001:db8::/32"]}'
	makes 0 "$ADD 192.168.1.0/24 for 1h 10.10.0.0/16 for 1h 2001:db8::/32 for 1h" '' "$report"
}
test_some_wrong() {
	local report='{"action": "ban", "alert_scope": "hostgroup", "hostgroup_networks": ["0.0.0.0/0", "x", 7, "192.0.2.1"]}'
	makes 1 "$ADD 192.0.2.1 for 1h" '0.0.0.0/0 is shorter than /8' "$report" && grep -F "'x' does not appear" "$TMP/said" &&
		grep -F '7 is no address' "$TMP/said"
}
test_many() {
	local report
	report=$(jq -n '{action: "ban", alert_scope: "hostgroup", hostgroup_networks: [range(1500) | "10.0.\(. / 250 | floor).\(. % 250)"]}')
	: >"$TMP/rlctl.got"
	has 'has 1500 networks, of which 1000 are taken' expect_status 1 notify <<<"$report" && is "$(wc -l <"$TMP/rlctl.got")" 1001
}

# Answers of the victim are in the dump, too; who sent most comes first.
test_sources() {
	local packets
	packets=$(dump 198.51.100.1 203.0.113.7 198.51.100.2 203.0.113.7 198.51.100.2 203.0.113.7 203.0.113.7 198.51.100.3 198.51.100.4 192.0.2.9 \
		198.51.100.0/24 203.0.113.7 x 203.0.113.7)
	makes 0 "$ADD 203.0.113.7 for 1h" '' "$(host ban host incoming "$packets")" &&
		makes 0 "$ADD 203.0.113.7 for 5m -q set add attackers -: 198.51.100.2 for 5m 198.51.100.1 for 5m" '' \
			"$(host ban host incoming "$packets")" --sources attackers --for 5m &&
		makes 0 "$ADD 203.0.113.7 for 1h -q set add attackers -: 198.51.100.2 for 1h" '' \
			"$(host ban host incoming "$packets")" --sources attackers --max 1 &&
		makes 0 "$DEL 203.0.113.7" '' "$(host unban host incoming "$packets")" --sources attackers &&
		makes 0 "$ADD 203.0.113.7 for 1h" '' "$(host ban host incoming '"packet_dump_detailed": 7')" --sources attackers
}

test_outgoing() {
	makes 1 '' '203.0.113.7/32 floods others: --outgoing SET' "$(host ban host outgoing)" &&
		makes 0 '-q set add flooding -: 203.0.113.7 for 1h' '' "$(host ban host outgoing)" --outgoing flooding &&
		makes 0 '-q set del flooding -: 203.0.113.7' '' '' --outgoing flooding 203.0.113.7 outgoing 9 unban
}

test_refused() {
	printf '%s\n' '#!/bin/sh' 'echo "rlctl: no set" >&2' 'exit 1' >"$TMP/rlctl.then"
	makes 1 "$ADD 203.0.113.7 for 1h" "set add under-attack -' failed: rlctl: no set" "$(host ban host incoming)"
	local status=$?
	printf '%s\n' '#!/bin/sh' 'exit 0' >"$TMP/rlctl.then"
	return "$status"
}

# Neither a writer that never ends nor a command that does not is waited for; a copy has shorter times.
test_patience() {
	sed 's/^INPUT_S, COMMAND_S = .*/INPUT_S, COMMAND_S = 0.3, 0.3/' "$TOP/scripts/rlctl-fastnetmon" >"$TMP/impatient" &&
		mkfifo "$TMP/open" && exec 8<>"$TMP/open" && printf '%s\n' '#!/bin/sh' 'exec sleep 60' >"$TMP/sleeps" && chmod 755 "$TMP/sleeps" &&
		has 'has not ended after 0.3 s' expect_status 1 timeout 20 python3 "$TMP/impatient" --rlctl "$TMP/sleeps" 203.0.113.7 incoming 1 ban \
			<"$TMP/open"
	local status=$?
	exec 8>&-
	return "$status"
}

wrong() { makes 1 '' "$@"; }
usage() { makes 2 '' "$1" "$(host ban host incoming)" "${@:2}"; }

t 'Community: ban' community "$ADD 203.0.113.7 for 1h" ban
t 'Community: unban' community "$DEL 203.0.113.7" unban ''
t 'Community: details alone' community '' attack_details
t 'Community: details that begin as JSON' community "$ADD 203.0.113.7 for 1h" ban '{ IP'
t 'Community: no standard input' test_nothing_there
t 'Community: no address' wrong "ip: 'x' does not appear" '' x incoming 1 ban
t 'Community: another action' wrong "action 'x' is unknown" '' 203.0.113.7 incoming 1 x
t 'a long report is read to its end' drained 0 203.0.113.7 incoming 1 ban
t 'also if it is no report' drained 1
t 'also if the usage is wrong' drained 2 --none
t 'Advanced: ban' makes 0 "$ADD 203.0.113.7 for 1h" '' "$(host ban host incoming)"
t 'Advanced: arguments beside it' makes 0 "$DEL 203.0.113.7" '' "$(host unban host incoming)" 192.0.2.1 incoming 9 ban
t 'Advanced: unban' makes 0 "$DEL 203.0.113.7" '' "$(host unban '' incoming)"
t 'Advanced: partial_block' makes 0 "$ADD 203.0.113.7 for 1h" '' "$(host partial_block host other)"
t 'Advanced: attack_status' makes 0 '' '' "$(host attack_status host incoming)"
t 'Advanced: a network' makes 0 "$ADD 192.0.2.0/24 for 1h" '' '{"action": "ban", "alert_scope": "network", "network": "192.0.2.0/24"}'
t 'Advanced: IPv6, and IPv4 in it' makes 0 "$ADD 2001:db8::1 for 1h 192.0.2.1 for 1h" '' \
	'{"action": "ban", "alert_scope": "hostgroup", "hostgroup_networks": ["2001:db8::1", "::ffff:192.0.2.1"]}'
t 'Advanced: a hostgroup' test_hostgroup
t 'Advanced: networks some of which are wrong' test_some_wrong
t 'Advanced: too many networks' test_many
t 'Advanced: sources' test_sources
t 'a host that floods others' test_outgoing
t 'another set, device and time' makes 0 '-q set add other - -i eth0: 203.0.113.7 for 90s' '' "$(host ban host incoming)" --set other -i eth0 --for 90s
t 'rlctl refuses' test_refused
t 'whoever does not end' test_patience
t 'no report' wrong 'no report: FastNetMon gives' ''
t 'no JSON' wrong 'standard input is no JSON' '{'
t 'nested JSON' wrong 'standard input is no JSON' "{\"a\": $(printf '[%.0s' {1..99999})"
t 'no members' wrong 'action None is unknown' '{}'
t 'an odd action' wrong 'action [7] is unknown' "{$VICTIM, \"action\": [7]}"
t 'an odd scope' wrong 'alert_scope [7] is unknown' "{$VICTIM, \"action\": \"ban\", \"alert_scope\": [7]}"
t 'another scope' wrong "alert_scope 'per_remote_host' is unknown" "$(host ban per_remote_host incoming)"
t 'no address' wrong 'ip: None is no address' '{"action": "ban"}'
t 'a zone' wrong "ip: 'fe80::1%eth0' is no address" '{"action": "ban", "ip": "fe80::1%eth0"}'
t 'no networks' wrong 'hostgroup_networks is empty' '{"action": "ban", "alert_scope": "hostgroup", "hostgroup_networks": []}'
t 'two words' usage 'write IP DIRECTION PPS ACTION' 203.0.113.7 ban
t 'a set' usage "'Bad' is not the name of a set" --set Bad
t 'a time' usage "'ever' is not a time" --for ever
t 'a number' usage "'0': write a number from 1" --max 0
t 'no command' has 'No such file' expect_status 1 python3 "$TOP/scripts/rlctl-fastnetmon" --rlctl /none 203.0.113.7 incoming 1 ban </dev/null
