// SPDX-License-Identifier: GPL-2.0-only
/* Model to map entries: a whole policy, or the rules of one prefix. inherit.c decides what a rule
 * keeps, emit.c writes entries, numbers.c computes those of a limit; decompile.c is the reverse.
 */
#include "compile/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compile/build.h"
#include "compile/numbers.h"
#include "policy/policy.h"

/* Prefixes are in ascending order, shorter first: the stack holds those around the current one. */
static int check_nesting(struct build *b)
{
	const struct rl_prefix_key *stack[RL_NEST_MAX];
	uint32_t depth = 0;

	for (uint32_t i = 0; i < b->out->prefix_count; i++) {
		const struct rl_prefix_key *key = &b->out->prefixes[i].key;

		while (depth &&
		       (stack[depth - 1]->family != key->family ||
			stack[depth - 1]->len > key->len ||
			!prefix_contains(stack[depth - 1]->addr,
					 stack[depth - 1]->len - RL_FAMILY_BITS, key->addr)))
			depth--;
		if (depth == RL_NEST_MAX)
			return build_refuse(b, NULL, -E2BIG,
					    "too many nested prefixes (at most %u): remove some of "
					    "the prefixes around the longest one",
					    RL_NEST_MAX);
		stack[depth++] = key;
	}
	return 0;
}

static size_t extras_count(const struct policy *policy)
{
	size_t count = 0;

	policy_for_each (policy, rule)
		count += conditions_extras_most(rule);
	for (size_t i = 0; i < policy->alarm_count; i++)
		count += conditions_extras_most(&policy->alarms[i].counts);
	return count;
}

/* Those that make a source known are beside them. */
size_t compiled_rules_most(const struct policy *policy)
{
	return policy->count + policy->alarm_count + RL_KNOWN_BY_MAX;
}

/* How large a half of the array is to be: with room for changes of single prefixes, which come
 * after the rules, for without it all is written anew; but for that alone it grows only where it
 * may. It doubles, so that the half in force is before the second one, wherever it is. */
static uint32_t rules_room(const struct policy *next, const struct compile_context *ctx)
{
	size_t wanted = rules_emitted_most(next);
	uint32_t room = ctx->rules_room ?: ctx->rules_max;

	if (!ctx->rules_stay)
		wanted += wanted / 2 + next->count / 16;
	while (room < wanted && room < ctx->rules_max)
		room *= 2;
	return room;
}

static int build_allocate(struct build *b, const struct policy *next)
{
	size_t rules = compiled_rules_most(next);
	size_t extras = extras_count(next) + 2 * RL_KNOWN_BY_MAX;

	b->out->rules = calloc(rules, sizeof(*b->out->rules));
	b->out->prefixes = calloc(next->count + 1, sizeof(*b->out->prefixes));
	b->out->extras = calloc(extras, sizeof(*b->out->extras));
	b->out->fresh = calloc(next->count + 1, sizeof(*b->out->fresh));
	b->used = calloc(b->ctx->slots_max / 8 + 1, 1);
	return b->out->rules && b->out->extras && b->out->prefixes && b->out->fresh && b->used
		       ? 0
		       : -ENOMEM;
}

static void header_next(const struct rl_policy_header *current, struct rl_policy_header *next)
{
	*next = (struct rl_policy_header){
		.generation = current->generation + 1,
		.next_limit_id = current->next_limit_id ? current->next_limit_id : 1,
		.next_comment_id = current->next_comment_id,
		.half = !current->half,
		.shortest4 = RL_LENGTH_NONE,
		.shortest6 = RL_LENGTH_NONE,
		.written = current->generation + 1,
	};
}

/* The steps that policy_compile and prefix_compile share. */
static int build(struct build *b, struct policy *next, const struct policy *current,
		 bool keep_expiry)
{
	struct rl_policy_header *header = &b->out->header;
	int ret = build_allocate(b, next);

	b->current = current;
	b->next = next;
	if (b->ctx->filters)
		b->filters = *b->ctx->filters;
	ret = ret ?: sets_inherit(b, next) ?: rules_inherit(b, next, current, keep_expiry);
	if (!ret) {
		lanes_choose(next);
		ret = rules_emit(b, next) ?: known_by_emit(b, next) ?: alarms_emit(b, next);
	}
	if (!ret) {
		parts_number(b);
		connections_number(b);
		ret = b->error;
	}
	if (!ret) {
		refusals_choose(b);
		header->rules = b->out->first_rule + b->out->rule_count;
		if (b->slots_end > header->next_counter_id)
			header->next_counter_id = b->slots_end;
	}
	free(b->used);
	return ret;
}

int policy_compile(struct policy *next, const struct policy *current,
		   const struct rl_policy_header *header, bool keep_expiry,
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_errors *errors)
{
	struct compiled result = {0};
	struct build b = {.ctx = ctx, .out = &result, .errors = errors};
	int ret;

	errors->count = 0;
	header_next(header, &result.header);
	result.rules_room = rules_room(next, ctx);
	b.base = header->rules_begin < result.rules_room ? result.rules_room : 0;
	b.rules_most = ctx->rules_max;
	result.header.rules_begin = b.base;
	ret = build(&b, next, current, keep_expiry) ?: check_nesting(&b) ?:
	      sets_check(&b, next) ?: b.error;
	if (ret)
		compiled_clear(&result);
	else
		*out = result;
	return ret;
}

/* ---- one prefix in place */

