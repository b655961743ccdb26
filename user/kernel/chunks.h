/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps in an array of maps, for what rules have beyond the arrays of an instance. */
#ifndef RLCTL_CHUNKS_H
#define RLCTL_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "instance.h"

/* The chunks that there are: from *first on, this many. */
uint32_t chunks_count(const struct instance *instance, int chunks, uint32_t *first);

bool has_chunk(int chunks, uint32_t chunk);

#endif
