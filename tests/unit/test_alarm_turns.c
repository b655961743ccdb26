// SPDX-License-Identifier: GPL-2.0-only
/* When an alarm goes on and off, against a model that keeps every packet's time and asks each tenth
 * anew how many came in it: floods, pulses, silence and what is between, at random times and at the
 * exact ends of tenths; that a copy moved on by a reader says the same at any time; and the bound
 * of what pulses may carry.
 */
#include <stdio.h>
#include <string.h>

#include "algorithm/alarm.h"
#include "cases.h"
#include "random.h"
#include "turns.h"

#define MS      1000000ull
#define SECOND  (1000 * MS)
#define BEGIN   (86400 * SECOND)
#define PACKETS 3000
#define ROUNDS  TURNS(300)

struct packet {
	uint64_t at, amount;
};

/* All packets so far, and what follows from them. */
struct model {
	const struct rl_alarm *alarm;
	struct packet packets[PACKETS];
	uint32_t count;
	bool on;
	uint64_t began, changes, since; /* of the tenths; of the changes */
	uint64_t pulses;                /* times that it went on without a run */
};

static uint64_t amount_between(const struct model *m, uint64_t from, uint64_t to)
{
	uint64_t amount = 0;

	for (uint32_t i = m->count; i-- > 0 && m->packets[i].at >= from;)
		if (m->packets[i].at < to)
			amount += m->packets[i].amount;
	return amount;
}

/* Was the rate over RATE, exactly, in so many nanoseconds from then on? Time before the last change
 * has no packets. */
static bool was_over(const struct model *m, uint64_t from, uint64_t ns)
{
	const struct rl_alarm_phase *phase = &m->alarm->phase[0];
	uint64_t amount = amount_between(m, from < m->began ? m->began : from, from + ns);

	return (unsigned __int128)amount * phase->period_ns > (unsigned __int128)phase->amount * ns;
}

/* Was the rate over the first, or under the second, in each of the tenths that end at `end`? */
static bool holds_until(const struct model *m, uint64_t end)
{
	const struct rl_alarm_phase *phase = &m->alarm->phase[m->on];

	for (uint32_t i = 1; i <= phase->tenths; i++) {
		uint64_t from = end - i * phase->tenth_ns;

		if (from < m->began || from > end)
			return false;
		if (m->on ? amount_between(m, from, from + phase->tenth_ns) >= phase->limit
			  : !was_over(m, from, phase->tenth_ns))
			return false;
	}
	return true;
}

/* In the last three durations, and in at least three of their tenths. */
static bool pulses_until(const struct model *m, uint64_t end)
{
	const struct rl_alarm_phase *phase = &m->alarm->phase[0];
	uint64_t durations = 3 * phase->tenths * phase->tenth_ns;
	uint32_t over = 0;

	if (!was_over(m, end - durations, durations))
		return false;
	for (uint32_t i = 1; i <= 3 * phase->tenths && end - i * phase->tenth_ns >= m->began; i++)
		over += was_over(m, end - i * phase->tenth_ns, phase->tenth_ns);
	return over >= 3;
}

static bool turns_at(struct model *m, uint64_t end)
{
	bool holds = holds_until(m, end);

	if (m->on || holds)
		return holds;
	if (!pulses_until(m, end))
		return false;
	m->pulses++;
	return true;
}

/* Every end of a tenth until now. */
static void model_advance(struct model *m, uint64_t now)
{
	uint64_t end = m->began + m->alarm->phase[m->on].tenth_ns;

	for (; m->count && end <= now; end += m->alarm->phase[m->on].tenth_ns) {
		if (!turns_at(m, end))
			continue;
		m->on = !m->on;
		m->changes++;
		m->since = m->began = end;
	}
}

