#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl-crowdsec with the real crowdsec: what its local API lists is what packets meet, through mass expiry, bans given
# again, sets that are too small and restarts of either side. crowdsec's configuration and database are the test's, its
# local API is on the loopback of a namespace, and it has neither hub nor central API. check: timeout 900, check: beside
source "$(dirname "$0")/../lib.sh"

CS=$TMP/crowdsec
CONF=$TMP/crowdsec.conf
BOUNCER=$TOP/scripts/rlctl-crowdsec
KEY=0123456789abcdef
COUNT=50000
COMPARED=240 # seconds: 50 times what reading the whole list takes, which may be several on a busy machine

# ---- crowdsec in B

configure() {
	mkdir -p "$CS"/{data,hub,plugins,notifications} && cp /etc/crowdsec/profiles.yaml /etc/crowdsec/simulation.yaml "$CS" &&
		echo '{}' >"$CS/hub/.index.json" && : >"$CS/login.yaml" || return
	cat >"$CS/config.yaml" <<-END
		common: {daemonize: false, log_media: stdout, log_level: info, working_dir: .}
		config_paths:
		  config_dir: $CS
		  data_dir: $CS/data
		  simulation_path: $CS/simulation.yaml
		  hub_dir: $CS/hub
		  index_path: $CS/hub/.index.json
		  notification_dir: $CS/notifications
		  plugin_dir: $CS/plugins
		db_config: {log_level: info, type: sqlite, use_wal: true, db_path: $CS/data/crowdsec.db}
		api:
		  client: {credentials_path: $CS/login.yaml}
		  server:
		    log_level: info
		    listen_uri: 127.0.0.1:8080
		    profiles_path: $CS/profiles.yaml
		prometheus: {enabled: false}
	END
	cs machines add test --password "$KEY" -f "$CS/login.yaml" -u http://127.0.0.1:8080 &&
		cs bouncers add rlctl -k "$KEY" && cs bouncers add test -k "other$KEY"
}

cs() { in_ns B cscli -c "$CS/config.yaml" "$@"; }

cs_start() {
	bg in_ns B crowdsec -c "$CS/config.yaml" -no-cs
	CS_PID=$BG_PID
	eventually 30 cs decisions list
}

cs_stop() { kill -TERM -- "-$CS_PID" && eventually 30 ended "$CS_PID"; }
ended() { ! kill -0 "$1" 2>/dev/null; }

# decide DURATION FIRST COUNT: decisions for addresses from FIRST on, some thousands at a time: the API refuses what meets
# another of its writes ("database is locked"), and a long import meets one at every try.
decide() {
	local part
	rm -f "$TMP"/decisions.*
	# shellcheck disable=SC2016 # for the shell of split
	/usr/bin/python3 -c 'import ipaddress, sys
for i in range(int(sys.argv[3])):
    print("%s,ip,%s" % (sys.argv[1], ipaddress.ip_address(sys.argv[2]) + i))' "$@" |
		split -l 5000 --additional-suffix .csv --filter '{ echo duration,scope,value; cat; } >"$FILE"' - "$TMP/decisions." || return
	for part in "$TMP"/decisions.*; do
		eventually 20 decided "$part" || return
	done
}
decided() { cs decisions import -i "$1"; }

