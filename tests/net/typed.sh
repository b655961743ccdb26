# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by tests that type the documents' commands as they are written: a place in which that works, namespace B,
# whose device is called eth0, at the end of a cable from A.
# shellcheck source=tests/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# shellcheck disable=SC2034 # for those who source it
SMOOTH=(--batch 16) # of a flood, so that no queue overflows

typed_place() {
	veth_pair A B && ip -n "$(ns B)" link set veth-B down name eth0 && ip -n "$(ns B)" link set eth0 up && _shims
}

# sudo runs the rest, rlctl is that of this tree, make installs below $TMP.
_shims() {
	mkdir -p "$TMP/bin" "$TMP/tree" && ln -s "$TOP"/* "$TMP/tree" || return
	printf '#!/bin/sh\nexec "$@"\n' >"$TMP/bin/sudo"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$RLCTL" >"$TMP/bin/rlctl"
	printf '#!/bin/sh\nexec /usr/bin/make -s -C "%s" -o build/rlctl DESTDIR="%s/root" "$@"\n' "$TOP" "$TMP" >"$TMP/bin/make"
	chmod 755 "$TMP"/bin/*
}

# typed LINE: as at a shell's prompt.
typed() { (cd "$TMP/tree" && PATH=$TMP/bin:$PATH in_ns B bash -c "$1"); }

# typed_as_meant LINE: a trial is confirmed, and what is done by hand is done instead of the policy that stands before it.
typed_as_meant() {
	case "$1" in
	*' --try '*)
		typed "$1" &
		eventually 5 typed 'rlctl confirm -i eth0' && wait $!
		;;
	*'rlctl attach eth0  '*) typed 'rlctl detach eth0' && typed "$1" ;;
	*) typed "$1" ;;
	esac
}

# blocks <TEXT: the commands among the lines of its displays; spans <TEXT: those within its text. Commands that
# boot a machine are tested in tests/package.
blocks() { awk '/^```/ { inside = !inside; next } inside && /^(sudo|\.\/|rlctl )/ && !/ systemctl | \/etc\//'; }
# shellcheck disable=SC2016 # as it is written
spans() { sed '/^```/,/^```/d' | grep -o '`sudo rlctl [^`]*`' | tr -d '`'; }

# section FILE HEADING: what follows the heading, up to the next.
section() { awk -v heading="## $2" '/^## / { inside = $0 == heading } inside' "$1"; }
