#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# For `make static`, which links the static archives of the distribution's packages. No package of Debian 12 has a
# libmnl.a: that of Debian 13 is taken, which calls nothing that is newer than the libc of either.
set -euo pipefail
export LC_ALL=C
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/archive.sh"

usage() {
	cat <<-'END'
	Usage: static.sh CC FOLDER    puts libmnl.a into the folder, if the compiler finds none
	END
}

main() {
	local work
	[[ $# -eq 2 ]] || { usage >&2 && exit 2; }
	mkdir -p "$2"
	[[ $("$1" -print-file-name=libmnl.a) != */* ]] || return 0
	work=$(mktemp -d) && chmod 755 "$work"
	# shellcheck disable=SC2064 # the folder as it is now
	trap "rm -rf '$work'" EXIT
	ARCHITECTURE=$(dpkg --print-architecture)
	if ! package_unpack "$work" trixie libmnl-dev "$work/files"; then
		echo 'static.sh: libmnl.a is missing: build libmnl with --enable-static and install it' >&2
		exit 1
	fi
	cp "$work"/files/usr/lib/*/libmnl.a "$2/"
}

main "$@"
