#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# attach to the devices of a list or a pattern, also to those that come later (--follow).
# shellcheck disable=SC2016 # the backquotes are those of messages
source "$(dirname "$0")/../lib.sh"

SMALL='--sources 1024 --prefixes 1024 --bans 1024'
POLICY=$TMP/policy
echo 'rule device limit 20/second burst 20' >"$POLICY"

attached() { rl B status -j | json 'map(.device + " " + .hook) | join(",")'; }
rules() { rl B status -j | json '[.[].rules[].rule] | unique | join("; ")'; }
attached_are() { is "$(attached)" "$1"; }

put() { # shellcheck disable=SC2086 # options
	rl B attach "$@" $SMALL
}

test_pattern() {
	ends 0 'attached to 3 devices' put 'v?' --policy "$POLICY" && attached_are 'va xdp,vb xdp,vc xdp' &&
		is "$(rules)" "$(sed 's/^rule //' "$POLICY")" && rl B detach all
}

test_list() {
	ends 0 'attached to 2 devices' put va,other && attached_are 'other xdp,va xdp' &&
		ends 0 '1 of the devices attached already, and left so' put 'v?' --policy "$POLICY" &&
		attached_are 'other xdp,va xdp,vb xdp,vc xdp' && is "$(rl B show va)" '' && rl B detach all
}

test_hooks() {
	ends 0 'attached to 2 devices' put va,vb --hook xdp --hook egress --policy "$POLICY" &&
		attached_are 'va egress,va xdp,vb egress,vb xdp' && rl B detach all && rl B detach all --hook egress
}

# The first is attached, the second refuses: none stays, and what was there before does.
test_none() {
	local status=0
	put vb --hook egress || return
	ends 1 'nothing stays attached by this command' put va,vb,vc --hook egress ||
		status=1
	attached_are 'vb egress' && rl B detach vb --hook egress && return "$status"
}

test_refused() {
	echo 'rule any limit 10/second over mrk' >"$TMP/bad"
	ends 1 'mrk' put 'v?' --policy "$TMP/bad" && attached_are '' &&
		ends 1 'nosuch*: no device matches' put 'v?,nosuch*' && attached_are '' &&
		ends 1 'no such device: nosuch' put 'v?,nosuch' && attached_are ''
}

test_or_apply() {
	put va && ends 0 'vb: attached' put 'v[ab]' --or-apply --policy "$POLICY" &&
		is "$(rl B show va)" "$(cat "$POLICY")" && is "$(rl B show vb)" "$(cat "$POLICY")" && rl B detach all
}

test_replace() {
	local before
	put 'v?' && before=$(xdp_program B va) && rl B attach 'v?' --replace &&
		attached_are 'va xdp,vb xdp,vc xdp' && [[ $(xdp_program B va) != "$before" ]] && rl B detach all
}

test_name() { # a device whose name is a pattern comes first
	devices_new 'w*' w1 && put 'w*' && attached_are 'w* xdp' && rl B detach 'w*' &&
		ip -n "$(ns B)" link del 'w*' && ip -n "$(ns B)" link del w1
}

# --direction: the address of a rule is that of the other side, at either hook, and -i all says so.
test_direction() {
	put va --direction from && put va --direction to && put vb && attached_are 'va egress,va xdp,vb xdp' || return
	ends 0 'va: at egress the rule holds what 192.0.2.9 receives' rl B rule add -i 'v?' --direction to 192.0.2.9 deny &&
		is "$(rl B show va --direction to)" 'rule 192.0.2.9 deny' && is "$(rl B show va --direction from)" '' &&
		rl B detach all && rl B detach all --direction to
}

# ---- --follow

# follow DEVICES [OPTION…]: attaches to t? until it has attached to these.
follow() {
	# shellcheck disable=SC2086 # options
	bg "$TOP/build/rlctl" -n "$(ns B)" attach 't?' $SMALL --policy "$POLICY" --follow "${@:2}" && eventually 20 attached_are "$1"
}

follow_end() {
	kill "$BG_PID" && wait "$BG_PID"
}

