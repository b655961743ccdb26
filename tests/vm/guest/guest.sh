# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the tests that run only in a guest: lib.sh, and helpers for kernels whose XDP programs run in
# sequence behind libxdp's dispatcher.
source "$(dirname "${BASH_SOURCE[0]}")/../../lib.sh"

# names B DEV: the programs of libxdp on the device in their order, "rlctl_xdp receiver_pass".
names() {
	in_ns "$1" xdp-loader status "$2" | awk '$1 == "=>" { print $3 }' | paste -sd ' '
}

# id_of B DEV NAME: the id of one of them, by which xdp-loader takes it off.
id_of() {
	in_ns "$1" xdp-loader status "$2" | awk -v name="$3" '$1 == "=>" && $3 == name { print $4 }'
}

# dispatched B DEV: the program on the device itself is the dispatcher.
dispatched() {
	is "$(bpftool -j prog show id "$(xdp_program "$1" "$2")" | json .name)" xdp_dispatcher
}

# nothing_left B DEV: no program, no pin of ours or libxdp's.
nothing_left() {
	is "$(xdp_program "$1" "$2")" '' && [[ ! -e $(ns_pins "$1") ]] &&
		is "$(find "$BPFFS/xdp" -mindepth 1 -path '*dispatch*' 2>/dev/null)" ''
}

# maps_gone ID…: no such maps in the kernel; a map goes some time after its last user.
maps_gone() {
	local id
	for id in "$@"; do
		! bpftool map show id "$id" 2>/dev/null || return
	done
}
