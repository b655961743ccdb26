/* SPDX-License-Identifier: GPL-2.0-only */
/* The packets of a service by second, of all sources together, and walks over its sources. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "watch/suggest_class.h"

/* Sums by second, and scratch space for values. */
struct sums {
	struct sum {
		uint32_t second, samples;
		uint64_t packets, bytes;
	} * list;
	size_t count;
	uint64_t *values;
	uint32_t *seconds;
};

/* 0 or -ENOMEM; sums_free() in any case. */
int sums_alloc(const struct class_input *input, struct sums *sums);
void sums_free(struct sums *sums);

/* For the cells that have packets. */
void sums_make(const struct class_input *input, struct sums *sums);

/* Sums within windows of so many seconds, into sums->values. Returns how many there are. */
size_t windows_sum(struct sums *sums, uint32_t window);

/* Calls `each` for the cells of every known source, which are ordered. */
typedef void source_fn(struct class_cell *cells, size_t count, void *arg);
void sources_each(const struct class_input *input, source_fn *each, void *arg);

/* The most within an aligned window. */
uint64_t cells_highest(const struct class_cell *cells, size_t count, uint32_t window);
uint64_t cells_sum(const struct class_cell *cells, size_t count);

/* Values of sources, for a source_fn. */
struct collected {
	uint64_t *values;
	size_t count;
	uint32_t window;
};
