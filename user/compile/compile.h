/* SPDX-License-Identifier: GPL-2.0-only */
/* Model to map entries and back. Pure: no system calls, time is a parameter. */
#pragma once

#include "compile/compiled.h"
#include "policy/policy.h"

/* Sets slot, limit id and expiry of every rule of `next`: those of the rule with the same identity
 * in `current` if there is one (the limit id only if the algorithm is the same), otherwise new
 * ones; and the id of its comment, a new one if the comment is new. keep_expiry: an expiry within
 * two seconds of the current one is kept, so that applying the output of `show` changes nothing.
 * Then fills *out for the half that is not in force. `header` is the one in force, or zero. 0,
 * -ENOMEM, or -E2BIG / -EOPNOTSUPP with *errors filled (their lines: the rules', 0 if there is
 * none). */
int policy_compile(struct policy *next, const struct policy *current,
		   const struct rl_policy_header *header, bool keep_expiry,
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_errors *errors);

/* The same for the rules of one prefix, which change from `current` to `next`; all other rules stay
 * in place. *out has the new rules, to be written after the others, the new header, and the prefix
 * with its new value (no prefix if `next` is empty or the prefix is a word). in_trie: the trie
 * holds the prefix, perhaps with expired rules only. 0, -ENOMEM, or -EAGAIN: the whole policy must
 * be written, because there is no room after its rules, because the change affects other prefixes,
 * or because of an error, which policy_compile reports.
 */
int prefix_compile(const struct rule *prefix, bool in_trie, struct policy *next,
		   const struct policy *current, const struct rl_policy_header *header,
		   const struct compile_context *ctx, struct compiled *out);

/* The most entries of the rules array that policy_compile makes of the policy. */
size_t compiled_rules_most(const struct policy *policy);

/* The key of a prefix in the trie. */
void prefix_key_compile(const struct rule *prefix, struct rl_prefix_key *out);

/* The guide, which packets read by bpf/algorithm/prefix_guide.h, says "may" of all addresses of the
 * prefix from now on; seed: that of the hot table. */
void prefix_guide_add(struct rl_prefix_guide *guide, const __u64 seed[2],
		      const struct rl_prefix_key *prefix);

/* Map entries to model, without rules that have expired by ctx->now_ns.
 * 0, -ENOMEM, or -EBADMSG if the maps contradict each other. */
int policy_decompile(const struct compiled *in, const struct compile_context *ctx,
		     struct policy *out);

/* The words of a set in the kernel; and the set, from them and its number. */
void set_compile(const struct policy_set *set, struct rl_set_words *out);
void set_decompile(const struct rl_set_words *in, uint32_t id, struct policy_set *out);

/* Where the rules of a range stand, and how many there are; `root` is that of a range with an
 * index. False: the maps contradict each other. */
bool range_extent(const struct rl_range *range, const struct rl_index_entry *root, uint32_t *first,
		  uint32_t *count);
