// SPDX-License-Identifier: GPL-2.0-only
/* The models and traces of models.h. */
#include "models.h"

#define RATE_SPAN_MAX (1ull << 59) /* ns of a random period */

const uint64_t clocks[CLOCKS] = {
	0,
	1,
	(1ull << 32) * NS_PER_MS - 5,
	(1ull << 41) - 3,
	(1ull << 53) - 1,
	10 * YEAR_NS,
	1790000000123456789ull,
};

/* ---- fixed window: starts with the first admitted packet at s and covers [s, s + P) */

struct fixed_model fixed_model(const struct rl_limit *limit)
{
	return (struct fixed_model){
		.amount = limit->amount,
		.unit = bits_of(limit),
		.period_ns = limit->period_ns,
	};
}

bool fixed_model_is_over(const struct fixed_model *m, uint64_t now_ns)
{
	return !m->open || (u128)now_ns >= (u128)m->start_ns + m->period_ns;
}

u128 fixed_model_sum(const struct fixed_model *m, uint64_t now_ns)
{
	return fixed_model_is_over(m, now_ns) ? 0 : m->sum;
}

bool fixed_model_admits(const struct fixed_model *m, uint64_t now_ns, uint64_t count)
{
	return fixed_model_sum(m, now_ns) + (u128)m->unit * count <= m->amount;
}

void fixed_model_take(struct fixed_model *m, uint64_t now_ns, uint64_t count)
{
	if (fixed_model_is_over(m, now_ns)) {
		m->open = true;
		m->start_ns = now_ns;
		m->sum = 0;
	}
	m->sum += (u128)m->unit * count;
}

/* ---- sliding window: the current slot and the slots - 1 before it */

struct slots_model slots_model(const struct rl_limit *limit)
{
	return (struct slots_model){
		.amount = limit->amount,
		.unit = bits_of(limit),
		.period_ns = limit->period_ns,
		.slots = limit->slots,
	};
}

u128 slots_model_slot(const struct slots_model *m, uint64_t now_ns)
{
	return (u128)now_ns * m->slots / m->period_ns;
}

u128 slots_model_sum(const struct slots_model *m, uint64_t now_ns)
{
	u128 slot = slots_model_slot(m, now_ns), sum = 0;

	for (uint32_t i = 0; i < m->count; i++)
		if (m->part[i].slot + m->slots > slot)
			sum += m->part[i].sum;
	return sum;
}

bool slots_model_admits(const struct slots_model *m, uint64_t now_ns, uint64_t count)
{
	return slots_model_sum(m, now_ns) + (u128)m->unit * count <= m->amount;
}

void slots_model_take(struct slots_model *m, uint64_t now_ns, uint64_t count)
{
	u128 slot = slots_model_slot(m, now_ns);

	if (!m->count || m->part[m->count - 1].slot != slot) {
		if (m->count == RL_SLOTS_MAX)
			memmove(m->part, m->part + 1, --m->count * sizeof(m->part[0]));
		m->part[m->count].slot = slot;
		m->part[m->count++].sum = 0;
	}
	m->part[m->count - 1].sum += (u128)m->unit * count;
}

/* ---- sliding log: fewer than N in (t - P, t] */

void log_model_start(struct log_model *m, const struct rl_limit *limit)
{
	m->amount = limit->amount;
	m->period_ns = limit->period_ns;
	m->count = 0;
}

size_t log_model_recent(const struct log_model *m, uint64_t now_ns)
{
	size_t recent = 0;

	while (recent < m->count && (u128)m->time_ns[m->count - 1 - recent] + m->period_ns > now_ns)
		recent++;
	return recent;
}

bool log_model_admits(const struct log_model *m, uint64_t now_ns)
{
	return log_model_recent(m, now_ns) < m->amount;
}

void log_model_take(struct log_model *m, uint64_t now_ns)
{
	if (m->count == ARRAY_SIZE(m->time_ns)) {
		m->count = RL_SLIDING_LOG_MAX;
		memmove(m->time_ns, m->time_ns + m->count, m->count * sizeof(m->time_ns[0]));
	}
	m->time_ns[m->count++] = now_ns;
}

/* ---- warm-up */

struct warm_model warm_model(const struct rl_limit *limit, uint64_t now_ns)
{
	long double ramp = limit->ramp_ns;
	struct warm_model m = {.stable = (long double)limit->period_ns / limit->amount};
	long double cold = limit->cold * m.stable;

	m.threshold = ramp / (2 * m.stable);
	m.max = m.threshold + 2 * ramp / (m.stable + cold);
	m.slope = (cold - m.stable) / (m.max - m.threshold);
	m.refill = m.max / ramp;
	m.burst = (limit->size - 1) * m.stable;
	m.stored = m.max;
	m.start_ns = now_ns;
	return m;
}

