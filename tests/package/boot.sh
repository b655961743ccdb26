#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots a systemd of its own in the network namespace it is called in: on this system's root below a
# layer that takes all changes, with nothing started but udev, in cgroup NAME. It sees no disk, its
# /dev has no device, and all of it is gone when it is ended (cgroup_remove in lib.sh takes the rest).
#   boot.sh DIR NAME    DIR is an empty directory. Inside, /run/changed is the layer.
set -e

cgroup_new() {
	mkdir "$dir/cgroup"
	mount -t cgroup2 cgroup2 "$dir/cgroup"
	own=$dir/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/$1
	mkdir "$own"
	echo $$ >"$own/cgroup.procs"
}

layer_mount() {
	mkdir "$dir/disk" "$root"
	mount -t tmpfs tmpfs "$dir/disk"
	mkdir "$dir/disk/upper" "$dir/disk/work"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/disk/upper,workdir=$dir/disk/work" "$root"
}

dev_mount() {
	local name
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	for name in null zero full random urandom tty; do
		touch "$root/dev/$name"
		mount --bind "/dev/$name" "$root/dev/$name"
	done
	mkdir "$root/dev/shm" "$root/dev/pts"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
}

system_mount() {
	mount -t proc proc "$root/proc"
	mount -t sysfs sysfs "$root/sys"
	mount -t bpf bpf "$root/sys/fs/bpf"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	mount -t tmpfs -o mode=755 tmpfs "$root/run"
	mount -t tmpfs tmpfs "$root/tmp"
	mkdir "$root/run/udev" "$root/run/changed"
	touch "$root/run/udev/control" # without it systemd expects no udev, hence no devices
	mount --bind "$dir/disk/upper" "$root/run/changed"
}

# Units that nothing requires are left out; errors of ours go to where a test can read them.
system_bare() {
	local units=$root/run/systemd/system
	rm -rf "$root"/{usr/lib,lib,etc}/systemd/system/*.wants
	find "$root"/usr/lib/udev/rules.d "$root"/etc/udev/rules.d -type f ! -name 99-systemd.rules -delete
	: >"$root/etc/fstab"
	rm -f "$root/usr/sbin/policy-rc.d"       # packages' scripts are to do all they do
	rm -f "$root/var/lib/man-db/auto-update" # takes seconds
	rm -rf "$root/var/lib/rlctl"             # the machine's own
	mkdir -p "$units"/rlctl{@,-egress@,-exporter,-events@}.service.d
	printf '[Unit]\nWants=systemd-udevd.service\nAfter=systemd-udevd.service\n' >"$units/test.target"
	printf '[Service]\nStandardError=append:/run/rlctl.log\n' |
		tee "$units"/rlctl{@,-egress@,-exporter,-events@}.service.d/log.conf >/dev/null
}

dir=$1 root=$1/root
if [[ $2 != --inside ]]; then
	cgroup_new "$2"
	exec unshare --cgroup --pid --fork --kill-child --uts --ipc bash "$0" "$dir" --inside
fi
layer_mount
dev_mount
system_mount
system_bare
cd "$root"
mkdir -p run/old
pivot_root . run/old
umount --lazy run/old
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --unit=test.target --log-target=null
