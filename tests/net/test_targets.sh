#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Which instances a command means: -i all, lists and patterns, for verbs that read and that change; a device
# with instances at several hooks where none is named; what is said where nothing matches.
# shellcheck disable=SC2016 # the backquotes are those of messages
source "$(dirname "$0")/../lib.sh"

# policies: the rules of every device, as DEVICE HOOK: RULE; RULE
policies() {
	rl B status -j | json -r '.[] | "\(.device) \(.hook): \([.rules[].rule] | join("; "))"' | paste -sd,
}

# the instances of all tests: lo has both hooks of tc, va only egress, vb xdp and egress, vc xdp
begin() {
	ns_new B && devices_new va vb vc free && rl B attach lo --hook ingress --hook egress &&
		rl B attach va --hook egress && rl B attach vb --hook xdp --hook egress && rl B attach vc
}

clear_all() {
	rl B rule flush -i 'v?' && rl B rule flush -i vb --hook egress &&
		rl B rule flush -i lo --hook ingress && rl B rule flush -i lo --hook egress
}

# ---- which one a device means

test_hook_meant() {
	clear_all && rl B rule add -i vb any udp deny && rl B rule add -i va any tcp deny &&
		is "$(rl B show vb)" 'rule any udp deny' && is "$(rl B show va)" 'rule any tcp deny' &&
		is "$(rl B show vb --hook egress)" '' &&
		rl B apply -i vb - <<<'rule any deny' && is "$(rl B show -i vb)" 'rule any deny' &&
		is "$(rl B show vb --hook egress)" '' && rl B top -i vb --once --seconds 1
}

test_hook_unclear() {
	ends 1 'lo: several instances, at ingress and egress: choose one with --hook' rl B show lo &&
		ends 1 'lo: several instances, at ingress and egress: choose one with --hook' rl B detach lo &&
		ends 1 'lo: several instances, at ingress and egress' rl B apply --check -i lo - <<<'rule any deny' &&
		ends 1 'several instances, on lo, va, vb, vc: choose one with -i DEV, or all with -i all' rl B show &&
		ends 1 'choose one with -i DEV' rl B source show 192.0.2.1
}

# A policy that xdp refuses: checked for the instance that apply would change.
test_check_hook() {
	echo 'rule any limit 10/second over mark 7' >"$TMP/mark"
	ends 1 'mark' rl B apply --check -i vb "$TMP/mark" && rl B apply --check -i va "$TMP/mark" &&
		rl B apply --check -i vb --hook egress "$TMP/mark"
}

# ---- several

test_change_several() {
	clear_all && rl B rule add -i 'v*' 192.0.2.1 deny &&
		is "$(policies)" 'lo egress: ,lo ingress: ,va egress: 192.0.2.1 deny,vb egress: ,vb xdp: 192.0.2.1 deny,vc xdp: 192.0.2.1 deny' &&
		rl B apply -i vc,va - <<<'rule any udp deny' &&
		is "$(policies)" 'lo egress: ,lo ingress: ,va egress: any udp deny,vb egress: ,vb xdp: 192.0.2.1 deny,vc xdp: any udp deny' &&
		rl B rule del -i 'va,v[c]' any udp && rl B rule add -i all --hook egress any tcp deny &&
		is "$(policies)" 'lo egress: any tcp deny,lo ingress: ,va egress: any tcp deny,vb egress: any tcp deny,vb xdp: 192.0.2.1 deny,vc xdp: '
}

test_change_file() {
	clear_all && printf 'rule any udp deny\nrule any tcp deny\n' >"$TMP/add" && rl B rule add -i 'v*' -f - <"$TMP/add" &&
		is "$(rl B show -i 'v*' -j | jq -c 'map(.policy | length)')" '[2,2,2]' && rl B rule del -i vb any udp || return
	ends 1 'vb: refused: nothing was changed' rl B rule del -i 'v*' -f "$TMP/add" || return
	rl B rule del -i 'v*' --if-exists -f "$TMP/add" && is "$(rl B show -i 'v*' -j | jq -c 'map(.policy | length)')" '[0,0,0]'
}

# An error on one changes nothing on the others: a rule that only va has, an action that xdp lacks.
test_change_refused() {
	local before
	clear_all && rl B rule add -i va 192.0.2.7 deny && before=$(policies) || return
	ends 1 'vb: refused: nothing was changed on any device' rl B rule del -i va,vb,vc 192.0.2.7 &&
		ends 2 'vb: refused: nothing was changed on any device' rl B rule add -i 'v*' any limit 10/second over mark 7 &&
		ends 1 'vb: refused: nothing' rl B apply -i 'v*' - <<<'rule any limit 10/second over mark 7' &&
		ends 1 'vb: refused: nothing' rl B apply --try 1m -i 'vb,va' - <<<'rule any limit 10/second over mark 7' &&
		ends 2 '--try takes only one device' rl B undo --try 1m -i 'v*' &&
		is "$(policies)" "$before"
}

