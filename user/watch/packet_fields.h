/* SPDX-License-Identifier: GPL-2.0-only */
/* The headers of a sampled packet, which its sample has as bytes alone. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rlctl_abi.h"

/* Traits that the packets have in common: X(NAME, "word in JSON"). Ports are those of the
 * destination, `sport` of the source; lengths are of the IP packet. */
#define EVENT_FEATURES(X)   \
	X(PORT, "port")     \
	X(SPORT, "sport")   \
	X(LENGTH, "length") \
	X(TTL, "ttl")       \
	X(FLAGS, "flags")
#define EVENT_FEATURE_ENUM(name, text) FEATURE_##name,
enum event_feature { EVENT_FEATURES(EVENT_FEATURE_ENUM) FEATURE_COUNT };
#undef EVENT_FEATURE_ENUM

extern const char *const feature_words[FEATURE_COUNT];

/* The fields of a packet's IP header and of the next one, as far as the frame was kept. */
struct packet_fields {
	bool has_ip;
	bool has_flags;                /* of TCP */
	uint32_t value[FEATURE_COUNT]; /* without ports; the length is that of the IP packet */
};

/* raw_ip: the frame has no Ethernet header. */
void packet_fields_read(const struct rl_sample *sample, bool raw_ip, struct packet_fields *out);
