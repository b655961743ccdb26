// SPDX-License-Identifier: GPL-2.0-only
#include "cli/simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "watch/capture/capture.h"

/* As many packets of an Ethernet device as a batch has, and the largest packet. */
#define DATA_BYTES (1u << 19)
_Static_assert(DATA_BYTES >= CAPTURED_MAX, "room for any packet");

int simulate_batch_open(struct simulate_batch *batch, size_t limit)
{
	batch->limit = limit;
	batch->data = malloc(DATA_BYTES);
	return batch->data ? 0 : fail("out of memory");
}

void simulate_batch_close(struct simulate_batch *batch)
{
	free(batch->data);
	batch->data = NULL;
}

bool simulate_batch_has_room(const struct simulate_batch *batch, uint32_t size)
{
	return batch->count < batch->limit && size <= DATA_BYTES - batch->bytes;
}

void simulate_batch_add(struct simulate_batch *batch, const struct captured *packet,
			uint64_t number)
{
	struct captured *added = &batch->packets[batch->count];

	*added = *packet;
	added->data = memcpy(batch->data + batch->bytes, packet->data, packet->size);
	batch->numbers[batch->count++] = number;
	batch->bytes += packet->size;
}

void simulate_batch_clear(struct simulate_batch *batch)
{
	batch->count = 0;
	batch->bytes = 0;
}
