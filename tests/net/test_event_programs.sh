#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The programs for events that the package brings, run by `rlctl events --exec` and each with its real receiver: mail by
# msmtp to an SMTP server, posts to an HTTP server, lines in a journald, and blackholes by exabgp at a BIRD upstream.
# B is limited and has the senders, A is the network upstream. check: timeout 400, check: beside
source "$(dirname "$0")/../lib.sh"

PROGRAMS=$TMP/events
chmod 711 "$TMP" && cp -r "$TOP/scripts/events" "$PROGRAMS" || exit 1

# ---- senders and receivers

# in_b CMD…: in namespace B and with a /run and a journal of their own.
in_b() { nsenter --net --mount --root --target "$HOLDER" --wd="$TMP" "$@"; }

holder_start() {
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B unshare --mount --propagation private sh -c 'mount -t tmpfs -o mode=755 tmpfs /run &&
		mount -t tmpfs tmpfs /etc/systemd && echo $$ >"$1" && exec sleep 600' _ "$TMP/holder"
	eventually 5 test -s "$TMP/holder" && HOLDER=$(<"$TMP/holder")
}

listens() { in_b ss -Hltn "sport = :$1" | grep -q "$1"; }

receivers_start() {
	bg in_b /usr/bin/python3 "$TOP/tests/net/event_receivers.py" "$TMP"
	printf '%s\n' 'account default' 'host 127.0.0.1' 'port 2525' 'from rlctl@b.example' >"$TMP/msmtprc"
	eventually 10 listens 2525 && eventually 10 listens 8080
}

journald_start() {
	printf '%s\n' '[Journal]' Storage=volatile Audit=no ReadKMsg=no ForwardToWall=no | in_b tee /etc/systemd/journald.conf
	in_b mkdir -p /run/systemd/journal && bg in_b /lib/systemd/systemd-journald
	eventually 10 in_b test -S /run/systemd/journal/socket
}

bird_start() {
	cat >"$TMP/bird.conf" <<-'END'
		router id 10.77.0.1;
		protocol device {}
		flow4 table fl4;
		flow6 table fl6;
		protocol bgp four {
			local 10.77.0.1 as 65000; neighbor 10.77.0.2 as 65001; passive;
			ipv4 { import all; export none; };
			flow4 { table fl4; import all; export none; };
		}
		protocol bgp six {
			local fd77::1 as 65000; neighbor fd77::2 as 65001; passive;
			ipv6 { import all; export none; };
			flow6 { table fl6; import all; export none; };
		}
	END
	bg in_ns A bird -f -c "$TMP/bird.conf" -s "$TMP/bird.ctl" -P "$TMP/bird.pid"
}

# As its unit does.
exabgp_start() {
	cat >"$TMP/exabgp.conf" <<-'END'
		neighbor 10.77.0.1 { router-id 10.77.0.2; local-address 10.77.0.2; local-as 65001; peer-as 65000; family { ipv4 unicast; ipv4 flow; } }
		neighbor fd77::1 { router-id 10.77.0.2; local-address fd77::2; local-as 65001; peer-as 65000; family { ipv6 unicast; ipv6 flow; } }
	END
	in_b install -d -o exabgp -g exabgp -m 750 /run/exabgp && in_b setpriv --reuid exabgp --regid exabgp --clear-groups \
		mkfifo /run/exabgp/exabgp.in /run/exabgp/exabgp.out || return
	bg in_b setpriv --reuid exabgp --regid exabgp --clear-groups env exabgp_daemon_daemonize=false exabgp "$TMP/exabgp.conf"
}

birdc() { command birdc -s "$TMP/bird.ctl" "$@"; }
established() { is "$(birdc show protocols | grep -c Established)" 2; }
peers() { bird_start && exabgp_start && eventually 20 established; }

# follow PROGRAM OPTION…: rlctl runs it for the events of veth-B.
follow() { bg in_b "$RLCTL" events --follow -i veth-B --exec "$PROGRAMS/$1" "${@:2}"; }

