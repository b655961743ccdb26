#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A fleet's Redis behind TLS and a password: its certificate has to be of an authority that is trusted,
# and of the host. Where hiredis has no TLS, rediss:// is refused in words. Neither says the password.
source "$(dirname "$0")/fleet.sh"

SECRET=Geheimes-Wort
PORT=6390

# certificate NAME HOST: NAME.pem and NAME.key, signed by itself.
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-addext "subjectAltName=IP:$2" -keyout "$TMP/$1.key" -out "$TMP/$1.pem"
}

# In m1's namespace, so that no port of the machine is taken.
redis_tls() { # OPTION…
	bg in_ns m1 "${FIRST[@]}" redis-server --port 0 --dir "$TMP" --save '' --appendonly no --requirepass "$SECRET" "$@"
}

# agent URL CA: joins m1, with the URL in a file; its output is in $TMP/said.
agent() {
	echo "$1" >"$TMP/url"
	bg env SSL_CERT_FILE="$2" "${FIRST[@]}" "$RLCTL" -n "$(ns m1)" fleet join --redis "@$TMP/url" --name f --node m1
	JOINED=$BG_PID
}
agent_end() { kill -TERM -- "-$JOINED" && eventually 5 no_agent; }
no_agent() { is "$(rl m1 fleet status -j | json length)" 0; }
mode() { fleet_is m1 ".mode == \"$1\""; }

# The password is in nothing that other users can read: arguments of processes, the agent's output, its maps.
silent() {
	! tr '\0' ' ' <"/proc/$JOINED/cmdline" | grep -q "$SECRET" && ! grep -rq "$SECRET" "$TMP"/bg* 2>/dev/null &&
		! rl m1 fleet status -j | grep -q "$SECRET"
}

test_password() {
	redis_tls --unixsocket "$TMP/plain" && eventually 5 test -S "$TMP/plain" &&
		agent "unix://:wrong@$TMP/plain" /dev/null && eventually 5 mode local && agent_end &&
		agent "unix://:$SECRET@$TMP/plain" /dev/null && eventually 5 mode shared && silent && agent_end
}

test_tls() {
	redis_tls --tls-port "$PORT" --bind 127.0.0.1 --tls-cert-file "$TMP/right.pem" --tls-key-file "$TMP/right.key" --tls-auth-clients no &&
		agent "rediss://:$SECRET@127.0.0.1:$PORT" "$TMP/right.pem" && eventually 10 mode shared && silent && agent_end
}

# refuses CA HOST: the agent does not take this server.
refuses() {
	agent "rediss://:$SECRET@$2:$PORT" "$1" && eventually 5 mode local && sleep 0.5 && mode local && agent_end
}

test_words() {
	RLCTL_REDIS_URL="rediss://:$SECRET@h" expect_status 2 "$RLCTL" fleet join --name f 2>"$TMP/words" &&
		has 'hiredis without TLS' cat "$TMP/words" && ! grep -q "$SECRET" "$TMP/words"
}

member m1 || exit 1
t 'a password' test_password
if RLCTL_REDIS_URL=rediss://h "$RLCTL" fleet join --name . 2>&1 | grep -q 'without TLS'; then
	t 'no TLS, in words' test_words
else
	certificate right 127.0.0.1 && certificate other 127.0.0.1 2>/dev/null || exit 1
	t 'TLS' test_tls
	t 'a certificate of nobody whom this machine trusts' refuses "$TMP/other.pem" 127.0.0.1
	t 'a certificate of another host' refuses "$TMP/right.pem" 127.0.0.2
fi
