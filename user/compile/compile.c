// SPDX-License-Identifier: GPL-2.0-only
/* Model to map entries. What a rule keeps across a swap is decided in inherit(); how prefixes
 * become groups and plain verdicts in emit_*(). And back: decompile.c.
 */

#include "compile.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"
#include "units.h"

#define HOME_LEN6       64 /* what an instance goes by: numbers.c, is_lookup_address */
#define EXPIRY_SLACK_NS (2 * NS_PER_SECOND)

/* A compilation under way. */
struct build {
	const struct compile_context *ctx;
	struct compiled *out;
	struct policy_error *err;
	uint32_t base;       /* where out->rules begin in the rules array */
	unsigned char *used; /* a bit for every slot that the current or the next policy has */
	uint32_t next_slot;
	uint32_t slots_end; /* behind the last slot of both policies */
};

static int refuse(struct build *b, const struct rule *rule, int error, const char *what,
		  uint32_t most, const char *remedy)
{
	char text[RULE_TEXT_MAX] = "";

	if (rule)
		rule_print(text, sizeof(text), rule, b->ctx->text);
	b->err->line = rule ? rule->line : 0;
	b->err->column = 1;
	snprintf(b->err->text, sizeof(b->err->text), "%.160s%s%s (at most %u): %s", text,
		 rule ? ": " : "", what, most, remedy);
	return error;
}

static int refuse_plain(struct build *b, const struct rule *rule, int error, const char *what)
{
	char text[RULE_TEXT_MAX] = "";

	rule_print(text, sizeof(text), rule, b->ctx->text);
	b->err->line = rule->line;
	b->err->column = 1;
	snprintf(b->err->text, sizeof(b->err->text), "%.160s: %s", text, what);
	return error;
}

/* ---- what a rule keeps */

static bool slot_taken(const struct build *b, uint32_t slot)
{
	return b->used[slot / 8] & 1 << slot % 8;
}

static void shared_reach(struct build *b, const struct rule *rule)
{
	bool shared = rule->action == RL_ACTION_LIMIT && rule->limit.key == RL_KEY_RULE;

	if (shared && rule->counter_id >= b->out->shared_end)
		b->out->shared_end = rule->counter_id + 1;
}

static void slot_mark(struct build *b, uint32_t slot)
{
	if (slot >= b->ctx->slots_max)
		return;
	b->used[slot / 8] |= 1 << slot % 8;
	if (slot >= b->slots_end)
		b->slots_end = slot + 1;
}

static int slot_new(struct build *b, struct rule *rule)
{
	while (b->next_slot < b->ctx->slots_max && slot_taken(b, b->next_slot))
		b->next_slot++;
	if (b->next_slot == b->ctx->slots_max)
		return refuse(b, rule, -E2BIG, "too many rules", b->ctx->slots_max,
			      "use `attach --replace` with a larger --prefixes");
	rule->counter_id = b->next_slot;
	slot_mark(b, rule->counter_id);
	b->out->fresh[b->out->fresh_count++] = rule->counter_id;
	return 0;
}

/* Slots of another length mean another time: such a state is of no use to the new limit. */
static bool same_state(const struct rule *a, const struct rule *b)
{
	if (a->action != RL_ACTION_LIMIT || b->action != RL_ACTION_LIMIT ||
	    a->limit.algorithm != b->limit.algorithm)
		return false;
	return a->limit.algorithm != RL_SLIDING_WINDOW ||
	       (a->limit.slots == b->limit.slots && a->limit.period_ns == b->limit.period_ns);
}

static void expiry_set(struct rule *rule, const struct rule *old, bool keep, uint64_t now_ns)
{
	uint64_t late;

	if (!rule->for_ns || rule->expires_ns)
		return;
	rule->expires_ns = now_ns + rule->for_ns;
	if (!keep || !old || !old->expires_ns)
		return;
	late = rule->expires_ns > old->expires_ns ? rule->expires_ns - old->expires_ns
						  : old->expires_ns - rule->expires_ns;
	if (late <= EXPIRY_SLACK_NS)
		rule->expires_ns = old->expires_ns;
}

static int inherit(struct build *b, struct policy *next, const struct policy *current, bool keep)
{
	policy_for_each (current, rule) {
		slot_mark(b, rule->counter_id);
		shared_reach(b, rule);
	}
	policy_for_each (next, rule) {
		const struct rule *old = policy_find(current, rule);
		int ret = 0;

		expiry_set(rule, old, keep, b->ctx->now_ns);
		rule->lane = old ? old->lane : RL_LANES;
		if (old)
			rule->counter_id = old->counter_id;
		else
			ret = slot_new(b, rule);
		if (ret)
			return ret;
		shared_reach(b, rule);
		rule->limit_id = 0;
		if (rule->action == RL_ACTION_LIMIT)
			rule->limit_id = old && same_state(old, rule)
						 ? old->limit_id
						 : b->out->header.next_limit_id++;
	}
	return 0;
}