# A fifth one says what it has: no descriptor of a map, no capability, its arguments as they are.
mine_write() {
	# shellcheck disable=SC2016 # for the program
	printf '%s\n' '#!/bin/sh' 'ls -l /proc/$$/fd' 'echo "mine: $# $1, $(id -un)," $(grep CapPrm /proc/self/status)' \
		>"$PROGRAMS/mine" && chmod 755 "$PROGRAMS/mine"
}

follow_all() {
	mine_write && follow mine -- 'two  words' --follow &&
		follow mail -- --only attach,ban-begin --from rlctl@b.example --sendmail "msmtp -C $TMP/msmtprc" noc@a.example &&
		EVENT_WEBHOOK_URL="http://127.0.0.1:8080/hook?a=\"b\\" EVENT_WEBHOOK_HEADER='Authorization: Bearer "s"' follow webhook &&
		follow journal && follow exabgp --user exabgp -- --allow 10.77.0.0/24 --allow fd77::/48 &&
		eventually 60 prints 5 grep -c 'nothing is attached to veth-B: waiting' "$TMP/bg"
}

# ---- what arrives for events that happen

last() { tail -n 1 "$TMP/$1" | json "${@:2}"; }
count() { [[ ! -e $TMP/$1 ]] || wc -l <"$TMP/$1"; }

test_attach() {
	echo 'rule any icmp limit 5/second burst 5 per dest over ban 20s
		rule any icmp6 icmp-type echo-request limit 5/second burst 5 per dest over ban 20s' |
		rl B attach veth-B --policy -
}

test_mine() {
	eventually 5 grep -xF 'mine: 2 two  words, nobody, CapPrm: 0000000000000000' "$TMP/bg" && grep -qF '/memfd:event' "$TMP/bg" &&
		expect_fail grep -F anon_inode "$TMP/bg"
}

mailed() { is "$(last mail.jsonl .event[0].event)" "$1"; }
test_mail() {
	eventually 10 mailed attach &&
		is "$(last mail.jsonl '.to[0], .from, .header, .auto, .event[0].device')" \
			$'noc@a.example\nrlctl@b.example\nnoc@a.example\nauto-generated\nveth-B' &&
		is "$(last mail.jsonl .subject)" "$(uname -n) veth-B: attach: $(last mail.jsonl .event[0].text)" &&
		has "hook: xdp" last mail.jsonl .text && last mail.jsonl '.longest <= 998'
}

posted() { jq -e --arg event "$1" 'select(.body | fromjson | .event == $event)' "$TMP/web.jsonl"; }
# As one line, and what is in the environment is not seen by others.
test_webhook() {
	eventually 10 posted attach && is "$(last web.jsonl '.path, .type, .authorization')" \
		$'/hook?a="b\\\napplication/json\nBearer "s"' && last web.jsonl '.body | test("^{.*}\n$")'
}

logged() { in_b journalctl -q -D /run/log/journal -t rlctl-events "RLCTL_EVENT=$1" -o json | tail -n 1 | grep .; }
test_journal() {
	local line
	eventually 10 logged attach && line=$(logged attach) &&
		is "$(json '.MESSAGE | .[:16]' <<<"$line") $(json .PRIORITY,.RLCTL_DEVICE,._UID <<<"$line" | xargs)" \
			"veth-B: attach:  5 veth-B $(id -u nobody)" && json '.RLCTL_JSON | fromjson | .event == "attach"' <<<"$line"
}

# blackholes WANTED: the prefixes that BIRD has with the community BLACKHOLE, sorted.
blackholes() {
	is "$(birdc show route all where '(65535,666) ~ bgp_community' | grep -oE '^[0-9a-f.:]+/[0-9]+' | sort -u | xargs)" "$1"
}

# A flood of both families bans their destinations; the bans end, and so do the routes.
test_exabgp() {
	in_ns A ping -q -f -c 30 -W 1 10.77.0.2
	in_ns A ping -q -f -c 30 -W 1 fd77::2
	eventually 10 blackholes '10.77.0.2/32 fd77::/64' && eventually 10 mailed ban-begin && eventually 40 blackholes ''
}

