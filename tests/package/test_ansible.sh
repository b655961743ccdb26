#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# packaging/ansible over ssh, from A to an sshd in B: a policy is tried and confirmed over a second connection; one that
# cuts the connections is taken back by the machine; one with an error changes nothing. check: timeout 400
source "$(dirname "$0")/../lib.sh"
cd "$TOP/packaging/ansible" || exit 1

sshd_begin() {
	chmod 711 "$TMP" && install -d -m 711 "$TMP/ssh" && ssh-keygen -q -t ed25519 -N '' -f "$TMP/ssh/host" &&
		ssh-keygen -q -t ed25519 -N '' -f "$TMP/ssh/user" || return
	printf '%s\n' 'Port 2222' "HostKey $TMP/ssh/host" "AuthorizedKeysFile $TMP/ssh/user.pub" 'PidFile none' 'StrictModes no' \
		'PermitRootLogin yes' 'Subsystem sftp internal-sftp' >"$TMP/ssh/config"
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B unshare --mount --propagation private sh -c \
		'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$(command -v sshd)" -D -e -f "$1"' _ "$TMP/ssh/config"
	eventually 10 listens
}
listens() { in_ns B ss -Hltn 'sport = :2222' | grep -q 2222; }

# play POLICY [ARG…]: the role, as an administrator at A runs it.
play() {
	jq -n --arg policy "$1" --arg rlctl "$RLCTL" --arg tmp "$TMP" '{rlctl_device: "veth-B", rlctl_policy: $policy, rlctl_unit: false,
		rlctl_command: $rlctl, rlctl_folder: ($tmp + "/etc"), rlctl_try_seconds: 20}' >"$TMP/variables.json"
	in_ns A env LC_ALL=C.UTF-8 HOME="$TMP" ANSIBLE_HOME="$TMP/ansible" ANSIBLE_LOCAL_TEMP="$TMP/ansible" ANSIBLE_REMOTE_TMP="$TMP/remote" ANSIBLE_ROLES_PATH=. \
		ANSIBLE_SSH_CONTROL_PATH_DIR="$TMP/cp" ANSIBLE_HOST_KEY_CHECKING=False ANSIBLE_TIMEOUT=5 ANSIBLE_ASYNC_DIR="$TMP/async" \
		ansible-playbook -i '10.77.0.2:2222,' -u root --private-key "$TMP/ssh/user" --ssh-extra-args='-F none -o UserKnownHostsFile=/dev/null' \
		-e "@$TMP/variables.json" "$TMP/play.yml" "${@:2}" >"$TMP/played" 2>&1
	local status=$?
	cat "$TMP/played"
	return $status
}
changed() { sed -n 's/.* changed=\([0-9]*\) .*/\1/p' "$TMP/played"; }
in_force() { is "$(rl B show)" "$1" && is "$(cat "$TMP/etc/veth-B.policy")" "$1"; }

test_setup() {
	printf '%s\n' '- hosts: all' '  gather_facts: false' '  roles: [rlctl]' >"$TMP/play.yml" && mkdir "$TMP/etc" "$TMP/remote" && sshd_begin
}

# --check says what it would do, and does nothing.
test_check() { play 'rule any icmp deny' --check && is "$(xdp_program B veth-B)" '' && [[ ! -e $TMP/etc/veth-B.policy ]]; }

test_first() { play 'rule any icmp deny' && in_force 'rule any icmp deny' && ! rl B confirm -i veth-B; }

test_again() { play 'rule any icmp deny' && is "$(changed)" 0; }

test_next() { play 'rule any udp deny' && in_force 'rule any udp deny'; }

# The host cannot be reached, and then can be.
test_cut() {
	! play 'rule 10.77.0.1 tcp dport 2222 deny' && has 'unreachable=1' cat "$TMP/played" && eventually 30 in_force 'rule any udp deny' &&
		play 'rule any sctp deny' && in_force 'rule any sctp deny'
}

test_error() { ! play 'rule any dany' && has dany cat "$TMP/played" && in_force 'rule any sctp deny'; }

# Why there is no trial is said.
test_no_trial() {
	echo 'rule any esp deny' >"$TMP/other" && bg rl B apply -i veth-B --try 1h "$TMP/other" && eventually 5 is_tried &&
		! play 'rule any gre deny' && has 'a policy is on trial' cat "$TMP/played" && is_tried
}
is_tried() { is "$(rl B show)" 'rule any esp deny'; }

t 'the example passes the syntax check' env LC_ALL=C.UTF-8 HOME="$TMP" ANSIBLE_ROLES_PATH=. ansible-playbook --syntax-check -i localhost, example.yml
veth_pair A B && t 'an sshd' test_setup || exit 1
t '--check changes nothing' test_check
t 'a first policy: attached, confirmed, kept' test_first
t 'the same policy again changes nothing' test_again
t 'the next policy' test_next
t 'a policy that cuts the connections is taken back' test_cut
t 'a policy with an error changes nothing' test_error
t 'another trial: the role says so' test_no_trial
