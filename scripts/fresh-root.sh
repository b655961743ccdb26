#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Proves that a fresh machine can build and check the committed HEAD: installs a minimal Debian 12 in a
# temporary directory, clones the repository into it and runs commands there, in its own mount and pid
# namespaces. Packages come from the sources of this system's apt.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/root.sh"

usage() {
	cat <<-'END'
	Usage: fresh-root.sh [--demo] [--keep] [--mirror URL] [COMMAND…]
	       fresh-root.sh --package [--keep] [--mirror URL]
	Runs each COMMAND (default ./scripts/check.sh) by bash in the fresh clone, in order, and stops
	at the first that fails. --demo runs ./scripts/demo.sh after them; --keep leaves the root.
	--package builds the package here (make deb) and installs it there with apt, on a minimal
	system; then attaches, applies the example and detaches on a veth, upgrades, removes and purges.
	END
}

die() {
	echo "fresh-root.sh: $*" >&2
	exit 1
}

SUITE=bookworm
SOURCE=/usr/src/rlctl # the clone, as seen from inside
# The commands of --package. apt-get installs dependencies from the mirror; rlctl runs in a network
# namespace with a veth only. As in a container, attach does not mount a bpffs, so a command does.
RLCTL='nsenter --net=/run/veth rlctl'
# shellcheck disable=SC2016 # for the inner shell
PACKAGE_COMMANDS=(
	'apt-get update -qq && apt-get install -y -qq --no-install-recommends /root/rlctl.deb'
	"$RLCTL --version && $RLCTL apply --check /etc/rlctl/example.policy"
	"! $RLCTL attach veth0 && mount -t bpf bpf /sys/fs/bpf"
	"$RLCTL attach veth0 --policy /etc/rlctl/example.policy && $RLCTL status && $RLCTL stats"
	"echo 'rule any deny' >/etc/rlctl/veth0.policy && $RLCTL attach veth0 --or-apply --policy /etc/rlctl/veth0.policy"
	"apt-get install -y -qq --reinstall /root/rlctl.deb && $RLCTL show | grep -x 'rule any deny'"
	"$RLCTL detach veth0 && apt-get purge -y -qq rlctl"
	'[[ $(find /etc/rlctl -type f) == /etc/rlctl/veth0.policy && ! -e /usr/sbin/rlctl ]]'
)

# The first of apt's own sources that carries the suite's main component.
find_mirror() {
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
		awk -v suite="$SUITE" '$2 == suite && $3 == "main" && !found { print $1; found = 1 }'
}

use_apt_proxy() {
	local proxy=''
	eval "$(apt-config shell proxy Acquire::http::Proxy)"
	[[ -z $proxy || $proxy == DIRECT ]] || export http_proxy="$proxy" https_proxy="$proxy"
}

# Sources, keys and proxies, without the host's hooks and caches.
copy_apt_configuration() {
	local item
	rm -f "$ROOT/etc/apt/sources.list"
	for item in /etc/apt/{sources.list,sources.list.d,auth.conf,auth.conf.d,keyrings,trusted.gpg,trusted.gpg.d} \
		/usr/share/keyrings /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
		[[ -e $item ]] || continue
		mkdir -p "$ROOT${item%/*}"
		cp -rL "$item" "$ROOT${item%/*}/"
	done
	apt-config dump Acquire | grep -v '^Acquire::IndexTargets' >"$ROOT/etc/apt/apt.conf.d/00host"
}

package_put() {
	local deb
	deb=$(make -s -C "$REPO" deb) || die "the package could not be built"
	cp "$REPO/$deb" "$ROOT/root/rlctl.deb"
}

# shellcheck disable=SC2016 # for the inner shell
veth_make() {
	touch "$ROOT/run/veth"
	unshare --net bash -c 'ip link add veth0 type veth peer name veth1 && ip link set veth0 up &&
		mount --bind /proc/self/ns/net "$1"' _ "$ROOT/run/veth"
}

make_root() {
	echo "fresh-root.sh: installing Debian $SUITE from $MIRROR"
	debootstrap --variant=minbase "$SUITE" "$ROOT" "$MIRROR" >"$ROOT.log" 2>&1 ||
		{ tail -n 20 "$ROOT.log" && die "debootstrap failed"; }
	copy_apt_configuration
	printf '#!/bin/sh\nexit 101\n' >"$ROOT/usr/sbin/policy-rc.d" # packages start no services
	chmod +x "$ROOT/usr/sbin/policy-rc.d"
	git clone --quiet --no-hardlinks "file://$REPO" "$ROOT$SOURCE"
	echo "fresh-root.sh: cloned $(git -C "$ROOT$SOURCE" describe --tags --always)"
}

mount_inside() {
	mount --bind "$ROOT" "$ROOT" # `ip -n` wants a root that is a mount point
	mount -t proc proc "$ROOT/proc"
	mount -t sysfs sysfs "$ROOT/sys"
	mount --rbind /dev "$ROOT/dev"
	[[ ! -e $ROOT/root/rlctl.deb ]] || veth_make
}

# Runs as process 1 of its own namespaces: remaining processes die with it.
run_inside() {
	local command
	mount_inside
	for command in "$@"; do
		echo "fresh-root.sh: $command"
		chroot "$ROOT" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			TERM="${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive LC_ALL=C \
			bash -c "cd $SOURCE && $command" || die "failed: $command"
	done
}

inside=''
cleanup() {
	[[ -z $inside ]] || kill -KILL "$inside" 2>/dev/null || true
	wait 2>/dev/null
	if [[ $keep == 1 ]]; then
		echo "fresh-root.sh: left in $ROOT"
	else
		rm -rf --one-file-system "$ROOT" "$ROOT.log"
	fi
}

main() {
	local demo=0 package=0 commands=() given=("$@")
	keep=0 MIRROR=''
	while [[ $# -gt 0 ]]; do
		case "$1" in
		--demo) demo=1 ;;
		--package) package=1 ;;
		--keep) keep=1 ;;
		--mirror) shift && MIRROR=${1:?--mirror needs a URL} ;;
		-h | --help) usage && exit 0 ;;
		-*) usage >&2 && exit 2 ;;
		*) commands+=("$1") ;;
		esac
		shift
	done
	[[ $package == 0 ]] || commands+=("${PACKAGE_COMMANDS[@]}")
	[[ ${#commands[@]} -gt 0 ]] || commands=(./scripts/check.sh)
	[[ $demo == 0 ]] || commands+=(./scripts/demo.sh)
	as_root "$0" ${given[@]+"${given[@]}"}
	command -v debootstrap >/dev/null || die "debootstrap is missing: ./scripts/deps.sh installs it"
	[[ -n $MIRROR ]] || MIRROR=$(find_mirror)
	[[ -n $MIRROR ]] || die "apt has no source for Debian $SUITE: name one with --mirror URL"
	REPO=$(cd "$(dirname "$0")/.." && pwd)
	ROOT=$(mktemp -d)
	chmod 755 "$ROOT"
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	use_apt_proxy
	make_root
	[[ $package == 0 ]] || package_put
	export ROOT
	unshare --mount --propagation private --pid --fork --kill-child "$0" --inside "${commands[@]}" &
	inside=$!
	wait "$inside"
	inside=''
	echo "fresh-root.sh: all commands passed"
}

if [[ ${1:-} == --inside ]]; then
	shift
	run_inside "$@"
else
	main "$@"
fi
