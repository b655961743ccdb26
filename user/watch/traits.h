/* SPDX-License-Identifier: GPL-2.0-only */
/* Traits that sampled packets have in common, and their heaviest sources. Bounded memory. Pure. */
#pragma once

#include "kernel/watch/sampler.h"
#include "watch/event.h"
#include "watch/shares.h"

struct traits {           /* zero-initialised */
	uint64_t packets; /* that the samples stand for */
	struct shares sources, known;
	struct shares values[FEATURE_COUNT];
};

/* The fields of a packet's IP header and of the one behind it, as far as the frame was kept. */
struct packet_fields {
	bool has_ip;
	bool has_flags;                /* of TCP */
	uint32_t value[FEATURE_COUNT]; /* without ports; the length is that of the IP packet */
};

/* raw_ip: the frame has no Ethernet header. */
void packet_fields_read(const struct rl_sample *sample, bool raw_ip, struct packet_fields *out);

void traits_add(struct traits *traits, const struct sampled *sample, bool raw_ip);

/* The source of this sample, which was added, was known before the drops. */
void traits_known_add(struct traits *traits, const struct sampled *sample);

/* Sources that have a hundredth of the packets, and values that a tenth of them have, the heaviest
 * first; known sources, whatever they have. `rate`: of all packets, a second. */
void traits_excerpt(const struct traits *traits, uint64_t rate, struct event_excerpt *out);
