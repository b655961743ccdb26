# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by scripts that need root.

# as_root SCRIPT ARG…: returns if this is root. Otherwise runs SCRIPT again with sudo; if that is not
# installed, prints what to do and fails.
as_root() {
	local name reach=()
	[[ $EUID -ne 0 ]] || return 0
	[[ $1 == */* ]] || set -- "./$1" "${@:2}"
	if ! command -v sudo >/dev/null; then
		echo "${1##*/}: needs root, and sudo is not installed: run it as root, by su -c '$*'" >&2
		return 1
	fi
	for name in http_proxy https_proxy no_proxy; do # sudo drops them
		[[ -z ${!name:-} ]] || reach+=("$name=${!name}")
	done
	[[ ${#reach[@]} -eq 0 ]] || reach=(env "${reach[@]}")
	echo "${1##*/}: needs root: sudo $*" >&2
	exec sudo ${reach[@]+"${reach[@]}"} "$@"
}
