#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The manual pages agree with the program: synopses are those of `rlctl help`, every verb and option has its
# place, and every policy that rlctl-policy.5 shows is accepted, or refused for the reason shown.
# tests/unit/test_manual_words.c tests that no word of the language is missing there.
source "$(dirname "$0")/../lib.sh"

COMMAND=$TOP/user/man/rlctl.8
POLICY=$TOP/user/man/rlctl-policy.5

check_policy() { "$RLCTL" apply --check "$1"; }

# ---- rlctl.8 and the table of verbs

# The verbs of the table, one on a line. The first word of a family has no meaning by itself.
verbs() {
	local first meaning
	while IFS=$'\t' read -r first meaning; do
		if [[ -n $meaning ]]; then
			echo "$first"
		else
			"$RLCTL" complete -- "$first" '' | cut -f1 | sed "s/^/$first /"
		fi
	done < <("$RLCTL" complete -- '')
}

# The synopses of the page, one on a line, choices without blanks as the table has them.
mandoc -Tascii -Owidth=1000 "$COMMAND" | col -bx | sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' |
	sed -n 's/^ *\(rlctl .*\)/\1/p' | sed 's/ | /|/g' >"$TMP/synopses"

# help_synopsis WORD…: the synopsis of help, in one line.
help_synopsis() {
	"$RLCTL" help "$@" | awk '
		NR > 1 && !/^ / { done = 1 }
		!done { sub(/^Usage: /, ""); sub(/^ +/, ""); text = text (text ? " " : "") $0 }
		END { print text }'
}

test_synopsis() { # VERB
	local wanted
	# shellcheck disable=SC2086 # a verb may be two words
	wanted=$(help_synopsis $1) && [[ $wanted == "rlctl $1"* ]] || _say "no synopsis: $wanted" || return
	grep -qFx -- "$wanted" "$TMP/synopses" || _say "not in the page's synopsis: $wanted"
}

test_usage() {
	is "$("$RLCTL" help | sed -n '1s/^Usage: //p')" "$(head -n 1 "$TMP/synopses")"
}

# No synopsis of a verb that there is not: as many as there are verbs, and the usage.
test_no_other_synopsis() { is "$(wc -l <"$TMP/synopses")" "$(($(verbs | wc -l) + 1))"; }

test_described() { # VERB
	grep -qE "^\.It Cm $1( |$)" "$COMMAND" || _say "no item '.It Cm $1'"
}

test_option() { # OPTION, by its long name
	grep -qE "^\.It Fl (. , -|-)${1#--}( |$)" "$COMMAND" || _say "no item '.It Fl -${1#--}'"
}

options() {
	local verb
	"$RLCTL" complete -- -- | cut -f1
	while read -r verb; do
		# shellcheck disable=SC2086 # a verb may be two words
		"$RLCTL" complete -- $verb -- | cut -f1
	done < <(verbs)
}

# The capabilities of the agent in rlctl-fleet.8 are those of its row in the table of rlctl.8, which
# test_privileges.sh tests.
test_fleet_capabilities() {
	is "$(grep -o 'CAP_[A-Z_]*' "$TOP/user/man/rlctl-fleet.8" | paste -sd ' ')" \
		"$(sed -n 's/^\.It Cm fleet join Ta - Ta /CAP_/p' "$COMMAND" | sed 's/ / CAP_/g')"
}

# man-db gives groff two columns less than the terminal has.
test_rendered() { python3 "$TOP/tests/unit/manual_render.py" "$@"; }

# noticed LINE COMPLAINT: as the only line of a display.
noticed() {
	{ printf '.Dd x\n.Dt x 8\n.Os\n' && printf '.Pp\nx\n%.0s' {1..30} && printf '%s\n' '.Bd -literal' "$1" .Ed; } >"$TMP/page"
	has "$2" expect_fail test_rendered "$TMP/page" mandoc -Tutf8 -Owidth=80
}

# help_of OPTION VERB: its line in the help of the verb.
help_of() {
	# shellcheck disable=SC2086 # a verb may be two words
	"$RLCTL" help $2 | grep -e " --$1"
}

