#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Limits that senders share, over random captures: what passes is what rlctl-policy(5), Shares, promises, as
# share_model.py reads it. More of them: tests/prog/share_oracle.py build/rlctl --seed 1000
# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

oracle() { python3 "$TOP/tests/prog/share_oracle.py" "$RLCTL" "$@"; }

# noticed TEXT ARG…: a promise that is not kept has a row that says so.
noticed() {
	local text=$1
	shift
	oracle "$@" >"$TMP/noticed" && return 1
	grep -q "^not ok .*: $text" "$TMP/noticed" || _say "$(<"$TMP/noticed")"
}

oracle --seed 1 || _failed=1

# Other promises than the manual's are not kept.
t 'noticed: a limit filled to 99 percent' noticed '95 percent of the limit' --only per_dest --set FILLED=0.99
t 'noticed: other parts' noticed 'established: their part' --only parts_change --set PARTS=30,60,10
t 'noticed: bursts of 16' noticed 'known: who sends less loses nothing' --only many_known --set BURST=16

# Nor are the manual's by a limit without the word.
cat >"$TMP/plain" <<'END_OF_SCRIPT'
#!/usr/bin/env bash
sed -E 's/ (share|keep) .*//; s/ share$//' "$2" >"$2.plain"
exec "$REAL" simulate "$2.plain" "${@:3}"
END_OF_SCRIPT
chmod +x "$TMP/plain"
export REAL=$RLCTL
RLCTL=$TMP/plain
t 'noticed: a limit without share' noticed 'known: who sends less loses nothing' --only few_known
t 'noticed: a limit without keep' noticed 'keep: each verdict' --only kept_for_known
