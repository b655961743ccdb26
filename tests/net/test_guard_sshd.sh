#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The lockout guard beside a real sshd: whoever changes the policy, connections count on which sshd has logged
# somebody in and that the device carries. tests/net/test_guard.sh has the session that the command runs in.
source "$(dirname "$0")/../lib.sh"

# sshd_start PORT: in B, with directories of its own in place of /run and root's home.
sshd_start() {
	chmod 711 "$TMP" && install -d -m 711 "$TMP/ssh" && ssh-keygen -q -t ed25519 -N '' -f "$TMP/ssh/host" &&
		ssh-keygen -q -t ed25519 -N '' -f "$TMP/ssh/user" || return
	cat >"$TMP/ssh/config" <<-END
		Port $1
		HostKey $TMP/ssh/host
		AuthorizedKeysFile $TMP/ssh/user.pub
		PidFile none
		StrictModes no
		PermitRootLogin yes
		PrintMotd no
	END
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B unshare --mount --propagation private sh -c \
		'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$(command -v sshd)" -D -e -f "$1"' _ "$TMP/ssh/config"
	eventually 10 listens "$1"
}

listens() { in_ns B ss -Hltn "sport = :$1" | grep -q "$1"; }

# client NAME ARG…: ssh from A's address NAME to B, as root or $LOGIN.
client() {
	local from=$1
	shift
	in_ns A ssh -q -F none -b "$from" -p "$PORT" -i "$TMP/ssh/user" -o IdentitiesOnly=yes -o BatchMode=yes \
		-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "${SERVER:-10.77.0.2}" -l "${LOGIN:-root}" "$@"
}

# login FROM: a session from this address; its pid is BG_PID.
login() {
	bg client "$1" 'echo logged in; sleep 1000'
	eventually 10 logged_in "$1"
}

# The guard is what is waited for: sshd sets its title a little after the login.
logged_in() {
	! rl B rule add "$1" deny 2>"$TMP/asked" || { rl B rule del "$1" && return 1; }
	grep -q "denies $1, the source of an open SSH session" "$TMP/asked"
}

logout() { kill -TERM -- "-$1" && eventually 10 left "$2"; }
left() { [[ -z $(in_ns B ss -Htn "sport = :$PORT" "dst $1") ]]; }

# fake USER PORT FROM COUNT TITLE: processes of USER that look like sshd, until `fake_end`.
fake() {
	local uid
	uid=$(id -u "$1") && install -m 755 /usr/bin/python3 "$TMP/sshd" &&
		install -m 644 "$TOP/tests/net/fake_sshd.py" "$TMP/fake_sshd.py" && : >"$TMP/bg" || return
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B env PYTHONHOME=/usr bash -c 'ulimit -n 4096 && exec setpriv --reuid "$1" --clear-groups "${@:2}"' _ \
		"$uid" "$TMP/sshd" -IS "$TMP/fake_sshd.py" "${@:2}"
	FAKE_PID=$BG_PID
	eventually 10 grep -q holds "$TMP/bg"
}

fake_end() { kill -TERM -- "-$FAKE_PID" && eventually 10 no_fake; }
no_fake() { ! pgrep -g "$FAKE_PID" >/dev/null; }

# refuses TEXT ARG…: rlctl of somebody without a session and without a terminal says TEXT and changes nothing.
refuses() {
	local text=$1 before
	shift
	before=$(rl B show) && has "$text" expect_status 1 rl B "$@" &&
		has 'nothing was changed; to keep this session: add' expect_status 1 rl B "$@" && is "$(rl B show)" "$before"
}

# As rlctl-sets.service does it.
# shellcheck disable=SC2016 # backquotes of a message
test_load() {
	local pid status=0
	printf '%s\n' 192.0.2.1 >"$TMP/list" && printf '%s\n' "set list file $TMP/list every 1s" 'rule @list deny' | rl B apply --yes - &&
		login 10.77.0.3 || return
	pid=$BG_PID
	printf '%s\n' 10.77.0.3/32 192.0.2.1 192.0.2.2 >"$TMP/list" && sleep 1.1 &&
		has 'set list: 10.77.0.3 left out: this may lock you out: the rule `@list deny` denies 10.77.0.3, the source of an open SSH session' \
			expect_status 1 rl B set load --due -i all -q && is "$(rl B set list list | tr '\n' ' ')" '192.0.2.1 192.0.2.2 ' || status=1
	logout "$pid" 10.77.0.3 && sleep 1.1 && rl B set load --due -i all -q && rl B set test list 10.77.0.3 || status=1
	rl B apply --yes - <<<'' && return "$status"
}

