/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses taken together, such as those without a row. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "watch/estimate.h"
#include "watch/talkers.h"

/* Per second. */
struct top_rate {
	uint64_t packets, bits;
};

/* Addresses taken together. */
struct top_group {
	struct rare rare;
	struct talk talk;
	struct top_rate rate; /* of all of them */
	struct rare_sources sources;
};

/* Only addresses in a prefix. */
struct top_filter {
	bool set;
	uint8_t addr[16];
	uint8_t len;
};

bool filter_selects(const struct top_filter *filter, const uint8_t addr[16]);

/* Adds an address that has samples of the verdict. */
void group_add(struct top_group *group, const struct talker *talker, enum talker_verdict verdict);
