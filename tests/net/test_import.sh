#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# scripts/import reads the output of iptables-save, `ipset save` and `nft list ruleset` of this machine for rules that
# the kernel accepted; the rows of each format are in tests/unit/import_rows.py.
source "$(dirname "$0")/../lib.sh"

export RLCTL

# converted WANTED CMD…: the rules converted from CMD's output in B, sorted; every rule is converted.
converted() {
	local wanted=$1
	shift
	in_ns B "$@" >"$TMP/printed" && "$TOP/scripts/import" --host "$TMP/printed" >"$TMP/policy" || return
	is "$(sed 's/\t#.*//' "$TMP/policy" | sort)" "$(sort <<<"$wanted")" && "$RLCTL" apply --check "$TMP/policy"
}

add() { in_ns B "${TOOL:-iptables}" -A "$@"; }

test_iptables() {
	local over='-m hashlimit --hashlimit-above' by='--hashlimit-mode srcip'
	# shellcheck disable=SC2086 # words
	add INPUT -i lo -j ACCEPT && add INPUT -s 192.0.2.7 -j ACCEPT &&
		add INPUT -p udp --dport 53 $over 1000/sec --hashlimit-burst 800 $by --hashlimit-srcmask 24 \
			--hashlimit-name dns -j DROP &&
		add INPUT -p tcp --syn $over 50/min --hashlimit-burst 40 $by,dstport --hashlimit-name syn -j REJECT &&
		add INPUT -p icmp $over 9/sec $by --hashlimit-name ping -j DROP &&
		add INPUT -p sctp -m hashlimit --hashlimit-upto 7/hour --hashlimit-name all -j ACCEPT &&
		add INPUT -p sctp -j DROP || return
	converted "$(cat <<-'END'
		rule 192.0.2.7 allow
		rule 0.0.0.0/0 udp dport 53 limit 1000/second burst 800 per source/24
		rule 0.0.0.0/0 tcp flags syn/fin,syn,rst,ack limit 50/minute burst 40 per source+dport
		rule 0.0.0.0/0 icmp limit 9/second burst 5
		rule 0.0.0.0/0 sctp limit 7/hour burst 5 per rule
		END
	)" iptables-save
}

test_counters() { converted "$(sed 's/\t#.*//' "$TMP/policy")" iptables-save -c; }

test_ip6tables() {
	# shellcheck disable=SC2034 # of add
	local TOOL=ip6tables
	add INPUT -p udp -m hashlimit --hashlimit-above 10/sec --hashlimit-mode srcip \
		--hashlimit-name six -j DROP &&
		converted 'rule ::/0 udp limit 10/second burst 5 per source/32,128' ip6tables-save
}

test_nft() {
	in_ns B nft flush ruleset && in_ns B nft -f - <<-'END' || return
	table inet filter {
		set flood { type ipv4_addr; flags dynamic; timeout 10s; size 128000; }
		set nets { type ipv4_addr; flags dynamic; size 1000; }
		set both { type ipv4_addr . inet_service; flags dynamic; size 1000; }
		set friends { type ipv4_addr; flags interval; elements = { 192.0.2.1, 198.51.100.0/24 } }
		limit slow { rate 400/minute burst 10 packets }
		chain input {
			type filter hook input priority 0; policy accept;
			iifname "lo" accept
			ip saddr @friends accept
			udp dport 53 update @flood { ip saddr limit rate over 1000/second burst 2000 packets } counter drop
			udp dport 54 update @nets { ip saddr and 255.255.255.0 limit rate over 10/second burst 20 packets } drop
			tcp flags & (syn | ack) == syn add @both { ip saddr . tcp dport limit rate over 5/second } drop comment "opens"
			meta l4proto esp meter six size 1024 { ip6 saddr limit rate over 5/second } drop
			udp dport 1000-2000 limit rate over 100/second burst 9 packets drop
			meta l4proto sctp jump more
		}
		chain more {
			limit name "slow" accept
			drop
		}
	}
	END
	converted "$(cat <<-'END'
		rule 192.0.2.1 allow
		rule 198.51.100.0/24 allow
		rule any udp dport 53 src 0.0.0.0/0 limit 1000/second burst 2000
		rule any udp dport 54 src 0.0.0.0/0 limit 10/second burst 20 per source/24
		rule any tcp src 0.0.0.0/0 syn limit 5/second burst 5 per source+dport
		rule any esp src ::/0 limit 5/second burst 5 per source/32,128
		rule any udp dport 1000-2000 limit 100/second burst 9 per rule
		rule any sctp limit 400/minute burst 10 per rule
		END
	)" nft -j list ruleset
}

