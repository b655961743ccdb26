#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl events on a live veth: each kind of event comes with what the sender sent, a flood of bans is counted and
# neither stalls nor grows it, the journal tells the past, and following ends as it should. check: processor
source "$(dirname "$0")/../lib.sh"

policy() {
	cat <<-'END'
	set few max 3
	alarm flood when tcp dport 7777 over 1000/second for 300ms until under 500/second for 300ms # the shop
	alarm deep when tcp payload 0 00 filter "dst port 7777" over 1000/second for 300ms until under 500/second for 300ms
	rule any tcp dport 7777 deny while flood
	rule 10.78.0.0/16 deny
	rule fd78::/32 deny
	rule 10.79.0.0/16 limit 1/hour burst 1 over ban 2s
	rule 10.80.0.0/16 limit 1/hour burst 1 over ban 1h
	rule @few deny
	END
}

# follow NAME ARG…: a follower in the background until the test ends; JSON in $TMP/NAME, the rest in $TMP/NAME.err.
follow() {
	local name=$1
	shift
	: >"$TMP/$name"
	bg into "$TMP/$name" "$RLCTL" -n "$(ns B)" events --follow -j "$@"
	FOLLOWER=$BG_PID
}

# told FILTER: the follower has told of such an event.
told() { jq -ces "map(select($1)) | first // error(\"no such event\")" <"$TMP/events"; }

soon() { eventually 5 told "$1"; }

sent() { flood A --count "${COUNT:-1000}" --rate 1000 "$@" >&2; }

# ---- packets

test_waits() {
	eventually 5 grep -q 'nothing is attached: waiting' "$TMP/events.err"
}

test_attach() {
	rl B attach veth-B --policy "$TMP/policy" && soon '.event == "attach" and .device == "veth-B" and .hook == "xdp"'
}

# Packets that pass find nobody watching.
test_peace() { COUNT=50 sent --src 10.90.0.1 && sleep 0.3 && watch_board veth-B-xdp '.on == 0'; }

# A flood puts two alarms on, of which one asks for what no header tells. Each is told with what its own packets have in
# common, not with the others that come beside them; then the rule behind it drops.
RULE='any tcp dport 7777 deny while flood'
test_alarm_on() {
	local other
	flood A --seconds 2 --rate 2000 --src 10.81.9.9 --dport 5 >/dev/null &
	other=$!
	flood A --seconds 2 --rate 4000 --src 10.81.0.0/31 --proto tcp-syn --sport 1234 --dport 7777 --size 90 >&2 && wait "$other" || return
	# shellcheck disable=SC2016 # of jq
	soon ".event == \"drops-begin\" and .rule == \"$RULE\"" && json -s '
		def same: .rate.packets > 1000 and (.sources | map(.address) | sort == ["10.81.0.0", "10.81.0.1"]) and
			(.sources | all(.[]; .share > 0.3 and .share < 0.7 and .rate > 300)) and
			.common == {"port": [{"value": "tcp/7777", "share": 1}], "sport": [{"value": "tcp/1234", "share": 1}],
				"length": [{"value": 76, "share": 1}], "ttl": [{"value": 64, "share": 1}], "flags": [{"value": "syn", "share": 1}]} and
			.patterns == [{"pattern": "tcp/7777 flags syn length 64-95 ttl 64-79", "match": "tcp dport 7777 flags syn length 64-95 ttl 64-79",
				"from": "10.81.0.0/16", "share": 1}];
		map(select(.alarm or .rule == $rule) | {event, alarm, rule, same: same}) | .[:3] | sort_by(.event, .alarm) == [
			{event: "alarm-on", alarm: "deep", rule: null, same: true},
			{event: "alarm-on", alarm: "flood", rule: null, same: true},
			{event: "drops-begin", alarm: null, rule: $rule, same: true}]' --arg rule "$RULE" <"$TMP/events" &&
		told '.alarm == "flood" and (.text | test("^alarm flood is on, at [0-9,]+ packets a second: the shop$"))'
}
# Without packets, and in this order.
test_alarm_off() {
	soon '.event == "alarm-off" and .alarm == "flood"' && soon '.event == "alarm-off" and .alarm == "deep"' &&
		json -s 'map(select(.alarm == "flood")) | map(.event) == ["alarm-on", "alarm-off"] and .[0].time < .[1].time and
			(.[1] | has("common") or has("sources") | not)' <"$TMP/events" && ! told ".event == \"drops-end\"" 2>/dev/null
}
test_alarm_drops_end() {
	eventually 20 told ".event == \"drops-end\" and .rule == \"$RULE\" and .dropped.packets > 1000" &&
		is "$(told ".event == \"drops-end\" and .rule == \"$RULE\"" | jq .dropped.packets)" \
			"$(rule_stat B "$RULE" .dropped.packets)"
}

