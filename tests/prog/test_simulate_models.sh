#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every algorithm as the program runs it, verdict by verdict against a slow model of the definition: check: timeout 240
# for each of them, of packets and of bytes, 100,000 packets of both families from several sources,
# random and adversarial (judge.py), through `rlctl simulate`.
#
# Windows, logs, and buckets in which a packet costs whole grains: every verdict is equal. Other
# buckets, and warm-up: a verdict may be another only where the model says that it was too close to
# call, by how many grains or by which part of an interval (models.py). In a steady overload as many
# packets pass in all, to 1 %.
# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

PACKETS=50000 # of each limit

# Seed, time of the first packet in nanoseconds, trace, limit.
python3 "$(dirname "${BASH_SOURCE[0]}")/judge.py" "$RLCTL" "$PACKETS" <<-'END'
	1  0                   edges  token-bucket 1000/second burst 100
	2  1790000000123456789 edges  token-bucket 3/second burst 5
	3  1                   edges  token-bucket 8000byte/second burst 3028byte
	4  4200000000000000000 edges  token-bucket 12345678bit/second burst 100000bit
	5  1                   edges  leaky-bucket 250/second queue 1
	6  1790000000123456789 edges  leaky-bucket 1234567/second queue 40
	7  0                   edges  leaky-bucket 64000bit/second queue 30280bit
	8  1                   edges  leaky-bucket 12345678byte/second queue 50000byte
	9  0                   edges  fixed-window 10/second
	10 1790000000123456789 edges  fixed-window 1000/7ms
	11 1                   edges  fixed-window 100000byte/minute
	12 1790000000123456789 edges  fixed-window 12345678bit/second
	13 0                   edges  sliding-window 100/second
	14 1790000000123456789 edges  sliding-window 7/3s slots 16
	15 1                   edges  sliding-window 5000byte/7ms slots 7
	16 4200000000000000000 edges  sliding-window 1000000bit/minute slots 2
	17 0                   edges  sliding-log 10/second
	18 1790000000123456789 edges  sliding-log 1024/hour
	19 1                   edges  warm-up 1000/second ramp 10s
	20 1790000000123456789 edges  warm-up 3/second ramp 10s cold 5
	24 0                   edges  warm-up 1000/second ramp 2s burst 50
	25 1                   edges  warm-up 20/second ramp 1ms cold 2 burst 1
	21 0                   steady token-bucket 3/second burst 5
	22 1                   steady warm-up 1000/second ramp 10s
	23 1790000000123456789 steady warm-up 3/second ramp 1minute cold 5
END
_failed=$?