/* The count of the last tenth that has ended. */
static uint64_t model_last(const struct model *m, uint64_t now)
{
	uint64_t tenth = m->alarm->phase[m->on].tenth_ns;
	uint64_t ended = (now - m->began) / tenth;

	if (ended)
		return amount_between(m, m->began + (ended - 1) * tenth, m->began + ended * tenth);
	if (!m->changes)
		return 0;
	return amount_between(m, m->began - m->alarm->phase[!m->on].tenth_ns, m->began);
}

static void model_packet(struct model *m, uint64_t at, uint64_t amount)
{
	if (!m->count)
		m->began = at;
	assert_true(m->count < PACKETS);
	m->packets[m->count++] = (struct packet){at, amount};
}

/* ---- the product beside it */

struct pair {
	struct model model;
	struct rl_alarm alarm;
	uint64_t counted, now;
};

static void same_now(struct pair *p)
{
	const struct rl_alarm_state *s = &p->alarm.state;
	uint64_t tenth = p->alarm.phase[p->model.on].tenth_ns;

	assert_int_equal(s->on, p->model.on);
	assert_int_equal(s->changes, p->model.changes);
	assert_int_equal(s->since_ns, p->model.since);
	assert_int_equal(s->last, model_last(&p->model, p->now));
	assert_int_equal((s->tenth_began_ns - p->model.began) % tenth, 0);
	assert_true(s->tenth_began_ns <= p->now && p->now < alarm_next(s, &p->alarm));
}

/* A reader's copy: between packets, and without touching the alarm itself. */
static void read_at(struct pair *p, uint64_t now)
{
	const struct pair before = *p;

	p->now = now;
	alarm_advance(&p->alarm.state, &p->alarm, now, p->counted);
	model_advance(&p->model, now);
	same_now(p);
	*p = before;
}

static void packet_at(struct pair *p, uint64_t now, uint64_t amount)
{
	p->now = now;
	alarm_advance(&p->alarm.state, &p->alarm, now, p->counted);
	model_advance(&p->model, now);
	model_packet(&p->model, now, amount);
	p->counted += amount;
	same_now(p);
}

static void pair_begin(struct pair *p, const struct rl_alarm_phase *on,
		       const struct rl_alarm_phase *off)
{
	memset(p, 0, sizeof(*p));
	p->alarm.phase[0] = *on;
	p->alarm.phase[1] = *off;
	if (!on->amount) { /* the rate is `limit` in a tenth */
		p->alarm.phase[0].amount = on->limit;
		p->alarm.phase[0].period_ns = on->tenth_ns;
	}
	on = &p->alarm.phase[0];
	p->alarm.most =
		(unsigned __int128)on->amount * on->tenth_ns * 3 * on->tenths / on->period_ns;
	p->model.alarm = &p->alarm;
}

/* ---- random arrivals */

/* A tenth's part of the rate may have a rest. */
static struct rl_alarm_phase random_phase(uint64_t *seed)
{
	struct rl_alarm_phase phase = {
		.tenths = 1 + random_under(seed, RL_ALARM_TENTHS),
		.tenth_ns = RL_ALARM_TENTH_MIN + random_under(seed, 3) * random_under(seed, SECOND),
		.limit = 1 + random_under(seed, 12),
	};

	phase.amount = 8 * phase.limit + random_under(seed, 8);
	phase.period_ns = 8 * phase.tenth_ns;
	return phase;
}

/* To the next packet: of a flood, at the exact end of a tenth, or after silence of any length. */
static uint64_t random_next_at(const struct pair *p, uint64_t *seed, uint32_t pace)
{
	const struct rl_alarm_phase *phase = &p->alarm.phase[p->model.on];
	uint64_t next = alarm_next(&p->alarm.state, &p->alarm);

	switch (random_under(seed, 60)) {
	case 0:
		return p->now + random_under(seed, 30) * phase->tenth_ns;
	case 1:
		return p->now + random_under(seed, 8 * SECOND);
	case 2:
		return next;
	case 3:
		return next - 1;
	default:
		return p->now + random_under(seed, phase->tenth_ns * pace / (10 * phase->limit));
	}
}

