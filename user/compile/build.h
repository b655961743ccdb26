/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of the compiler, for user/compile/ only: a compilation under way, and its steps. They
 * return 0, -ENOMEM, or another negative errno after which the compilation cannot continue; errors
 * of single rules are added to b->errors, and the compilation continues to find more of them.
 */
#pragma once

#include "compile/compiled.h"
#include "policy/policy.h"

struct build {
	const struct compile_context *ctx;
	struct compiled *out;
	const struct policy *current; /* in force */
	const struct policy *next; /* whose sets have their numbers, and whose alarms rules name */
	struct policy_errors *errors;
	int error;           /* of the first of them; 0: none */
	uint32_t base;       /* index of out->rules[0] in the rules array */
	uint32_t rules_most; /* of the policy, in its half */
	unsigned char *used; /* one bit per slot: in use by the current or the next policy */
	uint32_t next_slot;
	uint32_t slots_end;        /* after the last slot of both policies */
	struct rl_filters filters; /* those of the program, and of this policy */
};

/* Adds an error: "RULE: TEXT"; the rule may be NULL. Returns `error`. */
int build_refuse(struct build *b, const struct rule *rule, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The rules array has no room for the policy. */
void build_refuse_room(struct build *b);

/* ---- inherit.c: rules of the next policy keep state of the current one */

/* Sets slot, limit id and expiry of every rule. */
int rules_inherit(struct build *b, struct policy *next, const struct policy *current,
		  bool keep_expiry);

/* Sets the lane of every rule. */
void lanes_choose(struct policy *next);

/* ---- emit.c: rules and prefixes as map entries */

int rules_emit(struct build *b, const struct policy *policy);

/* The most entries of the rules array that the policy takes. */
size_t rules_emitted_most(const struct policy *policy);

/* The rule by which an alarm counts. */
void counting_emit(struct build *b, const struct rule *rule, bool bytes);

/* Is the prefix fe80::/10? A rule for it may apply to neighbour discovery of any address. */
bool is_link_local_prefix(const struct rule *rule);

/* ---- conditions.c: what packets compare as numbers (include/abi/policy.h: rl_condition), and
 * `while` after rules */

/* Bits of the packet that stand for what a rule names. */
struct condition_bits {
	uint32_t filter;   /* RL_MATCH_FILTER: 0..RL_FILTERS_MAX - 1 */
	uint32_t src, dst; /* sets: 0..RL_SETS_MAX - 1 */
};

/* Returns how many there are. */
uint32_t conditions_make(const struct rule *rule, const struct condition_bits *bits,
			 struct rl_condition out[RL_CONDITIONS_MAX]);

/* Most elements of the map `extras` that the rule may take. */
uint32_t conditions_extras_most(const struct rule *rule);

bool rule_has_while(const struct rule *rule);

/* Is there nothing in it but `while`? Packets do not read such a one. */
bool extra_is_while(const struct rule *rule);

/* Notes `while` of the rule in its entry. Refuses an alarm that the policy lacks. */
void while_emit(struct build *b, const struct rule *rule, struct rl_rule *entry);

/* ---- set_groups.c: the sets of a policy as map entries, their numbers and groups of rules */

/* Gives every set of `next` its number: that of the same name in b->ctx->sets, else one that no set
 * has. */
int sets_inherit(struct build *b, struct policy *next);

/* The bits of the sets that the rule's matches name, and in the limit the number of that for which
 * it keeps a part: packets then look for them. */
void sets_emit(struct build *b, const struct rule *rule, struct rl_limit *limit,
	       struct condition_bits *out);

/* Where the group of rules for the members of a set is to be noted. */
struct rl_range *set_group(struct build *b, const struct rule *rule);

/* Refuses a policy in which one packet could meet more than RL_GROUP_MAX limits of sets and of one
 * prefix together: an address may be a member of all sets. */
int sets_check(struct build *b, const struct policy *policy);

/* ---- index.c: a prefix with more rules than packets are asked one by one */

/* Makes its index: its rules are element `begin` of the rules array and those after it, allow
 * before deny before limits. Refuses rules of which a packet could meet too many. */
int group_index(struct build *b, const struct rule *first, size_t count, uint32_t begin);

/* Refuses limits of which a packet could meet more than RL_GROUP_MAX; those of a prefix come first.
 * 0, or -ENOMEM; errors are added. */
int limits_check(struct build *b, const struct rule *const *rules, size_t count);

/* ---- known_by.c: which packets make their source known, and the alarms while which none does */

/* Emits the matches that rules have beside `new-source`, each once, unless one has none or they are
 * more than RL_KNOWN_BY_MAX; header.known_by and header.guards. 0, or -ENOMEM; errors are
 * added. */
int known_by_emit(struct build *b, const struct policy *policy);

/* Has a rule of the prefix a part in that, beside the header in force? Then the policy is written
 * as a whole. */
bool known_by_changes(const struct policy *prefix, const struct rl_policy_header *header);

/* ---- alarm_emit.c: the alarms of a policy as map entries */

/* Writes the rules by which alarms count, and their words, into b->out: the number of an alarm is
 * its place in the policy. 0, or -ENOMEM; errors are added. */
int alarms_emit(struct build *b, const struct policy *policy);

/* ---- refusals.c: which refusals the data path remembers */

/* Marks the rules whose refusals it remembers, and says in the header for which packets. */
void refusals_choose(struct build *b);

/* ---- parts.c: `share` and `keep`, as the data path uses them: bpf/limit/backend_parts.h */

/* Has the limit one of them? */
bool limit_has_parts(const struct rl_limit *limit);

/* Does it ask whether a source is known? */
bool limit_asks_known(const struct rl_limit *limit);

/* The parts of the data path that it needs: RL_USE_*. */
uint64_t parts_uses(const struct rl_limit *limit);

/* The numbers of a limit beside those of its bucket. */
void parts_compile(const struct rl_limit *limit, const struct compile_context *ctx,
		   struct rl_parts *out);

/* Once all rules are emitted: which element of rl_shares each limit has, and which bins. */
void parts_number(struct build *b);

/* ---- connections.c: limits on open connections, beside compiled.h: connection_limit_compile() */

/* Once all rules are emitted: refuses more of them than there is room for. */
void connections_number(struct build *b);
