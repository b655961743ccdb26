/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits that hold what sources were seen to send, and what they are based on. Pure.
 * docs/suggest.md has the method and its borders.
 *
 * A service is a port or protocol that was seen often enough. The rest of TCP, the rest of UDP,
 * fragments, and all packets together are held as services are. Each gets two limits: of a source,
 * and of all sources together. Rate: what the busiest sent within 10 s, times the headroom; burst:
 * how deep its packets filled a bucket that leaks at that rate, times the headroom. A flood is left
 * out first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/suggest/seen.h"
#include "watch/traffic/pattern.h"

#define SUGGEST_PORTS       16 /* of TCP, and of UDP, as many as a rule can name */
#define SUGGEST_PROTOCOLS   8  /* others */
#define SUGGEST_CLASSES_MAX (2 * SUGGEST_PORTS + SUGGEST_PROTOCOLS + 4)
#define SUGGEST_FEW_LISTED  8
#define SUGGEST_FEW_PACKETS 100 /* a service with fewer has no limit of its own */

enum suggest_kind {
	SUGGEST_TCP = SEEN_TCP,
	SUGGEST_UDP = SEEN_UDP,
	SUGGEST_PROTO = SEEN_PROTO,
	SUGGEST_REST_TCP,
	SUGGEST_REST_UDP,
	SUGGEST_FRAGMENT,
	SUGGEST_ALL,
};

/* Packets within 1 s, 10 s and 60 s. */
enum suggest_window { SUGGEST_1S, SUGGEST_10S, SUGGEST_60S, SUGGEST_WINDOWS };
extern const uint32_t suggest_seconds[SUGGEST_WINDOWS];

/* Nearest ranks of the highest of each source, or of all windows with packets. */
struct suggest_peaks {
	uint64_t median, most99, highest;
	uint64_t error; /* of the highest, by sampling; 0: exact */
};

struct suggest_limit {
	uint64_t amount, period_ns, burst; /* packets */
	bool least;     /* the least that is suggested, which is more than was seen */
	uint64_t depth; /* packets above the rate, both without headroom */
};

struct suggest_left_out {
	uint64_t packets, sources; /* sources: left out on their own */
	uint8_t heaviest[16];      /* of them */
	uint64_t heaviest_packets; /* in its fullest second */
	uint32_t first, last;      /* seconds */
};

struct suggest_class {
	enum suggest_kind kind;
	uint16_t number;
	/* Without what was left out. */
	uint64_t packets, bytes, sources; /* sources: at most, where some were forgotten */
	uint32_t seconds;                 /* with packets */
	struct suggest_peaks source[SUGGEST_WINDOWS], sum[SUGGEST_WINDOWS];
	struct suggest_left_out left_out;
	struct suggest_limit source_limit, sum_limit;
};

struct suggest_few {
	enum suggest_kind kind;
	uint16_t number;
	uint64_t packets;
};

/* Seconds that look like a flood, and are learnt from all the same. */
struct suggest_flood {
	uint32_t seconds;     /* 0: nothing does */
	uint32_t first, last; /* of them */
	uint64_t rate, usual; /* packets a second: of these seconds, and of the quiet ones */
	uint64_t border;      /* more are a flood's, also in a short one; 0: not known */
};

struct suggestion {
	struct suggest_class classes[SUGGEST_CLASSES_MAX]; /* by kind and number */
	size_t count;
	struct suggest_few few[SUGGEST_FEW_LISTED]; /* the largest of them */
	size_t few_count;                           /* all */
	struct suggest_flood flood;
};

struct suggest_options {
	unsigned int headroom; /* per cent */
	uint32_t seconds;      /* that were watched, pauses between captures left out */
};

/* Settles `seen`, to which more may be added. 0 or -ENOMEM. */
int suggest_make(struct seen *seen, const struct suggest_options *options, struct suggestion *out);

/* The packets of a class, and scratch space. */
struct suggest_input {
	struct seen_cell *cells; /* by source and second */
	size_t count;
	uint64_t forgotten;
	struct suggest_options options;
	double weight; /* packets for each sample in the mean; 1: exact */
	/* For all packets together: seconds with packets, and the packets of one above which it is
	 * a flood's. */
	size_t all_seconds;
	uint64_t all_border;
	/* Scratch space for as many as there are cells: sums of all sources by second, and
	 * values. */
	struct seen_cell *sums;
	size_t sum_count;
	uint64_t *values;
};

