// SPDX-License-Identifier: GPL-2.0-only
/* Behaviour that must not depend on the table that keeps the state (rlctl-policy(5)): every key
 * under every algorithm, in the hot table, in LRUs and with a share for each CPU; which sources are
 * new; which are banned while strangers flood.
 */
#include "harness.h"

#include <string.h>

#include "base/units.h"

#define EACH 2 /* packets that every CPU's share holds */

static struct harness *h; /* of the group */
static enum rl_table table;
static uint64_t now_ns = NS_PER_DAY;

static void time_pass(uint64_t ns)
{
	now_ns += ns;
	harness_clock(h, now_ns);
}

/* A new day, always at its beginning. */
static void fresh(const char *rules)
{
	now_ns = (now_ns / NS_PER_DAY + 3) * NS_PER_DAY;
	harness_clock(h, now_ns);
	harness_renew(h, rules);
}

static void expect(const char *what, const char *words, enum rl_reason reason)
{
	enum rl_reason found = harness_words(h, words);

	if (found != reason)
		fail_msg("%s: \"%s\" is %s, not %s", what, words, reason_name(found),
			 reason_name(reason));
}

/* ---- keys */

#define OTHERS 3

static const struct key {
	const char *words;
	const char *same[2];        /* of one key */
	const char *others[OTHERS]; /* each of another */
} keys[] = {
	{"source",
	 {"ip4 udp", "ip4=192.0.2.1>9.9.9.9 tcp"},
	 {"ip4=192.0.2.2 udp", "ip4=192.0.3.1 udp", "ip6 udp"}},
	{"source",
	 {"ip6 udp", "ip6=2001:db8::ffff:ffff:ffff:ffff>::9 tcp"},
	 {"ip6=2001:db8:0:1::1 udp", "ip6=2001:db8:1::1 udp", "ip4 udp"}},
	{"source",
	 {"ip6=fe80::1 udp", "ip6=fe80::1>::9 tcp"},
	 {"ip6=fe80::2 udp", "ip6=fe80:0:0:1::1 udp", "ip6=fe80::8000:0:0:1 udp"}},
	{"source",
	 {"ip6=64:ff9b::192.0.2.1 udp", "ip6=64:ff9b::192.0.2.1>::9 tcp"},
	 {"ip6=64:ff9b::192.0.2.2 udp", "ip4 udp", "ip6=64:ff9b:1::192.0.2.1 udp"}},
	{"source/32,56",
	 {"ip6=fe80::1 udp", "ip6=fe80::2 tcp"},
	 {"ip6=fe80:0:0:100::1 udp", "ip6=fe81::1 udp", "ip4 udp"}},
	{"source/24,56",
	 {"ip4=192.0.2.0 udp", "ip4=192.0.2.255 tcp"},
	 {"ip4=192.0.3.1 udp", "ip4=192.0.1.255 udp", "ip6 udp"}},
	{"source/24,56",
	 {"ip6=2001:db8:0:1::1 udp", "ip6=2001:db8:0:ff::1 tcp"},
	 {"ip6=2001:db8:0:100::1 udp", "ip6=2001:db8:1::1 udp", "ip4 udp"}},
	{"source/32,128",
	 {"ip6 udp", "ip6 tcp"},
	 {"ip6=2001:db8::2 udp", "ip6=2001:db8::8000:0:0:1 udp", "ip4 udp"}},
	{"dest",
	 {"ip4 udp", "ip4=9.9.9.9 tcp"},
	 {"ip4=192.0.2.1>198.51.100.2 udp", "ip4=198.51.100.1>192.0.2.1 udp", "ip6 udp"}},
	{"dest",
	 {"ip6=::9>fe80::1 udp", "ip6=::8>fe80::1 tcp"},
	 {"ip6=::9>fe80::2 udp", "ip6=fe80::1>::9 udp", "ip6=::9>64:ff9b::1 udp"}},
	{"dest",
	 {"ip6 udp", "ip6=::9>2001:db8:1::2 tcp"},
	 {"ip6=2001:db8::1>2001:db8:1:1::1 udp", "ip6=::9>::9 udp", "ip4 udp"}},
	{"dest/24,56",
	 {"ip6 udp", "ip6=::9>2001:db8:1:ff::2 tcp"},
	 {"ip6=::9>2001:db8:1:100::1 udp", "ip6=::9>2001:db8:2::1 udp", "ip4 udp"}},
	{"source+dport",
	 {"ip4 udp=1>53", "ip4=192.0.2.1>9.9.9.9 tcp=2>53"},
	 {"ip4 udp=1>54", "ip4=192.0.2.2 udp=1>53", "ip6 udp=1>53"}},
	{"source+dport",
	 {"ip6 udp=1>53", "ip6=2001:db8::2>::9 tcp=2>53"},
	 {"ip6 udp=1>54", "ip6=2001:db8:0:1::1 udp=1>53", "ip6 icmp6"}},
	{"source+dest",
	 {"ip4 udp=1>2", "ip4 tcp=3>4"},
	 {"ip4=192.0.2.1>9.9.9.9 udp", "ip4=192.0.2.2 udp", "ip4=198.51.100.1>192.0.2.1 udp"}},
	{"source+dest",
	 {"ip6 udp=1>2", "ip6 tcp=3>4"},
	 {"ip6=2001:db8::1>::9 udp", "ip6=::9 udp", "ip6=2001:db8:1::1>2001:db8::1 udp"}},
	{"flow",
	 {"ip4 udp=1>2", "ip4 udp=1>2 data=9"},
	 {"ip4 tcp=1>2", "ip4 udp=2>1", "ip4=192.0.2.1>9.9.9.9 udp=1>2"}},
	{"flow",
	 {"ip6 tcp=1>2", "ip6 syn=1>2"},
	 {"ip6 udp=1>2", "ip6 tcp=1>3", "ip6=2001:db8:0:1::1 tcp=1>2"}},
};

