// SPDX-License-Identifier: GPL-2.0-only
/* Requests for many keys in few calls of a script. A call takes Redis some hundred microseconds,
 * and few are in flight at once to a node, so that other members do not wait for long.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/units.h"
#include "fleet/agent_parts.h"

#define BATCH      100 /* keys per call */
#define IN_FLIGHT  4   /* calls to a node */
#define FLIGHTS    64  /* calls to all nodes */
#define ARGUMENTS  6
#define NUMBER_MAX 24
#define SHARE_SIZE 20 /* bytes of a request for a share */
#define SHARE_BITS 20
#define SHARE_MASK ((1u << SHARE_BITS) - 1)

/* The words of a call; the others hold their text. */
struct call {
	const char *words[5 + BATCH + ARGUMENTS * BATCH];
	size_t lengths[5 + BATCH + ARGUMENTS * BATCH];
	int count;
	char capacity[FLEET_KEY_MAX];
	char keys[BATCH][FLEET_KEY_MAX];
	char numbers[ARGUMENTS * BATCH][NUMBER_MAX];
	int number_count;
	char packed[SHARE_SIZE * BATCH];
};

void fleet_key_make(char out[FLEET_KEY_MAX], const char *fleet, int shard, const char *name)
{
	if (shard)
		snprintf(out, FLEET_KEY_MAX, "rlctl:{%s:%d}:%s", fleet, shard, name);
	else
		snprintf(out, FLEET_KEY_MAX, "rlctl:{%s}:%s", fleet, name);
}

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

/* The node, or -1. */
static int batch_send(struct agent *a, bool window, struct fleet_entry **entries, size_t count)
{
	static struct call call;

	call.count = 2;
	call.number_count = 0;
	call_number(&call, (int64_t)count + 1);
	fleet_key_make(call.capacity, a->options->fleet, entries[0]->shard, "capacity");
	call_word(&call, call.capacity);
	for (size_t i = 0; i < count; i++) {
		fleet_key_make(call.keys[i], a->options->fleet, entries[i]->shard,
			       entries[i]->name);
		call_word(&call, call.keys[i]);
	}
	for (size_t i = 0; i < count; i++) {
		const struct fleet_entry *e = entries[i];
		const uint32_t shares[] = {htole32(e->held), htole32(e->reserved), htole32(e->want),
					   htole32(e->wanted), htole32(e->ends)};

		if (window) {
			call_number(&call, (int64_t)fleet_limit_leased(e->limit));
			call_number(&call, (int64_t)(e->limit->rule.limit.period_ns / NS_PER_MS));
			call_number(&call, (int64_t)e->ask);
			call_number(&call, (int64_t)e->back);
			call_number(&call, e->window);
			call_number(&call, (int64_t)e->limit->packet);
		} else {
			memcpy(call.packed + i * sizeof(shares), shares, sizeof(shares));
		}
	}
	if (!window) {
		call.words[call.count] = call.packed;
		call.lengths[call.count++] = SHARE_SIZE * count;
	}
	return cluster_call(&a->cluster, entries[0]->shard, window ? SCRIPT_WINDOW : SCRIPT_RATE,
			    call.count, call.words, call.lengths);
}

static void shares_read(struct agent *a, const redisReply *reply, struct fleet_entry **entries,
			size_t count, uint64_t sent_ns)
{
	uint32_t second = reply_number(reply, 0, 0, UINT32_MAX * 1000ll) / 1000;

	for (size_t i = 0; i < count; i++) {
		uint64_t answer = reply_number(reply, i + 1, 0, INT64_MAX);

		fleet_entry_grant(entries[i], &a->maps, &a->pace, answer & SHARE_MASK,
				  answer >> SHARE_BITS, second, sent_ns);
	}
}

static void windows_read(struct agent *a, const redisReply *reply, struct fleet_entry **entries,
			 size_t count, uint64_t sent_ns)
{
	for (size_t i = 0; i < count; i++) {
		int64_t period_ms = entries[i]->limit->rule.limit.period_ns / NS_PER_MS;
		int64_t lease = reply_number(reply, 3 * i + 1, 0, INT64_MAX);
		int64_t lasts_ms = reply_number(reply, 3 * i + 2, 0, period_ms);
		int64_t start = reply_number(reply, 3 * i + 3, 0, INT64_MAX);

		fleet_entry_window(entries[i], &a->maps, &a->pace, lease, lasts_ms * NS_PER_MS,
				   start, sent_ns);
	}
}

struct flight {
	struct fleet_entry **entries; /* of one shard */
	size_t count;
	int node;
	uint64_t sent_ns;
};

/* As cluster_answer. */
static int batch_receive(struct agent *a, bool window, const struct flight *flight,
			 char error[LINK_ERROR_MAX])
{
	redisReply *reply;
	int ret =
		cluster_answer(&a->cluster, flight->entries[0]->shard, flight->node, &reply, error);

	if (ret)
		return ret;
	(window ? windows_read : shares_read)(a, reply, flight->entries, flight->count,
					      flight->sent_ns);
	freeReplyObject(reply);
	return 0;
}

static int shard_compare(const void *a, const void *b)
{
	return (*(struct fleet_entry *const *)a)->shard - (*(struct fleet_entry *const *)b)->shard;
}

static bool is_busy(const struct fleet_cluster *c, const struct fleet_entry *next)
{
	return c->nodes[cluster_node(c, next->shard)].pending >= IN_FLIGHT;
}

int fleet_requests_send(struct agent *a, enum fleet_request_kind kind, char error[LINK_ERROR_MAX])
{
	const struct fleet_requests *ask = &a->ask[kind];
	struct flight flights[FLIGHTS];
	uint64_t begin_ns = fleet_now_ns(), took_ns;
	size_t sent = 0, received = 0, first = 0, next = 0;
	int ret, later = 0;

	if (a->cluster.url->shards > 1)
		qsort(ask->entries, ask->count, sizeof(struct fleet_entry *), shard_compare);
	while (received < ask->count) {
		while (next == first || (sent < ask->count && next - first < FLIGHTS &&
					 !is_busy(&a->cluster, ask->entries[sent]))) {
			struct flight *f = &flights[next++ % FLIGHTS];

			f->entries = ask->entries + sent;
			f->count = 1;
			while (f->count < BATCH && sent + f->count < ask->count &&
			       ask->entries[sent + f->count]->shard == ask->entries[sent]->shard)
				f->count++;
			f->sent_ns = fleet_now_ns();
			f->node = batch_send(a, kind, f->entries, f->count);
			if (f->node < 0)
				return -1;
			sent += f->count;
		}
		ret = batch_receive(a, kind, &flights[first % FLIGHTS], error);
		if (ret < 0)
			return -1;
		later |= ret;
		received += flights[first++ % FLIGHTS].count;
		took_ns = fleet_now_ns() - begin_ns;
		if (took_ns > a->pace.patience_ns)
			return link_error(error, "Redis is too slow: %zu of %zu keys in %llu ms",
					  received, ask->count,
					  (unsigned long long)took_ns / NS_PER_MS);
	}
	return later;
}
