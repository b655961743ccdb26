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
	uint32_t first_rule;   /* not 0 if one prefix is compiled: after the rules that stay */
	uint32_t rule_count;
	struct compiled_prefix *prefixes;
	uint32_t prefix_count;
	uint32_t *fresh; /* slots that were not in use: zero their counters before the swap */
	size_t fresh_count;
	uint32_t shared_end; /* after the last slot with a shared state, of both policies */
};

/* Properties and capacities of an instance. */
struct compile_context {
	uint32_t rules_max;    /* elements of one half of the rules array */
	uint32_t prefixes_max; /* entries of a trie */
	uint32_t slots_max;    /* counter slots */
	uint32_t batches_max;  /* slots below this one may have batches */
	uint64_t tick_ns;
	uint32_t cpus;          /* online; 1: no batches */
	uint32_t possible_cpus; /* may come online and take a batch; >= cpus */
	bool share;             /* --table cpu: each CPU enforces its share of every rate */
	bool hot;               /* buckets are in the hot table */
	enum rl_hook hook;
	uint32_t log_max;                  /* packets in a sliding-log */
	uint64_t now_ns;                   /* CLOCK_MONOTONIC; `for` counts from here */
	const struct policy_context *text; /* to print rules in errors */
};

/* Sets slot, limit id and expiry of every rule of `next`: those of the rule with the same identity
 * in `current` if there is one (the limit id only if the algorithm is the same), otherwise new
 * ones. keep_expiry: an expiry within two seconds of the current one is kept, so that applying the
 * output of `show` changes nothing. Then fills *out for the half that is not in force. `header` is
 * the one in force, or zero. 0, -ENOMEM, or -E2BIG / -EOPNOTSUPP with *err filled (err->line: the
 * rule's, 0 if it has none). */
int policy_compile(struct policy *next, const struct policy *current,
		   const struct rl_policy_header *header, bool keep_expiry,
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_error *err);

/* The same for the rules of one prefix, which change from `current` to `next`; all other rules stay
 * in place. *out has the new rules, to be written after the others, the new header, and the prefix
 * with its new value (no prefix if `next` is empty or the prefix is a word). in_trie: the trie
 * holds the prefix, perhaps with expired rules only. Also -EAGAIN: the whole policy must be
 * written, because there is no room after its rules or because the change affects other prefixes.
 */
int prefix_compile(const struct rule *prefix, bool in_trie, struct policy *next,
		   const struct policy *current, const struct rl_policy_header *header,
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_error *err);

/* The key of a prefix in the trie. */
void prefix_key_compile(const struct rule *prefix, struct rl_prefix_key *out);

/* Map entries to model, without rules that have expired by ctx->now_ns.
 * 0, -ENOMEM, or -EBADMSG if the maps contradict each other. */
int policy_decompile(const struct compiled *in, const struct compile_context *ctx,
		     struct policy *out);

/* Append the rules of one range (`count` entries), or of one prefix of the trie (the entries of its
 * range). Call policy_sort() afterwards. 0, -ENOMEM or -EBADMSG. */
int range_decompile(const struct rule *prefix, const struct rl_rule *entries, uint32_t count,
		    uint64_t now_ns, struct policy *out);
int prefix_decompile(const struct compiled_prefix *prefix, const struct rl_rule *entries,
		     uint64_t now_ns, struct policy *out);

void compiled_clear(struct compiled *compiled);

/* The numbers of a limit as the data path uses them; fields in rlctl_abi.h, arithmetic in
 * bpf/algorithm/. numbers_compile chooses the clock and fills the numbers of the algorithm. */
void gcra_compile(const struct rl_limit *limit, struct rl_gcra *out);
void window_compile(const struct rl_limit *limit, struct rl_window *out);
void warm_up_compile(const struct rl_limit *limit, struct rl_warm_up *out);
void numbers_compile(const struct rl_limit *limit, const struct compile_context *ctx,
		     struct rl_rule *out);

/* Is it a leaky bucket that delays packets? Only at egress, and not if packets over it pass. */
bool limit_paces(const struct rl_limit *limit, enum rl_hook hook);

/* The clock of a limit: precise if it paces; otherwise the tick clock if a burst (queue, window)
 * spans at least 16 ticks, or the interval of a warm-up at least 128. */
enum rl_clock clock_choose(const struct rl_limit *limit, enum rl_hook hook, uint64_t tick_ns);

#endif
