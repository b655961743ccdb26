#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The first run: no bpffs is mounted, root may not look at other processes, sudo is there or not. Attach
# mounts a bpffs where the mount lasts, and nowhere else. (The first run of the demo is in test_demo.sh.)
source "$(dirname "$0")/../lib.sh"

REFUSAL="mount bpffs on the host and pass it in with -v $TMP/bpf:$TMP/bpf"

# attach CMD…: an attach whose bpffs is missing, by CMD and without CAP_SYS_PTRACE.
attach() {
	"$@" setpriv --inh-caps=-all --bounding-set=-sys_ptrace \
		nsenter --net="/run/netns/$(ns B)" "$RLCTL" --bpffs "$TMP/bpf" attach veth-B
}

at_work() { rl B --bpffs "$TMP/bpf" status -j | json '.[0].device == "veth-B"'; }
off() { rl B --bpffs "$TMP/bpf" detach veth-B && umount "$TMP/bpf"; }
nothing_done() { is "$(xdp_program B veth-B)" '' && ! mountpoint -q "$TMP/bpf"; }
refuses() { has "$REFUSAL" expect_status 1 "$@" && nothing_done; }

# ---- where it lasts

test_machine() {
	on_machine || { refuses attach && return; }
	attach && at_work && off && nothing_done
}

test_named() { # by -n, which asks the same
	on_machine || { refuses rl B --bpffs "$TMP/bpf" attach veth-B && return; }
	rl B --bpffs "$TMP/bpf" attach veth-B && at_work && off
}

# A mount namespace that ends, but propagates its mounts.
test_propagates() {
	local status=0
	on_machine || return 0
	mount --bind "$TMP/shared" "$TMP/shared" && mount --make-shared "$TMP/shared" || return
	TMP=$TMP/shared attach unshare --mount --propagation unchanged &&
		TMP=$TMP/shared at_work && TMP=$TMP/shared off || status=1
	umount "$TMP/shared" && return "$status"
}

# A container whose process 1 is an init. (It is one by its name.)
test_booted() {
	cp "$(type -P bash)" "$TMP/systemd" &&
		unshare --mount --pid --fork --mount-proc "$TMP/systemd" -c \
			"$(declare -f attach ns at_work off rl json); $(declare -p TMP RLCTL _prefix)
			attach && at_work && off"
}

# ---- where it may end

test_ends() { refuses attach "$@"; }
test_ends_named() { refuses unshare --mount "$RLCTL" -n "$(ns B)" --bpffs "$TMP/bpf" attach veth-B; }

# As a service with PrivateMounts sees them: what is mounted outside arrives, and not the other way.
test_private_mounts() {
	local status=0
	mount --bind "$TMP/shared" "$TMP/shared" && mount --make-shared "$TMP/shared" || return
	has "$REFUSAL" expect_status 1 unshare --mount --propagation slave "$RLCTL" -n "$(ns B)" \
		--bpffs "$TMP/bpf" attach veth-B || status=1
	umount "$TMP/shared" && return "$status"
}

# /proc may hide process 1.
test_hidden() {
	# shellcheck disable=SC2016 # for the inner shell
	refuses attach unshare --mount bash -c 'mount -t proc -o hidepid=invisible proc /proc && exec "$@"' _
}

# The message about `ip netns exec` is still printed.
test_netns_exec() {
	# shellcheck disable=SC2016 # as it is said
	has 'is not a bpffs inside `ip netns exec`: use `rlctl -n NAME`' expect_status 1 setpriv --inh-caps=-all --bounding-set=-sys_ptrace \
		ip netns exec "$(ns B)" "$RLCTL" --bpffs "$TMP/bpf" attach veth-B && nothing_done
}

# ---- a bpffs that is there is taken, wherever it is

test_there() {
	# shellcheck disable=SC2016 # for the inner shell
	in_ns B unshare --mount bash -c 'mount -t bpf bpf "$1" && shift && "$@" attach veth-B &&
		"$@" rule add any deny && "$@" detach veth-B' _ "$TMP/bpf" "$RLCTL" --bpffs "$TMP/bpf"
}

