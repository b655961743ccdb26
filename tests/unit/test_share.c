// SPDX-License-Identifier: GPL-2.0-only
/* A limit that classes of senders share: what holds after every step whatever came, each part of
 * the arithmetic against an exact one, and short floods from end to end. tests/bench/share.c has
 * the long ones.
 */

#include "cases.h"
#include "random.h"
#include "share_sim.h"
#include "turns.h"

static const uint8_t weights[] = {60, 30, 10};
static struct sim sim;

static void start(double rate, uint32_t packet, uint64_t seed)
{
	struct rl_parts n = sim_parts(rate, packet, 4 * NS_PER_MS, weights);

	sim_start(&sim, &n, rate, 4 * NS_PER_MS, seed);
}

/* ---- rooms and paces after random steps */

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The rooms are those of water-filling, and the whole is not given twice. */
static void rooms_check(const struct rl_share *s, const struct rl_parts *n)
{
	double demand[RL_SHARE_CLASSES], exact[RL_SHARE_CLASSES];
	uint64_t sum = 0;

	for (int i = 0; i < RL_SHARE_CLASSES; i++)
		demand[i] = (double)s->part[i].demand;
	exact_rooms((double)n->room, demand, n->weight, exact);
	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		const struct rl_share_part *part = &s->part[i];
		uint64_t used = least_of(part->room, part->demand);

		sum += used;
		assert_true(part->room >= n->room * n->weight[i] / 100);
		assert_true(fabs((double)used - exact[i]) < 4 + exact[i] / 1e6);
	}
	assert_true(sum <= n->room + RL_SHARE_CLASSES);
}

static void paces_check(const struct rl_share *s, const uint64_t *senders)
{
	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		const struct rl_share_part *part = &s->part[i];

		assert_true(part->pace >= (part->room << SHARE_SENDERS_SHIFT) / (2 * senders[i]));
		assert_true(part->pace <= part->room + 1);
		assert_true(part->depth >= part->pace);
		assert_true(part->depth < 1ull << 48);
	}
}

static const struct {
	const char *name;
	double rate;
	uint32_t packet;
} limits[] = {
	{"1 packet/s", 1, 1},       {"1000 packets/s", 1000, 1}, {"20000 packets/s", 20000, 1},
	{"100M packets/s", 1e8, 1}, {"64 kbit/s", 8000, 1514},   {"100 mbit/s", 12.5e6, 1514},
	{"400 Gbit/s", 50e9, 1514},
};

TEST(steps_test)
{
	uint64_t random = 7;

	for (size_t k = 0; k < ARRAY_SIZE(limits); k++) {
		__u64 arrived[RL_SHARE_COUNTS] = {0}, admitted[RL_SHARE_COUNTS] = {0};
		uint64_t now = 1790000000123456789ull;

		start(limits[k].rate, limits[k].packet, k);
		for (int i = 0; i < TURNS(20000); i++) {
			uint64_t steps = random_under(&random, 16) ? 1 : random_under(&random, 300);
			uint64_t began = now, senders[RL_SHARE_CLASSES];

			now += (steps + 1) * sim.n.step_ns - random_under(&random, 2);
			for (int c = 0; c < RL_SHARE_COUNTS; c++) {
				uint64_t most = (sim.n.room >> RL_SHARE_SHIFT)
						<< random_under(&random, 8);
				uint64_t came = random_under(&random, most + 2);

				arrived[c] += came;
				admitted[c] += random_under(&random, came + 1);
			}
			for (int c = 0; c < RL_SHARE_STRANGER; c++)
				share_see(&sim.s.part[c], (uint32_t)random_next(&random));
			for (int c = 0; c < RL_SHARE_CLASSES; c++)
				senders[c] = share_senders(&sim.s.part[c], c);
			share_end_step(&sim.s, &sim.n, arrived, admitted, began, now);
			paces_check(&sim.s, senders);
			if (now < sim.s.busy_ns)
				rooms_check(&sim.s, &sim.n);
		}
	}
}

/* ---- senders, counted */

TEST(senders_test)
{
	static const uint32_t counts[] = {1, 2, 16, 100, 1000, 4000, 10000, 20000};

	for (size_t k = 0; k < ARRAY_SIZE(counts); k++) {
		double seen;

		start(20000, 1, k);
		for (int turn = 0; turn < 3; turn++)
			for (uint32_t i = 0; i < counts[k]; i++)
				share_see(&sim.s.part[0], (uint32_t)sim_hash(i + (k << 32)));
		seen = (double)sim.s.part[0].senders_now / (1 << SHARE_SENDERS_SHIFT);
		if (fabs(seen - counts[k]) > 0.15 * counts[k])
			fail_msg("%u senders: %.0f", counts[k], seen);
	}
}

/* ---- the pace, found anew */

