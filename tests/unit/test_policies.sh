#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policies that come with rlctl: found by name wherever a policy is read, listed and printed; each says what it is for,
# and is asked about packets. tests/net/test_play.sh and tests/play run them.
source "$(dirname "$0")/../lib.sh"

POLICIES=$TOP/policies
cd "$TMP" || exit 1

names() { (cd "$POLICIES" && printf '%s\n' *.policy) | sed 's/\.policy$//'; }

# checks WORD: the file that `apply --check WORD` reads.
checks() { "$RLCTL" apply --check "$1" 2>&1 | sed -n 's/^rlctl: \(.*\): [0-9]* rules, .*/\1/p'; }

test_list() {
	is "$("$RLCTL" policies | sed 1d | cut -d ' ' -f 1)" "$(names)" && is "$("$RLCTL" policies -j | jq -r '.[].name')" "$(names)" &&
		is "$("$RLCTL" policies -j | jq -r '.[].path' | sort)" "$(ls "$POLICIES"/*)" &&
		is "$("$RLCTL" policies -j | jq -r '.[] | keys | join(" ")' | sort -u)" 'name path title'
}

test_print() {
	local name
	for name in $(names); do
		"$RLCTL" policies "$name" | cmp - "$POLICIES/$name.policy" &&
			"$RLCTL" policies -j "$name" | jq -j .text | cmp - "$POLICIES/$name.policy" || return
	done
}

# The first line of its text, short enough for the list on 80 columns.
test_titles() {
	local name title
	while IFS=$'\t' read -r name title; do
		[[ -n $title && ${#title} -le 68 && $title != SPDX* && $title == "$(sed -n '2s/^# //p' "$POLICIES/$name.policy")" ]] ||
			_say "$name: '$title'" || return
	done < <("$RLCTL" policies -j | jq -r '.[] | [.name, .title] | @tsv')
}

# Each says what a client sends before what was played, and what it stops; docs/policies.md has its run: ten minutes in
# which nothing was refused, then floods of which no more than the limit passed, and no packet of the client was lost.
test_played() {
	local name
	for name in $(names); do
		sed -n '/^rule/q; s/^# //p' "$POLICIES/$name.policy" | tr '\n' ' ' | grep -qE '^.+\. .*Played(:| in its place:) .* It stops ' ||
			_say "$name: no 'Played:' with 'It stops' behind it" || return
		played "$name" <"$TOP/docs/policies.md" || _say "$name: no such run in docs/policies.md" || return
	done
}
played() {
	awk -F ' *[|] *' -v name="[$1](../policies/$1.policy)" 'function figure(text) { gsub(",", "", text); return text + 0 }
		$2 == name && $3 ~ /^[a-z0-9.-]+ [0-9]/ && figure($5) >= 60 && figure($6) > 0 && $9 == "0" && $10 !~ /lost/ {
			good = n = split($10, floods, "; ")
			for (i = 1; i <= n; i++) {
				split(floods[i], of, " ")
				if (!(figure(of[3]) <= figure(of[4]) && figure(of[4]) < figure(of[2]))) good = 0
			}
		}
		END { exit !good }'
}

test_name() { is "$(checks dns)" "$POLICIES/dns.policy"; }

# A file of that name comes first, a directory does not; a path never is a name.
test_file_first() {
	echo 'rule any udp deny' >web && mkdir sip && is "$("$RLCTL" apply --check web 2>&1)" 'rlctl: web: 1 rule, 1 prefix' &&
		is "$(checks sip)" "$POLICIES/sip.policy" && has 'Is a directory' expect_status 1 "$RLCTL" apply --check ./sip &&
		has './dns: No such file' expect_status 1 "$RLCTL" apply --check ./dns && rm web
}

# A link that leads nowhere is no file.
test_link() { ln -s nowhere tor && is "$(checks tor)" "$POLICIES/tor.policy"; }

# Errors name the file in its folder, not the word.
test_place() {
	mkdir -p tree/build tree/policies && cp "$RLCTL" tree/build/ && echo 'rule any dney' >tree/policies/wrong.policy &&
		has "$PWD/tree/policies/wrong.policy:1:10:" expect_status 1 tree/build/rlctl apply --check wrong
}

# An installation: beside the program, wherever it was put.
test_installed() {
	mkdir -p usr/sbin usr/share/rlctl/policies && cp "$RLCTL" usr/sbin/ && printf '# SPDX\n# for a test\nrule any deny\n' >usr/share/rlctl/policies/mine.policy &&
		: >usr/share/rlctl/policies/Not-one.policy && : >usr/share/rlctl/policies/other &&
		is "$(usr/sbin/rlctl policies -j | jq -c .)" "[{\"name\":\"mine\",\"title\":\"SPDX\",\"path\":\"$PWD/usr/share/rlctl/policies/mine.policy\"}]" &&
		has '1 rule' usr/sbin/rlctl apply --check mine && has '(mine)' expect_status 1 usr/sbin/rlctl apply --check dns
}

# The pipe is not read as a name, nor is a word that could not be one.
test_others() {
	has '1 rule' "$RLCTL" apply --check - <<<'rule any deny' && has 'DNS: No such file or directory' expect_status 1 "$RLCTL" apply --check DNS &&
		! "$RLCTL" apply --check DNS 2>&1 | grep 'of that name' && has 'No such file' expect_status 1 "$RLCTL" apply --check ''
}

# explained NAME PACKET…: it is passed while nothing was sent before, by a rule of the policy.
explained() {
	"$RLCTL" explain -j --policy "$1" 198.51.100.9 "${@:2}" >packet && is "$(jq -r '.verdict + " " + .reason' packet)" 'pass within' &&
		jq -e '[.rules[] | select(.holds)] | length >= 1' packet
}

t 'the list' test_list
t 'the text of each' test_print
t 'the titles' test_titles
t 'what was played' test_played
t 'by name' test_name
t 'a file of that name comes first' test_file_first
t 'a link to nothing' test_link
t 'the place of an error' test_place
t 'of an installation' test_installed
t 'words that are no names' test_others
while read -r name packet; do
	# shellcheck disable=SC2086 # words
	t "explain --policy $name $packet" explained "$name" $packet
done <<'END'
dns udp dport 53
dns tcp dport 53 established
resolver udp dport 53
resolver udp sport 53 dport 40000 established
web tcp dport 443 syn
web udp dport 443
sip udp dport 5060
sip udp dport 12000
wireguard udp dport 51820
source udp dport 27015
quake udp dport 27960
minecraft tcp dport 25565
minecraft udp dport 19132
minecraft udp dport 30000
teeworlds udp dport 8303
mumble udp dport 64738
mumble tcp dport 64738 established
tor tcp dport 9001 syn
tor tcp dport 9001 established
router udp sport 53 dst 203.0.113.9
router tcp syn dst 203.0.113.9
END
