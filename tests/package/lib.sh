# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the package tests: a system of its own that runs systemd in network namespace B, and the expected
# contents and dependencies of a package.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$TOP" || exit 1

# shellcheck disable=SC2034 # for the tests
VERSION=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
# shellcheck disable=SC2034
UNIT='rlctl@veth\x2dB.service' # as systemd-escape writes it
# shellcheck disable=SC2034
EGRESS='rlctl-egress@veth\x2dB.service'

# ---- the system

boot() {
	bg nsenter --net="/run/netns/$(ns B)" unshare --mount --propagation private \
		bash tests/package/boot.sh "$TMP" "$_prefix"
	eventually 20 _booted "$BG_PID" || { cat "$TMP/bg" && return 1; }
	in_root udevadm trigger --action=add /sys/class/net/veth-B && # it was there before udev
		in_root udevadm settle
}

# By the word: in a chroot that has not become a system yet, systemctl ignores what it is asked, with
# status 0.
_booted() {
	SYSTEM=$(ps -o pid= --ppid "$1" | tr -d ' ') && [[ -n $SYSTEM ]] &&
		is "$(in_root systemctl is-active test.target)" active
}

# in_root CMD…: as root of that system.
in_root() {
	nsenter --all --root --wd --target "$SYSTEM" \
		timeout 30 env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

# Ends the system; its cgroups outlive it.
halt() {
	kill -KILL "$SYSTEM" && wait 2>/dev/null
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount bash -c 'mkdir "$1/cgroups" && mount -t cgroup2 cgroup2 "$1/cgroups" &&
		find "$1/cgroups" -depth -path "*/$2*" -type d -exec rmdir {} +' _ "$TMP" "$_prefix"
}

# Files changed in the system, except for the records of dpkg, rpm and systemd's helper.
changed() {
	in_root find /run/changed -mindepth 1 ! -type d -printf '/%P\n' |
		grep -vE '^/(var/lib/(dpkg|systemd)|var/log|var/cache|root/.rpmdb|etc/ld.so.cache)' | sort
}

# put FILE <CONTENT
put() { in_root tee "$1" >/dev/null; }

program() { xdp_program B veth-B; }

installed() { in_root rlctl "$@"; }

# unit VERB [UNIT]: systemctl on the unit of veth-B; says what rlctl said where it fails. The limit of starts is not for
# tests; a unit that waits for its next try would have a start wait as well, and a restart not.
unit() {
	local verb=$1
	in_root systemctl reset-failed "${2:-$UNIT}" 2>/dev/null
	[[ $verb != start || $(in_root systemctl is-active "${2:-$UNIT}") != activating ]] || verb=restart
	in_root systemctl "$verb" "${2:-$UNIT}" && return
	in_root tail -n 5 /run/rlctl.log
	return 1
}

unit_is() { is "$(in_root systemctl is-active "${2:-$UNIT}")" "$1"; }

# ---- what a package holds and needs

# holds_all DIR: the unpacked package has every file that `make install` installs, also after later additions.
holds_all() {
	make -o build/rlctl install DESTDIR="$TMP/dest" PREFIX=/usr || return # others use it now
	diff <(_names "$TMP/dest") <(_names "$1")
}

_names() {
	(cd "$1" && find . -type f ! -name 'changelog*.gz' ! -name copyright ! -path '*/lintian/*' ! -path '*/licenses/*' -printf '%f\n') |
		sed -E 's/(\.[0-9]|NEWS)\.gz$/\1/' | sort
}

# build_needs COLUMN LIST [PATTERN]: LIST names every package that deps.sh's column lists for a build,
# but for those of the pattern.
build_needs() {
	local package
	for package in $(./scripts/deps.sh --list | awk -v column="$1" '$2 == "build" { print $column }'); do
		[[ $package =~ ^(${3:-})$ ]] || grep -qx "$package" <<<"$2" ||
			_say "$package is not among what a build needs: $2" || return
	done
}
