// SPDX-License-Identifier: GPL-2.0-only
#include "watch/events/event.h"

#include <string.h>

#include "base/units.h"
#include "watch/traffic/pattern.h"
#include "watch/traffic/rule_book.h"

#define SOURCE_LEAST 0.01
#define VALUE_LEAST  0.1

/* ---- samples */

static void value_add(struct traits *traits, enum event_feature feature, uint32_t value,
		      uint64_t weight)
{
	shares_add(&traits->values[feature], &value, sizeof(value), weight);
}

static uint32_t port_value(const struct rl_sample *packet, uint16_t port)
{
	return (uint32_t)packet->proto << 16 | port;
}

/* A packet that stands for several segments has no length of its own. */
static void headers_add(struct traits *traits, const struct sampled *sample, bool raw_ip)
{
	uint64_t weight = sample->stands_for;
	struct packet_fields fields;

	packet_fields_read(&sample->packet, raw_ip, &fields);
	if (fields.has_ip && sample->packet.packets <= 1)
		value_add(traits, FEATURE_LENGTH, fields.value[FEATURE_LENGTH], weight);
	if (fields.has_ip)
		value_add(traits, FEATURE_TTL, fields.value[FEATURE_TTL], weight);
	if (fields.has_flags)
		value_add(traits, FEATURE_FLAGS, fields.value[FEATURE_FLAGS], weight);
}

static void source_add(struct shares *shares, const struct sampled *sample)
{
	const uint8_t *src = sample->packet.src;
	uint8_t addr[16];

	prefix_mask(addr, src, key_bits(src, 32, 64));
	shares_add(shares, addr, sizeof(addr), sample->stands_for);
}

void traits_known_add(struct traits *traits, const struct sampled *sample, bool raw_ip)
{
	struct pattern pattern = pattern_of(&sample->packet, raw_ip);

	source_add(&traits->known, sample);
	patterns_add(&traits->known_patterns, &pattern, sample->stands_for);
}

void traits_add(struct traits *traits, const struct sampled *sample, bool raw_ip)
{
	const struct rl_sample *packet = &sample->packet;
	struct pattern pattern = pattern_of(packet, raw_ip);
	uint64_t weight = sample->stands_for;

	traits->packets += weight;
	if (!sample_has_addresses(packet))
		return;
	source_add(&traits->sources, sample);
	patterns_add(&traits->patterns, &pattern, weight);
	if (packet->has_ports) {
		value_add(traits, FEATURE_PORT, port_value(packet, packet->dport), weight);
		value_add(traits, FEATURE_SPORT, port_value(packet, packet->sport), weight);
	}
	headers_add(traits, sample, raw_ip);
}

/* ---- the excerpt */

static uint32_t sources_list(const struct shares *shares, uint64_t all, double least, uint64_t rate,
			     struct event_source out[EVENT_SOURCES])
{
	struct shares_part parts[EVENT_SOURCES];
	size_t count = shares_list(shares, all, least, parts, EVENT_SOURCES);

	for (size_t i = 0; i < count; i++) {
		memcpy(out[i].addr, parts[i].value, sizeof(out[i].addr));
		out[i].share = parts[i].share;
		out[i].rate = (uint64_t)(parts[i].share * (double)rate + 0.5);
	}
	return (uint32_t)count;
}

static void values_list(const struct traits *traits, enum event_feature feature,
			struct event_excerpt *out)
{
	struct shares_part parts[EVENT_COMMON];
	size_t count = shares_list(&traits->values[feature], traits->packets, VALUE_LEAST, parts,
				   EVENT_COMMON);

	out->value_count[feature] = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		memcpy(&out->values[feature][i].value, parts[i].value, sizeof(uint32_t));
		out->values[feature][i].share = parts[i].share;
	}
}

void traits_excerpt(const struct traits *traits, uint64_t rate, struct event_excerpt *out)
{
	struct pattern_part parts[EVENT_COMMON];

	*out = (struct event_excerpt){0};
	out->source_count =
		sources_list(&traits->sources, traits->packets, SOURCE_LEAST, rate, out->sources);
	out->known_count = sources_list(&traits->known, traits->packets, 0, rate, out->known);
	out->pattern_count = (uint32_t)patterns_list(&traits->patterns, traits->packets,
						     VALUE_LEAST, parts, EVENT_COMMON);
	for (size_t i = 0; i < out->pattern_count; i++) {
		out->patterns[i].part = parts[i];
		out->patterns[i].known = patterns_share(&traits->known_patterns, traits->packets,
							&parts[i].pattern) /
					 parts[i].share;
	}
	for (int i = 0; i < FEATURE_COUNT; i++)
		values_list(traits, i, out);
}
