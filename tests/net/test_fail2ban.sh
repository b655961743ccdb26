#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fail2ban with the action that the package has, beside a real sshd: failed logins become bans, bans become dropped
# packets, and end. Its configuration, socket, database and log are its own. With BANS=20000 in the environment the last
# rows are what the documents tell; fail2ban runs a shell for each ban. check: timeout 300
source "$(dirname "$0")/../lib.sh"

F2B=$TMP/f2b
COUNT=${BANS:-1000}

# ---- sshd in B, and the log that it writes

sshd_start() {
	chmod 711 "$TMP" && install -d -m 711 "$TMP/ssh" && ssh-keygen -q -t ed25519 -N '' -f "$TMP/ssh/host" &&
		printf '%s\n' 'Port 22' "HostKey $TMP/ssh/host" 'PidFile none' 'KbdInteractiveAuthentication no' >"$TMP/ssh/config" ||
		return
	: >"$TMP/auth.log"
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B unshare --mount --propagation private sh -c \
		'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec /usr/bin/python3 "$1" "$2" "$(command -v sshd)" -D -f "$3"' _ \
		"$TOP/tests/net/log_daemon.py" "$TMP/auth.log" "$TMP/ssh/config"
	eventually 10 listens 22
}

listens() { in_ns B ss -Hltn "sport = :$1" | grep -q "$1"; }

# log_in FROM TO [N]: N (3) logins of users that do not exist.
log_in() {
	local n
	for n in $(seq "${3:-3}"); do
		in_ns A ssh -q -F none -b "$1" -o BatchMode=yes -o ConnectTimeout=2 -o StrictHostKeyChecking=no \
			-o UserKnownHostsFile=/dev/null "stranger$n@$2" true
	done
	true
}

# reaches FROM TO: sshd answers.
reaches() {
	in_ns A timeout 60 /usr/bin/python3 - "$1" "$2" <<-'END'
		import socket, sys
		with socket.create_connection((sys.argv[2], 22), 2, (sys.argv[1], 0)) as s:
		    s.settimeout(30)
		    sys.exit(not s.recv(4) == b'SSH-')
	END
}

# ---- fail2ban in B

# The action as it is installed, but for the command, which is that of the tree, and a systemctl of the test.
f2b_configure() {
	mkdir -p "$F2B/bin" && cp -r /etc/fail2ban "$F2B/etc" && rm -rf "$F2B/etc/jail.d" "$F2B/etc/jail.local" &&
		sed "s,^rlctl = .*,rlctl = $F2B/bin/rlctl," "$TOP/packaging/fail2ban/rlctl.conf" >"$F2B/etc/action.d/rlctl.conf" || return
	printf '#!/bin/sh\nexec "%s" -n "%s" "$@"\n' "$RLCTL" "$(ns B)" >"$F2B/bin/rlctl"
	printf '#!/bin/sh\ncat "%s"\n' "$F2B/jobs" >"$F2B/bin/systemctl"
	chmod 755 "$F2B/bin/"* && : >"$F2B/jobs"
	printf '%s\n' '[Definition]' "dbfile = $F2B/bans.sqlite3" "socket = $F2B/socket" "pidfile = $F2B/pid" \
		"logtarget = $F2B/log" >"$F2B/etc/fail2ban.local"
	cat >"$F2B/etc/jail.local" <<-END
		[DEFAULT]
		backend = polling
		banaction = rlctl
		banaction_allports = rlctl
		usedns = no
		ignoreself = false
		findtime = 10m
		maxretry = 3
		bantime = 10m

		[sshd]
		enabled = true
		logpath = $TMP/auth.log

		[quick]
		enabled = true
		filter = sshd
		logpath = $F2B/none
		bantime = 5s
		action = rlctl[name=%(__name__)s, device=veth-B]

		[forever]
		enabled = true
		filter = sshd
		logpath = $F2B/none
		bantime = -1
		action = rlctl[name=%(__name__)s]
	END
	: >"$F2B/none"
}

f2b() { # ARG…: its client
	in_ns B fail2ban-client -c "$F2B/etc" -s "$F2B/socket" -p "$F2B/pid" "$@"
}

