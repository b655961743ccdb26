#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Holds, until it is ended, a root that costs nothing: this system's own below a layer that takes all
# changes. Only its own mount namespace sees it; DIR/ready says that it is there.
#   DIR/disk/upper  what was changed      DIR/root  where to chroot
set -e
dir=$1
mkdir "$dir/disk" "$dir/root"
mount -t tmpfs tmpfs "$dir/disk"
mkdir "$dir/disk/upper" "$dir/disk/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/disk/upper,workdir=$dir/disk/work" "$dir/root"
for folder in dev proc sys; do
	mount --rbind "/$folder" "$dir/root/$folder"
done
for folder in run tmp; do
	mount -t tmpfs tmpfs "$dir/root/$folder"
done
touch "$dir/ready"
exec sleep infinity
