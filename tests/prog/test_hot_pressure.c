// SPDX-License-Identifier: GPL-2.0-only
/* The hot table with more sources than slots: no source gets more than its limit, none is refused
 * without a debt, and known sources stay known among strangers.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "bucket_model.h"
#include "harness.h"

/* ---- occupancy */

#define BURST  3
#define ROUNDS 5

static const struct filling {
	const char *name;
	uint32_t sources, percent, fit_least;
} fillings[] = {
	{"filled to 50 %", 4096, 50, 1500},
	{"filled to 100 %", 4096, 100, 1500},
	{"filled to 300 %", 65536, 300, 100},
};

/* `ways` sources to a set at most: those have a slot each, and their verdicts are the model's. The
 * others get what they are promised, and whatever was forgotten of them. */
static void filling_judge(struct harness *h, uint32_t count, uint8_t *crowded, uint32_t fit_least)
{
	struct rl_rule numbers = harness_numbers(h, 0);
	uint8_t *within = calloc(count + 1, 1);
	uint8_t addr[16];
	uint32_t fit = 0;

	assert_non_null(within);
	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < count; i++) {
			address_ip4(addr, i);
			within[i] += harness_within(h, addr, 1);
			assert_true(round >= BURST || within[i] == round + 1);
		}
	for (uint32_t i = 0; i < count; i++) {
		address_ip4(addr, i);
		if (crowded[harness_key(h, &numbers, addr).set] > RL_HOT_WAYS)
			continue;
		fit++;
		assert_int_equal(within[i], BURST);
	}
	assert_true(fit >= fit_least);
	free(within);
}

ROWS(filling_test, fillings, filling)
{
	struct harness_options options = {.sources = filling->sources, .seed = {77, 99}};
	struct harness *h = harness_must_open(&options);
	uint32_t count = (uint64_t)filling->sources * filling->percent / 100;
	struct rl_rule numbers;
	uint8_t *crowded, addr[16];

	harness_policy(h, "any limit 1/h burst 3");
	numbers = harness_numbers(h, 0);
	crowded = calloc(h->instance.info.hot_sets, 1);
	assert_non_null(crowded);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *set;

		address_ip4(addr, i);
		set = &crowded[harness_key(h, &numbers, addr).set];
		*set += *set < 255;
	}
	filling_judge(h, count, crowded, filling->fit_least);
	free(crowded);
	harness_close(h);
}

/* ---- as few as may be asked for */

#define FEW 5

static const struct few {
	const char *name;
	enum rl_table table;
} fews[] = {
	{"few sources, in the hot table", RL_TABLE_HOT},
	{"few sources, in LRUs", RL_TABLE_LRU},
	{"few sources, in LRUs of each CPU", RL_TABLE_CPU},
};

/* However few sources are asked for, at least so many have a bucket each. */
ROWS(few_test, fews, few)
{
	for (uint32_t count = 1; count <= FEW; count++) {
		struct harness_options options = {.sources = count, .table = few->table};
		struct harness *h = harness_must_open(&options);
		uint32_t burst = 60;
		uint8_t addr[16];

		harness_policy(h, "any limit 60/h burst 60");
		if (few->table == RL_TABLE_CPU)
			burst /= h->instance.info.cpus;
		for (uint32_t i = 0; i < count; i++) {
			address_ip4(addr, i);
			assert_int_equal(harness_within(h, addr, burst + 1), burst);
		}
		for (uint32_t i = 0; i < count; i++) {
			address_ip4(addr, i);
			assert_int_equal(harness_within(h, addr, 1), 0);
		}
		harness_close(h);
	}
}

/* ---- one source among many */

#define TURNS 400
#define FLOOD 1000

static const struct crush {
	const char *name, *rules;
} crushes[] = {
	{"strangers under the same limit", "any limit 100/s burst 50"},
	{"strangers that owe longer",
	 "192.0.2.1 limit 100/s burst 50; 10.0.0.0/8 limit 1/h burst 1"},
	{"strangers that owe longer, a slow limit",
	 "192.0.2.1 limit 1/s burst 50; 10.0.0.0/8 limit 1/h burst 1"},
	{"strangers under several limits",
	 "192.0.2.1 limit 100/s burst 50; 10.0.0.0/8 limit 1/h burst 1; 10.0.0.0/8 limit 1/d burst "
	 "1 per dest; device limit 10m/s burst 1000 per source"},
};

struct victim {
	struct harness *h;
	struct rl_rule numbers;
	struct bucket_model model; /* of all that got in */
	uint8_t addr[16];
	uint32_t within, forgotten;
	uint64_t seed;
};

/* Only a source with a debt is refused: the model, which counts every packet that passed, refuses
 * as well. */
