#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# attach --group: its members may read an instance and cannot change it, also after changes of its policy; all
# other users cannot read it. Files planted among the pins are not followed.
source "$(dirname "$0")/../lib.sh"

GROUP=54321
NAMED=$(getent group | awk -F: '$3 && $3 < 60000 { name = $1 ":" $3 } END { print name }')

# as GID CMD…: in B, as a user who has nothing but this group.
as() { in_ns B setpriv --reuid=54321 --regid="$1" --clear-groups --inh-caps=-all "${@:2}"; }
member() { as $GROUP "$RLCTL" "$@"; }
stranger() { as 54322 "$RLCTL" "$@"; }

pins() { echo "$(ns_pins B)/veth-B-xdp"; }

attach() { rl B attach veth-B --sources 1024 --group $GROUP --policy "$TMP/policy" "$@"; }

# Every kind of state, so that every kind of map is read.
policy() {
	cat <<-'END'
	rule any limit 1000/second burst 1000
	rule 10.77.0.0/24 icmp limit sliding-window 100/hour
	rule 10.77.0.0/24 udp limit sliding-log 100/hour
	rule 10.77.0.0/24 tcp limit 100/hour burst 100 per flow
	rule 192.0.2.0/24 deny
	END
}

# ---- reading

# They see what root sees, but for the time at which it was read.
same() { # ARG…
	local mine
	mine=$(member "$@") && [[ -n $mine ]] && is "$(timeless <<<"$mine")" "$(rl B "$@" | timeless)"
}
timeless() { sed 's/"time":"[^"]*",//g'; }
test_same() {
	in_ns A ping -qc 3 -i 0.01 10.77.0.2 >&2
	t 'show' same show
	t 'stats' eventually 10 same stats
	t 'status' same status
	t 'status as JSON' same status -j
	t 'rule list' same rule list -v
	t 'rule get' same rule get 10.77.0.1
	t 'explain' same explain 10.77.0.1 icmp
	t 'source show' has '97' member source show 10.77.0.1
	t 'source list' has 'no source is banned' member source list --banned
	t 'stats --prometheus' has 'rlctl_passed_packets_total{device="veth-B"' member stats --prometheus
	t 'apply --check' member apply --check -i veth-B "$TMP/policy"
}