/* Packets that one CPU's part of a limit lets pass. */
static unsigned int share_of(enum rl_algorithm algorithm)
{
	return algorithm == RL_WARM_UP ? 1 : table == RL_TABLE_CPU ? EACH : EACH * cpus_sharing();
}

/* `share` packets of the key pass; others of theirs then still do. */
static void key_spend(const struct key *key, const char *rule, unsigned int share)
{
	for (unsigned int i = 0; i < share; i++)
		expect(rule, key->same[i % 2], RL_REASON_WITHIN);
	for (int i = 0; i < 4; i++)
		expect(rule, key->same[i % 2], RL_REASON_OVER);
	for (int i = 0; i < OTHERS; i++)
		expect(rule, key->others[i], RL_REASON_WITHIN);
	expect(rule, key->same[0], RL_REASON_OVER);
}

static void key_check(const struct key *key, enum rl_algorithm algorithm)
{
	char limit[80], rule[160];

	limit_of(limit, sizeof(limit), algorithm, EACH * cpus_sharing());
	snprintf(rule, sizeof(rule), "any limit %s per %s", limit, key->words);
	fresh(rule);
	for (unsigned int cpu = 0; cpu < (table == RL_TABLE_CPU ? cpus_usable() : 1); cpu++) {
		cpu_stay(cpu);
		key_spend(key, rule, share_of(algorithm));
	}
	time_pass(2 * NS_PER_DAY);
	expect(rule, key->same[0], RL_REASON_WITHIN);
}

static void key_test(void **state)
{
	for (int a = 0; a < RL_ALGORITHM_COUNT; a++)
		key_check(*state, a);
}

/* Many keys of one address, in turn: none evicts another. */
static void many_test(void **state)
{
	static const struct {
		const char *key, *format;
	} rows[] = {
		{"source+dport", "ip4 udp=1>%u"},    {"source+dport", "ip6 tcp=1>%u"},
		{"flow", "ip4 udp=%u>53"},           {"flow", "ip4 udp=5>%u"},
		{"flow", "ip6 tcp=%u>53"},           {"source+dest", "ip4=192.0.2.1>10.0.0.%u udp"},
		{"source+dest", "ip6=::1>::%u udp"},
	};
	unsigned int share = share_of(RL_TOKEN_BUCKET);
	char limit[80], rule[160], words[80];

	(void)state;
	cpu_stay(0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		limit_of(limit, sizeof(limit), RL_TOKEN_BUCKET, EACH * cpus_sharing());
		snprintf(rule, sizeof(rule), "any limit %s per %s", limit, rows[i].key);
		fresh(rule);
		for (unsigned int n = 0; n < 32 * 2 * share; n++) {
			snprintf(words, sizeof(words), rows[i].format, 1 + n % 32);
			expect(rule, words, n < 32 * share ? RL_REASON_WITHIN : RL_REASON_OVER);
		}
	}
}