/* Which alarm, and a time with more packets, or with fewer, than it asks for. */
TEST(arrivals_test)
{
	static struct pair pair;
	uint64_t seed = 11, changes = 0, pulses = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct rl_alarm_phase on = random_phase(&seed), off = random_phase(&seed);
		uint32_t pace = 10;

		pair_begin(&pair, &on, &off);
		packet_at(&pair, BEGIN, 1);
		for (int i = 0; i < 400; i++) {
			if (!random_under(&seed, 50))
				pace = 2 + random_under(&seed, 40);
			packet_at(&pair, random_next_at(&pair, &seed, pace),
				  1 + random_under(&seed, 2));
			if (!random_under(&seed, 10))
				read_at(&pair, pair.now + random_under(&seed, 20 * SECOND));
		}
		changes += pair.model.changes;
		pulses += pair.model.pulses;
	}
	print_message("# %llu changes, %llu by pulses\n", (unsigned long long)changes,
		      (unsigned long long)pulses);
	/* else the arrivals are not what this is about */
	assert_true(changes > 4 * ROUNDS && pulses > ROUNDS / 2);
}

/* ---- the bound of pulses */

/* A second, so that windows have 30 tenths; in a tenth the rate gives RATE. */
#define TENTH   (100 * MS)
#define RATE    1000
#define WINDOW  30
#define TOUCHED (WINDOW + 1) /* tenths that three durations lie in, wherever they begin */
#define TWICE   (2 * WINDOW * RATE)

static void bound_begin(struct pair *p)
{
	const struct rl_alarm_phase phase = {.tenths = 10, .tenth_ns = TENTH, .limit = RATE};

	pair_begin(p, &phase, &phase);
	alarm_advance(&p->alarm.state, &p->alarm, BEGIN, 0);
}

/* These amounts, in tenths from the first on. Did it go on by their end? */
static bool tenths_turn_on(struct pair *p, uint64_t first, const uint64_t *amounts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!amounts[i]) /* it is moved on by packets alone */
			continue;
		alarm_advance(&p->alarm.state, &p->alarm, BEGIN + (first + i) * TENTH, p->counted);
		p->counted += amounts[i];
	}
	alarm_advance(&p->alarm.state, &p->alarm, BEGIN + (first + count) * TENTH, p->counted);
	return p->alarm.state.changes;
}

/* `over` tenths over the rate, some of them at the ends, and all together so much; what is beyond
 * that falls into tenths at random, from all in one to a little in each. */
static void amounts_spread(uint64_t amounts[TOUCHED], uint32_t over, uint64_t total, uint64_t *seed)
{
	uint64_t rest = total - over * (RATE + 1ull);
	uint32_t chosen[TOUCHED] = {0}, at;

	memset(amounts, 0, TOUCHED * sizeof(*amounts));
	for (uint32_t i = 0; i < over; i++) {
		do
			at = random_under(seed, 3) ? random_under(seed, TOUCHED)
						   : random_under(seed, 2) * (TOUCHED - 1);
		while (amounts[at]);
		amounts[at] = RATE + 1;
		chosen[i] = at;
	}
	while (rest) {
		uint64_t part = 1 + random_under(seed, rest) / (1 + random_under(seed, 3));

		amounts[chosen[random_under(seed, over)]] += part;
		rest -= part;
	}
}

/* Any arrivals of twice the rate over three durations, in four or more tenths of those that they
 * touch, after any silence. */
TEST(twice_test)
{
	uint64_t seed = 23, amounts[TOUCHED];
	static struct pair p;

	for (int i = 0; i < TURNS(20000); i++) {
		bound_begin(&p);
		amounts_spread(amounts, 4 + random_under(&seed, TOUCHED - 3), TWICE, &seed);
		if (!tenths_turn_on(&p, random_under(&seed, 70), amounts, TOUCHED))
			fail_msg("round %d: off", i);
	}
}

/* The bound is exact: half in each of the tenths at the ends, and four over; with one packet less
 * at one end it goes on a tenth later or not at all, and with three tenths over it need not. */
