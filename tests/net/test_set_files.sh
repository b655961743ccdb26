#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets whose members come from files and databases, and members that are saved and restored. check: timeout 180
source "$(dirname "$0")/../lib.sh"

L=$TMP/list P=$TMP/policy S=$TMP/state/rlctl/netns-$(ns B)
# State files belong to the test alone, which does not make the machine's directory for them either.
mkdir -p "$TMP/state"
# shellcheck disable=SC2016 # the inner shell expands them
mine() { unshare -m --propagation private sh -c 'mount --bind "$0" /var/lib && exec "$@"' "$TMP/state" "$@"; }
rls() { mine "$RLCTL" -n "$(ns B)" set "$@"; }
# The same in a namespace of process 1.
# shellcheck disable=SC2016 # the inner shell expands them
rls_first() { in_ns "$1" unshare -m --pid --fork --mount-proc --propagation private sh -c 'mount --bind "$0" /var/lib && exec "$@"' "$TMP/state" "$RLCTL" set "${@:2}"; }

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

# A link is followed for root and for the file's owner: another's could show what only root may read.
test_apply_link() {
	local theirs=$TMP/others
	mkdir "$theirs" && echo 'root:secret:1' >"$TMP/secret" && chmod 600 "$TMP/secret" && ln -s "$TMP/secret" "$theirs/list" && chown -h 54321 "$theirs/list" &&
		has 'symbolic link of another user' policy "set bad file $theirs/list" 'rule @bad deny' && ! has root:secret expect_status 1 rl B set load && list 10.77.0.7 && ln -s "$L" "$TMP/own" &&
		policy "set bad file $TMP/own" 'rule @bad deny' && is "$(members)" '10.77.0.7 ' && list 10.77.0.1 &&
		policy "set bad file $L" 'rule @bad deny' 'rule 192.0.2.1 deny'
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
		policy "set bad file $L" 'rule @bad deny' && list 10.77.0.1 && rls load -y bad
}

# A list does not mean everybody, an error page in its place, or a part of itself.
test_wide() {
	list 10.77.0.1 0.0.0.0/0 ::/0 0.0.0.0-255.255.255.255 10.0.0.0/7 12.0.0.0/8 2001:2000::/19 &&
		has '4 prefixes left out: wider than the set'\''s shortest, /8,19: first 0.0.0.0/0' rls load -q bad &&
		is "$(members)" '10.77.0.1 12.0.0.0/8 2001:2000::/19 ' && rl B show | grep -qx "set bad file $L" &&
		list 0.0.0.0/0 && has 'wider than the set takes' expect_status 1 rls load -y bad && drops &&
		list 10.77.0.1 192.0.2.0/23 && policy "set bad file $L shortest /24,48" 'rule @bad deny' && is "$(members)" '10.77.0.1 ' &&
		rl B show | grep -qx "set bad file $L shortest /24,48" && policy "set bad file $L shortest /0,0" 'rule @bad deny' &&
		is "$(members)" '10.77.0.1 192.0.2.0/23 ' && list 10.77.0.1 0.0.0.0/0 && rls load bad && is "$(members)" '0.0.0.0/0 10.77.0.1 ' &&
		policy "set bad file $L" 'rule @bad deny' && is "$(members)" '10.77.0.1 '
}

# By hand and from a bouncer: none but those is refused.
test_wide_by_hand() {
	policy 'set dyn shortest /8,32 max 9' "set bad file $L" 'rule @dyn deny' 'rule @bad deny' && printf '%s\n' 0.0.0.0/0 192.0.2.1 ::/0 10.0.0.0/8 >"$TMP/swap" &&
		has '0.0.0.0/0 refused: it is wider than the set'\''s shortest, /8,32' expect_status 1 rl B set swap dyn "$TMP/swap" &&
		is "$(rl B set list dyn | tr '\n' ' ')" '10.0.0.0/8 192.0.2.1 ' && has '::/0 refused' expect_status 1 rl B set add dyn ::/0 192.0.2.2 &&
		has '2001::/31 refused' expect_status 1 rl B set add dyn - <<<$'2001::/31 for 1h\n2001:db8::/32 for 1h\n192.0.2.3' &&
		is "$(rl B set list dyn | sed 's/ for .*//' | tr '\n' ' ')" '10.0.0.0/8 192.0.2.1 192.0.2.2 192.0.2.3 2001:db8::/32 ' &&
		rl B set list -j | json '.. | .shortest? // empty' | grep -qx /8,32 && policy "set bad file $L" 'rule @bad deny'
}

# shellcheck disable=SC2016 # backquotes of a message
test_half() {
	list 10.77.0.{1..40} && rls load bad && list 10.77.0.{1..20} 10.77.0.1 && rls load bad && list 10.77.0.{1..9} 10.77.0.{1..9} &&
		has 'its members would go from 20 to 9, less than half: if it is right, `rlctl set load --yes bad`' expect_status 1 rls load -q bad &&
		is "$(rl B set list bad | wc -l)" 20 && is "$(rl B stats -j | json '.[0].sets[0] | has("load_failed")')" true &&
		rl B doctor veth-B -j | json '.[].what' | grep -q 'the file of set bad failed to load' && rls load -q --yes bad && is "$(rl B set list bad | wc -l)" 9 &&
		is "$(rl B stats -j | json '.[0].sets[0] | has("load_failed")')" false && list 10.77.0.1 && cp -p "$L" "$L.other" &&
		policy "set bad file $L.other" 'rule @bad deny' && is "$(members)" '10.77.0.1 ' && policy "set bad file $L" 'rule @bad deny'
}