# No rule drops them: IPv4 headers that say they have 16 bytes.
malformed_send() {
	in_ns A python3 -c 'import socket, time
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("veth-A", 0))
for _ in range(50):
    wire.send(b"\2" * 12 + b"\x08\0" + b"\x44" + bytes(45))
    time.sleep(0.01)'
}
test_malformed() {
	malformed_send && soon '.event == "drops-begin" and .reason == "malformed" and .rate.packets > 10 and
		(has("rule") or has("sources") or has("common") | not) and (.text | contains("malformed packets"))'
}
test_malformed_end() {
	eventually 20 told '.event == "drops-end" and .reason == "malformed" and .dropped == {"packets": 50, "bytes": 3000}'
}

test_drops() {
	COUNT=700 sent --src 10.78.1.2 --proto tcp-syn --sport 1234 --dport 443 --size 90 &&
		soon '.event == "drops-begin" and .rule == "10.78.0.0/16 deny"' || return
	told '.event == "drops-begin" and .rule == "10.78.0.0/16 deny" and
		(.text | contains("10.78.0.0/16 deny")) and .rate.packets > 100 and .rate.bytes > 9000 and
		(.sources | length == 1 and .[0].address == "10.78.1.2" and .[0].share == 1 and .[0].rate > 100) and
		.common == {"port": [{"value": "tcp/443", "share": 1}], "sport": [{"value": "tcp/1234", "share": 1}],
			"length": [{"value": 76, "share": 1}], "ttl": [{"value": 64, "share": 1}], "flags": [{"value": "syn", "share": 1}]}'
}

test_drops_v6() {
	sent --src 10.78.0.0/16 --sport 53 --dport 9999 --size 900 && sent --src fd78::9 --dport 53 --size 200 &&
		soon '.event == "drops-begin" and .rule == "fd78::/32 deny" and .sources[0].address == "fd78::/64" and
		.sources[0].share == 1 and .common.port == [{"value": "udp/53", "share": 1}] and .common.length == [{"value": 186, "share": 1}] and
		(.common | has("flags") | not)'
}

# The other packets of the rule came from many sources: none of those is told.
test_drops_end() {
	eventually 20 told '.event == "drops-end" and .rule == "10.78.0.0/16 deny" and .dropped == {"packets": 1700, "bytes": 963000} and
		.rate.packets > 10 and (.sources | length == 1 and (.[0] | .address == "10.78.1.2" and .share > 0.3 and .share < 0.5)) and
		([.common.port[].value] == ["udp/9999", "tcp/443"]) and ([.common.sport[].value] == ["udp/53", "tcp/1234"]) and
		([.common.length[].value] == [886, 76]) and (.common.ttl == [{"value": 64, "share": 1}]) and
		(.common.flags | length == 1 and .[0].value == "syn" and .[0].share > 0.3 and .[0].share < 0.5)' &&
		eventually 10 told '.event == "drops-end" and .rule == "fd78::/32 deny" and .dropped.packets == 1000' || return
	is "$(jq -s 'map(select(.event == "drops-begin" and (.rule // "" | endswith("deny")))) | length' <"$TMP/events")" 2
}

# A single packet of a rule that drops tells nothing.
test_single() { ! told '.rule == "@few deny"' 2>/dev/null; }

test_ban() {
	COUNT=100 sent --src 10.79.1.2 --dport 53 &&
		soon '.event == "ban-begin" and .key == "10.79.1.2" and (.rule | startswith("10.79.0.0/16 limit 1/hour")) and
		.until > .time and .sources[0].address == "10.79.1.2" and .common.port[0].value == "udp/53"' &&
		eventually 10 told '.event == "ban-end" and .key == "10.79.1.2" and .time >= .until and (.text | contains("ended"))'
}

test_forgiven() {
	COUNT=3 sent --src 10.80.200.1 && soon '.event == "ban-begin" and .key == "10.80.200.1"' && rl B source forgive 10.80.200.1 &&
		soon '.event == "ban-end" and .key == "10.80.200.1" and (.text | contains("forgiven"))'
}

# ---- changes

