#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets whose members come from files and databases, and members that are saved and restored. check: timeout 180
source "$(dirname "$0")/../lib.sh"

L=$TMP/list P=$TMP/policy S=$TMP/state/rlctl
# State files belong to the test alone, which does not make the machine's directory for them either.
mkdir -p "$S"
# shellcheck disable=SC2016 # the inner shell expands them
mine() { unshare -m --propagation private sh -c 'mount --bind "$0" /var/lib && exec "$@"' "$TMP/state" "$@"; }
rls() { mine "$RLCTL" -n "$(ns B)" set "$@"; }

lines() { printf '%s\n' "$@"; }
# A list that has been there for a while, so that it is not taken for one that is being written.
list() { lines "$@" >"$L.new" && touch -d '-1 minute' "$L.new" && mv "$L.new" "$L"; }
policy() { lines "$@" >"$P" && rl B apply "$P"; }
members() { rl B set list bad | sort | tr '\n' ' '; }
# A's packets arrive at B, or do not.
passes() { in_ns A ping -qc 1 -W 1 10.77.0.2 >/dev/null; }
drops() { ! in_ns A ping -qc 3 -i 0.05 -W 0.3 10.77.0.2 >/dev/null || _say "a packet was answered"; }
# The set failed for this reason, and drops as before.
keeps() {
	has "$1" expect_status 1 rls load bad && is "$(members)" '10.77.0.1 ' && drops
}

# ---- files

test_attach() {
	list '# list' 10.77.0.1 && lines "set bad file $L" 'rule @bad deny' >"$P" &&
		rl B attach veth-B --policy "$P" && is "$(members)" '10.77.0.1 ' && drops
}

test_apply() {
	list 10.77.0.9 && policy "set bad file $L" 'rule @bad deny' && is "$(members)" '10.77.0.9 ' && passes &&
		list 10.77.0.1 && policy "set bad file $L" 'rule @bad deny' 'rule 192.0.2.1 deny' && drops &&
		is "$(members)" '10.77.0.1 '
}

# A file that is loaded already is not read again; another one is, also if it is as old and as long.
test_apply_unchanged() {
	rl B set del bad 10.77.0.1 && policy "set bad file $L" 'rule @bad deny' && is "$(members)" '' &&
		cp -p "$L" "$L.other" && policy "set bad file $L.other" 'rule @bad deny' && is "$(members)" '10.77.0.1 ' &&
		policy "set bad file $L" 'rule @bad deny' && drops
}

test_or_apply() {
	list 10.77.0.9 && rl B attach veth-B --or-apply --policy "$P" && passes && list 10.77.0.1 &&
		rl B attach veth-B --or-apply --policy "$P" && drops
}

test_trial() {
	list 10.77.0.9 && rl B set load bad && passes && list 10.77.0.1 && bg rl B apply --try 60s "$P" && eventually 5 drops &&
		rl B confirm -i veth-B && drops
}

test_formats() {
	list 'create x hash:net' 'add x 10.77.0.1 timeout 600' 'add x 2001:db8::/32' && rls load bad && drops &&
		is "$(members | sed 's/ for [^ ]*//g; s/  */ /g')" '10.77.0.1 2001:db8::/32 ' &&
		list 'table ip f {' 'set bad {' 'elements = { 192.0.2.1-192.0.2.2 }' '}' '}' && rls load &&
		is "$(members)" '192.0.2.1 192.0.2.2 ' && list '10.77.0.0/24 ; SBL1' && rls load && drops && list 10.77.0.1 && rls load
}

test_bad_lines() {
	list 10.77.0.1 foo 192.0.2.7/24 'fe80::1%eth0' && rls load bad >"$TMP/load" 2>&1 &&
		grep -q "$L:2: \"foo\" is not an address" "$TMP/load" && grep -q "$L:4: .* zone" "$TMP/load" &&
		grep -q '2 lines left out' "$TMP/load" && grep -q '1 prefix with host bits' "$TMP/load" &&
		is "$(members)" '10.77.0.1 192.0.2.0/24 ' && list 10.77.0.1 && rls load bad
}

test_broken() {
	list '<html>' && keeps 'no line of it is an address' && : >"$L" && keeps 'it is empty' && rm "$L" && keeps 'No such file' &&
		mkdir "$L" && keeps 'not a file' && rmdir "$L" && mkfifo "$L" && keeps 'not a file' && rm "$L" && list 10.77.0.1
}

