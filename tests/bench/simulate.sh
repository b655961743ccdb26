#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# How fast `rlctl simulate` is, beside a loop of BPF_PROG_TEST_RUN over a program that does nothing:
# medians of ROUNDS runs that alternate, over PACKETS frames of 64 bytes from 1000 sources, under one
# limit and under the policy of the quick start. The time of simulate is that of the whole command, of
# which some is spent before the first packet: it is printed by itself. Needs root; build with `make
# all benches`.
set -euo pipefail
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
PACKETS=${PACKETS:-3000000}
ROUNDS=${ROUNDS:-5}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

python3 - "$PACKETS" >"$TMP/in.pcap" <<'END'
import random, struct, sys

random.seed(1)
out = sys.stdout.buffer
out.write(struct.pack('<IHHiIII', 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
for i in range(int(sys.argv[1])):
    src = 0x0A000000 + random.randrange(1000)
    frame = bytes(12) + struct.pack('>HBBHHHBBHIIHHHH', 0x800, 0x45, 0, 50, 0, 0, 64, 17, 0, src,
                                    0x0A090000, 1000, 53, 30, 0) + bytes(22)
    seconds, micros = divmod(i, 1000000)
    out.write(struct.pack('<IIII', 1780000000 + seconds, micros * 1000, len(frame), len(frame)) + frame)
END
echo 'rule any limit 100/second burst 10' >"$TMP/policy"
cd "$TOP" && source tests/bench/policy_texts.sh
quick_start 'limit 100/second burst 10' >"$TMP/quick"

# rate CMD…: packets a second of the whole command.
rate() {
	local start=${EPOCHREALTIME/./}
	"$@" >/dev/null
	echo $((PACKETS * 1000000 / (${EPOCHREALTIME/./} - start)))
}

# milliseconds CMD…
milliseconds() {
	local start=${EPOCHREALTIME/./}
	"$@" >/dev/null
	echo $(((${EPOCHREALTIME/./} - start) / 1000))
}

median() { sort -n | sed -n "$(((ROUNDS + 1) / 2))p"; }

head -c 24 "$TMP/in.pcap" >"$TMP/none.pcap"

for ((i = 0; i < ROUNDS; i++)); do
	milliseconds "$TOP/build/rlctl" simulate "$TMP/policy" "$TMP/none.pcap" >>"$TMP/start"
	"$TOP/build/empty" "$PACKETS" >>"$TMP/empty"
	rate "$TOP/build/rlctl" simulate "$TMP/policy" "$TMP/in.pcap" >>"$TMP/sums"
	rate "$TOP/build/rlctl" simulate "$TMP/policy" "$TMP/in.pcap" --verdicts >>"$TMP/verdicts"
	rate "$TOP/build/rlctl" -q simulate "$TMP/quick" "$TMP/in.pcap" >>"$TMP/quick-start"
done
empty=$(median <"$TMP/empty")
echo "an empty program            $empty packets/s"
for what in sums verdicts quick-start; do
	simulate=$(median <"$TMP/$what")
	printf 'simulate, %-11s       %s packets/s, %d.%02d of that\n' "$what" "$simulate" \
		$((simulate / empty)) $((simulate * 100 / empty % 100))
done
echo "start                       $(median <"$TMP/start") ms"
