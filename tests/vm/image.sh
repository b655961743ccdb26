#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes what a guest boots into, as two archives that the kernel unpacks one after the other: the
# programs and tests, the same for all kernels, and one kernel's modules.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

usage() {
	cat <<-'END'
	Usage: image.sh programs ARCHIVE         what was built, the tests, and the tools they call
	       image.sh modules KERNEL ARCHIVE   of the kernel in the folder that fetch.sh names
	Paths are absolute.
	END
}

die() {
	echo "image.sh: $*" >&2
	exit 1
}

cd "$(dirname "$0")/../.."

# Busybox stands in for the rest.
TOOLS='bash awk basename bpftool cat cmp cp cut dirname env ethtool find grep head ip jq kill ls mkdir mktemp
flock mount nft nice nproc nsenter nstat ping ps readlink rm sed sleep sort ss stat sysctl tail tc timeout touch tr
setpriv umount wc paste xargs xdp-filter xdp-loader'

# Loaded at boot with what they need, for nothing in the guest loads them by need.
MODULES='veth dummy 8021q bridge bonding sch_ingress sch_fq cls_bpf cls_matchall act_bpf act_gact act_police
ipip sit ip_gre ip6_gre wireguard nft_ct'

# put FILE…: into the root, at the path it has here.
put() { cp -L --parents -t "$ROOT" "$@"; }

# put_libraries FILE…: every library that the loader would take for them; a script has none.
put_libraries() {
	local file library
	for file in "$@"; do
		ldd "$file" 2>/dev/null || true
	done | grep -oE '/[^ ]+\.so[^ ]*' | sort -u | while read -r library; do
		put "$library"
	done
}

put_tools() {
	local tool path files=()
	for tool in $TOOLS; do
		path=$(command -v "$tool") || die "$tool is missing: ./scripts/deps.sh"
		[[ $path == /* ]] || path=$(type -P "$tool") # a builtin of this shell
		files+=("$path")
	done
	files+=("$(type -P busybox)")
	put "${files[@]}" && put_libraries "${files[@]}"
	[[ -e $ROOT/bin/bash ]] || ln -s "$(type -P bash)" "$ROOT/bin/bash" # where scripts expect it
}

# The directory that libxdp searches for its dispatcher, and xdp-filter for its programs.
put_xdp_objects() {
	local object
	object=$(find /usr/lib /usr/lib64 -name xdp-dispatcher.o -print -quit 2>/dev/null)
	[[ -n $object ]] || die "libxdp's xdp-dispatcher.o is missing"
	put "${object%/*}"/xdp*.o
}

put_project() {
	local built
	mapfile -t built < <(find build -maxdepth 1 -type f -perm -u+x && find build/tests/prog -type f -perm -u+x)
	put_libraries "${built[@]}"
	mkdir "$ROOT/rlctl"
	cp -r --parents -t "$ROOT/rlctl" "${built[@]}" build/*.bpf.o tests
	cp tests/vm/guest/init.sh "$ROOT/init"
}

# modules_of KERNEL: the files to load, in order.
modules_of() {
	local version module
	version=$(ls "$1/lib/modules")
	for module in $MODULES; do
		modprobe -d "$1" -S "$version" --show-depends "$module" || die "$version has no module $module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

put_modules() { # KERNEL
	local file name
	mkdir "$ROOT/modules"
	modules_of "$1" >"$ROOT/files"
	while read -r file; do
		name=$(basename "$file")
		case "$name" in
		*.xz) xz -dc "$file" >"$ROOT/modules/${name%.xz}" ;;
		*.zst) zstd -qdc "$file" >"$ROOT/modules/${name%.zst}" ;;
		*) cp "$file" "$ROOT/modules/" ;;
		esac
		echo "/modules/${name%.ko*}.ko" >>"$ROOT/modules/order"
	done <"$ROOT/files"
	rm "$ROOT/files"
}

archive() { # FILE
	(cd "$ROOT" && find . | cpio --quiet -o -H newc) >"$1.new" && mv "$1.new" "$1"
}

ROOT=$(mktemp -d)
trap 'rm -rf "$ROOT"' EXIT
case "${1:-}:$#" in
programs:2)
	mkdir "$ROOT"/{bin,dev,proc,run,sys,tmp,root}
	put_tools
	put_xdp_objects
	put_project
	archive "$2"
	;;
modules:3)
	put_modules "$2"
	archive "$3"
	;;
-h:1 | --help:1) usage ;;
*) usage >&2 && exit 2 ;;
esac
