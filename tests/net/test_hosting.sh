#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Types the commands of docs/hosting.md on a host with a bridge for containers, taps of virtual machines and a card, and
# measures what they promise.
source "$(dirname "$0")/typed.sh"

PAGE=$TOP/docs/hosting.md

# container NAME N: a namespace at docker0 with the address 172.17.0.N.
container() {
	ns_new "$1" && ip -n "$(ns B)" link add "veth$1" type veth peer name eth0 netns "$(ns "$1")" &&
		ip -n "$(ns B)" link set "veth$1" master docker0 up && ip -n "$(ns "$1")" link set eth0 up &&
		ip -n "$(ns "$1")" addr add "172.17.0.$2/24" dev eth0 &&
		ip -n "$(ns "$1")" route add default via 172.17.0.1
}

# tap NAME N: a virtual machine's, with the address 10.9.N.2 at its other side.
tap() {
	ns_new "$1" && ip -n "$(ns B)" link add "$1" type veth peer name eth0 netns "$(ns "$1")" &&
		ip -n "$(ns B)" link set "$1" up && ip -n "$(ns B)" addr add "10.9.$2.1/24" dev "$1" &&
		ip -n "$(ns "$1")" link set eth0 up && ip -n "$(ns "$1")" addr add "10.9.$2.2/24" dev eth0
}

host() {
	typed_place && ip -n "$(ns B)" link add docker0 type bridge && ip -n "$(ns B)" link set docker0 up &&
		ip -n "$(ns B)" addr add 172.17.0.1/24 dev docker0 && container C 2 && container D 3 &&
		tap tap101i0 1 && tap tap102i0 2 && in_ns B sysctl -qw net.ipv4.ip_forward=1 || return
	ip -n "$(ns B)" link add eth1 type veth peer name customers && ip -n "$(ns B)" link set eth1 up &&
		ip -n "$(ns B)" link set customers up && ip -n "$(ns B)" addr add 192.0.2.1/28 dev eth1 || return
	section "$PAGE" 'Customers behind one device' | grep -E '^(name|17|miller),' >"$TMP/tree/customers.csv" &&
		"$TOP/scripts/tenants" --down "$TMP/tree/customers.csv" >"$TMP/tree/customers.policy" || return
	ip -n "$(ns B)" link add trunk0 type veth peer name tagged && ip -n "$(ns B)" link set trunk0 up &&
		ip -n "$(ns B)" link set tagged up || return
	section "$PAGE" 'A trunk: customers by VLAN' | grep '^rule ' >"$TMP/tree/trunk.policy" || return
	printf 'rule any limit 20/second burst 100\n' >"$TMP/tree/docker0.policy"
	section "$PAGE" 'One limit for each machine' | grep '^rule ' >"$TMP/tree/tap.policy"
}

# try LINE: the file of /etc is beside the page's other files here, and there is no systemd.
try() {
	local line=${1//\/etc\/rlctl\/tap\*/tap}
	case "$line" in
	*systemctl*) follows "$line" ;;
	*) typed "$line" ;;
	esac
}

# The command of the unit, and a tap that comes.
follows() {
	local unit command
	unit=$(grep -oE 'rlctl-auto@[^ '"']*" <<<"$1") && [[ $unit == 'rlctl-auto@tap*' ]] || return
	command=$(sed -n 's/^ExecStart=//p' "$TOP/systemd/rlctl-auto@.service" |
		sed "s,/usr/sbin/,,; s,/etc/rlctl/%I,tap,; s,%I,'tap*',; s,\$ATTACH_OPTIONS,,")
	bg typed "$command"
	tap tap103i0 3 && eventually 20 rl B show tap103i0 && is "$(rl B show tap103i0 | wc -l)" 3
}

pings() { # NAMESPACE ADDRESS COUNT: how many of these were answered
	in_ns "$1" ping -q -i 0.002 -c "$3" -W 1 "$2" | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

commands() {
	local line
	while read -r line; do
		t "$line" try "$line"
		case "$line" in
		*"attach 'tap*'"*) t 'each tap by itself' test_taps ;;
		*'source show'*) t 'a table of customers' test_customers ;;
		*'attach trunk0'*) t 'each VLAN by itself' test_trunk xdp ;;
		*'vlan 666'*) t 'each VLAN by itself, where the kernel has the tag' test_trunk ingress ;;
		*'attach docker0'*) t 'each container by itself' test_containers ;;
		esac
	done < <(blocks <"$PAGE"; grep '^sudo systemctl' "$PAGE")
}

# One sends more than its limit, and the other loses nothing.
test_taps() {
	local status=0
	rl B rule add -i 'tap*' any icmp limit 50/second burst 50 || return
	between "$(pings tap101i0 10.9.1.1 500)" 50 400 && is "$(pings tap102i0 10.9.2.1 40)" 40 || status=1
	rl B rule del -i 'tap*' any icmp limit 50/second burst 50 && return "$status"
}

# Answers of the host to one, which sends too much.
test_containers() {
	between "$(pings C 172.17.0.1 1000)" 100 900 && is "$(pings D 172.17.0.1 40)" 40
}

# tagged COUNT TAG...: so many UDP packets with these tags, in hexadecimal, arrive at the trunk.
tagged() {
	in_ns B python3 -c 'import socket, struct, sys
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("tagged", 0))
ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
for _ in range(int(sys.argv[1])):
    out.send(b"\2" * 12 + bytes.fromhex("".join(sys.argv[2:])) + b"\x08\0" + ip + struct.pack("!HHHH", 9, 9, 8, 0))' "$@"
}
trunk_has_refused() { rl B stats trunk0 --hook "$1" -j | jq -e "[.[].reasons.over.packets] == [$2]"; }

# One sends more than its limit, with whatever inner tag; others and frames without a tag lose nothing.
test_trunk() {
	local hook=$1
	[[ $hook == xdp ]] || { rl B detach trunk0 && rl B attach trunk0 --hook "$hook" --policy "$TMP/tree/trunk.policy"; } || return
	rl B apply -i trunk0 --hook "$hook" - <<<'rule device limit 100/day burst 100 per vlan' &&
		tagged 60 88a80064 81000007 && tagged 60 88a80064 81000008 && eventually 5 trunk_has_refused "$hook" 20 &&
		tagged 100 810000c8 && tagged 50 && tagged 5 81000064 && eventually 5 trunk_has_refused "$hook" 25
}

test_customers() {
	is "$(rl B show eth1 --hook egress | wc -l)" 4 && has '# miller' rl B show eth1 --hook egress
}

host || exit 1
commands