static bool same_prefix(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && a->len == b->len && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

/* The first from `begin` on. Where there is none the prefix has more rules than it may have, which
 * is for emit_group to say. */
static uint8_t lane_with_room(const uint32_t used[RL_LANES], uint8_t begin)
{
	for (uint8_t i = 0; i < RL_LANES; i++) {
		uint8_t lane = (begin + i) % RL_LANES;

		if (used[lane] < RL_HOT_WAYS)
			return lane;
	}
	return begin;
}

/* Rules of one prefix that are new take the first lane with room; those of `device` begin in the
 * middle, because they meet those of every prefix. */
static void group_lanes(struct rule *first, const struct rule *end)
{
	uint8_t begin = first->kind == PREFIX_DEVICE ? RL_LANES / 2 : 0;
	uint32_t used[RL_LANES] = {0};

	for (struct rule *rule = first; rule < end; rule++)
		if (rule->lane < RL_LANES)
			used[rule->lane]++;
	for (struct rule *rule = first; rule < end; rule++) {
		if (rule->lane < RL_LANES)
			continue;
		rule->lane = lane_with_room(used, begin);
		used[rule->lane]++;
	}
}

static void lanes_choose(struct policy *next)
{
	struct rule *rules = next->rules;

	for (size_t i = 0, first = 0; i < next->count; first = i) {
		while (i < next->count && same_prefix(&rules[i], &rules[first]))
			i++;
		group_lanes(&rules[first], &rules[i]);
	}
}

/* ---- rules to map entries */

static bool is_link_local_prefix(const struct rule *rule)
{
	static const uint8_t link_local[16] = {0xfe, 0x80};

	return rule->kind == PREFIX_ADDR && rule->len == 10 &&
	       !memcmp(rule->addr, link_local, sizeof(link_local));
}

/* Does the rule name ICMPv6 for fe80::/10, and thereby neighbour discovery? */
static bool rule_means_neighbours(const struct rule *rule)
{
	return is_link_local_prefix(rule) && rule->match.flags & RL_MATCH_PROTO &&
	       rule->match.proto == IPPROTO_ICMPV6;
}

/* What the packet or the instance has to do more because of this rule. */
static uint32_t rule_uses(const struct rule *rule)
{
	const struct rl_limit *limit = &rule->limit;
	uint32_t uses = rule->match.flags & RL_MATCH_NEW_SOURCE ? RL_USE_NEW_SOURCE : 0;

	if (rule_means_neighbours(rule))
		uses |= RL_USE_NEIGHBOURS;
	if (rule->action != RL_ACTION_LIMIT)
		return uses;
	if (limit->fleet)
		uses |= RL_USE_FLEET;
	if (limit->over == RL_OVER_BAN)
		uses |= RL_USE_BANS | (limit->ban_source ? RL_USE_SOURCE_BANS : 0);
	if (limit->algorithm == RL_SLIDING_WINDOW)
		uses |= RL_USE_WINDOWS;
	else if (limit->algorithm == RL_SLIDING_LOG)
		uses |= RL_USE_LOGS;
	else if (limit->key == RL_KEY_SOURCE_DEST || limit->key == RL_KEY_FLOW)
		uses |= RL_USE_FLOWS;
	return uses;
}

static void emit_rule(struct build *b, const struct rule *rule)
{
	struct rl_rule *entry = &b->out->rules[b->out->rule_count++];

	b->out->header.uses |= rule_uses(rule);
	*entry = (struct rl_rule){
		.action = rule->action,
		.limit_id = rule->limit_id,
		.counter_id = rule->counter_id,
		.expires_ns = rule->expires_ns,
		.match = rule->match,
		.limit = rule->limit,
	};
	if (rule->action != RL_ACTION_LIMIT)
		return;
	numbers_compile(&rule->limit, b->ctx, entry);
	entry->flags |= rule->lane << RL_RULE_LANE_SHIFT;
	entry->generation = b->out->header.generation;
}

/* What the language has and this instance has not. */
static int check_rule(struct build *b, const struct rule *rule)
{
	if (rule->limit.fleet && b->ctx->share)
		return refuse_plain(b, rule, -EOPNOTSUPP,
				    "fleet does not work with --table cpu: detach, then attach "
				    "with --table hot or lru");
	if (rule->limit.fleet && rule->limit.algorithm == RL_FIXED_WINDOW &&
	    rule->limit.period_ns < NS_PER_SECOND)
		return refuse_plain(
			b, rule, -EOPNOTSUPP,
			"fixed-window with fleet has too short a period: write 1s or more");
	if (rule->limit.algorithm == RL_SLIDING_LOG && rule->limit.amount > b->ctx->log_max)
		return refuse(b, rule, -E2BIG, "too many packets for sliding-log", b->ctx->log_max,
			      "detach, then attach with a larger --log-depth");
	return 0;
}

static enum rl_match_mode match_mode_of(const struct rule *first, size_t count)
{
	for (const struct rule *rule = first; rule < first + count; rule++)
		if (rule->action != RL_ACTION_LIMIT || rule->expires_ns ||
		    rule->match.flags != first->match.flags)
			return RL_MATCH_MODE_EACH;
	if (first->match.flags == RL_MATCH_NEW_SOURCE)
		return RL_MATCH_MODE_NEW_SOURCE;
	return first->match.flags ? RL_MATCH_MODE_EACH : RL_MATCH_MODE_NONE;
}

/* The rules of one prefix, in the order in which the packet meets them. */
static int emit_group(struct build *b, const struct rule *first, size_t count,
		      struct rl_range *range)
{
	if (count > RL_GROUP_MAX)
		return refuse(b, first + RL_GROUP_MAX, -E2BIG, "too many rules for one prefix",
			      RL_GROUP_MAX, "merge ports into ranges, or use a longer prefix");
	if (b->out->first_rule + b->out->rule_count + count > b->ctx->rules_max)
		return refuse(b, first, -E2BIG, "too many limits and rules with matches",
			      b->ctx->rules_max, "detach, then attach with a larger --prefixes");
	for (const struct rule *rule = first; rule < first + count; rule++) {
		int ret = check_rule(b, rule);

		if (ret)
			return ret;
	}
	range->first = b->base + b->out->rule_count;
	range->count = count;
	range->match_mode = match_mode_of(first, count);
	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT; action++)
		for (const struct rule *rule = first; rule < first + count; rule++)
			if (rule->action == action)
				emit_rule(b, rule);
	return 0;
}

