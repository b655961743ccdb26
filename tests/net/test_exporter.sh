#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The exporter: its answers, clients that are slow or many, devices that come and go, how it ends, addresses
# that it cannot bind, and a Prometheus server that scrapes it.
source "$(dirname "$0")/../lib.sh"

URL=http://127.0.0.1:9754

# get [ARG…] URL: the answer, its head included.
get() { in_ns B curl --silent --show-error --include --max-time 60 "$@"; }

body() { in_ns B curl --silent --fail --max-time 60 "$@"; }

# bg_in_b NAME CMD…: in the background in B; its output is in $TMP/NAME, and BG_PID is its process.
bg_in_b() {
	local says=$TMP/$1
	shift
	rm -f "$says"
	# shellcheck disable=SC2016 # the inner shell's
	bg nsenter --net="/run/netns/$(ns B)" sh -c 'says=$1 && shift && exec "$@" >"$says" 2>&1' _ "$says" "$@"
}

# exporter ARG…: one in B until the test ends; EXPORTER is its pid.
exporter() {
	bg_in_b says "$RLCTL" exporter "$@"
	EXPORTER=$BG_PID
	eventually 10 grep -q /metrics "$TMP/says"
}

# ---- answers

answers() { # WANTED-STATUS TEXT ARG…
	local wanted=$1 text=$2 head
	head=$(get "${@:3}") || return
	[[ $head == "HTTP/1.1 $wanted "* && $head == *"$text"* ]] || _say "wanted $wanted and '$text' in: $head"
}

# The figures are those of stats --prometheus, but for the time that the reading took.
test_same_document() {
	body $URL/metrics >"$TMP/served" && rl B stats --prometheus >"$TMP/printed" &&
		promtool check metrics <"$TMP/served" && diff <(figures <"$TMP/served") <(figures <"$TMP/printed")
}
figures() { grep -v '^rlctl_scrape_duration_seconds '; }

# Fifty scrapes, by what the reading of each document took: a second is answered by one of them, and
# the time by a document of its own.
test_one_for_a_second() {
	local urls start=${EPOCHREALTIME/./} documents
	urls=$(yes $URL/metrics | head -n 50)
	# shellcheck disable=SC2086 # several addresses
	body $urls | grep '^rlctl_scrape_duration_seconds ' >"$TMP/documents"
	documents=$(sort -u "$TMP/documents" | wc -l)
	is "$(wc -l <"$TMP/documents")" 50 &&
		between "$documents" 1 $(((${EPOCHREALTIME/./} - start) / 1000000 + 2))
}
test_next_second() {
	local first
	first=$(body $URL/metrics | grep '^rlctl_scrape_duration_seconds ') && sleep 1.1 &&
		[[ $(body $URL/metrics | grep '^rlctl_scrape_duration_seconds ') != "$first" ]]
}

# Input that is not a request is refused or cut off, and the next request is answered.
test_garbage() { # TEXT
	# shellcheck disable=SC2016 # the inner shell's
	! in_ns B timeout 60 bash -c 'exec 3<>/dev/tcp/127.0.0.1/9754 && printf "$1" >&3; cat <&3' _ "$1" |
		grep ' 200 ' && [[ ${PIPESTATUS[0]} -ne 124 ]] && answers 200 rlctl_build_info $URL/metrics
}

# Devices come and go, here one whose name needs escaping in text formats.
ODD="q\"\\"
test_comes() {
	local text
	ip -n "$(ns B)" link add "$ODD" type veth peer name 'x{},=' && rl B attach "$ODD" --quiet || return
	eventually 5 has_odd && promtool check metrics <"$TMP/odd"
}
has_odd() { body $URL/metrics >"$TMP/odd" && grep -F 'rlctl_rules{device="q\"\\",hook="xdp"} 0' "$TMP/odd"; }
test_goes() { rl B detach "$ODD" && eventually 5 has_no_odd; }
has_no_odd() { body $URL/metrics >"$TMP/odd" && ! grep 'device="q' "$TMP/odd"; }