/* So many known senders, evenly, from one time to another. */
static void known_send(uint32_t senders, double rate, uint64_t from_ns, uint64_t to_ns)
{
	struct sim_packet p = {.class = RL_SHARE_KNOWN, .amount = 1};

	for (uint64_t t = from_ns; t < to_ns; t += (uint64_t)(1e9 / rate)) {
		p.source = (p.source + 1) % senders;
		sim_offer(&sim, &p, t);
	}
}

/* After one sender and silence, many that send a half more than the limit are held at once. */
TEST(silence_test)
{
	const struct rl_share_part *part = &sim.s.part[RL_SHARE_KNOWN];

	start(20000, 1, 1);
	known_send(1, 50000, NS_PER_SECOND, 2 * NS_PER_SECOND);
	known_send(100, 30000, 5 * NS_PER_SECOND, 5 * NS_PER_SECOND + 100 * NS_PER_MS);
	assert_true(part->pace < part->room / 50);
	assert_true(part->pace > part->room / 200);
}

/* ---- bins */

/* A bin whose packets come no faster than the pace refuses none, whatever the luck. */
TEST(bin_slow_test)
{
	uint64_t random = 3;

	start(20000, 1, 1);
	sim.s.part[RL_SHARE_STRANGER].pace = 21 * SHARE_ONE / 10;
	sim.s.step = 65500; /* its 16 bits wrap */
	for (int i = 0; i < TURNS(20000); i++) {
		struct rl_bin *const rows[] = {&sim.bins[0], &sim.bins[1], &sim.bins[2]};

		sim.s.step += i % 2;
		assert_true(share_stranger_admits(&sim.s, rows, &sim.n, 1, 0, UINT32_MAX,
						  (uint32_t)random_next(&random)));
	}
}

/* One that is faster admits 1.05 of the pace at most, and its burst. */
TEST(bin_cap_test)
{
	struct rl_share_part *part = &sim.s.part[RL_SHARE_STRANGER];
	uint64_t random = 5, passed = 0, steps = TURNS(2000);

	start(20000, 1, 1);
	part->pace = 5 * SHARE_ONE;
	for (uint64_t step = 0; step < steps; step++) {
		struct rl_bin *const rows[] = {&sim.bins[0], &sim.bins[1], &sim.bins[2]};

		for (int i = 0; i < 100; i++)
			passed += share_stranger_admits(&sim.s, rows, &sim.n, 1, sim.s.began_ns,
							(uint32_t)random_next(&random),
							(uint32_t)random_next(&random));
		part->clock += part->pace;
		sim.s.step++;
	}
	assert_in_range(passed, steps * 5, steps * 5 * 106 / 100 + 200);
}

/* The rows refuse what is refused uncounted, which writes nothing. */
TEST(bin_uncounted_test)
{
	struct rl_share_part *part = &sim.s.part[RL_SHARE_STRANGER];
	uint64_t random = 11, refused = 0, turns = TURNS(100000);

	start(20000, 1, 1);
	for (uint64_t i = 0; i < turns; i++) {
		struct rl_bin *const rows[] = {&sim.bins[0], &sim.bins[1], &sim.bins[2]};
		uint64_t now = sim.s.began_ns + random_next(&random) % sim.n.step_ns;
		uint32_t luck = (uint32_t)random_next(&random);
		uint32_t chance = (uint32_t)random_next(&random);
		struct share_draw draw;
		struct rl_bin was;

		part->pace = (1 + random_next(&random) % 300) * SHARE_ONE;
		for (int row = 0; row < RL_ROWS; row++)
			sim.bins[row] = (struct rl_bin){
				(uint64_t)sim.s.step << BIN_STEP_SHIFT |
					(BIN_SPAN(part->pace) << random_next(&random) % 10),
				part->clock + random_next(&random) % (part->pace * 4)};
		share_draw_begin(&draw, luck, chance);
		was = sim.bins[0];
		if (!share_refuses_uncounted(&draw, rows[0], &sim.s, &sim.n, now))
			continue;
		refused++;
		assert_false(share_stranger_admits(&sim.s, rows, &sim.n, 1, now, luck, chance));
		assert_memory_equal(&sim.bins[0], &was, sizeof(was));
	}
	assert_true(refused > turns / 10);
}

/* ---- what decays */

TEST(decay_test)
{
	struct rl_bin bin = {0};

	for (uint64_t i = 0; i < 100000; i++) /* within a step nothing does */
		bin_count(&bin, 7, 1 << 30, 1, 0);
	assert_int_equal(bin_recent(&bin, 7), 100000 * SHARE_ONE);
	for (uint32_t from = 65530; from < 65542; from++)
		for (uint32_t steps = 0; steps < 80; steps++) {
			double exact = 1e6 * SHARE_ONE * exp(-(double)steps / 10);

			bin.recent = (uint64_t)from << BIN_STEP_SHIFT | (uint64_t)1e6 * SHARE_ONE;
			assert_true(fabs((double)bin_recent(&bin, from + steps) - exact) <=
				    1e6 * SHARE_ONE * 0.002);
		}
}