# ---- refused

# refused STATUS TEXT OPTION…: before anything is followed.
refused() { has "$2" expect_status "$1" rl B events "${@:3}"; }
test_refused() {
	refused 2 'add --follow' --exec sh && refused 2 'add --exec PROGRAM' --follow -- x &&
		refused 2 '--user without --exec' --follow --user root && refused 2 'from 1 to 64' --follow --exec sh --exec-max 65 &&
		refused 2 'from 100ms to 1h' --follow --exec sh --exec-timeout 1ms && refused 1 'No such file' --follow --exec /no/such &&
		refused 1 'user nobody may not execute it' --follow --exec /etc/passwd &&
		refused 1 "unknown user 'no-such'" --follow --exec sh --user no-such
}

# ---- each by itself, for what would take long to happen

# event EVENT [MEMBERS [SECOND]]: an event for `give`, so long after BEGUN. The program forgets an end a minute later.
BEGUN=$(date +%s)
event() {
	printf '{"time":"%s","event":"%s","device":"eth0","hook":"xdp"%s,"text":"a flood"}' \
		"$(date -u -d "@$((BEGUN + ${3:-0}))" +%Y-%m-%dT%H:%M:%S.123Z)" "$1" "${2:+,$2}" >"$TMP/event"
}

# give USER PROGRAM ARG…: as rlctl runs it.
give() {
	in_b timeout 10 setpriv --reuid "$1" --regid "$(id -g "$1")" --clear-groups --no-new-privs \
		env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "RLCTL_EVENT=$(jq -r '.event? // empty' <"$TMP/event")" \
		RLCTL_DEVICE=eth0 RLCTL_TEXT='a flood' "$PROGRAMS/$2" "${@:3}" <"$TMP/event"
}

# Errors are the exit status, which rlctl tells.
test_mail_refused() {
	event lost '"count":7' && expect_status 2 give nobody mail && has EVENT_MAIL_TO expect_fail give nobody mail &&
		give nobody mail --only alarm-on x@a.example && expect_fail give nobody mail --sendmail /no/such x@a.example &&
		expect_fail give nobody mail --smtp 127.0.0.1:1 x@a.example && mailed ban-begin &&
		give nobody mail --smtp 127.0.0.1:2525 x@a.example && mailed lost && is "$(last mail.jsonl .to[0])" x@a.example
}

test_webhook_refused() {
	event lost && expect_fail give nobody webhook && has EVENT_WEBHOOK_URL expect_fail give nobody webhook &&
		expect_status 22 give nobody webhook http://127.0.0.1:8080/refuse &&
		expect_status 28 give nobody webhook http://127.0.0.1:8080/slow --max-time 1 &&
		expect_fail give nobody webhook file:///etc/passwd
}

# The list of processes does not show the URL that is in the environment.
test_webhook_secret() {
	bg in_b env EVENT_WEBHOOK_URL=http://127.0.0.1:8080/slow RLCTL_EVENT=lost "$PROGRAMS/webhook" --max-time 3
	eventually 5 has 'curl --silent' curl_words && expect_fail has 8080 curl_words
}
curl_words() { tr '\0' ' ' <"/proc/$(pgrep -P "$BG_PID")/cmdline"; }