test_apply() {
	rl B rule add 10.99.0.0/16 deny && soon '.event == "apply" and .rule == "10.99.0.0/16 deny" and .prefix == "10.99.0.0/16" and
			.user == "root" and .text == "rule added by root: 10.99.0.0/16 deny"' &&
		rl B apply "$TMP/policy" -y && soon '.event == "apply" and (.text | startswith("rule removed by root: 10.99.0.0/16"))' &&
		sleep 1 && is "$(grep -c '"apply"' "$TMP/events")" 2
}

# Members are none of the policy.
test_set_full() {
	local before
	before=$(grep -c '"apply"' "$TMP/events")
	expect_fail rl B set add few 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 && COUNT=1 sent --src 192.0.2.1 &&
		soon '.event == "set-full" and .set == "few" and (.text | contains("2 not added"))' && sleep 0.3 &&
		is "$(grep -c '"apply"' "$TMP/events")" "$before"
}

# A ban by a set is an event: who, which members. All that come at once are one.
test_members() {
	rl B set del few 192.0.2.1 && soon '.event == "set-del" and .set == "few" and .user == "root" and .count == 1 and
			.members == ["192.0.2.1"] and .text == "192.0.2.1 deleted from set few by root"' &&
		rl B set add few 192.0.2.9 for 1h && soon '.event == "set-add" and .members == ["192.0.2.9"] and .text == "192.0.2.9 added to set few by root"' &&
		rl B set flush few && soon '.event == "set-del" and .count == 3 and .members == [] and .text == "3 members deleted from set few by root"' &&
		expect_fail rl B set add few 192.0.2.9 192.0.2.10 192.0.2.11 192.0.2.12 &&
		soon '.event == "set-add" and .count == 3 and .members == ["192.0.2.9", "192.0.2.10", "192.0.2.11"]' &&
		rl B set flush few && sleep 0.3 && is "$(grep -c '"set-add"' "$TMP/events")" 3
}

test_trial() {
	local before
	before=$(grep -c '"apply"' "$TMP/events")
	expect_fail rl B apply --try 1s "$TMP/other" && soon '.event == "trial-undone" and .device == "veth-B" and .user == "root" and
			.text == "not confirmed: the previous policy is in force again"' || return
	# That of the command, and that of the policy that came back, which no command wrote.
	eventually 5 applied_twice "$before" && sleep 1 && applied_twice "$before"
}
applied_twice() { is "$(grep -c '"apply"' "$TMP/events")" $(($1 + 2)); }

test_fleet() {
	local redis agent
	bg redis-server --port 0 --unixsocket "$TMP/redis" --dir "$TMP" --save ''
	redis=$BG_PID && eventually 5 test -S "$TMP/redis" &&
		STATE_DIRECTORY=$TMP bg rl B fleet join --name f --redis "unix://$TMP/redis" || return
	agent=$BG_PID
	soon '.event == "fleet-joined" and (.text | contains("fleet f joined"))' && kill -KILL "$redis" &&
		soon '.event == "fleet-lost" and (.text | contains("Redis does not answer"))' && kill "$agent"
}

# ---- a flood of bans: all are told or counted

bans_told() { jq -s 'map(if .event == "ban-begin" then 1 else .of["ban-begin"] // 0 end) | add' <"$TMP/events"; }
bans() { rl B source list --banned -j | json '.states | length'; }
all_counted() { # BEFORE
	is "$(($(bans_told) - $1))" "$(bans)"
}

test_flood() {
	local before memory
	before=$(bans_told) && memory=$(memory_of "$FOLLOWER")
	flood A --count 60000 --src 10.80.0.0/17 --sequential >&2 || return
	between "$(bans)" 20000 32768 && eventually 10 all_counted "$before" || return
	told '.event == "lost" and .device == "veth-B" and .count > 1000 and .count == ([.of[]] | add) and (.text | contains("ban-begin"))' &&
		between "$(jq -s 'map(select(.event == "ban-begin")) | length' <"$TMP/events")" 1 400 &&
		between "$(memory_of "$FOLLOWER")" 1 $((memory + 4096))
}
memory_of() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

# ---- the past

past() { rl B events -j "$@" | jq -cs .; }

# The journal has all that the follower saw, and the attach that the command wrote; nothing twice.
test_past() {
	local all
	all=$(past) && json 'map(.event) | contains(["attach", "apply", "set-full", "trial-undone", "alarm-on", "alarm-off", "drops-begin", "drops-end", "ban-begin", "ban-end", "lost"])' <<<"$all" &&
		json 'map(select(.event == "attach")) | length == 1' <<<"$all" &&
		json 'map(select(.event == "drops-begin" and .rule == "fd78::/32 deny")) | length == 1' <<<"$all" &&
		json '(map(.time) | . == sort) and (map(select(.event == "ban-begin")) | length > 1000 and length < 1500)' <<<"$all"
}

