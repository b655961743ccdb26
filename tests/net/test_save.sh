#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policy in force and the policy in files: diff, save, and include.
source "$(dirname "$0")/../lib.sh"

P=$TMP/policy

# in_force LINE…: exactly these rules are.
in_force() { printf '%s\n' "$@" | rl B apply --yes -; }
lines() { printf '%s\n' "$@"; }

# ---- diff

test_diff() {
	in_force 'rule any limit 9/second burst 1' 'rule 192.0.2.1 deny # bob' 'rule 192.0.2.2 deny' &&
		lines 'rule 192.0.2.1 deny # eve' 'rule any limit 9/second burst 1' 'rule 192.0.2.3 allow' >"$P" &&
		is "$(rl B diff "$P")" "$(lines '- rule 192.0.2.1 deny # bob' '+ rule 192.0.2.1 deny # eve' \
			'- rule 192.0.2.2 deny' '+ rule 192.0.2.3 allow')" &&
		is "$(rl B diff - -j <"$P" | json -c '[.device, .added, .removed, .changed]')" \
			'["veth-B",["rule 192.0.2.3 allow"],["rule 192.0.2.2 deny"],[{"from":"rule 192.0.2.1 deny # bob","to":"rule 192.0.2.1 deny # eve"}]]'
}

# The output of show does not differ, with the time left as it is now; an applied file does not differ then.
test_diff_none() {
	in_force 'rule any limit 1mbit over count # x' 'rule 192.0.2.0/24 udp limit leaky-bucket 5/s queue 3ms' 'rule 192.0.2.1 deny for 1h' &&
		is "$(rl B show | rl B diff - 2>&1)" 'rlctl: veth-B: no difference' && is "$(rl B show | rl B diff -q - 2>&1)" '' &&
		is "$(rl B show | rl B diff -j - | json -c '[.added, .removed, .changed]')" '[[],[],[]]' &&
		rl B apply "$P" && has 'no difference' rl B diff "$P"
}

# A diff changes nothing, and says what apply would say.
test_diff_notes() {
	local before
	before=$(rl B show) && lines 'rule any allow' 'rule any deny' >"$P" &&
		has "$P:2: replaces the rule on line 1" rl B diff "$P" &&
		echo 'rule any udp limit 9/s over ban 1m' >"$P" && has "$P:1: warning: a single packet" rl B diff "$P" &&
		echo 'rule any dney' >"$P" && has "$P:1:10: \"dney\" is not" expect_status 1 rl B diff "$P" &&
		is "$(rl B diff "$P" 2>/dev/null)" '' && has 'No such file' expect_status 1 rl B diff "$TMP/none" &&
		expect_status 2 rl B diff && expect_status 1 rl B diff -i lo "$P" && is "$(rl B show)" "$before"
}

test_diff_too_large() {
	seq -f 'rule 10.0.%.0f.0/24 deny' 1 101 >"$P" && has 'too many prefixes' expect_status 1 rl B diff "$P"
}

# ---- save

# in_etc CMD…: CMD with an /etc of its own, which has only what is in $TMP/etc.
# shellcheck disable=SC2016 # the inner shell expands them
in_etc() { unshare -m --propagation private sh -c 'mount --bind "$0" /etc && exec "$@"' "$TMP/etc" "$@"; }
save_etc() { in_etc "$RLCTL" -n "$(ns B)" save "$@"; }
# The same where B is the namespace of process 1, as on a machine that has no others.
# shellcheck disable=SC2016 # the inner shell expands them
save_first() { in_ns B unshare -m --pid --fork --mount-proc --propagation private sh -c 'mount --bind "$0" /etc && exec "$@"' "$TMP/etc" "$RLCTL" save "$@"; }

# shellcheck disable=SC2016 # words of a message
test_save_path() {
	local first=$TMP/etc/rlctl etc
	etc=$first/netns-$(ns B)
	mkdir -p "$etc" && in_force 'rule any deny # bob' 'rule 192.0.2.1 allow' &&
		has 'saved 2 rules to /etc/rlctl/veth-B.policy' save_first -i veth-B --hook xdp &&
		is "$(<"$first/veth-B.policy")" "$(rl B show)" && is "$(stat -c %a "$first/veth-B.policy")" 640 &&
		rl B attach veth-B --hook egress && rl B rule add any udp deny --hook egress && save_first --hook egress &&
		is "$(<"$first/veth-B.egress.policy")" 'rule any udp deny' && save_first -i all &&
		has 'leave out the file' expect_status 2 rl B save -i all "$P" &&
		has './veth-B' expect_status 2 rl B save --hook xdp veth-B &&
		is "$(find "$TMP/etc" -type f | sort)" "$(lines "$first"/veth-B.{egress.,}policy)" &&
		has "saved 2 rules to /etc/rlctl/netns-$(ns B)/veth-B.policy" save_etc -i veth-B --hook xdp &&
		rl B detach veth-B --hook egress && is "$(<"$etc/veth-B.policy")" "$(rl B show)" &&
		rm -r "$etc" && has "/etc/rlctl/netns-$(ns B)/veth-B.policy: No such file" expect_status 1 save_etc &&
		has 'no name of `ip netns`' expect_status 1 save_unnamed && rm -r "$first"
}

