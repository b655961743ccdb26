// SPDX-License-Identifier: GPL-2.0-only
#include "policy/packets/addresses.h"

#include <string.h>

#include "base/units.h"

/* As numbers: families are distinguished beside them. */
static bool holds(const uint8_t addr[16], uint8_t len, const uint8_t inner[16], uint8_t inner_len)
{
	uint8_t masked[16];

	prefix_mask(masked, inner, len);
	return len <= inner_len && !memcmp(masked, addr, sizeof(masked));
}

/* Do the prefixes that are taken out leave nothing of this one? An IPv6 prefix around the mapped
 * addresses takes none of them. */
static bool is_covered(const struct addresses *set, const uint8_t addr[16], uint8_t len)
{
	bool inside = false, around = holds(addr, len, mapped_prefix, RL_MAPPED_BITS - 1);
	uint8_t half[16];

	for (uint8_t i = 0; i < set->less_count; i++) {
		bool ipv4 = prefix_is_ipv4(set->less[i], set->less_len[i]);

		if (!ipv4 && holds(mapped_prefix, RL_MAPPED_BITS, addr, len))
			continue;
		if ((ipv4 || !around) && holds(set->less[i], set->less_len[i], addr, len))
			return true;
		inside |= around || holds(addr, len, set->less[i], set->less_len[i]);
	}
	if (!inside || len == 128)
		return false;
	memcpy(half, addr, sizeof(half));
	half[len / 8] ^= 0x80 >> len % 8;
	return is_covered(set, addr, len + 1) && is_covered(set, half, len + 1);
}

void addresses_leave_out(struct addresses *set, const uint8_t *addr, uint8_t len)
{
	for (uint8_t i = 0; i < set->less_count; i++)
		if (set->less_len[i] == len && !memcmp(set->less[i], addr, 16))
			return;
	if (set->less_count == PREFIXES_LESS)
		return;
	set->less[set->less_count] = addr;
	set->less_len[set->less_count++] = len;
}

bool addresses_meet(const struct addresses *a, const struct addresses *b, struct addresses *out)
{
	const struct addresses *longer = a->len >= b->len ? a : b,
			       *other = a->len >= b->len ? b : a;

	if (!holds(other->addr, other->len, longer->addr, longer->len))
		return false;
	*out = *a;
	memcpy(out->addr, longer->addr, sizeof(out->addr));
	out->len = longer->len;
	for (uint8_t i = 0; i < b->less_count; i++)
		addresses_leave_out(out, b->less[i], b->less_len[i]);
	return !out->less_count || !is_covered(out, out->addr, out->len);
}

struct stretch stretch_of(const uint8_t addr[16], uint8_t len)
{
	u128 first = 0;

	for (int i = 0; i < 16; i++)
		first = first << 8 | addr[i];
	return (struct stretch){first, first + (len ? ((u128)1 << (128 - len)) - 1 : ~(u128)0)};
}

/* Takes the addresses out of all stretches. Returns how many there are then. */
static size_t stretch_cut(struct stretch *all, size_t count, struct stretch less)
{
	struct stretch kept[STRETCHES_MAX] = {0};
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		struct stretch s = all[i];

		if (s.last < less.first || s.first > less.last) {
			kept[left++] = s;
			continue;
		}
		if (s.first < less.first)
			kept[left++] = (struct stretch){s.first, less.first - 1};
		if (s.last > less.last)
			kept[left++] = (struct stretch){less.last + 1, s.last};
	}
	memcpy(all, kept, left * sizeof(*kept));
	return left;
}

/* An IPv6 prefix takes none of the mapped addresses. */
static size_t prefix_cut(struct stretch *all, size_t count, const uint8_t addr[16], uint8_t len)
{
	struct stretch less = stretch_of(addr, len),
		       ipv4 = stretch_of(mapped_prefix, RL_MAPPED_BITS);

	if (prefix_is_ipv4(addr, len) || less.last < ipv4.first || less.first > ipv4.last)
		return stretch_cut(all, count, less);
	if (less.first < ipv4.first)
		count = stretch_cut(all, count, (struct stretch){less.first, ipv4.first - 1});
	if (less.last > ipv4.last)
		count = stretch_cut(all, count, (struct stretch){ipv4.last + 1, less.last});
	return count;
}

size_t stretches_of(const struct addresses *set, struct stretch out[STRETCHES_MAX])
{
	size_t count = 1;

	out[0] = stretch_of(set->addr, set->len);
	if (set->less_count)
		count = prefix_cut(out, count, set->less[0], set->less_len[0]);
	return count;
}

bool addresses_within(const struct addresses *inner, const struct addresses *outer, bool only_ipv6)
{
	struct stretch in[STRETCHES_MAX], out[STRETCHES_MAX];
	size_t in_count = stretches_of(inner, in), out_count = stretches_of(outer, out);

	if (only_ipv6)
		in_count = stretch_cut(in, in_count, stretch_of(mapped_prefix, RL_MAPPED_BITS));
	for (size_t i = 0, at = 0; i < in_count; i++) {
		while (at < out_count && out[at].last < in[i].first)
			at++;
		if (at == out_count || out[at].first > in[i].first || out[at].last < in[i].last)
			return false;
	}
	return true;
}
