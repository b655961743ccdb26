// SPDX-License-Identifier: GPL-2.0-only
/* The token bucket as the loaded program holds it, verdict by verdict against the exact model of
 * bucket_model.h, with time injected: several sources of both families under one limit each.
 *
 * Where a packet costs whole grains all verdicts are equal. Elsewhere one may differ only where the
 * tokens left are off by at most what tests/unit/gcra_pair.h calls the bound.
 */
#include <string.h>

#include "base/units.h"
#include "bucket_model.h"
#include "compile/compile.h"
#include "compile/numbers.h"
#include "harness.h"
#include "random.h"

#define PACKETS 9000 /* of each limit */

HARNESS(h)

static const char *const limits[] = {
	"1000/second burst 100",
	"1000/second burst 1",
	"3/second burst 5",
	"7/13s burst 20",
	"1/day",
	"100m/second burst 40",
	"97000003/second burst 40",
	"leaky-bucket 333/second queue 100ms",
	"64kbit",
	"1mbit burst 10kbyte",
	"12345678byte/s burst 50kbyte",
	"10gbit burst 20kbyte",
	"400gbit burst 64kibyte",
};

static const char *const sources[] = {
	"ip4=192.0.2.1",
	"ip4=192.0.2.2",
	"ip6=2001:db8::1",
	"ip6=2001:db8:0:1::1",
};

static uint64_t random_below(uint64_t bound)
{
	static uint64_t seed = 20240615;

	return random_under(&seed, bound);
}

/* A source as the model sees it. */
struct judged {
	struct bucket_model model;
	uint64_t packets, amount; /* since it was last full beyond doubt */
};

struct trial {
	struct rl_limit limit;
	struct rl_gcra gcra;
	struct judged by[ARRAY_SIZE(sources)];
	uint64_t now_ns;
	uint32_t admitted, refused;
};

static uint64_t bound_of(const struct trial *t, const struct judged *j)
{
	uint64_t exact = (uint64_t)(j->model.capacity / j->model.amount);

	if (bucket_model_exact(&j->model))
		return 0;
	return t->gcra.capacity - exact + dither_bound(j->packets) +
	       (j->amount >> t->gcra.cost_shift >> 1) + 1;
}

static void judged_wait(const struct trial *t, struct judged *j)
{
	u128 back = ((u128)(t->now_ns - j->model.last_ns) << RL_GRAIN_SHIFT) * j->model.amount;
	u128 doubt = (u128)bound_of(t, j) * j->model.amount;

	if (back >= j->model.debt + doubt)
		j->packets = j->amount = 0;
	bucket_model_wait(&j->model, t->now_ns);
}

/* The verdict is the model's, or it was too close to call; then the model follows. */
static void judge(struct trial *t, struct judged *j, uint64_t amount, enum rl_reason reason)
{
	i128 left = bucket_model_left(&j->model, amount);
	i128 off = left < 0 ? -left : left;
	bool within = reason == RL_REASON_WITHIN;

	assert_true(within || reason == RL_REASON_OVER);
	if (within != (left >= 0) && off > (i128)bound_of(t, j) * (i128)j->model.amount)
		fail_msg("%s wrongly at %llu ns, %g grains off", reason_name(reason),
			 (unsigned long long)t->now_ns, (double)left / (double)j->model.amount);
	t->admitted += within;
	t->refused += !within;
	if (!within)
		return;
	bucket_model_take(&j->model, amount);
	j->packets++;
	j->amount += amount;
}

static uint64_t random_wait(const struct trial *t, uint64_t amount)
{
	const struct bucket_model *m = &t->by[0].model;
	uint64_t packet_ns = (uint64_t)(m->unit * amount / m->amount >> RL_GRAIN_SHIFT);
	uint64_t span_ns = (uint64_t)(m->capacity / m->amount >> RL_GRAIN_SHIFT);

	switch (random_below(1000)) {
	case 0:
		return span_ns;
	case 1 ... 2:
		return random_below(span_ns + 1);
	case 3:
		return random_below(4 * NS_PER_MS);
	case 4 ... 99:
		return 1;
	case 100 ... 199:
		return packet_ns;
	case 200 ... 599:
		return random_below(packet_ns + 2);
	default:
		return 0;
	}
}

static void packet_judge(struct trial *t)
{
	size_t who = random_below(16) ? 0 : random_below(ARRAY_SIZE(sources));
	bool bytes = t->limit.unit != RL_PACKETS;
	uint32_t data = bytes && random_below(3) ? random_below(1430) : 0;
	static struct frame frame;
	uint64_t amount;
	char words[80];

	snprintf(words, sizeof(words), "%s udp data=%u", sources[who], data);
	frame_build(&frame, words);
	amount = bytes ? frame.size : 1;
	t->now_ns += random_wait(t, amount);
	harness_clock(h, t->now_ns);
	judged_wait(t, &t->by[who]);
	judge(t, &t->by[who], amount, harness_count(h, &frame));
}

ROWS(bucket_test, limits, row)
{
	struct trial t = {.now_ns = NS_PER_DAY + random_below(NS_PER_DAY)};
	char line[RULE_TEXT_MAX];

	snprintf(line, sizeof(line), "rule any limit %s", (const char *)*row);
	harness_policy(h, "");
	harness_policy(h, line);
	t.limit = harness_rule(h, line + strlen("rule ")).limit;
	gcra_compile(&t.limit, &t.gcra);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		t.by[i].model = bucket_model(&t.limit);
		t.by[i].model.last_ns = t.now_ns;
	}
	for (unsigned int i = 0; i < PACKETS; i++)
		packet_judge(&t);
	assert_true(t.admitted > PACKETS / 20 && t.refused > PACKETS / 20);
}