# A connection that nobody has logged in on is no session: a rule may keep its source out.
test_stranger() {
	bg in_ns A bash -c "exec 3<>/dev/tcp/10.77.0.2/$PORT; sleep 100" && eventually 5 in_ns B sh -c \
		"ss -Htnp 'sport = :$PORT' | grep -q sshd" && rl B rule add 10.77.0.1 deny && rl B rule del 10.77.0.1 &&
		logout "$BG_PID" 10.77.0.1
}

test_login() {
	login 10.77.0.1 && refuses 'denies 10.77.0.1, the source of an open SSH session' rule add any deny &&
		echo 'rule any deny' >"$TMP/policy" && refuses 'an open SSH session' apply "$TMP/policy" &&
		rl B apply - <<<$'rule any deny\nrule 10.77.0.1 allow' && refuses 'an open SSH session' rule del 10.77.0.1 &&
		has 'an open SSH session' rl B apply --yes "$TMP/policy" && rl B rule flush
}

# The worst for any of several sessions is named.
test_several() {
	login 10.77.0.3 && refuses 'denies 10.77.0.3, the source of an open' rule add 10.77.0.3 deny &&
		printf '%s\n' 'rule 10.77.0.1 limit 1/second' 'rule 10.77.0.3 deny' >"$TMP/policy" &&
		refuses 'denies 10.77.0.3, the source of an open' apply "$TMP/policy" && logout "$BG_PID" 10.77.0.3 &&
		rl B rule add 10.77.0.3 deny && rl B rule flush
}

test_six() {
	SERVER=fd77::2 login fd77::1 && refuses 'denies fd77::1, the source' rule add fd77::/64 tcp dport "$PORT" deny &&
		logout "$BG_PID" fd77::1
}

# The process that holds the connection belongs to the user, and its parent to root. The units' capabilities
# are enough to find it.
test_user() {
	LOGIN=nobody && bg client 10.77.0.3 -N && eventually 10 logged_in 10.77.0.3 && unset LOGIN &&
		pgrep -u nobody -f '^sshd.*: nobody' >/dev/null && has 'denies 10.77.0.3, the source of an open' \
		expect_status 1 in_ns B setpriv --inh-caps=-all --bounding-set=-all,+net_admin,+sys_admin,+sys_ptrace \
		"$RLCTL" rule add 10.77.0.3 deny && logout "$BG_PID" 10.77.0.3
}

# systemd listens, and starts an sshd for each connection: its socket is no sshd's.
test_socket() {
	local status=0
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B unshare --mount --propagation private sh -c 'mount -t tmpfs tmpfs /run && mkdir /run/sshd &&
		exec systemd-socket-activate --accept --inetd -l 2227 "$(command -v sshd)" -i -f "$1"' _ "$TMP/ssh/config"
	local listener=$BG_PID
	eventually 10 listens 2227 && PORT=2227 login 10.77.0.3 &&
		refuses 'denies 10.77.0.3, the source of an open SSH session' rule add 10.77.0.3 deny || status=1
	PORT=2227 logout "$BG_PID" 10.77.0.3
	kill -TERM -- "-$listener" && return "$status"
}

# A connection that sshd makes for its client is none of a client's.
test_forward() {
	local status=0
	bg in_ns A python3 -m http.server --bind 10.77.0.3 7002 && eventually 10 in_ns A sh -c 'ss -Hltn | grep -q 7002' &&
		local client server=$BG_PID && bg client 10.77.0.1 -L 7001:10.77.0.3:7002 'echo logged in; sleep 100' || return
	client=$BG_PID
	eventually 10 logged_in 10.77.0.1 && eventually 10 forwards || status=1
	rl B rule add 10.77.0.3 deny && rl B rule flush || status=1
	kill -TERM -- "-$client" "-$server" "-$BG_PID" && return "$status"
}
forwards() { bg in_ns A bash -c 'exec 3<>/dev/tcp/127.0.0.1/7001; sleep 20'; eventually 5 forwarded; }
forwarded() { in_ns B ss -Htn 'dport = :7002' | grep -q ESTAB; }

