/* SPDX-License-Identifier: GPL-2.0-only */
/* Traits that sampled packets have in common, and their heaviest sources. Bounded memory. Pure. */
#pragma once

#include "kernel/watch/sampler.h"
#include "watch/event.h"
#include "watch/pattern.h"
#include "watch/shares.h"

struct traits {           /* zero-initialised */
	uint64_t packets; /* that the samples stand for */
	struct shares sources, known;
	struct shares values[FEATURE_COUNT];
	struct patterns patterns, known_patterns;
};

/* raw_ip: the frame has no Ethernet header. */
void traits_add(struct traits *traits, const struct sampled *sample, bool raw_ip);

/* The source of this sample, which was added, was known before the drops. */
void traits_known_add(struct traits *traits, const struct sampled *sample, bool raw_ip);

/* Sources that have a hundredth of the packets, and values and patterns that a tenth of them have,
 * the heaviest first; known sources, whatever they have. `rate`: of all packets, a second. */
void traits_excerpt(const struct traits *traits, uint64_t rate, struct event_excerpt *out);