TEST(twice_exact_test)
{
	uint64_t half = TWICE / 2 - RATE - 1, amounts[TOUCHED] = {0};
	static struct pair p;

	amounts[0] = amounts[TOUCHED - 1] = half;
	amounts[9] = amounts[17] = RATE + 1;
	bound_begin(&p);
	assert_true(tenths_turn_on(&p, 3, amounts, TOUCHED));
	amounts[0] = amounts[TOUCHED - 1] = WINDOW * RATE - 2 * (RATE + 1);
	bound_begin(&p);
	assert_false(tenths_turn_on(&p, 3, amounts, TOUCHED));
	amounts[0] = amounts[TOUCHED - 1] = TWICE;
	amounts[17] = 0;
	bound_begin(&p);
	assert_false(tenths_turn_on(&p, 3, amounts, TOUCHED));
}

/* Two bursts in three durations, however large they are, never do; nor does a mean of the rate. */
TEST(bursts_test)
{
	uint64_t seed = 29, amounts[4 * WINDOW];
	static struct pair p;

	for (int i = 0; i < TURNS(5000); i++) {
		uint32_t at = random_under(&seed, WINDOW / 2), next;

		memset(amounts, 0, sizeof(amounts));
		for (; at < 4 * WINDOW - WINDOW; at += WINDOW) {
			next = at + 1 + random_under(&seed, WINDOW - 1);
			amounts[at] = random_under(&seed, 1ull << 40);
			amounts[next] = random_under(&seed, 1ull << 40);
			at = next;
		}
		bound_begin(&p);
		assert_false(tenths_turn_on(&p, random_under(&seed, 70), amounts, 4 * WINDOW));
	}
	for (int i = 0; i < 4 * WINDOW; i++)
		amounts[i] = i % 10 ? RATE * 10 / 9 : 0;
	bound_begin(&p);
	assert_false(tenths_turn_on(&p, 0, amounts, 4 * WINDOW));
	for (int i = 0; i < 4 * WINDOW; i++)
		amounts[i] += i % 10 == 5 ? 10 : 0; /* and with a packet in a second more it does */
	bound_begin(&p);
	assert_true(tenths_turn_on(&p, 0, amounts, 4 * WINDOW));
}

/* ---- exact instants */

#define PHASE(n, ms, more)                                          \
	{                                                           \
		.tenths = (n), .tenth_ns = (ms)*MS, .limit = (more) \
	}

static const struct alarm_row {
	const char *name;
	struct rl_alarm_phase on, off;
} rows[] = {
	{"one tenth each", PHASE(1, 100, 5), PHASE(1, 100, 5)},
	{"a second, and ten", PHASE(10, 100, 9), PHASE(10, 1000, 5)},
	{"more than one, less than one", PHASE(3, 100, 1), PHASE(4, 250, 1)},
	{"hours", PHASE(10, 360000, 2), PHASE(10, 8640000, 1)},
	{"large", PHASE(10, 100, 1ull << 57), PHASE(10, 100, (1ull << 57) + 5)},
};

static void run_tenths(struct pair *p, uint32_t tenths, uint64_t amount)
{
	uint64_t tenth = p->alarm.phase[p->alarm.state.on].tenth_ns;

	for (uint32_t i = 0; i < tenths; i++, p->now += tenth) {
		uint64_t at = p->now;

		alarm_advance(&p->alarm.state, &p->alarm, at, p->counted);
		p->counted += amount; /* wraps around, which no difference sees */
		alarm_advance(&p->alarm.state, &p->alarm, at + tenth - 1, p->counted);
	}
}

