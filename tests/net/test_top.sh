#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl top against known traffic: one picture as text and as JSON, by source, destination and rule, and the live
# one in a terminal: views, sort, filter, pause, forgive, deny, resize, colours, devices, its end. check: processor
source "$(dirname "$0")/../lib.sh"

SECONDS_MAX=900 # of the traffic; it ends with the test

policy() {
	cat <<-'END'
	rule 10.78.0.0/16 deny
	rule 10.79.0.0/16 limit 100/second burst 100
	rule 10.80.0.0/16 limit 1/hour burst 2 over ban 10m
	rule 10.82.0.0/16 deny
	rule fd78::/32 limit 1/hour burst 5
	END
}

# stream RATE ARG…: traffic until the test ends.
stream() { bg flood A --seconds "$SECONDS_MAX" --rate "$1" "${@:2}"; }

picture() { rl B top -j "$@"; }

# within FACTOR GOT WANTED
within() { between "$2" $(($3 / $1)) $(($3 * $1)); }

# source_of ADDRESS FILTER <PICTURE
source_of() { json ".sources[] | select(.source == \"$1\") | $2"; }

test_picture() {
	local p
	p=$(picture --seconds 3) || return # long enough for the rarest to be among the samples
	echo "$p"
	# the two that send least are of a few samples
	is "$(json '[.sources[].source] | .[:2] + (.[2:] | sort) | join(" ")' <<<"$p")" \
		'10.78.0.1 10.79.0.2 10.80.0.3 fd78::/64' || return
	# what the generator sent, and what it came to: the machine may be slow
	within 3 "$(json .dropped.packets_per_second <<<"$p")" 24000 &&
		within 3 "$(source_of 10.78.0.1 .dropped.packets_per_second <<<"$p")" 20000 &&
		within 3 "$(source_of 10.79.0.2 .dropped.packets_per_second <<<"$p")" 3000 &&
		within 3 "$(source_of 10.79.0.2 .dropped.bits_per_second <<<"$p")" $((3000 * 8000)) &&
		within 2 "$(source_of 10.79.0.2 .passed.packets_per_second <<<"$p")" 100 &&
		within 2 "$(json .passed.packets_per_second <<<"$p")" 100 || return
	is "$(source_of 10.78.0.1 '"\(.rule) \(.dport)"' <<<"$p")" '10.78.0.0/16 deny 9' &&
		is "$(source_of fd78::/64 '"\(.remaining) \(.unit)"' <<<"$p")" '0 packets' &&
		between "$(source_of fd78::/64 '.wait_ns / 1000000000 | floor' <<<"$p")" 3300 3600 &&
		between "$(source_of 10.80.0.3 '.ban_ns / 1000000000 | floor' <<<"$p")" 500 600 &&
		json '[.sources[] | select(has("ban_ns"))] | length == 1' <<<"$p"
}

test_text() {
	local text
	text=$(rl B top --once) || return
	echo "$text"
	is "$(grep '^source' <<<"$text" | tr -s ' ')" 'source dropped/s +- bit/s passed/s +- bit/s dport remaining banned for rule' &&
		[[ $(grep -A 1 '^source' <<<"$text" | tail -n 1) == 10.78.0.1\ *10.78.0.0/16\ deny ]] &&
		! grep -q '[^[:print:]]' <<<"$text"
}

test_prefix() {
	local p
	p=$(picture --prefix 10.79.0.0/16) && is "$(json '.sources | length' <<<"$p")" 1 &&
		is "$(json '.sources[0].source' <<<"$p")" 10.79.0.2
}

# row_of NAME ADDRESS FILTER <PICTURE
row_of() { json ".${1}s[] | select(.$1 == \"$2\") | $3"; }

# One source sends to 10.77.0.9, all others to the device's own addresses.
test_by_dest() {
	local p
	p=$(picture --by dest --seconds 3) && echo "$p" && # long enough for the rarest, as above
		is "$(json '[.destinations[].destination] | .[:2] + (.[2:] | sort) | join(" ")' <<<"$p")" \
			'10.77.0.2 10.77.0.9 fd77::2' || return
	within 3 "$(row_of destination 10.77.0.2 .dropped.packets_per_second <<<"$p")" 20000 &&
		within 3 "$(row_of destination 10.77.0.9 .dropped.packets_per_second <<<"$p")" 3000 &&
		within 2 "$(row_of destination 10.77.0.9 .passed.packets_per_second <<<"$p")" 100 &&
		is "$(row_of destination 10.77.0.9 '"\(.dport) \(.rule[:18])"' <<<"$p")" '53 10.79.0.0/16 limit' &&
		json '(has("sources") | not) and all(.destinations[]; .dropped | has("packets_per_second_error"))' <<<"$p" &&
		is "$(picture --by dest --prefix 10.77.0.9/32 | json '[.destinations[].destination] | join(" ")')" 10.77.0.9
}

