#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the commands of docs/runbooks as written, each page's in their order, in a namespace whose limited device is
# called eth0. check: timeout 240
source "$(dirname "$0")/typed.sh"

# spans_of FILE: the commands within its text, but not the one that writes into /etc.
# shellcheck disable=SC2016 # as it is written
spans_of() { sed '/^```/,/^```/d' "$1" | grep -oE '`(sudo )?rlctl [^`]*`' | tr -d '`' | grep -v 'rlctl save' | sort -u; }
# A usage error is 2.
accepted() {
	local status=0
	typed "timeout 2 $1" || status=$?
	[[ $status -ne 2 ]]
}

# A page begins with the device limited, and a policy before that to go back to.
begin() {
	typed 'rlctl detach eth0' 2>/dev/null
	typed 'rlctl attach eth0 -q' && typed 'rlctl apply - -q' < <(printf 'rule any limit 2000/second\nrule 198.51.100.9 deny\n') && typed 'rlctl apply - -q --yes' <<-'END'
		alarm flood when over 400k/second for 2s until under 200k/second for 1m
		rule any limit 1000/second
		rule 198.51.100.9 deny
		alarm overload manual
		rule device new-source limit 2000/second while flood
	END
}

# try LINE: a policy by hand in place of the one that is there.
try() {
	case "$1" in
	*'rlctl attach eth0 '*--policy*)
		typed 'rlctl detach eth0' 2>/dev/null
		typed_as_meant "$1"
		;;
	*) typed_as_meant "$1" ;;
	esac
}

test_found() { between "$(cat "$TOP"/docs/runbooks/*.md | blocks | wc -l)" 40 200; }

typed_place && ns_mute A && ns_mute B || exit 1
t 'commands are found' test_found
for page in "$TOP"/docs/runbooks/*.md; do
	t "$(basename "$page"): a device that is limited" begin
	while read -r line; do
		t "$(basename "$page"): $line" try "$line"
	done < <(blocks <"$page")
	while read -r line; do
		t "$(basename "$page"): the words of $line" accepted "$line"
	done < <(spans_of "$page")
done