# alerts FILTER: of the alert that was posted last, what an event makes of --victim.
alerts() { last web.jsonl ".body | fromjson | $1"; }
notify() { give nobody alertmanager --victim udp_flood=203.0.113.7 "$@" -- http://127.0.0.1:8080/alert; }
test_alertmanager() {
	local firing
	event alarm-on '"alarm":"udp_flood","rate":{"packets":12345}' && notify && is "$(last web.jsonl .path)" /alert &&
		alerts '.version == "4" and .status == "firing" and (.alerts | length) == 1 and .alerts[0].endsAt == "0001-01-01T00:00:00Z"' &&
		is "$(alerts '.alerts[0] | "\(.labels.victim_ip) \(.labels.vector) \(.labels.severity) \(.annotations.pps) \(.annotations.bps)"')" \
			'203.0.113.7 udp_flood warning 12345 null' && firing=$(alerts '.alerts[0].fingerprint') &&
		event alarm-off '"alarm":"udp_flood","rate":{"packets":1}' 5 && notify &&
		alerts ".status == \"resolved\" and .alerts[0].endsAt == \"$(json .time <"$TMP/event")\" and .alerts[0].fingerprint == \"$firing\"" &&
		event alarm-on '"alarm":"line","rate":{"bytes":1000}' && notify --severity critical &&
		is "$(alerts '.alerts[0] | "\(.labels.victim_ip) \(.labels.vector) \(.labels.severity) \(.annotations.bps)"')" 'null unknown critical 8000' &&
		event ban-begin '"rule":"any limit 1/second per dest over ban 1h","key":"203.0.113.9"' && notify &&
		is "$(alerts '.alerts[0].labels | "\(.alertname) \(.victim_ip)"')" 'RlctlBan 203.0.113.9' &&
		event ban-begin '"rule":"any limit 1/second over ban 1h","key":"198.51.100.9"' && notify && is "$(alerts '.alerts[0].labels.victim_ip')" null &&
		firing=$(count web.jsonl) && event apply && notify && is "$(count web.jsonl)" "$firing" && event lost && sed -i 's/,"text.*//; s/lost/alarm-on/' "$TMP/event" &&
		has 'no event of rlctl' expect_status 1 notify && event alarm-on '"alarm":"a"' && expect_status 22 give nobody alertmanager -- http://127.0.0.1:8080/refuse
}

# blackhole ARG…: the victims of the alarms a and b.
blackhole() { give exabgp exabgp --allow 10.77.0.0/24 --victim a=10.77.0.7 --victim b=10.77.0.7 --victim c=10.77.0.9 "$@"; }

# Two causes, the last of which withdraws; an end that overtook its begin holds.
test_alarms() {
	BEGUN=$(date +%s)
	event alarm-on '"alarm":"a"' 1 && blackhole && event alarm-on '"alarm":"b"' 2 && blackhole &&
		eventually 10 blackholes 10.77.0.7/32 && event alarm-off '"alarm":"a"' 4 && blackhole && event alarm-on '"alarm":"a"' 3 &&
		blackhole && event alarm-on '"alarm":"c"' 5 && blackhole && eventually 10 blackholes '10.77.0.7/32 10.77.0.9/32' &&
		event alarm-off '"alarm":"b"' 6 && blackhole && eventually 10 blackholes 10.77.0.9/32 &&
		event detach && blackhole && eventually 10 blackholes ''
}

announced() { in_b jq '[.[] | select(any(.on))] | length' /run/exabgp/rlctl-blackholes.json; }

# not_announced TEXT KEY [RULE [ARG…]]: a ban of that key announces nothing, and the program says TEXT.
not_announced() {
	event ban-begin "\"rule\":\"${3:-any udp limit 1/second per dest over ban 1h}\",\"key\":\"$2\""
	has "$1" blackhole "${@:4}" 2>&1
}

# Whoever forges sources chooses a key, but not what is dropped: that of another limit, what is not one's own, more than a
# host, and more than --max of them.
test_never() {
	not_announced '' 10.77.0.66 'any udp limit 1/second over ban 1h' &&
		not_announced '' 10.77.0.66 'any udp limit 1/second per source+dest over ban 1h' &&
		not_announced 'not within --allow' 198.51.100.66 && not_announced 'not within --allow' 2001:db8::/64 &&
		not_announced 'more than one host' 10.77.0.0/24 'any udp limit 1/second per dest/24 over ban 1h' &&
		event alarm-on '"alarm":"other"' && blackhole && is "$(announced)" 0 || return
	event ban-begin '"rule":"any limit 1/second per dest over ban 1h","key":"10.77.0.1"' && blackhole --max 1 &&
		event ban-begin '"rule":"any limit 1/second per dest over ban 1h","key":"10.77.0.2"' &&
		has '1 are (--max)' expect_fail blackhole --max 1 && eventually 10 blackholes 10.77.0.1/32
}

# By its time, if the end of a ban was not told; by hand; and a state that cannot be announced is not kept.
test_withdrawn() {
	event ban-begin '"rule":"any limit 1/second per dest over ban 1h","key":"10.77.0.3","until":"2026-01-01T00:00:00.000Z"' &&
		blackhole && event apply && blackhole && eventually 10 blackholes 10.77.0.1/32 && give exabgp exabgp --clear &&
		eventually 10 blackholes '' && event alarm-on '"alarm":"a"' &&
		has 'No such file' expect_fail blackhole --pipe /run/exabgp/none && is "$(announced)" 0
}

# cut SIZE: a state that was not written to its end, with two victims announced.
cut() {
	event alarm-on '"alarm":"a"' 1 && blackhole && event alarm-on '"alarm":"c"' 1 && blackhole &&
		eventually 10 blackholes '10.77.0.7/32 10.77.0.9/32' && in_b truncate -s "$1" /run/exabgp/rlctl-blackholes.json
}

# Whatever is called next withdraws what it finds in it, and goes on.
test_cut() {
	cut 40 && has 'cannot be read' give exabgp exabgp --clear && eventually 10 blackholes 10.77.0.9/32 &&
		cut 180 && event alarm-off '"alarm":"b"' 2 && has 'cannot be read' blackhole && eventually 10 blackholes '' &&
		is "$(announced)" 0 && in_b test -s /run/exabgp/rlctl-blackholes.json.bad && event alarm-on '"alarm":"a"' 3 && blackhole &&
		eventually 10 blackholes 10.77.0.7/32 && echo '[7]' | in_b tee /run/exabgp/rlctl-blackholes.json &&
		event apply && has 'cannot be read' blackhole && give exabgp exabgp --clear &&
		echo 'withdraw route 10.77.0.7/32 next-hop self' | in_b tee /run/exabgp/exabgp.in && eventually 10 blackholes ''
}

# exabgp stands still, and its pipe is full: a withdrawal waits for some seconds, and then the state is as before.
test_full_pipe() {
	in_b mkfifo -m 666 "$TMP/full" && exec 9<>"$TMP/full" && event alarm-on '"alarm":"a"' 1 && blackhole --pipe "$TMP/full" \
		--state /run/exabgp/full.json && timeout 1 cat /dev/zero >&9
	event alarm-off '"alarm":"a"' 2
	(sleep 2 && timeout 1 cat <&9 >"$TMP/drained") &
	blackhole --pipe "$TMP/full" --state /run/exabgp/full.json && wait "$!"
	timeout 1 cat <&9 >>"$TMP/drained"
	exec 9>&-
	is "$(in_b jq '[.[] | select(any(.on))] | length' /run/exabgp/full.json)" 0 && grep -aq 'withdraw route 10.77.0.7/32' "$TMP/drained"
}

# sync: with the alarms of B as they are now.
sync() { rl B status -j >"$TMP/event" && blackhole --sync; }
c_is_on() { rl B status -j | json '.[0].alarms[0].on'; }

# Nobody told that an alarm is over, or gone with its device, nor that one went on; and exabgp may have lost its routes.
test_sync() {
	printf '%s\n' 'alarm c when icmp over 20/second for 100ms until under 10/second for 1h' 'rule any esp deny' |
		rl B apply - -q &&
		event alarm-on '"alarm":"a"' 1 && blackhole && sed -i 's/eth0/veth-B/; s/"a"/"b"/' "$TMP/event" && blackhole &&
		eventually 10 blackholes 10.77.0.7/32 && sync && eventually 10 blackholes '' || return
	in_ns A ping -q -f -c 100 -W 1 10.77.0.2
	eventually 5 c_is_on && sync && eventually 10 blackholes 10.77.0.9/32 || return
	echo 'withdraw route 10.77.0.9/32 next-hop self' | in_b tee /run/exabgp/exabgp.in && eventually 10 blackholes '' &&
		sync && eventually 10 blackholes 10.77.0.9/32 && echo nothing >"$TMP/event" && expect_fail blackhole --sync &&
		is "$(announced)" 1 && rl B apply - -q <<<'rule any esp deny' && sync && eventually 10 blackholes ''
}

# ---- FlowSpec

flow() { blackhole --flowspec 100000 "$@"; }
# common MATCH SHARE [SPORT [SHARE]]: members of an event.
common() { echo "\"patterns\":[{\"match\":\"udp dport 1\",\"share\":0.1},{\"match\":\"$1\",\"share\":$2}],\"common\":{\"sport\":[{\"value\":\"udp/${3:-1}\",\"share\":${4:-0.1}}]}"; }
# flows WANTED: the routes that BIRD has, and their rates.
flows() {
	is "$({ birdc show route table fl4 all && birdc show route table fl6 all; } |
		grep -oE '^flow[46] \{[^}]*|generic, 0x80060?[0-9a-f]*, 0x[0-9a-f]+' | sed 's/ *$//; s/generic, 0x8006.*, /rate /' | paste -sd' ')" "$1"
}
dns() { event alarm-on "\"alarm\":\"$1\",$(common 'udp dport 27015 length 64-95 ttl 64-79' 0.97 53 1)" "${2:-1}"; }

