#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian package: its contents, lintian, and its life in a system of its own: installed, started by
# systemd as the unit says, upgraded, removed, purged. check: timeout 480
source "$(dirname "$0")/lib.sh"

# ---- the package

test_build() {
	make deb && DEB=$(echo "$TOP"/build/rlctl_*.deb) && [[ -f $DEB ]] && is "$(dpkg-deb -f "$DEB" Version)" "$VERSION"
}

test_lintian() { lintian --allow-root --fail-on error,warning build/deb/rlctl_*.changes; }

test_news() { is "$(grep -m 1 '^[0-9]' NEWS)" "$VERSION"; }

test_build_depends() {
	build_needs 3 "$(sed -n '/^Build-Depends:/,/^$/s/^ \([^, ]*\).*/\1/p' debian/control)" \
		'gcc|gzip|make|libc6-dev|linux-libc-dev' # Debian takes these for granted
}

test_holds_all() {
	dpkg-deb -x "$DEB" "$TMP/deb" && holds_all "$TMP/deb" &&
		[[ -x $TMP/deb/usr/sbin/rlctl && -f $TMP/deb/etc/rlctl/example.policy ]]
}

# ---- its life

test_install() {
	put /root/rlctl.deb <"$DEB" && in_root dpkg -i /root/rlctl.deb &&
		is "$(installed --version)" "rlctl $VERSION" && installed apply --check /etc/rlctl/example.policy
}

# An error in a unit's words, a command that is not there.
test_verify() {
	in_root systemd-analyze verify --man=no rlctl@veth0.service rlctl-egress@veth0.service 'rlctl-auto@veth\x2a.service' \
		rlctl-fleet@f.service rlctl-exporter.service rlctl-crowdsec.service rlctl-sets.service \
		rlctl-events@veth0.service rlctl-overload@overload.service rlctl-events.service rlctl-sets.timer rlctl-boot.service
}

# The limit is 0.1 above the present score: a lost directive is noticed.
test_security() {
	in_root systemd-analyze security --offline=true --threshold=26 rlctl@veth0.service &&
		in_root systemd-analyze security --offline=true --threshold=26 rlctl-egress@veth0.service &&
		in_root systemd-analyze security --offline=true --threshold=26 'rlctl-auto@veth\x2a.service' &&
		in_root systemd-analyze security --offline=true --threshold=22 rlctl-fleet@f.service &&
		in_root systemd-analyze security --offline=true --threshold=20 rlctl-exporter.service &&
		in_root systemd-analyze security --offline=true --threshold=20 rlctl-crowdsec.service &&
		in_root systemd-analyze security --offline=true --threshold=22 rlctl-sets.service &&
		in_root systemd-analyze security --offline=true --threshold=24 rlctl-events@veth0.service &&
		in_root systemd-analyze security --offline=true --threshold=23 rlctl-overload@overload.service &&
		in_root systemd-analyze security --offline=true --threshold=21 rlctl-events.service
}

# Without the policy nothing is attached.
test_no_policy() {
	expect_fail unit start && is "$(program)" '' && has veth-B.policy in_root cat /run/rlctl.log
}

test_start() {
	in_root cp /etc/rlctl/example.policy /etc/rlctl/veth-B.policy && unit start && unit_is active &&
		[[ -n $(program) ]] && between "$(installed show | wc -l)" 10 100
}

# The example asks who is established: the first reload ends that, and with it the program that can; the second keeps
# its own.
test_reload() {
	local id rule
	id=$(program) || return
	for rule in 'rule any udp deny' 'rule any deny'; do
		echo "$rule" | put /etc/rlctl/veth-B.policy && unit reload && is "$(installed show)" "$rule" || return
		[[ $rule == *udp* ]] || is "$(program)" "$id" || return
		id=$(program)
	done
}

test_reload_error() {
	echo 'rule any dany' | put /etc/rlctl/veth-B.policy && has dany expect_fail unit reload &&
		is "$(installed show)" 'rule any deny' && unit_is active
}

# A restart applies the policy as a reload does, and no packet passes unlimited; the options stay.
test_restart() {
	local id
	id=$(program) && echo 'rule any icmp deny' | put /etc/rlctl/veth-B.policy && unit restart && unit_is active &&
		is "$(installed show)" 'rule any icmp deny' && is "$(program)" "$id"
}

# still RULE ID LINES: LINES were said last, and rule and program are those of before.
still() {
	is "$(installed show)" "$1" && is "$(program)" "$2" && has "$3" in_root tail -n 3 /run/rlctl.log
}

