// SPDX-License-Identifier: GPL-2.0-only
/* The program at any age of the machine: for the same packets at the same intervals its verdicts
 * are the same at uptime 0, around 2^32 ms, 2^41 and 2^53 ns, after ten years and where grains
 * wrap; and CPUs whose tick lags neither admit more than the limit nor lock any source out.
 */
#include "harness.h"

#include <string.h>

#include "base/units.h"

#define PACKETS   400 /* of each row */
#define SOURCES   4
#define GAP_MAX   (20 * NS_PER_MS)    /* so that they last for four seconds */
#define BEFORE_NS (2 * NS_PER_SECOND) /* of them lie before the instant */
#define TICK_NS   (4 * NS_PER_MS)
#define YEAR_NS   (365 * NS_PER_DAY)

static struct harness *h; /* of the group */
static enum rl_table table;

/* Every row has a prefix of its own, which replaces the ~. The rates are those whose packets cost
 * whole grains: others are rounded by a hash of the time. */
static const struct row {
	const char *name, *rules;
} rows[] = {
	{"token bucket", "~ limit 10/second burst 5"},
	{"token bucket by the precise clock", "~ limit 100/second burst 1"},
	{"bucket of bytes", "~ limit 300byte/second burst 1600byte"},
	{"leaky bucket", "~ limit leaky-bucket 10/second queue 5"},
	{"fixed window", "~ limit fixed-window 10/second"},
	{"sliding window", "~ limit sliding-window 10/second slots 10"},
	{"sliding log", "~ limit sliding-log 10/second"},
	{"warm-up", "~ limit warm-up 20/second ramp 1s"},
	{"one bucket for all", "~ limit 20/second burst 10 per rule"},
	{"ban", "~ limit 10/second burst 5 over ban 300ms"},
	{"ban of the source", "~ udp limit 10/second burst 5 over ban 300ms source"},
	{"rules that expire", "~ tcp deny for 2s;~ limit 10/second burst 5 for 1s;~ dport 7 allow"},
	{"new source", "~ new-source limit 2/second burst 2;~ limit 20/second burst 5"},
	{"per flow", "~ limit 10/second burst 5 per flow"},
};

static const struct instant {
	const char *name;
	uint64_t ns;
	bool fresh; /* on another machine: no state is read again after 18 years (gcra.h) */
} instants[] = {
	{"2^41 ns", 1ull << 41, false},
	{"2^32 ms", (1ull << 32) * NS_PER_MS, false},
	{"2^53 ns", 1ull << 53, false},
	{"ten years", 10 * YEAR_NS, false},
	{"2^60 ns, where grains wrap", 1ull << 60, true},
};

/* The verdicts, one letter per packet; first at uptime 0, then around the instants. */
static char verdicts[1 + ARRAY_SIZE(instants)][ARRAY_SIZE(rows)][PACKETS + 1];

static void rows_policy(void)
{
	char rules[4096] = "";
	size_t used = 0;

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		char prefix[20];

		snprintf(prefix, sizeof(prefix), "10.%zu.0.0/16", row);
		for (const char *c = rows[row].rules; *c; c++)
			if (*c == '~')
				used += snprintf(rules + used, sizeof(rules) - used, "%s", prefix);
			else
				rules[used++] = *c;
		rules[used++] = ';';
	}
	harness_renew(h, rules);
}

static enum rl_reason packet_run(size_t row, uint64_t source)
{
	char words[80];

	snprintf(words, sizeof(words), "ip4=10.%zu.0.%u>192.0.2.1 %s", row, (unsigned int)source,
		 source % 2 ? "udp" : "tcp");
	return harness_words(h, words);
}

/* The packets of all rows, the first of them at `now_ns`. */
static void life_run(uint64_t now_ns, char out[][PACKETS + 1])
{
	uint64_t seed = 1;

	harness_clock(h, now_ns);
	rows_policy();
	for (int i = 0; i < PACKETS; i++) {
		uint64_t source = random_under(&seed, SOURCES);

		for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
			out[row][i] = 'a' + packet_run(row, source);
		now_ns += random_under(&seed, GAP_MAX);
		harness_clock(h, now_ns);
	}
}