# The same flood by two alarms, of which the last withdraws; another flood takes the place of the former.
test_flow() {
	BEGUN=$(date +%s)
	dns a && flow && dns b 2 && flow && eventually 10 flows "$DNS" && event alarm-off '"alarm":"a"' 3 && flow && flows "$DNS" &&
		event alarm-on "\"alarm\":\"b\",$(common 'tcp dport 80 flags syn' 0.6)" 4 && flow --flowspec 0 &&
		eventually 10 flows 'flow4 { dst 10.77.0.7/32; proto 6; dport 80; tcp flags 0x2/0x2 && 0x0/0x1 && 0x0/0x4 && 0x0/0x8 && 0x0/0x10 && 0x0/0x20; rate 0x0' &&
		event alarm-off '"alarm":"b"' 5 && flow && eventually 10 flows ''
}
DNS='flow4 { dst 10.77.0.7/32; proto 17; dport 27015; sport 53; length 64..95; rate 0x47c35000'

test_flow_ipv6() {
	event alarm-on "\"alarm\":\"v6\",$(common 'icmp6 length 64-95' 1)" && flow --allow fd77::/64 --victim v6=fd77::7/128 &&
		eventually 10 flows 'flow6 { dst fd77::7/128; next header 58; length 64..95; rate 0x47c35000' && give exabgp exabgp --flowspec 1 --clear &&
		eventually 10 flows ''
}

