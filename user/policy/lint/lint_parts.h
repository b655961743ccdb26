/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of lint: the policy that is looked at, questions about it, and limits compared with
 * each other. Pure. */
#pragma once

#include "algorithm/key_parts.h"
#include "policy/origin.h"
#include "policy/policy.h"

/* The rules of one prefix. */
struct group {
	const struct rule *first;
	size_t count;
};

#define group_for_each(group, item)                                                            \
	for (const struct rule *item = (group)->first; item < (group)->first + (group)->count; \
	     item++)

struct lint {
	const struct policy *policy;
	const struct policy_context *ctx;
	const struct policy_source *source;
	policy_warn_fn warn;
	void *arg;
	size_t warnings, most; /* how many there are, and that are said */
	unsigned int questions;
	struct group around[RL_NEST_MAX + 2]; /* groups whose prefixes hold the current one */
	size_t depth;
	struct policy wide; /* rules of wide prefixes and of the device that have an effect */
	int error;
};

/* ---- lint_parts.c: warnings */

void lint_warn(struct lint *lint, const struct rule *rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Lines of other rules, ascending. */
struct lines {
	uint32_t at[RL_GROUP_MAX * (RL_NEST_MAX + 1)];
	size_t count;
};

/* Warns of `rule`: BEFORE, the lines, AFTER. */
void lint_warn_of(struct lint *lint, const struct rule *rule, const char *before,
		  const struct lines *lines, const char *after);

/* ---- lint_parts.c: does a packet reach a rule past others? */

/* Lookup addresses: sources, or destinations where the instance goes by those. */
struct range {
	bool any; /* every address; else the prefix: */
	uint8_t addr[16], len;
};

/* The match that is about the lookup address. */
static inline enum rl_match_flag own_flag(bool by_dest)
{
	return by_dest ? RL_MATCH_DST : RL_MATCH_SRC;
}

/* The lookup addresses of the packets that have the match and the rule's prefix, and perhaps some
 * that the match leaves out. */
struct range range_of(const struct rule *prefix, const struct match *match, bool by_dest);

#define LINT_MARK 1 /* counter_id of the rule that a question is about; 0 in all others */

/* An address of IPv6, and one of IPv4. */
extern const uint8_t lint_addresses[2][16];

/* Does a packet with this lookup address reach the marked rule? The address is a member of the set
 * that the question is about, if it is about one. *error is -ENOMEM if memory ran out, else as it
 * was. */
bool mark_is_reached(struct policy *question, bool by_dest, const uint8_t addr[16], int *error);

/* The question: do packets of the range, for as long as for_ns, meet the marked rule at the end? */
struct way {
	struct policy rules;
	struct range range;
	uint64_t for_ns; /* 0: for ever */
};

/* Adds a rule that may stand in the way, if it does so for all addresses of the range. `as`: its
 * action in the question. */
void way_add(struct lint *lint, struct way *way, const struct rule *rule, enum rl_action as);

/* The answer, with `rule` as the marked one, which has the matches of `of`. An address of the range
 * that it does not want is left out of the question. Clears the way. */
bool way_ends_at(struct lint *lint, struct way *way, const struct rule *rule,
		 const struct rule *of);

/* ---- lint_limit.c: limits by themselves, and compared with each other */

static inline bool is_limit(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT;
}

/* The parts of a packet of which each value has a bucket of its own: none where all share one. */
static inline uint8_t limit_parts(const struct rl_limit *limit)
{
	return limit->share[0] ? 0 : key_parts(limit);
}

/* A limit that drops nothing. */
bool is_shadow(const struct rule *rule);

/* A limit on packets or bytes that drops. */
bool limits_packets(const struct rule *rule);

/* Is its prefix any, or the whole of IPv4 or of IPv6? Does it hold a single lookup address? */
bool is_wide(const struct rule *rule);
bool is_one_address(const struct rule *rule);

/* Is the rule in force for as long as one with the lifetime `for_ns`? */
static inline bool outlasts(const struct rule *rule, uint64_t for_ns)
{
	return !rule->for_ns || (for_ns && rule->for_ns >= for_ns);
}

/* Does a limit of a longer prefix take the place of `hidden`? It drops, and counts the same unit,
 * by the same key or all its packets together. */
bool limit_replaces(const struct rule *limit, const struct rule *hidden,
		    const struct policy_context *ctx);

/* Does a limit that replaces `hidden` let no more pass: neither in the long run nor at once, and
 * with a ban if `hidden` has one? One address may have what it likes. */
bool limit_is_as_strict(const struct rule *limit, const struct rule *hidden);

/* Warns of the limit, if it is one, that
 * - counts by ports which its protocol does not have,
 * - is of a payload, where no rule holds back fragments, which may have none,
 * - drops of a sender below its rate, because its burst is smaller than the default and than a few
 *   packets,
 * - has a share of which a part is of no use,
 * - is of some packets of unknown sources, where another has more of them: where that lets more
 *   pass, their sources become known by other packets; else this one refuses nothing. */
void lint_limit(struct lint *lint, const struct rule *rule);

/* Warns of each rule whose rate or burst is not that of the first rule of its account. */
void lint_accounts(struct lint *lint);

/* Warns of the first limit per source, by its line, of a flood of forged sources that no other
 * limits hold back. */
void lint_forged(struct lint *lint);
