// SPDX-License-Identifier: GPL-2.0-only
/* The policy in force, and its rules by slot. */
#include "watch/traffic/rule_book.h"

#include "base/units.h"
#include "kernel/instance/instance.h"
#include "kernel/policy/policy_read.h"
#include "kernel/sets/sets.h"
#include "policy/policy.h"

void rule_book_init(struct rule_book *book, const struct instance *instance)
{
	*book = (struct rule_book){.instance = instance};
	instance_context(instance, &book->ctx);
}

void rule_book_clear(struct rule_book *book)
{
	policy_clear(&book->policy);
}

int rule_book_refresh(struct rule_book *book)
{
	uint64_t generation = instance_generation(book->instance);
	struct policy policy = {0};
	int ret;

	if (book->read && (!generation || generation == book->generation))
		return 0; /* generation 0: being detached, which the watch reports */
	ret = instance_policy_read(book->instance, &policy);
	if (ret)
		return ret;
	policy_clear(&book->policy);
	book->policy = policy;
	book->generation = generation;
	book->read = true;
	return 0;
}

const struct rule *rule_counted(const struct policy *policy, uint32_t counter_id)
{
	if (counter_id != RL_WATCH_ANY)
		policy_for_each (policy, rule)
			if (rule->counter_id == counter_id)
				return rule;
	return NULL;
}

bool rule_book_member(const struct rule_book *book, const struct rule *rule,
		      const struct rl_sample *sample, struct member *out)
{
	const uint8_t *addr = book->ctx.by_dest ? sample->dst : sample->src;
	struct set_live sets;
	int len;

	if (rule->kind != PREFIX_SET || !sample_has_addresses(sample))
		return false;
	set_live_open(book->instance, &sets);
	len = set_member_len(&sets.members, rule->set, addr);
	set_live_close(&sets);
	if (len < 0)
		return false;
	out->len = len;
	prefix_mask(out->addr, addr, len);
	return true;
}

bool sample_has_addresses(const struct rl_sample *sample)
{
	return sample->reason != RL_REASON_NON_IP && sample->reason != RL_REASON_MALFORMED;
}
