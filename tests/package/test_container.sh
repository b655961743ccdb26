#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# packaging/container: the image, run with the privileges that the manifests name and no others: it attaches, applies a
# mounted policy and each change of it, exports metrics, and leaves nothing. No registry is asked: the image below is made
# of this machine's commands and libraries, and the first stage is what make install installs. check: timeout 240
source "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1
HERE=packaging/container

# manifest EXPRESSION: of the DaemonSet d and the compose file c.
manifest() {
	python3 -Bc "import sys, yaml
documents = list(yaml.safe_load_all(open('$HERE/daemonset.yaml')))
d, policy = documents[2]['spec']['template']['spec'], documents[1]['data']['node.policy']
c = yaml.safe_load(open('$HERE/compose.yaml'))['services']
pod = {one['name']: one for one in d['containers']}
print($1)"
}
capabilities() { manifest "' '.join('--cap-add ' + one for one in pod['$1']['securityContext']['capabilities']['add'])"; }

COMMANDS=(bash sh cat dirname rm sleep stat env mount mountpoint tr grep sed sort cut awk ldconfig)

# put FILE…: into the root, with the libraries that it needs.
put() {
	local file
	for file in "$@"; do
		cp -L --parents "$file" "$ROOT" && ldd "$file" | grep -o '/[^ ]*' | xargs -r cp -Lu --parents -t "$ROOT" || return
	done
}
base_make() {
	ROOT=$TMP/base
	mkdir -p "$ROOT"/{etc,proc,sys,tmp,run/rlctl,dev,usr/{bin,sbin,lib,lib64}} && cp -L /etc/os-release "$ROOT/etc/" &&
		ln -s usr/{bin,sbin,lib,lib64} "$ROOT" || return
	local name
	for name in "${COMMANDS[@]}"; do put "$(command -v "$name")" || return; done
	put "$TOP/build/rlctl" "$(realpath build/lazy)" && rm -r "$ROOT$TOP" && ldconfig -r "$ROOT"
}

# Its network namespace is B, its mounts are its own, as in net/test_podman.sh.
podman_begin() {
	# shellcheck disable=SC2016 # $0 is for the inner one
	bg unshare -m bash -c 'mount -t cgroup2 none /sys/fs/cgroup && touch "$0" && exec sleep 600' "$TMP/ready"
	HOLDER=$BG_PID
	eventually 10 test -e "$TMP/ready"
}
in_podman() {
	nsenter --target "$HOLDER" --mount "--net=/run/netns/$(ns B)" podman --root "$TMP/storage" --runroot "$TMP/run" \
		--cgroup-manager cgroupfs --storage-driver vfs --events-backend none "$@"
}

test_image() {
	base_make && make -s -o build/rlctl install PREFIX=/usr DESTDIR="$TMP/stage/image" >/dev/null && podman_begin &&
		tar -C "$ROOT" -c . | in_podman import -q - localhost/base &&
		in_podman build --isolation chroot -q --build-arg BASE=localhost/base --build-context "build=$TMP/stage" -t rlctl -f "$TOP/$HERE/Containerfile" "$TOP" &&
		is "$(in_podman run --rm "${PLAIN[@]}" rlctl --version)" "$("$RLCTL" --version)"
}
PLAIN=(--network host --cgroups=disabled --pids-limit 0 --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --read-only --cap-drop ALL
	--security-opt no-new-privileges)

# started NAME CAPABILITIES ARG…
started() {
	local words
	read -ra words <<<"$2"
	in_podman run -d --name "$1" "${PLAIN[@]}" "${words[@]}" -v /sys/fs/bpf:/sys/fs/bpf -v "$TMP/state:/run/rlctl" \
		-v "$TMP/policy:/etc/rlctl:ro" "${@:3}"
}

# put_policy TEXT: as a ConfigMap is updated, by a link that points elsewhere.
VERSION=0
put_policy() {
	VERSION=$((VERSION + 1))
	mkdir -p "$TMP/policy/$VERSION" "$TMP/state" && echo "$1" >"$TMP/policy/$VERSION/node.policy" && ln -sfn "$VERSION" "$TMP/policy/..data" &&
		ln -sfn ..data/node.policy "$TMP/policy/node.policy"
}
shows() { is "$(rl B show)" "$1"; }

