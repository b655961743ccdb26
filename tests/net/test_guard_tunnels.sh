#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The lockout guard where an SSH session comes through a tunnel: the policy of the outer device is judged by the packets
# of the tunnel. The kinds that this kernel has no module for are those of tests/vm/guest/test_guard_tunnels.sh.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

INSIDE='10.8.0.2 50000 10.8.0.1 22'
WG=rlwg$$ # its socket is outside of the namespace

ssh_rl() { in_ns B env SSH_CONNECTION="$INSIDE" "$RLCTL" "$@"; }

# tunnel KIND: the device in B, whose name is DEV.
tunnel() {
	local ends=(local 10.77.0.2 remote 10.77.0.1)
	DEV=tn-B
	case $1 in
	ipip | gre) ip -n "$(ns B)" link add "$DEV" type "$1" "${ends[@]}" ;;
	sit) ip -n "$(ns B)" link add "$DEV" type sit mode any "${ends[@]}" ;;
	ip6tnl) ip -n "$(ns B)" link add "$DEV" type ip6tnl mode any local fd77::2 remote fd77::1 ;;
	vxlan) ip -n "$(ns B)" link add "$DEV" type vxlan id 7 dev veth-B dstport 4789 "${ends[@]}" ;;
	wireguard) ip -n "$(ns B)" link add "$DEV" type wireguard && peers ;;
	wireguard-go) DEV=$WG && in_ns B wireguard-go "$DEV" && eventually 10 in_ns B wg show "$DEV" && peers ;;
	tun) ip -n "$(ns B)" tuntap add "$DEV" mode tun ;;
	esac && ip -n "$(ns B)" addr add 10.8.0.1/24 dev "$DEV" && ip -n "$(ns B)" link set "$DEV" up
}

# The session's peer is the one with the longer prefix.
peers() {
	local peer
	peer=$(wg genkey | wg pubkey) && wg genkey >"$TMP/key" &&
		in_ns B wg set "$DEV" listen-port 51820 private-key "$TMP/key" peer "$(wg genkey | wg pubkey)" \
			endpoint 10.77.0.9:51820 allowed-ips 10.8.0.0/24 peer "$peer" endpoint 10.77.0.1:7000 allowed-ips 10.8.0.2/32
}

# refuses TEXT LINE…: a policy of these lines, and nothing is changed.
refuses() {
	local text=$1
	shift
	printf '%s\n' "$@" >"$TMP/policy"
	has "$text" expect_status 1 ssh_rl apply -i veth-B --hook "$HOOK" "$TMP/policy" && is "$(rl B show -i veth-B --hook "$HOOK")" ''
}

takes() {
	printf '%s\n' "$@" >"$TMP/policy"
	expect_silent ssh_rl apply -i veth-B --hook "$HOOK" "$TMP/policy" && rl B rule flush -i veth-B --hook "$HOOK"
}
# Nothing is said, but for what every such rule brings about.
expect_silent() { is "$("$@" 2>&1 | grep -v 'warning: denies every packet')" ''; }

# test_outer PEER PROTO [PORT]: PEER sends the packets of the tunnel, of this protocol, to this port.
test_outer() {
	local peer=$1 proto=$2 port=${3:-} inner='rule 10.8.0.0/24 allow' says="the source of packets of $DEV, which carry your SSH session"
	HOOK=xdp
	refuses "denies $peer, $says" 'rule any deny' "$inner" && refuses "add \`rule $peer allow\`" 'rule any deny' "$inner" &&
		refuses "denies $peer, $says" "rule any $proto deny" && takes 'rule any tcp deny' && takes 'rule any deny' "rule $peer allow" &&
		refuses "to $peer, $says" 'rule any limit 3/second over drop unless established' &&
		takes "rule any not $proto deny" 'rule 10.8.0.2 deny' || return
	[[ -z $port ]] || { refuses "$says" "rule any udp dport $port deny" && takes 'rule any udp dport 9 deny'; } || return
	HOOK=egress
	refuses "denies $peer, the destination of packets of $DEV" "rule $peer deny" && takes 'rule 10.77.0.7 deny'
}

# The tunnel's own device has the session.
test_inner() {
	rl B attach "$DEV" --hook ingress && has 'denies 10.8.0.2, the source of your SSH session' \
		expect_status 1 ssh_rl rule add -i "$DEV" any deny && ssh_rl rule add -i "$DEV" any udp deny && rl B detach "$DEV" --hook ingress
}

# A program has the other end. It says so where a rule could be against it, and that is all it can do.
test_unknown() {
	HOOK=xdp
	echo 'rule any udp deny' >"$TMP/policy"
	has "your SSH session comes through $DEV" ssh_rl apply -i veth-B "$TMP/policy" &&
		expect_silent ssh_rl apply -i veth-B "$TMP/policy" && expect_silent ssh_rl rule add -i veth-B 10.77.0.1 allow &&
		rl B rule flush -i veth-B
}

# Members of sets, and a policy that is not in the tunnel's way.
test_others() {
	HOOK=xdp
	rl B apply -i veth-B - <<<$'set bad\nrule @bad deny' &&
		has "the source of packets of $DEV" expect_status 1 ssh_rl set add -i veth-B bad "${OUTER[0]}" &&
		ssh_rl set add -i veth-B bad 10.8.0.2 10.77.0.7 && rl B apply --yes -i veth-B /dev/null &&
		in_ns B ip link add other type veth peer name other2 && in_ns B ip link set other up && in_ns B ip addr add 10.78.0.1/24 dev other &&
		rl B attach other && expect_silent ssh_rl rule add -i other any deny && in_ns B ip link del other
}

# outer_of KIND: the words of test_outer, in OUTER.
outer_of() {
	case $1 in
	ipip | sit) OUTER=(10.77.0.1 'proto 4') ;;
	ip6tnl) OUTER=(fd77::1 'proto 4') ;;
	gre) OUTER=(10.77.0.1 gre) ;;
	vxlan) OUTER=(10.77.0.1 udp 4789) ;;
	wireguard*) OUTER=(10.77.0.1 udp 51820) ;;
	esac
}

run() { # KIND
	t "$1: it is there" tunnel "$1" || return
	if [[ $1 == tun ]]; then
		t 'tun: it says that it does not know' test_unknown
	else
		outer_of "$1"
		t "$1: the policy of the outer device" test_outer "${OUTER[@]}"
		[[ $1 != vxlan && $1 != wireguard* ]] || {
			t "$1: the policy of the tunnel" test_inner
			t "$1: sets, and other devices" test_others
		}
	fi
	ip -n "$(ns B)" link del "$DEV"
}

veth_pair A B && rl B attach veth-B && rl B attach veth-B --hook egress || exit 1
for kind in ${KINDS:-vxlan wireguard-go tun}; do
	run "$kind"
done