/* One state for all sources, on all CPUs, in every table. */
static void rule_test(void **state)
{
	unsigned int most = EACH * cpus_sharing();
	char limit[80], rule[160];

	(void)state;
	for (int a = 0; a < RL_ALGORITHM_COUNT; a++) {
		unsigned int passed = 0, should = a == RL_WARM_UP ? 1 : most;

		limit_of(limit, sizeof(limit), a, most);
		snprintf(rule, sizeof(rule), "any limit %s per rule", limit);
		fresh(rule);
		for (unsigned int i = 0; i < 4 * most; i++) {
			cpu_stay(i / 2);
			passed +=
				harness_words(h, i % 3 ? "ip4 udp" : "ip6 tcp") == RL_REASON_WITHIN;
		}
		if (passed != should)
			fail_msg("%s: %u passed, not %u", rule, passed, should);
	}
}

/* ---- each CPU has its part, in the long run */

static unsigned int passed_in(uint64_t span_ns, uint64_t step_ns)
{
	unsigned int passed = 0;

	for (uint64_t ns = 0; ns < span_ns; ns += step_ns) {
		passed += harness_words(h, "ip4 udp") == RL_REASON_WITHIN;
		time_pass(step_ns);
	}
	return passed;
}

static void part_test(void **state)
{
	static const char *const limits[] = {
		"%u/s burst %u",       "leaky-bucket %u/s queue %u", "fixed-window %u/s",
		"sliding-window %u/s", "sliding-log %u/s",           "warm-up %u/s ramp 100ms",
	};
	unsigned int all = 20 * cpus_sharing();
	char limit[80], rule[120];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		snprintf(limit, sizeof(limit), limits[i], all, all);
		snprintf(rule, sizeof(rule), "any limit %s", limit);
		for (unsigned int cpu = 0; cpu < cpus_usable(); cpu++) {
			unsigned int passed;

			fresh(rule);
			cpu_stay(cpu);
			passed = passed_in(100 * NS_PER_SECOND, 5 * NS_PER_MS);
			if (passed < 1960 || passed > 2040)
				fail_msg("%s on CPU %u: %u passed, not about 2000", rule, cpu,
					 passed);
		}
	}
}

/* ---- new sources */

static void new_source_test(void **state)
{
	(void)state;
	cpu_stay(0);
	fresh("any new-source limit 1/h burst 2 per rule");
	expect("one", "ip4 udp", RL_REASON_WITHIN);
	expect("known since", "ip4 tcp", RL_REASON_UNMATCHED);
	expect("two", "ip6 udp", RL_REASON_WITHIN);
	expect("known by /64", "ip6=2001:db8::ffff:1 udp", RL_REASON_UNMATCHED);
	for (int i = 0; i < 5; i++)
		expect("nothing of it has passed", "ip4=192.0.2.2 udp", RL_REASON_OVER);
	time_pass(NS_PER_MINUTE);
	expect("still known", "ip4 udp", RL_REASON_UNMATCHED);
	expect("still new", "ip6=2001:db8:0:1::1 udp", RL_REASON_OVER);
	time_pass(59 * NS_PER_MINUTE);
	expect("three", "ip4=192.0.2.2 udp", RL_REASON_WITHIN);
	expect("known since", "ip4=192.0.2.2 udp", RL_REASON_UNMATCHED);
}