bool warm_model_admits(const struct warm_model *m, uint64_t now_ns)
{
	return m->next <= (long double)(now_ns - m->start_ns);
}

void warm_model_take(struct warm_model *m, uint64_t now_ns)
{
	long double t = now_ns - m->start_ns, due = m->seen ? t - m->burst : t, k, above, from, to;

	if (due > m->next) {
		m->stored += (due - m->next) * m->refill;
		m->next = due;
	}
	if (m->stored > m->max)
		m->stored = m->max;
	m->seen = true;
	k = m->stored < 1 ? m->stored : 1;
	above = m->stored > m->threshold ? m->stored - m->threshold : 0;
	if (above > k)
		above = k; /* of the permits taken, those above the threshold */
	from = m->stored - m->threshold;
	to = from - above;
	m->next += above * (m->stable + m->slope * (from + to) / 2);
	m->next += (1 - above) * m->stable;
	m->stored -= k;
}

/* ---- traces */

struct trace trace_start(const struct rl_limit *limit, uint64_t now_ns)
{
	return (struct trace){
		.now_ns = now_ns,
		.period_ns = limit->period_ns,
		.step_ns = limit->period_ns / limit->amount,
		.rush_most = limit->amount < 2000 ? limit->amount : 2000,
	};
}

static uint64_t trace_jump(const struct trace *t, uint64_t edge_ns)
{
	uint64_t edge = edge_ns > t->now_ns ? edge_ns - t->now_ns : 0;

	switch (random_below(16)) {
	case 0:
		return edge ? edge - 1 : 0;
	case 1:
		return edge;
	case 2:
		return edge + 1;
	case 3:
		return t->period_ns - 1 + random_below(3);
	case 4:
		return random_below(t->period_ns);
	case 5:
		return random_below(t->period_ns / 8 + 1);
	case 6:
		return random_below(16) ? 4 * NS_PER_MS : NS_PER_HOUR * random_below(30);
	case 7:
		return random_below(16) ? 1 : t->period_ns * random_below(40);
	default:
		return random_below(2 * t->step_ns + 2);
	}
}

void trace_wait(struct trace *t, uint64_t edge_ns)
{
	uint64_t wait = 0;

	if (t->rush) {
		t->rush--;
		if (!random_below(4))
			wait = random_below(t->step_ns + 2);
	} else {
		wait = trace_jump(t, edge_ns);
		if (!random_below(8))
			t->rush = random_below(2 * t->rush_most + 2);
	}
	if (t->now_ns + wait < 1ull << 63)
		t->now_ns += wait;
}

uint64_t trace_amount(const struct rl_limit *limit, uint64_t left)
{
	switch (random_below(16)) {
	case 0:
		return left ? left : 1;
	case 1:
		return left + 1;
	case 2:
		return 1 + random_below(left + 1);
	case 3:
		return limit->amount / bits_of(limit) + random_below(3);
	case 4:
		return limit->unit == RL_PACKETS ? 2 + random_below(44) : 65535;
	case 5:
		return limit->unit == RL_PACKETS ? 1 : 9014;
	default:
		return limit->unit == RL_PACKETS ? 1 : 60 + random_below(1455);
	}
}

static uint64_t random_between(uint64_t least, uint64_t most)
{
	uint64_t bits = random_below(64 - __builtin_clzll(most | 1));
	uint64_t n = (1ull << bits) + random_below(1ull << bits);

	return n < least ? least : n < most ? n : most;
}

void random_rate(char *line, size_t size, const char *algorithm, bool packets, uint64_t amount_max)
{
	uint64_t period_ns = random_between(packets ? 10 : 31, RATE_SPAN_MAX);
	uint64_t most = packets ? period_ns / 10 : period_ns * 50;
	uint64_t least = packets ? period_ns / NS_PER_DAY + 1 : 1514;
	uint64_t amount;

	if (packets && most > 1ull << 48)
		most = 1ull << 48;
	if (most > amount_max)
		most = amount_max;
	if (least > most) {
		period_ns = NS_PER_DAY;
		least = most;
	}
	amount = random_between(least, most);
	snprintf(line, size, "%s %llu%s/%lluns", algorithm, (unsigned long long)amount,
		 packets ? "" : "byte", (unsigned long long)period_ns);
}

bool limit_parse(const char *text, struct rl_limit *out)
{
	struct policy_error err = {0};
	char line[RULE_TEXT_MAX];
	struct rule rule;
	bool found = false;

	snprintf(line, sizeof(line), "rule any limit %s", text);
	if (statement_parse(line, &on_xdp, &rule, &found, &err))
		return false;
	*out = rule.limit;
	return found;
}

void must_refuse(const char *const *texts, size_t count)
{
	struct rl_limit limit;

	for (size_t i = 0; i < count; i++)
		if (limit_parse(texts[i], &limit))
			fail_msg("%s is not refused", texts[i]);
}
