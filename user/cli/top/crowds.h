/* SPDX-License-Identifier: GPL-2.0-only */
/* The prefixes with most packets of several instances, from samples as `rlctl top` takes them, for
 * `stats --watch`. Where an instance may not be sampled, or no place is free, there are none. */
#pragma once

#include "kernel/instance/instance.h"

#define CROWDS_DRAIN_NS (250 * NS_PER_MS) /* samples are to be taken so often */

struct crowds { /* zero-initialised */
	struct crowd_watch *first;
};

/* Begins to sample the instance, unless it is sampled. */
void crowds_add(struct crowds *crowds, const struct instance *instance);
/* Takes the samples that are there; those of the last four seconds are kept. */
void crowds_drain(struct crowds *crowds);
/* Prints the lines of an instance. */
void crowds_print(const struct crowds *crowds, const struct instance *instance);
void crowds_clear(struct crowds *crowds);
