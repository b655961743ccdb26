#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Names from outside that try to control a terminal: of devices, files and namespaces, words of the command
# line and of policies. All output is printable ASCII.
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

CLEAR=$'\e[2J' C1=$'\xc2\x9b' BIDI=$'\xe2\x80\xae'

veth_pair A B || exit 1
ns_mute A
ns_mute B

device_rename() { # FROM TO
	in_ns B ip link set "$1" down && in_ns B ip link set "$1" name "$2" && in_ns B ip link set "$2" up
}

# plain CMD…: whatever its exit status, CMD prints something, and only plain text. Colours and the like are
# for terminals only, and this is not one.
plain() {
	local odd
	"$@" >"$TMP/said" 2>&1 </dev/null
	[[ -s $TMP/said ]] || _say "nothing was said" || return
	odd=$(grep -anP '[^\x20-\x7e\t]' "$TMP/said" | cat -A)
	[[ -z $odd ]] || _say "$odd"
}

# says TEXT CMD…: plain, and TEXT is part of it.
says() {
	local text=$1
	shift
	plain "$@" || return
	grep -qF -- "$text" "$TMP/said" || _say "no '$text' in: $(<"$TMP/said")"
}

# The device name that a reader of the JSON sees.
device_is() { # NAME CMD…
	local name=$1
	shift
	plain "$@" && is "$(json '.[0].device' <"$TMP/said")" "$name"
}

# Every verb, for one device.
verbs() { # LABEL NAME ESCAPED JSON
	local label=$1 device=$2 shown=$3
	t "$label: attach" plain rl B attach -v "$device"
	t "$label: attached, and shown escaped" says "$shown" rl B status
	t "$label: rule add" rl B rule add -i "$device" any udp dport 9 deny
	t "$label: stats" says "$shown" rl B stats "$device"
	t "$label: status as JSON" device_is "$4" rl B status -j
	t "$label: stats as JSON" device_is "$4" rl B stats -j
	t "$label: for Prometheus" says "${shown//\\/\\\\}" rl B stats --prometheus
	t "$label: doctor" says "$shown" rl B doctor "$device"
	t "$label: doctor as JSON" plain rl B doctor -j "$device"
	t "$label: rule list" plain rl B rule list -v -i "$device"
	t "$label: a rule that is not there" plain rl B rule del -i "$device" any tcp
	t "$label: a rule that is none" says '"\x1b[2J" is' rl B rule add -i "$device" any "$CLEAR"
	t "$label: what libraries say" plain rl B -vv stats "$device"
	t "$label: completion leaves it out" completes_without
}

# Those that take a second.
watchers() { # LABEL NAME ESCAPED
	t "$1: top" says "$3" rl B top --once
	t "$1: top as JSON" plain rl B top --once -j
	t "$1: monitor" says "$3" rl B monitor "$2" --seconds 1
}

leave() { # LABEL NAME ESCAPED
	t "$1: detach" rl B detach "$2"
	t "$1: nothing attached" says "$3" rl B show "$2"
}

# Completion offers only the device whose name can be shown: lo.
completes_without() { is "$(rl B complete -- status '' 2>&1 | cat -A)" 'lo$'; }

# A literal ESC; C1 and right-to-left in UTF-8; invalid UTF-8, and quotes.
ODD=("v${CLEAR}x" "v${C1}2J${BIDI}" $'v\x9b\xff"\\x')
device_rename veth-B "${ODD[0]}" || exit 1
verbs "ESC" "${ODD[0]}" 'v\x1b[2Jx' "${ODD[0]}"
watchers "ESC" "${ODD[0]}" 'v\x1b[2Jx'
leave "ESC" "${ODD[0]}" 'v\x1b[2Jx'
device_rename "${ODD[0]}" "${ODD[1]}" || exit 1
verbs "UTF-8" "${ODD[1]}" 'v\xc2\x9b2J\xe2\x80\xae' "${ODD[1]}"
leave "UTF-8" "${ODD[1]}" 'v\xc2\x9b2J\xe2\x80\xae'
device_rename "${ODD[1]}" "${ODD[2]}" || exit 1
verbs "no UTF-8" "${ODD[2]}" 'v\x9b\xff' 'v\x9b\xff"\x'
leave "no UTF-8" "${ODD[2]}" 'v\x9b\xff'

# ---- words and files

mkdir "$TMP/files"
cd "$TMP/files" || exit 1
printf 'rule any %s deny\n' "${CLEAR}${C1}${BIDI}"$'\r\xff' >"p$CLEAR"
printf 'no capture' >"c$CLEAR"
printf 'rule any deny\n' >good

t "file: the line of an error" says 'rule any \x1b[2J' "$RLCTL" apply --check "p$CLEAR"
t "file: its name" says 'p\x1b[2J:1:10' "$RLCTL" apply --check "p$CLEAR"
t "file: one that is not there" says '\x1b[2Jno' "$RLCTL" apply --check "${CLEAR}no"
t "capture: its name" says 'c\x1b[2J' "$RLCTL" simulate good "c$CLEAR"
t "word: a verb" says '\x1b[2J' "$RLCTL" "$CLEAR"
t "word: an option" says '\x1b[2J' "$RLCTL" status "--$CLEAR"
t "word: a letter" plain "$RLCTL" status -$'\e'
t "word: an argument" says '\x1b[2J' "$RLCTL" attach lo --mode "$CLEAR"
t "word: a device" says '\x1b[2J' "$RLCTL" attach "$CLEAR/"
t "word: a namespace" says '\x1b[2J' "$RLCTL" -n "$CLEAR" status
t "word: a bpffs" says '\x1b[2J' "$RLCTL" --bpffs "/$CLEAR" status lo
t "word: an address" says '\x1b[2J' "$RLCTL" source show -i lo "$CLEAR"
t "word: where to listen" says '\x1b[2J' "$RLCTL" exporter --listen "$CLEAR"
t "word: a prefix" says '\x1b[2J' rl B monitor --prefix "$CLEAR"
t "word: a reason" says '\x1b[2J' rl B monitor --reason "$CLEAR"
t "word: of help" says '\x1b[2J' "$RLCTL" help "$CLEAR"
t "word: a shell" says '\x1b[2J' "$RLCTL" completion "$CLEAR"
