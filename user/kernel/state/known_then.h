/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sources were known at some time: a copy of the filter of known sources
 * (bpf/algorithm/known_filter.h), which takes a source for another one now and then. Silent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

struct known_then { /* zero-initialised: no source was known */
	struct rl_known_set *sets;
	uint32_t mask;
	uint64_t epoch;
};

/* As of now, in place of what it had. -ENOENT: no rule of the policy asks for new sources, or there
 * is no hot table; other negative errno. Then no source was known. */
int known_then_read(const struct instance *instance, struct known_then *out);
void known_then_clear(struct known_then *then);

bool known_then_has(const struct known_then *then, const struct instance *instance,
		    const uint8_t source[16]);
