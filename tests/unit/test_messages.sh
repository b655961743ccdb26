#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Messages. First, word for word, the answer to each wrong command line and policy that needs no instance;
# then the style of every message in user/, by messages.py.
source "$(dirname "$0")/../lib.sh"

FORMATS=$TOP/tests/unit/messages.py

# ---- the exact answer

# answer CMD…: the exit status and what follows "rlctl: " on the first line of standard error; more lines
# may only show the column of an error. Standard output stays empty.
answer() {
	local status=0 first rest
	"$@" >"$TMP/stdout" 2>"$TMP/stderr" || status=$?
	{ IFS= read -r first && rest=$(cat); } <"$TMP/stderr"
	[[ ! -s $TMP/stdout && ( -z $rest || $rest == '  '*'^' ) ]] || _say "$(cat "$TMP/stdout" "$TMP/stderr")" || return
	echo "$status ${first#rlctl: }"
}

# A user namespace gives the capabilities that a verb asks for before it reads its arguments.
capable() {
	if [[ $EUID -eq 0 ]]; then "$@"; else unshare -r -- "$@"; fi
}

# As a user without privilege, who cannot enter the directory of the sources.
unprivileged() {
	if [[ $EUID -eq 0 ]]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
	else
		"$@"
	fi
}

command_row() { # ARGUMENTS WANTED
	eval "set -- $(printf '%q' "$2") $1"
	is "$(answer capable "$RLCTL" "${@:2}" </dev/null)" "$1"
}

policy_row() { # RULE WANTED
	is "$(answer "$RLCTL" apply --check - <<<"$1")" "$2"
}

nobody_row() { # ARGUMENTS WANTED
	# shellcheck disable=SC2086 # words
	is "$(answer unprivileged ./rlctl $1)" "$2"
}

# The names of all policies that come with rlctl.
NAMES=$(cd "$TOP/policies" && printf '%s\n' *.policy | sed 's/\.policy$//' | paste -sd ' ' | sed 's/ /, /g')

# rows KIND: lines of STATUS ARGUMENTS => MESSAGE.
rows() {
	local line
	while IFS= read -r line; do
		t "${line#* }" "$1_row" "$(sed -E 's/^[0-9] (.*) => .*/\1/' <<<"$line")" \
			"${line%% *} ${line#* => }"
	done
}

cd "$TMP" && chmod 755 . && install -m 755 "$RLCTL" rlctl && : >empty && echo 'rule any deny' >policy || exit 1

if capable true 2>/dev/null; then
	rows command <<END