f2b_start() {
	bg in_ns B env PATH="$F2B/bin:$PATH" fail2ban-server -f -c "$F2B/etc" -s "$F2B/socket" -p "$F2B/pid" \
		--logtarget "$F2B/log" -x start
	F2B_PID=$BG_PID
	eventually 20 f2b ping
}

f2b_stop() {
	f2b stop && eventually 60 ended "$F2B_PID"
}
ended() { ! kill -0 "$1" 2>/dev/null; }

# ---- judging

banned() { rl B set test "f2b-$1" "$2"; }
not_banned() { expect_status 1 rl B set test "f2b-$1" "$2"; }
members() { rl B set list "f2b-$1" | wc -l; }
dropped() { rule_stat B '@f2b-sshd' .dropped.packets; }

test_start() { f2b_start && has "$F2B/bans.sqlite3" f2b get dbfile && has sshd f2b status && expect_fail grep -q ERROR "$F2B/log"; }

test_ban() { # FROM TO
	local before
	reaches "$1" "$2" && log_in "$1" "$2" && eventually 10 banned sshd "$1" && before=$(dropped) || return
	expect_fail reaches "$1" "$2" && between "$(dropped)" $((before + 1)) $((before + 100)) &&
		has "$1" f2b status sshd
}

# Somebody who fails twice is no attacker, and neighbours of those who are banned are let in.
test_others() { log_in 10.77.0.9 10.77.0.2 2 && sleep 2 && not_banned sshd 10.77.0.9 && reaches 10.77.0.9 10.77.0.2; }

test_unban() { # FROM TO
	f2b set sshd unbanip "$1" && eventually 5 not_banned sshd "$1" && reaches "$1" "$2"
}

# By the kernel, without fail2ban; and fail2ban's own command afterwards is no error.
test_time() {
	f2b set quick banip 192.0.2.1 2001:db8::1 && eventually 5 banned quick 192.0.2.1 &&
		eventually 5 banned quick 2001:db8::1 && eventually 15 not_banned quick 192.0.2.1 &&
		eventually 15 not_banned quick 2001:db8::1 && eventually 15 grep -q 'Unban 2001:db8::1' "$F2B/log" &&
		eventually 15 is "$(f2b get quick banip)" '' && no_error
}

# Since the last row that wanted one.
SEEN=0
no_error() { expect_fail grep -E ' ERROR ' <(tail -n "+$((SEEN + 1))" "$F2B/log"); }

# A ban that is given again lasts for as long again.
test_extend() {
	local first second
	f2b set sshd banip 192.0.2.2 && eventually 5 banned sshd 192.0.2.2 && first=$(left sshd 192.0.2.2) && sleep 3 &&
		between "$(left sshd 192.0.2.2)" 1 $((first - 2)) || return
	f2b set sshd unbanip 192.0.2.2 && f2b set sshd banip 192.0.2.2 && eventually 5 banned sshd 192.0.2.2 &&
		second=$(left sshd 192.0.2.2) && between "$second" $((first - 1)) 600
}

# left JAIL ADDRESS: seconds that are left of its ban.
left() {
	rl B set list "f2b-$1" | awk -v a="$2" '$1 == a { print $3 }' | /usr/bin/python3 -c '
import re, sys
units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
print(int(sum(int(n) * units[u] for n, u in re.findall(r"(\d+)([a-z]+)", sys.stdin.read()))))'
}

test_forever() {
	f2b set forever banip 192.0.2.3 && eventually 5 banned forever 192.0.2.3 &&
		between "$(left forever 192.0.2.3)" $((2800 * 86400)) $((2901 * 86400))
}

# All at once, and in both families, more than once.
test_unban_all() {
	local round
	for round in 1 2; do
		f2b set sshd banip 192.0.2.4 2001:db8::4 && eventually 5 banned sshd 2001:db8::4 && banned sshd 192.0.2.4 &&
			f2b unban --all && eventually 5 is "$(members sshd)" 0 && is "$(members forever)" 0 || _say "round $round" || return
	done
}

# Stopped by hand the bans end, and come back with their time when it starts.
test_restart() {
	f2b set sshd banip 192.0.2.5 2001:db8::5 && eventually 5 banned sshd 2001:db8::5 && sleep 2 && f2b_stop &&
		is "$(members sshd)" 0 && f2b_start && eventually 10 banned sshd 192.0.2.5 && eventually 10 banned sshd 2001:db8::5 &&
		between "$(left sshd 192.0.2.5)" 500 598 && no_error
}