test_restart_error() {
	local id
	id=$(program) && echo 'rule any dany' | put /etc/rlctl/veth-B.policy && expect_fail unit restart && unit_is activating &&
		still 'rule any icmp deny' "$id" dany && still 'rule any icmp deny' "$id" 'was in force stays in force' &&
		in_root rm /etc/rlctl/veth-B.policy && expect_fail unit start &&
		still 'rule any icmp deny' "$id" 'veth-B.policy: No such file' &&
		echo 'rule any deny' | put /etc/rlctl/veth-B.policy && unit start && unit_is active && still 'rule any deny' "$id" ''
}

# As at a boot: nothing is attached, and the policy has an error since it was last in force. The policy of then is in
# force again, with its bans; the unit is not satisfied, and tries again.
test_last() {
	printf 'set bad\nrule @bad deny\n' | put /etc/rlctl/veth-B.policy && unit restart && installed set add bad 192.0.2.7 &&
		unit stop && is "$(program)" '' && echo 'rule any dany' | put /etc/rlctl/veth-B.policy || return
	expect_fail unit start && unit_is activating && has 'in force last is in force again' in_root tail -n 3 /run/rlctl.log &&
		is "$(installed show)" $'set bad\nrule @bad deny' && is "$(installed set list bad)" 192.0.2.7 || return
	is "$(in_root systemctl show -P Restart -P RestartUSec -P StartLimitBurst "$UNIT" | sort | paste -sd' ')" '10 30s on-failure' &&
		echo 'rule any deny' | put /etc/rlctl/veth-B.policy && unit start && unit_is active && is "$(installed show)" 'rule any deny'
}

test_last_none() {
	unit stop && in_root mv /var/lib/rlctl/veth-B.xdp.last /run/last && echo 'rule any dany' | put /etc/rlctl/veth-B.policy &&
		expect_fail unit start && is "$(program)" '' && has 'no earlier policy' in_root tail -n 3 /run/rlctl.log &&
		in_root mv /run/last /var/lib/rlctl/veth-B.xdp.last && echo 'rule any deny' | put /etc/rlctl/veth-B.policy && unit start
}

# So many failures in a row, and it has failed for good: then OnFailure has its turn.
test_on_failure() {
	local conf='/run/systemd/system/rlctl@.service.d/failure.conf'
	printf '[Unit]\nOnFailure=said.service\n[Service]\nRestartSec=50ms\n' | put "$conf" &&
		printf '[Service]\nType=oneshot\nExecStart=touch /run/said\n' | put /run/systemd/system/said.service &&
		in_root systemctl daemon-reload && echo 'rule any dany' | put /etc/rlctl/veth-B.policy && expect_fail unit restart &&
		eventually 20 unit_is failed && eventually 5 in_root test -e /run/said && is "$(installed show)" 'rule any deny' || return
	in_root rm "$conf" /run/systemd/system/said.service && in_root systemctl daemon-reload &&
		echo 'rule any deny' | put /etc/rlctl/veth-B.policy && unit start
}

test_options() {
	local conf='/run/systemd/system/rlctl@.service.d/options.conf'
	printf '[Service]\nEnvironment="ATTACH_OPTIONS=--sources 1000"\n' | put "$conf" && in_root systemctl daemon-reload &&
		unit restart && has 'with --sources 262144, which stays' in_root tail -n 3 /run/rlctl.log && unit stop &&
		unit start && is "$(installed status -j | json '.[0].sources.capacity')" 1000 || return
	in_root rm "$conf" && in_root systemctl daemon-reload && unit stop && unit start
}

on_egress() { is "$(installed show -i veth-B --hook egress)" "$1"; }

# Beside the unit of what is received, with a policy of its own.
test_egress() {
	echo 'rule any udp deny' | put /etc/rlctl/veth-B.egress.policy && unit start "$EGRESS" && unit_is active "$EGRESS" &&
		on_egress 'rule any udp deny' && is "$(installed show)" 'rule any deny' &&
		echo 'rule any dany' | put /etc/rlctl/veth-B.egress.policy && expect_fail unit reload "$EGRESS" &&
		expect_fail unit restart "$EGRESS" && on_egress 'rule any udp deny' && unit stop && on_egress 'rule any udp deny' &&
		unit start && echo 'rule any sctp deny' | put /etc/rlctl/veth-B.egress.policy && unit start "$EGRESS" &&
		on_egress 'rule any sctp deny' && unit stop "$EGRESS" && is "$(installed show)" 'rule any deny' &&
		is "$(installed status -j | json 'map(.hook) | join(" ")')" xdp && unit_is active &&
		in_root rm /etc/rlctl/veth-B.egress.policy
}

