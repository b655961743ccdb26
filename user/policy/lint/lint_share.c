// SPDX-License-Identifier: GPL-2.0-only
#include "policy/lint/lint_share.h"

#include "policy/lint/lint_limit.h"
#include "policy/parser.h"

static bool divides_classes(const struct rule *rule)
{
	return is_limit(rule) && rule->limit.share[0] && rule->limit.key == RL_KEY_RULE;
}

bool share_is_slow(const struct rule *rule, const struct policy_context *ctx,
		   char text[SHARE_LOSS_MAX])
{
	const struct rl_limit *limit = &rule->limit;
	unsigned int part = 100 - limit->share[0] - limit->share[1];
	uint64_t full = packet_size(limit, ctx, ETHERNET_BYTES);

	if (!divides_classes(rule) || (unsigned __int128)limit->amount * part * NS_PER_SECOND >=
					      (unsigned __int128)full * 100 * limit->period_ns)
		return false;
	snprintf(text, SHARE_LOSS_MAX,
		 "its part for strangers, %u percent, is less than one packet a second, too few to "
		 "divide: write a higher rate, or remove share",
		 part);
	return true;
}

static bool has_own_parts(const struct rl_limit *limit)
{
	return limit->share[0] != SHARE_ESTABLISHED || limit->share[1] != SHARE_KNOWN;
}

bool share_is_unused(const struct rule *rule, char text[SHARE_LOSS_MAX])
{
	const struct match *match = &rule->match;
	bool established = match_wants(match, RL_MATCH_ESTABLISHED);
	bool known = match_wants(match, RL_MATCH_NEW_SOURCE);
	const char *out = established || match->negated & RL_MATCH_NEW_SOURCE ? "strangers" : NULL;

	if (!divides_classes(rule) || !has_own_parts(&rule->limit))
		return false;
	if (established)
		out = "known sources and strangers";
	else if (match->negated & RL_MATCH_ESTABLISHED)
		out = known ? "the established and known sources"
		      : out ? "the established and strangers"
			    : "the established";
	else if (known)
		out = "known sources";
	if (!out)
		return false;
	snprintf(text, SHARE_LOSS_MAX,
		 "its match leaves out %s, whose part of the share is always empty: write share "
		 "without parts",
		 out);
	return true;
}