# An end that overtook its begin holds; nothing in common, too few, or known sources: nothing is announced.
test_flow_never() {
	BEGUN=$(date +%s)
	event alarm-off '"alarm":"a"' 2 && flow && dns a 1 && flow && event alarm-on '"alarm":"b"' && has 'no pattern has half' expect_status 1 flow &&
		event alarm-on "\"alarm\":\"b\",$(common 'udp dport 9' 0.4)" && has 'no pattern has half' expect_status 1 flow &&
		event alarm-on '"alarm":"b","patterns":[{"match":"udp dport 9","share":0.9,"known":0.3}]' && expect_status 1 flow &&
		event ban-begin '"rule":"any limit 1/second per dest over ban 1h","key":"10.77.0.1"' && flow && flows '' &&
		event alarm-on '"alarm":"b","patterns":7' && has 'no event of rlctl' expect_status 1 flow && has 'write bytes' expect_status 2 flow --flowspec x
}

# An alarm that is on is announced again, one that is over withdrawn; also from a state that was cut.
test_flow_sync() {
	rl B apply - -q <<<'rule any esp deny' && give exabgp exabgp --flowspec 1 --clear && dns a 9 && sed -i 's/eth0/veth-B/' "$TMP/event" && flow && eventually 10 flows "$DNS" &&
		rl B status -j >"$TMP/event" && flow --sync && eventually 10 flows '' && dns a 10 && flow && eventually 10 flows "$DNS" &&
		in_b sh -c 'head -c 150 /run/exabgp/rlctl-flowspec.json >/run/exabgp/cut && cat /run/exabgp/cut >/run/exabgp/rlctl-flowspec.json' &&
		has 'cannot be read' give exabgp exabgp --flowspec 1 --clear && eventually 10 flows ''
}