# Other users' programs with the name, the title and a port of sshd protect no address from a rule.
test_forged() {
	fake nobody 2223 10.77.0.2 1 'sshd: me@pts/0' && rl B rule add 10.77.0.2 deny && rl B rule flush && fake_end &&
		fake root 2223 10.77.0.2 1 'sshd: me@pts/0' && refuses 'denies 10.77.0.2, the source' rule add 10.77.0.2 deny &&
		fake_end
}

# However many connections others have, and before this one, it is found.
test_many() {
	local row
	for row in 'nobody 2224 1030' 'root 2225 1030' 'root 22 70'; do
		# shellcheck disable=SC2086 # words
		set -- $row
		fake "$1" "$2" 127.0.0.1 "$3" 'sshd: hog' && login 10.77.0.3 &&
			refuses 'denies 10.77.0.3, the source' rule add 10.77.0.3 deny && logout "$BG_PID" 10.77.0.3 &&
			fake_end || return
	done
}

# The session that the command runs in comes first.
test_own() {
	has 'denies 10.77.0.1, the source of your SSH session' \
		expect_status 1 client 10.77.0.1 "$RLCTL rule add any deny 2>&1" && is "$(rl B show)" ''
}

# By a process that is nobody's child but init's.
test_orphan() {
	in_ns B setsid --fork env -i bash -c '"$@"; echo "status $?"' _ "$RLCTL" rule add any deny >"$TMP/orphan" 2>&1 &&
		eventually 10 grep -q 'status 1' "$TMP/orphan" && grep -q 'an open SSH session' "$TMP/orphan" &&
		is "$(rl B show)" ''
}

test_ban() {
	local limit="tcp dport $PORT syn limit 6/minute over ban 1h source"
	# shellcheck disable=SC2086 # words
	refuses 'bans 10.77.0.1, the source of an open SSH session, for 1h' rule add any $limit &&
		has 'write over drop for over ban' expect_status 1 rl B rule add any $limit &&
		has 'bans 10.77.0.1' rl B rule add any udp limit 100/second over ban 10m source &&
		rl B apply - <<<"rule any $limit"$'\nrule 10.77.0.1 allow' && rl B rule flush
}

# Denied on a device that does not carry the session: nothing is lost. One without addresses might.
test_device() {
	in_ns B ip link add other type veth peer name other2 && in_ns B ip link set other up && rl B attach other &&
		has 'an open SSH session' expect_status 1 rl B rule add -i other any deny &&
		in_ns B ip addr add 10.78.0.1/24 dev other && rl B rule add -i other any deny &&
		in_ns B ip link del other && refuses 'an open SSH session' rule add any deny
}

# Below a bridge, the device has no address of its own, and the bridge has the session's.
test_bridge() {
	in_ns B ip link add bridge-B type bridge && in_ns B ip link set bridge-B up || return
	in_ns B ip addr del 10.77.0.2/24 dev veth-B && in_ns B ip link set veth-B master bridge-B &&
		in_ns B ip addr add 10.77.0.2/24 dev bridge-B && refuses 'an open SSH session' rule add -i veth-B any deny
}

# A command that cannot look into other processes finds none of their sessions.
test_unprivileged() {
	in_ns B setpriv --inh-caps=-all --bounding-set=-sys_ptrace "$RLCTL" rule add any deny && rl B rule flush
}

PORT=2222
veth_pair A B && ip -n "$(ns A)" addr add 10.77.0.3/24 dev veth-A && rl B attach veth-B && sshd_start "$PORT" || exit 1
t 'a connection without a login' test_stranger
t 'a login' test_login
t 'a login, and the file of a set' test_load
t 'several logins' test_several
t 'over IPv6' test_six
t 'a session of a user' test_user
t 'a session that systemd accepted' test_socket
t 'a connection that sshd forwards' test_forward
t 'other programs called sshd' test_forged
t 'many connections' test_many
t 'the own session first' test_own
t 'asked by a child of init' test_orphan
t 'a ban that open sessions could fall under' test_ban
t 'without CAP_SYS_PTRACE' test_unprivileged
t 'another device' test_device
t 'a device below a bridge' test_bridge