# shellcheck disable=SC2016 # words of a message
save_unnamed() { # a namespace that is neither that of process 1 nor one with a name
	in_etc unshare --net sh -c '"$0" attach lo --mode generic 2>&1 && "$0" save -i lo; rc=$?; "$0" detach lo; exit $rc' "$RLCTL"
}

# One file of two instances: neither takes the place of the other's policy.
test_save_two() {
	local both='veth-B.egress.policy: the file of' etc
	etc=$TMP/etc/rlctl/netns-$(ns B)
	rm -rf "$etc" && mkdir -p "$etc" && rl B attach veth-B --hook egress && save_etc --hook egress &&
		ip -n "$(ns B)" link add veth-B.egress type veth peer name other && rl B attach veth-B.egress --hook xdp || return
	has "$both veth-B at egress and of veth-B.egress at xdp: name another one: \`rlctl save -i veth-B --hook egress FILE\`" \
		expect_status 1 save_etc -i veth-B --hook egress &&
		has "$both veth-B.egress at xdp and of veth-B at egress: name another one: \`rlctl save -i veth-B.egress --hook xdp FILE\`" \
			expect_status 1 save_etc -i veth-B.egress && is "$(find "$etc" -type f)" "$etc/veth-B.egress.policy" &&
		save_etc -i veth-B.egress --hook xdp "$etc/veth-B.egress.policy" && save_etc -i veth-B --hook xdp &&
		rl B detach veth-B --hook egress && rl B detach veth-B.egress && ip -n "$(ns B)" link del veth-B.egress
}

# Applied again, the file changes nothing; what was added by hand for a time has the rest of it.
test_save_time() {
	in_force 'rule any limit 9/second burst 1 # x' && rl B rule add 192.0.2.1 deny for 1h && rm -f "$P" && rl B save "$P" &&
		rl B diff "$P" && is "$(sed 's/59m[0-9]*s/1h/' "$P")" "$(lines 'rule any limit 9/second burst 1 # x' 'rule 192.0.2.1 deny for 1h')"
}

test_save_owner() {
	echo 'rule any allow' >"$P" && chmod 604 "$P" && chown 54321:54322 "$P" && in_force 'rule any deny' && rl B save -q "$P" &&
		is "$(stat -c '%a %u %g' "$P")" '604 54321 54322' && is "$(<"$P")" 'rule any deny' && rm "$P"
}

test_save_json() {
	in_force 'rule any deny' && is "$(rl B save -j "$P" 2>&1 | json -c '[.device, .file, .rules, .backup]')" "[\"veth-B\",\"$P\",1,false]"
}

# backs_up LINE…: a file of these lines is kept beside the new one.
backs_up() {
	rm -f "$P~" && lines "$@" >"$P" && cp "$P" "$TMP/mine" && has "the former file is $P~" rl B save "$P" &&
		cmp "$P~" "$TMP/mine" && is "$(<"$P")" 'rule any deny'
}

# A file that has nothing to lose does not take the place of one that has been kept.
test_save_backup() {
	in_force 'rule any deny' && backs_up '# mine' 'rule any deny' && backs_up 'rule any deny' ' 	include x' &&
		rl B save "$P" && cmp "$P~" "$TMP/mine" && printf ' rule\tany  deny\n\n \n' >"$P" && rl B save "$P" && cmp "$P~" "$TMP/mine" &&
		backs_up 'rules' && backs_up 'rule any deny' 'rule 10.0.0.0/8 denny # typo' && backs_up 'rule any deny # x' &&
		backs_up 'rule any allow' && backs_up 'rule any deny' 'rule 10.0.0.1 deny' && backs_up 'rule any deny # x' 'rule any deny' && is "$(find "$TMP" -name '.policy*')" ''
}

