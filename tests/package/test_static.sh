#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `make static`: one file that runs where there is nothing but a libc, of Debian 12 and 13 and of Ubuntu 22.04 and
# 24.04: it attaches, limits, counts, and joins a fleet by the name of its server. check: timeout 300
source "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1
# shellcheck source=scripts/archive.sh
source scripts/archive.sh

# EL 9 has glibc 2.34, Ubuntu 22.04 has 2.35.
test_needs() {
	is "$(readelf -d build/static/rlctl | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | paste -sd ' ')" \
		'ld-linux-x86-64.so.2 libc.so.6 libm.so.6' || return
	objdump -T build/static/rlctl | grep -oE 'GLIBC_[0-9.]+' | sort -Vu >"$TMP/versions" &&
		is "$(printf '%s\n' GLIBC_2.34 "$(tail -n 1 "$TMP/versions")" | sort -V | tail -n 1)" GLIBC_2.34
}

# root_make SUITE: libc's package, and the command.
root_make() {
	ROOT=$TMP/$1
	mkdir -p "$ROOT"/{etc,proc,sys,tmp,run,usr/{lib,lib64}} && ln -s usr/lib usr/lib64 "$ROOT" &&
		package_unpack "$TMP/apt-$1" "$1" libc6 "$TMP/libc-$1" && tar -C "$TMP/libc-$1" -c . | tar -C "$ROOT" --keep-directory-symlink -x &&
		cp build/static/rlctl "$ROOT/" && echo '10.77.0.1 redis' >"$ROOT/etc/hosts" &&
		is "$(in_root --version)" "$("$RLCTL" --version)"
}

# in_root ARG…: the command there, in network namespace B.
in_root() {
	# shellcheck disable=SC2016 # for the inner shell
	in_ns B unshare --mount bash -c 'mount --rbind /sys "$0/sys" && mount -t proc proc "$0/proc" && exec chroot "$0" /rlctl "$@"' "$ROOT" "$@"
}

pings() { in_ns A ping -q -c 3 -i 0.05 -W 1 10.77.0.2 | sed -n 's/.* \([0-9]*\) received.*/\1/p'; }

test_limits() {
	in_root doctor >/dev/null
	in_root attach veth-B && is "$(pings)" 3 && in_root rule add 10.77.0.1 icmp deny && is "$(pings)" 0 &&
		is "$(in_root stats -j | json '.[0].dropped.packets')" 3
}

# A name of /etc/hosts, by the libc that is there.
test_fleet() {
	bg in_root fleet join --redis redis://redis --name f
	eventually 5 shared && in_root fleet leave
}
shared() { is "$(in_root fleet status -j | json '.[0].mode')" shared; }

# Captures need a library, which is loaded where there is one, under either name.
test_library() {
	echo 'rule any deny' >"$ROOT/policy" && ends 1 'install the package that has libpcap.so' in_root simulate /policy /policy &&
		gcc -shared -o "$ROOT/lib/libpcap.so.1" -x c /dev/null && ends 1 'undefined symbol: pcap_' in_root simulate /policy /policy
}

test_detach() { in_root detach veth-B && is "$(xdp_program B veth-B)" ''; }

in_suite() { # SUITE
	t "$1: libc and the command" root_make "$1" || return
	t "$1: it attaches, limits and counts" test_limits
	t "$1: it joins a fleet by name" test_fleet
	t "$1: it says which package a verb needs" test_library
	t "$1: detach" test_detach
}

# Debian has the keys of Ubuntu's archive in a package.
ubuntu() {
	package_unpack "$TMP/keys" trixie ubuntu-keyring "$TMP/ubuntu" &&
		KEYRING=$TMP/ubuntu/usr/share/keyrings/ubuntu-archive-keyring.gpg && apt_answers jammy
}
apt_answers() ( # SUITE
	apt_new "$TMP/asked-$1" "$1" && apt-get update --error-on=any
)

# It may have to come from the archive, as the packages of libc do.
scripts/static.sh gcc build/static >/dev/null 2>&1 || { skip libmnl.a 'cannot be had' && exit 0; }
t 'one file is built' make -s static || exit 1
t 'it needs no library but libc, of 2.34' test_needs
veth_pair A B || exit 1
bg in_ns A redis-server --bind 10.77.0.1 --protected-mode no --save '' --daemonize no
for suite in bookworm trixie; do
	(apt_answers "$suite") >/dev/null 2>&1 || { skip "libc-$suite" 'cannot be had' && continue; }
	in_suite "$suite"
done
if ubuntu >/dev/null 2>&1; then
	in_suite jammy
	in_suite noble
else
	skip libc-ubuntu 'cannot be had'
fi