/* ---- which lengths prefixes have */

static __u64 *family_lengths(struct rl_policy_header *header, const struct rule *prefix)
{
	return header->lengths[!prefix_is_ipv4(prefix->addr, prefix->len)];
}

static void length_note(struct rl_policy_header *header, const struct rule *prefix)
{
	bool ipv4 = prefix_is_ipv4(prefix->addr, prefix->len);
	uint8_t *shortest = ipv4 ? &header->shortest4 : &header->shortest6;

	family_lengths(header, prefix)[prefix->len / 64] |= 1ull << prefix->len % 64;
	if (RL_FAMILY_BITS + prefix->len < *shortest)
		*shortest = RL_FAMILY_BITS + prefix->len;
}

/* So many prefixes of a family may lie inside one another, at most. */
static int nesting_bound(const __u64 lengths[3])
{
	return __builtin_popcountll(lengths[0]) + __builtin_popcountll(lengths[1]) +
	       __builtin_popcountll(lengths[2]);
}

static bool is_plain(const struct rule *rule, size_t count)
{
	return count == 1 && rule->action != RL_ACTION_LIMIT && !rule->match.flags;
}

void prefix_key_compile(const struct rule *prefix, struct rl_prefix_key *out)
{
	*out = (struct rl_prefix_key){
		.len = RL_FAMILY_BITS + prefix->len,
		.family = prefix_is_ipv4(prefix->addr, prefix->len) ? 4 : 6,
	};
	memcpy(out->addr, prefix->addr, sizeof(out->addr));
}

/* The prefixes that the trie has are those that are written, and that stay. */
static int emit_prefix(struct build *b, const struct rule *rule, size_t count)
{
	struct compiled_prefix *prefix = &b->out->prefixes[b->out->prefix_count];

	if (b->out->header.prefixes == b->ctx->prefixes_max)
		return refuse(b, rule, -E2BIG, "too many prefixes", b->ctx->prefixes_max,
			      "use `attach --replace` with a larger --prefixes");
	b->out->header.prefixes++;
	b->out->prefix_count++;
	prefix_key_compile(rule, &prefix->key);
	prefix->value.len = prefix->key.len;
	length_note(&b->out->header, rule);
	if (!is_plain(rule, count))
		return emit_group(b, rule, count, &prefix->value.range);
	prefix->value.action = rule->action;
	prefix->value.expires_ns = rule->expires_ns;
	prefix->value.counter_id = rule->counter_id;
	return 0;
}

