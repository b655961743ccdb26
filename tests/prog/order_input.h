/* SPDX-License-Identifier: GPL-2.0-only */
/* Input of test_order.c: policies, packets and the time between them, all drawn from one seed. */
#pragma once

#include "harness.h"

extern uint64_t seed;     /* of what is drawn next */
extern uint64_t run_seed; /* that the run began with, to be told */

struct row {
	const char *name, *rules;
	const char *then; /* the policy changes to this one and back */
	uint32_t changes; /* so many times */
	uint64_t wait_ns; /* between packets, at most */
	uint32_t sources, dests, packets;
	uint32_t not_at; /* a bit for each enum rl_hook that does not accept it */
};
extern const struct row order_rows[]; /* up to one without a name */

extern const char *const capture_policies[]; /* up to NULL */

struct packet {
	const char *words;
	const struct frame *frame;
	uint32_t gso_size; /* 0: one segment */
};

void frames_build(void);

/* The address of source n. */
#define SOURCES_MAX 300
void source_address(bool ip4, uint32_t n, uint8_t out[16]);

/* Valid until the next one is drawn. */
struct packet packet_draw(const struct row *row, bool skb);

/* How long until the next one; often not at all. */
uint64_t wait_draw(const struct row *row);

/* A random policy that the instance accepts, another one that is close to it, and how many sources
 * and destinations send how fast. */
void policy_draw(struct harness *h, struct row *row, char *rules, char *then, size_t size);
