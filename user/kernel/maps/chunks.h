/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts the chunks: inner maps that hold the counters and shared states beyond the arrays of an
 * instance. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

/* Number of consecutive chunks that exist, starting at *first. */
uint32_t chunks_count(const struct instance *instance, int chunks, uint32_t *first);

bool has_chunk(int chunks, uint32_t chunk);