static int emit(struct build *b, const struct policy *policy)
{
	for (size_t i = 0, count; i < policy->count; i += count) {
		const struct rule *rule = &policy->rules[i];
		int ret;

		for (count = 1; i + count < policy->count; count++)
			if (!same_prefix(rule, rule + count))
				break;
		if (rule->kind == PREFIX_DEVICE)
			ret = emit_group(b, rule, count, &b->out->header.device);
		else if (rule->kind == PREFIX_ANY)
			ret = emit_group(b, rule, count, &b->out->header.any);
		else
			ret = emit_prefix(b, rule, count);
		if (ret)
			return ret;
	}
	return 0;
}

/* Refusals of what rules may stand (bpf/refusal.h): those of the first that a group's packets
 * meet, if nothing that comes before it can drop or count a packet in its place. */
static bool rule_refusal_cached(const struct build *b, const struct rl_rule *rule)
{
	bool slow =
		rule->clock == RL_CLOCK_TICK || (rule->limit.algorithm == RL_SLIDING_LOG &&
						 rule->window.period_ns / 16 >= b->ctx->tick_ns);

	return slow && rule->flags & RL_RULE_SIMPLE && rule->flags & RL_RULE_LOOKUP_ADDRESS &&
	       !(rule->flags & (RL_RULE_BYTES | RL_RULE_SHADOW | RL_RULE_BAN)) &&
	       (rule->backend == RL_BACKEND_HOT || rule->backend == RL_BACKEND_UNCONFIRMED) &&
	       rule->counter_id >> RL_REFUSAL_COUNTER_BITS == 0;
}

static void group_refusals_cached(struct build *b, const struct rl_range *range)
{
	struct rl_rule *rule;

	if (!range->count || range->match_mode != RL_MATCH_MODE_NONE || range->first < b->base)
		return; /* below b->base: it stays as it is */
	rule = &b->out->rules[range->first - b->base];
	if (!rule_refusal_cached(b, rule))
		return;
	rule->flags |= RL_RULE_REFUSAL_CACHED;
	b->out->header.uses |= RL_USE_REFUSALS4 | RL_USE_REFUSALS6;
}

static bool device_asks_each(const struct rl_policy_header *header)
{
	return header->device.count && header->device.match_mode == RL_MATCH_MODE_EACH;
}

/* A network's addresses are told apart by IPv6 prefixes that are longer. */
static void refusals_choose(struct build *b)
{
	struct rl_policy_header *header = &b->out->header;
	const __u64 *longer = &header->lengths[1][1]; /* 64 and more, 128 */

	if (header->uses & RL_USE_SOURCE_BANS || device_asks_each(header))
		return;
	group_refusals_cached(b, &header->any);
	for (uint32_t i = 0; i < b->out->prefix_count; i++)
		group_refusals_cached(b, &b->out->prefixes[i].value.range);
	_Static_assert(HOME_LEN6 == 64, "the lengths that are longer");
	if (longer[0] & ~1ull || longer[1])
		header->uses &= ~RL_USE_REFUSALS6;
}

/* ---- which prefix lies around which */

static bool key_contains(const struct rl_prefix_key *outer, const struct rl_prefix_key *inner)
{
	return outer->family == inner->family && outer->len <= inner->len &&
	       prefix_contains(outer->addr, outer->len - RL_FAMILY_BITS, inner->addr);
}

/* Prefixes are in ascending order, shorter first, so those around the next one are on a stack. */
static int check_nesting(struct build *b)
{
	const struct rl_prefix_key *stack[RL_NEST_MAX];
	uint32_t depth = 0;

	for (uint32_t i = 0; i < b->out->prefix_count; i++) {
		const struct rl_prefix_key *key = &b->out->prefixes[i].key;

		while (depth && !key_contains(stack[depth - 1], key))
			depth--;
		if (depth == RL_NEST_MAX)
			return refuse(b, NULL, -E2BIG, "too many nested prefixes", RL_NEST_MAX,
				      "remove some of the prefixes around the longest one");
		stack[depth++] = key;
	}
	return 0;
}

