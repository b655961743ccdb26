// SPDX-License-Identifier: GPL-2.0-only
/* Samples of simulated floods of which everything is known: what top and monitor say of them is
 * true within the error that they state. The packets run through the code that the BPF program
 * has, the samples through that of the command.
 */
#include <stdio.h>
#include <string.h>

#include "algorithm/sampling.h"
#include "base/units.h"
#include "cases.h"
#include "kernel/watch/sampler.h"
#include "watch/traffic/estimate.h"
#include "watch/traffic/talkers.h"

#include "../random.h"

#define CPUS  8
#define HEAVY 4
#ifdef SANITIZED
#define SEEDS 20
#else
#define SEEDS 100
#endif
#define START_NS NS_PER_DAY

/* A second of packets. The first CPU has `first_cpu` per cent of them, the others the rest. */
static const struct flood {
	const char *name;
	uint32_t rate;         /* of samples */
	uint32_t begin, end;   /* packets in the first half of the second, and in the second half */
	uint32_t heavy[HEAVY]; /* per thousand of the packets, by source */
	uint32_t pool;         /* sources of the other packets; 0: a new one for each packet */
	int cpus, first_cpu;
	uint32_t poll_ms;
} floods[] = {
	{"forged, on one CPU", 1000, 50000, 50000, {60, 30, 15, 2}, 0, 1, 100, 100},
	{"forged, on eight CPUs", 1000, 50000, 50000, {60, 30, 15, 2}, 0, 8, 12, 100},
	{"most packets on one of eight CPUs", 1000, 40000, 40000, {500, 30, 15, 2}, 0, 8, 90, 100},
	{"it begins late", 1000, 100, 80000, {60, 30, 15, 2}, 0, 2, 50, 100},
	{"it ends early", 1000, 80000, 400, {60, 30, 15, 2}, 0, 2, 50, 100},
	{"few sources", 1000, 30000, 30000, {300, 200, 40, 10}, 20, 2, 50, 100},
	{"a pool of sources", 2000, 50000, 50000, {60, 30, 15, 2}, 5000, 2, 50, 100},
	{"hardly more packets than samples", 1000, 700, 900, {300, 100, 50, 20}, 0, 2, 50, 100},
	{"all packets are samples", 1000, 300, 300, {300, 100, 50, 20}, 0, 2, 50, 100},
	{"ten samples", 10, 20000, 20000, {600, 100, 50, 20}, 0, 2, 50, 100},
	{"a reader that stalls", 1000, 50000, 50000, {60, 30, 15, 2}, 0, 2, 50, 450},
};

/* The result of one run of a flood. */
struct run {
	const struct flood *flood;
	uint64_t random;
	struct sampler sampler;
	struct rl_watch_count counts[CPUS];
	struct sampled_list sampled;
	uint64_t packets, true_of[HEAVY];
	uint32_t others; /* packets of no heavy source */
	bool seen[1 << 17];
	uint32_t sources; /* that sent any, heavy ones left out */
};

/* Over all seeds. */
struct sums {
	uint64_t rows, rows_right;
	uint64_t counts_right;
	double off[HEAVY], off_squared[HEAVY];
	uint64_t slots_of_samples;
};

static void address_of(uint8_t out[16], uint32_t number)
{
	memset(out, 0, 16);
	out[10] = out[11] = 0xff;
	for (int i = 0; i < 4; i++)
		out[15 - i] = (uint8_t)(number >> 8 * i);
}

static uint32_t number_of(const uint8_t addr[16])
{
	return (uint32_t)addr[12] << 24 | (uint32_t)addr[13] << 16 | (uint32_t)addr[14] << 8 |
	       addr[15];
}

/* 0..HEAVY - 1 is a heavy source. */
static uint32_t source_draw(struct run *run)
{
	uint32_t draw = (uint32_t)random_under(&run->random, 1000), other;

	for (uint32_t i = 0; i < HEAVY; i++) {
		if (draw < run->flood->heavy[i]) {
			run->true_of[i]++;
			return i;
		}
		draw -= run->flood->heavy[i];
	}
	other = run->flood->pool ? (uint32_t)random_under(&run->random, run->flood->pool)
				 : run->others;
	run->others++;
	run->sources += !run->seen[other];
	run->seen[other] = true;
	return HEAVY + other;
}