# ban VALUE DURATION [TYPE]: one decision.
ban() {
	local scope=--ip
	[[ $1 != */* ]] || scope=--range
	cs decisions add "$scope" "$1" --duration "$2" --type "${3:-ban}"
}

# listed: what the API says is banned, asked by another than the bouncer.
listed() {
	in_ns B curl -sf -H "X-Api-Key: other$KEY" 'http://127.0.0.1:8080/v1/decisions?type=ban' | jq -r '.[]?.value' | sort -u
}

# ---- the bouncer in B

bouncer_configure() { # LINE…
	printf '#!/bin/sh\nexec "%s" -n "%s" "$@"\n' "$RLCTL" "$(ns B)" >"$TMP/rlctl" && chmod 755 "$TMP/rlctl" && umask 077 &&
		printf '%s\n' "key = $KEY" "rlctl = $TMP/rlctl" 'interval = 1s' 'compare = 3s' "$@" >"$CONF"
}

bouncer() { in_ns B /usr/bin/python3 "$BOUNCER" -c "$CONF" "$@"; }

bouncer_start() {
	: >"$TMP/said"
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B sh -c 'exec /usr/bin/python3 "$1" -c "$2" 2>"$3"' _ "$BOUNCER" "$CONF" "$TMP/said"
	BOUNCER_PID=$BG_PID
	eventually 60 grep -q ' members of the set ' "$TMP/said"
}

bouncer_stop() { kill "-${1:-TERM}" -- "-$BOUNCER_PID" && eventually 10 ended "$BOUNCER_PID"; }

enforced() { rl B set list "${1:-crowdsec}" | awk '{ print $1 }' | sort -u; }
count() { enforced "$@" | wc -l; }
banned() { rl B set test crowdsec "$1"; }
not_banned() { expect_status 1 rl B set test crowdsec "$1"; }

# agree: enforced is what is listed, nothing more and nothing less.
agree() {
	listed >"$TMP/listed" && enforced >"$TMP/enforced" || return
	diff "$TMP/listed" "$TMP/enforced" >"$TMP/differ" ||
		_say "$(wc -l <"$TMP/listed") are listed, $(wc -l <"$TMP/enforced") enforced: $(head -n 5 "$TMP/differ")"
}

passes() { in_ns A ping -c 1 -W 1 -I "$1" "$2"; }

# ---- the tests

test_start() { cs_start && bouncer_start && is "$(count)" 0; }

test_import() {
	local begin=$SECONDS
	decide 4h 10.80.0.0 "$COUNT" && IMPORT_S=$((SECONDS - begin)) && eventually $COMPARED prints "$COUNT" count && agree
}

# All are deleted by one command, and some are banned again between two questions of the bouncer. The next row has
# those alone: crowdsec and the bouncer would compare 50,000 every three seconds.
test_mass_deletion() {
	cs decisions delete --all || return
	decide 4h 10.80.0.0 2000 && eventually $COMPARED agree && banned 10.80.0.1
}

test_ban() { # FROM TO
	passes "$1" "$2" && ban "$1" 4h && eventually 10 banned "$1" && expect_fail passes "$1" "$2" &&
		cs decisions delete --ip "$1" && eventually 10 not_banned "$1" && passes "$1" "$2"
}

test_range() {
	passes 10.77.0.7 10.77.0.2 && ban 10.77.0.6/31 4h && eventually 10 banned 10.77.0.7 &&
		expect_fail passes 10.77.0.7 10.77.0.2 && passes 10.77.0.9 10.77.0.2 && cs decisions delete --range 10.77.0.6/31 &&
		eventually 10 not_banned 10.77.0.7
}

# Decisions of other types are for others, and say nothing against the next ban.
test_types() {
	ban 10.77.0.7 1h captcha && ban 10.77.0.8 1h && eventually 10 banned 10.77.0.8 && not_banned 10.77.0.7 &&
		cs decisions delete --ip 10.77.0.7 && cs decisions delete --ip 10.77.0.8 && eventually 10 agree
}

# left ADDRESS: seconds that are left of its ban.
left() {
	enforced_line "$1" | /usr/bin/python3 -c '
import re, sys
units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
print(int(sum(int(n) * units[u] for n, u in re.findall(r"(\d+)([a-z]+)", sys.stdin.read()))))'
}
enforced_line() { rl B set list crowdsec | awk -v a="$1" '$1 == a { print $3 }'; }

# A ban that is given again while it lasts lasts for as long as the new one says (cs-firewall-bouncer#243).
test_extend() {
	ban 192.0.2.1 12s && eventually 10 banned 192.0.2.1 && between "$(left 192.0.2.1)" 1 12 && ban 192.0.2.1 4h &&
		eventually 10 lasts 192.0.2.1 14300 14400 && sleep 13 && banned 192.0.2.1 && agree
}
lasts() { between "$(left "$1")" "$2" "$3"; }

# Two decisions for an address: it is banned until the last of them has ended, in whatever order they end.
test_several() {
	ban 192.0.2.2 4h && ban 192.0.2.2 30s && eventually 10 lasts 192.0.2.2 14300 14400 && cs decisions delete --id \
		"$(cs decisions list -a -o json | jq -r '[.[].decisions[]? | select(.value == "192.0.2.2")] | max_by(.id).id - 1')" &&
		sleep 3 && banned 192.0.2.2 && eventually 40 not_banned 192.0.2.2
}

# Thousands end in one second, and some of them are banned again at that moment: none is lost
# (cs-firewall-bouncer#509). The bouncer compares the whole list after fifty times as long as it took to read it, which
# a busy machine makes minutes: it is begun anew, so that this is not the list of the import.
test_mass_expiry() {
	# A sixth of COUNT, in at most half of this time even on a machine three times as busy as at the import.
	local life=$((40 + IMPORT_S))
	bouncer_stop && bouncer_start && agree || return
	decide "${life}s" 10.90.0.0 8000 && eventually 30 banned 10.90.31.63 && eventually $COMPARED agree && decide 4h 10.90.0.0 3000 &&
		eventually $((life + 20)) not_banned 10.90.31.63 && decide 4h 10.90.16.0 3000 && eventually $COMPARED agree && sleep 5 && agree &&
		is "$(enforced | grep -c '^10\.90\.')" 6000
}

# The set has room for 1,000, and not for all: it is said how many are missing, the others are held, and those that had
# no room get it when some ends (cs-firewall-bouncer#260).
test_full() {
	bouncer_stop && cs decisions delete --all && bouncer_configure 'set = small' && decide 4h 10.91.0.0 900 &&
		bouncer_start && is "$(count small)" 900 && decide 4h 10.92.0.0 300 && eventually 10 prints 1000 count small &&
		eventually 5 says 'set small is full: 200 of 1200 members are not in it' &&
		ban 10.77.0.7 1h && sleep 2 && cs decisions delete --range 10.91.0.0/22 --contained && eventually 20 prints 301 count small &&
		eventually 5 says 'set small has room for all again'
}
says() { grep -q "$1" "$TMP/said" || _say "the bouncer says: $(<"$TMP/said")"; }

# The same where the whole list is read at the start.
test_full_at_start() {
	bouncer_stop && decide 4h 10.93.0.0 1500 && bouncer_start && is "$(count small)" 1000 &&
		grep -q 'set small is full: 801 of 1801 members are not in it' "$TMP/said" && bouncer_stop && bouncer_configure &&
		bouncer_start && agree
}

# While the API is away bans stay, and its decisions of that time are carried out when it is back.
test_api_restart() {
	local before
	before=$(count) && cs_stop && eventually 10 grep -q 'no decisions: .*trying again' "$TMP/said" && is "$(count)" "$before" &&
		cs_start && ban 192.0.2.3 4h && eventually 60 banned 192.0.2.3 && eventually 10 grep -q 'works again' "$TMP/said" && agree
}

# Killed, and what changed meanwhile on both sides.
test_bouncer_restart() {
	bouncer_stop KILL && ban 192.0.2.4 4h && cs decisions delete --ip 192.0.2.3 && rl B set add crowdsec 192.0.2.5 &&
		rl B set del crowdsec 10.93.0.1 && banned 192.0.2.3 && bouncer_start && agree && banned 192.0.2.4 && not_banned 192.0.2.5
}

# Bans outlive the bouncer, and end at their time without it.
test_stopped() {
	ban 192.0.2.6 12s && eventually 5 banned 192.0.2.6 && bouncer_stop && banned 192.0.2.4 && eventually 15 not_banned 192.0.2.6
}

# The device is not limited for a while.
test_detached() {
	bouncer_start && rl B detach veth-B && ban 192.0.2.7 4h && eventually 10 grep -q 'failed: .*trying again' "$TMP/said" &&
		attach && eventually 60 agree && banned 192.0.2.7
}

# Nor are bans lost where somebody empties the set, or attaches anew between two questions.
test_emptied() {
	rl B set flush crowdsec && eventually 20 grep -q 'has lost .* members' "$TMP/said" && eventually 10 agree &&
		rl B detach veth-B && attach && eventually 30 agree
}

# ---- an API that answers as the test wants

# answer NAME ADDRESS…: a file with these decisions, numbered by their addresses.
answer() {
	printf '%s\n' "${@:2}" | jq -Rn '{deleted: null, new: [inputs | select(. != "") |
		{id: (split(".") | last | tonumber), type: "ban", scope: "Ip", value: ., duration: "1h0m0.5s"}]}' >"$TMP/answers.tmp" &&
		mv "$TMP/answers.tmp" "$TMP/answers/$1"
}

# The stream does not tell of a decision, and tells of one that has gone: the whole list does.
test_left_out() {
	bouncer_stop && mkdir "$TMP/answers" && answer all 192.0.2.1 192.0.2.2 &&
		bouncer_configure 'url = http://127.0.0.1:8081' || return
	bg in_ns B /usr/bin/python3 "$TOP/tests/net/lapi.py" 8081 "$TMP/answers"
	bouncer_start && banned 192.0.2.1 && answer all 192.0.2.1 192.0.2.3 192.0.2.4 && answer new 192.0.2.3 &&
		eventually 5 banned 192.0.2.3 && eventually 10 banned 192.0.2.4 && not_banned 192.0.2.2 &&
		eventually 5 grep -q '[1-9] bans and 1 ends of bans were in the whole list alone' "$TMP/said"
}

# Half an answer is none, and those that are banned stay so.
test_broken_answer() {
	printf '{"new": [' >"$TMP/answers/all" && echo '{"new": [], "deleted"' >"$TMP/answers/new" &&
		eventually 10 grep -q 'no decisions: .*trying again' "$TMP/said" && sleep 2 && banned 192.0.2.4 && is "$(count)" 3 &&
		answer all 192.0.2.5 && eventually 40 banned 192.0.2.5 && is "$(count)" 1
}

# ---- a broken API, or one that is not the right one

# stays TEXT: --once fails and says TEXT, and the bans stay.
stays() {
	local hows=("$TMP/answers/"{redirect,drip,endless}) rc=0
	_stays "$1" || rc=$?
	rm -f "${hows[@]}"
	return "$rc"
}
_stays() { has "$1" expect_status 1 in_ns B timeout 20 /usr/bin/python3 "$BOUNCER" -c "$CONF" --once && is "$(count)" "$BANNED"; }

test_begun() {
	bouncer_stop && bouncer_configure 'url = http://127.0.0.1:8081' 'timeout = 3s' 'never = 198.51.100.0/24, 2001:db8::/48' &&
		answer all 192.0.2.{1..9} && bouncer --once && BANNED=$(count) && is "$BANNED" 9
}

# The key is for the API alone.
test_redirect() {
	mkdir "$TMP/other" && bg in_ns B /usr/bin/python3 "$TOP/tests/net/lapi.py" 8082 "$TMP/other"
	echo http://127.0.0.1:8082/x >"$TMP/answers/redirect" && stays 'names another place' && expect_fail test -e "$TMP/other/keys"
}

test_drip() { : >"$TMP/answers/drip" && stays 'not finished after 3 s'; }
test_endless() { : >"$TMP/answers/endless" && stays 'longer than 64 MiB'; }

test_no_list() {
	local text
	for text in '{"message": "maintenance"}' '{"new": []}' '{"new": 7, "deleted": null}' '[]' 'null'; do
		echo "$text" >"$TMP/answers/all" && stays 'not a list of decisions' || return
	done
	printf '[%.0s' {1..200000} >"$TMP/answers/all" && stays 'no decisions'
}

# Decisions that make no sense do not keep the others from being enforced, nor do those for everybody, or for oneself.
test_bad_decisions() {
	jq -cn '{deleted: [7, {id: []}], new: (([range(1; 10) | {id: ., value: "192.0.2.\(.)"}] + [{id: [], value: "192.0.2.20"},
			{id: 11, value: "0.0.0.0/0"}, {id: 12, value: "128.0.0.0/7"}, {id: 13, value: "2000::/16"}, {id: 14, value: "::/0"},
			{id: 15, value: "198.51.100.7"}, {id: 16, value: "198.51.0.0/16"}, {id: 17, value: "2001:db8::/32"},
			{id: 18, value: 7}, {id: 19, value: "192.0.2.21", duration: ("9" * 100000)}, {id: 20, value: "::ffff:0.0.0.0/97"}]
		| map({type: "ban", scope: "Ip", duration: "1h"} + .)) + [7, null])}' >"$TMP/answers/all" &&
		bouncer --once 2>"$TMP/said" && is "$(count)" 9 && has 'is shorter than /8 (shortest)' cat "$TMP/said" &&
		has '(never)' cat "$TMP/said" && expect_fail grep Traceback "$TMP/said"
}

# A list that has lost more than half is believed when it is read twice, an empty one too.
test_shrinks() {
	answer all 192.0.2.1 && bouncer --once 2>"$TMP/said" && has 'has 9: it is read again' cat "$TMP/said" && is "$(count)" 1 &&
		answer all 192.0.2.{1..9} && bouncer --once && echo '{"new": null, "deleted": null}' >"$TMP/answers/all" || return
	bouncer_configure 'url = http://127.0.0.1:8081' 'interval = 3s'
	bouncer --once & # and is whole again by then
	sleep 1.5 && is "$(count)" 9 && answer all 192.0.2.{1..9} && wait "$!" && is "$(count)" 9 &&
		echo '{"new": null, "deleted": null}' >"$TMP/answers/all" && bouncer --once 2>"$TMP/said" && is "$(count)" 0 &&
		expect_fail grep 'one by one' "$TMP/said"
}

# It says that http:// to another machine is read and changed by whoever is on the way.
test_clear_text() {
	bouncer_configure 'url = http://10.77.0.1:1/' && has 'in clear text' expect_status 1 bouncer --once &&
		bouncer_configure 'url = http://localhost:1/' && expect_fail has 'in clear text' expect_status 1 bouncer --once
}

test_key() {
	bouncer_configure 'key = wrong' && has 'refuses the key: write' expect_status 1 bouncer --once &&
		bouncer_configure 'set = nowhere' && has nowhere expect_status 1 bouncer --once && bouncer_configure && bouncer --once
}

# refused LINE TEXT
test_config() {
	printf 'key = x\n%s\n' "$1" >"$CONF" && has "$2" expect_status 2 bouncer --once
}

attach() { rl B attach veth-B --policy "$TMP/policy"; }

veth_pair A B && veth_quiet A B && ip -n "$(ns A)" addr add 10.77.0.7/24 dev veth-A &&
	ip -n "$(ns A)" addr add 10.77.0.9/24 dev veth-A && ip -n "$(ns A)" addr add fd77::7/64 dev veth-A nodad || exit 1
printf '%s\n' 'set crowdsec max 100000' 'set small max 1000' 'rule @crowdsec deny' 'rule @small deny' >"$TMP/policy"
attach && configure && bouncer_configure || exit 1

t 'both start' test_start || exit 1
t "$COUNT decisions are imported" test_import || exit 1
t 'mass deletion' test_mass_deletion
t 'an IPv4 address' test_ban 10.77.0.7 10.77.0.2
t 'an IPv6 address' test_ban fd77::7 fd77::2
t 'a range' test_range
t 'other types of decisions' test_types
t 'a ban given again' test_extend
t 'several decisions for an address' test_several
t 'mass expiry' test_mass_expiry
t 'a set that is too small' test_full
t 'a set that is too small at the start' test_full_at_start
t 'the API restarts' test_api_restart
t 'the bouncer restarts' test_bouncer_restart
t 'the bouncer is stopped' test_stopped
t 'the device is not limited for a while' test_detached
t 'the set is emptied by somebody else' test_emptied
t 'a decision that the stream leaves out' test_left_out
t 'a broken answer' test_broken_answer
t 'an API that the test answers for' test_begun
t 'a redirection' test_redirect
t 'an answer that drips' test_drip
t 'an answer without an end' test_endless
t 'answers that are no list' test_no_list
t 'decisions that make no sense, for everybody, for oneself' test_bad_decisions
t 'a list that shrinks' test_shrinks
t 'clear text' test_clear_text
t 'a wrong key, and a set that is not there' test_key
t 'wrong configuration: a key' test_config 'sett = x' 'write KEY = VALUE'
t 'wrong configuration: a duration' test_config 'interval = 5' 'write a duration'
t 'wrong configuration: a name' test_config 'set = A' 'not the name of a set'
t 'wrong configuration: a prefix' test_config 'never = 10.0.0.0/8 x' "never: 'x'"
t 'wrong configuration: lengths' test_config 'shortest = 8' 'write /LENGTH,/LENGTH'