# Every test begins with no device t?.
fresh() {
	local n
	[[ -z ${BG_PID:-} ]] || kill -KILL -- "-$BG_PID" 2>/dev/null
	echo 'rule device limit 20/second burst 20' >"$POLICY"
	rl B detach 't?' 2>/dev/null
	for n in t1 t2 t3 gone; do
		ip -n "$(ns B)" link del "$n" 2>/dev/null
	done
	:
}

pins_gone() { [[ ! -e "$(ns_pins B)/$1-xdp" ]]; }

test_comes() {
	fresh && devices_new t1 && follow 't1 xdp' && devices_new t2 other2 t3 &&
		eventually 20 attached_are 't1 xdp,t2 xdp,t3 xdp' && follow_end && attached_are 't1 xdp,t2 xdp,t3 xdp'
}

# One that goes leaves no pin; one of the same name is attached to again.
test_goes() {
	fresh && devices_new t1 && follow 't1 xdp' && devices_new t2 && eventually 20 attached_are 't1 xdp,t2 xdp' &&
		ip -n "$(ns B)" link del t2 && eventually 20 pins_gone t2 && attached_are 't1 xdp' &&
		devices_new t2 && eventually 20 attached_are 't1 xdp,t2 xdp' && follow_end
}

# An operator's detach stands, whatever else happens to the device.
test_detached() {
	fresh && devices_new t1 t2 && follow 't1 xdp,t2 xdp' && rl B detach t1 &&
		ip -n "$(ns B)" link set t1 up && devices_new t3 && eventually 20 attached_are 't2 xdp,t3 xdp' &&
		follow_end
}

# Renamed into the pattern, out of it, and moved to another namespace.
test_moved() {
	fresh && devices_new other3 t1 && follow 't1 xdp' && ip -n "$(ns B)" link set other3 name t2 &&
		eventually 20 attached_are 't1 xdp,t2 xdp' && ip -n "$(ns B)" link set t1 name gone &&
		eventually 20 attached_are 'gone xdp,t2 xdp' && ip -n "$(ns B)" link set gone netns "$(ns A)" &&
		eventually 20 attached_are 't2 xdp' && has 'moved to another network namespace' rl B doctor || return
	ip -n "$(ns A)" link del gone && devices_new t3 && eventually 20 pins_gone gone && follow_end
}

# A policy that is wrong for a while, and one that is changed.
test_policy_changes() {
	fresh && follow '' && echo 'rule any frobnicate' >"$POLICY" && devices_new t1 &&
		eventually 20 grep -q frobnicate "$TMP/bg" && attached_are '' && echo 'rule any deny' >"$POLICY" &&
		ip -n "$(ns B)" link set t1 up && eventually 20 attached_are 't1 xdp' && is "$(rules)" 'any deny' &&
		follow_end
}

# Killed, it leaves what is attached; what came meanwhile is attached to when it runs again, and what was
# there before gets the policy.
test_killed() {
	fresh && devices_new t1 && follow 't1 xdp' && kill -KILL -- "-$BG_PID" || return
	wait "$BG_PID"
	attached_are 't1 xdp' && devices_new t2 && echo 'rule any deny' >"$POLICY" &&
		follow 't1 xdp,t2 xdp' --or-apply && is "$(rules)" 'any deny' && follow_end
}

test_no_policy() { ends 1 'No such file' put 't?' --follow --policy "$TMP/absent"; }

if ! { ns_new B && ns_new A && devices_new va vb vc other; }; then
	_say 'no devices'
	exit 1
fi
t 'a pattern' test_pattern
t 'a list; what is attached already stays' test_list
t 'several hooks' test_hooks
t 'an error on one attaches none' test_none
t 'a policy that is refused, names that are not there' test_refused
t '--or-apply' test_or_apply
t '--replace' test_replace
t 'a device whose name is a pattern' test_name
t '--direction' test_direction
t '--follow: devices come' test_comes
t '--follow: devices go' test_goes
t '--follow: a detach by hand' test_detached
t '--follow: renamed and moved' test_moved
t '--follow: the policy is read anew' test_policy_changes
t '--follow: killed' test_killed
t '--follow: no policy' test_no_policy