# Options that verbs share are explained as each of them has them.
test_shared_options() {
	local verb rate
	for verb in top monitor; do
		rate=$(sed -nE 's/^#define RATE_USUAL +([0-9]+)u$/\1/p' "$TOP"/user/cli/*/"cmd_$verb.c") &&
			has "; default $rate" help_of rate "$verb" || return
	done
	has 'the same as DEV' help_of interface attach && has 'the same as DEV: ' help_of interface detach &&
		has 'instead of the one in force' help_of policy explain && has 'to start with' help_of policy attach &&
		has 'optional' help_of interface show && has 'several times' help_of hook attach || return
	while read -r verb; do
		[[ $verb == attach* ]] || ! help_of hook "$verb" | grep attach || return
	done < <(verbs)
}

t 'help: options that verbs share' test_shared_options
t 'rlctl.8: synopsis of the whole' test_usage
t 'rlctl.8: no synopsis too many' test_no_other_synopsis
while read -r verb; do
	t "rlctl.8: synopsis of $verb" test_synopsis "$verb"
	t "rlctl.8: $verb is described" test_described "$verb"
done < <(verbs)
while read -r option; do
	t "rlctl.8: $option is described" test_option "$option"
done < <(options | sort -u)

t 'rlctl-fleet.8: capabilities of the agent' test_fleet_capabilities

for page in "$TOP"/user/man/*; do
	t "${page##*/}: on 80 columns, by groff" test_rendered "$page" groff -mandoc -Tutf8 -rLL=78n
	t "${page##*/}: on 80 columns, by mandoc" test_rendered "$page" mandoc -Tutf8 -Owidth=80
done
t 'noticed: a line that is too long' noticed "$(printf '%081d' 0)" '81 columns'
t 'noticed: an example that is not shown as it is' noticed 'a \fBb\fP' 'not on a line of its own: a \fBb\fP'

# ---- policies that the pages show

# Every display of PAGE that begins with .Bd -literal and has statements, as $TMP/PAGE.N
displays() { # PAGE
	awk -v to="$TMP/$(basename "$1")" '
	/^\.Bd -literal/ { inside = !/-compact/; text = ""; next }
	/^\.Ed/ { if (inside && text ~ /^(rule|set|alarm) /) printf "%s", text > (to "." ++n); inside = 0; next }
	inside { text = text $0 "\n" }' "$1"
}

displays "$POLICY"
displays "$COMMAND"
for file in "$TMP"/rlctl*.[58].*; do
	t "${file##*/}: $(head -n 1 "$file")" check_policy "$file"
done

# refused LINE # REASON: refused, and the message says so.
test_refused() {
	local reason=${1#*# }
	expect_status 1 "$RLCTL" apply --check <(echo "$1") 2>"$TMP/refused" || return
	grep -qF -- "$reason" "$TMP/refused" || _say "no '$reason' in: $(<"$TMP/refused")"
}

awk '/^\.Bd -literal -compact/ { on = 1; next } /^\.Ed/ { on = 0 } on' "$POLICY" >"$TMP/refusals"
while read -r line; do
	t "rlctl-policy.5 refused: $line" test_refused "$line"
done <"$TMP/refusals"

# So that a change of markup does not leave the tests without rows.
test_examples_found() {
	between "$(find "$TMP" -name 'rlctl-policy.5.*' | wc -l)" 38 100 && between "$(wc -l <"$TMP/refusals")" 20 1000
}
t 'rlctl-policy.5: the examples are found' test_examples_found

# ---- the policies that are shipped elsewhere

# The rules of README's displays, and those of its commands, without remarks.
awk '/^```/ { inside = !inside; next } inside && /^(rule|alarm) /' "$TOP/README.md" >"$TMP/readme"
sed -n 's/^sudo rlctl rule add \([^#]*\).*/rule \1/p' "$TOP/README.md" >"$TMP/readme.commands"
for file in "$TMP/readme" "$TMP/readme.commands" "$TOP/packaging/example.policy" "$TOP"/policies/*; do
	t "${file##*/} is accepted" check_policy "$file"
done

# There is no match yet that a packet alone cannot forge.
test_no_ban() {
	between "$(wc -l <"$TMP/readme")" 5 100 && between "$(wc -l <"$TMP/readme.commands")" 2 100 || return
	! sed 's/#.*//' "$TMP"/readme* "$TMP"/rlctl*.[58].* "$TOP/packaging/example.policy" "$TOP"/policies/* | grep 'over ban'
}
t 'no shipped example bans' test_no_ban

# ---- installed

ROOT=$TMP/root/usr

install_to() { make -s -C "$TOP" -o build/rlctl "$1" DESTDIR="$TMP/root" PREFIX=/usr; }

test_install() {
	local file
	install_to install || return
	for file in sbin/rlctl share/man/man8/rlctl.8 share/man/man5/rlctl-policy.5 \
		share/bash-completion/completions/rlctl share/zsh/site-functions/_rlctl; do
		[[ -s $ROOT/$file ]] || _say "$file is missing" || return
	done
	cmp "$ROOT/share/zsh/site-functions/_rlctl" <("$RLCTL" completion zsh)
}

# The documents lead to each other where they are installed, and to the license.
test_links() {
	cp -rL "$ROOT/share/doc/rlctl" "$TMP/doc" && between "$(find "$TMP/doc" -name '*.md' | wc -l)" 20 60 &&
		python3 "$TOP/tests/unit/documents.py" "$TOP" "$TMP"/doc/{,docs/,docs/runbooks/}*.md
}

# scripts FILE: those that the document names.
scripts() { grep -oE 'scripts/[a-z./-]*[a-z]' "$1" | sort -u; }

# Each script that a user is told of is installed, but for those that build or test the tree.
test_scripts() {
	local script
	for script in $(scripts "$TOP/README.md") $(scripts "$TOP/docs/guide.md"); do
		[[ $script =~ ^scripts/(deps|demo|check)\.sh$ || -s $ROOT/share/rlctl/${script#scripts/} ]] ||
			_say "$script is not installed" || return
	done
	is "$(scripts "$TOP/docs/guide.md" | tr '\n' ' ')" 'scripts/alerts.yml scripts/grafana.json scripts/import '
}

# The installed one, on a path without rlctl.
test_import() {
	printf '*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -s 192.0.2.7 -j ACCEPT\n-A INPUT -p icmp -m hashlimit --hashlimit-above 9/sec %s\nCOMMIT\n' \
		'--hashlimit-mode srcip --hashlimit-name ping -j DROP' >"$TMP/saved"
	PATH=/usr/bin:/bin RLCTL=$RLCTL "$ROOT/share/rlctl/import" --host "$TMP/saved" >"$TMP/imported" && check_policy "$TMP/imported" &&
		is "$(find "$ROOT" -name '__pycache__')" '' && is "$(sed -n 1p "$ROOT/share/rlctl/import")" '#!/usr/bin/python3'
}

# Another's file, and thus its directory, stays.
test_uninstall() {
	touch "$ROOT/share/rlctl/mine" && install_to uninstall && is "$(find "$TMP/root" -type f)" "$ROOT/share/rlctl/mine" &&
		rm "$ROOT/share/rlctl/mine" && install_to uninstall && is "$(find "$TMP/root" -path '*/rlctl' | tr '\n' ' ')" "$TMP/root/etc/rlctl "
}

# They are found beside the installed command, and below the documents.
test_policies() {
	is "$("$ROOT/sbin/rlctl" policies -j | jq -r '.[].path')" "$(printf '%s\n' "$ROOT/share/rlctl/policies"/*.policy)" &&
		diff -r "$TOP/policies" "$ROOT/share/doc/rlctl/policies/" && [[ $(readlink "$ROOT/share/doc/rlctl/policies") != /* ]]
}

t 'make install puts pages and completions in their places' test_install
t 'the installed documents lead to each other' test_links
t 'the scripts that README and guide name are installed' test_scripts
t 'the installed import works' test_import
t 'the installed policies' test_policies
t 'make uninstall removes all of it' test_uninstall