# The same ruleset in nft's own language, of a device that this namespace has and the import's own has not.
test_nft_text() {
	cp "$TMP/policy" "$TMP/of-json" && in_ns B nft add table netdev n && in_ns B nft add chain netdev n c \
		'{ type filter hook ingress device veth-B priority 0; }' || return
	converted "$(sed 's/\t#.*//' "$TMP/of-json")" nft list ruleset &&
		grep -q '# inet filter input rule 4$' "$TMP/policy" && is "$(ip -j link show | jq 'map(select(.ifname == "veth-B")) | length')" 0
}

test_comment() { grep -q '# inet filter input handle [0-9]*: opens$' "$TMP/policy"; }

# As `nft -j` shows rules that iptables-nft made: their limits are left out, and why is said.
test_nft_of_iptables() {
	in_ns B nft flush ruleset && add INPUT -m hashlimit --hashlimit-above 9/sec --hashlimit-name x -j DROP || return
	in_ns B nft -j list ruleset >"$TMP/printed"
	expect_status 1 "$TOP/scripts/import" --host "$TMP/printed" 2>"$TMP/said" && grep -q 'pass the output of iptables-save' "$TMP/said"
}

# The words that iptables-save writes for matches of flags, types, lengths, bytes and lists.
test_words() {
	local over='-m hashlimit --hashlimit-above 9/hour --hashlimit-mode srcip --hashlimit-name'
	in_ns B iptables -F
	# shellcheck disable=SC2086 # words
	add INPUT -p tcp --tcp-flags SYN,FIN SYN,FIN -j DROP && add INPUT -m ttl --ttl-lt 5 -j DROP &&
		add INPUT -p icmp --icmp-type 5/1 -j DROP &&
		add INPUT -p udp --dport 27015 -m length --length 0:28 -j DROP &&
		add INPUT -p udp -m multiport ! --dports 53,27000:27100 $over w -j DROP &&
		add INPUT -p udp --dport 27015 -m u32 --u32 '0>>22&0x3C@8=0xFFFFFFFF && 0>>22&0x3C@9&0xFF=0x54' $over x -j DROP &&
		add INPUT -p icmp --icmp-type echo-request $over y -j DROP &&
		add INPUT ! -s 192.0.2.0/24 -p tcp --dport 80 $over z -j DROP || return
	converted "$(cat <<-'END'
		rule 0.0.0.0/0 tcp flags fin,syn/fin,syn deny
		rule 0.0.0.0/0 ttl 0-4 deny
		rule 0.0.0.0/0 icmp icmp-type 5 code 1 deny
		rule 0.0.0.0/0 udp dport 27015 length 0-28 deny
		rule 0.0.0.0/0 udp not dport 53,27000-27100 limit 9/hour burst 5
		rule 0.0.0.0/0 udp dport 27015 payload 0 ffffffff54 limit 9/hour burst 5
		rule 0.0.0.0/0 icmp icmp-type 8 limit 9/hour burst 5
		rule 0.0.0.0/0 tcp dport 80 not src 192.0.2.0/24 limit 9/hour burst 5
		END
	)" iptables-save
}

test_ipset() {
	in_ns B iptables -F && in_ns B ipset create friends hash:net && in_ns B ipset add friends 198.51.100.0/24 &&
		add INPUT -m set --match-set friends src -j ACCEPT &&
		add INPUT -p udp -m hashlimit --hashlimit-above 9/hour --hashlimit-mode srcip --hashlimit-name s -j DROP || return
	in_ns B ipset save >"$TMP/sets" && in_ns B iptables-save >"$TMP/rules" || return
	"$TOP/scripts/import" --host "$TMP/rules" "$TMP/sets" >"$TMP/policy"
	is "$(sed 's/\t#.*//' "$TMP/policy")" $'rule 198.51.100.0/24 allow\nrule 0.0.0.0/0 udp limit 9/hour burst 5'
}

