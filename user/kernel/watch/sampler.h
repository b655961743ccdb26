/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of one stream, out of what the CPUs hand over (bpf/algorithm/sampling.h): for each slot
 * of time, `wanted` of its packets drawn at random, each standing for as many packets as the
 * others. Pure.
 *
 * The weights of a slot add up to its packets. Where a slot has no sample, which only happens when
 * the rate falls, its packets are added to the next: no more than about as many as one sample of
 * the slot before stood for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rlctl_abi.h"

#define SAMPLER_SLOTS 64 /* open at once */

struct sampled {
	struct rl_sample packet;
	uint64_t stands_for; /* packets of the stream, itself included */
};

struct sampled_list {
	struct sampled *items;
	size_t count, room;
};

/* A slot whose samples are not drawn yet. */
struct sampler_slot {
	uint32_t ceiling;  /* the lowest that it had */
	uint32_t *packets; /* of each CPU; NULL: not open */
	struct rl_sample *taken;
	size_t count, room;
};

struct sampler {
	struct rl_stream stream; /* as the packets are to see it */
	uint32_t wanted;         /* samples of a slot at most */
	uint32_t ceiling_before;
	int cpus;
	uint32_t next;    /* the first slot that is not closed */
	uint64_t carried; /* packets of closed slots without a sample */
	uint64_t late;    /* packets that came after their slot was closed */
	struct sampler_slot slots[SAMPLER_SLOTS]; /* by number */
};

/* `rate` samples a second at most, from begin_ns on. */
void sampler_init(struct sampler *sampler, uint32_t rate, uint64_t begin_ns, int cpus);
void sampler_clear(struct sampler *sampler);

/* A packet that was handed over. 0 or -ENOMEM. */
int sampler_add(struct sampler *sampler, const struct rl_sample *sample, struct sampled_list *out);

/* Notes the counts of a CPU: `now` or `before` of its rl_watch_count. 0 or -ENOMEM. */
int sampler_learn(struct sampler *sampler, uint32_t cpu, uint64_t word, struct sampled_list *out);

/* The slot of this time: 0 before begin_ns. */
uint32_t sampler_slot_of(const struct sampler *sampler, uint64_t ns);

/* Appends the samples of all slots before `end`, and fits the ceiling to their packets. 0 or
 * -ENOMEM. */
int sampler_close(struct sampler *sampler, uint32_t end, struct sampled_list *out);

/* In the order of time. */
void sampled_sort(struct sampled_list *list);
void sampled_clear(struct sampled_list *list);