# The options leave some of it.
test_only() {
	local all
	# shellcheck disable=SC2016 # of jq
	json 'length > 3 and (map(.event) | unique) == ["drops-begin", "drops-end"]' <<<"$(past --only drops)" &&
		json '(map(.event) | unique) == ["apply", "attach", "trial-undone"]' <<<"$(past --only changes)" &&
		json 'map(.event) == ["set-full"]' <<<"$(past --only set-full)" && all=$(past --only drops,alarm-on) &&
		json --argjson all "$all" '. == $all[-2:]' <<<"$(past --only drops,alarm-on --count 2)" &&
		json --argjson all "$all" '. == ($all | map(select(.time >= $all[2].time)))' \
			<<<"$(past --only drops,alarm-on --since "$(jq -r '.[2].time' <<<"$all")")" &&
		json --argjson all "$all" '. == $all' <<<"$(past --only drops,alarm-on --since "$(date -d '-1 hour' '+%F %T')")" &&
		json 'map(.event) | . == ["lost"] or . == []' <<<"$(past --since 1ms)" && json 'length > 1000' <<<"$(past --since 1h)" || return
	has "use drops, alarms" expect_status 2 rl B events --only drop && has 'such as 2h' expect_status 2 rl B events --since yesterday &&
		has 'about the past' expect_status 2 rl B events --follow --since 1h && has 'add --follow' expect_status 2 rl B events --keep /tmp &&
		has 'the whole path' expect_status 2 rl B events --follow --keep here &&
		has 'No such file' expect_status 1 rl B events --follow --keep "$TMP/none/here"
}

# Only so many, and only those, come to the reader; all come to the journal.
test_next() {
	rl B events --follow -j --only sets --count 2 >"$TMP/next" &
	sleep 1
	rl B rule add 10.97.0.0/16 deny && rl B set add few 192.0.2.77 && rl B rule del 10.97.0.0/16 deny && rl B set del few 192.0.2.77 && wait $! &&
		json -s 'map(.event) == ["set-add", "set-del"]' <"$TMP/next"
}

# A folder on a disk takes what is in memory, and what comes: also what commands write, and the bans apart. After a
# boot nothing is in memory, and a follower finds it again; without one, nothing is shown of another boot.
test_kept() {
	local run
	run=$(journals) && past_lines >"$TMP/before" && mkdir "$TMP/kept" && kept_start && past_lines >"$TMP/now" &&
		is "$(stat -c %a "$TMP/kept"/veth-B-xdp)" 600 && cmp "$TMP/before" "$TMP/now" && is "$(cd "$run" && compgen -G '*-xdp*' | grep -cv '[.]lock$\|[.]was.$')" 0 || return
	rl B rule add 10.96.0.0/16 deny && rl B set add few 192.0.2.66 && soon_past '.[-1].event == "set-add" and .[-2].prefix == "10.96.0.0/16"' &&
		grep -q 10.96.0.0 "$TMP/kept/veth-B-xdp" && grep -q 192.0.2.66 "$TMP/kept/veth-B-xdp.bans" && ! grep -q '"event":"ban-begin"' "$TMP/kept/veth-B-xdp" || return
	kept_stop && rl B set del few 192.0.2.66 && past_lines >"$TMP/before" && grep -q set-del "$TMP/before" &&
		rm "$run/kept" && json 'map(.event) | index("set-del") | not' <<<"$(past)" &&
		kept_start && past_lines >"$TMP/now" && cmp "$TMP/before" "$TMP/now" && rl B rule del 10.96.0.0/16 deny && kept_stop
}
kept_start() {
	bg "$RLCTL" -n "$(ns B)" events --follow --keep "$TMP/kept" -q
	KEEPER=$BG_PID && eventually 5 test -e "$(journals)/kept" && sleep 0.3
}
kept_stop() { kill "$KEEPER" && eventually 5 ended "$KEEPER"; }
past_lines() { rl B events -j | grep -v '"event":"\(ban-begin\|lost\)"'; } # but those that the maps show now
soon_past() { eventually 5 past_is "$1"; }
past_is() { past_lines | json -s "$1"; }

