#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion: the output of `rlctl complete`, and that the scripts for bash and zsh pass it on. Completion
# from living instances is tested in tests/net/test_completion.sh.
source "$(dirname "$0")/../lib.sh"

RULE_WORDS='device any'
MATCHES='tcp udp icmp icmp6 sctp gre esp proto sport dport src dst syn fragment new-source established flags length ttl dscp payload filter vlan not'
OVERS='drop ban count challenge truncate'
printf 'rule any deny\n' >"$TMP/policy one"

# ---- bash

# As bash does before the call: COMP_WORDS are cut at :, = and @ (by COMP_WORDBREAKS).
bash_words() { # LINE
	local word piece
	COMP_WORDS=() COMP_LINE=$1 COMP_POINT=${#1}
	for word in $1; do
		while read -r piece; do
			COMP_WORDS+=("$piece")
		done < <(grep -oE '[:=@]+|[^:=@]+' <<<"$word")
	done
	[[ $1 != *' ' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}

# The replies to LINE, joined by blanks, in their order.
bash_replies() {
	bash_words "$1"
	_rlctl "$RLCTL" "${COMP_WORDS[COMP_CWORD]}" ''
	echo "${COMPREPLY[*]}"
}

bash_row() { is "$(cd "$TMP" && bash_replies "$1")" "$2"; } # LINE REPLIES

# ---- zsh: the script runs in a zsh whose own completion functions only print their arguments

cat >"$TMP/driver.zsh" <<'END'
compdef() { : }
_files() { print -r -- files ${IPREFIX:-} }
compset() { IPREFIX=${PREFIX%%=*}= }
_describe() { local -a list; list=("${(@P)2}"); print -rl -- "${(@)${(@)list//\\:/;}%%:*}" }
source $1
words=(${(s: :)2}) IPREFIX=
words[1]=$RLCTL
[[ $2 != *' ' ]] || words+=('')
CURRENT=${#words} PREFIX=${words[-1]}
_rlctl
true
END

zsh_replies() {
	RLCTL=$RLCTL zsh -f "$TMP/driver.zsh" "$TMP/zsh" "$1" | tr ';' ':' | paste -sd' '
}

zsh_row() { is "$(zsh_replies "$1")" "$2"; } # LINE REPLIES

# ---- the rows, for both: NAME|LINE|REPLIES; in zsh, whose words are not cut, |REPLIES where they differ

rows() {
	while IFS='|' read -r name line bash_wanted zsh_wanted; do
		t "bash: $name" bash_row "$line" "${bash_wanted//!/|}"
		t "zsh: $name" zsh_row "$line" "${zsh_wanted:-$bash_wanted}"
	done
}

"$RLCTL" completion bash >"$TMP/bash"
# shellcheck source=/dev/null
source "$TMP/bash"
"$RLCTL" completion zsh >"$TMP/zsh"

rows <<END
a verb that has begun|rlctl at|attach
two verbs|rlctl a|attach alarm apply
verbs of a family|rlctl rule |add del get list flush
verbs of a family that have begun|rlctl source f|forgive
no such verb|rlctl nonsense |
options of a verb|rlctl stats --w|--watch
options of every verb|rlctl stats --net|--netns
no options of other verbs|rlctl stats --mo|
no option twice|rlctl attach lo --mode native --mo|
options before the verb|rlctl --j|--json
values of an option|rlctl attach lo --mode |auto native generic
values behind =|rlctl attach lo --table=|hot lru cpu|--table=hot --table=lru --table=cpu
a value behind =, begun|rlctl attach lo --table=l|lru|--table=lru
values of hook before the verb|rlctl --hook |xdp ingress egress
values of by|rlctl attach lo --by |source dest
values of by where there are more|rlctl top --by |source dest rule pattern
a number has no candidates|rlctl attach lo --sources |
a verb behind options with arguments|rlctl -i lo --hook xdp sta|status stats
shells|rlctl completion |bash zsh
verbs for help|rlctl help sour|source
families for help|rlctl help source |show list forgive
prefixes of a rule|rlctl rule add |$RULE_WORDS
matches and actions|rlctl rule add any |$MATCHES allow deny limit
matches of a protocol|rlctl rule add any tcp |sport dport src dst syn fragment new-source established flags length ttl dscp payload filter vlan not allow deny limit
a protocol that has no ports|rlctl rule add any icmp s|src
flags of TCP only|rlctl rule add any udp f|fragment filter
flags|rlctl rule add any tcp flags |fin syn rst psh ack urg ece cwr none
more flags|rlctl rule add any tcp flags syn/syn,a|syn/syn,ack
a code point|rlctl rule add any dscp af4|af41 af42 af43
types of ICMP|rlctl rule add any icmp icmp-type echo|echo-reply echo-request
types of ICMPv6|rlctl rule add any icmp6 icmp-type nd-r|nd-router-solicit nd-router-advert nd-redirect
types of no protocol|rlctl rule add any udp icmp|
numbers of a length|rlctl rule add any length |
no match twice|rlctl rule add any tcp dport 53 d|dst dscp deny
numbers have no candidates|rlctl rule add any tcp dport |
services of a protocol|rlctl rule add any udp dport ntp|ntp
services only where a port may be|rlctl rule add any http|
algorithms|rlctl rule add any limit |token-bucket leaky-bucket fixed-window sliding-window sliding-log warm-up
units of a rate|rlctl rule add any limit 100|100/second 100/minute 100/hour 100/day 100pps 100kbit 100mbit 100gbit
units of a rate, begun|rlctl rule add any limit 100/m|100/minute
no bytes for a log|rlctl rule add any limit sliding-log 10|10/second 10/minute 10/hour 10/day 10pps
options of a token bucket|rlctl rule add any limit 100/second |burst share keep per over fleet for while
options of a leaky bucket|rlctl rule add any limit leaky-bucket 100/second |queue per over fleet for while
options of a warm-up|rlctl rule add any limit warm-up 100/second |burst ramp cold per over fleet for while
no option twice in a rule|rlctl rule add any limit 100/second burst 20 |share keep per over fleet for while
options beside share|rlctl rule add any limit 100/second share |burst per over for while
options beside parts|rlctl rule add any limit 100/second share 50/30/20 |burst per over for while
what shares|rlctl rule add any limit 100/second share per |source dest rule
what follows the amount to keep|rlctl rule add any limit 100/second keep 5 |for
for whom a part is kept|rlctl rule add any limit 100/second keep 5 for |established known
options beside keep|rlctl rule add any limit 100/second keep 5 for known |burst per over for while
keys|rlctl rule add any limit 100/second per |proto sport dport vlan source dest source+dport source+dest flow rule account
keys that begin|rlctl rule add any limit 100/second per source+|source+dport source+dest source+sport source+proto source+vlan
keys that go on|rlctl rule add any limit 100/second per dest/24+dport+|dest/24+dport+source dest/24+dport+sport dest/24+dport+proto dest/24+dport+vlan
behind a key of a port|rlctl rule add any limit 100/second per dport |burst over fleet for while
what may be established|rlctl rule add any tcp syn |sport dport src dst fragment new-source flags length ttl dscp payload filter vlan not allow deny limit
what is negated|rlctl rule add any tcp not |sport dport src dst syn fragment new-source established flags length ttl dscp payload filter vlan
what is spared|rlctl rule add any limit 100/second over drop |burst share keep per fleet for while unless
who is spared|rlctl rule add any limit 100/second over drop unless |established
behind while|rlctl rule add any deny while |not
behind while not|rlctl rule add any deny while not |
behind an alarm|rlctl rule add any limit 100/second while attack b|burst
what is over SYNs|rlctl rule add any syn limit 100/second over |drop ban count challenge
what is over|rlctl rule add any limit 100/second over |$OVERS
how long a ban is|rlctl rule add any limit 100/second over ban 10|10s 10min 10h 10d 10w
what a ban covers|rlctl rule add any limit 100/second over ban 10m s|source
a rule that denies|rlctl rule add any deny |for while
nothing behind what is wrong|rlctl rule add any nonsense |
behind a time|rlctl rule add any deny for 1h |while
nothing behind a whole rule|rlctl rule add any deny for 1h while attack |
IPv6 in a rule|rlctl rule add 2001:db8::/32 udp dport 53 de|deny
IPv6 of a match|rlctl rule add any src 2001:db8::1 icmp6 al|allow
a word too many|rlctl detach lo |
a packet|rlctl explain 192.0.2.1 udp |sport dport src dst fragment new-source established length ttl dscp payload filter vlan not
no length within a match|rlctl explain 192.0.2.1 udp dport |
services of a packet|rlctl explain 192.0.2.1 udp dport ntp|ntp
a length is a number|rlctl explain 192.0.2.1 udp length |
one length|rlctl explain 192.0.2.1 udp length 60 |sport dport src dst fragment new-source established ttl dscp payload filter vlan not
END

# ---- files

: >"$TMP/mine"
NAMES=$(cd "$TOP/policies" && printf '%s\n' *.policy | sed 's/\.policy$//' | paste -sd ' ')
rows <<END
policies by name|rlctl policies |$NAMES
a policy by name, begun|rlctl policies min|minecraft
END
t 'bash: files and names of apply' bash_row 'rlctl apply m' 'minecraft mumble mine'
t 'bash: a name behind =' bash_row 'rlctl attach lo --policy=dn' dns
t 'zsh: files and names of apply' zsh_row 'rlctl apply m' 'minecraft mumble files'
t 'bash: files of apply' bash_row 'rlctl apply pol' 'policy one'
t 'bash: files behind =' bash_row 'rlctl attach lo --policy=pol' 'policy one'
t 'bash: files of simulate' bash_row 'rlctl simulate x pol' 'policy one'
t 'bash: captures of suggest' bash_row 'rlctl suggest --capture pol' 'policy one'
t 'bash: more captures of suggest' bash_row 'rlctl suggest --capture x pol' 'policy one'
t 'zsh: files of apply' zsh_row 'rlctl apply pol' files
t 'zsh: files behind =' zsh_row 'rlctl attach lo --policy=pol' 'files --policy='

# ---- the scripts by themselves

# As a caller does that sets COMP_WORDS alone.
test_words_alone() {
	local COMPREPLY=() COMP_LINE='' COMP_POINT=0 COMP_WORDS=(rlctl rule add any limit wa) COMP_CWORD=5
	_rlctl "$RLCTL" && is "${COMPREPLY[*]}" warm-up
}

# In the middle of a line only what stands before the cursor counts.
test_cursor() {
	bash_words 'rlctl rule a any'
	COMP_POINT=12
	_rlctl "$RLCTL" && is "${COMPREPLY[*]}" add
}

test_registered() {
	has '-F _rlctl rlctl' complete -p rlctl
}

# In an interactive zsh whose completion system is loaded; the file also works from its fpath.
test_zsh_system() {
	mkdir -p "$TMP/functions" && cp "$TMP/zsh" "$TMP/functions/_rlctl" || return
	is "$(zsh -fc "fpath=('$TMP/functions' \$fpath)
		autoload -Uz compinit && compinit -D -u && print \$_comps[rlctl]" </dev/null)" _rlctl &&
		is "$(zsh -fc "autoload -Uz compinit && compinit -D -u && source '$TMP/zsh' &&
			print \$_comps[rlctl]" </dev/null)" _rlctl
}

# Side queries print nothing on stdout, and nothing fails.
test_quiet() {
	local line
	for line in '' '--' '-i' '--hook=' '--nonsense=' '-n nowhere rule add' 'rule add any limit 1/second over ban'; do
		# shellcheck disable=SC2086 # words
		"$RLCTL" complete -- $line >"$TMP/quiet" || return
		! grep -q '^rlctl:' "$TMP/quiet" || return
	done
	"$RLCTL" complete >/dev/null
}

t 'bash: the script has no errors' bash -n "$TMP/bash"
t 'zsh: the script has no errors' zsh -n "$TMP/zsh"
t 'bash: from COMP_WORDS alone' test_words_alone
t 'bash: before the cursor' test_cursor
t 'bash: is registered' test_registered
t 'zsh: is found and registered' test_zsh_system
t 'no shell that is not known' expect_status 2 "$RLCTL" completion csh
t 'complete never fails' test_quiet
t 'complete is not in the usage' expect_fail grep -q '^ *complete ' <("$RLCTL" help)
