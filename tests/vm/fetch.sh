#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Fetches the newest cloud kernel of a Debian suite into the cache and prints its directory there: vmlinuz,
# lib/modules/VERSION. apt downloads it from this system's own mirror and verifies its signature; the mirror
# is asked once a day, and if it does not answer, the cached kernel is used.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/archive.sh"

IMAGE=linux-image-cloud-amd64 # depends on the newest one
FRESH_MINUTES=1440

usage() {
	cat <<-'END'
	Usage: fetch.sh SUITE    bookworm, trixie, sid
	The cache is $XDG_CACHE_HOME/rlctl-vm, or /var/cache/rlctl-vm for root.
	END
}

say() { echo "fetch.sh: $SUITE: $*" >&2; }

die() {
	say "$@"
	exit 1
}

cache_folder() {
	if [[ -n ${XDG_CACHE_HOME:-} ]]; then
		echo "$XDG_CACHE_HOME/rlctl-vm"
	elif [[ $EUID -eq 0 ]]; then
		echo /var/cache/rlctl-vm
	else
		echo "$HOME/.cache/rlctl-vm"
	fi
}

# The packages that hold the files: one, or several that the image depends on.
packages() {
	apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
		--no-replaces --no-enhances "$IMAGE" |
		grep -E '^linux-(image|binary|modules|base)-[0-9].*-cloud-amd64$' | sort -u
}

update() { # FOLDER
	apt_new "$1/apt" "$SUITE"
	apt-get update --error-on=any >"$1/log" 2>&1 || { complain "$1/log" && return 1; }
	packages >"$1/packages" || { say "has no $IMAGE" && return 1; }
	xargs apt-cache show --no-all-versions <"$1/packages" | grep ^Filename: >"$1/files"
}

# ---- the cache

unpack() { # FOLDER
	local package version
	mkdir "$1/debs" "$1/tree"
	(cd "$1/debs" && xargs apt-get download -q <"$1/packages" >"$1/log" 2>&1) ||
		{ complain "$1/log" && return 1; }
	for package in "$1/debs/"*.deb; do
		dpkg-deb -x "$package" "$1/tree" || return
	done
	mkdir -p "$1/kernel/lib"
	mv "$1"/tree/{,usr/}lib/modules "$1/kernel/lib/" 2>/dev/null || true # in one of the two
	version=$(ls "$1/kernel/lib/modules") && depmod -b "$1/kernel" "$version" || return
	mv "$1"/tree/boot/vmlinuz-* "$1/kernel/vmlinuz" 2>/dev/null ||
		mv "$1/kernel/lib/modules/$version/vmlinuz" "$1/kernel/vmlinuz" || return
	cp "$1/files" "$1/kernel/files"
}

refresh() { # FOLDER
	update "$1" || return
	cmp -s "$1/files" "$KERNEL/files" && return
	say "downloading $(grep -o 'linux-[^/]*$' "$1/files" | paste -sd ' ')"
	unpack "$1" || return
	rm -rf "$KERNEL" && mv "$1/kernel" "$KERNEL"
}

fresh() { [[ -n $(find "$KERNEL/files" -mmin "-$FRESH_MINUTES" 2>/dev/null) ]]; }

main() {
	local cache work
	[[ $# -eq 1 ]] || { usage >&2 && exit 2; }
	[[ $1 != -h && $1 != --help ]] || { usage && exit 0; }
	SUITE=$1
	"$(dirname "$0")/../../scripts/deps.sh" --missing apt-get dpkg-deb debian-archive-keyring.gpg depmod >&2 || exit 1
	cache=$(cache_folder)
	KERNEL=$cache/$SUITE
	mkdir -p "$cache"
	exec 9>"$cache/$SUITE.lock" && flock 9
	if ! fresh; then
		work=$(mktemp -d "$cache/$SUITE.XXXXXX") && chmod 755 "$work"
		# shellcheck disable=SC2064 # the folder as it is now
		trap "rm -rf '$work'" EXIT
		if refresh "$work"; then
			touch "$KERNEL/files"
		else
			[[ -e $KERNEL/vmlinuz ]] || die "no kernel: apt cannot download it, and $cache has none"
			say "taking the kernel that $cache has"
		fi
	fi
	echo "$KERNEL"
}

main "$@"
