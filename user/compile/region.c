// SPDX-License-Identifier: GPL-2.0-only
#include "compile/meeting.h"

#include <string.h>

static bool payloads_agree(const struct rl_extra *a, const struct rl_extra *b)
{
	if (a->alarm_not != b->alarm_not && !strcmp(a->alarm, b->alarm))
		return false;
	for (int i = 0; i < a->payload_len; i++) {
		int j = a->payload_at + i - b->payload_at;

		if (j >= 0 && j < b->payload_len &&
		    (a->payload[i] ^ b->payload[j]) & a->payload_mask[i] & b->payload_mask[j])
			return false;
	}
	return true;
}

static bool payload_add(struct region *region, const struct rl_extra *extra)
{
	for (uint32_t i = 0; i < region->payload_count; i++) {
		if (region->payloads[i] == extra)
			return true;
		if (!payloads_agree(region->payloads[i], extra))
			return false;
	}
	if (region->payload_count < REGION_RULES)
		region->payloads[region->payload_count++] = extra;
	return true;
}

bool region_payloads_agree(const struct region *a, const struct region *b)
{
	for (uint32_t i = 0; i < a->payload_count; i++)
		for (uint32_t j = 0; j < b->payload_count; j++)
			if (!payloads_agree(a->payloads[i], b->payloads[j]))
				return false;
	return true;
}

void region_narrow_while(struct region *region, uint32_t alarm, bool is_off)
{
	if (is_off)
		region->alarms_on &= ~(1u << alarm);
	else
		region->alarms_off &= ~(1u << alarm);
}

void region_all(struct region *out)
{
	pset_all(&out->set);
	out->alarms_on = out->alarms_off = ~0u;
	out->payload_count = 0;
}

bool region_common(const struct region *a, const struct region *b, struct region *out)
{
	out->alarms_on = a->alarms_on & b->alarms_on;
	out->alarms_off = a->alarms_off & b->alarms_off;
	if (~(out->alarms_on | out->alarms_off) || !pset_meet(&a->set, &b->set, &out->set))
		return false;
	out->payload_count = a->payload_count;
	for (uint32_t i = 0; i < a->payload_count; i++)
		out->payloads[i] = a->payloads[i];
	for (uint32_t i = 0; i < b->payload_count; i++)
		if (!payload_add(out, b->payloads[i]))
			return false;
	return true;
}

void region_of(const struct rule *rule, struct region *out)
{
	region_all(out);
	pset_of(rule, &out->set);
	if (rule->extra && (rule->match.flags & RL_MATCH_PAYLOAD || rule->extra->alarm[0]) &&
	    !(rule->match.negated & RL_MATCH_PAYLOAD))
		payload_add(out, rule->extra);
}
