#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Capabilities: every verb works with those in its row of rlctl.8, and without one of them names the missing
# one and changes nothing. Capabilities that are not in the row are dropped at start, and all of them once a
# verb that keeps running has opened the files and maps it reads. Capabilities of the file do as well as root.
source "$(dirname "$0")/../lib.sh"

declare -A NUMBER=([CHOWN]=0 [DAC_OVERRIDE]=1 [DAC_READ_SEARCH]=2 [NET_BIND_SERVICE]=10 [NET_ADMIN]=12
	[KILL]=5 [SETGID]=6 [SETUID]=7 [SYS_PTRACE]=19 [SYS_ADMIN]=21 [PERFMON]=38 [BPF]=39)

# row VERB COLUMN: of the table in the manual page, without CAP_. A line `.It Ta Ta WORDS` continues the last column.
row() {
	local text
	text=$(awk -F ' Ta ' -v verb="$1" -v column="$2" '/^\.Ss Capabilities/ { here = 1 }
		found && !sub(/^\.It Ta Ta /, "") { exit }
		found { if (column == 3) text = text " " $0; next }
		here && $1 == ".It Cm " verb { text = $column; found = 1 }
		END { print text; exit !found }' "$TOP/user/man/rlctl.8") && echo "${text#-}"
}

# with CAPABILITIES CMD…: in B, as root that has no others.
with() {
	local names=$1 set=-all name
	shift
	for name in $names; do
		set+=,+${name,,}
	done
	in_ns B setpriv --inh-caps=-all --bounding-set="$set" "$@"
}

without() { # NAME NAMES: these but that one
	local name
	for name in $2; do
		[[ $name == "$1" ]] || echo "$name"
	done | paste -sd ' '
}

# ---- the table

# The command line that tests each verb; begin() undoes its changes.
declare -A WORDS=(
	[attach]='attach veth-B --sources 1024' [detach]='detach veth-B' [status]=status ['rule add']='rule add 192.0.2.1 deny'
	['rule del']='rule del any limit 9/second' ['rule get']='rule get 192.0.2.1' ['rule list']='rule list'
	[explain]='explain 192.0.2.1 udp' ['alarm on']='alarm on pulled for 1m' ['alarm off']='alarm off pulled' ['alarm list']='alarm list'
	['rule flush']='rule flush' [apply]="apply $TMP/policy" [undo]=undo [ban]='ban 192.0.2.1' [unban]='unban 192.0.2.8' [diff]="diff $TMP/policy" [confirm]=confirm [doctor]=doctor [show]=show [policies]=policies [save]="save $TMP/saved"
	[stats]=stats [exporter]='exporter --listen 127.0.0.1:9754' [top]='top --once' [monitor]='monitor --seconds 1'
	[events]=events [report]=report
	[simulate]="simulate $TMP/policy $TMP/pcap" [suggest]="suggest --capture $TMP/pcap" ['source show']='source show 10.77.0.1'
	['source list']='source list'
	['source forgive']='source forgive 10.77.0.1' ['fleet join']='fleet join --name f --redis unix:///nowhere'
	['set add']='set add bad 192.0.2.1' ['set del']='set del bad 192.0.2.1' ['set test']='set test bad 192.0.2.1'
	['set list']='set list bad' ['set flush']='set flush bad' ['set swap']="set swap bad $TMP/list"
	['set load']='set load' ['set save']="set save $TMP/sets" ['set restore']='set restore /dev/null'
	['fleet status']='fleet status' ['fleet leave']='fleet leave' [completion]='completion bash' [help]=help
)
POLICY='set bad
rule any limit 9/second burst 9'

attach() { rl B attach veth-B --sources 1024 --policy "$TMP/policy"; }

# begin VERB: prepares the state that the verb needs.
begin() {
	if [[ $1 == attach ]]; then
		[[ -z $(xdp_program B veth-B) ]] || rl B detach veth-B
	elif [[ -z $(xdp_program B veth-B) ]]; then
		attach
	else
		rl B apply "$TMP/policy"
	fi
	[[ $1 != unban ]] || rl B ban 192.0.2.8 -q
	[[ $1 != 'alarm '* ]] || rl B apply --yes - <<<'alarm pulled manual'
	[[ $1 != undo ]] || { rl B apply - <<<'rule any udp limit 9/second burst 9' && rl B apply "$TMP/policy"; }
	[[ $1 != 'set test' ]] || rl B set add bad 192.0.2.1 -q
}

state() {
	echo "program $(xdp_program B veth-B)"
	rl B show 2>/dev/null || true
}

run_verb() { # NAMES VERB
	local words=${WORDS[$2]}
	case "$2" in
	confirm)
		bg in_ns B "$RLCTL" apply --try 1m "$TMP/policy"
		eventually 10 on_trial || return
		;;
	exporter)
		bg with "$1" "$RLCTL" exporter --listen 127.0.0.1:9754
		eventually 10 in_ns B curl -sf -o /dev/null http://127.0.0.1:9754/metrics || return
		return
		;;
	'fleet join')
		# shellcheck disable=SC2086 # words
		bg with "$1" "$RLCTL" $words
		eventually 10 has ' f ' rl B fleet status && rl B fleet leave
		return
		;;
	esac
	# shellcheck disable=SC2086 # words
	with "$1" "$RLCTL" $words
}
on_trial() { ! rl B rule add 192.0.2.9 deny 2>"$TMP/trial" && grep -q 'on trial' "$TMP/trial"; }