# ---- clients

test_many() { in_ns B python3 "$TOP/tests/net/clients.py" many 127.0.0.1 9754 100; }

of_process() { awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status"; }

test_no_growth() {
	local memory files
	test_many && memory=$(of_process "$EXPORTER" VmRSS) && files=$(open_files "$EXPORTER") || return
	test_many && test_many && between "$(of_process "$EXPORTER" VmRSS)" 1 $((memory + 1024)) &&
		eventually 10 files_are 1 "$files"
}
test_thousand() {
	bg_in_b thousand python3 "$TOP/tests/net/clients.py" root 127.0.0.1 9754 1000
	wait "$BG_PID" || _say "$(<"$TMP/thousand")" || return
	files_are 1 42 && answers 200 rlctl_build_info $URL/metrics
}
open_files() { find "/proc/$1/fd" -type l | wc -l; }
files_are() { between "$(open_files "$EXPORTER")" "$1" "$2"; }

# More slow clients than slots; a scrape is accepted as soon as their time is over.
slow_start() {
	exporter --listen '[::1]:9755' || return
	bg_in_b slow python3 "$TOP/tests/net/clients.py" slow ::1 9755 40
	eventually 20 grep -q connected "$TMP/slow"
}
# So do clients that do not read their answer when it does not fit into the socket.
unread_start() {
	local sizes
	sizes=$(in_ns B sysctl -n net.ipv4.tcp_wmem) && in_ns B sysctl -qw net.ipv4.tcp_wmem='4096 4096 4096' &&
		seq -f 'rule 10.79.%.0f.0/24 deny' 0 255 | rl B apply - && exporter --listen '[::1]:9758' || return
	bg_in_b unread python3 "$TOP/tests/net/clients.py" unread ::1 9758 40
	eventually 20 grep -q connected "$TMP/unread" && eventually 10 all_wait &&
		in_ns B sysctl -qw net.ipv4.tcp_wmem="$sizes" || return
	rl B apply - <<<'rule 10.78.0.0/16 deny'
}
# Its sockets: while it reads an instance it has that one's maps open, too.
all_wait() {
	between "$(in_ns B ss -Htn state established 'sport = :9758' | awk '$2 > 0' | wc -l)" 32 40 && between "$(find "/proc/$EXPORTER/fd" -lname 'socket:*' | wc -l)" 32 37
}

# At most ten descriptors more than there are slots are open: the exporter's own.
test_slow_bounded() { eventually 10 files_are 12 42; }
# Their time is over before Prometheus gives up a scrape, by default after 10 s.
test_slow_soon() {
	local began
	exporter --listen '[::1]:9759' && bg_in_b slow2 python3 "$TOP/tests/net/clients.py" slow ::1 9759 40 &&
		eventually 20 grep -q connected "$TMP/slow2" && began=$SECONDS && test_slow 9759 && between $((SECONDS - began)) 0 7
}
test_slow() { # PORT
	body "http://[::1]:$1/metrics" | grep -q '^rlctl_scrape_duration_seconds'
}

# ---- start and end

refuses() { # STATUS TEXT ADDRESS
	has "$2" expect_status "$1" rl B exporter --listen "$3"
}

test_ends() { # SIGNAL
	exporter --listen 127.0.0.1:0 || return
	answers 200 rlctl_build_info "$(grep -oE 'http://127.0.0.1:[0-9]+/metrics' "$TMP/says")" || return
	kill "-$1" "$EXPORTER" && wait "$EXPORTER"
}

# A client in the middle of its request does not keep the exporter from ending.
test_ends_busy() {
	exporter --listen 127.0.0.1:9756 || return
	bg_in_b client bash -c 'exec 3<>/dev/tcp/127.0.0.1/9756 && printf "GET /m" >&3 && echo sent && cat <&3'
	eventually 10 grep -q sent "$TMP/client" && answers 200 rlctl http://127.0.0.1:9756/ && kill -TERM "$EXPORTER" && wait "$EXPORTER"
}

test_both_families() {
	exporter --listen '[::]:9757' && answers 200 /metrics http://127.0.0.1:9757/ &&
		answers 200 /metrics 'http://[::1]:9757/'
}

# ---- a Prometheus server

prometheus_start() {
	cat >"$TMP/prometheus.yml" <<-END
		global: {scrape_interval: 1s, evaluation_interval: 1s}
		rule_files: [$TOP/scripts/alerts.yml]
		scrape_configs:
		  - job_name: rlctl
		    static_configs: [{targets: ["127.0.0.1:9754"]}]
	END
	promtool check config "$TMP/prometheus.yml" || return
	bg_in_b prometheus prometheus --config.file="$TMP/prometheus.yml" --storage.tsdb.path="$TMP/tsdb" \
		--web.listen-address=127.0.0.1:9090 --log.level=warn
	PROMETHEUS=$BG_PID
	eventually 30 body http://127.0.0.1:9090/-/ready
}

# query PROMQL FILTER: the answer's result through jq.
query() {
	body --get --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query |
		json ".status == \"success\" and (.data.result | $2)"
}

test_series() {
	eventually 20 query 'up{job="rlctl"} == 1' 'length == 1' &&
		eventually 20 query 'rlctl_rules' 'any(.[]; .metric.device == "q\"\\")' &&
		eventually 20 query 'rlctl_rule_dropped_packets_total{rule="10.78.0.0/16 deny"}' '.[0].value[1] == "40"' &&
		eventually 20 query 'sum by (reason) (rlctl_dropped_packets_total{device="veth-B"}) > 0' \
			'length == 1 and .[0].metric.reason == "denied" and .[0].value[1] == "40"'
}

# The dashboard's queries are valid, with its variables at their defaults.
test_dashboard() {
	local expression
	while read -r expression; do
		expression=${expression//\$__rate_interval/1m} expression=${expression//\$instance/.*}
		query "${expression//\$device/.*}" 'type == "array"' || _say "$expression" || return
	done < <(jq -er '.panels[].targets[].expr, .annotations.list[].expr' "$TOP/scripts/grafana.json")
}

# annotated NAME FILTER: what the annotation has shown in the last eight seconds, over three seconds each time, so that a
# query that comes late misses none; Grafana shows values of 1 and more.
annotated() {
	local expression
	# shellcheck disable=SC2016 # jq's
	expression=$(jq -er --arg name "$1" '.annotations.list[] | select(.name == $name).expr' "$TOP/scripts/grafana.json") || return
	expression=${expression//\$__rate_interval/3s} expression=${expression//\$instance/.*}
	query "max_over_time((${expression//\$device/.*})[8s:1s])" "map(select(.value[1] | tonumber >= 1) | .metric) | $2"
}

# Nothing happened in peace; then a rule begins to drop, a policy is applied, and its rule bans.
test_annotations() {
	local kind
	for kind in 'Policies that are applied' 'Bans that begin' 'Rules that begin to drop' 'Detached'; do
		eventually 20 annotated "$kind" 'length == 0' || _say "$kind" || return
	done
	flood A --count 40 --src 10.78.1.1 >/dev/null &&
		eventually 20 annotated 'Rules that begin to drop' 'map(.rule) == ["10.78.0.0/16 deny"]' || return
	rl B apply -i veth-B - <<<'rule 10.78.0.0/16 limit 1/hour burst 1 over ban 1h' &&
		eventually 20 annotated 'Policies that are applied' 'map(.device) == ["veth-B"]' &&
		flood A --count 9 --src 10.78.1.1 >/dev/null && eventually 20 annotated 'Bans that begin' 'map(.device) == ["veth-B"]'
}
test_annotated_attach() {
	query "$(jq -er '.annotations.list[] | select(.name == "Attached").expr' "$TOP/scripts/grafana.json" |
		sed 's/\$\(instance\|device\)/.*/g')" \
		"[.[] | select(.metric.device == \"veth-B\").value[1] | tonumber / 1000] | length == 1 and
			(.[0] - $(date -d "$(stat_of_b .since)" +%s) | fabs) < 2"
}
stat_of_b() { rl B stats -j -i veth-B | json ".[0] | $1"; }

healthy() {
	body http://127.0.0.1:9090/api/v1/rules |
		json '[.data.groups[].rules[].health] | length > 5 and all(. == "ok")'
}

test_prometheus_ends() { kill -TERM "$PROMETHEUS" && wait "$PROMETHEUS"; }

veth_pair A B && ns_mute A && in_ns B sysctl -qw net.ipv6.conf.veth-B.disable_ipv6=1 || exit
rl B attach veth-B --policy - <<<'rule 10.78.0.0/16 deny' || exit
t 'slow clients come' slow_start
t 'slow clients are bounded' test_slow_bounded
t 'clients that never read are bounded' unread_start
t 'starts' exporter || exit
t 'Prometheus starts' prometheus_start
t 'the document of stats' test_same_document
t 'its type' answers 200 'Content-Type: text/plain; version=0.0.4; charset=utf-8' $URL/metrics
t 'one document for a second' test_one_for_a_second
t 'another for the next second' test_next_second
t 'a query string' answers 200 rlctl_build_info "$URL/metrics?collect[]=a"
t 'HEAD' answers 200 'Content-Length: ' --head $URL/metrics
t 'the root names /metrics' answers 200 'at /metrics' $URL/
t 'another path' answers 404 'at /metrics' $URL/metric
t 'a path below' answers 404 'at /metrics' $URL/metrics/
t 'POST' answers 405 'Allow: GET, HEAD' --data a=b $URL/metrics
t 'DELETE' answers 405 'Allow: GET, HEAD' --request DELETE $URL/
t 'no HTTP' test_garbage 'nonsense\r\n\r\n'
t 'a head that is too long' test_garbage "GET /metrics?$(printf '%020000d' 0) HTTP/1.1\r\n\r\n"
t 'a device comes' test_comes
t 'many clients' test_many
t 'it does not grow' test_no_growth
t 'a thousand at once' test_thousand
t 'both families' test_both_families
t 'port 0, ends on TERM' test_ends TERM
t 'port 0, ends on INT' test_ends INT
t 'ends while a client speaks' test_ends_busy
while IFS='|' read -r name status text address; do
	t "$name" refuses "$status" "$text" "$address"
done <<'END'
busy|1|Address already in use: `ss -ltnp` shows|127.0.0.1:9754
not ours|1|`ip address` lists|192.0.2.1:9754
no port|2|use a numeric ADDRESS:PORT|127.0.0.1
no address|2|use a numeric ADDRESS:PORT|:9754
port too large|2|use a numeric ADDRESS:PORT|127.0.0.1:65536
port is no number|2|use a numeric ADDRESS:PORT|127.0.0.1:http
a name|2|use a numeric ADDRESS:PORT|localhost:9754
IPv6 without brackets|2|use a numeric ADDRESS:PORT|::1:9754
IPv4 in brackets|2|use a numeric ADDRESS:PORT|[127.0.0.1]:9754
bracket left open|2|use a numeric ADDRESS:PORT|[::1:9754
nothing|2|use a numeric ADDRESS:PORT|
END
t 'no JSON' has 'unsupported option --json' expect_status 2 rl B exporter -j
flood A --count 40 --src 10.78.1.1 >/dev/null || exit
t 'Prometheus has the series' test_series
t 'Prometheus understands the dashboard' test_dashboard
t 'Prometheus evaluates the alerts' eventually 20 healthy
t 'annotations: rules, policies and bans' test_annotations
t 'annotations: when it was attached' test_annotated_attach
t 'a device goes' test_goes
t 'annotations: detached' eventually 10 annotated Detached 'any(.[]; .device == "q\"\\")'
t 'Prometheus ends' test_prometheus_ends
t 'slow clients hold a scrape up for little' test_slow_soon
t 'slow clients keep nobody out' test_slow 9755
t 'clients that never read keep nobody out' test_slow 9758
