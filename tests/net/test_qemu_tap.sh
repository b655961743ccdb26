#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The tap of a virtual machine that qemu runs, on a bridge: attach 'tap*' holds what the guest sends, --direction to
# what it receives, and nothing stays when the guest is gone. The guest pings 61 times; of the limits, neither gives
# anything back in the time of the test, so that the numbers are exact. check: timeout 240
source "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1

NEEDS='qemu-system-x86_64 busybox cpio depmod xz ip'
SMALL='--sources 1024 --prefixes 1024 --bans 1024'

tap_is_there() { ip -n "$(ns B)" link show tap0; }
attached_are() { is "$(rl B status -j | json 'map(.device + " " + .hook) | join(",")')" "$1"; }

# The guest waits until something is written to its monitor.
guest_start() {
	mkfifo "$TMP/monitor" && exec {MONITOR}<>"$TMP/monitor"
	in_ns B timeout --foreground 90 qemu-system-x86_64 -accel tcg -m 256 -display none -nodefaults -no-user-config \
		-no-reboot -S -monitor stdio -serial "file:$TMP/console" \
		-netdev tap,id=net,ifname=tap0,script=no,downscript=no -device virtio-net-pci,netdev=net,romfile= \
		-kernel "$FILES/vmlinuz" -initrd "$TMP/initrd" \
		-append 'console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 ipv6.disable=1' \
		<"$TMP/monitor" >"$TMP/qemu" 2>&1 &
	GUEST=$!
	_jobs+=("$GUEST")
	eventually 2 tap_is_there && ip -n "$(ns B)" link set tap0 master br0 up
}

# The device comes while the command follows.
test_attach() {
	# shellcheck disable=SC2086 # options
	bg "$RLCTL" -n "$(ns B)" attach 'tap*' $SMALL --policy "$TMP/from" --follow && FOLLOWER=$BG_PID && guest_start &&
		eventually 2 attached_are 'tap0 xdp' && rl B attach 'tap*' --direction to $SMALL --policy "$TMP/to" &&
		attached_are 'tap0 egress,tap0 xdp'
}

is_done() { grep -q '^#### done' "$TMP/console"; }

# packets HOOK: those that passed and those that the limit dropped.
packets() {
	rl B stats -i tap0 --hook "$1" -j | json '.[0].rules[0] | "\(.passed.packets) \(.dropped.packets)"'
}

# 61 pings, of which 20 pass; so 20 answers, of which 10 pass: one before the 60 that the guest counts.
test_limits() {
	echo cont >&"$MONITOR"
	eventually 4 is_done || _say "$(tail -n 20 "$TMP/console" "$TMP/qemu")" || return
	is "$(packets xdp)" '20 41' && is "$(packets egress)" '10 10' &&
		has '60 packets transmitted, 9 packets received' cat "$TMP/console"
}

# The guest switches itself off. doctor may find what is not of this test, in other namespaces.
pins_gone() { [[ ! -e $(ns_pins B)/tap0-xdp && ! -e $(ns_pins B)/tap0-egress ]]; }

test_gone() {
	wait "$GUEST" && expect_fail tap_is_there && eventually 2 pins_gone && attached_are '' &&
		{ rl B doctor >"$TMP/doctor" || true; } && grep -q leftovers "$TMP/doctor" && expect_fail grep tap0 "$TMP/doctor" &&
		kill "$FOLLOWER" && wait "$FOLLOWER"
}

[[ $(uname -m) == x86_64 ]] || { skip qemu-tap 'the guest is of x86-64' && exit 0; }
[[ -c /dev/net/tun ]] || { skip qemu-tap '/dev/net/tun is missing: this kernel or container has no taps' && exit 0; }
# shellcheck disable=SC2086 # several words
missing=$(scripts/deps.sh --missing $NEEDS) || { skip qemu-tap "$missing" && exit 0; }
FILES=$(tests/vm/fetch.sh bookworm) || { skip kernel-6.1 'cannot be had' && exit 0; }
echo 'rule device limit 1/hour burst 20' >"$TMP/from"
echo 'rule device limit 1/hour burst 10' >"$TMP/to"
if ! { ns_new B && ns_mute B && ip -n "$(ns B)" link add br0 type bridge mcast_snooping 0 && ip -n "$(ns B)" addr add 10.78.0.1/24 dev br0 &&
	ip -n "$(ns B)" link set br0 up && tests/vm/image.sh pings "$FILES" "$TMP/initrd"; }; then
	_say 'no bridge, or no guest'
	exit 1
fi
t 'the tap is attached to when it comes' test_attach || exit 1
t 'what the guest sends and what it receives is limited' test_limits
t 'nothing stays when the guest is gone' test_gone