# A source alone has a rule of its own: not one packet more or less than the limiter counted, for a busy machine loses
# some before it, and rates that are these over the window.
test_by_rule() {
	local counted
	picture --by rule --seconds 3 >"$TMP/rules" &
	eventually 10 watchers veth-B-xdp 1 && flood A --count 500 --size 100 --src 10.82.0.1 >/dev/null && wait $! || return
	cat "$TMP/rules"
	counted=$(rule_stat B 10.82.0.0/16 .dropped.packets) && between "$counted" 250 500 || return
	is "$(json '.rules | length' <"$TMP/rules")" 5 && is "$(json '.rules[0].rule' <"$TMP/rules")" '10.78.0.0/16 deny' &&
		is "$(row_of rule '10.82.0.0/16 deny' '"\(.dropped.packets) \(.dropped.bytes) \(.passed.packets)"' <"$TMP/rules")" \
			"$counted $((counted * 100)) 0" || return
	# shellcheck disable=SC2016 # jq's
	json '.window_ns as $ns | all(.rules[].dropped, .rules[].passed; (.packets * 1e9 / $ns | floor) == .packets_per_second)
			and (has("lost") | not)' <"$TMP/rules" &&
		json '[.rules[].dropped.packets_per_second] | . == (sort | reverse)' <"$TMP/rules"
}

test_text_views() {
	local text
	text=$(rl B top --once --by dest) && echo "$text" && grep -q '^[0-9]* destinations in samples of' <<<"$text" &&
		is "$(grep '^destination' <<<"$text" | tr -s ' ')" 'destination dropped/s +- bit/s passed/s +- bit/s dport rule' || return
	text=$(rl B top --once --by rule) && echo "$text" && grep -qx '4 of 5 rules counted packets: their rates are exact' <<<"$text" &&
		is "$(grep '^ *dropped/s' <<<"$text" | tr -s ' ')" 'dropped/s bit/s passed/s bit/s rule' &&
		grep -A 1 '^ *dropped/s' <<<"$text" | grep -q ' 10.78.0.0/16 deny$'
}

# Both have all their samples.
test_beside_monitor() {
	local lines
	rl B monitor -j --seconds 2 --rate 100 --prefix 10.79.0.2 >"$TMP/lines" &
	picture >"$TMP/picture" && cat "$TMP/picture" && wait $! || return
	json '[.sources[].source] | contains(["10.78.0.1", "10.79.0.2"])' <"$TMP/picture" || return
	lines=$(wc -l <"$TMP/lines")
	between "$lines" 50 220 && json -s 'all(.[]; .source == "10.79.0.2")' <"$TMP/lines"
}

test_quiet_device() {
	rl B top -j --prefix 10.99.0.0/16 | json '.sources == []'
}

# ---- in a terminal

TERMINALS=0
_tmux() { env -u TMUX tmux -S "$TMP/tmux-$TERMINALS" -f /dev/null "$@"; }

# live [OPTION-OF-ENV]: top in a terminal of 110 by 24, and its last line. A tmux server of its own, since the
# previous one may still be about to end.
live() {
	_tmux kill-server 2>/dev/null
	TERMINALS=$((TERMINALS + 1))
	_tmux new-session -d -x 110 -y 24 "env ${1:-A=1} TERM=screen-256color LANG=C.UTF-8 LC_ALL=C.UTF-8 $RLCTL -n $(ns B) top; echo ended \$?; sleep 60"
	eventually 10 screen_has 'fd78::/64'
}

screen() { _tmux capture-pane -p; }
screen_has() { screen | grep -qE -- "$1" || { screen && return 1; }; }
screen_lacks() { ! screen | grep -qE -- "$1" || { screen && return 1; }; }
press() { _tmux send-keys "$@"; }

# column N LINE: the N-th word of a line.
first_source() { screen | awk '/^source/ { getline; print $1 }'; }
first_is() { is "$(first_source)" "$1"; }

test_sort() {
	live && first_is 10.78.0.1 && press b && eventually 5 first_is 10.79.0.2 && screen_has 'by bits' &&
		press a && eventually 5 screen_has 'by address' && first_is 10.78.0.1 &&
		press p && eventually 5 screen_has 'by passed' && eventually 5 first_is 10.79.0.2 &&
		press d && eventually 5 first_is 10.78.0.1
}

