#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# scripts/tenants: the rules of a table of customers, and what it says of tables that are wrong.
source "$(dirname "$0")/../lib.sh"

HEADER=name,prefixes,down,up
SHAPED='Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment'

# shellcheck disable=SC2086 # options
tenants() { printf '%s\n' "${@:2}" | "$TOP/scripts/tenants" $1 -; }

# made DIRECTION WANTED LINE…: these rules, and they are a policy.
made() {
	local rules
	rules=$(tenants "$1" "${@:3}") && is "$rules" "$2" && "$RLCTL" apply --check - <<<"$rules"
}

# wrong TEXT LINE…: nothing is printed but that.
wrong() {
	local out
	out=$(tenants --down "${@:2}" 2>"$TMP/said") && return 1
	is "$out" '' && { grep -qF -- "$1" "$TMP/said" || _say "said '$(cat "$TMP/said")', wanted '$1'"; }
}

THREE=("$HEADER" '# ours' '17,192.0.2.0/28 2001:db8:17::/48,100mbit,20mbit' 'miller,198.51.100.7/32,50mbit 20000/second,' '')

t 'what customers receive' made --down 'rule 192.0.2.0/28 limit 100mbit per account 17
rule 2001:db8:17::/48 limit 100mbit per account 17
rule 198.51.100.7 limit 50mbit per account 121003286 # miller
rule 198.51.100.7 limit 20000/second per account 121003286 # miller' "${THREE[@]}"
t 'what they send' made --up 'rule 192.0.2.0/28 limit 20mbit per account 17
rule 2001:db8:17::/48 limit 20mbit per account 17' "${THREE[@]}"
t 'other order and case of columns' made --up 'rule 192.0.2.1 limit 1mbit per account 1' 'UP,Down,Name,Prefixes' '1mbit,2mbit,1,192.0.2.1'
t 'a spelling of a prefix that is not canonical' made --down 'rule 2001:db8::/48 limit 1mbit per account 1' "$HEADER" '1,2001:DB8:0:0::/48,1mbit,'
t 'ShapedDevices.csv, two devices of a circuit' made --down 'rule 100.64.0.1 limit 155mbit per account 7
rule 2001:db8:7::/56 limit 155mbit per account 7
rule 100.64.0.2 limit 155mbit per account 7
rule 100.64.1.0/30 limit 2500kbit per account 8' "$SHAPED" \
	'"7","968 Circle St., Gurnee, IL","1","Device 1","AP_A","","100.64.0.1","2001:db8:7::/56","25","5","155","20",""' \
	'"7","968 Circle St., Gurnee, IL","2","Device 2","AP_A","","100.64.0.2","","25","5","155","20",""' \
	'"8","8 Road","3","Device 3","AP_A","","100.64.1.0/30","","1","1","2.5","1",""'

DEVICES=('name,devices,down,prefixes,up' '17,tap7 tap8,100mbit 9/second,192.0.2.0/28,20mbit' 'miller,tap9,1mbit,,')
t 'a device of a customer' made '--down --device tap8' 'rule device limit 100mbit per account 17
rule device limit 9/second per account 17' "${DEVICES[@]}"
t 'what another one sends: no limit' made '--up --device tap9' '' "${DEVICES[@]}"
t 'prefixes beside devices' made --down 'rule 192.0.2.0/28 limit 100mbit per account 17
rule 192.0.2.0/28 limit 9/second per account 17' "${DEVICES[@]}"
no_device() { ! tenants "--down --device $1" "${DEVICES[@]}" >"$TMP/out" 2>"$TMP/said" && [[ ! -s $TMP/out ]] && has "$2" cat "$TMP/said"; }
t 'a device of nobody' no_device tap1 'no customer has the device tap1: write it into the column devices'
t 'a prefix is no device' no_device 192.0.2.0/28 'no customer has the device 192.0.2.0/28'
t 'a device in two accounts' wrong 'stdin:3: tap7 is of meier already, in line 2: delete one of them' name,devices,prefixes,down,up \
	'meier,tap7,,1mbit,' 'miller,tap7,,1mbit,'
t 'no name of a device' wrong '"a/b" is not the name of a device' name,devices,prefixes,down,up 'meier,a/b,,1mbit,'

t 'no column' wrong 'the first line has no column name: write name,prefixes,down,up' 'a,b' '1,2'
t 'an empty table' wrong 'the first line has no column name' ''
t 'no name' wrong 'stdin:2: the name is empty' "$HEADER" ',192.0.2.1,1mbit,'
t 'no prefix' wrong 'stdin:2: meier has no prefix and no device: write one, or delete the line' "$HEADER" 'meier,,1mbit,'
t 'two tenants with one prefix' wrong 'stdin:3: 192.0.2.0/28 is of meier already, in line 2: delete one of them' "$HEADER" \
	'meier,192.0.2.0/28,1mbit,' 'miller,192.0.2.0/28,1mbit,'
t 'one prefix twice' wrong 'stdin:2: 192.0.2.1 is of meier already' "$HEADER" 'meier,192.0.2.1 192.0.2.1/32,1mbit,'
t 'a tenant twice' wrong 'stdin:3: meier is in line 2 already: write all of its prefixes there' "$HEADER" 'meier,192.0.2.1,1mbit,' 'meier,192.0.2.2,1mbit,'
t 'two rates of a circuit' wrong 'stdin:3: 7 has other rates in line 2' "$SHAPED" '7,,,,,,192.0.2.1,,,,5,5,' '7,,,,,,192.0.2.2,,,,6,5,'
t 'bits after the length' wrong 'stdin:2: "192.0.2.1/28" has bits after its length: write 192.0.2.0/28' "$HEADER" 'meier,192.0.2.1/28,1mbit,'
for prefix in 192.0.2 192.0.2.0/33 192.0.2.0/-1 192.0.2.0/ 2001:db8::/129 2001:db8::/4_8 eth0 '192.0.2.0/28/2' '192.0.2.0/ 8'; do
	t "prefix $prefix" wrong "is not an address or prefix" "$HEADER" "meier,$prefix,1mbit,"
done
t 'a rate that is a rule' wrong '"per" is not a rate' "$HEADER" 'meier,192.0.2.1,1mbit per rule,'
t 'a rate with a comment' wrong 'is not a rate' "$HEADER" 'meier,192.0.2.1,1mbit#x,'
t 'a name with a line in it' wrong 'characters that cannot be printed' "$HEADER" $'"mei\ner",192.0.2.1,1mbit,'
t 'account 0' wrong '"0" is not the number of an account: write 1 to 268435455' "$HEADER" '0,192.0.2.1,1mbit,'
t 'an account that is too large' wrong 'is not the number of an account' "$HEADER" '268435456,192.0.2.1,1mbit,'
t 'a number and a name of one account' wrong 'have the same account, 121003286' "$HEADER" 'miller,192.0.2.1,1mbit,' '121003286,192.0.2.2,1mbit,'
t 'bytes that are not UTF-8' wrong "stdin: 'utf-8' codec can't decode" "$HEADER" $'meier\xff,192.0.2.1,1mbit,'
t 'no such file' has 'tenants: /nonexistent: No such file' expect_status 1 "$TOP/scripts/tenants" --down /nonexistent
t 'no direction' has 'one of the arguments --down --up is required' expect_status 2 "$TOP/scripts/tenants" /dev/null
many_errors() { wrong '30 errors, of which these are the first' "$HEADER" $(seq -f 'n%g,x,1mbit,' 30); }
t 'many errors' many_errors