# doctor only has to run: it reports the checks it could not make.
test_verb() { # VERB
	local needs name status=0
	needs=$(row "$1" 2) && begin "$1" || return
	run_verb "$needs" "$1" || status=$?
	[[ $1 == doctor && $status -eq 1 ]] || is "$status" 0 || return
	[[ $needs ]] || return 0
	begin "$1" && state >"$TMP/before" || return
	for name in $needs; do
		has "missing capabilities: CAP_$name" expect_status 1 run_verb "$(without "$name" "$needs")" "$1" || return
	done
	state >"$TMP/after" && diff "$TMP/before" "$TMP/after"
}

# Every verb of the usage has a row, and none is too many.
test_rows() {
	diff <("$RLCTL" --help | sed -nE 's/^  ([a-z]+( (add|del|get|list|flush|test|swap|load|save|restore|show|forgive|join|status|leave|on|off))?) .*/\1/p' | sort -u) \
		<(printf '%s\n' "${!WORDS[@]}" | sort) &&
		for verb in "${!WORDS[@]}"; do row "$verb" 3 >/dev/null || _say "$verb" || return; done
}

test_netns() {
	begin show && with SYS_ADMIN "$RLCTL" -n "$(ns B)" show &&
		has 'missing capabilities: CAP_SYS_ADMIN' expect_status 1 with 'BPF NET_ADMIN PERFMON' "$RLCTL" -n "$(ns B)" show
}

# The first prefix comes into force without the privilege for the program that has a cache for it, and the next change
# brings that. The first limit for each source is refused.
test_tables() {
	begin detach && rl B detach veth-B && rl B attach veth-B || return
	has 'needs CAP_SYS_ADMIN' expect_status 1 with BPF "$RLCTL" rule add any limit 9/second && with BPF "$RLCTL" rule add 192.0.2.0/24 deny &&
		! cached && rl B rule add any tcp deny && cached && rl B detach veth-B
}
cached() { bpftool -j prog show id "$(xdp_program B veth-B)" | json .map_ids[] | grep -qx "$(bpftool -j map show pinned "$(ns_pins B)/veth-B-xdp/prefix_cache" | json .id)"; }

# CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON, as in the kernel.
test_admin() {
	begin attach && with 'SYS_ADMIN NET_ADMIN' "$RLCTL" attach veth-B && with SYS_ADMIN "$RLCTL" rule add any deny &&
		with 'SYS_ADMIN NET_ADMIN' "$RLCTL" detach veth-B
}

# ---- the capabilities that remain

# capabilities PID: all sets except the bounding one, from which nothing can be dropped any more.
capabilities() {
	awk '/^Cap(Inh|Prm|Eff|Amb):/ { print $2 } /^NoNewPrivs:/ { print $2 }' "/proc/$1/status" | paste -sd ' '
}

mask() { # NAMES: as /proc has it
	local sum=0 name
	for name in $1; do
		sum=$((sum | 1 << NUMBER[$name]))
	done
	printf '%016x' "$sum"
}

NONE=0000000000000000
has_only() { # PID NAMES [ASIDE]: and those that have no effect
	is "$(capabilities "$1")" "$NONE $(mask "$2 ${3:-}") $(mask "$2") $NONE 1"
}

# into FILE CMD…: becomes CMD, in B.
into() { exec nsenter --net="/run/netns/$(ns B)" "${@:2}" >"$1" 2>&1; }

ASIDE='NET_ADMIN PERFMON SYS_ADMIN' # until the program is to be replaced
effective() { row apply 3 | tr ' ' '\n' | grep -vxF "$(tr ' ' '\n' <<<"$ASIDE")"; }