# An sshd of that system, and somebody from A who is logged in there.
log_in() {
	ssh-keygen -q -t ed25519 -N '' -f "$TMP/key" && put /run/key <"$TMP/key" && put /run/key.pub <"$TMP/key.pub" &&
		in_root chmod 600 /run/key && in_root mkdir -p /run/sshd || return
	bg nsenter --all --root --wd --target "$SYSTEM" /usr/sbin/sshd -D -f /dev/null -p 2222 -h /run/key \
		-o AuthorizedKeysFile=/run/key.pub -o StrictModes=no -o PermitRootLogin=yes
	eventually 10 in_ns B sh -c 'ss -Hltn "sport = :2222" | grep -q 2222' || return
	bg in_ns A ssh -q -F none -p 2222 -i "$TMP/key" -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no \
		-o UserKnownHostsFile=/dev/null root@10.77.0.2 'sleep 100'
	eventually 10 logged_in
}
logged_in() { in_root sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" "\n" | grep -q "^sshd: root@"'; }

# A reload is nobody's child but init's: in its sandbox, the unit still finds who is logged in.
test_guard() {
	local conf='/run/systemd/system/rlctl@.service.d/options.conf' id
	echo 'rule any icmp deny' | put /etc/rlctl/veth-B.policy && unit reload && log_in && id=$(program) &&
		echo 'rule any tcp dport 2222 deny' | put /etc/rlctl/veth-B.policy || return
	for verb in reload restart; do
		expect_fail unit "$verb" && has 'denies 10.77.0.1, the source of an open SSH session' in_root tail -n 4 /run/rlctl.log &&
			is "$(installed show)" 'rule any icmp deny' && is "$(program)" "$id" || return
	done
	printf '[Service]\nEnvironment="ATTACH_OPTIONS=--yes"\n' | put "$conf" && in_root systemctl daemon-reload &&
		unit start && is "$(installed show)" 'rule any tcp dport 2222 deny' || return
	in_root rm "$conf" && in_root systemctl daemon-reload && kill -KILL -- "-$BG_PID"
}

# The next version of the package, with another example.
next_version() {
	dpkg-deb -R "$DEB" "$TMP/next" && sed -i "s/^Version: .*/Version: $VERSION+next/" "$TMP/next/DEBIAN/control" &&
		echo '# more' >>"$TMP/next/etc/rlctl/example.policy" && dpkg-deb -b "$TMP/next" "$TMP/next.deb" &&
		put /root/rlctl.deb <"$TMP/next.deb"
}

test_upgrade() {
	local id
	echo 'rule 192.0.2.1 deny' | put /etc/rlctl/veth-B.policy && unit reload && id=$(program) &&
		echo 'rule any allow' | put /etc/rlctl/example.policy && next_version &&
		echo 'rule any dany' | put /etc/rlctl/other.egress.policy &&
		in_root dpkg --force-confold -i /root/rlctl.deb >"$TMP/upgrade" 2>&1 && in_root rm /etc/rlctl/other.egress.policy &&
		has "'rlctl attach DEV --replace'" cat "$TMP/upgrade" &&
		has 'other.egress.policy: this version refuses it' cat "$TMP/upgrade" &&
		is "$(grep -c 'refuses it' "$TMP/upgrade")" 1 || return
	is "$(in_root dpkg-query -W rlctl | cut -f 2)" "$VERSION+next" && is "$(program)" "$id" && unit_is active &&
		is "$(installed show)" 'rule 192.0.2.1 deny' &&
		is "$(in_root cat /etc/rlctl/veth-B.policy)" 'rule 192.0.2.1 deny' &&
		is "$(in_root cat /etc/rlctl/example.policy)" 'rule any allow'
}

test_stop() {
	unit stop && is "$(program)" '' && [[ -z $(in_root find /sys/fs/bpf -name 'veth*') ]]
}

# An instance attached by hand stays, with its state, and gets the policy.
test_start_attached() {
	local id
	installed attach veth-B && installed rule add 192.0.2.2 deny && id=$(program) && unit start && is "$(program)" "$id" &&
		is "$(installed show)" 'rule 192.0.2.1 deny'
}

# The device goes and takes the unit along; one of that name that comes is limited again.
test_device() {
	in_root systemctl enable "$UNIT" && in_ns B ip link del veth-B && eventually 10 unit_is inactive &&
		in_ns B ip link add veth-B type veth peer name veth-C && eventually 10 unit_is active &&
		is "$(installed show)" 'rule 192.0.2.1 deny'
}

exporter_listens() { in_ns B ss -Hltnp | grep -q '"rlctl"'; }

# Within its sandbox, and again after an upgrade of the package.
test_exporter() {
	in_root systemctl start rlctl-exporter && eventually 10 exporter_listens &&
		in_root dpkg --force-confold -i /root/rlctl.deb && eventually 10 exporter_listens
}

# The fleet's agent too, without any Redis: it reads and writes its maps, and goes when it is told.
test_fleet() {
	echo 'RLCTL_REDIS_URL=redis://127.0.0.1:1' | in_root tee /etc/rlctl/fleet-f.env >/dev/null
	in_root systemctl start rlctl-fleet@f && eventually 10 fleet_is_alive true &&
		installed fleet leave && eventually 10 fleet_is_gone && in_root rm /etc/rlctl/fleet-f.env
}
fleet_is_alive() { is "$(installed fleet status -j | json '.[0].alive, .[0].mode' | paste -sd' ')" "$1 local"; }
fleet_is_gone() { is "$(in_root systemctl show -P ActiveState rlctl-fleet@f)" inactive; }

# A program of the operator's runs within the sandbox, as nobody, with a variable and arguments of the configuration.
test_events() {
	# shellcheck disable=SC2016 # for the inner shell
	printf '#!/bin/sh\nsleep 0.1; { echo "$(id -un) $EVENT_WORD $*"; grep CapPrm /proc/self/status; cat; } >&2\n' |
		put /usr/local/bin/told && in_root chmod 755 /usr/local/bin/told &&
		printf '%s\n' EVENTS_PROGRAM=told 'EVENTS_ARGUMENTS=one "two words"' EVENTS_DEVICE=veth-B EVENT_WORD=word |
		put /etc/rlctl/events-mine.conf && in_root systemctl enable --now rlctl-events@mine &&
		eventually 10 told '"event":"apply","device":"veth-B"' && told 'nobody word one two words' &&
		told $'CapPrm:\t0000000000000000' && in_root systemctl stop rlctl-events@mine &&
		is "$(in_root systemctl is-active rlctl-events@mine)" inactive && in_root rm /usr/local/bin/told /etc/rlctl/events-mine.conf
}
# Each time another policy, until one comes after rlctl has begun to watch.
told() {
	installed -q rule add -i veth-B "192.0.2.$((RANDOM % 256))" deny && sleep 0.3 && in_root grep -qF -- "$1" /run/rlctl.log
}

# The package starts it. Its folder takes what was in memory, and what comes.
test_memory() {
	is "$(in_root systemctl is-active rlctl-events)" active && installed -q rule add -i veth-B 192.0.2.99 deny &&
		eventually 10 in_root grep -q '"prefix":"192.0.2.99"' /var/lib/rlctl/events/veth-B-xdp &&
		is "$(in_root stat -c '%a %U' /var/lib/rlctl/events)" '700 root' && [[ $(installed events --only apply --count 1) == *'rule added by root: 192.0.2.99 deny'* ]]
}

# By the unit and by hand: all in this network namespace, not in another. Configuration stays.
test_remove() {
	in_root systemctl enable "$EGRESS" && rl A attach lo --mode generic && installed attach lo --mode generic && in_root dpkg --remove rlctl || return
	is "$(program)$(xdp_program B lo)" '' && is "$(in_root find /sys/fs/bpf -mindepth 2)" '' && rl A show &&
		rl A detach lo && in_root test ! -e /usr/sbin/rlctl -a -e /etc/rlctl/example.policy -a -d /var/lib/rlctl &&
		sets_rest
}
sets_rest() { is "$(in_root systemctl is-active rlctl-sets.timer rlctl-sets.service rlctl-crowdsec.service rlctl-events.service | sort -u)" inactive; }

# The links that `systemctl enable` made are removed too, the administrator's policy stays: nothing else is
# left.
test_purge() {
	[[ $(changed) == *".device.wants/$UNIT"* ]] && in_root dpkg --purge rlctl && in_root rm /root/rlctl.deb || return
	is "$(comm -13 "$TMP/before" <(changed))" /etc/rlctl/veth-B.policy && in_root test ! -e /var/lib/rlctl
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
veth_pair A B && boot && in_root dpkg --purge rlctl 2>"$TMP/purge" && changed >"$TMP/before" || exit 1
t 'install' test_install || exit 1
t 'systemd-analyze verify' test_verify
t 'systemd-analyze security' test_security
t 'start without a policy attaches nothing' test_no_policy
t 'start attaches, with the policy' test_start
t 'reload applies' test_reload
t 'reload with an error changes nothing' test_reload_error
t 'restart applies' test_restart
t 'restart with an error changes nothing' test_restart_error
t 'a boot with an error puts the last policy in force' test_last
t 'a boot with an error, and no last policy' test_last_none
t 'failures in a row are a failure' test_on_failure
t 'other options need stop and start' test_options
t 'the unit of what is sent' test_egress
t 'the guard within the sandbox' test_guard
t 'upgrade keeps limits and configuration' test_upgrade
t 'stop detaches' test_stop
t 'start keeps what is attached' test_start_attached
t 'the unit goes and comes with its device' test_device
! installed help exporter >"$TMP/help" 2>&1 || t 'the exporter runs' test_exporter
t 'the fleet agent runs' test_fleet
t 'programs for events run' test_events
t 'events are kept' test_memory
t 'remove detaches, and keeps the configuration' test_remove
t 'purge leaves only what it did not bring' test_purge
halt
