// SPDX-License-Identifier: GPL-2.0-only
/* Requests for many keys in few calls of a script. A call takes Redis some hundred microseconds,
 * and few are in flight at once, so that other members do not wait for long.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "fleet/fleet.h"
#include "fleet/link.h"
#include "kernel/maps/fleet_maps.h"

#define BATCH      100 /* keys per call */
#define IN_FLIGHT  4   /* calls */
#define ARGUMENTS  6
#define NUMBER_MAX 24
#define SHARE_BITS 20
#define SHARE_MASK ((1u << SHARE_BITS) - 1)

/* The words of a call; the others hold their text. */
struct call {
	const char *words[5 + BATCH + ARGUMENTS * BATCH];
	size_t lengths[5 + BATCH + ARGUMENTS * BATCH];
	int count;
	char capacity[RL_FLEET_NAME + 40];
	char keys[BATCH][2 * RL_FLEET_NAME + 128];
	char numbers[ARGUMENTS * BATCH][NUMBER_MAX];
	int number_count;
	char packed[20 * BATCH];
	size_t packed_size;
};

static void call_word(struct call *call, const char *word)
{
	call->words[call->count] = word;
	call->lengths[call->count++] = strlen(word);
}

static void call_number(struct call *call, int64_t n)
{
	char *text = call->numbers[call->number_count++];

	snprintf(text, NUMBER_MAX, "%lld", (long long)n);
	call_word(call, text);
}

static void call_packed(struct call *call)
{
	call->words[call->count] = call->packed;
	call->lengths[call->count++] = call->packed_size;
}

static void call_begin(const char *fleet, struct call *call, struct fleet_entry *const *entries,
		       size_t count)
{
	call->count = 2;
	call->number_count = 0;
	call->packed_size = 0;
	call_number(call, (int64_t)count + 1);
	snprintf(call->capacity, sizeof(call->capacity), "rlctl:{%s}:capacity", fleet);
	call_word(call, call->capacity);
	for (size_t i = 0; i < count; i++) {
		snprintf(call->keys[i], sizeof(call->keys[i]), "rlctl:{%s}:%s", fleet,
			 entries[i]->name);
		call_word(call, call->keys[i]);
	}
}

static void share_append(struct call *call, const struct fleet_entry *e)
{
	const uint32_t shares[] = {htole32(e->held), htole32(e->reserved), htole32(e->want),
				   htole32(e->wanted), htole32(e->ends)};

	memcpy(call->packed + call->packed_size, shares, sizeof(shares));
	call->packed_size += sizeof(shares);
}

static void window_append(struct call *call, const struct fleet_entry *e)
{
	call_number(call, (int64_t)fleet_limit_leased(e->limit));
	call_number(call, (int64_t)(e->limit->rule.limit.period_ns / NS_PER_MS));
	call_number(call, (int64_t)e->ask);
	call_number(call, (int64_t)e->back);
	call_number(call, e->window);
	call_number(call, (int64_t)e->limit->packet);
}

static int batch_send(const struct fleet_requester *asker, bool window,
		      struct fleet_entry **entries, size_t count)
{
	static struct call call;

	call_begin(asker->fleet, &call, entries, count);
	for (size_t i = 0; i < count; i++)
		(window ? window_append : share_append)(&call, entries[i]);
	if (!window)
		call_packed(&call);
	return link_call(asker->link, window ? SCRIPT_WINDOW : SCRIPT_RATE, call.count, call.words,
			 call.lengths);
}

static void shares_read(const struct fleet_requester *asker, const redisReply *reply,
			struct fleet_entry **entries, size_t count, uint64_t sent_ns)
{
	uint32_t second = reply_number(reply, 0, 0, UINT32_MAX * 1000ll) / 1000;

	for (size_t i = 0; i < count; i++) {
		uint64_t answer = reply_number(reply, i + 1, 0, INT64_MAX);

		fleet_entry_grant(entries[i], asker->maps, asker->pace, answer & SHARE_MASK,
				  answer >> SHARE_BITS, second, sent_ns);
	}
}

static void windows_read(const struct fleet_requester *asker, const redisReply *reply,
			 struct fleet_entry **entries, size_t count, uint64_t sent_ns)
{
	for (size_t i = 0; i < count; i++) {
		int64_t period_ms = entries[i]->limit->rule.limit.period_ns / NS_PER_MS;
		int64_t lease = reply_number(reply, 3 * i + 1, 0, INT64_MAX);
		int64_t lasts_ms = reply_number(reply, 3 * i + 2, 0, period_ms);
		int64_t start = reply_number(reply, 3 * i + 3, 0, INT64_MAX);

		fleet_entry_window(entries[i], asker->maps, asker->pace, lease,
				   lasts_ms * NS_PER_MS, start, sent_ns);
	}
}

static int batch_receive(const struct fleet_requester *asker, bool window,
			 struct fleet_entry **entries, size_t count, uint64_t sent_ns,
			 char error[LINK_ERROR_MAX])
{
	redisReply *reply = link_answer(asker->link, error);

	if (!reply)
		return -1;
	(window ? windows_read : shares_read)(asker, reply, entries, count, sent_ns);
	freeReplyObject(reply);
	return 0;
}

static size_t batch_size(const struct fleet_requests *ask, size_t from)
{
	return ask->count - from < BATCH ? ask->count - from : BATCH;
}

int fleet_requests_send(const struct fleet_requester *asker, enum fleet_request_kind kind,
			const struct fleet_requests *ask, char error[LINK_ERROR_MAX])
{
	uint64_t sent_ns[IN_FLIGHT], begin_ns = fleet_now_ns();
	size_t sent = 0, received = 0;

	while (received < ask->count) {
		for (; sent < ask->count && sent - received < IN_FLIGHT * BATCH; sent += BATCH) {
			sent_ns[sent / BATCH % IN_FLIGHT] = fleet_now_ns();
			if (batch_send(asker, kind, ask->entries + sent, batch_size(ask, sent)))
				return -1;
		}
		if (batch_receive(asker, kind, ask->entries + received, batch_size(ask, received),
				  sent_ns[received / BATCH % IN_FLIGHT], error))
			return -1;
		received += BATCH;
		if (fleet_now_ns() - begin_ns > asker->pace->patience_ns) {
			snprintf(error, LINK_ERROR_MAX,
				 "Redis is too slow: %zu of %zu keys in %llu ms", received,
				 ask->count,
				 (unsigned long long)(fleet_now_ns() - begin_ns) / NS_PER_MS);
			return -1;
		}
	}
	return 0;
}
