#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Writers, readers and devices that come and go, all at once: races.py. For some seconds; RACES_S and
# RACES_RATE say for how long and against how many packets a second.
source "$(dirname "$0")/../lib.sh"

veth_pair A B 2 && veth_quiet A B && ns_mute A && ns_mute B && mkdir "$TMP/bpffs" || exit 1
FLOOD="nsenter --net=/run/netns/$(ns A) $TOP/build/flood -i veth-A -j"
export FLOOD
# shellcheck disable=SC2016 # the words are those of the inner shell
unshare --mount sh -c 'mount -t bpf bpf "$0" && exec "$@"' "$TMP/bpffs" \
	python3 "$TOP/tests/net/races.py" "$(ns B)" veth-B "$TMP/bpffs" "$RLCTL" "$TOP/build/inject"
