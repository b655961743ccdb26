# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by play.sh: servers in B, 10.77.0.2, and their clients in A. For each policy NAME: NAME_packages (their versions
# are in the table), NAME_missing (what keeps it from being played), NAME_serves, NAME_joins (starts the client),
# NAME_plays (whether it goes on), NAME_floods: "WHO RULE|KEYS ARG…", who floods, the rule whose limit holds it and
# how many keys that has, and words of the generator.

lacks() { # COMMAND…
	local command
	for command in "$@"; do
		command -v "$command" >/dev/null || echo "there is no $command here (scripts/deps.sh --play)"
	done | head -n 1
}

alive() { kill -0 -- "-$1" 2>/dev/null || kill -0 "$1"; }

# forever CMD…: again and again; counts what succeeds and what fails.
forever() {
	while sleep "${PAUSE:-1}"; do
		if "$@" >"$TMP/forever.out" 2>&1; then
			echo ok >>"$TMP/forever"
		else
			echo "failed: $(tail -n 1 "$TMP/forever.out")" | tee -a "$TMP/forever"
		fi
	done
}

# went_on: what `forever` does has succeeded so far, at least twice. Beside a flood, which the client shares its machine
# and its cable with, it succeeds again.
went_on() {
	tail -n 3 "$TMP/forever"
	if [[ -n $BESIDE ]]; then
		eventually 20 sh -c "tail -n 1 '$TMP/forever' | grep -qx ok"
	else
		! grep -vx ok "$TMP/forever" && [[ $(wc -l <"$TMP/forever") -ge 2 ]]
	fi
}

# floods_of PORT RULE [ARG…]: of strangers, and of sixteen sources, which RULE holds.
floods_of() {
	echo "strangers device new-source not established|1 --src $STRANGERS --sequential --dport $1${3:+ ${*:3}}"
	echo "few $2|16 --src $FEW --dport $1${3:+ ${*:3}}"
}

certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=play -keyout "$TMP/key.pem" -out "$TMP/cert.pem" 2>"$TMP/openssl" ||
		cat "$TMP/openssl"
}

# ---- dns: knot and dnsperf

names_serve() { # NAMESPACE ADDRESS
	# shellcheck disable=SC2016 # a zone's words
	mkdir -p "$TMP/knot" && {
		printf '%s\n' '$ORIGIN example.' '$TTL 60' '@ SOA ns. host. 1 3600 600 86400 60' '@ NS ns' 'ns A 192.0.2.1' '* 0 A 192.0.2.2' \
			'* 0 TXT "a text that is as long as a key of a mail server may be a text that is as long as a key"'
	} >"$TMP/knot/zone" && cat >"$TMP/knot/conf" <<-END && bg in_ns "$1" knotd -c "$TMP/knot/conf"
	server:
	    rundir: "$TMP/knot"
	    listen: $2@53
	database:
	    storage: "$TMP/knot"
	zone:
	  - domain: example.
	    storage: "$TMP/knot"
	    file: zone
	    zonefile-load: whole
	END
	eventually 10 listens "$1" 53
}

questions() { awk 'BEGIN { for (n = 0; n < 20000; n++) print "n" n ".example " (n % 4 ? "A" : "TXT") }' >"$TMP/questions"; }

# asks RATE [ARG…]: dnsperf, a report every second.
asks() {
	bg in_ns A dnsperf -s 10.77.0.2 -d "$TMP/questions" -l 86400 -c 4 -q 50 -T 1 -Q "$1" -S 1 "${@:2}"
}

# answered: dnsperf goes on, and in peace no question has been lost.
answered() {
	[[ -n $BESIDE ]] || ! grep -E '[Tt]imeout|timed out|lost' "$TMP/bg" || return
	grep -E '^[0-9.]+: [0-9.]+' "$TMP/bg" | tail -n 2
}

