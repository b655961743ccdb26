#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Filters on captures: simulate says of each packet what `tcpdump -r` says of it, from its IP header on, under all
# link types: filter_captures.py. A program that says another thing is noticed. check: timeout 400
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

compared() { python3 "$HERE/filter_captures.py" "$1" "$TMP" "${@:2}"; }

compared "$RLCTL" || _failed=1

cat >"$TMP/liar" <<END
#!/usr/bin/env bash
"$RLCTL" "\$@" | sed -e '7s/ drop denied/ pass unmatched/'
exit "\${PIPESTATUS[0]}"
END
chmod +x "$TMP/liar"
compared "$TMP/liar" ip >"$TMP/noticed"
t 'noticed: a verdict that differs' grep -x '# packet 7: tcpdump alone says that it matches (ethernet.raw)' "$TMP/noticed"
