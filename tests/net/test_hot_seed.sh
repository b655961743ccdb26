#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The seed of the hot table is drawn at every attach: two instances never have the same, nor one that
# was detached and attached again.
source "$(dirname "$0")/../lib.sh"

# seed A DEV: the 128 bits as the instance's map holds them.
seed() {
	bpftool -j map dump pinned "$(ns_pins "$1")/$2-xdp/instance" |
		json '.[0].formatted.value.hot_seed | join(" ")'
}

differ() { [[ -n $1 && $1 != "$2" ]] || _say "the same seed twice: '$1'"; }

test_drawn() { # both words, and not left at zero
	local words
	rl A attach veth-A && read -ra words <<<"$(seed A veth-A)" && rl A detach veth-A || return
	is "${#words[@]}" 2 && differ "${words[0]}" 0 && differ "${words[1]}" 0 &&
		differ "${words[0]}" "${words[1]}"
}

test_two_devices() {
	local a b
	rl A attach veth-A && rl B attach veth-B && a=$(seed A veth-A) && b=$(seed B veth-B) || return
	rl A detach veth-A && rl B detach veth-B && differ "$a" "$b"
}

test_again() {
	local first second
	rl A attach veth-A && first=$(seed A veth-A) && rl A detach veth-A || return
	rl A attach veth-A && second=$(seed A veth-A) && rl A detach veth-A && differ "$first" "$second"
}

veth_pair A B || exit 1
t 'the seed is drawn' test_drawn
t 'two devices' test_two_devices
t 'attached again' test_again
