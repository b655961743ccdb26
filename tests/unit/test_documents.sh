#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every file, function and name that the documents name in backquotes is in the tree, and every link leads
# somewhere; documents.py does the reading. That something missing is noticed is tried on a copy. And no sentence, in
# comments neither, begins with "Of", "What" or "Who".
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

DOCUMENTS=(README.md SECURITY.md CONTRIBUTING.md docs/architecture.md docs/glossary.md docs/guide.md docs/algorithms.md docs/hosting.md
	docs/performance.md docs/bans.md docs/events.md docs/suggest.md)
mapfile -t -O "${#DOCUMENTS[@]}" DOCUMENTS < <(cd "$TOP" && ls docs/runbooks/*.md)

check() { python3 "$TOP/tests/unit/documents.py" "$TOP" "$@"; }

# noticed LINE COMPLAINT: in a document beside the others.
noticed() {
	echo "$1" >"$TMP/document.md"
	expect_status 1 check "$TMP/document.md" 2>"$TMP/complaint" || return
	is "$(<"$TMP/complaint")" "document.md:1: $2"
}

# So that a change of form does not leave the test without anything to look for.
# shellcheck disable=SC2016 # backquotes of Markdown
test_names_found() {
	between "$(grep -oE '`[a-z_]+/[^` ]+: [a-z_ ]+(\(\))?`' "$TOP/docs/architecture.md" | wc -l)" 30 1000 &&
		between "$(grep -oE '`[a-z_]+/[^` ]+: [A-Za-z_ ]+(\(\))?`' "$TOP/CONTRIBUTING.md" | wc -l)" 20 1000
}

# fragments FILE…: lines with such a sentence. Data, what fuzzers read and license texts are left out.
fragments() {
	grep -rnE '(^|[.:] |// |/\*\*? |# |^\s*\* |"""|^- |> )(Of|What|Who) ' --include='*.'{c,h,md,sh,py,js,lua,5,8,policy} \
		--include={Makefile,NEWS,matrix,rules,rlctl-crowdsec,rlctl-fastnetmon,rlctl-overload,rlctl-flowspec,tenants,import,mail,webhook,alertmanager,journal,exabgp,'*.service','*.spec'} \
		--exclude-dir={build,corpus,.git} "$@"
}

test_fragments() { is "$(cd "$TOP" && fragments .)" ''; }

# The file begins with a comment, as any other.
test_fragment_noticed() {
	local word=Of
	echo "# $word nobody knows." >"$TMP/fragment.sh" && is "$(fragments "$TMP")" "$TMP/fragment.sh:1:# $word nobody knows."
}

# Each alert leads to the page that has its name, and each page is led to. A package compresses what has 4096 bytes.
test_runbooks() {
	local page
	sed -nE 's/^ *- alert: (.*)/\1/p' "$TOP/scripts/alerts.yml" | sed 's,.*,file:///usr/share/doc/rlctl/docs/runbooks/&.md,' >"$TMP/wanted" &&
		between "$(wc -l <"$TMP/wanted")" 5 100 && diff "$TMP/wanted" <(sed -nE 's/^ *runbook_url: //p' "$TOP/scripts/alerts.yml") &&
		is "$(find "$TOP/docs/runbooks" -type f -size +4095c)" '' || return
	while read -r page; do
		[[ -f $TOP/docs/runbooks/${page##*/} ]] || _say "no page ${page##*/}" || return
	done <"$TMP/wanted"
	for page in "$TOP"/docs/runbooks/*.md; do
		grep -q "/${page##*/}$" "$TMP/wanted" || grep -qF "(${page##*/})" "$TOP"/docs/runbooks/*.md || _say "nothing leads to $page" || return
	done
}

for document in "${DOCUMENTS[@]}"; do
	t "$document" check "$TOP/$document"
done
# README, doctor and the guests of tests/vm.
test_oldest() {
	local oldest
	oldest=$(sed -n 's/^#define KERNEL_OLDEST *"\(.*\)".*/\1/p' "$TOP/user/kernel/failures.h") &&
		is "$(sed -n 's/^kernel \([0-9.]*\) .*/\1/p' "$TOP/tests/vm/matrix" | sort -V | head -n 1)" "$oldest" &&
		grep -qF "| kernels | Linux $oldest or newer;" "$TOP/README.md"
}

t 'all name the same oldest kernel' test_oldest
t 'each alert has a page, and each page a way to it' test_runbooks
t 'names are found' test_names_found
# shellcheck disable=SC2016 # backquotes of Markdown
{
	t 'noticed: a file that is not there' noticed 'see `bpf/nothing.h`' 'bpf/nothing.h: no such file'
	t 'noticed: a function that is not there' noticed '`bpf/packet/packet.h: parse_nothing()`' \
		'bpf/packet/packet.h: parse_nothing(): not in bpf/packet/packet.h'
	t 'noticed: a function of another file' noticed '`bpf/packet/packet.h: key_build()`' 'bpf/packet/packet.h: key_build(): not in bpf/packet/packet.h'
	t 'noticed: a function that is only called there' noticed '`bpf/rlctl.bpf.c: account()`' \
		'bpf/rlctl.bpf.c: account(): not in bpf/rlctl.bpf.c'
	t 'noticed: a function that nobody defines' noticed '`parse_nothing()`' 'parse_nothing(): defined nowhere'
	t 'noticed: a word that is not there' noticed '`include/rlctl_abi.h: RL_NOTHING`' \
		'include/rlctl_abi.h: RL_NOTHING: not in include/rlctl_abi.h'
	t 'noticed: a link to nothing' noticed '[here](nothing.md)' 'nothing.md: no such file'
	t 'noticed: a link to no heading' noticed '[here](document.md#nothing)' \
		'document.md#nothing: no such heading in document.md'
}
t 'no sentence begins with Of, What or Who' test_fragments
t 'noticed: such a sentence' test_fragment_noticed