static void victim_send(struct victim *v)
{
	bucket_model_wait(&v->model, v->h->now_ns);
	if (harness_within(v->h, v->addr, 1)) {
		bucket_model_take(&v->model, 1);
		v->within++;
	} else {
		assert_true(bucket_model_left(&v->model, 1) < 0);
	}
}

/* Strangers, and their effect on the slot: the debt of a packet may be lost if its source was
 * evicted with a debt and had been seen once. */
static void victim_crush(struct victim *v)
{
	struct rl_hot_slot *slot = harness_slot(v->h, &v->numbers, v->addr);
	bool once = slot && !(slot->fingerprint & HOT_AGAIN);
	uint8_t addr[16];

	for (int i = 0; i < FLOOD; i++) {
		address_ip4(addr, random_under(&v->seed, 1u << 24));
		harness_run_from(v->h, addr);
	}
	v->forgotten += once && !harness_slot(v->h, &v->numbers, v->addr);
}

/* The rule of the victim's prefix: `any` and addresses come before and after `device`. */
static struct rl_rule victim_numbers(struct harness *h, const char *rules)
{
	return harness_numbers(h,
			       strstr(rules, "10.0.0.0/8 ") ? strstr(rules, "device") ? 3 : 1 : 0);
}

ROWS(crush_test, crushes, crush)
{
	static const struct harness_options options = {.sources = 1024, .seed = {5, 6}};
	static const uint8_t addr[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
	struct victim v = {.h = harness_open(&options), .seed = 4711};
	uint64_t start_ns;

	assert_non_null(v.h);
	memcpy(v.addr, addr, sizeof(addr));
	harness_policy(v.h, crush->rules);
	v.numbers = victim_numbers(v.h, crush->rules);
	assert_int_equal(v.numbers.limit.size, 50);
	v.model = bucket_model(&v.numbers.limit);
	v.model.last_ns = start_ns = v.h->now_ns;
	for (int turn = 0; turn < TURNS; turn++) {
		uint32_t packets = random_under(&v.seed, 6);
		uint64_t most;

		harness_clock(v.h, v.h->now_ns + random_under(&v.seed, 30) * NS_PER_MS);
		for (uint32_t i = 0; i < packets; i++)
			victim_send(&v);
		most = v.numbers.limit.size + (v.h->now_ns - start_ns) * v.numbers.limit.amount /
						      v.numbers.limit.period_ns;
		assert_true(v.within <= most + v.forgotten);
		victim_crush(&v);
	}
	harness_close(v.h);
}

/* ---- known sources */

#define KNOWN_SECONDS 30
#define CAP           20

static const char *const known_rules[] = {
	"any limit 100/s burst 10; device new-source limit 20/s burst 20",
	"any limit 100/s burst 10; any new-source limit 20/s burst 20 per rule",
	"any limit 100/s burst 10; any limit 8mbit burst 20kbyte; device new-source limit 20/s "
	"burst 20",
};

struct town {
	struct harness *h;
	uint32_t strangers, strangers_in;
};

static void town_flood(struct town *town, uint32_t packets)
{
	uint8_t addr[16];

	for (uint32_t i = 0; i < packets; i++) {
		address_ip4(addr, town->strangers++);
		town->strangers_in += harness_run_from(town->h, addr) == RL_REASON_WITHIN;
	}
}

/* Eight known sources, each at half its limit, 5000 strangers a second: no packet of the known is
 * lost, and strangers get in as the cap says. */
ROWS(known_test, known_rules, row)
{
	static const struct harness_options options = {.sources = 1024, .seed = {1, 2}};
	struct town town = {.h = harness_open(&options)};
	uint8_t known[16] = {[10] = 0xff, 0xff, 192, 0, 2, 0};

	assert_non_null(town.h);
	harness_policy(town.h, *row);
	for (int i = 0; i < 8; i++, known[15]++)
		assert_int_equal(harness_within(town.h, known, 1), 1);
	harness_clock(town.h, town.h->now_ns + NS_PER_SECOND);
	for (int turn = 0; turn < 50 * KNOWN_SECONDS; turn++) {
		town_flood(&town, 100);
		known[15] = 0;
		for (int i = 0; i < 8; i++, known[15]++)
			assert_int_equal(harness_within(town.h, known, 1), 1);
		harness_clock(town.h, town.h->now_ns + 20 * NS_PER_MS);
	}
	assert_true(town.strangers_in <= CAP + CAP * KNOWN_SECONDS);
	assert_true(town.strangers_in >= CAP * KNOWN_SECONDS);
	harness_close(town.h);
}

/* ---- */

AT_START(stay)
{
	cpu_stay(sched_getcpu()); /* the shares of --table cpu are each CPU's */
}