/* The less is left of a room, the emptier a bucket must be: at every rate and size of packets. */
TEST(room_test)
{
	static const struct {
		double rate;
		uint32_t packet;
	} kinds[] = {{1000, 1}, {20000, 1}, {12.5e6, 1514}, {1.25e9, 65535}, {50e9, 65535}};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct rl_share_part *part = &sim.s.part[RL_SHARE_KNOWN];
		uint64_t full, room;

		start(kinds[i].rate, kinds[i].packet, 1);
		room = part->room = sim.n.room;
		full = (uint64_t)kinds[i].packet << RL_SHARE_SHIFT;
		part->depth = SHARE_BURST * full;
		part->pace = 0;
		part->spent = 2 * room;
		assert_true(share_has_room(&sim.s, part, &sim.n, 0, full * 39 / 10, 0));
		assert_false(share_has_room(&sim.s, part, &sim.n, 0, full * 41 / 10, 0));
		part->spent = room + room / 2;
		assert_true(share_has_room(&sim.s, part, &sim.n, 0, SHARE_BURST * full, 0));
		part->spent = 2 * room + room / 2;
		assert_false(share_has_room(&sim.s, part, &sim.n, 0, 0, 0));
	}
}

/* A CPU whose tick is behind does not end a step that has just begun. */
TEST(tick_test)
{
	start(20000, 1, 1);
	sim.s.began_ns = 8 * NS_PER_MS;
	assert_false(share_step_ends(&sim.s, &sim.n, 4 * NS_PER_MS));
	assert_false(share_step_ends(&sim.s, &sim.n, 8 * NS_PER_MS));
	assert_true(share_step_ends(&sim.s, &sim.n, 8 * NS_PER_MS + sim.n.step_ns));
}

/* ---- from end to end */

struct flood {
	const char *name;
	double rate;
	uint32_t packet;
	uint32_t senders; /* 0: forged strangers of one pattern */
	enum rl_share_class class;
	double least; /* of what 50 known senders of R/1000 send must pass, */
	double fill;  /* and of the limit must be used */
	bool pulses;  /* half a second of the flood, half a second without; those send R/2000 */
};

static const struct flood floods[] = {
	{"one known", 20000, 1, 1, RL_SHARE_KNOWN, 0.98, 0.9, false},
	{"1000 known", 20000, 1, 1000, RL_SHARE_KNOWN, 0.8, 0.9, false},
	{"1000 established", 20000, 1, 1000, RL_SHARE_ESTABLISHED, 0.98, 0.9, false},
	{"forged", 20000, 1, 0, RL_SHARE_STRANGER, 0.98, 0.9, false},
	{"forged, 1000/s", 1000, 1, 0, RL_SHARE_STRANGER, 0.98, 0.7, false},
	{"packets of 65535 bytes", 12.5e6, 65535, 16, RL_SHARE_KNOWN, 0.9, 0.8, false},
	{"1000 known in pulses", 20000, 1, 1000, RL_SHARE_KNOWN, 0.99, 0.45, true},
};

ROWS(flood_test, floods, f)
{
	uint32_t size = f->packet, sent = 0, got = 0;
	double rate = f->rate / size; /* packets */
	uint64_t end = (rate < 2000 ? 8000 : TURNS(8000)) * NS_PER_MS + 2 * NS_PER_SECOND;

	start(f->rate, size, 11);
	for (uint64_t i = 0, t = 0; t < end; t += (uint64_t)(1e9 / rate / 20), i++) {
		struct sim_packet p = {.class = f->class, .amount = size, .pattern = 1};

		p.source = f->senders ? 100 + i % f->senders : sim_random(&sim) % (16 << 20);
		p.network = (uint32_t)p.source % 65536;
		if (!f->pulses || t / (500 * NS_PER_MS) % 2)
			sim_offer(&sim, &p, t);
		if (sim_unit(&sim) > (f->pulses ? 0.025 : 0.05) / 20)
			continue;
		p.class = RL_SHARE_KNOWN;
		p.source = sim_random(&sim) % 50;
		sent += t > NS_PER_SECOND;
		got += sim_offer(&sim, &p, t) && t > NS_PER_SECOND;
	}
	assert_true(sim.highest <= fmax(f->rate / 10, size) * 1.001);
	if (got < f->least * sent)
		fail_msg("%u of %u passed", got, sent);
	if ((double)sim.passed < f->fill * f->rate * (double)end / 1e9)
		fail_msg("the limit is filled to %.2f",
			 (double)sim.passed / f->rate / (double)end * 1e9);
}