# Whoever begins to keep the journal repeats nothing for others; a line that was cut off swallows none; a pipe or a link in the
# place of a file holds nothing up, and what is in the other files is shown.
test_kept_hostile() {
	local run
	run=$(journals) && rm -f "$run/kept" && rl B rule add 10.95.0.0/16 deny && soon '.prefix == "10.95.0.0/16"' && mkdir "$TMP/hostile" &&
		printf '{"cut' >"$TMP/hostile/veth-B-xdp" && bg "$RLCTL" -n "$(ns B)" events --follow --keep "$TMP/hostile" -q && KEEPER=$BG_PID &&
		eventually 5 test -e "$run/kept" && sleep 1 && rl B rule del 10.95.0.0/16 deny && soon '.text | startswith("rule removed")' && sleep 1 &&
		is "$(grep -c '10.95.0.0' "$TMP/events")" 2 && soon_past '[.[] | select(.prefix == "10.95.0.0/16")] | length == 2' && kept_stop || return
	rm "$TMP/hostile/veth-B-xdp.bans" && mkfifo "$TMP/hostile/veth-B-xdp.bans" && mv "$TMP/hostile/veth-B-xdp" "$TMP/moved" && ln -s "$TMP/moved" "$TMP/hostile/veth-B-xdp" &&
		timeout 10 "$RLCTL" -n "$(ns B)" set add few 192.0.2.55 && soon '.members == ["192.0.2.55"]' && rl B set del few 192.0.2.55 &&
		rl B events --only sets --count 2 >"$TMP/past" 2>"$TMP/said" && grep -q 'veth-B-xdp: no file: past events are left out$' "$TMP/said" &&
		grep -q '192.0.2.55 added to set few by root' "$TMP/past" && mkdir -m 777 "$TMP/open" &&
		has 'others may write to it' expect_status 1 rl B events --follow --keep "$TMP/open" && ln -sfn "$TMP/kept" "$run/kept"
}

# A full disk loses nothing: events go to memory, and no line is cut.
test_kept_full() {
	local run
	run=$(journals) && mkdir "$TMP/small" && mount -t tmpfs -o size=16k,mode=700 none "$TMP/small" && rm "$run/kept" && ln -s "$TMP/small" "$run/kept" || return
	for i in {1..60}; do rl B set add few "192.0.2.$i" -q; rl B set del few "192.0.2.$i" -q; done 2>/dev/null
	json '[map(select(.event == "set-add" and (.members[0] // "" | startswith("192.0.2.")))) | .[].members[0]] | .[-60:] == [range(1; 61) | "192.0.2.\(.)"]' <<<"$(past)" &&
		is "$(tail -qc 1 "$TMP/small"/* | tr -d '\n')" '' && [[ -s $run/veth-B-xdp.bans ]]
	local status=$?
	# The next follower goes on with a disk that is full, and moves nothing twice.
	timeout --preserve-status -s INT 3 "$RLCTL" -n "$(ns B)" events --follow --keep "$TMP/small" >"$TMP/shown" 2>"$TMP/said" || status=$?
	grep -q 'No space left on device: it stays in memory' "$TMP/said" && is "$(past | jq -c '[.[] | select(.members == ["192.0.2.60"] and .event == "set-add")] | length')" 1 || status=1
	ln -sfn "$TMP/kept" "$run/kept" && umount -l "$TMP/small"
	return "$status"
}

journals() { compgen -G "/run/rlctl/$(basename "$(ns_pins B)")-*"; }
journal() { echo "/run/rlctl/$(basename "$(ns_pins B)")"-*/veth-B-xdp"$1"; }

turned() { compgen -G "/run/rlctl/$(basename "$(ns_pins B)")-*/veth-B-xdp.old"; }

test_journal() {
	# shellcheck disable=SC2046 # a pattern
	is "$(stat -c %a $(journal ''))" 600 && is "$(stat -c %a /run/rlctl)" 700 || return
	# shellcheck disable=SC2046
	head -c 300000 /dev/zero | tr '\0' x >>$(journal '') && rl B rule add 10.99.0.0/16 deny && eventually 5 turned &&
		json 'map(.event) | index("set-full")' <<<"$(past)" && rl B rule del 10.99.0.0/16
}

# Where nothing can be written, nothing fails, and what the maps prove is told.
test_read_only() {
	is "$(unshare -m bash -c 'mount -t tmpfs -o ro none /run/rlctl && "$@" rule add 10.98.0.0/16 deny &&
		"$@" rule del 10.98.0.0/16 && "$@" events -j' _ "$RLCTL" -n "$(ns B)" 2>&1 | head -1 | jq -r .event)" attach
}

