#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# overload.sh [SECONDS]: two servers with few connections to give, a client that asks five times a second, and a thousand
# addresses that hold 300 connections a second open with half a request each. No rate of packets is what is wrong there.
# The sign of nginx is its own answer, which a loop of curl waits for; that of a server of 16 processes its accept queue,
# which rlctl-overload watches. Both pull an alarm, while which senders who were not there in peace share a few connections
# a second. It prints as a table how often the client is answered without the flood, beside it, and beside it with the
# alarm. Not a part of the check, for it measures.
source "$(dirname "$0")/../lib.sh"

SECONDS_EACH=${1:-15}
FOR=10s
command -v nginx >/dev/null || { echo 'there is no nginx here (scripts/deps.sh --play)' && exit 1; }

nginx_start() { # PORT
	mkdir -p "$TMP/www" && echo 'a page' >"$TMP/www/index.html" && chmod 755 "$TMP" && cat >"$TMP/nginx.conf" <<-END &&
	daemon off;
	user $(id -un);
	pid $TMP/nginx.pid;
	worker_processes 1;
	events { worker_connections 128; }
	http {
		access_log off;
		client_body_temp_path $TMP/body;
		proxy_temp_path $TMP/body;
		fastcgi_temp_path $TMP/body;
		uwsgi_temp_path $TMP/body;
		scgi_temp_path $TMP/body;
		client_header_timeout 5s;
		server { listen 10.77.0.2:$1; root $TMP/www; }
	}
	END
		bg in_ns B nginx -c "$TMP/nginx.conf" -e "$TMP/nginx.err" && eventually 5 listens B "$1" && return
	cat "$TMP/nginx.err"
	return 1
}
processes_start() { bg in_ns B python3 "$TOP/tests/play/connections.py" serve 300 10.77.0.2 "$1" && eventually 5 listens B "$1"; }

# Half a second without an answer is a sign.
nginx_watch() { # PORT
	while sleep 0.5; do
		in_ns B curl -sf -m 0.5 -o /dev/null "http://10.77.0.2:$1/" || rl B -q alarm on overload for "$FOR"
	done
}
processes_watch() { in_ns B "$TOP/scripts/rlctl-overload" --rlctl "$RLCTL" --listen-overflows 10 --interval 500ms --for "$FOR" overload; }

connections() { in_ns A python3 "$TOP/tests/play/connections.py" "$1" "$2" 10.77.0.2 "$3"; }
overflows() { in_ns B nstat -az TcpExtListenOverflows | awk '/ListenOverflows/ { print $2 }'; }

# run PORT NAME [FLOOD]: a row of the table. The client is there five seconds before.
run() {
	local full held=0 holder changes ok asked median worst
	connections ask 5 "$1" >"$TMP/before"
	full=$(overflows)
	[[ -z ${3:-} ]] || {
		connections hold "$((SECONDS_EACH + 2))" "$1" >"$TMP/held" &
		holder=$!
		sleep 2
	}
	connections ask "$SECONDS_EACH" "$1" >"$TMP/asked"
	[[ -z ${3:-} ]] || { wait "$holder" && held=$(<"$TMP/held"); }
	changes=$(rl B alarm list -j 2>/dev/null | jq -r '.alarms[0].changes // 0')
	read -r ok asked median worst <"$TMP/asked"
	echo "| $2 | $held | $(($(overflows) - full)) | $ok of $asked | $median | $worst | ${changes:-0} |"
	sleep 6 # the servers close what is held
}

# rows NAME PORT RATE: three of them.
rows() {
	"$1_start" "$2" || exit 1
	run "$2" "$1, no flood"
	run "$2" "$1, flood" flood
	rl B attach veth-B -q --policy - <<-END || exit 1
	alarm overload manual
	rule any tcp dport $2 syn new-source limit $3/second burst $3 per rule while overload
	END
	bg "$1_watch" "$2"
	run "$2" "$1, flood, with the alarm" flood
	kill -TERM -- "-$BG_PID" && rl B detach veth-B -q
}

veth_pair A B && in_ns A ip route add local 10.78.0.0/22 dev lo && in_ns B ip route add 10.78.0.0/22 via 10.77.0.1 || exit 1
echo "nginx $(nginx -v 2>&1 | sed 's/.*nginx.//') of 128 connections, and 16 processes; $SECONDS_EACH s each, the alarm for $FOR"
echo '| | accepted of others | overflows | client: answered | median, ms | 99th, ms | alarm on and off |'
echo '|---|---|---|---|---|---|---|'
rows nginx 80 5
rows processes 81 2
