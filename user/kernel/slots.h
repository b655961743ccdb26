/* SPDX-License-Identifier: GPL-2.0-only */
/* What rules have by their slots: counters and shared state. */
#ifndef RLCTL_SLOTS_H
#define RLCTL_SLOTS_H

#include <stdint.h>

#include "compile.h"
#include "instance.h"

/* Makes the chunks that the policy needs and has not, and zeroes its new slots. */
int slots_prepare(const struct instance *instance, const struct compiled *compiled);
/* Once the policy is in force: drops the chunks that neither it nor the one before needs. */
void slots_trim(const struct instance *instance, const struct compiled *compiled);

/* The maps of one kind; a walk through the slots opens each chunk as it comes to it. */
struct slot_maps {
	const struct instance *instance;
	int array, chunks;
	uint32_t chunk; /* that is open */
	int fd;         /* of it, or -1 */
};
struct slot_maps slot_counters(const struct instance *instance);
struct slot_maps slot_states(const struct instance *instance);
/* The map that has the slot, and where in it; -ENOENT where there is none. */
int slot_map_at(struct slot_maps *maps, uint32_t slot, uint32_t *index);
void slot_maps_close(struct slot_maps *maps);

#endif
