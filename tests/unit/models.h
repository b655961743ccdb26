/* SPDX-License-Identifier: GPL-2.0-only */
/* rlctl-policy(5)'s windows, log and warm-up as slow and obvious models, written from its sentences
 * and not from bpf/algorithm/; and the traces that try them. The buckets' model is
 * prog/bucket_model.h.
 *
 * Windows count in the rate's own unit: a byte is 8 of a limit in bits.
 */
#pragma once

#include "gcra_pair.h"

#define YEAR_NS (365 * NS_PER_DAY)

/* ---- fixed window */

struct fixed_model {
	uint64_t amount, unit, period_ns;
	uint64_t start_ns;
	u128 sum;
	bool open;
};

struct fixed_model fixed_model(const struct rl_limit *limit);
bool fixed_model_is_over(const struct fixed_model *m, uint64_t now_ns);
/* Returns the amount admitted in the window that contains now_ns. */
u128 fixed_model_sum(const struct fixed_model *m, uint64_t now_ns);
bool fixed_model_admits(const struct fixed_model *m, uint64_t now_ns, uint64_t count);
void fixed_model_take(struct fixed_model *m, uint64_t now_ns, uint64_t count);

/* ---- sliding window */

struct slots_model {
	uint64_t amount, unit, period_ns;
	uint32_t slots;
	uint32_t count;
	struct {
		u128 slot, sum;
	} part[RL_SLOTS_MAX]; /* the last ones in which something was admitted */
};

struct slots_model slots_model(const struct rl_limit *limit);
u128 slots_model_slot(const struct slots_model *m, uint64_t now_ns);
u128 slots_model_sum(const struct slots_model *m, uint64_t now_ns);
bool slots_model_admits(const struct slots_model *m, uint64_t now_ns, uint64_t count);
void slots_model_take(struct slots_model *m, uint64_t now_ns, uint64_t count);

/* ---- sliding log */

struct log_model {
	uint64_t amount, period_ns;
	size_t count;
	uint64_t time_ns[2 * RL_SLIDING_LOG_MAX]; /* of the last admissions, oldest first */
};

void log_model_start(struct log_model *m, const struct rl_limit *limit);
size_t log_model_recent(const struct log_model *m, uint64_t now_ns);
bool log_model_admits(const struct log_model *m, uint64_t now_ns);
void log_model_take(struct log_model *m, uint64_t now_ns);

/* ---- warm-up; times in nanoseconds since start_ns, so that a long double keeps the grains */

struct warm_model {
	long double stable, threshold, max, slope, refill, burst;
	long double stored, next;
	uint64_t start_ns;
	bool seen;
};

struct warm_model warm_model(const struct rl_limit *limit, uint64_t now_ns);
bool warm_model_admits(const struct warm_model *m, uint64_t now_ns);
void warm_model_take(struct warm_model *m, uint64_t now_ns);

/* ---- traces */

/* Where the clock stands at first: where it has bits to lose. */
#define CLOCKS 7
extern const uint64_t clocks[CLOCKS];

struct trace {
	uint64_t now_ns;
	uint64_t period_ns, step_ns;  /* P, and P/N */
	unsigned int rush, rush_most; /* offers to come in a burst */
};

struct trace trace_start(const struct rl_limit *limit, uint64_t now_ns);
/* Time goes on, or stands still. edge_ns is an instant around which verdicts change. */
void trace_wait(struct trace *t, uint64_t edge_ns);
/* Returns the amount of the next packet when `left` would still fit. */
uint64_t trace_amount(const struct rl_limit *limit, uint64_t left);

#define RATE_TEXT_MAX 96

/* A rate that the parser lets through, of any size; "fixed-window" and the like before it. */
void random_rate(char *line, size_t size, const char *algorithm, bool packets, uint64_t amount_max);

/* The limit of a text; false where the parser refuses it. */
bool limit_parse(const char *text, struct rl_limit *out);

/* The test fails where the parser lets one of the texts through. */
void must_refuse(const char *const *texts, size_t count);