dns_packages() { echo knot dnsperf; }
dns_missing() { lacks knotd dnsperf; }
# A veth takes answers that its peer's program sends where it has a program, too.
dns_serves() { rl A attach veth-A && names_serve B 10.77.0.2; }
dns_joins() {
	questions && asks 150 && asks 50 -m tcp && PAUSE=0.5 && bg forever in_ns A dig +tcp +short @10.77.0.2 single.example A
}
dns_plays() { answered && went_on; }
dns_newcomers() { asked_names "$@"; }
dns_floods() {
	echo "strangers device udp dport 53 new-source|1 --src $STRANGERS --sequential --proto dns --dport 53"
	echo "few any udp dport 53 limit 2k|1 --src $FEW --proto dns --dport 53"
}

# ---- resolver: unbound, which asks knot in A

resolver_packages() { echo unbound knot dnsperf; }
resolver_missing() { lacks unbound knotd dnsperf; }
# Unbound closes a question's socket after 50 ms and asks anew: on a busy machine answers come later than that, which nobody
# waits for any more. With delay-close the sockets stay open, so that every answer is one that was asked for.
resolver_serves() {
	ip -n "$(ns A)" addr add 10.77.0.9/24 dev veth-A && names_serve A 10.77.0.9 &&
		resolver B 10.77.0.2 ' delay-close: 1500' ' do-not-query-localhost: no' 'forward-zone:' ' name: "."' ' forward-addr: 10.77.0.9'
}
resolver_joins() { questions && asks 100 && PAUSE=0.5 && bg forever in_ns A dig +short @10.77.0.2 www.example A; }
resolver_plays() { answered && went_on; }
resolver_newcomers() { asked_names "$@"; }
resolver_floods() {
	echo "strangers device new-source not established|1 --src $STRANGERS --sequential --proto dns --dport 53"
	echo "few any udp dport 53|16 --src $FEW --proto dns --dport 53"
	echo "strangers device udp sport 53 not established|1 --src $STRANGERS --sequential --sport 53 --dport 40000 --size 1200"
}

# ---- web: nginx, wrk and curl; ngtcp2 for QUIC, which Debian's nginx does not speak

web_packages() { echo nginx-light wrk curl ngtcp2-server ngtcp2-client; }
web_missing() { lacks nginx wrk curl gtlsserver gtlsclient; }

web_pages() {
	mkdir -p "$TMP/www" && head -c 100000000 /dev/zero >"$TMP/www/large" && head -c 5000000 /dev/urandom >"$TMP/www/film" || return
	for n in {1..40}; do
		head -c $((n * 2000)) /dev/urandom >"$TMP/www/$n" || return
	done
}

pages_serve() { # NAMESPACE
	printf '%s\n' "pid $TMP/nginx-$1.pid; error_log $TMP/nginx.log; daemon off; user root; worker_processes 1; events { }" \
		"http { access_log off; server { listen 80; root $TMP/www; } }" >"$TMP/nginx-$1"
	bg in_ns "$1" nginx -c "$TMP/nginx-$1" && eventually 10 listens "$1" 80
}

web_serves() {
	certificate && web_pages && cat >"$TMP/nginx" <<-END || return
	pid $TMP/nginx.pid; error_log $TMP/nginx.log; daemon off; user root; worker_processes 1;
	events { }
	http { access_log off;
	 server { listen 80; listen 443 ssl; root $TMP/www; ssl_certificate $TMP/cert.pem; ssl_certificate_key $TMP/key.pem; } }
	END
	bg in_ns B nginx -c "$TMP/nginx" && eventually 10 listens B 443 &&
		bg in_ns B gtlsserver -q -d "$TMP/www" '*' 443 "$TMP/key.pem" "$TMP/cert.pem" && eventually 10 in_ns B sh -c 'ss -Hlnu sport = :443 | grep -q 443'
}

# A page with forty pictures, by six connections as browsers make them, and by one QUIC connection; a film by QUIC.
web_visit() {
	local urls=() n
	for n in {1..40}; do urls+=("https://10.77.0.2/$n"); done
	in_ns A curl -ksS --fail --no-progress-meter -Z --parallel-max 6 -o /dev/null "${urls[@]}" &&
		in_ns A curl -sS --fail -o /dev/null http://10.77.0.2/1 &&
		in_ns A timeout 20 gtlsclient -q --exit-on-all-streams-close --download "$TMP/got" 10.77.0.2 443 https://play/{1,20,40,film} &&
		cmp "$TMP/got/film" "$TMP/www/film"
}

