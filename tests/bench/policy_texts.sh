# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The whole policies that policies.sh floods and whose instructions a guest counts, as texts that refuse nearly every packet
# of a flood. Sourced in the top folder.
# shellcheck disable=SC2034 # for those that source it
REFUSE='limit 1/second burst 1'

# quick_start LIMIT: README's.
quick_start() {
	printf 'rule %s\n' '203.0.113.7 allow' "any $1 over drop unless established" \
		'any tcp established limit 1m/second per flow' 'device new-source not established limit 10000/second'
}

# refusing FILE: one of policies/, whose limits of each source refuse a second packet, as in the others: with its own
# numbers, what is admitted would be measured. Those of the device and of each flow stay.
refusing() { sed -E "/ per flow|^rule device/!s#limit [^ ]+ burst [^ ]+#$REFUSE#" "policies/$1.policy"; }

port_alarm() { # DPORTS
	echo "alarm ports when udp dport $1 over 20k/second for 1s until under 5000/second for 2s"
}

port_rules() { # N
	local i
	for ((i = 0; i < $1; i++)); do
		echo "rule any udp dport $((1000 + i)) $REFUSE"
	done
}

# NAME: its text, and the port of its flood if that is not one that no rule names.
declare -A TEXT=() DPORT=()
NAMES=()
policy_add() { # NAME TEXT [DPORT]
	[[ -n $2 ]] || exit 1
	NAMES+=("$1")
	TEXT[$1]=$2
	DPORT[$1]=${3:-9}
}
QUICK=$(quick_start "$REFUSE")
policy_add plain "rule any $REFUSE"
policy_add plain-new "rule any $REFUSE"$'\n''rule device new-source limit 10000/second'
policy_add udp "rule any udp $REFUSE"
policy_add udp-port "rule any udp dport 7-99 $REFUSE"
policy_add quick-start "$QUICK"
policy_add web "$(refusing web)"
policy_add web-port "$(refusing web)" 443
policy_add game-alarm "$(port_alarm 27960-27970 && refusing quake)"
policy_add game-alarm-port "$(port_alarm 27960-27970 && refusing quake)" 27960
policy_add ports-256 "$QUICK"$'\n'"$(port_rules 256)"
policy_add ports-256-port "$QUICK"$'\n'"$(port_rules 256)" 1100
policy_add set-million $'set bad max 2000000\n'"$QUICK"$'\nrule @bad deny'
policy_add filter "$QUICK"$'\n''rule any filter "udp port 53 and greater 500" deny'
policy_add readme "$(quick_start 'limit 1000/second burst 2000')"
policy_add unless 'rule any limit 1000/second burst 2000 over drop unless established'