test_save_backup_comment() {
	local comment
	comment=$(printf 'x%.0s' {1..121}) && rm -f "$P~" && lines "rule any deny # $comment" >"$P" && cp "$P" "$TMP/mine" &&
		rl B apply --yes "$P" && rl B save "$P" && cmp "$P~" "$TMP/mine" && rm "$P~" && rl B save "$P" && [[ ! -e $P~ ]] &&
		rl B rule flush && rl B save "$P" && [[ ! -s $P ]] && is "$(<"$P~")" "rule any deny # ${comment%x}" && rm "$P~"
}

# Time that has passed is no loss.
test_save_backup_time() {
	in_force 'rule any deny for 1h' && rm -f "$P~" && echo 'rule any deny for 2h' >"$P" && rl B save "$P" && [[ ! -e $P~ ]] &&
		echo 'rule any deny' >"$P" && rl B save "$P" && is "$(<"$P~")" 'rule any deny' && rm "$P~"
}

# The next one that saves removes what a killed process left, and not what one writes that runs.
test_save_left() {
	local gone
	in_force 'rule any deny' && bg true && gone=$BG_PID && wait "$gone" &&
		touch "$TMP"/.policy.{"$gone","$gone~",$$,x} "$TMP/.policyx.$gone" && rl B save "$P" &&
		is "$(find "$TMP" -maxdepth 1 -name '.policy*' | sort)" "$(lines "$TMP"/.policy.{$$,x} "$TMP/.policyx.$gone" | sort)" &&
		rm "$TMP"/.policy*
}

# Followed: links of root. Not followed: those of others, in whose folder anything may change.
test_save_link() {
	local target=$TMP/target
	in_force 'rule any deny' && echo 'rule any allow' >"$target" && rm -f "$P" && ln -s target "$P" && rl B save "$P" &&
		[[ -L $P ]] && is "$(<"$target")" 'rule any deny' && echo 'rule any allow' >"$target" && chown -h 54321 "$P" &&
		has 'symbolic link of another user' expect_status 1 rl B save "$P" && is "$(<"$target")" 'rule any allow' &&
		ln -sfn "$P" "$P" && has 'too many of them' expect_status 1 rl B save "$P" && ln -sfn "$TMP/new" "$P" && rl B save "$P" &&
		is "$(<"$TMP/new")" 'rule any deny' && rm "$P"
}

# A failed write changes nothing.
test_save_bad() {
	in_force 'rule any deny' && has 'not a file' expect_status 1 rl B save /dev/null && has 'Is a directory' expect_status 1 rl B save "$TMP" &&
		has 'Is a directory' expect_status 1 rl B save "$TMP/" && has 'No such file' expect_status 1 rl B save "$TMP/none/x" &&
		has 'make its directory first' expect_status 1 rl B save "$TMP/none/x" && has 'name of the file is empty' expect_status 2 rl B save '' &&
		expect_status 2 rl B save - && expect_status 2 rl B save a b && expect_status 1 rl B save -i lo "$P" &&
		echo 'rule any allow' >"$P" && mount_full && has 'No space left' expect_status 1 rl B save "$TMP/full/policy" &&
		is "$(find "$TMP/full" -type f)" "$TMP/full/fill"
	umount_full $?
}

# A failure leaves the file and what was kept of an earlier one.
test_save_full() {
	local full=$TMP/full/policy
	in_force 'rule any deny' && mkdir -p "$TMP/full" && mount -t tmpfs -o size=12k,mode=700 none "$TMP/full" &&
		echo '# precious' >"$full~" && ln "$full~" "$TMP/full/again" && echo '# second' >"$full" && ! head -c 9000 /dev/zero >"$TMP/full/fill" 2>/dev/null &&
		has 'No space left' expect_status 1 rl B save "$full" && is "$(<"$full~")" '# precious' && is "$(<"$full")" '# second' &&
		is "$(stat -c %h "$full")" 1 && is "$(find "$TMP/full" -type f | sort)" "$(lines "$TMP"/full/{again,fill,policy,policy~})"
	umount_full $?
}
umount_full() { umount "$TMP/full" && return "$1"; } # STATUS of the test
mount_full() {
	mkdir -p "$TMP/full" && mount -t tmpfs -o size=4k,mode=700 none "$TMP/full" && ! head -c 9000 /dev/zero >"$TMP/full/fill" 2>/dev/null
}

test_save_trial() {
	in_force 'rule any deny' && echo 'rule any allow' >"$P" && bg exec_try || return
	eventually 10 prints 'rule any allow' rl B show && has 'on trial' expect_status 1 rl B save "$TMP/tried" &&
		[[ ! -e $TMP/tried ]] && rl B confirm && rl B save "$TMP/tried"
}

