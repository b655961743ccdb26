#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `make MINIMAL=1`, in a copy of the sources: what it links, that it limits, and what it says of the rest.
# check: idle check: timeout 900
source "$(dirname "$0")/../lib.sh"

COPY=$TMP/copy

# All that includes none of their headers is built already; the rest is left out, or another file takes its place.
includes() { grep -rlE '#include [<"].*(hiredis|openssl|curses|microhttpd|maxminddb)' user --include="*.$1"; } # EXTENSION
made() { make -C "$COPY" -s MINIMAL=1 WERROR=1 "$@" >"$TMP/make" 2>&1 || ! tail -20 "$TMP/make"; }
test_build() {
	mkdir "$COPY" && tar -C "$TOP" -c --exclude=./build --exclude=./.git . | tar -C "$COPY" -x && mkdir "$COPY/build" &&
		cp -rp build/*.bpf.[do] build/*.h build/.flags* build/.deps build/user "$COPY/build" && rm "$COPY/build/lazy_files.h" &&
		includes c | sed -E "s,(.*)c,$COPY/build/\1d $COPY/build/\1o," | xargs rm && made build/.flags &&
		find "$COPY/build" -name '*.[oh]' -exec touch -r "$COPY/build/.flags" {} + && made build/rlctl && RLCTL=$COPY/build/rlctl
}

# Nor does anything include their headers, which may be absent.
test_libraries() {
	ldd "$RLCTL" >"$TMP/libraries" && grep -q libbpf "$TMP/libraries" && grep -q libxdp "$TMP/libraries" || return
	! grep -E 'hiredis|ssl|crypto|curses|tinfo|microhttpd|maxminddb|gnutls' "$TMP/libraries" &&
		includes h >"$TMP/headers" && grep -q base/message.h "$COPY/build/user/cli/main.d" &&
		! grep -rFf "$TMP/headers" "$COPY/build/user" --include='*.d'
}

test_limits() {
	rl B attach veth-B && rl B rule add 10.77.0.1 icmp deny && ! in_ns A ping -q -c 3 -i 0.05 -W 1 10.77.0.2 &&
		is "$(stat_of B .dropped.packets)" 3 && in_ns A ping -q -c 1 -W 5 fd77::2
}

test_snapshot() { is "$(rl B top --once -j --seconds 1 | json .device)" veth-B; }

lacks() { ends 1 "was built with MINIMAL=1, without $1" "${@:2}"; }
test_left_out() {
	lacks ncurses python3 -B tests/terminal.py -- "$RLCTL" -n "$(ns B)" top && lacks libmicrohttpd rl B exporter &&
		ends 2 'was built with MINIMAL=1, without hiredis' rl B fleet join --redis unix:///run/redis --name f &&
		rl B fleet status
}

test_database() {
	echo '10.77.0.0/24 country=DE' | tests/net/mmdb_write.py "$TMP/country.mmdb" &&
		printf '%s\n' "set bad mmdb $TMP/country.mmdb country DE" 'rule @bad deny' >"$TMP/policy" &&
		has 'was built with MINIMAL=1, without libmaxminddb' rl B apply "$TMP/policy" && is "$(rl B set list bad | wc -l)" 0
}

cd "$TOP" || exit 1
t 'make MINIMAL=1 builds the command' test_build || exit 1
t 'it links none of the libraries that it leaves out' test_libraries
veth_pair A B || exit 1
t 'rules limit, and stats count' test_limits
t 'top --once' test_snapshot
t 'what is left out says so, and what to do' test_left_out
t 'so does a database of countries' test_database
