#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian package: what it holds, lintian, and its life in a root of its own: installed, started
# with the unit's own words and no more privilege than the unit has, upgraded, removed, purged.
source "$(dirname "$0")/lib.sh"

UNIT=$(pkg-config --variable=systemdsystemunitdir systemd || echo /usr/lib/systemd/system)/rlctl@.service

# ---- the package

test_build() {
	make deb && DEB=$(echo "$TOP"/build/rlctl_*.deb) && [[ -f $DEB ]] && is "$(dpkg-deb -f "$DEB" Version)" "$VERSION"
}

test_lintian() { lintian --allow-root --fail-on error,warning build/deb/rlctl_*.changes; }

test_news() { is "$(grep -m 1 '^[0-9]' NEWS)" "$VERSION"; }

test_build_depends() {
	build_needs 3 "$(sed -n '/^Build-Depends:/,/^$/s/^ \([^, ]*\).*/\1/p' debian/control)" \
		'gcc|make|libc6-dev|linux-libc-dev' # Debian takes these for granted
}

test_holds_all() {
	dpkg-deb -x "$DEB" "$TMP/deb" && holds_all "$TMP/deb" &&
		[[ -x $TMP/deb/usr/sbin/rlctl && -f $TMP/deb$UNIT && -f $TMP/deb/etc/rlctl/example.policy ]]
}

# ---- its life

test_install() {
	in_mounts cp "$DEB" "$ROOT/root/rlctl.deb" && in_root dpkg -i /root/rlctl.deb &&
		is "$(installed --version)" "rlctl $VERSION" && installed apply --check /etc/rlctl/example.policy
}

# An error in a unit's words, a command that is not there.
test_verify() {
	in_root systemd-analyze verify --man=no rlctl@veth0.service rlctl-exporter.service
}

# 0.1 above what they have: a directive lost is noticed.
test_security() {
	in_root systemd-analyze security --offline=true --threshold=22 rlctl@veth0.service &&
		in_root systemd-analyze security --offline=true --threshold=21 rlctl-exporter.service
}

test_start() {
	in_mounts cp "$ROOT/etc/rlctl/example.policy" "$ROOT/etc/rlctl/veth-B.policy" && unit ExecStart &&
		[[ -n $(program) ]] && between "$(installed show | wc -l)" 10 100
}

test_start_again() {
	local id
	id=$(program) && unit ExecStart && is "$(program)" "$id"
}

test_reload() {
	local id
	id=$(program) && echo 'rule any deny' | put /etc/rlctl/veth-B.policy && unit ExecReload &&
		is "$(installed show)" 'rule any deny' && is "$(program)" "$id"
}

test_reload_error() {
	echo 'rule any dany' | put /etc/rlctl/veth-B.policy && has dany expect_status 1 unit ExecReload &&
		is "$(installed show)" 'rule any deny'
}

# The next version of the package, with another example.
next_version() {
	dpkg-deb -R "$DEB" "$TMP/next" && sed -i "s/^Version: .*/Version: $VERSION+next/" "$TMP/next/DEBIAN/control" &&
		echo '# more' >>"$TMP/next/etc/rlctl/example.policy" && dpkg-deb -b "$TMP/next" "$TMP/next.deb" &&
		in_mounts cp "$TMP/next.deb" "$ROOT/root/rlctl.deb"
}

test_upgrade() {
	local id
	echo 'rule 192.0.2.1 deny' | put /etc/rlctl/veth-B.policy && unit ExecReload && id=$(program) &&
		echo 'rule any allow' | put /etc/rlctl/example.policy && next_version &&
		in_root dpkg --force-confold -i /root/rlctl.deb || return
	is "$(in_root dpkg-query -W rlctl | cut -f 2)" "$VERSION+next" && is "$(program)" "$id" &&
		is "$(installed show)" 'rule 192.0.2.1 deny' &&
		is "$(in_root cat /etc/rlctl/veth-B.policy)" 'rule 192.0.2.1 deny' &&
		is "$(in_root cat /etc/rlctl/example.policy)" 'rule any allow'
}

test_stop() {
	unit ExecStop && is "$(program)" '' && [[ ! -e $(ns_pins B) ]]
}

# Instances of this network namespace go, those of another one stay; so does the configuration.
test_remove() {
	rl A attach veth-A && installed attach lo --mode generic && in_root dpkg --remove rlctl || return
	is "$(xdp_program B lo)" '' && [[ ! -e $(ns_pins B) ]] && rl A show && rl A detach veth-A &&
		in_root test ! -e /usr/sbin/rlctl -a -e /etc/rlctl/example.policy
}

# What `systemctl enable` made goes too, the administrator's policy stays: nothing else is left.
test_purge() {
	in_root dpkg -i /root/rlctl.deb && in_root systemctl --root=/ enable rlctl@veth-B rlctl-exporter &&
		[[ $(changed) == *.device.wants/rlctl@veth-B.service* ]] && in_root dpkg --purge rlctl &&
		in_mounts rm "$ROOT/root/rlctl.deb" || return
	is "$(comm -13 "$TMP/before" <(changed))" /etc/rlctl/veth-B.policy
}

command -v dpkg-buildpackage dh lintian >"$TMP/tools" || {
	skip debian-package 'this is no Debian: deps.sh has no packages of its tools here'
	exit 0
}
t 'the package is built' test_build || exit 1
t 'lintian' test_lintian
t 'NEWS is of this version' test_news
t 'Build-Depends are those of deps.sh' test_build_depends
t 'all that make install installs is in it' test_holds_all
veth_pair A B && root_new && in_root dpkg --purge rlctl 2>"$TMP/purge" && changed >"$TMP/before" || exit 1
t 'install' test_install || exit 1
t 'systemd-analyze verify' test_verify
t 'systemd-analyze security' test_security
t 'start attaches, with the policy' test_start
t 'start again keeps what is attached' test_start_again
t 'reload applies' test_reload
t 'reload with an error changes nothing' test_reload_error
t 'upgrade keeps limits and configuration' test_upgrade
t 'stop detaches' test_stop
t 'remove detaches, and keeps the configuration' test_remove
t 'purge leaves only what it did not bring' test_purge