# A waiting trial keeps the capabilities for writing the old policy.
test_left_of_row() {
	begin apply && bg into "$TMP/try" "$RLCTL" apply --try 1m "$TMP/policy" || return
	eventually 10 grep -q 'on trial' "$TMP/try" && has_only "$BG_PID" "$(row apply 2) $(effective)" "$ASIDE" && rl B confirm
}

listens() { in_ns B curl -sf http://127.0.0.1:"$1"/metrics; }

# Instances and policies that come later are read without any capability.
test_left_of_exporter() {
	begin attach && bg into "$TMP/exporter" "$RLCTL" exporter --listen 127.0.0.1:955 || return
	eventually 10 listens 955 >/dev/null && has_only "$BG_PID" '' && attach && eventually 5 rules_served 1 &&
		rl B rule add 192.0.2.1 deny && eventually 5 rules_served 2
}
rules_served() { listens 955 | grep "^rlctl_rules{device=\"veth-B\",hook=\"xdp\"} $1\$"; }

sees() { # FILE WORDS: of a packet sent now
	ping_b && grep -q "$2" "$1"
}
ping_b() { in_ns A ping -qc 1 -W 0.1 10.77.0.2 >"$TMP/ping" || true; }

# The monitor keeps reading the policy, which changes meanwhile, and keeps its slot by renewing it.
test_left_of_monitor() {
	begin monitor && rl B rule add 10.77.0.0/24 deny && bg into "$TMP/monitor" "$RLCTL" monitor || return
	eventually 10 sees "$TMP/monitor" '10.77.0.0/24 deny' && has_only "$BG_PID" '' &&
		rl B rule add 10.77.0.1 deny && eventually 10 sees "$TMP/monitor" '10.77.0.1 deny'
}

test_left_of_top() {
	bg into "$TMP/top" "$RLCTL" top --once --seconds 20
	eventually 10 has_only "$BG_PID" ''
}

# A policy that begins to use `established` takes more than one that does not; without it, nothing changes.
test_begins() {
	local id
	begin apply && id=$(xdp_program B veth-B) && has 'needs CAP_SYS_ADMIN, CAP_NET_ADMIN' expect_status 1 with 'BPF NET_ADMIN' "$RLCTL" rule add any tcp established deny &&
		is "$(state)" "program $id"$'\n'"$(<"$TMP/policy")" && with "BPF $ASIDE" "$RLCTL" rule add any tcp established deny &&
		[[ $(xdp_program B veth-B) -ne $id ]] && with BPF "$RLCTL" rule flush && is "$(rl B show)" 'set bad'
}

# ---- capabilities of the file

# A user who is not root attaches with pins of their own; root's pins are not theirs.
test_file() {
	local caps=cap_bpf,cap_net_admin,cap_perfmon mine=("$TMP/rlctl" --bpffs "$TMP/bpf")
	begin attach && chmod 711 "$TMP" && cp "$RLCTL" "$TMP/rlctl" && mkdir "$TMP/bpf" &&
		mount -t bpf bpf "$TMP/bpf" && chown 65534 "$TMP/bpf" || return
	setcap "$caps+ep" "$TMP/rlctl" && somebody "${mine[@]}" attach veth-B && somebody "${mine[@]}" rule add any deny &&
		is "$(somebody "${mine[@]}" show)" 'rule any deny' && somebody "${mine[@]}" stats &&
		has 'missing capabilities: CAP_SYS_ADMIN' expect_status 1 somebody "${mine[@]}" detach veth-B &&
		setcap cap_sys_admin,cap_net_admin+ep "$TMP/rlctl" && somebody "${mine[@]}" detach veth-B
}
somebody() { in_ns B setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
unmount() { ! mountpoint -q "$TMP/bpf" || umount "$TMP/bpf"; }

veth_pair A B && echo "$POLICY" >"$TMP/policy" && echo 192.0.2.3 >"$TMP/list" || exit 1
printf '%d udp 192.0.2.1 times=300\n' 1 15 30 | python3 "$TOP/tests/prog/capture.py" >"$TMP/pcap" || exit 1
t 'every verb has a row' test_rows
for verb in "${!WORDS[@]}"; do
	t "$verb" test_verb "$verb"
done
t '-n' test_netns
t 'CAP_SYS_ADMIN stands for two' test_admin
t 'a policy that begins to ask' test_begins
t 'tables' test_tables
t 'left: the row' test_left_of_row
t 'left: nothing of the exporter' test_left_of_exporter
t 'left: nothing of monitor' test_left_of_monitor
t 'left: nothing of top' test_left_of_top
t 'capabilities of the file' test_file
unmount
