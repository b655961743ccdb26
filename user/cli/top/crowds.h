/* SPDX-License-Identifier: GPL-2.0-only */
/* The prefixes with most packets of several instances, from samples as `rlctl top` takes them, for
 * `stats --watch`. Where an instance may not be sampled, or no place is free, there are none. */
#pragma once

#include <stddef.h>

#include "kernel/instance/instance.h"

#define CROWDS_DRAIN_NS (250 * NS_PER_MS) /* samples are to be taken so often */

struct crowds { /* zero-initialised */
	struct crowd_watch *items;
	size_t count;
};

/* Begins to sample the instance, unless it is sampled. */
void crowds_add(struct crowds *crowds, const struct instance *instance);
/* Takes the samples that are there. */
void crowds_drain(struct crowds *crowds);
/* Prints the lines of an instance, of the time since the last four calls. */
void crowds_print(struct crowds *crowds, const struct instance *instance);
void crowds_clear(struct crowds *crowds);