# The other rules come into force all the same.
test_broken_apply() {
	rm "$L" && has 'warning: set bad' policy "set bad file $L" 'rule @bad deny' 'rule 192.0.2.2 deny' && drops &&
		rl B show | grep -q 192.0.2.2 && has 'warning: set bad' rl B attach veth-B --or-apply --policy "$P" && drops &&
		list 10.77.0.1
}

test_too_many() {
	policy "set bad file $L max 3" 'rule @bad deny' && lines 10.77.0.{1..9} 10.77.0.1 >"$L" && keeps '9 members, and its max is 3' &&
		lines 10.77.0.1 10.77.0.{1..3} >"$L" && rls load bad && is "$(members)" '10.77.0.1 10.77.0.2 10.77.0.3 ' &&
		policy "set bad file $L" 'rule @bad deny' && list 10.77.0.1 && rls load bad
}

# Somebody writes to the file for as long as it is read: it is left alone, and then taken.
test_changing() {
	local writer try seen=1
	# shellcheck disable=SC2016 # the inner shell expands them
	bg sh -c 'i=0; while [ -d "$1" ]; do i=$((i + 1)); echo 192.0.2.$((i % 250)) >>"$0"; [ $((i % 50)) != 0 ] || : >"$0"; sleep 0.005; done' "$L" "$TMP"
	writer=$BG_PID
	# On a busy machine, the writer may stand still for as long as a reading takes.
	for try in 1 2 3 4 5 6 7 8; do
		has 'keeps changing' expect_status 1 rls load bad >"$TMP/changing" 2>&1 && seen=0 && break
	done
	[[ $try -gt 1 ]] || is "$(members)" '10.77.0.1 ' || seen=1
	kill -KILL -- "-$writer" && [[ $seen == 0 ]] && lines 10.77.0.1 192.0.2.1 >"$L" && rls load bad && is "$(members)" '10.77.0.1 192.0.2.1 ' &&
		list 10.77.0.1 && rls load bad
}

test_names() {
	policy "set bad file $L" 'set dyn' 'rule @bad deny' 'rule @dyn deny' && has 'no policy has a set other' expect_status 1 rls load other &&
		has 'it has no file' expect_status 1 rls load dyn && rls load && rls load bad &&
		is "$(rls load -j bad | json -c '.[0] | [.device, .set, .loaded, .left_out]')" '["veth-B","bad",true,0]'
}

# --check says what apply would say of the files, and needs no instance.
test_check() {
	lines "set bad file $L.none" "set good file $L" 'rule @bad deny' 'rule @good deny' >"$P.check" && list 10.77.0.9 x &&
		"$RLCTL" apply --check "$P.check" >"$TMP/check" 2>&1 && grep -q "warning: set bad: $L.none: No such file" "$TMP/check" &&
		grep -q "$L:2: \"x\" is not an address" "$TMP/check" && ! grep -q 'set good' "$TMP/check"
}

# ---- every

test_due() {
	policy "set bad file $L every 1s" 'rule @bad deny' && rls load && sleep 1.1 && is "$(rls load --due)" '' && list 10.77.0.9 &&
		has '1 members' rls load --due && passes && list 10.77.0.1 && is "$(rls load --due)" '' && passes && sleep 1.1 &&
		has '1 members' rls load --due && drops
}

# A file that came back is loaded; meanwhile each look at it says that it is missing.
test_due_failed() {
	rm "$L" && sleep 1.1 && has 'No such file' expect_status 1 rls load --due && drops && list 10.77.0.9 && sleep 1.1 && rls load --due && passes
}

# Without `every` a file waits for the next apply, or for `set load`.
test_due_never() {
	policy "set bad file $L" 'rule @bad deny' && sleep 1.1 && list 10.77.0.1 && is "$(rls load --due)" '' && passes && rls load && drops
}

test_due_none() { ns_new C && mine "$RLCTL" -n "$(ns C)" set load --due -i all -q; }

test_due_saves() {
	policy 'set dyn' 'rule @dyn deny' && rl B set add dyn 192.0.2.1 for 1h && rls load --due -i all -q && grep -q 192.0.2.1 "$S/veth-B.sets" &&
		echo 'left alone' >>"$S/veth-B.sets" && rls load --due -i all -q && grep -q 'left alone' "$S/veth-B.sets" &&
		rl B set add dyn 192.0.2.2 && rls load --due -i all -q && grep -q 192.0.2.2 "$S/veth-B.sets" && ! grep -q 'left' "$S/veth-B.sets"
}