# A command that only reads is not told to mount a bpffs in the usual place; another place is a mistake, and no
# files are hidden by a mount.
test_look() {
	local words=', and one mounted here may vanish'
	! on_machine || words=' ('
	has 'nothing attached' expect_status 1 unshare --mount sh -c 'umount /sys/fs/bpf; exec "$@"' _ \
		"$RLCTL" -n "$(ns B)" show && nothing_done &&
		has "$TMP/bpf is not a bpffs (" expect_status 1 unshare --mount "$RLCTL" -n "$(ns B)" --bpffs "$TMP/bpf" show &&
		has "$TMP is not a bpffs$words" expect_status 1 rl B --bpffs "$TMP" attach veth-B && nothing_done
}

test_doctor() {
	expect_status 1 unshare --mount "$RLCTL" -n "$(ns B)" --bpffs "$TMP/bpf" doctor -j >"$TMP/doctor"
	is "$(json '.[] | select(.check == "bpffs") | .result + " " + .remedy' "$TMP/doctor")" "fail $REFUSAL"
}

# ---- root

# by_user SUDO SCRIPT…: a user runs a script where sudo is there, and only tells what it was to run, or not.
# tmux is missing there, for deps.sh.
by_user() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount bash -c '
		mount --bind /usr/bin "$2/bin" && mount -t tmpfs -o mode=755 tmpfs /usr/bin || exit 100
		"$2/bin/ln" -s "$2"/bin/* /usr/bin/ && rm -f /usr/bin/sudo /usr/bin/tmux && cd "$2" || exit 100
		[[ $1 == no ]] || { printf "#!/bin/sh\necho \"as root: \$*\"\n" >/usr/bin/sudo && chmod 755 /usr/bin/sudo; }
		exec setpriv --reuid=65534 --regid=65534 --clear-groups env -i https_proxy="$3" \
			PATH=/usr/local/bin:/usr/bin:/bin "${@:4}"' _ "$1" "$TMP/tree" "${PROXY:-}" "${@:2}"
}

test_sudo() { # SCRIPT ARG…
	has "as root: $*" by_user yes "$@" && PROXY=http://10.0.0.1 has "as root: env https_proxy=http://10.0.0.1 $*" \
		by_user yes "$@"
}

test_no_sudo() { # SCRIPT ARG…
	has "sudo is not installed: run it as root, by su -c '$*'" expect_status 1 by_user no "$@"
}

test_check_without_root() {
	is "$(by_user no ./scripts/check.sh 2>/dev/null | tail -n 1)" '0 passed, 1 failed, 0 skipped'
}

mounts_leave() { umount -q "$TMP/bpf" "$TMP/shared/bpf" "$TMP/shared"; } # where a row failed
trap 'status=$?; mounts_leave; (exit "$status"); _cleanup' EXIT

veth_pair A B && mkdir -p "$TMP/bpf" "$TMP/shared/bpf" "$TMP/tree/bin" && cp -r "$TOP/scripts" "$TMP/tree" && chmod 755 "$TMP" || exit 1
t 'on the machine' test_machine
t 'by -n' test_named
t 'a mount that propagates' test_propagates
t 'a container that was booted' test_booted
t 'ends: unshare --mount' test_ends unshare --mount
t 'ends: unshare --mount, and -n' test_ends_named
t 'ends: process 1 of a container' test_ends unshare --mount --pid --fork --mount-proc
# shellcheck disable=SC2016 # for the inner shell
t 'ends: a shell in a container' test_ends unshare --mount --pid --fork --mount-proc sh -c '"$@"; exit $?' _
t 'ends: PrivateMounts' test_private_mounts
t 'ends: process 1 is hidden' test_hidden
t 'ip netns exec' test_netns_exec
t 'a bpffs that is there' test_there
t 'who only looks' test_look
t 'doctor' test_doctor
for words in './scripts/demo.sh' './scripts/check.sh units' './scripts/deps.sh --test'; do
	read -ra words <<<"$words"
	t "by sudo: ${words[*]}" test_sudo "${words[@]}"
	t "without sudo: ${words[*]}" test_no_sudo "${words[@]}"
done
t 'the last line of a check without root' test_check_without_root
