# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by tests with DNS servers in their namespaces: tests/lib.sh first.

# resolver NAMESPACE ADDRESS LINE…: unbound there; the lines go on with its section `server:`.
resolver() {
	cat >"$TMP/$1.conf" <<-END
	server:
	 interface: $2
	 access-control: 0.0.0.0/0 allow
	 access-control: ::/0 allow
	 chroot: ""
	 username: ""
	 directory: "$TMP"
	 pidfile: ""
	 use-syslog: no
	 module-config: "iterator"
	 so-rcvbuf: 64m
	 outgoing-range: 8192
	 num-queries-per-thread: 4096
	$(printf '%s\n' "${@:3}")
	remote-control:
	 control-enable: no
	END
	bg in_ns "$1" nice -n -10 unbound -d -c "$TMP/$1.conf" && eventually 5 listens "$1" 53
}

# dnsperf_sum FILE…: "SENT LOST" of its reports; lost are those without an answer, and with SERVFAIL.
dnsperf_sum() {
	awk '/Queries sent:/ { sent += $3 } /Response codes:/ { for (i = 3; i < NF; i++) if ($i == "NOERROR") good += $(i + 1) }
		END { print sent + 0, sent - good }' "$@"
}