static void packet_run(struct run *run, uint64_t now_ns)
{
	bool first = random_under(&run->random, 100) < (uint64_t)run->flood->first_cpu;
	int others = run->flood->cpus - 1;
	uint32_t cpu =
		first || !others ? 0 : 1 + (uint32_t)random_under(&run->random, (uint64_t)others);
	struct rl_watch_count *count = &run->counts[cpu];
	struct rl_sample sample = {.time_ns = now_ns,
				   .cpu = cpu,
				   .bytes = 100,
				   .packets = 1,
				   .tag = (uint32_t)(random_next(&run->random) >> 32)};

	run->packets++;
	address_of(sample.src, source_draw(run));
	if (!sampling_takes(&run->sampler.stream, count, now_ns, sample.tag))
		return;
	sample.now = count->now;
	sample.before = count->before;
	assert_int_equal(sampler_add(&run->sampler, &sample, &run->sampled), 0);
}

static void close_before(struct run *run, uint32_t slot)
{
	for (uint32_t i = 0; i < CPUS; i++) {
		assert_int_equal(
			sampler_learn(&run->sampler, i, run->counts[i].before, &run->sampled), 0);
		assert_int_equal(sampler_learn(&run->sampler, i, run->counts[i].now, &run->sampled),
				 0);
	}
	assert_int_equal(sampler_close(&run->sampler, slot, &run->sampled), 0);
}

static void flood_run(struct run *run, const struct flood *flood, uint64_t seed)
{
	uint32_t packets = flood->begin + flood->end;
	uint64_t poll_ns = START_NS + flood->poll_ms * NS_PER_MS;

	memset(run, 0, sizeof(*run));
	run->flood = flood;
	run->random = seed * 0x9e3779b97f4a7c15u + 1;
	sampler_init(&run->sampler, flood->rate, START_NS, CPUS);
	for (uint32_t i = 0; i < packets; i++) {
		bool late = i >= flood->begin;
		uint64_t of = late ? flood->end : flood->begin, n = late ? i - flood->begin : i;
		uint64_t now_ns =
			START_NS + (late ? NS_PER_SECOND / 2 : 0) + n * (NS_PER_SECOND / 2) / of;

		for (; now_ns >= poll_ns; poll_ns += flood->poll_ms * NS_PER_MS)
			close_before(run, sampler_slot_of(&run->sampler, poll_ns));
		packet_run(run, now_ns);
	}
	close_before(run, sampler_slot_of(&run->sampler, START_NS + NS_PER_SECOND));
}

/* ---- what is to be true of every run */

/* The samples stand for all packets, evenly over time, and are not more than were asked for. */
static void samples_check(const struct run *run)
{
	uint32_t slots[64] = {0};
	uint64_t sum = 0;

	for (size_t i = 0; i < run->sampled.count; i++) {
		const struct sampled *sample = &run->sampled.items[i];

		assert_true(sample->stands_for >= 1);
		sum += sample->stands_for;
		slots[sampler_slot_of(&run->sampler, sample->packet.time_ns)]++;
	}
	assert_int_equal(sum + run->sampler.carried, run->packets);
	assert_int_equal(run->sampler.late, 0);
	for (int i = 0; i < 64; i++)
		assert_true(slots[i] <= run->sampler.wanted);
	if (run->packets <= run->flood->rate)
		assert_int_equal(run->sampled.count, run->packets);
}

static bool is_within(uint64_t n, uint64_t of, uint64_t error)
{
	return n + error >= of && n <= of + error;
}

static void talkers_check(struct run *run, struct talkers *talkers, struct sums *sums)
{
	struct talk all = talkers_sum(talkers, TALKER_DROPPED);
	struct rare rare = {0};

	for (const struct talker *at = talkers->list; at; at = at->hh.next) {
		struct talk talk = talker_sum(at, TALKER_DROPPED);
		uint64_t error = estimate_error(&talk.packets, &all.packets);
		uint32_t number = number_of(at->addr);

		if (!estimate_is_borne(&talk.packets, &all.packets)) {
			estimate_merge(&rare.packets, &talk.packets);
			rare.sources++;
			rare.once += talk.packets.samples == 1;
			rare.twice += talk.packets.samples == 2;
			continue;
		}
		if (number >= HEAVY) { /* of one packet no rate is shown but the true one */
			assert_true(run->flood->pool || (talk.packets.sum == 1 && !error));
			continue;
		}
		sums->rows++;
		sums->rows_right += is_within(talk.packets.sum, run->true_of[number], error);
	}
	if (rare.sources) {
		struct rare_sources found = rare_count(&rare, &all.packets);

		sums->counts_right += found.least <= run->sources + HEAVY &&
				      found.most + HEAVY >= run->sources &&
				      found.least <= found.about && found.about <= found.most;
	}
}