# exabgp refuses, or does not answer: nothing is kept.
test_not_acknowledged() {
	event alarm-on '"alarm":"a"' 20 && has 'exabgp refuses: announce route 10.77.0.7/32' expect_status 1 blackhole --next-hop nonsense &&
		in_b mkfifo -m 666 "$TMP/deaf.in" "$TMP/deaf.out" && exec 9<>"$TMP/deaf.in" || return
	has 'exabgp has not acknowledged within 5 s' expect_status 1 blackhole --pipe "$TMP/deaf.in" --state /run/exabgp/deaf.json &&
		blackhole --pipe "$TMP/deaf.in" --state /run/exabgp/deaf.json --no-ack && is "$(announced)" 0 && blackholes ''
	local status=$?
	exec 9>&-
	return "$status"
}

# The flood itself, from the alarm on to its end. Alone: four programs at most have samples at once.
test_flow_real() {
	local status
	echo 'alarm d when udp dport 27015 over 300/second for 300ms until under 100/second for 1s' >"$TMP/alarm" &&
		rl B attach veth-B --policy "$TMP/alarm" -q || return
	follow exabgp --user exabgp -- --allow 10.77.0.0/24 --victim d=10.77.0.9 --flowspec 100000
	eventually 2 flooded && eventually 5 flows ''
	status=$?
	kill -- "-$BG_PID"
	rl B detach veth-B -q && return "$status"
}
flooded() {
	flood A --seconds 2 --rate 2000 --dport 27015 --src 198.18.0.0/16
	flows 'flow4 { dst 10.77.0.9/32; proto 17; dport 27015; sport 40000; length 32..63; rate 0x47c35000'
}

veth_pair A B && holder_start || exit 1
t 'an SMTP and an HTTP server' receivers_start
t 'a journald' journald_start
t 'exabgp and BIRD are peers' peers
t 'exabgp: FlowSpec of a flood' test_flow_real
t 'all programs wait for events' follow_all
t 'a device is attached' test_attach
t 'what a program has' test_mine
t 'mail' test_mail
t 'webhook' test_webhook
t 'journal' test_journal
t 'exabgp announces and withdraws what is banned' test_exabgp
t 'no program failed' expect_fail grep -a 'warning: --exec' "$TMP/bg"
t 'wrong words' test_refused
t 'mail: errors' test_mail_refused
t 'webhook: errors' test_webhook_refused
t 'webhook: secrets' test_webhook_secret
t 'alertmanager' test_alertmanager
t 'exabgp: alarms' test_alarms
t 'exabgp: never announced' test_never
t 'exabgp: withdrawn all the same' test_withdrawn
t 'exabgp: a state that was cut' test_cut
t 'exabgp: a full pipe' test_full_pipe
t 'exabgp: alarms whose changes were not told' test_sync
t 'exabgp: FlowSpec' test_flow
t 'exabgp: FlowSpec of IPv6' test_flow_ipv6
t 'exabgp: FlowSpec, never announced' test_flow_never
t 'exabgp: FlowSpec, alarms whose changes were not told' test_flow_sync
t 'exabgp: no acknowledgement' test_not_acknowledged