# ---- saved and restored

# As after a reboot: the pins are gone, and the clock has gone on.
reboot() { rl B detach veth-B && rl B attach veth-B --policy "$P"; }

test_restore() {
	list 10.77.0.9 && policy 'set dyn' 'set more' "set bad file $L" 'rule @dyn deny' 'rule @more deny' 'rule @bad deny' &&
		rl B set flush dyn && rl B set add dyn 10.77.0.1 192.0.2.0/24 2001:db8::/32 for 1h && rl B set add dyn 192.0.2.9 for 2s &&
		rl B set add more 198.51.100.1 && has 'saved 5 members' rls save && is "$(stat -c %a "$S/veth-B.sets")" 640 && sleep 2.2 &&
		reboot && passes && rls restore && drops && is "$(rl B set list more)" 198.51.100.1 &&
		is "$(rl B set list dyn | sed 's/ for .*//' | sort | tr '\n' ' ')" '10.77.0.1 192.0.2.0/24 2001:db8::/32 ' &&
		between "$(left)" 3500 3600 && ! grep -q '^10.77.0.1$' "$S/veth-B.sets"
}
# Seconds that are left to a member.
left() { rl B set list -j dyn | json '.members[] | select(.member == "10.77.0.1") | .expires_in | floor'; }

# A clock that stands before the moment of saving, as at boot without a battery, adds no time.
test_restore_clock() {
	lines "saved $(date -u -d '+3 days' +%FT%TZ)" 'set dyn' "10.77.0.1 until $(date -u -d '+3 days +2 hours' +%FT%TZ)" >"$TMP/saved" &&
		reboot && rls restore "$TMP/saved" && drops && between "$(left)" 7100 7200
}

test_restore_corrupt() {
	lines 'set dyn' 10.77.0.1 rubbish 'set NO' 192.0.2.5 'set none' 192.0.2.6 >"$TMP/saved" && printf 'set dyn\n192.0.2.7\n192.0.2' >>"$TMP/saved" && reboot &&
		has ':3: "rubbish" is not an address' expect_status 1 rls restore "$TMP/saved" && drops &&
		is "$(rl B set list dyn | sort | tr '\n' ' ')" '10.77.0.1 192.0.2.7 ' && has 'cut off' expect_status 1 rls restore "$TMP/saved" &&
		: >"$TMP/saved" && rls restore "$TMP/saved" && has 'No such file' expect_status 1 rls restore "$TMP/none"
}

# Nothing is saved: a first boot is no error.
test_restore_none() { rm -f "$S/veth-B.sets" && has 'nothing is saved' rls restore && is "$(ls "$S")" ''; }

test_save_pipe() {
	rl B set flush dyn && rl B set add dyn 192.0.2.1 && rls save - | grep -q '^192.0.2.1$' && rls save - >"$TMP/saved" && reboot &&
		rls restore - <"$TMP/saved" && is "$(rl B set list dyn)" 192.0.2.1 &&
		has 'leave out the file' expect_status 2 rls save -i all "$TMP/saved"
}

# A set of another kind is not restored into.
test_restore_kind() {
	list 10.77.0.9 && rls load && lines 'set bad' 10.77.0.1 >"$TMP/saved" && has 'or it has a file' rls restore "$TMP/saved" && passes
}

# ---- databases

mmdb() { "$TOP/tests/net/mmdb_write.py" "$@"; }
database() {
	lines '10.77.0.0/25 country=DE asn=64496' '10.77.0.128/25 country=DE' '192.0.2.0/24 country=FR asn=64511' \
		'198.51.100.0/24 registered=DE' '203.0.113.0/24 country=US registered=DE' \
		'2001:db8::/33 country=DE' '2001:db8:8000::/33 country=FR' '2001:db9::/32 asn=64496' '10.77.0.7/32 country=US'
}