static void seed_check(struct run *run, struct sums *sums)
{
	struct talkers talkers = {0};
	uint64_t of[HEAVY] = {0};

	samples_check(run);
	sampled_sort(&run->sampled);
	for (size_t i = 0; i < run->sampled.count; i++) {
		const struct sampled *sample = &run->sampled.items[i];
		uint32_t number = number_of(sample->packet.src);

		assert_true(!i || sample[-1].packet.time_ns <= sample->packet.time_ns);
		assert_int_equal(talkers_add(&talkers, sample, true, false), 0);
		if (number < HEAVY)
			of[number] += sample->stands_for;
	}
	for (int i = 0; i < HEAVY; i++) {
		double off = (double)of[i] - (double)run->true_of[i];

		sums->off[i] += off;
		sums->off_squared[i] += off * off;
	}
	talkers_check(run, &talkers, sums);
	talkers_clear(&talkers);
}

/* The mean of what all seeds are off by is 0 within four of its standard errors. */
static void bias_check(const struct sums *sums)
{
	for (int i = 0; i < HEAVY; i++)
		assert_true(sums->off[i] * sums->off[i] <= 16 * sums->off_squared[i]);
}

ROWS(is_true, floods, flood)
{
	struct sums sums = {0};
	static struct run run;
	bool sampled = flood->begin + flood->end > flood->rate;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		flood_run(&run, flood, seed);
		seed_check(&run, &sums);
		sampler_clear(&run.sampler);
		sampled_clear(&run.sampled);
	}
	print_message("%s: %llu of %llu rates and %llu of %d counts within their error\n",
		      flood->name, (unsigned long long)sums.rows_right,
		      (unsigned long long)sums.rows, (unsigned long long)sums.counts_right, SEEDS);
	bias_check(&sums);
	assert_true(flood->rate == 10 || sums.rows >= 2 * SEEDS);
	assert_true(sums.rows_right >= sums.rows * 94 / 100);
	if (sampled && flood->pool != 20) /* of those twenty each has a rate */
		assert_true(sums.counts_right >= SEEDS * 90 / 100);
}

/* ---- rows of their own */

static struct estimate samples_of(uint64_t count, uint64_t weight)
{
	struct estimate estimate = {0};

	for (uint64_t i = 0; i < count; i++)
		estimate_add(&estimate, weight, 1);
	return estimate;
}

static const struct part {
	const char *name;
	uint64_t count, weight, all;
	uint64_t error;
	bool borne;
} parts[] = {
	{"eight samples bear a rate", 8, 1000001, 1000, 8000003, true},
	{"seven do not", 7, 1000001, 1000, 7656857, false},
	{"one packet of which all is known", 1, 1, 1000, 0, true},
	{"no sample is not none", 0, 101, 1000, 400, false},
	{"none of which all is known", 0, 1, 1000, 0, false},
	{"a hundred", 100, 101, 1000, 2220, true},
};

ROWS(error_is_stated, parts, part)
{
	struct estimate own = samples_of(part->count, part->weight);
	struct estimate all = samples_of(part->all, part->weight);

	assert_int_equal(estimate_error(&own, &all), part->error);
	assert_int_equal(estimate_is_borne(&own, &all), part->borne);
}

static const struct counted {
	const char *name;
	uint64_t weight, once, twice, thrice;
	uint64_t least, about, most;
	bool seen_once;
} counted[] = {
	{"all seen once", 150, 1000, 0, 0, 69000, 150000, 150000, true},
	{"more samples, a smaller error", 150, 4000, 0, 0, 460000, 600000, 600000, true},
	{"few, seen again and again", 150, 100, 200, 300, 600, 620, 650, false},
	{"each packet is known", 1, 5, 2, 1, 8, 8, 8, true},
	{"one", 1000, 1, 0, 0, 2, 1000, 1000, true},
};

ROWS(sources_are_counted, counted, row)
{
	struct rare rare = {.sources = row->once + row->twice + row->thrice,
			    .once = row->once,
			    .twice = row->twice};
	struct rare_sources found;

	rare.packets = samples_of(row->once + 2 * row->twice + 3 * row->thrice, row->weight);
	found = rare_count(&rare, &rare.packets);
	print_message("%llu to %llu, about %llu\n", (unsigned long long)found.least,
		      (unsigned long long)found.most, (unsigned long long)found.about);
	assert_in_range(found.least, row->least * 9 / 10, row->least * 12 / 10);
	assert_in_range(found.about, row->about * 97 / 100, row->about * 103 / 100);
	assert_in_range(found.most, row->most * 97 / 100, row->most * 103 / 100);
	assert_int_equal(found.once, row->seen_once);
}