# Refused on one device, a change is made on none, with -j as without.
test_save_json_many() {
	local all
	mkdir -p "$TMP/etc/rlctl/netns-$(ns B)" && ip -n "$(ns B)" link add more type veth peer name more-peer && rl B attach more --hook xdp &&
		in_force_on veth-B 'rule any deny' && all=$(save_etc -j -i more,veth-B 2>/dev/null) &&
		is "$(jq -c 'map([.device, .rules])' <<<"$all")" '[["more",0],["veth-B",1]]' || return
	echo 'rule any allow' >"$P" && bg exec_try && eventually 10 prints 'rule any allow' rl B show -i veth-B && in_force_on more 'rule any deny' &&
		has 'nothing was changed on any device' expect_status 1 save_etc -j -i more,veth-B &&
		is "$(<"$TMP/etc/rlctl/netns-$(ns B)/more.policy")" '' && rl B confirm -i veth-B && rl B detach more && ip -n "$(ns B)" link del more
}
in_force_on() { printf '%s\n' "${@:2}" | rl B apply -i "$1" --yes -; }
exec_try() { exec "$RLCTL" -n "$(ns B)" apply -i veth-B --try 1m "$P"; }

# ---- include

I=$TMP/include

# files NAME TEXT…: these files below $I, and no others.
files() {
	rm -rf "$I"
	while (($#)); do
		mkdir -p "$(dirname "$I/$1")" && printf '%b' "$2" >"$I/$1" && shift 2 || return
	done
}

# says LINE…: --check of $I/p fails with these messages.
says() {
	local got status=0
	got=$("$RLCTL" apply --check "$I/p" 2>&1) || status=$?
	is "$status" 1 && is "$(grep '^rlctl: ' <<<"$got" | sed "s,$I/,,g; s/^rlctl: //")" "$(lines "$@")"
}

# Relative to the file that includes; a directory's files by their names as bytes; what comes later counts.
test_include() {
	files p 'include d/a # the first\n\tinclude d\r\ninclude '"$I"'/last\nrule any deny\n' d/a 'include b\nrule any allow' \
		d/b 'rule 10.0.0.1 deny # b' d/x.policy 'rule 10.0.0.2 allow\n' d/B.policy 'rule 10.0.0.2 deny' d/.hidden.policy no \
		d/README no d/policy no last 'rule 10.0.0.3 deny' d/empty.policy '' &&
		rl B apply --yes "$I/p" && is "$(rl B show)" "$(lines 'rule any deny' 'rule 10.0.0.1 deny # b' 'rule 10.0.0.2 allow' 'rule 10.0.0.3 deny')" &&
		has "$I/d/x.policy:1: replaces the rule on line 1 of $I/d/B.policy" rl B apply "$I/p" &&
		has "$I/p:4: replaces the rule on line 2 of $I/d/a" rl B apply "$I/p" &&
		is "$(rl B diff -q "$I/p")" '' && (cd "$I" && rl B diff -j - <p | json -e '.added + .removed + .changed == []') &&
		rl B detach veth-B && rl B attach veth-B --sources 1024 --prefixes 100 --policy "$I/p" && is "$(rl B diff -q "$I/p")" '' &&
		rl B rule flush && rl B rule add -f "$I/p" && is "$(rl B diff -q "$I/p")" ''
}

test_include_errors() {
	files p 'include a\nrule any dney\ninclude none\ninclude\ninclude a b\n  include fifo\ninclude p\n' a '\nrule 10.0.0.1 dney\n  include ../none' &&
		mkfifo "$I/fifo" || return
	says 'a:2:15: "dney" is not a match or an action'"$(dney)" "a:3:11: ../none: No such file or directory" \
		'p:2:10: "dney" is not a match or an action'"$(dney)" 'p:3:9: none: No such file or directory' \
		'p:4:1: "include" must be followed by a file or a directory' \
		'p:5:11: include takes one file or directory, without blanks in its name: write one include per line' \
		'p:6:11: fifo: neither a file nor a directory' 'p:7:9: p: includes itself: remove one of the includes' 'p: 8 errors'
}
dney() { "$RLCTL" apply --check - 2>&1 <<<'rule any dney' | sed -n 's/.*match or an action//p'; }

# An error of reading is reported once, at the include.
test_include_unreadable() {
	files p 'include /proc/self/mem\n' && says 'p:1:9: /proc/self/mem: Input/output error'
}

test_include_cycle() {
	files p 'include d\n' d/a.policy 'include ../p\n' && says 'd/a.policy:1:9: d/../p: includes itself: remove one of the includes' &&
		files p 'include a\n' a 'include b\n' b 'rule any deny\n' && ln "$I/a" "$I/same" && echo 'include same' >>"$I/b" &&
		says 'b:2:9: same: includes itself: remove one of the includes'
}

test_include_depth() {
	files p 'include 1\n' 1 'include 2\n' 2 'include 3\n' 3 'include 4\n' 4 'include 5\n' 5 'include 6\n' 6 'include 7\n' \
		7 'include 8\n' 8 'rule any deny\n' 9 'rule any deny\n' && "$RLCTL" apply --check "$I/p" && echo 'include 9' >"$I/8" &&
		says '8:1:9: 9: more than 8 files include one another: include it from an outer one' && files p '' d/1 '' &&
		yes 'include d/1' | head -n 1001 >"$I/p" && says 'p:1001:9: d/1: more than 1000 files are included: put them together' &&
		yes 'include d/1' | head -n 1100 >"$I/p" && says 'p:1001:9: d/1: more than 1000 files are included: put them together' &&
		files p 'include a\ninclude b\ninclude b' a 'rule any deny\n' b '' && truncate -s 1G "$I/b" &&
		says 'p:2:9: b: the included files have more than 1024 MiB: not policies'
}

test_include_dir() {
	files p 'include d/\n' d/a.policy 'rule any deny\n' d/sub.policy/x.policy 'rule any allow\n' &&
		says 'p:1:9: d/sub.policy: a directory in a directory: include it by itself' &&
		files p 'include d\n' d/x '' && has 'no rules' "$RLCTL" apply --check "$I/p" && files p 'include a' a 'rule any deny' &&
		chown -h 54321 "$I/a" && ln -s /etc/hostname "$I/l" && chown -h 54321 "$I/l" && echo 'include l' >"$I/p" &&
		says 'p:1:9: l: symbolic link of another user: name the file itself'
}

# A policy does not include a file that its owner may not read: an error would show the line.
# shellcheck disable=SC2016 # words of a message
test_include_owner() {
	files p 'include secret\ninclude open\ninclude theirs\n' secret 'root:secret\n' open 'rule 10.0.0.1 deny\n' theirs 'rule 10.0.0.2 deny\n' &&
		chmod 600 "$I/secret" "$I/theirs" && chmod 644 "$I/open" && chown 54321 "$I/p" "$I/theirs" &&
		says 'p:1:9: secret: the owner of the policy that includes it (uid 54321) may not read it: name another file, or take over the policy with `chown`' &&
		! has root:secret expect_status 1 "$RLCTL" apply --check "$I/p" && chown 0 "$I/p" && echo 'rule 10.0.0.3 deny' >"$I/secret" &&
		"$RLCTL" apply --check "$I/p"
}

# Errors that only the instance knows name the file as well.
test_include_instance() {
	files p 'rule any deny\ninclude a\n' a '' && seq -f 'rule 10.0.%.0f.0/24 deny' 1 101 >"$I/a" &&
		has "$I/a:101:" expect_status 1 rl B apply "$I/p" && has 'too many prefixes' expect_status 1 rl B apply "$I/p" &&
		echo 'rule any limit 9/s over ban 1m # xy' >"$I/a" && has "$I/a:1: warning" rl B diff "$I/p" &&
		has '"include" is not' expect_status 2 rl B rule add include "$I/a"
}

veth_pair A B && rl B attach veth-B --sources 1024 --prefixes 100 || exit 1
t 'diff: added, removed, changed' test_diff
t 'diff: no difference' test_diff_none
t 'diff: notes and errors of apply' test_diff_notes
t 'diff: a file that does not fit' test_diff_too_large
t 'save: where the units read it' test_save_path
t 'save: two instances of one file' test_save_two
t 'save: the time that is left' test_save_time
t 'save: owner and mode stay' test_save_owner
t 'save: JSON' test_save_json
t 'save: what is not in force is kept' test_save_backup
t 'save: a comment too long, no rules in force' test_save_backup_comment
t 'save: time that has passed' test_save_backup_time
t 'save: what a killed process left' test_save_left
t 'save: symbolic links' test_save_link
t 'save: what cannot be written' test_save_bad
t 'save: no space beside a kept file' test_save_full
t 'save: not while a policy is on trial' test_save_trial
t 'save: JSON of several devices' test_save_json_many
t 'include: files and directories' test_include
t 'include: every error has its place' test_include_errors
t 'include: a file that cannot be read' test_include_unreadable
t 'include: cycles' test_include_cycle
t 'include: depth and number' test_include_depth
t 'include: directories and links' test_include_dir
t 'include: what its owner may not read' test_include_owner
t 'include: errors of the instance' test_include_instance