/* Whatever let it pass: one of the rules with `new-source` has no other match than its prefix. */
static void new_source_passed_test(void **state)
{
	(void)state;
	cpu_stay(0);
	fresh("any new-source udp deny;198.51.100.1 new-source deny;any icmp allow;"
	      "any gre limit 1/h burst 1 over count;any esp deny");
	for (int i = 0; i < 3; i++)
		expect("new", "ip4=192.0.2.3 udp", RL_REASON_DENIED);
	expect("new", "ip4=192.0.2.3 esp", RL_REASON_DENIED);
	expect("new", "ip4=192.0.2.3 udp", RL_REASON_DENIED);
	expect("allowed", "ip4=192.0.2.3 icmp", RL_REASON_ALLOWED);
	expect("known", "ip4=192.0.2.3 udp", RL_REASON_UNMATCHED);
	expect("unmatched", "ip4=192.0.2.4 tcp", RL_REASON_UNMATCHED);
	expect("known", "ip4=192.0.2.4 udp", RL_REASON_UNMATCHED);
	expect("within", "ip4=192.0.2.5 gre", RL_REASON_WITHIN);
	expect("known", "ip4=192.0.2.5 udp", RL_REASON_UNMATCHED);
	expect("new", "ip6=2001:db8:0:5::1 udp", RL_REASON_DENIED);
}

/* ---- bans and strangers */

#define STRANGERS 100000 /* of 4096 sources that there is room for */

static void ban_test(void **state)
{
	char words[40];

	(void)state;
	cpu_stay(0);
	fresh("any udp limit fixed-window 1/h over ban 1h;any tcp limit sliding-log 1/h over ban "
	      "1h "
	      "source");
	expect("within", "ip4 udp", RL_REASON_WITHIN);
	expect("banned now", "ip4 udp", RL_REASON_OVER);
	expect("within", "ip4=192.0.2.2 tcp", RL_REASON_WITHIN);
	expect("banned now", "ip4=192.0.2.2 tcp", RL_REASON_OVER);
	for (unsigned int i = 0; i < STRANGERS; i++) {
		snprintf(words, sizeof(words), "ip4=10.%u.%u.%u %s", i >> 16, i >> 8 & 255, i & 255,
			 i % 2 ? "udp" : "tcp");
		expect("a stranger", words, RL_REASON_WITHIN);
	}
	expect("still banned", "ip4 udp", RL_REASON_BANNED);
	expect("of that alone", "ip4 gre", RL_REASON_UNMATCHED);
	expect("still banned", "ip4=192.0.2.2 gre", RL_REASON_BANNED);
	time_pass(NS_PER_HOUR);
	expect("no longer", "ip4=192.0.2.2 gre", RL_REASON_UNMATCHED);
}

/* ---- the groups */

static int set_up(void **state)
{
	(void)state;
	h = harness_open(&(struct harness_options){.table = table});
	return h ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	harness_close(h);
	return 0;
}

static const struct CMUnitTest others[] = {
	cmocka_unit_test(many_test),       cmocka_unit_test(rule_test),
	cmocka_unit_test(new_source_test), cmocka_unit_test(new_source_passed_test),
	cmocka_unit_test(ban_test),
};

static int table_run(enum rl_table which)
{
	struct CMUnitTest tests[ARRAY_SIZE(keys) + ARRAY_SIZE(others) + 1] = {0};
	static char names[ARRAY_SIZE(keys)][80];
	size_t count = 0;

	table = which;
	for (; count < ARRAY_SIZE(keys); count++) {
		const struct key *key = &keys[count];

		snprintf(names[count], sizeof(names[0]), "%s: per %s, %.3s", table_name(which),
			 key->words, key->same[0]);
		tests[count] = (struct CMUnitTest){names[count], key_test, NULL, NULL, (void *)key};
	}
	memcpy(tests + count, others, sizeof(others));
	count += ARRAY_SIZE(others);
	if (which == RL_TABLE_CPU)
		tests[count++] = (struct CMUnitTest)cmocka_unit_test(part_test);
	return _cmocka_run_group_tests(table_name(which), tests, count, set_up, tear_down);
}

int main(void)
{
	return table_run(RL_TABLE_HOT) + table_run(RL_TABLE_LRU) + table_run(RL_TABLE_CPU);
}