# Rows of another view are there at once, also while it pauses; each view keeps its prefix.
test_views() {
	press 2 && eventually 5 screen_has '^destination +dropped/s' && first_row_is 10.77.0.2 && screen_has 'destinations by dropped' &&
		press x && eventually 5 screen_has 'deny the destination with .rlctl rule add any dst ADDRESS deny. *$' &&
		press f && eventually 5 screen_has 'press 1 for the sources' &&
		press / && eventually 5 screen_has 'only destinations in' && press -l 10.77.0.9 && press Enter &&
		eventually 5 first_row_is 10.77.0.9 && press r && eventually 5 screen_has '^10.77.0.9: 10.79.0.0/16 limit' || return
	press Space && eventually 5 screen_has PAUSED && press 3 && eventually 5 screen_has '^ *[1-9][0-9.]*k .* 10.78.0.0/16 deny$' &&
		screen_has 'rules by dropped' && screen_has '4 of 5 rules' && press a && eventually 5 screen_has 'rules by prefix' &&
		press r && eventually 5 screen_has '^10.78.0.0/16 deny$' && press / && eventually 5 screen_has 'a prefix is of addresses' &&
		press x && eventually 5 screen_has 'addresses are denied' && press d && press Space && eventually 5 screen_lacks PAUSED || return
	press Tab && eventually 5 screen_has '^share +pattern' && press Tab && eventually 5 first_is 10.78.0.1 && screen_lacks 10.77.0.9 && press Tab && eventually 5 screen_has 'in 10.77.0.9' &&
		press 1 && eventually 5 first_is 10.78.0.1
}
first_row_is() { is "$(screen | awk '/^destination/ { getline; print $1 }')" "$1"; }

test_filter() {
	press / && eventually 5 screen_has 'only sources in' && press -l 10.79.0.0/16 && press Enter &&
		eventually 5 first_is 10.79.0.2 && screen_has 'in 10.79.0.0/16' && screen_lacks '10\.78\.0\.1' &&
		press / && press -l nonsense && press Enter && eventually 5 screen_has "invalid prefix 'nonsense'" &&
		screen_has 'in 10.79.0.0/16' && press / && press Escape && press / && press Enter &&
		eventually 5 first_is 10.78.0.1
}

head_line() { screen | sed -n 2,9p; }
moves() { [[ $(head_line) != "$1" ]]; }

test_pause() {
	local before
	press Space && eventually 5 screen_has PAUSED && before=$(head_line) || return
	# another watcher meanwhile looks on for a second, which is when the picture would change
	picture >"$TMP/picture" && is "$(head_line)" "$before" && press Space && eventually 5 screen_lacks PAUSED &&
		eventually 5 moves "$before"
}

banned_passed() { rule_stat B 10.80.0.0/16 .passed.packets; }

test_forgive() {
	is "$(banned_passed)" 2 && press a && press Down && press Down &&
		press f && eventually 5 screen_has 'Forget the states and bans of 10.80.0.3\? \[y/N\]' &&
		press n && eventually 5 screen_lacks Forget && is "$(banned_passed)" 2 &&
		press f && eventually 5 screen_has 'Forget .* 10.80.0.3' && press y &&
		eventually 5 screen_has 'forgave 10.80.0.3' && eventually 5 forgiven
}
forgiven() { is "$(banned_passed)" 4; }
is_banned() { is "$(banned_passed)" 2; }

# The longest rule is whole with r, and shortened in its middle without.
test_80_columns() {
	_tmux resize-window -x 80 -y 24 && press a && eventually 5 screen_has '^source +dropped/s +\+- .*passed/s .*banned for +rule' &&
		eventually 5 screen_has '10.80.0.3 .* 10.80.0.0/1.*….*10m$' && press Down && press Down && press r &&
		eventually 5 screen_has '^10.80.0.3: 10.80.0.0/16 limit 1/hour burst 2 over ban 10m$' &&
		press h && eventually 5 screen_has '^r +show the whole rule' && press Escape && eventually 5 screen_has '^q quit' &&
		_tmux resize-window -x 110 -y 24 && press d && eventually 5 first_is 10.78.0.1
}

# No line ends in the middle of a word, and no column is empty.
test_60_columns() {
	_tmux resize-window -x 60 -y 24 && eventually 5 screen_has '^source +dropped/s +\+- +(passed/s +)?(banned for +)?rule' &&
		screen_has '^dropped [0-9,]+ packets/s, passed [0-9,]+ packets/s$' && screen_has '^q quit .* h help$' &&
		screen_has '^dropped/s .*at most [0-9.]+k$' && _tmux resize-window -x 110 -y 24 && eventually 5 screen_has 'dport +remaining'
}

rules_of() { rl B rule list -q "$1"; }

# The second by address, with the time that is offered or another.
test_deny() {
	press a && press Down && press x && eventually 5 screen_has '^deny 10.79.0.2 for .*: 10m$' && press Escape &&
		eventually 5 screen_has '^q quit' && is "$(rules_of 10.79.0.2)" '' &&
		press x && eventually 5 screen_has '^deny ' && press BSpace && press h && press Enter &&
		eventually 5 screen_has '^rlctl rule add -i veth-B 10.79.0.2 deny for 10h' &&
		has '10.79.0.2 deny for ' rules_of 10.79.0.2 && rl B rule del 10.79.0.2 deny &&
		press x && press -l nonsense && press Enter && eventually 5 screen_has "deny for nonsense" && screen_lacks 10mnonsense && is "$(rules_of 10.79.0.2)" ''
}

