#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The RPM: it builds here as well, has the expected contents, and installs and uninstalls in a system of its
# own. Features that only Fedora has (macros, stripping, dependencies by name) are not tested here. check: timeout 480
source "$(dirname "$0")/lib.sh"

test_build() { make rpm && RPM=$(echo "$TOP"/build/rlctl-*.rpm) && [[ -f $RPM ]]; }

# rpmlint's own exit status knows errors only.
test_rpmlint() { has '0 errors, 0 warnings' rpmlint -c packaging/rpmlint.toml "$RPM" build/rpm/rlctl.spec; }

test_build_requires() {
	build_needs 4 "$(sed -n 's/^BuildRequires: *//p' packaging/rlctl.spec)" glibc-devel # by gcc
}

test_holds_all() {
	mkdir "$TMP/rpm" && rpm2cpio "$RPM" | (cd "$TMP/rpm" && cpio -id --quiet) && rm -rf "$TMP/rpm/usr/lib/.build-id" &&
		holds_all "$TMP/rpm" && [[ -x $TMP/rpm/usr/sbin/rlctl && -f $TMP/rpm/usr/lib/systemd/system/rlctl@.service ]]
}

test_install() {
	put /root/rlctl.rpm <"$RPM" && in_root rpm --nodeps -i /root/rlctl.rpm &&
		is "$(installed --version)" "rlctl $VERSION" && installed apply --check /etc/rlctl/example.policy
}

test_upgrade() {
	local id
	echo 'rule any allow' | put /etc/rlctl/veth-B.policy && echo 'rule any deny' | put /etc/rlctl/example.policy &&
		in_root systemctl daemon-reload && unit start && id=$(program) && [[ -n $id ]] && in_root rpm --nodeps --force -U /root/rlctl.rpm &&
		is "$(program)" "$id" && is "$(in_root cat /etc/rlctl/example.policy)" 'rule any deny'
}

# rpm has no purge: a file of the configuration that was changed is kept under another name.
test_remove() {
	in_root test -d /var/lib/rlctl && in_root rpm -e rlctl && is "$(program)" '' && in_root rm /root/rlctl.rpm &&
		in_root test ! -e /var/lib/rlctl &&
		is "$(comm -13 "$TMP/before" <(changed) | tr '\n' ' ')" \
			'/etc/rlctl/example.policy.rpmsave /etc/rlctl/veth-B.policy '
}

t 'the package is built' test_build || exit 1
t 'rpmlint' test_rpmlint
t 'BuildRequires are those of deps.sh' test_build_requires
t 'all that make install installs is in it' test_holds_all
veth_pair A B && boot && changed >"$TMP/before" || exit 1
t 'install' test_install || exit 1
t 'upgrade keeps limits and configuration' test_upgrade
t 'remove detaches' test_remove
halt
