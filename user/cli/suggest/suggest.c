// SPDX-License-Identifier: GPL-2.0-only
#include "cli/suggest/suggest.h"

#include <errno.h>
#include <string.h>

#include "base/captured.h"
#include "base/message.h"
#include "base/units.h"

int suggest_learn(struct suggest *s, const struct captured *captured,
		  const struct local_packet *local, uint64_t packets)
{
	struct rl_sample sample = {
		.packets = 1,
		.proto = local->proto,
		.has_ports = local->has_ports,
		.dport = local->dport,
		.kept = captured->size < RL_FRAME_KEPT ? (uint16_t)captured->size : RL_FRAME_KEPT,
	};
	struct seen_packet packet = {
		.time_ns = captured->time_ns,
		.weight = packets,
		.proto = local->proto,
		.port = local->dport,
		.has_ports = local->has_ports,
		.fragment = local->fragment,
		.later = local->later,
		.asks = local->kind == LOCAL_TCP && (local->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN,
		.bytes = captured->bytes,
	};
	struct pattern pattern;
	int ret;

	if (!local->has_addresses || local->malformed)
		return 0;
	memcpy(packet.source, local->src, sizeof(packet.source));
	memcpy(sample.src, local->src, sizeof(sample.src));
	memcpy(sample.frame, captured->data, sample.kept);
	pattern = pattern_of(&sample, false);
	pattern_bands_add(&s->patterns, captured->time_ns / NS_PER_SECOND, &pattern, packets);
	ret = seen_add(&s->seen, &packet);
	if (ret == -E2BIG)
		return fail("suggest: %s have more than is kept: suggest from a shorter time",
			    s->rate ? "these samples" : "the captures");
	return ret ? fail("out of memory") : 0;
}

uint64_t suggest_clock(const struct suggest *s, uint32_t seconds)
{
	uint64_t at_ns = s->seen.begin_ns + seconds * NS_PER_SECOND;
	size_t i = s->stretch_count;

	while (i > 1 && s->stretches[i - 1].at_ns > at_ns)
		i--;
	return at_ns + (i ? s->stretches[i - 1].ahead_ns : 0);
}