# A trial on one of them refuses the change of all.
test_change_trial() {
	local before
	clear_all && before=$(policies) || return
	echo 'rule 192.0.2.9 deny' >"$TMP/tried"
	bg in_ns B "$RLCTL" apply -i vc --try 1m "$TMP/tried"
	eventually 5 test -d "$(ns_pins B)/vc-xdp/trial" || return
	ends 1 'vc: a policy is on trial' rl B rule add -i 'v*' any udp deny &&
		ends 1 'vc: refused: nothing was changed on any device' rl B apply -i 'v*' - <<<'rule any deny' &&
		ends 1 'vc: refused' rl B rule flush -i 'v*' && kill -TERM -- "-$BG_PID" &&
		eventually 5 prints "$before" policies
}

# SIGNAL: it comes while the second of three waits for its lock; that one is still done.
test_interrupted() {
	local holder status=0
	clear_all || return
	bg flock "$(ns_pins B)/vb-xdp" sleep 60 && holder=$BG_PID && eventually 5 locked vb-xdp || return
	: >"$TMP/bg" && bg env --default-signal "$RLCTL" -n "$(ns B)" detach 'v*' && eventually 5 test ! -e "$(ns_pins B)/va-egress" || return
	kill "-$1" "$BG_PID" && kill -KILL -- "-$holder" || return
	wait "$BG_PID" || status=$?
	is "$status" 1 && is "$(grep interrupted "$TMP/bg")" 'rlctl: interrupted; already changed: va, vb; unchanged: vc' &&
		is "$(policies)" 'lo egress: ,lo ingress: ,vb egress: ,vc xdp: ' &&
		rl B attach va --hook egress && rl B attach vb
}
locked() { ! flock -n "$(ns_pins B)/$1" true; }

test_read_several() {
	clear_all && rl B rule add -i va,vc any udp deny || return
	is "$(rl B show 'v*' | paste -sd';')" '# va egress;rule any udp deny;;# vb xdp;;# vc xdp;rule any udp deny' &&
		is "$(rl B rule list -i va,vb any udp 2>/dev/null | paste -sd';')" '# va egress;any udp deny;;# vb xdp' &&
		is "$(rl B show -i va,vc -j | jq -c 'map([.device, .hook, .policy])')" \
			'[["va","egress",["rule any udp deny"]],["vc","xdp",["rule any udp deny"]]]' &&
		is "$(rl B show -i va -j | jq -r .device)" va &&
		is "$(rl B rule list -i 'v[ac]' -j | jq -r 'map(.device) | join(" ")')" 'va vc' &&
		is "$(rl B rule get -i 'v[ac]' 192.0.2.1 -j | jq -r 'map(.device + .address) | join(" ")')" 'va192.0.2.1 vc192.0.2.1' &&
		is "$(rl B stats 'v*' -j | jq -r 'map(.device + .hook) | join(" ")')" 'vaegress vbegress vbxdp vcxdp' &&
		is "$(rl B status va,vc -j | jq -r 'map(.device) | join(" ")')" 'va vc' &&
		rl B show 'v?' | rl B apply --check -
}

test_completion() {
	is "$(rl B complete -- show va | cut -f1)" va && is "$(rl B complete -- rule add -i al | cut -f1)" all &&
		is "$(rl B complete -- monitor -i al)" ''
}

# A pattern that selects one device prints what it would for several.
test_read_pattern() {
	is "$(rl B show 'vc*' | head -n 1)" '# vc xdp' && is "$(rl B show 'vc*' -j | jq length)" 1 &&
		! rl B show vc | grep '#' && is "$(rl B show vc -j | jq -r .device)" vc
}

