/* SPDX-License-Identifier: GPL-2.0-only */
/* The prefix that most packets of many addresses are in, of either family alike. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rollup_item {
	uint8_t addr[16];
	uint64_t weight;
};

struct rollup {
	uint8_t addr[16];
	uint8_t len; /* of 128 */
};

/* The narrowest prefix that has at least half of the weight. Chance decides which half of a prefix
 * that is in use everywhere has more, so it becomes wider as long as that adds at least half as
 * much. Sorts the items and overwrites their weights. Without items: everything. */
struct rollup rollup_make(struct rollup_item *items, size_t count);
