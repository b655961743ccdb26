/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets of a capture that wait to be run together: copies, in their order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/captured.h"

#define SIMULATE_BATCH_MAX 256u

struct simulate_batch {
	size_t limit; /* how many wait, at most SIMULATE_BATCH_MAX */
	size_t count;
	size_t bytes; /* of `data` */
	uint8_t *data;
	struct captured packets[SIMULATE_BATCH_MAX];
	uint64_t numbers[SIMULATE_BATCH_MAX]; /* in the capture */
};

/* 0 or -1; reports. */
int simulate_batch_open(struct simulate_batch *batch, size_t limit);
void simulate_batch_close(struct simulate_batch *batch);

/* Is there room for a packet of that size? An empty batch has it for any of a capture. */
bool simulate_batch_has_room(const struct simulate_batch *batch, uint32_t size);
void simulate_batch_add(struct simulate_batch *batch, const struct captured *packet,
			uint64_t number);
void simulate_batch_clear(struct simulate_batch *batch);
