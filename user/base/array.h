/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays that grow by doubling. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* With room for one more item than `count`: the array, which may have moved. NULL: there is no
 * memory, and the former one is as it was. */
static inline void *array_room(void *items, size_t count, size_t *capacity, size_t item_size)
{
	size_t more = *capacity ? 2 * *capacity : 16;
	void *moved;

	if (count < *capacity)
		return items;
	moved = reallocarray(items, more, item_size);
	if (moved)
		*capacity = more;
	return moved;
}