test_limits() {
	put_policy "$(manifest policy)" && started limits "$(capabilities limits)" --entrypoint rlctl-held rlctl default /etc/rlctl/node.policy &&
		eventually 10 has '@nodes allow' rl B show && is "$(in_ns A ping -q -c 3 -i 0.05 -W 1 10.77.0.2 | grep -o '. received')" '3 received'
}

# No more than two, of which one is wide.
test_privileges() {
	local pid
	pid=$(in_podman inspect -f '{{.State.Pid}}' limits) && is "$(sed -n 's/^CapEff:\t//p' "/proc/$pid/status")" 0000000000201000 &&
		is "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$pid/status")" 1 && is "$(sed -n 's/^Seccomp:\t//p' "/proc/$pid/status")" 2
}

test_changed() {
	put_policy 'rule any icmp deny' && eventually 10 shows 'rule any icmp deny' && ! in_ns A ping -q -c 3 -i 0.05 -W 1 10.77.0.2 &&
		is "$(stat_of B .dropped.packets)" 3
}

test_refused() {
	put_policy 'rule any icmp dany' && eventually 10 has dany in_podman logs limits && shows 'rule any icmp deny' &&
		is "$(in_podman inspect -f '{{.State.Running}}' limits)" true
}

# Filters of today let CAP_BPF call bpf(), as that of Debian 12's podman lets CAP_SYS_ADMIN alone.
seccomp() {
	jq '(.syscalls[] | select(.excludes.caps) | .names) -= ["bpf"] |
		.syscalls += [{names: ["bpf"], action: "SCMP_ACT_ALLOW", includes: {caps: ["CAP_BPF"]}}]' /usr/share/containers/seccomp.json >"$TMP/seccomp"
}
metrics() { in_ns B curl -sf http://127.0.0.1:9754/metrics; }
test_exporter() {
	seccomp && started exporter "$(capabilities exporter) --security-opt seccomp=$TMP/seccomp" rlctl exporter --listen 0.0.0.0:9754 || return
	{ eventually 10 has rlctl_ metrics || { in_podman logs exporter; return 1; }; } &&
		metrics | grep 'rlctl_dropped_packets_total.*denied.* 3$'
}

test_end() {
	in_podman rm -f exporter && in_podman stop -t 10 limits && is "$(xdp_program B veth-B)" '' && rl B status &&
		is "$(find "$(ns_pins B)" -mindepth 1 2>/dev/null)" ''
}

# Limits that were in a mount of the container's own would end with it.
test_no_bpffs() {
	in_podman run --rm "${PLAIN[@]}" --cap-add NET_ADMIN --cap-add SYS_ADMIN rlctl attach veth-B >"$TMP/refused" 2>&1
	is $? 1 && has '-v /sys/fs/bpf:/sys/fs/bpf' cat "$TMP/refused" && is "$(xdp_program B veth-B)" ''
}

# Both files name the capabilities that the test runs with; no container is privileged but the one that mounts.
test_manifests() {
	is "$(manifest "[one['name'] for one in d['containers'] + d['initContainers'] if one['securityContext'].get('privileged')]")" "['bpffs']" &&
		is "$(manifest "{one: c[one]['cap_add'] for one in c} == {one: pod[one]['securityContext']['capabilities']['add'] for one in pod}")" True &&
		is "$(manifest "d['hostNetwork']")" True
}

t 'the manifests name the same privileges' test_manifests
veth_pair A B && ip -n "$(ns B)" route add default via 10.77.0.1 || exit 1
t 'the image is built, and no registry is asked' test_image || exit 1
t 'it holds the device of the default route to the mounted policy' test_limits || exit 1
t 'with two capabilities and the seccomp filter' test_privileges
t 'it applies the policy that has changed' test_changed
t 'one that is refused leaves the former in force' test_refused
t 'the exporter' test_exporter
t 'nothing is left' test_end
t 'without the bpffs of the host it refuses' test_no_bpffs
