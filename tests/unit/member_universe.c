// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cases.h"
#include "member_universe.h"
#include "random.h"
#include "rlctl_abi.h"

struct member universe[UNIVERSE];
uint16_t around[UNIVERSE][AROUND];
uint32_t around_count[UNIVERSE];

static uint64_t seed_state = 20261123;

uint64_t below(uint64_t bound)
{
	return random_under(&seed_state, bound);
}

static int member_compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return memcmp(x->addr, y->addr, sizeof(x->addr)) ?: x->len - y->len;
}

uint32_t universe_find(const struct member *member)
{
	const struct member *found =
		bsearch(member, universe, UNIVERSE, sizeof(*universe), member_compare);

	assert_non_null(found);
	return found - universe;
}

/* Prefixes inside one another: few first bits differ, all lengths are there. */
static struct member random_member(void)
{
	struct member member = {.len = below(3) ? 128 : below(129)};
	uint8_t addr[16] = {0x20, 0x01, 0x0d, 0xb8};

	if (below(2)) {
		memset(addr, 0, sizeof(addr));
		addr[10] = addr[11] = 0xff;
		member.len = RL_MAPPED_BITS + (below(2) ? 32 : below(33));
	}
	for (int i = below(6); i; i--)
		addr[12 + below(4)] ^= 1 << below(8);
	addr[15] = below(256);
	addr[below(2) ? 14 : 0] ^= member.len >= RL_MAPPED_BITS && addr[11] ? 0 : below(4);
	prefix_mask(member.addr, addr, member.len);
	return member;
}

static bool is_known(const struct member *member, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (universe[i].len == member->len && !memcmp(universe[i].addr, member->addr, 16))
			return true;
	return false;
}

void universe_make(void)
{
	for (uint32_t i = 0; i < UNIVERSE;) {
		struct member member = random_member();

		if (!is_known(&member, i))
			universe[i++] = member;
	}
	qsort(universe, UNIVERSE, sizeof(*universe), member_compare);
	for (uint32_t i = 0; i < UNIVERSE; i++) {
		around_count[i] = 0;
		for (uint32_t n = 0; n < UNIVERSE; n++)
			if (prefix_contains(universe[n].addr, universe[n].len, universe[i].addr)) {
				assert_true(around_count[i] < AROUND);
				around[i][around_count[i]++] = n;
			}
	}
}
