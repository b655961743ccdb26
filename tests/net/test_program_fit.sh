#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The running program follows the policy: one that begins to use `established`, or ceases to, replaces the
# program. No packet passes meanwhile, and the counters stay. check: timeout 120
source "$(dirname "$0")/../lib.sh"

HOOK=xdp # of the instance, on veth-B
PROVING='rule any tcp established limit 1/hour burst 1 over count
rule any udp deny'
PLAIN='rule any udp deny'

program() { rl B status -j --hook "$HOOK" | json '.[0].program_id'; }
put() { rl B apply -i veth-B --hook "$HOOK" - <<<"$1"; }

# proves: the running program calls bpf_skc_lookup_tcp, which only that of a policy with `established` does.
proves() { is "$(looks_up)" yes; }
plain() { is "$(looks_up)" no; }
looks_up() {
	local listing
	listing=$(bpftool prog dump xlated id "$(program)") || return
	if grep -q 'call bpf_skc_lookup_tcp\|call bpf_sk_lookup_udp\|call bpf_sk_release' <<<"$listing"; then echo yes; else echo no; fi
}

unloaded() { ! bpftool prog show id "$1" >/dev/null 2>&1; }

# ---- under flood

flooding() { # what arrives at B, or is to leave it, without an end
	case $HOOK in
	egress) bg in_ns B python3 "$TOP/tests/net/datagrams.py" 10.77.0.1 1000000000 10 ;;
	*) bg in_ns A "$TOP/build/flood" -i veth-A --seconds 60 --rate 20000 --src 10.78.0.0/16 ;;
	esac
}
arrived() {
	case $HOOK in
	egress) counter A IpInReceives ;;
	*) counter B IpInReceives ;;
	esac
}
denied() { stat_of B .reasons.denied.packets; }
denied_more() { [[ $(denied) -gt $1 ]]; }

# changed POLICY JUDGE: the policy brings another program under the flood, of which nothing passes.
changed() {
	local before seen
	before=$(program) && seen=$(denied) && eventually 10 denied_more $((seen + 200)) && put "$1" &&
		"$2" && [[ $(program) -ne $before ]] && eventually 5 unloaded "$before" &&
		[[ $(denied) -ge $seen ]] && seen=$(denied) && eventually 10 denied_more $((seen + 200))
}

test_flood() { # HOOK ATTACH-OPTION…
	local first
	HOOK=$1
	echo "$PLAIN" >"$TMP/policy" && rl B attach veth-B --hook "$@" --policy "$TMP/policy" && plain || return
	first=$(arrived) && flooding && changed "$PROVING" proves && changed "$PLAIN" plain &&
		kill -TERM -- "-$BG_PID" && is "$(arrived)" "$first" && rl B detach veth-B --hook "$HOOK"
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on || exit 1
t 'under flood at xdp, native' test_flood xdp --mode native
t 'under flood at ingress' test_flood ingress
t 'under flood at egress' test_flood egress