2 frobnicate => unknown verb 'frobnicate' (\`rlctl help\` lists the verbs)
2 atach lo => unknown verb 'atach' (did you mean attach?)
2 deny 192.0.2.1 => unknown verb 'deny': write \`rlctl ban ADDRESS\`
2 unblock 192.0.2.1 => unknown verb 'unblock': write \`rlctl unban ADDRESS\`
2 ban 192.0.2.1 2h => ban: '2h' is a time: write \`for 2h\`
2 info => unknown verb 'info' (\`rlctl help\` lists the verbs)
2 undoo => unknown verb 'undoo' (did you mean undo?)
2 events --since 25:00 => invalid --since '25:00': use a duration such as 2h, or a time such as 21:00, '2026-11-24 21:00:00' or 2026-11-24T21:00:00Z
2 why 192.0.2.1 => unknown verb 'why': write \`rlctl explain ADDRESS [MATCH]\`
2 rollback => unknown verb 'rollback': write \`rlctl undo\`
2 stop => unknown verb 'stop': write \`rlctl detach DEV\`
2 restart => unknown verb 'restart': write \`rlctl apply FILE\`
2 log => unknown verb 'log': write \`rlctl events\`
2 help frobnicate => unknown verb 'frobnicate' (\`rlctl help\` lists the verbs)
2 rule => rule: missing subcommand (one of: add, del, get, list, flush)
2 rule remove => rule: unknown subcommand 'remove' (one of: add, del, get, list, flush)
2 rule delete => rule: unknown subcommand 'delete' (did you mean del?)
2 help source shw => source: unknown subcommand 'shw' (did you mean show?)
2 -x => unknown option '-x' (\`rlctl help\` lists the options)
2 -1 => unknown option '-1' (\`rlctl help\` lists the options)
2 source forgive -1s -q => invalid address '-1s': use for example 203.0.113.7 or 2001:db8::1
2 explain --policy absent 192.0.2.1 udp dport -1 => column 21: "-1" is not a port, a range of ports, a service, or a list of them: write for example 53, 6000-6063, 80,443, or a name of /etc/services
2 stats --watch -1 => invalid --watch '-1': use a number from 1 to 86400
2 status --frobnicate => unknown option '--frobnicate' (\`rlctl help\` lists the options)
2 status --jsn => unknown option '--jsn' (did you mean --json?)
2 status --json=x => --json takes no argument
2 attach lo --mode => --mode requires an argument: auto|native|generic
2 status -n => --netns requires an argument: NAME
2 attach lo --table lru --table cpu => --table given twice: leave one out
2 attach lo --table heap => invalid --table 'heap': use hot|lru|cpu
2 show --hook output => invalid --hook 'output': use xdp|ingress|egress
2 attach nosuch0 --sources 0 => invalid --sources '0': use a number from 1 to 16777216
2 attach nosuch0 --challenge-rate 0 => invalid --challenge-rate '0': use a number from 1 to 100000000
2 attach nosuch0 --hook egress --challenge-rate 5 => attach: --challenge-rate applies only to --hook xdp, where packets can be answered: leave it out
2 attach nosuch0 --state stateful => invalid --state 'stateful': use sockets|conntrack
2 attach nosuch0 --log-depth 1025 => invalid --log-depth '1025': use a number from 1 to 1024
2 stats --watch=0 => invalid --watch '0': use a number from 1 to 86400
2 show --mode native => show: unsupported option --mode (\`rlctl help show\` lists the options)
2 exporter --json => exporter: unsupported option --json (\`rlctl help exporter\` lists the options)
2 show --hook xdp --hook egress => show: more than one --hook: choose one
2 attach => attach: missing device: \`rlctl attach DEV\`
2 detach --hook xdp => detach: missing device: \`rlctl detach DEV\`
2 status lo -i lo => status: device given twice, with -i and as 'lo': leave one out
2 status a/b => invalid device name 'a/b': \`ip link\` lists the devices
2 attach nosuch0 lo => attach: unexpected argument 'lo': \`rlctl attach DEV\`
2 rule flush any => rule flush: unexpected argument 'any': \`rlctl rule flush\`
2 apply => apply: missing argument: \`rlctl apply POLICY|-\`
2 save all => save: 'all' names a device, not a file: \`rlctl save -i all\`, or ./all for a file of this name
2 save 'v*' => save: 'v*' names a device, not a file: \`rlctl save -i v*\`, or ./v* for a file of this name
2 simulate policy => simulate: missing argument: \`rlctl simulate POLICY PCAP\`
2 source show => source show: missing argument: \`rlctl source show ADDRESS\`
2 completion csh => completion: unsupported shell 'csh' (supported: bash, zsh)
2 apply --try policy => apply: --try requires a time, such as 30s: \`rlctl apply --try 30s POLICY|-\`
2 apply --check --try 1m - => apply: --check and --try exclude each other: leave one out
2 apply --try 0s policy => invalid --try '0s': use a time from 1s to 1d, such as 30s or 5m
2 attach nosuch0 --hook ingress --mode native => attach: --mode applies only to --hook xdp: leave it out
2 attach nosuch0 --fq => attach: --fq applies only to --hook egress: leave it out, or add --hook egress
2 attach nosuch0 --replace --try 1m => attach: --replace cannot be undone: leave --try out
2 attach nosuch0 --replace --policy p => attach: --replace keeps the policy: leave --policy out, and run \`rlctl apply\` afterwards
2 attach nosuch0 --replace --or-apply => attach: --or-apply and --replace exclude each other: leave one out
2 attach nosuch0 --last f => attach: --last needs --or-apply and --policy: add them, or leave it out
2 attach nosuch0 --or-apply --last f --policy p --try 1m => attach: a policy on trial is not kept: leave --last or --try out
2 attach nosuch0 --try 1m --hook xdp --hook egress => attach: --try takes only one --hook: attach one after the other
2 attach nosuch0 --group nosuch.group => --group 'nosuch.group': no such group: use a name that \`getent group\` lists, or a number
2 rule get 192.0.2.0/24 => '192.0.2.0/24' is a prefix: use an address, or \`rlctl rule list 192.0.2.0/24\`
2 rule get ::ffff:192.0.2.1 => '::ffff:192.0.2.1' is an IPv4-mapped IPv6 address: write 192.0.2.1
2 rule get localhost => invalid address 'localhost': use for example 203.0.113.7 or 2001:db8::1
2 explain --policy absent -i lo 192.0.2.1 => explain: --policy asks a file and -i an instance: leave one out
2 explain --policy absent any udp => a packet has one address: begin with it, for example 203.0.113.7
2 explain --policy absent 192.0.2.1 sport 1-2 => a packet has one port as sport and as dport: write for example dport 53
2 explain --policy absent 192.0.2.1 dst 10.0.0.0/8 => a packet has one address as src and as dst: leave out the length
2 explain --policy absent eth0 192.0.2.1 => invalid address 'eth0': use for example 203.0.113.7 or 2001:db8::1, and -i for a device
2 explain --policy absent 192.0.2.1 udp udp => column 15: "udp" repeats an earlier word of the same kind: remove one of the two
2 explain --policy absent 192.0.2.1 udp deny => a packet has no action: leave out allow, deny or limit
2 explain --policy absent 192.0.2.1 udp length 65536 => column 22: "65536" is out of range: write 0 to 65535
2 explain --policy absent 192.0.2.1 udp length => column 21: "length" must be followed by a length of the IP packet in bytes: write for example 64 or 0-127
2 explain --policy absent 192.0.2.1 length 60 length 61 => column 21: "length" repeats an earlier word of the same kind: remove one of the two
2 explain --policy absent 192.0.2.1 length 60-61 => a packet has one value in each field: write for example length 60
2 explain --policy absent 192.0.2.1 not udp => a packet has one value in each field: write it without not
2 explain --policy absent 192.0.2.1 tcp length 39 => length 39 is less than the headers of this packet: write 40 or more
2 explain --policy absent 2001:db8::1 proto 44 => this protocol is an extension header of IPv6: name the protocol after it
1 explain --policy absent 192.0.2.1 => absent: No such file or directory, and no policy of that name ($NAMES)
1 explain --policy absent.policy 192.0.2.1 => absent.policy: No such file or directory
1 explain --policy ./dns 192.0.2.1 => ./dns: No such file or directory
2 source list --banned --limited => source list: --banned and --limited exclude each other: leave out both for both
2 source list --banned --seconds 2 => source list: --seconds applies only to limits: leave out --banned
2 source forgive 192.0.2.0/24 => '192.0.2.0/24' is a prefix: use an address, or \`rlctl rule list 192.0.2.0/24\`
2 simulate - - => simulate: standard input cannot be both policy and capture: use a file for one of them
2 suggest x.pcap => suggest: unexpected argument 'x.pcap': write --capture x.pcap, or -i x.pcap for a device
2 suggest --capture x -i lo => suggest: --capture and -i exclude each other: leave one out
2 suggest --capture x --headroom 0.5 => invalid --headroom '0.5': use a factor from 1 to 100, such as 1.5
2 suggest --capture x --headroom 2. => invalid --headroom '2.': use a factor from 1 to 100, such as 1.5
2 suggest --capture x --headroom 101 => invalid --headroom '101': use a factor from 1 to 100, such as 1.5
2 suggest --capture x --headroom 1.234 => invalid --headroom '1.234': use a factor from 1 to 100, such as 1.5
2 suggest --capture x --for 10m => suggest: --for applies only to a device: leave it out
2 suggest --capture x --rate 9 => suggest: --rate applies only to a device: leave it out
2 suggest --local 192.0.2.1 => suggest: --local applies only to --capture: leave it out
2 suggest --for 14s => invalid --for '14s': use a time from 15s to 7d, such as 10m
2 suggest --for 10 => invalid --for '10': use a time from 15s to 7d, such as 10m
1 suggest --capture absent => absent: No such file or directory
2 monitor --reason over,late => invalid --reason 'late': use one or more of these, separated by commas: allowed within unmatched non-ip shadow established denied over banned malformed no-room challenged truncated
2 monitor --prefix 192.0.2.1/24 => invalid --prefix '192.0.2.1/24': write 192.0.2.0/24
2 monitor --prefix localhost => invalid --prefix 'localhost': use an IPv4 or IPv6 address, with /LEN for a prefix
2 monitor -j -w - => monitor: --write and --json exclude each other: leave one out
2 top --seconds 2 => top: --seconds applies only to --once and --json: add one of them
2 top --prefix 192.0.2.1/24 => invalid --prefix '192.0.2.1/24': use an IPv4 or IPv6 address, with /LEN for a prefix whose host bits are zero
1 top -n 1 => -n 1: No such file or directory: -n names a network namespace; \`rlctl top --once\` shows one screen
1 -n nosuch status => -n nosuch: No such file or directory: \`ip netns list\` lists the namespaces
1 top => top: not a terminal: use --once for one snapshot, or -j for JSON
2 stats --prometheus --watch => stats: --prometheus and --watch exclude each other: leave one out
2 stats --prometheus --since f => stats: --prometheus and --since exclude each other: leave one out
2 stats --watch --since f => stats: --watch and --since exclude each other: leave one out
2 stats --sort name => invalid --sort 'name': use dropped|passed|bytes|rule
1 stats --since absent => absent: No such file or directory
1 stats --since policy => policy: not a document of \`rlctl stats -j\`
2 exporter --listen :9754 => invalid --listen ':9754': use a numeric ADDRESS:PORT or [ADDRESS]:PORT, such as 127.0.0.1:9754 or [::1]:9754; 0.0.0.0 and [::] listen on all addresses
2 fleet join => fleet join: missing Redis URL: use --redis URL, --redis @FILE or RLCTL_REDIS_URL
2 fleet join --redis redis://h => fleet join: missing fleet name: use --name FLEET
2 fleet join --redis redis://:secret@h --name f => --redis: every user can read a password on the command line: put the URL into a file (--redis @FILE) or into RLCTL_REDIS_URL
1 fleet join --redis @empty => --redis @empty: empty file
2 fleet join --redis redis://h --name a/b => invalid --name 'a/b': use up to 63 letters, digits and ._:-
2 fleet join --redis redis://h --name f --interval 1s => invalid --interval '1s': use a time from 5ms to 500ms
2 fleet join --redis redis://h --name f --members 0 => invalid --members '0': use a number from 1 to 1000
1 apply --check . => .: Is a directory: name a file
1 apply --check absent => absent: No such file or directory, and no policy of that name ($NAMES)
1 policies absent => absent: is not the name of a policy ($NAMES)
2 policies dns web => policies: unexpected argument 'web': \`rlctl policies [POLICY]\`
1 apply --check /dev/zero => /dev/zero: not a file but a device: name a file, or - for standard input
2 rule add -i va,b/c any deny => invalid device name 'va,b/c': \`ip link\` lists the devices
2 rule add => rule add: missing argument: \`rlctl rule add PREFIX [MATCH] ACTION\`
2 rule add -f policy any deny => rule add: unexpected argument 'any' beside --file: leave one of them out
2 rule add --if-exists any deny => rule add: unsupported option --if-exists (\`rlctl help rule add\` lists the options)
1 rule add -f absent => absent: No such file or directory, and no policy of that name ($NAMES)
1 doctor nosuch0 => no such device: nosuch0 (\`ip link\` lists the devices)
1 attach 'nosuch*' => nosuch*: no device matches: \`ip link\` lists the devices
1 attach nosuch0,nosuch1 => no such device: nosuch0 (\`ip link\` lists the devices)
2 attach 'v*' --try 1m --or-apply --policy p => attach: with several devices --try and --or-apply exclude each other: leave --or-apply out, and use \`rlctl apply -i 'v*' --try\` for those that are attached
2 attach 'v*' --or-apply --policy p --last f => attach: --last takes only one device, not 'v*': leave it out
2 attach nosuch0 --hook xdp --direction to => --direction and --hook exclude each other: leave one out
2 show --direction out => invalid --direction 'out': use from|to
2 attach nosuch0 --follow --try 1m => attach: --follow and --try exclude each other, for a device that comes later would have no trial: leave one out
2 attach 'v*' --follow --replace => attach: --follow and --replace exclude each other: leave one out
2 monitor -i veth0,veth1,veth2 => monitor: takes only one device, not 'veth0,veth1,veth2': \`ip link\` lists them
1 attach nosuch0 => no such device: nosuch0 (\`ip link\` lists the devices)
END
else
	skip 'wrong command lines' no user namespace for a user without privilege
fi

rows policy <<END
1 set x mmdb /etc/passwd asn AS64496 => stdin:1:28: "AS64496" is not a list of AS numbers: write numbers such as 64496 or 64496,64511
1 set x file list.txt => stdin:1:12: "list.txt" is not the path of a file from / on, for example /etc/rlctl/badguys.txt
1 rul any deny => stdin:1:1: "rul" is not a statement: begin the line with rule, set or alarm, for example "rule any limit 1000/second"
1 rule any limit 1000 => stdin:1:16: "1000" has no period: write 1000/second
1 rule any limit 10mbps => stdin:1:16: "10mbps" is ambiguous (bits or bytes): write 10mbit/second or 10mbyte/second
1 rule 192.0.2.7/24 deny => stdin:1:6: "192.0.2.7/24" has host bits set: write 192.0.2.0/24
1 rule any tcp dport 70000 deny => stdin:1:20: "70000" is out of range: write ports from 0 to 65535
1 rule any udp syn deny => stdin:1:14: "syn" is a TCP flag, which protocol 17 does not have: write tcp
1 rule any limit 10/second over => stdin:1:30: "over" must be followed by an action for packets over the limit: write drop, drop unless established, ban DURATION, count, mark N, challenge or truncate
1 rule any limit 10/second per host => stdin:1:30: "host" is not a key: write source, dest, sport, dport, proto or vlan, several joined as in dest+dport, or flow or rule
1 rule any limit warm-up 10/second => stdin:1:33: "10/second" must be followed by a ramp: write for example ramp 30s
1 rule any deny for -1s => stdin:1:19: "-1s" is not a duration: write for example 30s, 10m or 1h, or leave out "for" for a permanent rule
1 rule any drop => stdin:1:10: unknown action "drop": did you mean deny?
1 rule any http allow => stdin:1:10: unknown match "http": did you mean tcp dport http?
1 rule all deny => stdin:1:6: unknown prefix "all": did you mean any?
1 rule any tcp dport 53,80-79 deny => stdin:1:23: "80-79" is a descending range: write 79-80
1 rule any udp dport ssh deny => stdin:1:20: "ssh" is a service of tcp, not of udp: write tcp, or the number 22
1 rule any limit 0/second => stdin:1:16: "0/second" lets nothing pass: write "rule any deny"
1 rule 300.1.1.1 deny => stdin:1:6: "300.1.1.1" is not an IPv4 address: 300 is more than 255
1 rule any tcp tcp deny => stdin:1:14: "tcp" repeats an earlier word of the same kind: remove one of the two
END

# places: LINE:COLUMN of the errors on standard error, then its last line.
places() { sed -nE 's/^rlctl: wrong:([0-9]+:[0-9]+): .*/\1/p; $p' "$TMP/stderr" | xargs; }

wrong_rows() { # WANTED CMD…
	expect_status 1 "${@:2}" 2>"$TMP/stderr" && is "$(places)" "$1"
}

# Every error of a policy is reported, by each verb that reads one; at most 20.
test_all_errors() {
	printf 'rule any dny\n\nrule any deny\n rul\nrule any limit 9/second per me\n' >wrong
	wrong_rows '1:10 4:2 5:29 rlctl: wrong: 3 errors' "$RLCTL" apply --check wrong &&
		wrong_rows '1:10 4:2 5:29 rlctl: wrong: 3 errors' capable "$RLCTL" simulate wrong absent &&
		yes rul | head -27 >wrong &&
		wrong_rows "$(seq -f %.0f:1 20 | xargs) rlctl: wrong: 27 errors" "$RLCTL" apply --check wrong
}

# Words, names that nothing defines, and rules that only together are one too many. A name that has an error of its own, or that an
# include might have defined which is not there, is no second error, nor are the rules that use it.
test_kinds_of_errors() {
	{
		printf 'rule any udp bogus deny\nrule @nowhere deny\nrule @here deny while never\nset here max 0\nrule any deny while odd\nalarm odd\n'
		for key in source dest sport dport flow rule source+dport source+dest source+sport; do echo "rule any limit 9/second per $key"; done
		echo 'rule @there limit sliding-log 9999/second'
	} >wrong
	wrong_rows "1:14 2:6 3:23 4:14 6:10 $(seq -f %.0f:1 7 15 | xargs) 16:6 16:31 rlctl: wrong: 16 errors" "$RLCTL" apply --check wrong &&
		{ cat wrong && echo 'include none'; } >longer && mv longer wrong &&
		wrong_rows "1:14 4:14 6:10 $(seq -f %.0f:1 7 15 | xargs) 16:31 17:9 rlctl: wrong: 14 errors" "$RLCTL" apply --check wrong
}

# An error in a line hides no other; what the line would define counts as named.
test_errors_behind_errors() {
	cat >wrong <<'EOF'
set here evry 5m file /none max 0x
alarm odd when src @p over 9
sett there
rule @here dny # src @q
rule @y dny while odd
rule any dport 99999 src @z filter "tcp prt 5" deny while never
rule any while Bad! deny src @there
rul @y
rule any src y @y filter "tcp
rule @y deny
EOF
	wrong_rows '1:10 2:20 2:28 3:1 4:12 5:6 5:9 6:16 6:26 6:37 6:59 7:10 7:16 8:1 8:5 9:14 9:16 9:26 10:6 rlctl: wrong: 19 errors' \
		"$RLCTL" apply --check wrong &&
		has 'warning: set here: /none: No such file or directory: it would have no members' cat "$TMP/stderr" &&
		printf '\xef\xbb\xbfset a\nrule @a deny\nrule @b dny\n' >wrong &&
		wrong_rows '1:1 3:6 3:9 rlctl: wrong: 3 errors' "$RLCTL" apply --check wrong &&
		{ seq -f 'set s%.0f' 65 && printf 'rule @s65 deny\nrule @s66 deny\n'; } >wrong &&
		wrong_rows '65:5 67:6 rlctl: wrong: 2 errors' "$RLCTL" apply --check wrong
}

t 'all errors of a policy' test_all_errors
t 'errors behind errors' test_errors_behind_errors
t 'errors of several kinds' test_kinds_of_errors

rows nobody <<END
1 attach nosuch0 => attach: missing capabilities: CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON: run it as root (sudo)
1 detach nosuch0 => detach: missing capabilities: CAP_NET_ADMIN, CAP_SYS_ADMIN: run it as root (sudo)
1 rule add any deny => rule add: missing capabilities: CAP_BPF: run it as root (sudo)
1 monitor => monitor: missing capabilities: CAP_BPF: run it as root (sudo)
1 -n nosuch show => show: missing capabilities: CAP_SYS_ADMIN: run it as root (sudo)
END

# ---- the style of all messages

mapfile -t SOURCES < <(find "$TOP/user" -name '*.c' | sort)

test_style() { python3 "$FORMATS" "${SOURCES[@]}"; }

# So that a function that is renamed does not leave the rule without messages.
test_messages_found() { between "$(python3 "$FORMATS" "${SOURCES[@]}")" 250 2000; }

# bad MESSAGE…: every one of them is found.
test_bad() {
	local message
	for message in "$@"; do
		printf 'int f(void)\n{\n\treturn fail("%%s: %s", "x");\n}\n' "$message" >"$TMP/bad.c"
		expect_status 1 python3 "$FORMATS" "$TMP/bad.c" || _say "not refused: $message" || return
	done
}

# Text in a comment is not a message, and a good message passes.
test_good() {
	cat >"$TMP/good.c" <<-'END'
		/* fail("what it has not.") */
		int f(void) { return fail("%s: no such device: " "`ip link` lists the devices", name); }
	END
	is "$(python3 "$FORMATS" "$TMP/good.c")" 1
}

t 'style of all messages' test_style
t 'the messages are found' test_messages_found
t 'a bad message is found' test_bad 'of what it is' 'what is it' 'It ends.' 'this process has not X' \
	'there is no verb' 'it is none' 'dead for want of X' 'what about it' 'needs X behind it' 'case matters not'
t 'a good message passes' test_good
t 'a wrong answer is found' expect_fail command_row status\ a\ b '2 status: unexpected argument'
t 'a wrong exit status is found' expect_fail command_row 'status a b' \
	"1 status: unexpected argument 'b': \`rlctl status [DEV]\`"
