// SPDX-License-Identifier: GPL-2.0-only
/* The words of events. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "watch/events/event.h"
#include "watch/traffic/pattern.h"
#include "watch/traffic/rule_book.h"

#define WORD(name, text, group) text,
const char *const event_words[EVENT_KIND_COUNT] = {EVENT_KINDS(WORD)};

void event_text_set(struct event *event, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(event->text, sizeof(event->text), format, args);
	va_end(args);
}

/* ---- when something has begun and ended */

#define MASK ((1u << ONSET_TENTHS) - 1)

enum onset_change onset_step(struct onset *onset, uint64_t count, uint64_t before_ns,
			     uint64_t now_ns)
{
	uint64_t tenths = (now_ns - before_ns + ONSET_TENTH_NS / 2) / ONSET_TENTH_NS;
	uint32_t there;

	/* At least 1, at most all that are looked at. */
	tenths = tenths < 1 ? 1 : tenths > ONSET_TENTHS ? ONSET_TENTHS : tenths;
	there = (uint32_t)(count < tenths ? count : tenths);
	if (there && onset_is_idle(onset))
		onset->first_ns = now_ns;
	if (there)
		onset->last_ns = now_ns;
	onset->seen = (onset->seen << tenths | ((1u << there) - 1)) & MASK;
	if (!onset->on && __builtin_popcount(onset->seen) >= ONSET_BEGINS) {
		onset->on = true;
		return ONSET_BEGUN;
	}
	if (!onset->on || there || now_ns - onset->last_ns < ONSET_PAUSE_NS)
		return ONSET_NONE;
	onset->on = false;
	onset->seen = 0;
	return ONSET_ENDED;
}

bool onset_is_idle(const struct onset *onset)
{
	return !onset->on && !onset->seen;
}

/* ---- how many are reported */

#define STEP_NS (NS_PER_SECOND / QUOTA_RATE)

bool quota_take(struct quota *quota, enum event_kind kind, uint64_t now_ns)
{
	uint64_t *free_ns = &quota->free_ns[kind];
	uint64_t from = *free_ns > now_ns ? *free_ns : now_ns;

	if (from + STEP_NS > now_ns + NS_PER_SECOND) {
		quota_lose(quota, kind, 1);
		return false;
	}
	*free_ns = from + STEP_NS;
	return true;
}

void quota_lose(struct quota *quota, enum event_kind kind, uint64_t count)
{
	quota->lost[kind] += count;
}

/* "1,234 events were suppressed: 1,200 ban-begin, 34 ban-end" */
bool quota_tell(struct quota *quota, uint64_t now_ns, bool at_once, struct event *out)
{
	uint64_t sum = 0;
	size_t used;

	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		sum += quota->lost[i];
	if (!sum || (!at_once && now_ns - quota->told_ns < NS_PER_SECOND))
		return false;
	out->kind = EVENT_LOST;
	out->count = sum;
	memcpy(out->of, quota->lost, sizeof(out->of));
	memset(quota->lost, 0, sizeof(quota->lost));
	quota->told_ns = now_ns;
	used = (size_t)snprintf(out->text, EVENT_TEXT_MAX, "%s event%s suppressed",
				number_text(sum), sum == 1 ? " was" : "s were");
	for (int i = 0, n = 0; i < EVENT_KIND_COUNT; i++)
		if (out->of[i])
			used += (size_t)snprintf(out->text + used, EVENT_TEXT_MAX - used, "%s%s %s",
						 n++ ? ", " : ": ", number_text(out->of[i]),
						 event_words[i]);
	return true;
}

/* ---- what sampled packets have in common */

static void value_add(struct traits *traits, enum event_feature feature, uint32_t value,
		      uint64_t weight)
{
	shares_add(&traits->values[feature], &value, sizeof(value), weight);
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
	uint32_t proto = (uint32_t)packet->proto << 16;
	struct packet_fields fields;

	traits->packets += weight;
	if (!sample_has_addresses(packet))
		return;
	source_add(&traits->sources, sample);
	patterns_add(&traits->patterns, &pattern, weight);
	if (packet->has_ports) {
		value_add(traits, FEATURE_PORT, proto | packet->dport, weight);
		value_add(traits, FEATURE_SPORT, proto | packet->sport, weight);
	}
	packet_fields_read(packet, raw_ip, &fields);
	/* A packet that stands for several segments has no length of its own. */
	if (fields.has_ip && packet->packets <= 1)
		value_add(traits, FEATURE_LENGTH, fields.value[FEATURE_LENGTH], weight);
	if (fields.has_ip)
		value_add(traits, FEATURE_TTL, fields.value[FEATURE_TTL], weight);
	if (fields.has_flags)
		value_add(traits, FEATURE_FLAGS, fields.value[FEATURE_FLAGS], weight);
}
