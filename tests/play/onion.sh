# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by play.sh: a Tor network of its own, three authorities in A and the relay in B, and a client in A whose circuits
# all begin at that relay.

tor_packages() { echo tor nginx-light curl; }
tor_missing() { lacks tor tor-gencert nginx curl; }

TOR_COMMON='TestingTorNetwork 1
AssumeReachable 1
PathsNeededToBuildCircuits 0.25
TestingDirAuthVoteExit *
TestingDirAuthVoteHSDir *
TestingDirAuthVoteGuard *
V3AuthNIntervalsValid 2
ExitPolicyRejectPrivate 0
ExitRelay 1
IPv6Exit 0
ExitPolicy accept *:*
ContactInfo play
Log notice stdout'

tor_authority() { # N: its keys, and its line for all
	local folder=$TMP/tor$1 fingerprint
	mkdir -p "$folder/keys" && chmod 700 "$folder" "$folder/keys" && echo play >"$folder/word" &&
		tor-gencert --create-identity-key -m 12 -a "10.77.0.1$1:7000" -i "$folder/keys/authority_identity_key" -s "$folder/keys/authority_signing_key" \
			-c "$folder/keys/authority_certificate" --passphrase-fd 3 3<"$folder/word" >"$folder/gencert" 2>&1 || return
	tor_conf "$1" "10.77.0.1$1" 5000 && echo 'DirAuthority placeholder orport=1 v3ident=0000000000000000000000000000000000000000 192.0.2.1:1 0000000000000000000000000000000000000000' >"$folder/auth"
	fingerprint=$(tor --list-fingerprint --quiet -f "$folder/torrc" --DirAuthority "$(sed 's/^DirAuthority //' "$folder/auth")" | sed 's/^[^ ]* //; s/ //g') &&
		[[ $fingerprint ]] && echo "DirAuthority play$1 orport=5000 no-v2 v3ident=$(sed -n 's/^fingerprint //p' "$folder/keys/authority_certificate") 10.77.0.1$1:7000 $fingerprint" >>"$TMP/authorities"
}

tor_conf() { # NAME ADDRESS ORPORT
	cat >"$TMP/tor$1/torrc" <<-END
	$TOR_COMMON
	DataDirectory $TMP/tor$1
	Nickname play$1
	Address $2
	OutboundBindAddress $2
	ORPort $2:$3
	SocksPort 0
	END
}

tor_serves() {
	local n
	mkdir "$TMP/torB" "$TMP/torC" && chmod 700 "$TMP/torB" "$TMP/torC" || return
	for n in 1 2 3; do
		ip -n "$(ns A)" addr add "10.77.0.1$n/24" dev veth-A && tor_authority "$n" || return
	done
	for n in 1 2 3; do
		cat "$TMP/authorities" - >>"$TMP/tor$n/torrc" <<-END
		AuthoritativeDirectory 1
		V3AuthoritativeDirectory 1
		V3AuthVotingInterval 60
		V3AuthVoteDelay 4
		V3AuthDistDelay 4
		TestingV3AuthInitialVotingInterval 20
		TestingV3AuthInitialVoteDelay 4
		TestingV3AuthInitialDistDelay 4
		TestingMinExitFlagThreshold 0
		DirPort 10.77.0.1$n:7000
		END
		bg in_ns A tor -f "$TMP/tor$n/torrc"
	done
	tor_conf B 10.77.0.2 9001 && cat "$TMP/authorities" >>"$TMP/torB/torrc" && bg in_ns B tor -f "$TMP/torB/torrc" && eventually 20 listens B 9001
}

tor_visit() { in_ns A curl -sS --fail --fail-early --max-time 30 -x socks5h://127.0.0.1:9050 -o /dev/null 'http://10.77.0.1/[1-10]' http://10.77.0.1/film; }

# The network knows the relay as one to begin with.
tor_known() { grep -A 3 '^r playB ' "$TMP/tor1/cached-microdesc-consensus" | grep 'Fast Guard'; }

# The client asks for its files from nginx through the relay and one authority.
tor_joins() {
	web_pages && pages_serve A || return
	{ echo "$TOR_COMMON" | grep -vE 'Exit(Relay|Policy)'; echo "DataDirectory $TMP/torC"; echo 'SocksPort 9050'; echo 'EntryNodes playB'
		echo 'ClientRejectInternalAddresses 0'; echo 'ClientDNSRejectInternalAddresses 0'; echo 'NumEntryGuards 1'; cat "$TMP/authorities"; } >"$TMP/torC/torrc"
	eventually 90 tor_known && bg in_ns A tor -f "$TMP/torC/torrc" && eventually 60 tor_visit && bg forever tor_visit
}
tor_plays() { went_on; }
tor_floods() {
	echo "strangers device tcp syn|1 --src $STRANGERS --sequential --proto tcp-syn --dport 9001 --sport 0"
	echo "few any tcp dport 9001 syn|16 --src $FEW --proto tcp-syn --dport 9001 --sport 0"
	echo "few any|16 --src $FEW --dport 9001"
}
