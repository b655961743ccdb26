#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Containers that podman makes, at the bridge that it makes (docs/hosting.md): each is held at its veth, each gets what the
# bridge lets it have, and one that ends leaves nothing. The images come from no registry: their root is busybox.
# check: timeout 180
source "$(dirname "$0")/../lib.sh"

# Its network namespace is B, its mounts are its own: all of cgroup v2, and no file of the machine's podman.
podman_begin() {
	local dir
	mkdir -p "$TMP"/root/{bin,proc,dev,sys,etc,tmp,run} && cp /bin/busybox "$TMP/root/bin/busybox" || return
	for dir in ping sleep sh; do ln -s busybox "$TMP/root/bin/$dir" || return; done
	# shellcheck disable=SC2016 # $0 is for the inner one
	bg unshare -m bash -c 'mount -t cgroup2 none /sys/fs/cgroup && mkdir -p /var/lib/cni /etc/containers/networks &&
		mount -t tmpfs none /var/lib/cni && mount -t tmpfs none /etc/containers/networks && touch "$0" && exec sleep 170' "$TMP/ready"
	HOLDER=$BG_PID
	eventually 10 test -e "$TMP/ready"
}
in_podman() {
	nsenter --target "$HOLDER" --mount "--net=/run/netns/$(ns B)" podman --root "$TMP/storage" --runroot "$TMP/run" \
		--cgroup-manager cgroupfs --storage-driver vfs --events-backend none "$@"
}
container() {
	in_podman run -d --cap-add NET_RAW --cgroups=disabled --pids-limit 0 --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --name "$1" \
		--rootfs "$TMP/root" /bin/sleep 100
}
bridge() { ip -n "$(ns B)" -o link show type bridge | sed -n 's/^[0-9]*: \([^:@]*\).*/\1/p'; }
# answered CONTAINER COUNT: how many pings of the bridge's address are.
answered() {
	in_podman exec "$1" ping -q -c "$2" -i 0.01 -W 1 "$GATEWAY" | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}
instances() { is "$(rl B status -j | json 'length')" "$1"; }

pins() { find "$(ns_pins B)" -mindepth 1 -maxdepth 1 2>/dev/null | grep .; }

test_containers() {
	container one && container two && GATEWAY=$(ip -n "$(ns B)" -j addr show "$(bridge)" | json '.[0].addr_info[0].local') &&
		[[ $(bridge) == *podman* ]] && is "$(answered one 3)" 3
}

test_each_veth() {
	echo 'rule any icmp limit 20/second burst 20' >"$TMP/policy"
	rl B attach 'veth*' --policy "$TMP/policy" && instances 2 && between "$(answered one 200)" 20 150 && is "$(answered two 15)" 15
}

test_bridge() {
	rl B detach 'veth*' && rl B attach "$(bridge)" --direction to --policy "$TMP/policy" &&
		between "$(answered one 200)" 20 150 && is "$(answered two 15)" 15 && rl B detach "$(bridge)" --direction to
}

# One that ends takes its instance along, and the other keeps its own. The next attach clears the pins.
test_ended() {
	rl B attach 'veth*' --policy "$TMP/policy" && in_podman rm -f -t 0 one && eventually 10 instances 1 && is "$(answered two 15)" 15
}

test_another() {
	container three && rl B attach 'veth*' --policy "$TMP/policy" --or-apply && instances 2 && is "$(pins | wc -l)" 2 &&
		between "$(answered three 200)" 20 150
}

test_none() {
	in_podman rm -f -t 0 two three && eventually 10 instances 0 && rl B attach "$(bridge)" && is "$(pins | wc -l)" 1 &&
		rl B detach "$(bridge)" && ! pins
}

ns_new B && ip -n "$(ns B)" link set lo up && podman_begin || exit 1
t 'podman makes containers and a bridge' test_containers
t 'each is held at its veth' test_each_veth
t 'each is held at the bridge' test_bridge
t 'one that ends leaves nothing' test_ended
t 'another one' test_another
t 'the last one leaves nothing' test_none
