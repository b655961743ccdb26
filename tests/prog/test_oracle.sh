#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Random policies and packets: rlctl simulate says of each packet and each rule what rlctl-policy(5) says, as
# oracle.py reads it. More of them: tests/prog/oracle.py build/rlctl --runs 1000 --seed 1000
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

oracle() { python3 "$TOP/tests/prog/oracle.py" "$RLCTL" "$@"; }

explained() { python3 "$TOP/tests/prog/oracle_explain.py" "$RLCTL" "$@"; }

oracle --seed 1 --runs 2 || _failed=1
explained 1 5 8 || _failed=1

# Another program than the manual's is noticed: one that says that nothing matches.
cat >"$TMP/liar" <<END
#!/usr/bin/env bash
"$RLCTL" "\$@" | sed -e 's/ drop denied/ pass unmatched/' -e 's/"denied"/"over"/'
exit "\${PIPESTATUS[0]}"
END
chmod +x "$TMP/liar"
RLCTL=$TMP/liar oracle --quick --seed 2 --packets 300 >"$TMP/noticed"
t 'noticed: verdicts that differ' grep -q '^# packet [0-9]*: pass unmatched; by the manual drop denied' "$TMP/noticed"
RLCTL=$TMP/liar explained 1 5 8 >"$TMP/noticed"
t 'noticed: an explanation that differs' grep -q '^# drop over; by the manual drop denied' "$TMP/noticed"