test_exporter() {
	bg as $GROUP "$RLCTL" exporter --listen 127.0.0.1:9754
	eventually 10 served
}
served() { in_ns B curl -sf http://127.0.0.1:9754/metrics | grep '^rlctl_rules{device="veth-B"'; }

test_stranger() { # VERB…
	has 'Permission denied' expect_status 1 stranger "$@"
}

test_status_says() { # NAME
	has "$1" rl B status && is "$(rl B status -j | json '.[0].group')" "$1"
}

# ---- not writing

refused() { # TEXT ARG…
	has "$1" expect_status 1 member "${@:2}" && is "$(rl B show)" "$(<"$TMP/shown")"
}

# Refused by the kernel: neither a value of a map nor a pin can be changed.
refused_by_kernel() {
	local pin
	for pin in "$(pins)"/*; do
		! as $GROUP bpftool map update pinned "$pin" key hex 00 00 00 00 value hex 00 || return
		! as $GROUP rm "$pin" 2>/dev/null || _say "removed $pin" || return
	done
	! as $GROUP touch "$(pins)/x" && is "$(rl B show)" "$(<"$TMP/shown")"
}

# held_up DIR CMD…: CMD is over at once, though a member, or a user in no group, tries to lock this directory of
# the pins for as long as it lasts.
held_up() {
	local folder=$1 gid holders=()
	shift
	for gid in $GROUP 54322; do
		bg as "$gid" flock "$folder" sleep 60
		holders+=("$BG_PID")
	done
	sleep 0.3 # they have the lock by now, or will never
	timeout 10 "$@" || return
	kill -KILL -- "${holders[@]/#/-}" 2>/dev/null
	true
}
not_held_up() { # DIR: of a trial of another policy as well, which ends by itself
	echo 'rule any deny' >"$TMP/other" && held_up "$1" "$RLCTL" -n "$(ns B)" rule add 198.51.100.9 deny &&
		held_up "$1" "$RLCTL" -n "$(ns B)" rule del 198.51.100.9 &&
		held_up "$1" "$RLCTL" -n "$(ns B)" attach veth-B --hook egress &&
		held_up "$1" "$RLCTL" -n "$(ns B)" detach veth-B --hook egress &&
		expect_status 1 held_up "$1" "$RLCTL" -n "$(ns B)" apply --try 1s "$TMP/other" && is "$(rl B show)" "$(<"$TMP/shown")"
}
# A member locks the trial's own directory, or tries to; afterwards a trial that was killed with it is no trial.
not_held_up_in_trial() {
	local trial watcher holder
	bg into_trial "$TMP/other" && trial=$BG_PID && eventually 10 same_as 'rule any deny' || return
	bg as $GROUP flock "$(pins)/trial" sleep 60
	holder=$BG_PID
	watcher=$(pgrep -P "$trial") && sleep 0.3 && kill -KILL "$watcher" "$trial" && eventually 10 ended "$watcher" &&
		rl B apply "$TMP/policy" || return
	kill -KILL -- "-$holder" 2>/dev/null
	is "$(rl B show)" "$(<"$TMP/shown")"
}

# ---- what stays

readable() { # what stands among the pins is the group's, and it reads the policy in force
	[[ -z $(find "$(pins)" ! -group $GROUP -o -perm /027 ! -type d) ]] && same show && eventually 10 same stats
}

test_apply() { # each half, and the maps that a policy needs
	rl B rule add 198.51.100.1 deny && readable && rl B rule add 198.51.100.2 deny && readable &&
		rl B apply "$TMP/policy" && readable
}

test_trial() {
	echo 'rule any deny' >"$TMP/other" && bg into_trial "$TMP/other" || return
	eventually 10 same_as 'rule any deny' && readable && has 'run as root' expect_status 1 member confirm -i veth-B &&
		kill -TERM "$BG_PID" && eventually 10 same_as "$(<"$TMP/shown")" && eventually 10 ended "$BG_PID" && readable
}
into_trial() { exec "$RLCTL" -n "$(ns B)" apply --try 1m "$1"; }
same_as() { is "$(member show)" "$1"; }

# The next change removes the pins that an interrupted change left.
test_tidied() {
	local stray
	stray=$(pins)/map-1
	bpftool map create "$stray" type array key 4 value 4 entries 1 name stray && same show &&
		rl B apply "$TMP/policy" && readable && [[ ! -e $stray ]]
}

# Removed pins are reported in words; the remedy that the message names works.
test_removed() {
	rm "$(pins)"/map-* && has 'one of its pins was removed' expect_status 1 rl B show &&
		has 'one of its pins was removed' expect_status 1 rl B rule add any deny && rl B detach veth-B && attach && readable
}

test_or_apply() {
	local number=${NAMED#*:}
	attach --or-apply && readable && rl B attach veth-B --or-apply --group "${NAMED%:*}" &&
		test_status_says "${NAMED%:*}" && as "$number" "$RLCTL" show && has 'Permission denied' expect_status 1 member show
}

test_replace() {
	rl B attach veth-B --replace && as "${NAMED#*:}" "$RLCTL" show &&
		rl B attach veth-B --replace --group $GROUP && readable
}

test_without() { # again, and without
	rl B detach veth-B && rl B attach veth-B && has 'Permission denied' expect_status 1 member show &&
		is "$(rl B status -j | json '.[0] | has("group") | not')" true && is "$(stat -c %a "$(pins)")" 700 &&
		rl B detach veth-B
}

# At tc's hooks a pinned link may hold the program: a user who could open the link could detach the program.
test_tc() {
	local pin
	pin=$(ns_pins B)/veth-B-egress/link
	rl B attach veth-B --hook egress --group $GROUP && same status -j && rl B attach veth-B --replace --group $GROUP &&
		same status -j && ! as $GROUP bpftool link detach pinned "$pin" && same status -j && rl B detach veth-B
}

test_no_group() { has 'getent group' expect_status 2 rl B attach veth-B --group "$1"; }

# ---- planted

bpf() { rl B --bpffs "$TMP/bpf" "$@"; }
inode() { stat -Lc %i "/run/netns/$(ns B)"; }
planted_refused() { # TEXT
	has "$1" expect_status 1 bpf attach veth-B && is "$(xdp_program B veth-B)" '' && [[ -z $(ls -A "$TMP/bpf/elsewhere") ]]
}

# link WHERE: a symbolic link at this place leads elsewhere.
link_planted() {
	mkdir -p "$TMP/bpf/elsewhere" "$(dirname "$TMP/bpf/$1")" && ln -s "$TMP/bpf/elsewhere" "$TMP/bpf/$1" &&
		planted_refused 'symbolic link' && rm "$TMP/bpf/$1" && rm -rf "$TMP/bpf/rlctl"
}

# In a bpffs open to all, another user has made the directory first, or its mode is open to all.
folder_planted() { # OWNER MODE
	mkdir -p "$TMP/bpf/rlctl" && chown "$1" "$TMP/bpf/rlctl" && chmod "$2" "$TMP/bpf/rlctl" &&
		planted_refused 'another user' && rmdir "$TMP/bpf/rlctl"
}

pin_planted() {
	local pin verb
	bpf attach veth-B && pin=$TMP/bpf/rlctl/$(inode)/veth-B-xdp/reasons && mv "$pin" "$TMP/bpf/reasons" &&
		ln -s "$TMP/bpf/reasons" "$pin" || return
	for verb in show stats 'rule add any deny'; do
		# shellcheck disable=SC2086 # words
		has 'symbolic link' expect_status 1 bpf $verb || return
	done
	has 'symbolic link' expect_status 1 bpf status && bpf detach veth-B && is "$(xdp_program B veth-B)" ''
}

# modes MODES: those of a private bpffs of our own and of the directories below.
modes() { is "$(stat -c %a "$TMP/own" "$TMP/own/rlctl" "$TMP/own/rlctl/$(inode)" 2>/dev/null | xargs)" "$1"; }
own() { rl B --bpffs "$TMP/own" "$@"; }
way_closed() {
	mkdir "$TMP/own" && mount -t bpf -o mode=0700 bpf "$TMP/own" && own attach veth-B --group $GROUP && modes '1711 1711 755' &&
		own attach veth-B --hook egress && own detach veth-B && modes '1700 700 700' &&
		own attach veth-B --group $GROUP && own detach veth-B --hook egress && modes '1711 1711 755' && own detach veth-B &&
		modes '1700 700' && chmod 711 "$TMP/own" && own attach veth-B --group $GROUP && own detach veth-B && modes '711 700'
}

# ---- policies

foreign_link() { # the link is somebody's, the file root's
	mkdir "$TMP/theirs" && ln -s "$TMP/secret" "$TMP/theirs/link" && chown -h 54321 "$TMP/theirs/link" &&
		echo 'rule secret' >"$TMP/secret" && has 'symbolic link of another user' expect_status 1 rl B apply --check "$TMP/theirs/link"
}
own_links() { # the caller's, and one to the link's owner's file
	ln -s "$TMP/policy" "$TMP/link" && rl B apply --check "$TMP/link" && cp "$TMP/policy" "$TMP/theirs/policy" &&
		chown 54321 "$TMP/theirs/policy" && ln -sf "$TMP/theirs/policy" "$TMP/theirs/link" && chown -h 54321 "$TMP/theirs/link" &&
		rl B apply --check "$TMP/theirs/link"
}
open_file() { cp "$TMP/policy" "$TMP/open" && chmod 666 "$TMP/open" && has 'chmod o-w' rl B apply --check "$TMP/open"; }
devices() {
	has 'a device' expect_status 1 rl B apply --check /dev/zero && rl B apply --check /dev/null &&
		rl B apply --check <(cat "$TMP/policy") && rl B apply --check /dev/stdin <"$TMP/policy"
}

veth_pair A B && policy >"$TMP/policy" && attach && rl B show >"$TMP/shown" || exit 1
chmod 711 "$TMP" && chmod 644 "$TMP/policy" && mkdir "$TMP/bpf" && mount -t bpf -o mode=1777 bpf "$TMP/bpf" || exit 1
trap 'umount -q "$TMP/bpf" "$TMP/own"; _cleanup' EXIT
test_same
t 'exporter' test_exporter
for verb in show stats status 'rule list' 'source show 192.0.2.1'; do
	# shellcheck disable=SC2086 # words
	t "a stranger: $verb" test_stranger $verb
done
t 'status names the group' test_status_says $GROUP
t 'rule add' refused 'missing capabilities: CAP_BPF' rule add any deny
t 'apply' refused 'missing capabilities: CAP_BPF' apply "$TMP/policy"
t 'source forgive' refused 'run as root' source forgive 10.77.0.1
t 'top' refused 'missing capabilities: CAP_BPF' top --once
t 'monitor' refused 'missing capabilities: CAP_BPF' monitor
t 'detach' refused 'missing capabilities: CAP_NET_ADMIN' detach veth-B
t 'another program' refused_by_kernel
t "the lock of the instance is no reader's" not_held_up "$(pins)"
t "the lock of all instances is no reader's" not_held_up "$(ns_pins B)"
t "the directory of all directories is no reader's" not_held_up "$BPFFS/rlctl"
t "the lock of a trial is no reader's" not_held_up_in_trial
t 'kept over changes' test_apply
t 'kept over a trial' test_trial
t 'what was cut short is tidied up' test_tidied
t 'pins that were removed' test_removed
t 'kept by --or-apply, and changed by it' test_or_apply
t 'kept by --replace, and changed by it' test_replace
t 'attached again without' test_without
t 'a program at tc' test_tc
t 'no such group' test_no_group nosuchgroup
t 'no such number' test_no_group 4294967295
t 'a link in place of rlctl' link_planted rlctl
t "a link in place of the namespace's folder" link_planted "rlctl/$(inode)"
t 'a link in place of the lock' link_planted "rlctl/$(inode)/veth-B-xdp"
t 'a folder that is somebody else'\''s' folder_planted 54321 700
t 'a folder that is everybody'\''s' folder_planted 0 777
t 'a link in place of a pin' pin_planted
t "the way to the pins closes after the last group" way_closed
t 'a policy: a link of somebody else' foreign_link
t 'a policy: own links' own_links
t 'a policy that all may write to' open_file
t 'a policy that is a device' devices