web_joins() {
	mkdir -p "$TMP/got" && printf '%s\n' 'function delay() return 100 end' >"$TMP/delay.lua" &&
		bg in_ns A wrk -t 1 -c 20 -d 24h -s "$TMP/delay.lua" http://10.77.0.2/2 && bg forever web_visit &&
		bg in_ns A curl -ksS --limit-rate 4M -o /dev/null https://10.77.0.2/large'?[1-1000]' && CLIENT=$BG_PID
}
web_plays() { alive "$CLIENT" && went_on; }
web_newcomers() { asked_tcp https://10.77.0.2/1 "$@"; }
web_floods() {
	echo "strangers device new-source not established|1 --src $STRANGERS --sequential --proto tcp-syn --dport 443 --sport 0"
	echo "few any tcp syn|16 --src $FEW --proto tcp-syn --dport 443 --sport 0"
	echo "few any udp dport 443|1 --src $ONE --dport 443"
}

# ---- sip: kamailio before a sipp that answers, and one that calls, with media

sip_packages() { echo kamailio sip-tester; }
sip_missing() { lacks kamailio sipp; }
# One child: of two, on a busy machine, one overtakes the other, and sipp ends a call whose "ringing" comes after its answer.
sip_serves() {
	cat >"$TMP/kamailio" <<-'END' || return
	debug=1
	log_stderror=yes
	children=1
	listen=udp:10.77.0.2:5060
	disable_tcp=yes
	loadmodule "sl.so"
	request_route {
	 if (method == "REGISTER") { sl_send_reply("200", "OK"); exit; }
	 forward("10.77.0.2", 5070);
	}
	END
	bg in_ns B sipp -sn uas -i 10.77.0.2 -p 5070 -mi 10.77.0.2 -mp 10000 -rtp_echo -nostdin -skip_rlimit &&
		bg in_ns B kamailio -DD -E -f "$TMP/kamailio" -Y "$TMP" -P "$TMP/kamailio.pid" && eventually 10 listens B 5060
}

# Calls of nine seconds with speech, one a second: a trunk; then it says how many failed.
sip_joins() {
	sipp -sd uac_pcap 2>/dev/null | sed 's,pcap/,/usr/share/sip-tester/,' >"$TMP/call.xml" && cd "$TMP" &&
		bg in_ns A sipp -sf "$TMP/call.xml" -i 10.77.0.1 -p 5060 -mi 10.77.0.1 -mp 20000 -r 1 -nostdin -skip_rlimit \
			-trace_stat -stf "$TMP/calls" -fd 1 10.77.0.2:5060 && cd "$TOP" && eventually 20 sip_plays
}
# Calls that succeeded, failed, and packets sent again.
sip_calls() {
	awk -F ';' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } END { print $at["SuccessfulCall(C)"], $at["FailedCall(C)"], $at["Retransmissions(C)"] }' "$TMP/calls"
}
sip_plays() {
	local good failed again
	read -r good failed again < <(sip_calls) && echo "$good $failed $again"
	if [[ -n $BESIDE ]]; then
		eventually 15 sip_more "$good"
	else
		[[ $good -gt 0 && $failed -eq 0 && $again -eq 0 ]]
	fi
}
sip_more() { [[ $(sip_calls | cut -d ' ' -f 1) -gt $1 ]]; }
sip_newcomers() { called "$@"; }
sip_floods() { floods_of 5060 'any udp dport 5060' --size 400; }

# ---- wireguard

wireguard_packages() { echo wireguard-go wireguard-tools iperf3; }
wireguard_missing() { lacks wireguard-go wg iperf3; }

