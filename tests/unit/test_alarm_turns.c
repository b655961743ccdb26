// SPDX-License-Identifier: GPL-2.0-only
/* When an alarm goes on and off, against a model that keeps every packet's time and asks each tenth
 * anew how many came in it: floods, silence and what is between, at random times and at the exact
 * ends of tenths; and that a copy moved on by a reader says the same at any time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "algorithm/alarm.h"
#include "random.h"
#include "rows.h"

#define MS            1000000ull
#define SECOND        (1000 * MS)
#define BEGIN         (86400 * SECOND)
#define PACKETS       3000
#define ROUNDS        300

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

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
};

static uint64_t amount_between(const struct model *m, uint64_t from, uint64_t to)
{
	uint64_t amount = 0;

	for (uint32_t i = m->count; i-- > 0 && m->packets[i].at >= from;)
		if (m->packets[i].at < to)
			amount += m->packets[i].amount;
	return amount;
}

/* Did the condition of the change hold in each of the tenths that end at `end`? */
static bool holds_until(const struct model *m, uint64_t end)
{
	const struct rl_alarm_phase *phase = &m->alarm->phase[m->on];

	for (uint32_t i = 0; i < phase->tenths; i++) {
		uint64_t from = end - (i + 1) * phase->tenth_ns;
		uint64_t amount;

		if (from < m->began || from > end)
			return false;
		amount = amount_between(m, from, from + phase->tenth_ns);
		if (m->on ? amount >= phase->limit : amount <= phase->limit)
			return false;
	}
	return true;
}

/* Every end of a tenth until now. */
static void model_advance(struct model *m, uint64_t now)
{
	uint64_t end = m->began + m->alarm->phase[m->on].tenth_ns;

	for (; m->count && end <= now; end += m->alarm->phase[m->on].tenth_ns) {
		if (!holds_until(m, end))
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
	p->model.alarm = &p->alarm;
}

/* ---- random arrivals */

static struct rl_alarm_phase random_phase(uint64_t *seed)
{
	return (struct rl_alarm_phase){
		.tenths = 1 + random_under(seed, RL_ALARM_TENTHS),
		.tenth_ns = RL_ALARM_TENTH_MIN + random_under(seed, 3) * random_under(seed, SECOND),
		.limit = 1 + random_under(seed, 12),
	};
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
static void arrivals_test(void **state)
{
	static struct pair pair;
	uint64_t seed = 11, changes = 0;

	(void)state;
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
	}
	print_message("# %llu changes\n", (unsigned long long)changes);
	assert_true(changes > 4 * ROUNDS); /* else the arrivals are not what this is about */
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
	{"more than nothing, less than one", PHASE(3, 100, 0), PHASE(4, 250, 1)},
	{"hours", PHASE(10, 360000, 2), PHASE(10, 8640000, 1)},
	{"large", PHASE(10, 100, 1ull << 62), PHASE(10, 100, (1ull << 62) + 5)},
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
static void goes_on_test(void **state)
{
	const struct alarm_row *row = *state;
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
static void goes_off_test(void **state)
{
	const struct alarm_row *row = *state;
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
 * less than that of its first. */
static void stays_test(void **state)
{
	const struct alarm_row *row = *state;
	uint64_t seed = 5, since = 0, changes = 0;
	static struct pair p;

	pair_begin(&p, &row->on, &row->off);
	p.now = BEGIN;
	for (int i = 0; i < 200000; i++) {
		const struct rl_alarm_phase *before = &p.alarm.phase[p.alarm.state.on];

		p.now += random_under(&seed, 2 * before->tenth_ns / (1 + i % 7));
		alarm_advance(&p.alarm.state, &p.alarm, p.now, p.counted);
		p.counted += i / 1000 % 2 ? row->on.limit + 1 : 0;
		if (p.alarm.state.changes == changes)
			continue;
		if (p.alarm.state.changes == changes + 1 && since)
			assert_true(p.alarm.state.since_ns - since >=
				    before->tenths * before->tenth_ns);
		changes = p.alarm.state.changes;
		since = p.alarm.state.since_ns;
	}
	assert_true(changes > 20);
}

int main(void)
{
	struct CMUnitTest tests[1 + 3 * ARRAY_SIZE(rows)] = {cmocka_unit_test(arrivals_test)};
	size_t n = 1;

	ROWS(rows, goes_on_test);
	ROWS(rows, goes_off_test);
	ROWS(rows, stays_test);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
