/* SPDX-License-Identifier: GPL-2.0-only */
/* Model to map entries and back. Pure: no system calls, time is a parameter. */
#ifndef RLCTL_COMPILE_H
#define RLCTL_COMPILE_H

#include "policy.h"

/* A policy as the maps hold it. */
struct compiled_prefix {
	struct rl_prefix_key key;
	struct rl_prefix_value value;
};

struct compiled {
	struct rl_policy_header header;
	struct rl_rule *rules; /* element 0 is half * capacity + first_rule in the map */
	uint32_t first_rule;   /* not 0 where one prefix changes: behind the rules that stay */
	uint32_t rule_count;
	struct compiled_prefix *prefixes;
	uint32_t prefix_count;
	uint32_t *fresh; /* slots that were not in use before: to be zeroed before the swap */
	size_t fresh_count;
	uint32_t shared_end; /* behind the last slot of rules that have a shared state, of both
			      * policies */
};

/* What an instance offers and what is in force there. */
struct compile_context {
	uint32_t rules_max;    /* elements of one half of the rules array */
	uint32_t prefixes_max; /* entries of a trie */
	uint32_t slots_max;    /* counter slots */
	uint32_t batches_max;  /* of these, from 0 on, that may have batches */
	uint64_t tick_ns;
	uint32_t cpus;          /* online: each holds its share; 1: no batches */
	uint32_t possible_cpus; /* that may hold a batch once they are online; >= cpus */
	bool share;             /* each CPU holds its share of every rate: --table cpu */
	bool hot;               /* buckets are in the hot table */
	enum rl_hook hook;
	uint32_t log_max;                  /* N of a sliding-log */
	uint64_t now_ns;                   /* CLOCK_MONOTONIC, what `for` counts from */
	const struct policy_context *text; /* for naming a rule in an error */
};

/* Gives every rule of `next` its slot, its limit id and its expiry: those of the rule with the same
 * identity in `current` where there is one (the limit id only if the algorithm is the same), new
 * ones otherwise. keep_expiry: an expiry within two seconds of the current one is left as it is, so
 * that feeding back what `show` printed changes nothing. Then fills *out for the half that is not
 * in force. `header` is the one in force (all zero when none is).
 * 0, -ENOMEM, or -E2BIG / -EINVAL with *err filled (err->line: the rule's, 0 if it has none). */
int policy_compile(struct policy *next, const struct policy *current,
		   const struct rl_policy_header *header, bool keep_expiry,
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_error *err);

/* The same for the rules of one prefix, which become `next` and were `current`; every other rule in
 * force stays where it is. *out has the rules to be written behind them, the header as it becomes,
 * and the prefix with its new value; neither where `next` is empty or the prefix is a word.
 * in_trie: the trie has the prefix, if only with rules that have expired. Also -EAGAIN: only the
 * whole policy can be written, because there is no room left behind its rules or because the change
 * concerns how others are held. */
int prefix_compile(const struct rule *prefix, bool in_trie, struct policy *next,
		   const struct policy *current, const struct rl_policy_header *header,
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_error *err);

/* The key of a prefix in the trie. */
void prefix_key_compile(const struct rule *prefix, struct rl_prefix_key *out);

/* The model of what the maps hold; rules that have expired by ctx->now_ns are left out.
 * 0, -ENOMEM, or -EBADMSG when the maps contradict one another. */
int policy_decompile(const struct compiled *in, const struct compile_context *ctx,
		     struct policy *out);

/* Appends the rules of one range, which are `count` entries, or of one prefix of the trie, whose
 * entries are those of its range. policy_sort() is to follow. 0, -ENOMEM or -EBADMSG. */
int range_decompile(const struct rule *prefix, const struct rl_rule *entries, uint32_t count,
		    uint64_t now_ns, struct policy *out);
int prefix_decompile(const struct compiled_prefix *prefix, const struct rl_rule *entries,
		     uint64_t now_ns, struct policy *out);

void compiled_clear(struct compiled *compiled);

/* The numbers that hold a packet to a limit; fields in rlctl_abi.h, arithmetic in bpf/algorithm/.
 * numbers_compile chooses the clock and the one that the algorithm needs. */
void gcra_compile(const struct rl_limit *limit, struct rl_gcra *out);
void window_compile(const struct rl_limit *limit, struct rl_window *out);
void warm_up_compile(const struct rl_limit *limit, struct rl_warm_up *out);
void numbers_compile(const struct rl_limit *limit, const struct compile_context *ctx,
		     struct rl_rule *out);

/* Is it a queue at egress, a leaky bucket that holds packets up until they may leave? Elsewhere,
 * and where what is over it passes, it only measures. */
bool limit_paces(const struct rl_limit *limit, enum rl_hook hook);

/* Which clock a limit is held by: the precise one where it paces, else the tick clock where a burst
 * (queue, window) spans >= 16 ticks, or the interval of a warm-up 128.
 */
enum rl_clock clock_choose(const struct rl_limit *limit, enum rl_hook hook, uint64_t tick_ns);

#endif
