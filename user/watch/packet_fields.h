/* SPDX-License-Identifier: GPL-2.0-only */
/* The headers of a sampled packet, which its sample has as bytes alone. Pure. */
#pragma once

#include "rlctl_abi.h"
#include "watch/event.h"

/* The fields of a packet's IP header and of the one behind it, as far as the frame was kept. */
struct packet_fields {
	bool has_ip;
	bool has_flags;                /* of TCP */
	uint32_t value[FEATURE_COUNT]; /* without ports; the length is that of the IP packet */
};

/* raw_ip: the frame has no Ethernet header. */
void packet_fields_read(const struct rl_sample *sample, bool raw_ip, struct packet_fields *out);
