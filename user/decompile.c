// SPDX-License-Identifier: GPL-2.0-only
/* Map entries back to the model: what compile.c made of a policy, as it was written. */
#include <errno.h>
#include <string.h>

#include "compile.h"

static int recall(struct policy *out, struct rule *rule, uint64_t now_ns)
{
	if (rule->expires_ns && rule->expires_ns <= now_ns)
		return 0;
	rule->for_ns = rule->expires_ns ? rule->expires_ns - now_ns : 0;
	return policy_append(out, rule);
}

static int recall_group(struct policy *out, const struct compiled *in,
			const struct compile_context *ctx, const struct rl_range *range,
			const struct rule *prefix)
{
	uint32_t base = in->header.half * ctx->rules_max;

	if (range->count > RL_GROUP_MAX || range->first < base ||
	    range->first - base + range->count > in->header.rules)
		return range->count ? -EBADMSG : 0;
	for (uint32_t i = 0; i < range->count; i++) {
		const struct rl_rule *entry = &in->rules[range->first - base + i];
		struct rule rule = *prefix;
		int ret;

		rule.action = entry->action;
		rule.match = entry->match;
		rule.limit = entry->limit;
		rule.limit_id = entry->limit_id;
		rule.slot = entry->slot;
		rule.lane = entry->flags >> RL_RULE_LANE_SHIFT;
		rule.expires_ns = entry->expires_ns;
		ret = recall(out, &rule, ctx->now_ns);
		if (ret)
			return ret;
	}
	return 0;
}

static int recall_prefix(struct policy *out, const struct compiled *in,
			 const struct compile_context *ctx, const struct compiled_prefix *prefix)
{
	struct rule rule = {.kind = PREFIX_ADDR};

	if (prefix->key.len < RL_FAMILY_BITS || prefix->key.len > RL_FAMILY_BITS + 128)
		return -EBADMSG;
	rule.len = prefix->key.len - RL_FAMILY_BITS;
	memcpy(rule.addr, prefix->key.addr, sizeof(rule.addr));
	if (prefix->value.range.count)
		return recall_group(out, in, ctx, &prefix->value.range, &rule);
	rule.action = prefix->value.action;
	rule.slot = prefix->value.slot;
	rule.expires_ns = prefix->value.expires_ns;
	return recall(out, &rule, ctx->now_ns);
}

int policy_decompile(const struct compiled *in, const struct compile_context *ctx,
		     struct policy *out)
{
	struct rule any = {.kind = PREFIX_ANY}, device = {.kind = PREFIX_DEVICE};
	struct policy result = {0};
	int ret = recall_group(&result, in, ctx, &in->header.device, &device);

	if (!ret)
		ret = recall_group(&result, in, ctx, &in->header.any, &any);
	for (uint32_t i = 0; !ret && i < in->header.prefixes; i++)
		ret = recall_prefix(&result, in, ctx, &in->prefixes[i]);
	if (ret) {
		policy_clear(&result);
		return ret;
	}
	policy_settle(&result, NULL);
	*out = result;
	return 0;
}