test_of_other_namespace() { has 'nothing is known' rl A events && is "$(rl A events -j -q)" ''; }
test_of_other_device() { is "$(rl B events -j -q -i veth-A)" '' && json 'length > 1000 and .[0].device == "veth-B"' <<<"$(past -i 'veth*')"; }

test_people() {
	TZ=UTC rl B events >"$TMP/people" && grep -qE '^20[0-9-]{8} [0-9:.]{12} veth-B: drops-begin: a rule begins to drop: fd78::/32 deny$' "$TMP/people" &&
		grep -qE '^    from fd78::/64 100% \([0-9,]+/s\)$' "$TMP/people" &&
		grep -qx '    100% of what was dropped: udp/53 length 160-191 ttl 64-79, from fd78::/32' "$TMP/people" &&
		grep -qx '    common: port udp/53 100%; sport udp/40000 100%; length 186 100%; ttl 64 100%' "$TMP/people"
}

# ---- ends

test_detach() {
	local since
	since=$(date -u +%FT%T)
	COUNT=3000 sent --src fd78::9 & # a rule that drops at the end
	soon ".event == \"drops-begin\" and .rule == \"fd78::/32 deny\" and .time > \"$since\"" &&
		rl B set add few 192.0.2.200 && rl B detach veth-B && soon '.event == "detach"' && told '.members == ["192.0.2.200"]' && told '.event == "drops-end" and .dropped.packets < 3000 and .dropped.packets != 1000'
	local status=$?
	wait $!
	return "$status"
}

# A ban of the first packets, before a follower could look, is reported after the attach. They come until it is,
# however long the attach takes.
test_attach_again() {
	local since
	since=$(date -u +%FT%T)
	bg flood A --seconds 60 --rate 200 --src 10.79.3.3
	# shellcheck disable=SC2016 # of jq
	rl B attach veth-B --policy "$TMP/policy" && rl B set add few 192.0.2.201 && soon ".event == \"attach\" and .time > \"$since\"" &&
		soon '.members == ["192.0.2.201"]' &&
		soon '.event == "ban-begin" and .key == "10.79.3.3"' && kill -- "-$BG_PID" &&
		json -s --arg since "$since" 'map(select(.time > $since and (.event == "attach" or .key == "10.79.3.3")) | .event) |
			.[:2] == ["attach", "ban-begin"]' <"$TMP/events"
}

test_device_gone() {
	ip -n "$(ns B)" link del veth-B && soon '.event == "detach" and (.text | contains("the device is gone"))'
}

test_interrupt() {
	local status=0
	kill -INT "$FOLLOWER" && wait "$FOLLOWER" || status=$?
	is "$status" 0 && json -s 'length > 10' <"$TMP/events"
}

# It ends with its reader, though there is nothing to tell.
test_pipe() {
	rl B events --follow -q | head -c 0
	is "${PIPESTATUS[0]}" 0
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on && policy >"$TMP/policy" &&
	echo 'rule any deny' | cat "$TMP/policy" - >"$TMP/other" && follow events || exit 1
t 'it waits for an instance' test_waits
t 'attach' test_attach
t 'nobody watches in peace' test_peace
t 'alarms go on, and their rule drops' test_alarm_on
t 'alarms go off' test_alarm_off
t 'malformed packets' test_malformed
t 'drops begin, and what the packets have in common' test_drops
t 'drops of IPv6' test_drops_v6
t 'a ban' test_ban
t 'a ban that is forgiven' test_forgiven
t 'apply' test_apply
t 'a full set' test_set_full
t 'members of a set' test_members
t 'a single packet tells nothing' test_single
t 'a trial that is undone' test_trial
t 'a fleet' test_fleet
t 'drops end' test_drops_end
t 'malformed packets end' test_malformed_end
t 'drops by the rule of an alarm end' test_alarm_drops_end
t 'a flood of bans is counted' test_flood
t 'the past' test_past
t 'some of the past' test_only
t 'the next events' test_next
t 'the journal' test_journal
t 'a journal that is kept' test_kept
t 'a journal on a full disk' test_kept_full
t 'a folder with other things' test_kept_hostile
t 'a journal that cannot be written' test_read_only
t 'of another namespace' test_of_other_namespace
t 'of another device' test_of_other_device
t 'lines for people' test_people
t 'detach' test_detach
t 'a ban of the first packets' test_attach_again
t 'the device goes' test_device_gone
t 'SIGINT ends it' test_interrupt
t 'its reader ends it' test_pipe