tunnel() { # NAMESPACE ADDRESS PORT PEER ARG…
	local device=rl$1$$
	bg in_ns "$1" env WG_PROCESS_FOREGROUND=1 LOG_LEVEL=error wireguard-go -f "$device" &&
		eventually 10 ip -n "$(ns "$1")" link show "$device" &&
		in_ns "$1" wg set "$device" private-key "$TMP/$1.wg" listen-port "$3" peer "$(wg pubkey <"$TMP/$4.wg")" allowed-ips 10.78.0.0/24 "${@:5}" &&
		ip -n "$(ns "$1")" addr add "$2/24" dev "$device" && ip -n "$(ns "$1")" link set "$device" mtu 1420 up
}

wireguard_serves() {
	(umask 077 && wg genkey >"$TMP/A.wg" && wg genkey >"$TMP/B.wg") && tunnel B 10.78.0.1 51820 A &&
		bg in_ns B iperf3 --server && eventually 10 listens B 5201
}
wireguard_joins() {
	tunnel A 10.78.0.2 0 B endpoint 10.77.0.2:51820 persistent-keepalive 25 && eventually 10 in_ns A ping -c 1 -W 1 10.78.0.1 &&
		bg forever in_ns A ping -c 5 -i 0.2 -W 2 10.78.0.1 && bg in_ns A iperf3 --client 10.78.0.1 --bitrate 40M --time 86400 &&
		CLIENT=$BG_PID && sleep 1
}
wireguard_plays() { alive "$CLIENT" && went_on; }
wireguard_floods() {
	echo "strangers device new-source not established|1 --src $STRANGERS --sequential --dport 51820 --size 190"
	echo "few any udp dport 51820|1 --src $ONE --dport 51820 --size 190"
}

# ---- router: from A through B to C

router_packages() { echo iperf3 nginx-light curl knot dnsperf; }
router_missing() { lacks iperf3 nginx curl knotd dnsperf; }
router_serves() {
	ns_new C && ip -n "$(ns B)" link add inner type veth peer name outer netns "$(ns C)" &&
		ip -n "$(ns B)" addr add 10.79.0.1/24 dev inner && ip -n "$(ns B)" link set inner up && ip -n "$(ns C)" addr add 10.79.0.2/24 dev outer && ip -n "$(ns C)" addr add 10.79.0.3/24 dev outer &&
		ip -n "$(ns C)" link set outer up && ip -n "$(ns C)" route add default via 10.79.0.1 && in_ns B sysctl -qw net.ipv4.ip_forward=1 &&
		ip -n "$(ns A)" route add 10.79.0.0/24 via 10.77.0.2 && ip -n "$(ns A)" addr add 10.77.0.9/24 dev veth-A &&
		names_serve A 10.77.0.9 && web_pages || return
	pages_serve A && pages_serve C && bg in_ns C iperf3 --server && eventually 10 listens C 5201
}
router_joins() {
	questions && bg in_ns C dnsperf -s 10.77.0.9 -d "$TMP/questions" -l 86400 -c 4 -q 50 -T 1 -Q 200 -S 1 &&
		bg in_ns C curl -sS --limit-rate 8M -o /dev/null http://10.77.0.1/large'?[1-1000]' &&
		bg forever in_ns A curl -sS --fail -o /dev/null http://10.79.0.2/'[1-40]' &&
		bg in_ns A iperf3 --client 10.79.0.2 --udp --bitrate 20M --length 1200 --time 86400 && CLIENT=$BG_PID && sleep 1
}
router_plays() { alive "$CLIENT" && answered && went_on; }
# At another host than the one that the others talk with: what is limited is what each host gets.
router_floods() {
	echo "strangers device new-source|1 --src $STRANGERS --sequential --dst 10.79.0.3 --dport 40000"
	echo "few any tcp syn|1 --src $FEW --dst 10.79.0.3 --proto tcp-syn --dport 80 --sport 0"
	echo "few any udp sport 19,137,161,389,1900,3283,3702,5683,11211|1 --src $FEW --dst 10.79.0.3 --sport 11211 --dport 40000 --size 1400"
	echo "few any udp sport 123|1 --src $FEW --dst 10.79.0.3 --sport 123 --dport 40000 --size 480"
}