test_mmdb() {
	database | mmdb "$L.mmdb" --alias && policy "set bad mmdb $L.mmdb country FR" 'rule @bad deny' && passes &&
		is "$(members)" '192.0.2.0/24 2001:db8:8000::/33 ' && policy "set bad mmdb $L.mmdb country DE" 'rule @bad deny' && drops &&
		is "$(members)" '10.77.0.0/30 10.77.0.128/25 10.77.0.16/28 10.77.0.32/27 10.77.0.4/31 10.77.0.6 10.77.0.64/26 10.77.0.8/29 198.51.100.0/24 2001:db8::/33 ' &&
		policy "set bad mmdb $L.mmdb country DE,FR" 'rule @bad deny' && has 2001:db8::/32 members &&
		policy "set bad mmdb $L.mmdb asn 64511,64496" 'rule @bad deny' && drops && has 2001:db9::/32 members && has 192.0.2.0/24 members
}

test_mmdb_ipv4() {
	lines '10.77.0.0/24 country=DE' '192.0.2.0/24 country=FR' | mmdb "$L.mmdb" --ipv4 && policy "set bad mmdb $L.mmdb country DE" 'rule @bad deny' &&
		is "$(members)" '10.77.0.0/24 ' && drops
}

# Each address is a member exactly if mmdblookup, MaxMind's own, says its country.
test_mmdb_oracle() {
	local address country member
	database | mmdb "$L.mmdb" --alias && policy "set bad mmdb $L.mmdb country DE" 'rule @bad deny' || return
	for address in 10.77.0.{0,3,4,5,6,7,8,127,128,255} 10.76.255.255 10.78.0.0 192.0.2.1 203.0.113.1 198.51.100.9 2001:db8::1 2001:db8:7fff::1 2001:db8:8000::1 2001:db9::1 ::1; do
		country=$(mmdblookup --file "$L.mmdb" --ip "$address" country iso_code 2>/dev/null || mmdblookup --file "$L.mmdb" --ip "$address" registered_country iso_code 2>/dev/null)
		member=no
		rl B set test bad "$address" >/dev/null && member=yes
		is "$address $member" "$address $([[ $country == *'"DE"'* ]] && echo yes || echo no)" || return
	done
}

test_mmdb_broken() {
	database | mmdb "$L.mmdb" --loop && has 'its tree is broken' expect_status 1 rls load bad && drops && echo text >"$L.mmdb" &&
		has 'not a database' expect_status 1 rls load bad && : >"$L.mmdb" && has 'it is empty' expect_status 1 rls load bad && drops &&
		lines '192.0.2.0/24 country=FR' | mmdb "$L.mmdb" && has 'none of its networks' expect_status 1 rls load bad && drops &&
		lines '10.77.0.0/16 country=DE' | mmdb "$L.mmdb" && rls load bad && is "$(members)" '10.77.0.0/16 '
}

test_mmdb_cut() {
	database | mmdb "$L.whole" || return
	local size cut
	size=$(stat -c %s "$L.whole")
	for cut in 1 7 60 $((size / 2)) $((size - 1)); do
		head -c "$cut" "$L.whole" >"$L.mmdb"
		expect_status 1 rls load bad 2>"$TMP/load" && is "$(members)" '10.77.0.0/16 ' || return
	done
}

veth_pair A B && veth_quiet A B || exit 1
t 'attach loads a file' test_attach
t 'apply loads a file that has changed' test_apply
t 'apply does not load a file again' test_apply_unchanged
t 'attach --or-apply, as reload of the unit, loads it' test_or_apply
t 'a trial loads it' test_trial
t 'formats' test_formats
t 'bad lines are named' test_bad_lines
t 'a broken, empty or missing file keeps the members' test_broken
t 'the other rules come into force' test_broken_apply
t 'too many members' test_too_many
t 'a file that keeps changing' test_changing
t 'names of sets' test_names
t '--check: files that could not be loaded' test_check
t 'every: a file that has changed' test_due
t 'every: a file that is missing for a while' test_due_failed
t 'every: not given' test_due_never
t '--due without an instance' test_due_none
t '--due saves what has changed' test_due_saves
t 'save and restore: the time that is left' test_restore
t 'restore: a clock that is behind' test_restore_clock
t 'restore: a corrupt file' test_restore_corrupt
t 'restore: nothing was saved' test_restore_none
t 'save and restore by a pipe' test_save_pipe
t 'restore: not into a set with a file' test_restore_kind
t 'mmdb: countries and autonomous systems' test_mmdb
t 'mmdb: a tree of IPv4' test_mmdb_ipv4
t 'mmdb: as mmdblookup says' test_mmdb_oracle
t 'mmdb: broken databases' test_mmdb_broken
t 'mmdb: databases cut off' test_mmdb_cut
