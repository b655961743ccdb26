#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that systemd boots, with a network card that udev finds and systemd-networkd gives an address: it is limited
# before, by the units as they are installed; and where a policy has an error, the last one is in force. No machine's
# load makes it late: its time is the number of instructions. check: idle check: timeout 1200
source "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1

NEEDS='qemu-system-x86_64 busybox cpio depmod xz ip systemd-analyze udevadm /usr/lib/systemd/systemd-networkd'

boot() {
	local files=$1
	tests/vm/image.sh system "$files" "$TMP/initrd" &&
		qemu-system-x86_64 -accel tcg -m 1024 -display none -nodefaults -no-user-config -no-reboot \
			-icount shift=1,sleep=off -smp 1 -netdev hubport,id=net,hubid=0 -device virtio-net-pci,netdev=net \
			-kernel "$files/vmlinuz" -initrd "$TMP/initrd" \
			-append 'console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0' \
			-serial "file:$TMP/console" -serial "file:$TMP/results"
	tr -d '\r' <"$TMP/results" >"$TMP/report"
	grep -qx '#### done' "$TMP/report" || _say "$(tail -n 20 "$TMP/console")"
}

# part NAME: what the guest says under this mark.
part() { awk -v mark="#### $1" '/^####/ { here = $0 == mark; next } here' "$TMP/report"; }

# value UNIT PROPERTY
value() { part "unit $1" | sed -n "s/^$2=//p"; }

# first PATTERN: the line of the monitor that has it first.
first() { part monitor | grep -nm 1 -- "$1" | cut -d : -f 1; }

test_before_address() {
	local limited address
	part monitor # for who reads a failure
	limited=$(first 'eth0.* xdp/id:') && address=$(first 'inet 10.0.0.2/24') &&
		between "$limited" 1 $((address - 1)) && is "$(part xdp)" 'rule any limit 1000/second burst 100'
}

# Both units are done before networkd begins.
test_before_networkd() {
	local unit networkd
	networkd=$(value systemd-networkd ExecMainStartTimestampMonotonic)
	for unit in rlctl@eth0 rlctl-egress@eth0; do
		between "$(value "$unit" ExecMainExitTimestampMonotonic)" 1 "$networkd" || return
	done
	is "$(value rlctl@eth0 ActiveState)" active && is "$(value rlctl-boot ActiveState)" active
}

test_last() {
	part log | tee "$TMP/log"
	is "$(part egress)" 'rule 192.0.2.0/24 deny' && is "$(value rlctl-egress@eth0 ExecMainStatus)" 1 &&
		is "$(value rlctl-egress@eth0 Result)" exit-code &&
		grep -q 'in force last is in force again, /var/lib/rlctl/eth0.egress.last' "$TMP/log" &&
		! grep -q 'opening the instance failed' "$TMP/log"
}

[[ $(uname -m) == x86_64 ]] || { skip boot 'the guest is of x86-64' && exit 0; }
# shellcheck disable=SC2086 # several words
missing=$(scripts/deps.sh --missing $NEEDS) || { skip boot "$missing" && exit 0; }
FILES=$(tests/vm/fetch.sh bookworm) || { skip kernel-6.1 'cannot be had' && exit 0; }
t 'the guest boots' boot "$FILES" || exit 1
t 'limited before its first address' test_before_address
t 'limited before systemd-networkd begins' test_before_networkd
t 'an error in a policy leaves the last one in force' test_last