# systemd restarts it: nobody is let in meanwhile.
test_restart_systemd() {
	echo '17 fail2ban.service restart running' >"$F2B/jobs" && f2b_stop && banned sshd 192.0.2.5 && banned sshd 2001:db8::5 &&
		: >"$F2B/jobs" && f2b_start && eventually 10 has 192.0.2.5 f2b status sshd && banned sshd 192.0.2.5 &&
		is "$(members sshd)" 2 && no_error
}

# Without its set a jail says so, and goes on once the policy has the set.
test_no_set() {
	grep -v quick "$TMP/policy" >"$TMP/less" && rl B apply -q "$TMP/less" && f2b set quick banip 192.0.2.6 &&
		eventually 10 grep -q 'ERROR.*f2b-quick' "$F2B/log" && rl B apply -q "$TMP/policy" && f2b set quick banip 192.0.2.7 &&
		eventually 10 banned quick 192.0.2.7 && SEEN=$(wc -l <"$F2B/log")
}

addresses() {
	awk -v n="$COUNT" 'BEGIN { for (i = 0; i < n; i++) printf "10.80.%d.%d\n", int(i / 256), i % 256 }'
}

# The figure is said, not judged: how long it takes depends on the machine.
test_many() {
	local start=$SECONDS
	f2b unban --all && addresses | xargs -n 1000 nsenter --net="/run/netns/$(ns B)" fail2ban-client -s "$F2B/socket" \
		set sshd banip >"$TMP/banip" && eventually $((60 + COUNT / 20)) prints "$COUNT" members sshd && took "$COUNT bans" "$start" && no_error
}

test_many_restart() {
	local start=$SECONDS
	echo '18 fail2ban.service restart running' >"$F2B/jobs" && f2b_stop && took 'stop' "$start" &&
		is "$(members sshd)" "$COUNT" && start=$SECONDS && f2b_start && : >"$F2B/jobs" &&
		eventually $((60 + COUNT / 20)) prints "$COUNT" restored && took "$COUNT bans again" "$start" && is "$(members sshd)" "$COUNT" && no_error
}
restored() { f2b status sshd | sed -n 's/.*Currently banned:[[:space:]]*//p'; }

test_many_unban() {
	local start=$SECONDS
	f2b unban --all && is "$(members sshd)" 0 && took 'unban --all' "$start" && no_error
}

took() { echo "# $1: $((SECONDS - $2)) s" >>"$TMP/took"; }

veth_pair A B && veth_quiet A B && ip -n "$(ns A)" addr add 10.77.0.7/24 dev veth-A &&
	ip -n "$(ns A)" addr add 10.77.0.8/24 dev veth-A && ip -n "$(ns A)" addr add 10.77.0.9/24 dev veth-A &&
	ip -n "$(ns A)" addr add fd77::7/64 dev veth-A nodad || exit 1
printf '%s\n' 'set f2b-sshd timeout 10m' 'set f2b-quick timeout 10m' 'set f2b-forever timeout 10m' \
	'rule @f2b-sshd deny' 'rule @f2b-quick deny' 'rule @f2b-forever deny' >"$TMP/policy"
rl B attach veth-B --policy "$TMP/policy" && sshd_start && f2b_configure || exit 1

t 'fail2ban starts' test_start || exit 1
t 'failed logins from an IPv4 address' test_ban 10.77.0.7 10.77.0.2
t 'from another' test_ban 10.77.0.8 10.77.0.2
t 'from an IPv6 address' test_ban fd77::7 fd77::2
t 'not banned: fewer failures' test_others
t 'unbanned by hand' test_unban 10.77.0.7 10.77.0.2
t 'unbanned by hand: IPv6' test_unban fd77::7 fd77::2
t 'unbanned by time' test_time
t 'banned again: it lasts as long again' test_extend
t 'banned for ever' test_forever
t 'all unbanned at once' test_unban_all
t 'restart' test_restart
t 'restart by systemd: bans stay in force' test_restart_systemd
t 'a policy without the set' test_no_set
t "$COUNT bans" test_many
t "$COUNT bans: restart" test_many_restart
t "$COUNT bans: all unbanned" test_many_unban
cat "$TMP/took"
