#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The guard on a node of Kubernetes, for which a kubelet's port and a connection to an API server's stand: A has the API
# server, and another who has connected to the kubelet.
source "$(dirname "$0")/../lib.sh"

# held NAMESPACE CODE: a Python that keeps its sockets.
held() { bg in_ns "$1" python3 -Bc "import socket, time; $2; print('holds', flush=True); time.sleep(100)"; }
holds() { is "$(grep -c holds "$TMP/bg")" "$1"; }

test_setup() {
	ip -n "$(ns A)" addr add 10.77.0.9/24 dev veth-A && held A "s = socket.create_server(('10.77.0.1', 6443))" &&
		held B "s = socket.create_server(('', 10250))" && eventually 5 holds 2 &&
		held A "s = socket.create_connection(('10.77.0.2', 10250), 5, ('10.77.0.9', 0))" && eventually 5 holds 3 && rl B attach veth-B
}
dials() { held B "s = socket.create_connection(('10.77.0.1', 6443), 5)" && eventually 5 holds 4; }

refuses() { # TEXT RULE…
	has "$1" expect_status 1 rl B rule add "${@:2}" && is "$(rl B show)" ''
}

# Nothing is known of the API server yet.
test_none() { rl B rule add 10.77.0.1 deny && rl B rule del 10.77.0.1; }

test_refuses() {
	dials && refuses 'denies 10.77.0.1, the source of an open connection of Kubernetes (port 6443)' 10.77.0.1 deny &&
		refuses 'rule 10.77.0.1 allow' any tcp sport 6443 deny &&
		refuses 'denies 10.77.0.1, the source of an open connection of Kubernetes (port 10250)' any tcp dport 10250 deny
}

# Anyone may have connected to the kubelet.
test_others() { rl B rule add 10.77.0.9 deny && rl B rule del 10.77.0.9; }

test_allowed() { rl B rule add 10.77.0.1 allow && rl B rule add any tcp deny && rl B rule flush; }

test_yes() { has 'connection of Kubernetes' rl B rule add 10.77.0.1 deny --yes; }

veth_pair A B || exit 1
t 'a kubelet, an API server, and another' test_setup || exit 1
t 'without a connection to it, nothing is guarded' test_none
t 'its packets, and its way to the kubelet, are guarded' test_refuses
t 'others are not' test_others
t 'a rule that allows it lets the others be denied' test_allowed
t '--yes' test_yes
