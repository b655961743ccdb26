# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What the tests of the packages share: a root of their own, the unit's lines, what a package is to
# hold and to need. Namespaces A and B are made by the test.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$TOP" || exit 1

ROOT=$TMP/root
# shellcheck disable=SC2034 # for the tests
VERSION=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)

# ---- the root

root_new() {
	bg unshare --mount --propagation private bash tests/package/root.sh "$TMP"
	ROOT_PID=$BG_PID
	eventually 10 test -e "$TMP/ready" || { cat "$TMP/bg" && return 1; }
	in_mounts rm -f "$ROOT/var/lib/man-db/auto-update" # its trigger takes seconds
	in_mounts rm -f "$ROOT/usr/sbin/policy-rc.d"       # the packages' scripts are to do all they do
	in_mounts mkdir -p "$ROOT/run/systemd/system"      # as where systemd runs; nobody answers
}

in_mounts() { nsenter --target "$ROOT_PID" --mount "$@"; }

# in_root CMD…: in the root and in namespace B.
in_root() {
	nsenter --target "$ROOT_PID" --mount --net="/run/netns/$(ns B)" \
		chroot "$ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# What was changed in the root, but for what dpkg, rpm and systemd's helper remember.
changed() {
	in_mounts find "$TMP/disk/upper" -mindepth 1 ! -type d -printf '/%P\n' |
		grep -vE '^/(var/lib/(dpkg|systemd)|var/log|var/cache|root/.rpmdb|etc/ld.so.cache)' | sort
}

# put FILE <TEXT
put() { in_mounts tee "$ROOT$1" >/dev/null; }

program() { xdp_program B veth-B; }

installed() { in_root rlctl "$@"; }

# unit KEY: runs that line of the unit in $UNIT for veth-B, with the unit's capabilities.
unit() {
	local line words caps
	line=$(in_root sed -n "s/^$1=//p" "$UNIT") && [[ -n $line ]] || return
	line=${line// \$ATTACH_OPTIONS/}
	read -ra words <<<"${line//%[iI]/veth-B}"
	caps=$(in_root sed -n 's/^CapabilityBoundingSet=//p' "$UNIT" | sed 's/CAP_/+/g; s/ /,/g')
	in_root setpriv --no-new-privs --inh-caps=-all --bounding-set="-all,${caps,,}" "${words[@]}"
}

# ---- what a package holds and needs

# holds_all DIR: the unpacked package has all that `make install` installs, whoever adds to it.
holds_all() {
	make install DESTDIR="$TMP/dest" PREFIX=/usr || return
	diff <(_names "$TMP/dest") <(_names "$1")
}

_names() {
	(cd "$1" && find . -type f ! -path '*/doc/*' ! -path '*/lintian/*' ! -path '*/licenses/*' -printf '%f\n') |
		sed '/\.[0-9]\.gz$/s/\.gz$//' | sort
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