/* Windows and slots are aligned to the clock, so the trace begins with a second. */
static uint64_t begin_of(uint64_t instant_ns)
{
	return (instant_ns - BEFORE_NS) / NS_PER_SECOND * NS_PER_SECOND;
}

static void table_renew(void)
{
	harness_close(h);
	h = harness_must_open(&(struct harness_options){.table = table});
}

static int lives_run(void **state)
{
	(void)state;
	table_renew();
	memset(verdicts, 0, sizeof(verdicts));
	life_run(0, verdicts[0]);
	for (size_t i = 0; i < ARRAY_SIZE(instants); i++) {
		if (instants[i].fresh)
			table_renew();
		life_run(begin_of(instants[i].ns), verdicts[i + 1]);
	}
	return 0;
}

static void age_test(void **state)
{
	size_t row = (const struct row *)*state - rows;
	const char *young = verdicts[0][row];
	size_t same = strspn(young, (const char[]){young[0], '\0'});

	assert_in_range(same, 1, PACKETS - 1); /* it decides something */
	for (size_t i = 0; i < ARRAY_SIZE(instants); i++)
		if (strcmp(verdicts[i + 1][row], young) != 0)
			fail_msg("around %s:\n%s\nat uptime 0:\n%s", instants[i].name,
				 verdicts[i + 1][row], young);
}

/* ---- a tick that lags */

#define LAG_SECONDS 10
#define LAG_STEP    NS_PER_MS
#define LAG_RATE    100 /* a second: a tenth of what comes */
#define LAG_BURST   20

static const struct lagging {
	const char *name, *limit;
	unsigned int at_once;
} laggings[] = {
	{"a tick lags: token bucket", "100/second burst 20", LAG_BURST},
	{"a tick lags: leaky bucket", "leaky-bucket 100/second queue 20", LAG_BURST},
	{"a tick lags: fixed window", "fixed-window 100/second", LAG_RATE},
	{"a tick lags: sliding window", "sliding-window 100/second", LAG_RATE},
	{"a tick lags: sliding log", "sliding-log 100/second", LAG_RATE},
	{"a tick lags: warm-up", "warm-up 100/second ramp 100ms", LAG_BURST},
};

/* Each packet is on another CPU, whose tick may be one behind. With --table cpu only one CPU's part
 * of the rate is available. */
static void lag_test(void **state)
{
	const struct lagging *row = *state;
	uint64_t begin_ns = 40 * YEAR_NS, seed = 7, end_ns = LAG_SECONDS * NS_PER_SECOND;
	unsigned int rate = LAG_RATE / (table == RL_TABLE_CPU ? cpus_sharing() : 1);
	unsigned int within = 0, late = 0;
	char rules[100];

	snprintf(rules, sizeof(rules), "any limit %s", row->limit);
	harness_clock(h, begin_ns);
	harness_renew(h, rules);
	for (uint64_t at = TICK_NS; at < end_ns; at += LAG_STEP) {
		harness_clock(h, begin_ns + at - random_under(&seed, 2) * TICK_NS);
		if (packet_run(0, 1) == RL_REASON_WITHIN) {
			within++;
			late += at >= end_ns / 2;
		}
	}
	if (within > rate * LAG_SECONDS + row->at_once + 1)
		fail_msg("%u were let in", within);
	if (late < rate * LAG_SECONDS / 2 * 9 / 10)
		fail_msg("only %u in the second half", late);
}

/* ---- */

static int table_run(enum rl_table which)
{
	struct CMUnitTest tests[ARRAY_SIZE(rows) + ARRAY_SIZE(laggings)] = {0};
	size_t count = 0;
	int failed;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		tests[count++] =
			(struct CMUnitTest){rows[i].name, age_test, NULL, NULL, (void *)&rows[i]};
	for (size_t i = 0; i < ARRAY_SIZE(laggings); i++)
		tests[count++] = (struct CMUnitTest){laggings[i].name, lag_test, NULL, NULL,
						     (void *)&laggings[i]};
	table = which;
	failed = _cmocka_run_group_tests(table_name(which), tests, count, lives_run, NULL);
	harness_close(h);
	h = NULL;
	return failed;
}

int main(void)
{
	cpu_stay(0);
	return table_run(RL_TABLE_HOT) + table_run(RL_TABLE_LRU) + table_run(RL_TABLE_CPU);
}
