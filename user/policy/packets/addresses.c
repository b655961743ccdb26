// SPDX-License-Identifier: GPL-2.0-only
#include "policy/packets/addresses.h"

#include <string.h>

#include "base/units.h"

struct addresses addresses_of(const uint8_t addr[16], uint8_t len)
{
	struct addresses set = {.len = len, .count = 1};
	struct stretch *all = set.at;

	memcpy(set.addr, addr, sizeof(set.addr));
	for (int i = 0; i < 16; i++)
		all->first = all->first << 8 | addr[i];
	all->last = all->first + (len ? ((u128)1 << (128 - len)) - 1 : ~(u128)0);
	return set;
}

static void stretch_add(struct addresses *set, u128 first, u128 last)
{
	if (set->count < STRETCHES_MAX)
		set->at[set->count++] = (struct stretch){first, last};
	else
		set->at[STRETCHES_MAX - 1].last = last;
}

void addresses_invert(struct addresses *set)
{
	struct addresses others = {.count = 0};
	u128 next = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		if (set->at[i].first > next)
			stretch_add(&others, next, set->at[i].first - 1);
		next = set->at[i].last + 1; /* 0 after the last address */
	}
	if (next || !set->count)
		stretch_add(&others, next, ~(u128)0);
	*set = others;
}

bool addresses_meet(const struct addresses *a, const struct addresses *b, struct addresses *out)
{
	struct addresses both = a->len >= b->len ? *a : *b;

	both.count = 0;
	for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
		const struct stretch *x = &a->at[i], *y = &b->at[j];
		u128 first = x->first > y->first ? x->first : y->first;
		u128 last = x->last < y->last ? x->last : y->last;

		if (first <= last)
			stretch_add(&both, first, last);
		if (x->last < y->last)
			i++;
		else
			j++;
	}
	*out = both;
	return both.count;
}

void addresses_leave_out(struct addresses *set, const uint8_t addr[16], uint8_t len)
{
	struct addresses less = addresses_of(addr, len);

	if (!prefix_is_ipv4(addr, len))
		addresses_leave_out(&less, mapped_prefix, RL_MAPPED_BITS);
	addresses_invert(&less);
	addresses_meet(set, &less, set);
}

bool addresses_within(const struct addresses *inner, const struct addresses *outer, bool only_ipv6)
{
	struct addresses in = *inner, others = *outer;

	if (only_ipv6)
		addresses_leave_out(&in, mapped_prefix, RL_MAPPED_BITS);
	addresses_invert(&others);
	return !addresses_meet(&in, &others, &in);
}