test_in_force() {
	veth_pair C D && rl D attach veth-D && in_ns B nft flush ruleset &&
		add INPUT -p udp -m hashlimit --hashlimit-above 10/hour --hashlimit-mode srcip --hashlimit-name y -j DROP &&
		in_ns B iptables-save | "$TOP/scripts/import" --host | rl D apply - &&
		is "$(rl D show)" 'rule 0.0.0.0/0 udp limit 10/hour burst 5 # line 6'
}

# opened: how many of six connections of C to D are open at once.
opened() {
	in_ns D python3 -c 'import os, signal, socket; s = socket.create_server(("", 443)); os.fork() and os._exit(0); signal.alarm(20); signal.pause()' &&
		in_ns C python3 - <<-'END'
			import contextlib, socket
			opened = []
			for _ in range(6):
			    with contextlib.suppress(OSError):
			        opened.append(socket.create_connection(("10.77.0.2", 443), 0.5))
			print(len(opened))
		END
	local status=$?
	in_ns D ss -K sport = 443 >/dev/null
	return "$status"
}

# Both open as many connections, and refuse the next.
test_connections() {
	in_ns D iptables -A INPUT -p tcp --syn --dport 443 -m connlimit --connlimit-above 4 -j DROP && is "$(opened)" 4 &&
		in_ns D iptables-save >"$TMP/printed" && in_ns D iptables -F || return
	"$TOP/scripts/import" --host "$TMP/printed" 2>/dev/null | rl D apply - &&
		is "$(rl D show)" 'rule 0.0.0.0/0 tcp dport 443 limit 4 connections # line 6' && is "$(opened)" 4
}

test_ct_count() {
	in_ns B nft flush ruleset && in_ns B nft -f - <<-'END' || return
	table inet filter {
		set clients { type ipv4_addr; flags dynamic; size 1000; }
		chain input {
			type filter hook input priority 0; policy accept;
			tcp dport 443 add @clients { ip saddr and 255.255.255.0 ct count over 50 } reject
			tcp dport 22 ct count over 10 drop
		}
		chain forward {
			type filter hook forward priority 0; policy accept;
			tcp dport 22 ct count over 10 drop
		}
	}
	END
	in_ns B nft -j list ruleset >"$TMP/printed"
	expect_status 1 "$TOP/scripts/import" --host "$TMP/printed" >"$TMP/policy" 2>"$TMP/said" &&
		is "$(sed 's/\t#.*//' "$TMP/policy")" 'rule any tcp dport 443 src 0.0.0.0/0 limit 50 connections per source/24
rule any tcp dport 22 limit 10 connections per rule' &&
		grep -q 'filter forward .* left out: .* connections that pass through have none$' "$TMP/said" && "$RLCTL" apply --check "$TMP/policy"
}

ns_new B && in_ns B ip link add veth-B type veth peer name veth-B2 || exit 1
if in_ns B iptables -nL INPUT >/dev/null 2>&1 && in_ns B iptables --version | grep -q nf_tables; then
	t 'iptables-save' test_iptables
	t 'iptables-save with counters' test_counters
	t 'ip6tables-save' test_ip6tables
	t 'the words of iptables-save' test_words
	if in_ns B ipset list >/dev/null 2>&1; then
		t 'ipset save' test_ipset
	else
		skip 'ipset save' 'no ipset here'
	fi
	t 'nft shows rules of iptables' test_nft_of_iptables
	t 'a policy that was converted is put in force' test_in_force
	t 'as many connections are open under connlimit and its policy' test_connections
else
	skip 'iptables-save' 'no iptables-nft here'
fi
if in_ns B nft list ruleset >/dev/null 2>&1; then
	t 'nft -j list ruleset' test_nft
	t 'nft: the comment of a rule' test_comment
	t 'nft list ruleset' test_nft_text
	t 'nft: ct count' test_ct_count
else
	skip 'nft -j list ruleset' 'no nft here'
fi