/* On with the last tenth and not a nanosecond before; one that had the rate itself is not over. */
ROWS(goes_on_test, rows, row)
{
	static struct pair p;

	pair_begin(&p, &row->on, &row->off);
	p.now = BEGIN;
	run_tenths(&p, row->on.tenths, row->on.limit + 1);
	assert_false(p.alarm.state.on);
	alarm_advance(&p.alarm.state, &p.alarm, p.now, p.counted);
	assert_true(p.alarm.state.on);
	assert_int_equal(p.alarm.state.since_ns, p.now);
	assert_int_equal(p.alarm.state.since_ns, BEGIN + row->on.tenths * row->on.tenth_ns);

	pair_begin(&p, &row->on, &row->off);
	p.now = BEGIN;
	run_tenths(&p, row->on.tenths - 1, row->on.limit + 1);
	run_tenths(&p, 1, row->on.limit);
	run_tenths(&p, row->on.tenths - 1, row->on.limit + 1);
	alarm_advance(&p.alarm.state, &p.alarm, p.now, p.counted);
	assert_false(p.alarm.state.on);
	run_tenths(&p, 1, row->on.limit + 1);
	alarm_advance(&p.alarm.state, &p.alarm, p.now, p.counted);
	assert_true(p.alarm.state.on);
}

static void begin_on(struct pair *p, const struct alarm_row *row)
{
	pair_begin(p, &row->on, &row->off);
	p->now = BEGIN;
	run_tenths(p, row->on.tenths, row->on.limit + 1);
	alarm_advance(&p->alarm.state, &p->alarm, p->now, p->counted);
	assert_true(p->alarm.state.on);
}

/* Off likewise, with packets and without; one that had the rate itself is not under. */
ROWS(goes_off_test, rows, row)
{
	uint64_t off_at, last;
	static struct pair p;

	begin_on(&p, row);
	off_at = p.now + row->off.tenths * row->off.tenth_ns;
	alarm_advance(&p.alarm.state, &p.alarm, off_at - 1, p.counted);
	assert_true(p.alarm.state.on);
	alarm_advance(&p.alarm.state, &p.alarm, off_at, p.counted);
	assert_false(p.alarm.state.on);
	assert_int_equal(p.alarm.state.since_ns, off_at);

	/* The same from one look, long after. */
	begin_on(&p, row);
	alarm_advance(&p.alarm.state, &p.alarm, off_at + 1000 * SECOND, p.counted);
	assert_false(p.alarm.state.on);
	assert_int_equal(p.alarm.state.since_ns, off_at);
	assert_int_equal(p.alarm.state.changes, 2);

	begin_on(&p, row);
	run_tenths(&p, row->off.tenths - 1, row->off.limit - 1);
	run_tenths(&p, 1, row->off.limit);
	last = p.now;
	run_tenths(&p, row->off.tenths, row->off.limit - 1);
	assert_true(p.alarm.state.on);
	alarm_advance(&p.alarm.state, &p.alarm, p.now, p.counted);
	assert_false(p.alarm.state.on);
	assert_int_equal(p.alarm.state.since_ns, last + row->off.tenths * row->off.tenth_ns);
}

/* Whatever comes, an alarm is on for no less than the time of its second condition, and off for no
 * less than that of its first, or three of its tenths. */
ROWS(stays_test, rows, row)
{
	uint64_t seed = 5, since = 0, changes = 0;
	static struct pair p;

	pair_begin(&p, &row->on, &row->off);
	p.now = BEGIN;
	for (int i = 0; i < TURNS(200000); i++) {
		const struct rl_alarm_phase *before = &p.alarm.phase[p.alarm.state.on];

		p.now += random_under(&seed, 2 * before->tenth_ns / (1 + i % 7));
		alarm_advance(&p.alarm.state, &p.alarm, p.now, p.counted);
		p.counted += i / 1000 % 2 ? row->on.limit + 1 : 0;
		if (p.alarm.state.changes == changes)
			continue;
		if (p.alarm.state.changes == changes + 1 && since) {
			uint32_t least = before->tenths;

			if (p.alarm.state.on && least > 3)
				least = 3;
			assert_true(p.alarm.state.since_ns - since >= least * before->tenth_ns);
		}
		changes = p.alarm.state.changes;
		since = p.alarm.state.since_ns;
	}
	assert_true(changes > TURNS(20));
}
