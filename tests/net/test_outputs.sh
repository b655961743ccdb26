#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every verb with each of its forms of output, over every packaged policy with a set and an alarm added, built
# with the address and undefined behaviour sanitizers, whose first finding ends a command with status 99.
# check: timeout 700
# check: builds build/rlctl.sane
source "$(dirname "$0")/../lib.sh"

export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=exitcode=99 LSAN_OPTIONS=exitcode=99
RLCTL=$TOP/build/rlctl.sane
OFTEN=('' -j -v) # the forms that every verb has

# The command lines of each verb, for every policy; each is run with each of OFTEN, and is to succeed.
declare -A LINES=(
	[status]='status
status veth-B'
	['rule add']='rule add 192.0.2.1 deny
rule add -f added'
	['rule del']='rule del -f added --if-exists
rule del 192.0.2.9 --if-exists'
	['rule get']='rule get 192.0.2.1
rule get fd77::1'
	['rule list']='rule list
rule list any'
	[explain]='explain 192.0.2.1 udp dport 27015
explain 192.0.2.1 tcp dport 443 syn --policy policy'
	[apply]='apply policy --yes
apply policy --check'
	[undo]='undo --check
undo --yes'
	[diff]='diff policy
diff plain'
	[policies]='policies
policies dns'
	[save]="save $TMP/saved"
	[show]='show
show veth-B'
	[stats]='stats
stats --sort dropped
stats --sort passed
stats --sort bytes
stats --sort rule
stats --since before
stats --since before --sort dropped'
	[top]='top --once --seconds 1'
	[events]='events
events --only changes --count 2'
	[report]='report
report --since 1h'
	['source show']='source show 10.77.0.1'
	['source list']='source list --banned'
	['source forgive']='source forgive 10.77.0.1'
	['set add']='set add extra 192.0.2.7 2001:db8::/48'
	['set test']='set test extra 192.0.2.7'
	['set list']='set list
set list extra'
	['set save']="set save $TMP/sets"
	['set restore']="set restore $TMP/sets"
	['set swap']='set swap extra members --yes'
	['set del']='set del extra 192.0.2.9'
	['set flush']='set flush extra --yes'
	['set load']='set load'
	['fleet status']='fleet status'
)
# Those whose output is not of the policy, or which take a second each: over one policy that has everything.
declare -A ONCE=(
	[attach]='attach veth-B --yes --replace'
	['rule add']='rule add any udp dport 7 ttl 1-9 not fragment limit 5/second burst 9 per source/24 while busy'
	[ban]='ban 192.0.2.8 2001:db8::8 for 2h'
	[unban]='unban 192.0.2.8'
	['alarm on']='alarm on pulled for 1h'
	['alarm off']='alarm off pulled'
	['alarm list']='alarm list'
	[confirm]='confirm'
	['rule flush']='rule flush'
	[detach]='detach veth-B'
	[doctor]='doctor veth-B'
	[monitor]='monitor --passed --seconds 1'
	[top]='top --once --by source
top --once --by dest
top --once --by rule'
	[suggest]='suggest --capture capture'
	['source list']='source list --seconds 1'
	[simulate]="simulate policy capture
simulate policy capture --verdicts
simulate policy capture --report $TMP/page.html --against plain"
	[completion]='completion bash
completion zsh'
	[help]='help
help stats'
	['fleet join']='fleet join --name f --redis nowhere'
	['fleet leave']='fleet leave'
)

# fine WANTED LINE OPTION: exit status WANTED, with no word of a sanitizer.
fine() {
	local status=0 words
	read -ra words <<<"$2 $3"
	timeout 60 "$RLCTL" -n "$(ns B)" "${words[@]}" >"$TMP/output" 2>&1 </dev/null || status=$?
	[[ " $1 " == *" $status "* ]] || { cat "$TMP/output" && _say "rlctl ${words[*]}: exit status $status, wanted $1"; }
}

each_option() { # WANTED LINES
	local line option
	while read -r line; do
		for option in "${OFTEN[@]}"; do
			fine "$1" "$line" "$option" || return
		done
	done <<<"$2"
}

# Counters that are not zero, a ban and a member; policies differ in what they need beside.
prepare() { # POLICY
	cat "$1" - >policy <<-'END' || return
	set extra timeout 1h
	alarm busy when udp over 1000/second for 1s until under 500/second for 2s
	alarm pulled manual
	rule @extra deny
	rule 192.0.2.200 icmp limit 1/second burst 5 over ban 1m while not busy
	END
	fine 0 'apply policy --yes' '' && rl B stats -j >before && ping_b 2
}

ping_b() { in_ns A ping -q -c "$1" -i 0.01 -W 1 10.77.0.2 >/dev/null || true; }

test_policy() { # POLICY
	local verb
	prepare "$1" || return
	for verb in "${ORDER[@]}"; do
		each_option 0 "${LINES[$verb]}" || return
	done
	fine 0 'stats --prometheus' '' && fine 0 'stats --prometheus --rules all' ''
}

# Verbs that find nothing to do say so with status 1.
test_once() { # VERB
	case $1 in
	confirm | 'fleet join') each_option '1 2' "${ONCE[$1]}" ;;
	completion | help) each_option '0 2' "${ONCE[$1]}" ;;
	detach | unban) each_option '0 1' "${ONCE[$1]}" ;;
	*) each_option 0 "${ONCE[$1]}" ;;
	esac
}

# No verb is missing above.
test_all() {
	local verb missing=
	while read -r verb; do
		[[ -n ${LINES[$verb]:-}${ONCE[$verb]:-} || $verb == exporter ]] || missing+=" $verb"
	done < <(verbs)
	is "$missing" ''
}
verbs() { "$RLCTL" help | sed -nE '/^$/,/^$/s/^  ((alarm|rule|set|source|fleet) [a-z]+|[a-z]+).*/\1/p'; }

# A scrape, and the end by a signal.
test_exporter() {
	local status=0
	set -m
	"$RLCTL" -n "$(ns B)" exporter --listen 127.0.0.1:9755 --rules all >"$TMP/output" 2>&1 </dev/null &
	set +m
	eventually 10 has rlctl_rule_passed in_ns B curl -sf http://127.0.0.1:9755/metrics && kill -TERM $! && wait $! || status=$?
	[[ $status == 0 ]] || { cat "$TMP/output" && _say "exit status $status"; }
}

mapfile -t ORDER < <(printf '%s\n' status 'rule add' 'rule del' 'rule get' 'rule list' explain diff policies save show 'set add' \
	'set test' 'set list' 'set save' 'set restore' 'set swap' 'set del' 'set flush' 'set load' events report 'source show' 'source list' \
	'source forgive' 'fleet status' stats undo apply)

veth_pair A B && veth_quiet A B && cd "$TMP" || exit 1
echo 'rule 192.0.2.77 deny' >added
echo 192.0.2.9 >members
echo 'rule any limit 1000/second burst 100' >plain
printf '1 udp 198.51.100.1 times=2400 every=0.01\n26 udp6 2001:db8::7\n27 arp\n' |
	python3 "$TOP/tests/prog/capture.py" ng >capture
rl B attach veth-B || exit 1
t 'every verb is here' test_all
for policy in "$TOP"/policies/*.policy "$TOP"/packaging/example.policy; do
	t "${policy##*/}" test_policy "$policy"
done
t exporter test_exporter
for verb in 'rule add' ban unban 'alarm on' 'alarm off' 'alarm list' monitor doctor top suggest 'source list' simulate completion help confirm 'fleet join' 'fleet leave' attach 'rule flush' detach; do
	t "$verb" test_once "$verb"
done
