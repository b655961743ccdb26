// SPDX-License-Identifier: GPL-2.0-only
#include "policy/lint/everybody.h"

#include <stdio.h>

#include "policy/lint/lint_limit.h"
#include "policy/packets/pset.h"

void deny_all_warn(const struct rule *rule, const struct policy_context *ctx, policy_warn_fn warn,
		   void *arg)
{
	if (!is_wide(rule) || rule->action != RL_ACTION_DENY || rule->match.flags || rule->extra)
		return;
	if (ctx->leaving || ctx->by_dest)
		warn(rule,
		     "denies every packet that no other rule allows: add \"rule ADDRESS allow\" for "
		     "those that are to pass",
		     arg);
	else
		warn(rule,
		     "denies every packet that no other rule allows, also answers to what this "
		     "machine asks: name what to deny, or write not established before deny where "
		     "no server runs",
		     arg);
}

/* Limits packets, or bits, for good: those of all sources together with `shared`, where one of them
 * can take all, else of each. */
static bool holds_back(const struct rule *rule, bool shared)
{
	return limits_packets(rule) && !rule->extra && !rule->for_ns && !rule->limit.share[0] &&
	       (shared ? !key_parts(&rule->limit) : !!(key_parts(&rule->limit) & RL_PART_SOURCE));
}

static bool is_slower(const struct rl_limit *a, const struct rl_limit *b)
{
	double a_rate = (double)a->amount / (double)a->period_ns;
	double b_rate = (double)b->amount / (double)b->period_ns;

	return (a->unit == RL_PACKETS) == (b->unit == RL_PACKETS) && a_rate < b_rate * (1 - 1e-9);
}

/* Is each packet of the limit of each source one of the device's limit, which is lower? */
static bool hides_each(const struct rule *device, const struct rule *each)
{
	return device->kind == PREFIX_DEVICE && each->kind == PREFIX_ANY &&
	       holds_back(device, true) && holds_back(each, false) &&
	       is_slower(&device->limit, &each->limit) && match_within(each, device);
}

static void hides_warn(const struct rule *rule, const struct rule *other,
		       const struct policy_context *ctx, policy_warn_fn warn, void *arg)
{
	char format[RULE_TEXT_MAX], text[RULE_TEXT_MAX + 160];

	rule_format(format, other, ctx);
	snprintf(
		text, sizeof(text),
		rule->kind == PREFIX_DEVICE
			? "one source can use up this limit of all, as \"%s\" lets each send "
			  "more: raise this one or lower that"
			: "one source can use up \"%s\", a limit of all, as this one lets each send "
			  "more: lower this one or raise that",
		format);
	warn(rule, text, arg);
}

void lower_limit_warn(const struct policy *policy, const struct rule *rule,
		      const struct policy_context *ctx, policy_warn_fn warn, void *arg)
{
	for (size_t i = 0; i < policy->count; i++) {
		const struct rule *other = &policy->rules[i];

		if (!hides_each(rule, other) && !hides_each(other, rule))
			continue;
		hides_warn(rule, other, ctx, warn, arg);
		return;
	}
}