# The session's own address: the guard refuses, and nothing is changed.
test_deny_guarded() {
	live "SSH_CONNECTION='10.79.0.2 50000 10.77.0.2 22'" && press a && press Down && press x &&
		eventually 5 screen_has '^deny 10.79.0.2' && press Enter && eventually 5 screen_has 'this may lock you out' &&
		is "$(rules_of 10.79.0.2)" ''
}

# Another device is attached; -i is not given.
test_next() {
	in_ns B ip link add zeta type veth peer name zeta-peer && rl B attach zeta && live && press n &&
		eventually 5 screen_has '^zeta xdp' && is "$(rl B top --once -i all | grep -c '\<zeta xdp')" 1 && press n && eventually 5 screen_has '^veth-B xdp' &&
		json 'map(.device) == ["veth-B", "zeta"]' <<<"$(rl B top -j -i all)" &&
		press q && eventually 5 screen_has 'ended 0' && rl B detach zeta
}

# The only device stays, with its history.
test_next_alone() {
	live && press n && eventually 5 screen_has 'no other device to show' && screen_has '^veth-B xdp' && press q &&
		eventually 5 screen_has 'ended 0'
}

test_resize() {
	press a && _tmux resize-window -x 50 -y 9 && eventually 5 narrow && _tmux resize-window -x 30 -y 2 &&
		eventually 5 tiny && _tmux resize-window -x 110 -y 24 && eventually 5 screen_has 'fd78::/64 .*limit 1/hour burst 5'
}

narrow() { screen_has '^source' && screen_has 10.78.0.1 && is "$(screen | wc -l)" 9 && screen_has '^q quit'; }
tiny() { is "$(screen | wc -l)" 2 && screen_has '^q quit'; }

# top is not notified of the new size.
test_resize_untold() { live --block-signal=WINCH && test_resize; }

test_quit() { press q && eventually 5 screen_has 'ended 0' && screen_lacks '^source'; }

test_interrupted() { live && press C-c && eventually 5 screen_has 'ended 0'; }

coloured() { _tmux capture-pane -p -e | grep -q $'\e\\[3[13]m'; }

test_colours() {
	live && eventually 5 coloured && live NO_COLOR=1 && ! coloured && press q && eventually 5 screen_has 'ended 0'
}

test_detached() {
	live && rl B detach veth-B && eventually 15 screen_has 'no longer attached' && eventually 15 screen_has 'ended 0'
}

test_no_terminal() { has 'not a terminal' refused; }
refused() { ! rl B top </dev/null; }

cleanup() {
	_tmux kill-server 2>/dev/null
	_cleanup
}
trap cleanup EXIT

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on &&
	policy >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" || exit 1
t 'nobody sends' test_quiet_device
stream 20000 --src 10.78.0.1
stream 3000 --src 10.79.0.2 --size 1000 --dst 10.77.0.9 --dport 53
stream 300 --src 10.80.0.3
stream 300 --src fd78::1 # some 38 samples in three seconds; eight bear a rate
eventually 5 is_banned || exit 1
t 'a picture as JSON' test_picture
t 'a picture as text' test_text
t 'by destination' test_by_dest
t 'by rule, exactly' test_by_rule
t 'these as text' test_text_views
t 'a prefix' test_prefix
t 'beside a monitor' test_beside_monitor
t 'no terminal' test_no_terminal
t 'no such prefix' expect_status 2 rl B top -j --prefix 10.0.0.1/8
t 'a prefix of rules' has 'leave one out' expect_status 2 rl B top -j --by rule --prefix 10.0.0.0/8
t 'no such view' has 'use source|dest|rule|pattern' expect_status 2 rl B top -j --by port
t 'attach has no view by rule' has 'use source|dest' expect_status 2 rl B attach veth-B --by rule
t 'seconds without once' expect_status 2 rl B top --seconds 3
t 'sort' test_sort
t 'views' test_views
t 'filter' test_filter
t 'pause' test_pause
t 'forgive' test_forgive
t 'at 80 columns' test_80_columns
t 'at 60 columns' test_60_columns
t 'resize' test_resize
t 'resize without a signal' test_resize_untold
t 'deny' test_deny
t 'deny is guarded' test_deny_guarded
t 'quit' test_quit
t 'SIGINT' test_interrupted
t 'colours' test_colours
t 'no next device' test_next_alone
t 'the next device' test_next
t 'it ends with the instance' test_detached