/* Upper bound on how deep prefixes of a family nest: the number of their lengths. */
static int nesting_bound(const __u64 lengths[3])
{
	return __builtin_popcountll(lengths[0]) + __builtin_popcountll(lengths[1]) +
	       __builtin_popcountll(lengths[2]);
}

/* Are the entries of all other prefixes still right with the new header? */
static bool others_stay_valid(const struct rl_policy_header *before,
			      const struct rl_policy_header *after)
{
	return !(after->uses & ~before->uses & RL_USE_SOURCE_BANS) &&
	       nesting_bound(after->lengths[0]) <= RL_NEST_MAX &&
	       nesting_bound(after->lengths[1]) <= RL_NEST_MAX;
}

/* New rules get ascending slots; writing the whole policy reuses free ones. Is that due: would the
 * rules need another chunk although most slots are free? */
static bool slots_need_compaction(const struct rl_policy_header *header, const struct policy *next,
				  const struct compile_context *ctx)
{
	uint32_t end = header->next_counter_id + next->count;

	return end > ctx->batches_max && end / 2 > header->prefixes + header->rules &&
	       (header->next_counter_id - 1) >> RL_CHUNK_SHIFT != (end - 1) >> RL_CHUNK_SHIFT;
}

/* The uses of the policy's rules that are only in the programs of policies with them. */
static uint64_t program_uses_of(const struct policy *policy, const struct compile_context *ctx)
{
	uint64_t uses = 0;

	policy_for_each (policy, rule) {
		uses |= rule_uses(rule) | (rule->kind == PREFIX_ADDR ? RL_USE_PREFIXES : 0);
		if (rule->action == RL_ACTION_LIMIT)
			uses |= limit_state_uses(&rule->limit, ctx);
	}
	return uses & RL_USE_PROGRAM;
}

/* How many rules the half in force has room for. */
static uint32_t half_room(const struct rl_policy_header *header, const struct compile_context *ctx)
{
	uint32_t room = ctx->rules_room ?: ctx->rules_max;
	uint32_t own = (header->rules_begin < room ? room : 2 * room) - header->rules_begin;

	return own < ctx->rules_max ? own : ctx->rules_max;
}

static bool has_limit(const struct policy *policy)
{
	policy_for_each (policy, rule)
		if (rule->action == RL_ACTION_LIMIT)
			return true;
	return false;
}

static void prefix_remove(const struct rule *prefix, bool in_trie, struct rl_policy_header *header)
{
	if (prefix->kind == PREFIX_ANY)
		header->any = (struct rl_range){0};
	else if (prefix->kind == PREFIX_DEVICE)
		header->device = (struct rl_range){0};
	else if (in_trie)
		header->prefixes--;
}

int prefix_compile(const struct rule *prefix, bool in_trie, struct policy *next,
		   const struct policy *current, const struct rl_policy_header *header,
		   const struct compile_context *ctx, struct compiled *out)
{
	struct compiled result = {
		.header = *header, .first_rule = header->rules, .rules_room = ctx->rules_room};
	struct policy_errors errors = {0};
	struct build b = {.ctx = ctx, .out = &result, .errors = &errors};
	uint64_t ended = program_uses_of(current, ctx) & ~program_uses_of(next, ctx);
	int ret;

	prefix_remove(prefix, in_trie, &result.header);
	if (result.header.prefixes)
		ended &= ~RL_USE_TABLES; /* which others may use */
	if (ended)
		return -EAGAIN; /* the program may no longer need it: look at all rules */
	if (prefix->kind == PREFIX_ADDR && !header->prefixes)
		return -EAGAIN; /* there is no trie */
	if (prefix->kind == PREFIX_SET || (header->uses & RL_USE_SET_RULES && has_limit(next)))
		return -EAGAIN; /* groups of sets are written as a whole, and limits of both count
				 */
	if (is_link_local_prefix(prefix))
		return -EAGAIN; /* neighbour discovery of other prefixes may depend on it */
	if (RL_REFUSES_CLASS(header) && has_limit(next))
		return -EAGAIN; /* which class is remembered depends on all rules */
	if (program_uses_of(next, ctx) & (RL_USE_PARTS | RL_USE_CONNECTIONS))
		return -EAGAIN; /* they are numbered together */
	if (extras_count(next))
		return -EAGAIN; /* theirs are written with the whole policy */
	if (known_by_changes(current, header) || known_by_changes(next, header))
		return -EAGAIN; /* that is of all rules together */
	if (next->count > RL_GROUP_MAX || current->count > RL_GROUP_MAX)
		return -EAGAIN; /* the index is written as a whole */
	if (slots_need_compaction(header, next, ctx))
		return -EAGAIN;
	b.base = header->rules_begin + header->rules;
	b.rules_most = half_room(header, ctx);
	b.next_slot = header->next_counter_id;
	result.header.generation++;
	ret = build(&b, next, current, false);
	if (errors.count || (!ret && !others_stay_valid(header, &result.header)))
		ret = -EAGAIN; /* policy_compile finds room, or reports the error */
	if (ret)
		compiled_clear(&result);
	else
		*out = result;
	return ret;
}

void compiled_clear(struct compiled *compiled)
{
	free(compiled->rules);
	free(compiled->extras);
	free(compiled->prefixes);
	free(compiled->fresh);
	free(compiled->groups);
	free(compiled->alarms);
	index_clear(&compiled->index);
	memset(compiled, 0, sizeof(*compiled));
}
