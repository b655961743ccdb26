#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Process 1 of the guest: runs the test files that /list names and tells what they say, between
# marks, on the second serial line; the first is the kernel's. Then the machine goes off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C
export CMOCKA_MESSAGE_OUTPUT=TAP

make_system() {
	"$(type -P busybox)" --install -s /bin
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t cgroup2 cgroup /sys/fs/cgroup
	mount -t devtmpfs dev /dev
	mount -t tmpfs run /run
	mkdir -p /run/netns
	ip link set lo up
}

load_modules() {
	local module
	while read -r module; do
		insmod "$module"
	done </modules/order
}

program_of() { # FILE: how to run it
	case "$1" in
	*.sh) echo bash "$1" ;;
	*) echo "build/${1%.c}" ;;
	esac
}

# run LIMIT FILE: no file finds what another left pinned, nor a bpffs: as the first run after a boot.
run() {
	local limit=$1 file=$2 start=$SECONDS command
	umount /sys/fs/bpf 2>/dev/null || rm -rf /sys/fs/bpf/*
	read -ra command <<<"$(program_of "$file")"
	echo "#### begin $file"
	timeout -k 5 "$limit" "${command[@]}" </dev/null
	echo "#### end $file $? $limit $((SECONDS - start))"
}

main() {
	local limit file
	make_system
	busybox stty -F /dev/ttyS1 raw -echo
	exec >/dev/ttyS1 2>&1
	load_modules
	cd /rlctl || echo "the archive with the programs is not there"
	echo "#### kernel $(uname -r)"
	while read -r limit file; do
		run "$limit" "$file"
	done </list
	echo "#### done"
	exec >/dev/null 2>&1 # has to be sent first
	busybox poweroff -f
}

main
