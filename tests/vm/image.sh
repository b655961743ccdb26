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
	       image.sh pings KERNEL ARCHIVE     busybox, and a guest that pings the host by its network card
	       image.sh system KERNEL ARCHIVE    this system's systemd and networkd, and what make install installs
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
setpriv umount wc wg paste xargs xdp-filter xdp-loader'

# Loaded at boot with what they need, for nothing in the guest loads them by need.
MODULES='veth dummy 8021q bridge bonding sch_ingress sch_fq cls_bpf cls_matchall act_bpf act_gact act_police
ipip sit ip_gre ip6_gre wireguard nft_ct inet_diag tcp_diag udp_diag'

# put FILE…: into the root, at the path it has here.
put() { cp -L --parents -t "$ROOT" "$@"; }

# put_libraries FILE…: every library that the loader would take for them; a script and a static program have none.
put_libraries() {
	local file library
	for file in "$@"; do
		ldd "$file" 2>/dev/null || true
	done | { grep -oE '/[^ ]+\.so[^ ]*' || true; } | sort -u | while read -r library; do
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
	cp -r --parents -t "$ROOT/rlctl" "${built[@]}" build/*.bpf.o tests policies
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

# ---- a guest that pings

put_pings() { # KERNEL
	local busybox
	busybox=$(type -P busybox)
	mkdir "$ROOT"/{bin,proc,sys,dev}
	put "$busybox" && put_libraries "$busybox"
	[[ -e $ROOT/bin/busybox ]] || ln -s "$busybox" "$ROOT/bin/busybox"
	ln -s busybox "$ROOT/bin/sh"
	MODULES='virtio_pci virtio_net' && put_modules "$1"
	cp tests/vm/guest/pings.sh "$ROOT/init"
}

# ---- a guest that systemd boots

UDEV_RULES='50-udev-default 80-drivers 80-net-setup-link 99-systemd'
DRIVERS='virtio_pci virtio_net sch_ingress cls_bpf'
# Those of the users here that programs ask for.
USERS='root nobody nogroup systemd-network'

# put_systemd: its programs, its targets, and the units that bring up devices and the network.
put_systemd() {
	local lib=/usr/lib/systemd files rule tool
	mkdir -p "$ROOT"/usr/{bin,sbin,lib,lib64} "$ROOT"/{etc,dev,proc,run,sys,tmp,root,var/tmp,var/lib}
	ln -s usr/bin usr/sbin usr/lib usr/lib64 "$ROOT"
	files=("$lib"/{systemd,systemd-networkd,systemd-udevd} "$(type -P udevadm)" "$(type -P systemctl)"
		"$(type -P ip)" "$(type -P modprobe)"
		"$(type -P busybox)")
	[[ ! -e $lib/systemd-executor ]] || files+=("$lib/systemd-executor")
	put "${files[@]}" && put_libraries "${files[@]}" build/rlctl
	for tool in sh cat grep sleep; do
		ln -s busybox "$ROOT/bin/$tool"
	done
	put "$lib"/system/*.target "$lib"/system/systemd-{udevd*,udev-trigger.service,networkd.service,networkd.socket}
	for rule in $UDEV_RULES; do
		put "${lib%/systemd}/udev/rules.d/$rule.rules"
	done
	put_xdp_objects
	chmod 755 "$ROOT" && ln -s "$lib/systemd" "$ROOT/init"
	# shellcheck disable=SC2086 # words
	printf '^%s:\n' $USERS >"$ROOT/users"
	grep -f "$ROOT/users" /etc/passwd >"$ROOT/etc/passwd"
	grep -f "$ROOT/users" /etc/group >"$ROOT/etc/group"
	rm "$ROOT/users"
	echo 'PRETTY_NAME=guest' >"$ROOT/etc/os-release"
	echo 0123456789abcdef0123456789abcdef >"$ROOT/etc/machine-id"
}

# put_drivers KERNEL: of the network card and of tc, for udev and the kernel to load.
put_drivers() {
	local version driver
	version=$(ls "$1/lib/modules")
	mkdir -p "$ROOT/lib/modules/$version"
	cp "$1/lib/modules/$version"/modules.* "$ROOT/lib/modules/$version/"
	for driver in $DRIVERS; do
		modprobe -d "$1" -S "$version" --show-depends "$driver"
	done | awk '$1 == "insmod" { print $2 }' | sort -u | (cd "$1" && sed "s,^$1/,," | xargs cp --parents -t "$ROOT")
}

# enable UNIT WANTED-BY
enable() {
	mkdir -p "$ROOT/etc/systemd/system/$2.wants"
	ln -s "/usr/lib/systemd/system/$1" "$ROOT/etc/systemd/system/$2.wants/$1"
}

# put_limits: rlctl as make install puts it there, and units enabled as systemctl enable does.
put_limits() {
	local device=sys-subsystem-net-devices-eth0.device
	make -s -o build/rlctl install DESTDIR="$ROOT" PREFIX=/usr V=1 >/dev/null
	rm -rf "${ROOT:?}/usr/share"
	mkdir -p "$ROOT/etc/systemd/network" "$ROOT/etc/systemd/system"/rlctl{,-egress}@.service.d "$ROOT/var/lib/rlctl"
	cp tests/vm/guest/boot/*.service "$ROOT/usr/lib/systemd/system/" && cp tests/vm/guest/boot/report.sh "$ROOT/"
	printf '[Service]\nStandardError=append:/run/rlctl.log\n' |
		tee "$ROOT/etc/systemd/system"/rlctl{,-egress}@.service.d/log.conf >/dev/null
	printf '[Match]\nName=eth0\n[Network]\nAddress=10.0.0.2/24\nConfigureWithoutCarrier=yes\nLinkLocalAddressing=no\n' \
		>"$ROOT/etc/systemd/network/eth0.network"
	enable rlctl@eth0.service "$device" && enable rlctl-egress@eth0.service "$device" &&
		enable rlctl-boot.service multi-user.target && enable systemd-networkd.service multi-user.target &&
		enable systemd-udev-trigger.service sysinit.target && enable report.service multi-user.target
	cp tests/vm/guest/boot/eth0.policy tests/vm/guest/boot/eth0.egress.policy "$ROOT/etc/rlctl/"
	cp tests/vm/guest/boot/eth0.egress.last "$ROOT/var/lib/rlctl/"
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
pings:3)
	put_pings "$2"
	archive "$3"
	;;
system:3)
	put_systemd
	put_drivers "$2"
	put_limits
	archive "$3"
	;;
-h:1 | --help:1) usage ;;
*) usage >&2 && exit 2 ;;
esac