static int build_allocate(struct build *b, const struct policy *next)
{
	b->out->rules = calloc(next->count + 1, sizeof(*b->out->rules));
	b->out->prefixes = calloc(next->count + 1, sizeof(*b->out->prefixes));
	b->out->fresh = calloc(next->count + 1, sizeof(*b->out->fresh));
	b->used = calloc(b->ctx->slots_max / 8 + 1, 1);
	return b->out->rules && b->out->prefixes && b->out->fresh && b->used ? 0 : -ENOMEM;
}

static void header_next(const struct rl_policy_header *current, struct rl_policy_header *next)
{
	*next = (struct rl_policy_header){
		.generation = current->generation + 1,
		.next_limit_id = current->next_limit_id ? current->next_limit_id : 1,
		.half = !current->half,
		.shortest4 = RL_LENGTH_NONE,
		.shortest6 = RL_LENGTH_NONE,
		.written = current->generation + 1,
	};
}

static void header_end(struct build *b)
{
	struct rl_policy_header *header = &b->out->header;

	header->rules = b->out->first_rule + b->out->rule_count;
	if (b->slots_end > header->next_counter_id)
		header->next_counter_id = b->slots_end;
}

/* What both ways to compile have in common. */
static int build(struct build *b, struct policy *next, const struct policy *current,
		 bool keep_expiry)
{
	int ret = build_allocate(b, next);

	if (!ret)
		ret = inherit(b, next, current, keep_expiry);
	if (!ret)
		lanes_choose(next);
	if (!ret)
		ret = emit(b, next);
	if (!ret) {
		refusals_choose(b);
		header_end(b);
	}
	free(b->used);
	return ret;
}

int policy_compile(struct policy *next, const struct policy *current,
		   const struct rl_policy_header *header, bool keep_expiry,
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_error *err)
{
	struct compiled result = {0};
	struct build b = {.ctx = ctx, .out = &result, .err = err};
	int ret;

	snprintf(err->text, sizeof(err->text), "out of memory");
	header_next(header, &result.header);
	b.base = result.header.half * ctx->rules_max;
	ret = build(&b, next, current, keep_expiry);
	if (!ret)
		ret = check_nesting(&b);
	if (ret)
		compiled_clear(&result);
	else
		*out = result;
	return ret;
}

/* ---- one prefix in place */

/* Does what the others rely on stay as it is? */
static bool stays_in_place(const struct rl_policy_header *before,
			   const struct rl_policy_header *after)
{
	return !(after->uses & ~before->uses & RL_USE_SOURCE_BANS) &&
	       device_asks_each(before) == device_asks_each(after) &&
	       nesting_bound(after->lengths[0]) <= RL_NEST_MAX &&
	       nesting_bound(after->lengths[1]) <= RL_NEST_MAX;
}

/* Slots are given in ascending order until the whole policy is written, which begins anew with
 * those that are free. Where they would fill another chunk although most are, that is due. */
static bool slots_thin_out(const struct rl_policy_header *header, const struct policy *next,
			   const struct compile_context *ctx)
{
	uint32_t end = header->next_counter_id + next->count;

	return end > ctx->batches_max && end / 2 > header->prefixes + header->rules &&
	       (header->next_counter_id - 1) >> RL_CHUNK_SHIFT != (end - 1) >> RL_CHUNK_SHIFT;
}

static void prefix_take_out(const struct rule *prefix, bool in_trie,
			    struct rl_policy_header *header)
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
		   const struct compile_context *ctx, struct compiled *out,
		   struct policy_error *err)
{
	struct compiled result = {.header = *header, .first_rule = header->rules};
	struct build b = {.ctx = ctx, .out = &result, .err = err};
	int ret;

	if (prefix->kind == PREFIX_ADDR && !header->prefixes)
		return -EAGAIN; /* there is no trie */
	if (is_link_local_prefix(prefix))
		return -EAGAIN; /* packets of other prefixes may be held to it: neighbour discovery
				 */
	if (slots_thin_out(header, next, ctx))
		return -EAGAIN;
	snprintf(err->text, sizeof(err->text), "out of memory");
	b.base = header->half * ctx->rules_max + header->rules;
	b.next_slot = header->next_counter_id;
	result.header.generation++;
	prefix_take_out(prefix, in_trie, &result.header);
	ret = build(&b, next, current, false);
	if (ret == -E2BIG || (!ret && !stays_in_place(header, &result.header)))
		ret = -EAGAIN; /* that of the whole policy says why, or finds room */
	if (ret)
		compiled_clear(&result);
	else
		*out = result;
	return ret;
}

void compiled_clear(struct compiled *compiled)
{
	free(compiled->rules);
	free(compiled->prefixes);
	free(compiled->fresh);
	memset(compiled, 0, sizeof(*compiled));
}
