/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses taken together: those without a row, and those of the prefix with most packets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "watch/traffic/estimate.h"
#include "watch/traffic/talkers.h"

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
	uint8_t addr[16], len; /* the prefix that they are in; 0: no certain one */
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

/* Those of the prefix that has most of all packets of the verdict; without any if there is none. */
struct top_group group_prefix(const struct talkers *talkers, const struct top_filter *filter,
			      enum talker_verdict verdict, const struct talk *all);
