# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The limiters of other packages that bench.sh compares rlctl with, each in a namespace of its own: PEERS are
# those that are installed and load here; the others are recorded with the reason.

PEERS=()

# peer NAME COMMAND PACKAGE: whether it is installed; reports a missing peer.
peer() {
	command -v "$2" >/dev/null && return
	record peer "$1" - - "not installed (package $3)"
	return 1
}

peer_setup() { # NAME FUNCTION
	if "$2" >"$TMP/peer" 2>&1; then
		PEERS+=("$1")
	else
		record peer "$1" - - "does not load here: $(tail -n 1 "$TMP/peer")"
	fi
}

nft_load() {
	in_ns N ethtool -K b-nft gro on && in_ns N nft -f - <<-'END'
		table netdev bench {
		  set meters { type ipv4_addr; size 131072; flags dynamic; timeout 60s; }
		  chain in {
		    type filter hook ingress device "b-nft" priority 0;
		    update @meters { ip saddr limit rate over 1/second burst 1 packets } drop
		  }
		}
	END
}

hashlimit_load() { # CANDIDATE NS HASHLIMIT-OPTION…
	in_ns "$2" ethtool -K "b-$1" gro on &&
		in_ns "$2" iptables -t raw -A PREROUTING -i "b-$1" -m hashlimit --hashlimit-above 1/sec \
			--hashlimit-burst 1 --hashlimit-mode srcip --hashlimit-name bench "${@:3}" -j DROP
}

# As many buckets as sources; and the default: at most 8,192.
iptables_load() {
	hashlimit_load iptables I --hashlimit-htable-size 65536 --hashlimit-htable-max 262144 \
		--hashlimit-htable-expire 60000
}
iptables_plain_load() { hashlimit_load iptables-8k J; }

# It has no rate limit: it denies all, after its look-ups. Its pins stay in a bpffs of its own.
xdp_filter_load() {
	# shellcheck disable=SC2016 # for the inner shell
	in_ns F unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf &&
		exec xdp-filter load b-xdp-filter --mode native --policy deny'
}

peers_setup() {
	if peer nft nft nftables; then
		cable nft N && peer_setup nft nft_load
	fi
	if peer iptables iptables iptables; then
		cable iptables I && peer_setup iptables iptables_load
		cable iptables-8k J && peer_setup iptables-8k iptables_plain_load
	fi
	if peer xdp-filter xdp-filter xdp-tools; then
		cable xdp-filter F && peer_setup xdp-filter xdp_filter_load
	fi
}
