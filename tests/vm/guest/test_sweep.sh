#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A namespace without a name, whose limiter is behind libxdp's dispatcher beside a foreign program. Both stay,
# whatever is attached and detached elsewhere, also by a process that may not look into other processes. When
# nothing holds the dispatcher any more its pins are removed. Each row continues from the state of the row
# before.
source "$(dirname "$0")/guest.sh"

ALIEN=$TOP/build/receiver.bpf.o
ALIEN_NAME=receiver_pass
MOUNTED=$TMP/netns # as container engines mount theirs, outside of /run/netns

inside() { nsenter --net="$NETNS" "$@"; }

# elsewhere VERB…: rlctl on another device, as somebody without CAP_SYS_PTRACE runs it.
elsewhere() { in_ns B setpriv --inh-caps=-all --bounding-set=-sys_ptrace -- "$RLCTL" "$@" --hook ingress; }

swept() { elsewhere attach other && elsewhere detach other; }

alien_seen() { bpftool -j map dump id "$ALIEN_MAP" | json '[.[].formatted.values[].value.packets] | add'; }

# holds CMD…: of a ping that ours refuses theirs, which stands before it, sees the packets; CMD enters the
# namespace of the device.
holds() {
	local seen
	is "$("$@" xdp-loader status veth-C | awk '$1 == "=>" { print $3 }' | paste -sd ' ')" \
		"$ALIEN_NAME rlctl_xdp" && seen=$(alien_seen) || return
	! in_ns A ping -qc 3 -i 0.1 -W 1 10.77.0.2 && [[ $(alien_seen) -ge $((seen + 3)) ]]
}

dispatchers() { find "$BPFFS/xdp" -name 'dispatch-*' 2>/dev/null; }

put_both() { # CMD…
	"$@" "$RLCTL" attach veth-C --policy "$TMP/policy" &&
		"$@" xdp-loader load veth-C "$ALIEN" -n "$ALIEN_NAME" -P 5 -m native || return
	ALIEN_MAP=$("$@" xdp-loader status veth-C | awk -v name="$ALIEN_NAME" '$3 == name { print $4 }') &&
		ALIEN_MAP=$(bpftool -j prog show id "$ALIEN_MAP" | json '.map_ids[0]')
}

# A process is all that holds it.
test_process() {
	bg nsenter --net="/run/netns/$(ns C)" sleep infinity
	NETNS=/proc/$BG_PID/ns/net HOLDER=$BG_PID
	eventually 5 entered && PINS=$(ns_pins C) && ip netns del "$(ns C)" && holds inside && swept && holds inside &&
		is "$(inside "$RLCTL" show)" 'rule any icmp deny'
}
entered() { is "$(stat -L -c %i "$NETNS")" "$(stat -L -c %i "/run/netns/$(ns C)")"; }

test_mount() {
	: >"$MOUNTED" && mount --bind "$NETNS" "$MOUNTED" && NETNS=$MOUNTED && kill -KILL "$HOLDER" &&
		eventually 5 ended "$HOLDER" && swept && holds inside
}
ended() { [[ ! -e /proc/$1/ns/net ]]; }

test_descriptor() {
	exec {HELD}<"$MOUNTED" && umount -l "$MOUNTED" && NETNS=/proc/$$/fd/$HELD && swept && holds inside
}

# The device goes on, elsewhere, with both programs on it. Ours is detached where it was.
test_moved() {
	inside ip link set veth-C netns "/run/netns/$(ns D)" && ip -n "$(ns D)" addr add 10.77.0.2/24 dev veth-C &&
		ip -n "$(ns D)" link set veth-C up && in_ns A ip neigh flush dev veth-A && holds in_ns D &&
		inside "$RLCTL" detach veth-C && [[ ! -e $PINS ]] && holds in_ns D &&
		in_ns D xdp-loader unload veth-C -a && is "$(dispatchers)" ''
}

# While another process holds libxdp's lock, its pins are left alone.
test_locked() {
	local status=0
	put_both in_ns D && in_ns D ip link set veth-C xdp off && exec {LOCK}<"$BPFFS/xdp" && flock "$LOCK" || return
	! timeout 3 "$RLCTL" -n "$(ns D)" detach veth-C && [[ $(dispatchers) ]] || status=1
	exec {LOCK}<&-
	rl D detach veth-C && is "$(dispatchers)" '' && return "$status"
}

# The namespace ends, and its device with it: nothing is left, but the programs' pins hold them.
test_ended() {
	put_both in_ns D && PINS=$(ns_pins D) && ip netns del "$(ns D)" && eventually 10 device_gone && [[ $(dispatchers) ]] &&
		has "$PINS/veth-C-xdp: the namespace is gone" rl B doctor && swept && [[ ! -e $PINS ]] && is "$(dispatchers)" ''
}
device_gone() { ! in_ns A ip link show veth-A; }

veth_pair A C && ns_new B D && ip -n "$(ns B)" link add other type veth peer name other-end &&
	echo 'rule any icmp deny' >"$TMP/policy" && NETNS=/run/netns/$(ns C) && put_both inside || exit 1
t 'held by a process' test_process
t 'held by a mount' test_mount
t 'held by a descriptor' test_descriptor
t 'the device went elsewhere' test_moved
t "libxdp's lock" test_locked
t 'the namespace ended' test_ended