test_page() {
	list 10.77.0.1 && rls load bad && list '<html>' '<body>' 10.77.0.9 '</body>' &&
		has 'most of its lines are no addresses (3, and 1 are)' expect_status 1 rls load -q bad && is "$(members)" '10.77.0.1 ' &&
		rls load -qy bad && is "$(members)" '10.77.0.9 ' && list 10.77.0.1 && rls load bad
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
	policy "set bad file $L every 4s" 'rule @bad deny' && rls load && sleep 4.1 && is "$(rls load --due)" '' && list 10.77.0.9 &&
		has '1 members' rls load --due && passes && list 10.77.0.1 && is "$(rls load --due)" '' && passes && sleep 4.1 &&
		has '1 members' rls load --due && drops
}

# A file that came back is loaded; meanwhile each look at it says that it is missing.
test_due_failed() {
	rm "$L" && sleep 4.1 && has 'No such file' expect_status 1 rls load --due && drops && list 10.77.0.9 && sleep 4.1 && rls load --due && passes
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

# The file has whole seconds, rounded up: what lasts for 6 s has gone after 7.
test_restore() {
	list 10.77.0.9 && policy 'set dyn' 'set more' "set bad file $L" 'rule @dyn deny' 'rule @more deny' 'rule @bad deny' &&
		rl B set flush dyn && rl B set add dyn 10.77.0.1 192.0.2.0/24 2001:db8::/32 for 1h && rl B set add dyn 192.0.2.9 for 6s &&
		rl B set add more 198.51.100.1 && has 'saved 5 members' rls save && is "$(stat -c %a "$S/veth-B.sets")" 640 && sleep 7.2 &&
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

# Instances of one name in different namespaces, and at different hooks, have files of their own.
test_restore_own() {
	local first=${S%/*}
	ns_new D && ip -n "$(ns D)" link add veth-B type veth peer name other && rl D attach veth-B --policy "$P" &&
		rl B set flush dyn && rl B set add dyn 192.0.2.1 && rl D set add dyn 192.0.2.2 &&
		mine "$RLCTL" -n "$(ns D)" set load --due -i all -q && rls load --due -i all -q && rls_first D save -i all &&
		is "$(cd "$first" && grep -r ^192 | sort)" "$(cd "$first" && lines "netns-$(ns B)/veth-B.sets:192.0.2.1" "netns-$(ns D)/veth-B.sets:192.0.2.2" "veth-B.sets:192.0.2.2" | sort)" &&
		mine "$RLCTL" -n "$(ns D)" set restore && is "$(rl D set list dyn)" 192.0.2.2
}
# A file of another instance is neither replaced nor, unless it is named, restored.
test_restore_owner() {
	rls save && cp "$S/veth-B.sets" "$TMP/theirs" && sed -i '1s/veth-B at xdp/eth0 at egress/' "$S/veth-B.sets" &&
		has 'it has the members of eth0 at egress in' expect_status 1 rls save && has 'it has the members of eth0' expect_status 1 rls restore &&
		has 'it has the members of eth0' expect_status 1 rls load --due -i all && rls restore "$S/veth-B.sets" &&
		cp "$TMP/theirs" "$S/veth-B.sets" && rls save
}
# shellcheck disable=SC2016 # words of a message
test_restore_two() { # the file of both veth-B at egress and veth-B.egress
	ip -n "$(ns B)" link add veth-B.egress type veth peer name other && rl B attach veth-B.egress --policy "$P" &&
		has 'of veth-B.egress at xdp and of veth-B at egress: name another one: `rlctl set save -i veth-B.egress --hook xdp FILE`' \
			expect_status 1 rls save -i veth-B.egress && rls save -i veth-B.egress "$TMP/saved" &&
		expect_status 1 rls restore -i veth-B.egress && rls restore -i veth-B.egress "$TMP/saved" && rl B detach veth-B.egress &&
		ip -n "$(ns B)" link del veth-B.egress
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
		lines '10.77.0.0/16 country=DE' | mmdb "$L.mmdb" && has 'less than half' expect_status 1 rls load bad && rls load -y bad && is "$(members)" '10.77.0.0/16 '
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
t 'apply: a link to a file' test_apply_link
t 'apply does not load a file again' test_apply_unchanged
t 'attach --or-apply, as reload of the unit, loads it' test_or_apply
t 'a trial loads it' test_trial
t 'formats' test_formats
t 'bad lines are named' test_bad_lines
t 'a broken, empty or missing file keeps the members' test_broken
t 'the other rules come into force' test_broken_apply
t 'too many members' test_too_many
t 'members wider than the shortest prefix' test_wide
t 'members wider than that, by hand' test_wide_by_hand
t 'a list that has lost more than half' test_half
t 'a page in the place of a list' test_page
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
t 'a file for each namespace' test_restore_own
t 'a file of another instance' test_restore_owner
t 'a file that would be of two instances' test_restore_two
t 'restore: nothing was saved' test_restore_none
t 'save and restore by a pipe' test_save_pipe
t 'restore: not into a set with a file' test_restore_kind
t 'mmdb: countries and autonomous systems' test_mmdb
t 'mmdb: a tree of IPv4' test_mmdb_ipv4
t 'mmdb: as mmdblookup says' test_mmdb_oracle
t 'mmdb: broken databases' test_mmdb_broken
t 'mmdb: databases cut off' test_mmdb_cut