/* Sets all_seconds and all_border by the cells of all packets together. */
void borders_make(struct suggest_input *input);

/* Fills in all of *out but kind and number. Cells that are left out are removed. */
void class_judge(struct suggest_input *input, struct suggest_class *out);

/* By the packets of all classes, without what was left out of them. */
void flood_find(struct suggest_input *input, struct suggest_flood *out);

/* The limit of a source, or of all together (`sum`), as a line of a policy. Without `enforce` it
 * only counts. */
#define SUGGEST_RULE_MAX 512
void suggest_rule_print(char buf[SUGGEST_RULE_MAX], const struct suggestion *suggestion,
			const struct suggest_class *class, bool sum, bool enforce);
/* Does the class have this limit? Fragments have no limit of a source, and what nobody sent none.
 */
bool suggest_has_rule(const struct suggest_class *class, bool sum);
/* The packets of a class in the words of a rule: "tcp dport 443", "icmp"; empty for all. */
void suggest_match_print(char buf[SUGGEST_RULE_MAX], const struct suggestion *suggestion,
			 enum suggest_kind kind, uint16_t number);

/* ---- robust.c: order statistics that a minority of wild values cannot move
 *
 * Median and median absolute deviation have a breakdown point of one half (F. R. Hampel, "The
 * influence curve and its role in robust estimation", 1974): until half of the values are those of
 * a flood, neither follows it. Rates are compared by their logarithm, since sources differ by
 * factors.
 */

/* In ascending order. */
void values_sort(uint64_t *values, size_t count);

/* The value at rank ceil(count * permille / 1000) of sorted values, before which there are `low`
 * further ones that are taken as 1. 0 without values. */
uint64_t values_quantile(const uint64_t *sorted, size_t count, uint64_t low, unsigned int permille);

/* A factor above the median from which on a value is unlike the others: exp(3.5 * 1.4826 * MAD) of
 * the logarithms (the modified z-score of B. Iglewicz and D. C. Hoaglin, "How to Detect and Handle
 * Outliers", 1993), at least `least`, at most ROBUST_FACTOR_MAX. Values are > 0 and sorted. Returns
 * the largest value that is not beyond it; UINT64_MAX with fewer than ROBUST_VALUES_MIN values. */
#define ROBUST_FACTOR_MAX 1000u
#define ROBUST_VALUES_MIN 8u
uint64_t values_border(const uint64_t *sorted, size_t count, unsigned int least);

/* How deep a bucket gets that leaks `leak` a second, by what came in each second: what comes within
 * one comes at once. */
struct depth {
	double level, most;
	uint32_t before; /* second */
};
void depth_add(struct depth *depth, uint32_t second, uint64_t packets, double leak);

/* ---- bands.c: patterns of the packets of busy seconds and of quiet ones
 *
 * Which these are is known at the end alone, so the patterns of seconds with about as many packets
 * are kept together. */

#define PATTERN_BANDS 40 /* by powers of two; the last has all that is more */

struct pattern_band {
	struct patterns patterns;
	uint64_t packets;
};

struct pattern_bands { /* zero-initialised */
	struct pattern_band bands[PATTERN_BANDS];
	struct pattern_band now; /* of the second that is not over */
	uint64_t second;
};

/* In the order of time; a packet that is late belongs to the second of the one before it. */
void pattern_bands_add(struct pattern_bands *bands, uint64_t second, const struct pattern *pattern,
		       uint64_t weight);

struct pattern_busy {
	struct pattern_part part; /* the heaviest of the busy seconds; share 0: none */
	double quiet;             /* its share in the packets of the others */
	bool is_usual;            /* that share is large: the pattern is not the flood's alone */
};

/* The pattern of most packets in seconds that have more than `border`, those of about the border
 * left out. Settles the last second. */
struct pattern_busy pattern_bands_find(struct pattern_bands *bands, uint64_t border);