test_nothing_matches() {
	local before
	before=$(policies) || return
	ends 1 "no attached device matches 'eth*': attached are lo, va, vb, vc" rl B rule add -i 'eth*' any deny &&
		ends 1 'no such device: nosuch' rl B rule add -i va,nosuch any deny &&
		ends 1 'free: nothing attached: `rlctl attach free`' rl B show vc,free &&
		ends 1 'vc: nothing attached at ingress: `rlctl attach vc --hook ingress`' rl B show -i va,vc --hook ingress &&
		ends 1 'free: nothing attached' rl B stats va,free && ends 1 "matches 'x*'" rl B status 'x*' &&
		ends 1 'no such device: nosuch' rl B detach nosuch && ends 1 'no such device: nosuch' rl B attach nosuch &&
		ends 1 "'va,': empty name: leave the comma out" rl B show va, && ends 2 "invalid device name 'va,b/c'" rl B show va,b/c && is "$(policies)" "$before"
}

# A verb of one device says so; a selection that is too long for a name too.
test_only_one() {
	local words
	for words in all 'v*' va,vb; do
		ends 1 "no such device: $words (this takes only one device" rl B monitor -i "$words" || return
	done
	ends 2 "monitor: takes only one device, not 'va,vb,vc,free,lo,va'" rl B monitor -i va,vb,vc,free,lo,va
}

# The program of an instance is lost: a list says of it what is said where it is named alone.
test_lost() {
	local alone verb
	ip -n "$(ns B)" link del vc && devices_new vc || return
	for verb in show stats 'rule flush -i'; do
		# shellcheck disable=SC2086 # words
		! alone=$(rl B $verb vc 2>&1) && has 'vc: our program is no longer on the device' echo "$alone" &&
			ends 1 "$alone" rl B $verb va,vc || return
	done
	rl B attach vc
}

# A device may have such a name (but not all, which the kernel reserves); then the name is that device.
test_named_so() {
	clear_all && devices_new 'v*' && rl B attach 'v*' && rl B rule add -i 'v*' 192.0.2.3 deny &&
		is "$(rl B show 'v*')" 'rule 192.0.2.3 deny' && is "$(rl B show vc)" '' && rl B detach 'v*' &&
		ip -n "$(ns B)" link del 'v*' && is "$(rl B show 'v*' | grep -c '#')" 3
}

test_rules_none() {
	ends 0 'no rules for 1.2.3.4; `rlctl rule get 1.2.3.4` shows what applies to it' rl B rule list -i vc 1.2.3.4 &&
		ends 0 'no rules for 10.0.0.0/8' rl B rule list -i vc 10.0.0.0/8 &&
		is "$(rl B rule list -i vc 1.2.3.4 2>/dev/null)" ''
}

test_not_root() {
	local verb
	chmod 755 "$TMP" && install -m 755 "$RLCTL" "$TMP/rlctl" &&
		for verb in 'show vc' 'source forgive 192.0.2.1 -i vc' 'fleet leave -i vc'; do
			# shellcheck disable=SC2086 # words
			ends 1 'run as root (members of the group of `attach --group` may only read)' \
				in_ns B setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/rlctl" $verb || return
		done
}

test_attached() {
	ends 1 'to change its rules, run `rlctl apply -i vc FILE`; to replace the program by this version'"'"'s, `rlctl attach vc --replace`' \
		rl B attach vc && ends 1 '`rlctl attach va --hook egress --replace`' rl B attach va --hook egress
}

# detach means xdp too where no hook is named, and says what stays.
test_detach() {
	ends 0 'vb: the instance at egress stays: `rlctl detach vb --hook egress` detaches it' rl B detach 'v*' &&
		is "$(rl B status -j | json 'map(.device + " " + .hook) | join(",")')" 'lo egress,lo ingress,vb egress' &&
		rl B detach all --hook egress && is "$(rl B status -j | json 'map(.device) | join(",")')" lo &&
		rl B detach all && ends 1 'nothing attached' rl B detach all && ends 1 'nothing attached' rl B show -i all
}

begin || { _say 'no instances'; exit 1; }
t 'a device means its instance at xdp, or its only one' test_hook_meant
t 'instances at ingress and egress: one must be named' test_hook_unclear
t 'apply --check checks the instance that is meant' test_check_hook
t 'changes of several' test_change_several
t 'changes of several by a file' test_change_file
t 'an error on one changes none' test_change_refused
t 'a trial on one refuses the change of all' test_change_trial
t 'an interrupt during the change of several' test_interrupted INT
t 'the same by SIGTERM' test_interrupted TERM
t 'reading several' test_read_several
t 'a pattern of one device' test_read_pattern
t 'completion offers all' test_completion
t 'nothing matches' test_nothing_matches
t 'verbs of one device' test_only_one
t 'a lost program, in a list' test_lost
t 'a device whose name is a pattern' test_named_so
t 'no rules of an address' test_rules_none
t 'a user without privilege' test_not_root
t 'attached already' test_attached
t 'detach' test_detach
