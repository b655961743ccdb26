/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets of a service, by source and second, and what is made of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/robust.h"

#define SUGGEST_EPISODES 4   /* bursts that came as often belong to the service */
#define SUGGEST_BLOCK    10u /* seconds */

/* A flood exceeds the median by these factors at least: the second of a service, the fullest second
 * of a source. Sources behind one NAT are 20 times the median without being one. */
#define SUGGEST_SUM_FACTOR    8u
#define SUGGEST_SOURCE_FACTOR 32u

enum suggest_kind {
	SUGGEST_TCP,
	SUGGEST_UDP,
	SUGGEST_PROTO,
	SUGGEST_REST_TCP,
	SUGGEST_REST_UDP,
	SUGGEST_FRAGMENT,
	SUGGEST_ALL,
};

/* Packets within 1 s, 10 s and 60 s. */
enum suggest_window { SUGGEST_1S, SUGGEST_10S, SUGGEST_60S, SUGGEST_WINDOWS };

/* Nearest ranks of the highest of each source, or of all windows with packets. */
struct suggest_peaks {
	uint64_t median, most99, highest;
};

struct suggest_limit {
	uint64_t amount, period_ns, burst; /* packets */
	bool least;     /* the least that is suggested, which is more than was seen */
	uint64_t depth; /* packets above the rate, both without headroom */
};

struct suggest_left_out {
	struct episode episodes[SUGGEST_EPISODES - 1]; /* of the service, without its sources */
	size_t episode_count;
	uint64_t packets, sources; /* sources: left out on their own */
	uint8_t heaviest[16];      /* of them */
	uint64_t heaviest_packets; /* in its fullest second */
	uint32_t first, last;      /* seconds */
	/* Not left out: bursts as those of a flood that came back or lasted. */
	uint64_t kept_episodes, kept_highest; /* 0: none; packets in the fullest second */
};

struct suggest_class {
	enum suggest_kind kind;
	uint16_t number;
	/* Without what was left out. */
	uint64_t packets, bytes, sources; /* sources: at most, where some were forgotten */
	uint32_t seconds, blocks;         /* with packets */
	struct suggest_peaks source[SUGGEST_WINDOWS], sum[SUGGEST_WINDOWS];
	/* Error of the highest, by sampling; 0: exact. */
	uint64_t source_error[SUGGEST_WINDOWS], sum_error[SUGGEST_WINDOWS];
	struct suggest_left_out left_out;
	struct suggest_limit source_limit, sum_limit;
	unsigned int confidence; /* per mille; see suggest_make() */
};

#define SOURCE_FORGOTTEN UINT32_MAX

struct class_cell {
	uint32_t source; /* any number that tells sources apart, or SOURCE_FORGOTTEN */
	uint32_t second;
	uint32_t samples;
	uint64_t packets, bytes;
};

/* For all packets together: seconds with packets, and the borders of floods, in packets. */
struct class_whole {
	uint32_t seconds;
	uint64_t second, block;
};

struct class_input {
	struct class_cell *cells;
	size_t count;
	uint64_t forgotten;
	unsigned int headroom;
	uint32_t seconds;
	double weight; /* packets for each sample in the mean; 1: exact */
	const struct class_whole *whole;
	uint32_t heaviest; /* out: the heaviest source that was left out, if any was */
};
