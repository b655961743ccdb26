// SPDX-License-Identifier: GPL-2.0-only
/* Alarms on the packet's way: what counts and what does not, the packet at which one goes on and
 * off, rules with `while` wherever a rule may stand and beside every cache, and what the next
 * policy takes over.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "kernel/state/alarms.h"
#include "kernel/watch/watch.h"
#include "harness.h"
#include "rows.h"

#define TENTH (100 * NS_PER_MS)
#define USES  (RL_USE_PROGRAM & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE))

/* More than 100 a second for a second; less than 50 for half of one. */
#define RATES  " over 100/second for 1s until under 50/second for 500ms;"
#define ATTACK "alarm attack when udp" RATES

static struct harness *h, *opened[RL_TABLE_CPU + 1], *at_tc;
static uint64_t now;

static void time_pass(uint64_t ns)
{
	now += ns;
	harness_clock(h, now);
}

/* Loading the program takes a second: it is loaded once for each kind. */
static void open_at(struct harness **one, enum rl_hook hook, enum rl_table table)
{
	if (!*one)
		*one = harness_open(&(struct harness_options){
			.hook = hook, .table = table, .program_uses = USES, .seed = {5, 9}});
	assert_non_null(*one);
	h = *one;
	now = h->now_ns;
	time_pass(NS_PER_DAY); /* bans and cached refusals of other tests are over */
	harness_sockets(h, RL_SIMULATED_NONE);
}

/* Limits, cached answers and known sources of the policy before have long ended; counters go on. */
static void begin_with(enum rl_table table, const char *policy)
{
	open_at(&opened[table], RL_HOOK_XDP, table);
	harness_policy(h, policy);
}

static void begin(const char *policy)
{
	begin_with(RL_TABLE_HOT, policy);
}

/* With alarms that have never been on. */
static void begin_anew(const char *policy)
{
	open_at(&opened[RL_TABLE_HOT], RL_HOOK_XDP, RL_TABLE_HOT);
	harness_renew(h, policy);
}

/* One a call: for more than one the kernel puts the program into its dispatcher, and waits. */
static void packets_of(const char *words, uint32_t count)
{
	static struct frame frame;

	frame_build(&frame, words);
	for (uint32_t i = 0; i < count; i++)
		harness_passes(h, &frame);
}

/* So many in each of the next tenths, at its beginning; the time is then the end of the last. */
static void tenths_of(const char *words, uint32_t tenths, uint32_t count)
{
	for (uint32_t i = 0; i < tenths; i++) {
		packets_of(words, count);
		time_pass(TENTH);
	}
}

static struct alarm_now alarm_at(const char *name)
{
	return harness_alarm(h, name);
}

static bool is_on(const char *name)
{
	return alarm_at(name).on;
}

static void expect(const char *words, enum rl_reason reason)
{
	harness_expect(h, words, words, reason);
}

/* From the first packet on, a second of more than the rate. */
static void attack_begins(void)
{
	tenths_of("ip4=192.0.2.77 udp", 10, 11);
	assert_true(is_on("attack"));
}

static void attack_ends(void)
{
	time_pass(6 * TENTH);
	assert_false(is_on("attack"));
}

/* ---- when */

static void exact_test(void **state)
{
	(void)state;
	begin_anew(ATTACK "any tcp deny while attack");
	tenths_of("ip4 udp", 9, 11);
	packets_of("ip4 udp", 11);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	time_pass(TENTH - 1);
	assert_false(is_on("attack"));
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	time_pass(1);
	assert_true(is_on("attack"));
	expect("ip4 tcp", RL_REASON_DENIED); /* the first packet at that time sees it */
	assert_int_equal(alarm_at("attack").since_ns, now);
	assert_int_equal(alarm_at("attack").changes, 1);
	assert_int_equal((uint64_t)alarm_at("attack").rate, 110);

	time_pass(5 * TENTH - 1);
	expect("ip4 tcp", RL_REASON_DENIED);
	time_pass(1);
	assert_false(is_on("attack"));
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	assert_int_equal(alarm_at("attack").since_ns, now);
	assert_int_equal(alarm_at("attack").changes, 2);
	assert_int_equal(alarm_at("attack").counted, 110);
}

/* Exactly the rate is not over it, and not under the second. */
static void edges_test(void **state)
{
	(void)state;
	begin(ATTACK);
	tenths_of("ip4 udp", 30, 10);
	assert_false(is_on("attack"));
	time_pass(31 * TENTH);
	tenths_of("ip4 udp", 9, 11);
	tenths_of("ip4 udp", 1, 10);
	assert_false(is_on("attack"));
	attack_begins();
	tenths_of("ip4 udp", 30, 5);
	assert_true(is_on("attack"));
	tenths_of("ip4 udp", 4, 4);
	tenths_of("ip4 udp", 1, 5);
	assert_true(is_on("attack"));
	tenths_of("ip4 udp", 5, 4);
	assert_false(is_on("attack"));
}

/* Without any packet it ends, as a reader says and as the next packet sees. */
static void silence_test(void **state)
{
	(void)state;
	begin(ATTACK "any tcp deny while attack");
	attack_begins();
	time_pass(400 * NS_PER_DAY);
	assert_false(is_on("attack"));
	assert_int_equal(alarm_at("attack").since_ns, now - 400 * NS_PER_DAY + 5 * TENTH);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	attack_begins();
	expect("ip4 tcp", RL_REASON_DENIED);
}

/* ---- what counts */

static const struct counted {
	const char *name, *match, *words;
	uint64_t count; /* for one packet */
} counted_rows[] = {
	{"everything", "", "ip4 udp", 1},
	{"IPv6", "udp", "ip6 udp", 1},
	{"behind tags", "udp", "8021ad 8021q ip6 udp", 1},
	{"another protocol", "udp", "ip4 tcp", 0},
	{"a port", "udp dport 53", "ip4 udp=1>53", 1},
	{"another port", "udp dport 53", "ip4 udp=1>54", 0},
	{"ports of a list", "udp dport 53,99", "ip4 udp=1>99", 1},
	{"a port beside a list", "udp dport 53,99", "ip4 udp=1>98", 0},
	{"a SYN", "syn", "ip6 syn", 1},
	{"no SYN", "syn", "ip6 synack", 0},
	{"a prefix", "src 192.0.2.0/24", "ip4=192.0.2.9 udp", 1},
	{"beside a prefix", "src 192.0.2.0/24", "ip4=192.0.3.9 udp", 0},
	{"not a prefix", "not src 192.0.2.0/24", "ip4=192.0.3.9 udp", 1},
	{"a first fragment", "fragment", "ip6 frag=0+ udp", 1},
	{"a later fragment", "fragment", "ip4 frag=100 udp", 1},
	{"a later fragment has no ports", "udp dport 2000", "ip4 frag=100 udp", 0},
	{"a length", "length 28-40", "ip4 udp", 1},
	{"a TTL", "ttl 1-9", "ip4 udp ttl=9", 1},
	{"payload", "payload 2 beef", "ip4 udp bytes=0102beef", 1},
	{"other payload", "payload 2 beef", "ip4 udp bytes=0102beee", 0},
	{"a short payload", "payload 2 beef", "ip4 udp bytes=0102be", 0},
	{"what a fragment hides", "payload 2 beef", "ip4 frag=0+ udp bytes=0102be", 1},
	{"a member of a set", "src @bad", "ip4=203.0.113.9 udp", 1},
	{"none of a set", "src @bad", "ip4=203.0.114.9 udp", 0},
	{"what is denied", "tcp", "ip4 tcp=1>666", 1},
	{"what is allowed", "tcp", "ip4 tcp=1>667", 1},
	{"no IP", "", "type=2054 data=28", 0},
	{"malformed", "", "ip4 ihl=4 udp", 0},
	{"a neighbour's question", "", "ip6 ns=2001:db8:1::1", 0},
	{"bytes", "bytes", "ip4 udp data=58", 100},
	{"bits", "bits", "ip4 udp data=58", 100},
};

static const struct watch_options everything = {
	.reasons = ~0u, .rate = 1000, .counter_id = RL_WATCH_ANY};

struct sampled_alarms {
	uint16_t wanted;
	int count;
};

static int on_sample(void *arg, const struct sampled *sample)
{
	struct sampled_alarms *s = arg;

	assert_int_equal(sample->packet.alarms, s->wanted);
	s->count++;
	return 0;
}

/* The same where the packet is refused before any rule is asked; and a sample of it says so. */
static void counted_test(void **state)
{
	const struct counted *row = *state;
	bool bytes = !strcmp(row->match, "bytes"), bits = !strcmp(row->match, "bits");
	char policy[512];
	struct sampled_alarms sampled = {.wanted = row->count ? 1u << 1 : 0};
	struct watch *watch;
	uint64_t before;

	snprintf(policy, sizeof(policy),
		 "set bad;alarm a when proto 99" RATES
		 "alarm b when %s over %s for 1s until under %s for 1s;"
		 "any tcp dport 666 deny;any tcp dport 667 allow;any tcp dport 668 deny while b",
		 bytes || bits ? "" : row->match,
		 bytes  ? "64000 bytes/second"
		 : bits ? "1mbit"
			: "100/second",
		 bytes  ? "6400 bytes/second"
		 : bits ? "100kbit"
			: "50/second");
	begin(policy);
	harness_set_add(h, "bad", "203.0.113.0/24");
	assert_int_equal(watch_open(&h->instance, &everything, &watch), 0);
	before = alarm_at("b").counted;
	packets_of(row->words, 1);
	assert_int_equal(alarm_at("b").counted - before, row->count);
	packets_of(row->words, 7);
	assert_int_equal(alarm_at("b").counted - before, 8 * row->count);
	time_pass(2 * TENTH);
	assert_int_equal(watch_poll(watch, on_sample, &sampled), 0);
	assert_int_equal(sampled.count, 8);
	watch_close(watch);
}

/* Whether a packet is established is asked once, for the alarm and for the rules. */
static void established_test(void **state)
{
	(void)state;
	begin_anew(
		"alarm a when not established over 100/second for 1s until under 50/second for 1s;"
		"alarm b when established over 100/second for 1s until under 50/second for 1s;"
		"any tcp established allow");
	harness_sockets(h, RL_SIMULATED_NONE);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	expect("ip6 syn", RL_REASON_UNMATCHED);
	expect("ip6 udp", RL_REASON_UNMATCHED);
	assert_int_equal(alarm_at("a").counted, 3);
	assert_int_equal(alarm_at("b").counted, 0);
	harness_sockets(h, RL_SIMULATED_ESTABLISHED);
	expect("ip4 tcp", RL_REASON_ALLOWED);
	expect("ip6 tcp", RL_REASON_ALLOWED);
	assert_int_equal(alarm_at("a").counted, 3);
	assert_int_equal(alarm_at("b").counted, 2);
}

/* A packet of several segments is as many, and as many bytes as they all have on the wire. */
static void segments_test(void **state)
{
	struct __sk_buff skb = {.gso_segs = 3, .gso_size = 100};
	struct frame frame;

	(void)state;
	open_at(&at_tc, RL_HOOK_INGRESS, RL_TABLE_HOT);
	harness_renew(
		h,
		"alarm p when over 100/second for 1s until under 50/second for 1s;"
		"alarm b when over 64000 bytes/second for 1s until under 6400 bytes/second for 1s");
	frame_build(&frame, "ip4 tcp data=300");
	harness_skb(h, &frame, &skb, 3, frame.size + 2 * (14 + 20 + 20));
	assert_int_equal(alarm_at("p").counted, 3);
	assert_int_equal(alarm_at("b").counted, frame.size + 2 * (14 + 20 + 20));
}

/* ---- rules with `while` */

/* A packet of 10.1.2.3 before the alarm is on, while it is, and after it. */
static const struct held_case {
	const char *name, *rules;
	enum rl_reason off, on;
} held_rows[] = {
	{"deny, any", "any tcp deny while attack", RL_REASON_UNMATCHED, RL_REASON_DENIED},
	{"deny all, any", "any deny while attack", RL_REASON_UNMATCHED, RL_REASON_DENIED},
	{"while not", "any tcp deny while not attack", RL_REASON_DENIED, RL_REASON_UNMATCHED},
	{"allow", "any deny;10.1.0.0/16 allow while attack", RL_REASON_DENIED, RL_REASON_ALLOWED},
	{"allow, of the same prefix", "10.1.0.0/16 tcp deny;10.1.0.0/16 allow while attack",
	 RL_REASON_DENIED, RL_REASON_ALLOWED},
	{"device", "device tcp deny while attack", RL_REASON_UNMATCHED, RL_REASON_DENIED},
	{"device, beside others", "device limit 1m/second per rule;device tcp deny while attack",
	 RL_REASON_WITHIN, RL_REASON_DENIED},
	{"a set", "set bad;@bad deny while attack", RL_REASON_UNMATCHED, RL_REASON_DENIED},
	{"a set, and a prefix of its length",
	 "set bad;10.1.2.3 limit 1k/second;@bad deny while attack", RL_REASON_WITHIN,
	 RL_REASON_DENIED},
	{"src of a set", "set bad;any src @bad deny while attack", RL_REASON_UNMATCHED,
	 RL_REASON_DENIED},
	{"to the shorter prefix", "10.1.2.3 allow while attack;10.1.0.0/16 deny", RL_REASON_DENIED,
	 RL_REASON_ALLOWED},
	{"through many to any",
	 "10.1.2.3 deny while attack;10.1.2.0/24 deny while attack;10.1.0.0/16 deny while attack;"
	 "any limit 1k/second",
	 RL_REASON_WITHIN, RL_REASON_DENIED},
	{"shorter while it is not", "10.1.2.3 deny while not attack;10.1.0.0/16 allow",
	 RL_REASON_DENIED, RL_REASON_ALLOWED},
	{"one of a prefix with an index",
	 "10.1.2.3 tcp dport 1 deny;10.1.2.3 tcp dport 2 deny;10.1.2.3 tcp dport 3 deny;"
	 "10.1.2.3 tcp dport 4 deny;10.1.2.3 tcp dport 5 deny;10.1.2.3 tcp dport 6 deny;"
	 "10.1.2.3 tcp dport 7 deny;10.1.2.3 tcp dport 8 deny;10.1.2.3 tcp dport 9 deny;"
	 "10.1.2.3 tcp dport 2000 deny while attack",
	 RL_REASON_UNMATCHED, RL_REASON_DENIED},
	{"two limits", "any limit 1k/second;any limit 1k/hour burst 1k per rule while attack",
	 RL_REASON_WITHIN, RL_REASON_WITHIN},
	{"after its time", "any deny for 1s while attack", RL_REASON_UNMATCHED,
	 RL_REASON_UNMATCHED},
	{"another alarm", "alarm other when icmp" RATES "any tcp deny while other",
	 RL_REASON_UNMATCHED, RL_REASON_UNMATCHED},
	{"another alarm's not", "alarm zother when icmp" RATES "any tcp deny while not zother",
	 RL_REASON_DENIED, RL_REASON_DENIED},
};

static void held(const struct held_case *row, enum rl_table table)
{
	char policy[1024];

	snprintf(policy, sizeof(policy), ATTACK "%s", row->rules);
	begin_with(table, policy);
	if (strstr(row->rules, "set bad"))
		harness_set_add(h, "bad", "10.1.2.3");
	for (int i = 0; i < 2; i++) {
		expect("ip4=10.1.2.3 tcp", row->off);
		expect("ip4=10.1.2.3 tcp", row->off); /* from what is cached */
		attack_begins();
		expect("ip4=10.1.2.3 tcp", row->on);
		expect("ip4=10.1.2.3 tcp", row->on);
		attack_ends();
		expect("ip4=10.1.2.3 tcp", row->off);
	}
}

static void held_test(void **state)
{
	held(*state, RL_TABLE_HOT);
	held(*state, RL_TABLE_LRU);
}

/* ---- beside caches */

/* A limit that refuses an address for an hour, in each place where refusals are kept: none of them
 * stands where a rule now allows it, and none is forgotten where no rule does. */
static const struct cached {
	const char *name, *rules;
	const char *words;
	enum rl_reason off, on;
} cached_rows[] = {
	{"of an address, allowed", "any limit 1/hour burst 1;10.1.0.0/16 allow while attack",
	 "ip4=10.1.2.3 tcp", RL_REASON_OVER, RL_REASON_ALLOWED},
	{"of an address, elsewhere", "10.1.2.3 limit 1/hour burst 1;10.2.0.0/16 allow while attack",
	 "ip4=10.1.2.3 tcp", RL_REASON_OVER, RL_REASON_OVER},
	{"of an address of the prefix that has a rule",
	 "10.1.0.0/16 limit 1/hour burst 1;10.1.0.0/16 allow while attack", "ip4=10.1.2.3 tcp",
	 RL_REASON_OVER, RL_REASON_ALLOWED},
	{"of an IPv6 network, allowed", "any limit 1/hour burst 1;2001:db8::/32 allow while attack",
	 "ip6=2001:db8::7 tcp", RL_REASON_OVER, RL_REASON_ALLOWED},
	{"of all packets, allowed", "device limit 1/hour burst 1;any tcp allow while attack",
	 "ip4=10.1.2.3 tcp", RL_REASON_OVER, RL_REASON_ALLOWED},
	{"of all packets, by a limit that is not there",
	 "device limit 1/hour burst 1 while not attack", "ip4=10.1.2.3 tcp", RL_REASON_OVER,
	 RL_REASON_UNMATCHED},
	{"of an address, by a limit that is not there", "any limit 1/hour burst 1 while not attack",
	 "ip4=10.1.2.3 tcp", RL_REASON_OVER, RL_REASON_UNMATCHED},
	{"of an address, beside a limit that is not there",
	 "any limit 1/hour burst 1;any limit 1/hour burst 1 per rule while attack",
	 "ip4=10.1.2.3 tcp", RL_REASON_OVER, RL_REASON_OVER},
	{"of a window", "any limit sliding-window 100/hour while not attack", "ip4=10.1.2.3 tcp",
	 RL_REASON_OVER, RL_REASON_UNMATCHED},
	{"of a log", "any limit sliding-log 3/hour while not attack", "ip4=10.1.2.3 tcp",
	 RL_REASON_OVER, RL_REASON_UNMATCHED},
	{"a ban", "any limit 1/hour burst 1 over ban 1h while not attack", "ip4=10.1.2.3 tcp",
	 RL_REASON_BANNED, RL_REASON_UNMATCHED},
	{"a ban of the source", "any limit 1/hour burst 1 over ban 1h source while not attack",
	 "ip4=10.1.2.3 tcp", RL_REASON_BANNED, RL_REASON_BANNED},
};

static void cached_test(void **state)
{
	const struct cached *row = *state;
	char policy[512];

	snprintf(policy, sizeof(policy), "alarm attack when udp" RATES "192.0.2.77 udp deny;%s",
		 row->rules);
	begin(policy);
	packets_of(row->words, 200);
	expect(row->words, row->off);
	attack_begins();
	expect(row->words, row->on);
	expect(row->words, row->on);
	attack_ends();
	expect(row->words, row->off);
	attack_begins();
	expect(row->words, row->on);
}

/* A refused flood is what an alarm is for: refusals that are cached, of an address and of all
 * packets, count as any packet. */
static void refused_test(void **state)
{
	static const char *const limits[] = {"any limit 1/hour burst 1",
					     "device limit 1/hour burst 1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		char policy[256];

		snprintf(policy, sizeof(policy), ATTACK "%s", limits[i]);
		begin_anew(policy);
		packets_of("ip4 udp", 5000);
		expect("ip4 udp", RL_REASON_OVER);
		assert_int_equal(alarm_at("attack").counted, 5001);
		attack_ends();
		attack_begins();
	}
}

/* ---- sources that become known */

/* Twice, three tenths apart: its source is known from then on. */
static void come_in_peace(const char *words)
{
	packets_of(words, 1);
	time_pass(3 * TENTH);
	packets_of(words, 1);
}

static void known_test(void **state)
{
	(void)state;
	begin(ATTACK "any tcp new-source limit 1/hour per rule burst 2 while attack;"
		     "any icmp new-source deny");
	come_in_peace("ip4=10.0.0.1 tcp");
	expect("ip4=10.0.0.1 icmp", RL_REASON_UNMATCHED);
	attack_begins();
	expect("ip4=10.0.0.1 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.0.0.2 tcp", RL_REASON_WITHIN); /* let through, and still not known */
	expect("ip4=10.0.0.2 icmp", RL_REASON_DENIED);
	expect("ip4=10.0.0.2 tcp", RL_REASON_WITHIN);
	expect("ip4=10.0.0.2 tcp", RL_REASON_OVER);
	expect("ip4=10.0.0.1 tcp", RL_REASON_UNMATCHED);
	attack_ends();
	come_in_peace("ip4=10.0.0.2 tcp");
	expect("ip4=10.0.0.2 icmp", RL_REASON_UNMATCHED);
}

/* A limit that stands `while not` has nothing special. */
static void known_not_test(void **state)
{
	(void)state;
	begin(ATTACK "any tcp new-source limit 1/hour per rule burst 2 while not attack;"
		     "any icmp new-source deny");
	expect("ip4=10.0.0.2 tcp", RL_REASON_WITHIN);
	expect("ip4=10.0.0.2 icmp", RL_REASON_UNMATCHED);
}

static const enum rl_table tables[] = {RL_TABLE_HOT, RL_TABLE_LRU, RL_TABLE_CPU};

/* A tenth with a packet of each of these. */
static void senders_tenth(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		char words[64];

		snprintf(words, sizeof(words), "ip4=10.9.0.%u udp=1>9", i);
		packets_of(words, 1);
	}
	time_pass(TENTH);
}

/* How many of them pass, of a packet each; `alarm`: and does it go on with that. */
static uint32_t senders_pass(uint32_t first, uint32_t count)
{
	uint32_t passed = 0;

	for (uint32_t i = first; i < first + count; i++) {
		static struct frame frame;
		char words[64];

		snprintf(words, sizeof(words), "ip4=10.9.0.%u udp=1>9", i);
		frame_build(&frame, words);
		passed += harness_passes(h, &frame);
	}
	return passed;
}

/* When a source becomes known, which deny says: by its packet three tenths after the first, if no
 * tenth was over the rate since; after one, three durations later, and again by its second. */
static void ripe(enum rl_table table)
{
	begin_with(table, ATTACK "any tcp new-source deny while attack;any icmp new-source deny");
	packets_of("ip4=10.0.1.1 tcp", 1);
	time_pass(3 * TENTH - 1);
	packets_of("ip4=10.0.1.1 tcp", 1);
	expect("ip4=10.0.1.1 icmp", RL_REASON_DENIED);
	time_pass(1);
	packets_of("ip4=10.0.1.1 tcp", 1);
	expect("ip4=10.0.1.1 icmp", RL_REASON_UNMATCHED);

	packets_of("ip4=10.0.1.2 tcp", 1);
	tenths_of("ip4 udp", 1, 11);
	time_pass(2 * TENTH);
	packets_of("ip4=10.0.1.2 tcp", 1);
	expect("ip4=10.0.1.2 icmp", RL_REASON_DENIED);
	expect("ip4=10.0.1.1 icmp", RL_REASON_UNMATCHED);
	time_pass(31 * TENTH);
	packets_of("ip4=10.0.1.2 tcp", 1);
	expect("ip4=10.0.1.2 icmp", RL_REASON_DENIED);
	come_in_peace("ip4=10.0.1.2 tcp");
	expect("ip4=10.0.1.2 icmp", RL_REASON_UNMATCHED);
}

static void ripe_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		ripe(tables[i]);
}

/* The same senders from peace into the alarm: while that makes up its mind, all of them pass, and
 * none is known for it; nor when it is off and on again. Those that came before are. */
static void senders(enum rl_table table)
{
	begin_with(table, ATTACK "device new-source limit 1/hour burst 3 while attack");
	come_in_peace("ip4=10.0.0.1 icmp");
	time_pass(4 * TENTH);
	for (int i = 0; i < 10; i++)
		senders_tenth(1, 20);
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 20), 3);
	expect("ip4=10.0.0.1 icmp", RL_REASON_UNMATCHED);
	expect("ip4=10.0.0.2 icmp", RL_REASON_OVER);
	attack_ends();
	assert_int_equal(senders_pass(1, 20), 20);
	for (int i = 0; i < 10; i++)
		senders_tenth(1, 20);
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 20), 0);
	expect("ip4=10.0.0.1 icmp", RL_REASON_UNMATCHED);

	/* In peace they become known as everybody does, and stay so in the next attack. */
	attack_ends();
	assert_int_equal(senders_pass(1, 10), 10);
	time_pass(4 * TENTH);
	assert_int_equal(senders_pass(1, 10), 10);
	for (int i = 0; i < 10; i++)
		senders_tenth(11, 30);
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 10), 10);
	assert_int_equal(senders_pass(11, 30), 0);
}

static void senders_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		senders(tables[i]);
}

/* Pulses that turn it on: those of the first are as little known as those of the last. */
static void pulses_test(void **state)
{
	(void)state;
	begin_anew(ATTACK "device new-source limit 1/hour burst 1 while attack");
	for (int i = 0; i < 3; i++) {
		assert_false(is_on("attack"));
		senders_tenth(1 + 40 * i, 40);
		packets_of("ip4=10.8.0.1 udp", 70);
		time_pass((i < 2 ? 9 : 1) * TENTH);
	}
	assert_true(is_on("attack"));
	assert_int_equal(senders_pass(1, 120), 1);
	assert_int_equal(alarm_at("attack").changes, 1);
}

/* Two bursts, however large, turn none on, as often as they come; a mean over the rate does. */
static void bursts_test(void **state)
{
	(void)state;
	begin_anew(ATTACK);
	for (int i = 0; i < 6; i++) {
		packets_of("ip4 udp", 2000);
		time_pass(16 * TENTH);
	}
	assert_false(is_on("attack"));
	begin_anew(ATTACK);
	for (int i = 0; i < 3; i++) {
		tenths_of("ip4 udp", 9, 12);
		assert_int_equal(is_on("attack"), i == 2);
		time_pass(TENTH);
	}
	assert_true(is_on("attack"));
	packets_of("ip4 udp", 1);
	assert_int_equal(alarm_at("attack").changes, 1);
}

/* While it is on, who is known stays so for as long as it sends, and a stranger becomes so by an
 * established packet alone, whatever lets the others pass. */
static void long_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		begin_with(tables[i], ATTACK "any icmp allow;"
					     "device new-source limit 1/hour burst 1 while attack");
		harness_sockets(h, RL_SIMULATED_NONE);
		come_in_peace("ip4=10.0.0.9 tcp");
		attack_begins();
		for (int minutes = 0; minutes < 24; minutes += 4) {
			for (int tenth = 0; tenth < 2400; tenth++)
				tenths_of("ip4=10.9.1.1 udp", 1, 5);
			expect("ip4=10.0.0.9 tcp", RL_REASON_UNMATCHED);
		}
		assert_true(is_on("attack"));
		expect("ip4=10.0.0.2 icmp", RL_REASON_ALLOWED);
		expect("ip4=10.0.0.2 tcp", RL_REASON_OVER);
		expect("ip4=10.0.0.3 tcp", RL_REASON_OVER);
		harness_sockets(h, RL_SIMULATED_ESTABLISHED);
		expect("ip4=10.0.0.2 icmp", RL_REASON_ALLOWED);
		harness_sockets(h, RL_SIMULATED_NONE);
		expect("ip4=10.0.0.2 tcp", RL_REASON_UNMATCHED);
		attack_ends();
		attack_begins();
		expect("ip4=10.0.0.2 tcp", RL_REASON_UNMATCHED);
	}
}

/* Where the rules with new-source have other matches, packets of another shape make nobody known:
 * a stranger sends `stray`, which passes, and then what the rule asks for. With --table lru it
 * stays known: the rows where it becomes so are the last. */
static const struct stray {
	const char *name, *rules, *stray, *asked;
	bool known;
} stray_rows[] = {
	{"a port", "any udp dport 9 new-source deny", "ip4=10.1.2.3 icmp", "ip4=10.1.2.3 udp=1>9",
	 false},
	{"another port", "any udp dport 9 new-source deny", "ip4=10.1.2.3 udp=1>8",
	 "ip4=10.1.2.3 udp=1>9", false},
	{"of the device", "device udp dport 9 new-source deny", "ip4=10.1.2.3 tcp=1>9",
	 "ip4=10.1.2.3 udp=1>9", false},
	{"IPv6", "any udp dport 9 new-source deny", "ip6=2001:db8::7 tcp",
	 "ip6=2001:db8::8 udp=1>9", false},
	{"a list", "any udp dport 9,11 new-source deny", "ip4=10.1.2.3 udp=1>10",
	 "ip4=10.1.2.3 udp=1>9", false},
	{"not", "any not tcp new-source deny", "ip4=10.1.2.3 tcp", "ip4=10.1.2.3 icmp", false},
	{"length", "any udp length 0-40 new-source deny", "ip4=10.1.2.3 udp data=99",
	 "ip4=10.1.2.3 udp", false},
	{"without new-source", "any udp dport 9 not new-source allow;any udp dport 9 deny",
	 "ip4=10.1.2.3 tcp", "ip4=10.1.2.3 udp=1>9", false},
	{"while an alarm is on", ATTACK "any tcp dport 9 new-source deny while attack",
	 "ip4=10.1.2.3 udp", "ip4=10.1.2.3 tcp=1>9", false},
	{"one of two rules",
	 "any udp dport 9 new-source deny;any udp dport 8 new-source limit 1/hour burst 1",
	 "ip4=10.1.2.3 udp=1>8", "ip4=10.1.2.3 udp=1>9", true},
	{"a rule without", "any udp dport 9 new-source deny;device new-source limit 1/hour burst 1",
	 "ip4=10.1.2.3 icmp", "ip4=10.1.2.3 udp=1>9", true},
	{"established is none",
	 "any not established new-source limit 1/hour burst 1 over drop;any udp dport 9 new-source deny",
	 "ip4=10.1.2.3 icmp", "ip4=10.1.2.3 udp=1>9", true},
	{"none but new-source", "any new-source limit 1/hour burst 1", "ip4=10.1.2.3 icmp",
	 "ip4=10.1.2.3 udp", true},
};

static void stray_test(void **state)
{
	const struct stray *row = *state;
	static struct frame frame;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		begin_with(tables[i], row->rules);
		packets_of(row->stray, 3);
		if (strstr(row->rules, ATTACK)) {
			time_pass(4 * TENTH);
			attack_begins();
		}
		frame_build(&frame, row->asked);
		assert_int_equal(harness_passes(h, &frame), row->known);
	}
}

/* Rules are changed one at a time: which packets make a source known is of all of them. */
static void stray_changes_test(void **state)
{
	(void)state;
	begin("any udp dport 9 new-source deny");
	expect("ip4=10.1.2.3 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.1.2.3 udp=1>9", RL_REASON_DENIED);
	harness_policy(
		h, "any udp dport 9 new-source deny;10.0.0.0/8 new-source limit 9/hour burst 9");
	expect("ip4=10.1.2.3 tcp", RL_REASON_WITHIN);
	harness_policy(h, "any udp dport 9 new-source deny");
	expect("ip4=10.1.2.3 udp=1>9", RL_REASON_UNMATCHED);
	expect("ip4=10.1.2.4 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.1.2.4 udp=1>9", RL_REASON_DENIED);
}

/* ---- the next policy */

/* Rules change beside alarms that do not: nothing is lost, also while another half has its maps. */
static void same_test(void **state)
{
	(void)state;
	begin_anew(ATTACK "any tcp deny while attack");
	for (int i = 0; i < 10; i++) {
		packets_of("ip4 udp", 5);
		harness_policy(h, i % 2 ? ATTACK "any tcp deny while attack"
					: ATTACK "any tcp deny while attack;any icmp allow");
		packets_of("ip4 udp", 6);
		time_pass(TENTH);
	}
	assert_true(is_on("attack"));
	assert_int_equal(alarm_at("attack").counted, 110);
	expect("ip4 tcp", RL_REASON_DENIED);
	harness_policy(h, "any icmp allow");
	harness_policy(h, ATTACK "any tcp deny while attack");
	assert_false(is_on("attack"));
	assert_int_equal(alarm_at("attack").counted, 0);
	attack_begins();
	expect("ip4 tcp", RL_REASON_DENIED);
}

static void carried_test(void **state)
{
	struct alarm_now before;

	(void)state;
	begin_anew(ATTACK "any tcp deny while attack");
	attack_begins();
	packets_of("ip4 udp", 3);
	before = alarm_at("attack");
	harness_policy(h, "alarm another when icmp" RATES ATTACK
			  "any tcp deny while attack;any icmp allow");
	assert_true(is_on("attack"));
	assert_int_equal(alarm_at("attack").since_ns, before.since_ns);
	assert_int_equal(alarm_at("attack").changes, before.changes);
	assert_int_equal(alarm_at("attack").counted, before.counted);
	assert_int_equal(alarm_at("another").counted, 0);
	assert_false(is_on("another"));
	expect("ip4 tcp", RL_REASON_DENIED);
	/* The tenth under way goes on too: 3 and 2 are not under 5. */
	packets_of("ip4 udp", 2);
	time_pass(TENTH);
	tenths_of("ip4 udp", 4, 4);
	assert_true(is_on("attack"));
	tenths_of("ip4 udp", 1, 4);
	assert_false(is_on("attack"));

	/* Another rate, another alarm. */
	attack_begins();
	harness_policy(h, "alarm attack when udp over 100/second for 1s until under 60/second for "
			  "500ms;any tcp deny while attack");
	assert_false(is_on("attack"));
	assert_int_equal(alarm_at("attack").counted, 0);
	expect("ip4 tcp", RL_REASON_UNMATCHED);

	/* Another match. */
	begin_anew(ATTACK);
	attack_begins();
	harness_policy(h, "alarm attack when udp dport 1-65535" RATES);
	assert_false(is_on("attack"));
	harness_policy(h, "any tcp allow");
	expect("ip4 tcp", RL_REASON_ALLOWED);
}

static void restored_test(void **state)
{
	struct policy before = {0};

	(void)state;
	begin(ATTACK "any tcp deny while attack");
	attack_begins();
	assert_int_equal(instance_policy_read(&h->instance, &before), 0);
	assert_int_equal(before.alarm_count, 1);
	h->instance.on_trial = true;
	harness_policy(h, "alarm a when icmp" RATES ATTACK "any icmp deny while attack");
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	expect("ip4 icmp", RL_REASON_DENIED);
	assert_int_equal(instance_policy_restore(&h->instance, &before), 0);
	h->instance.on_trial = false;
	policy_clear(&before);
	assert_true(is_on("attack"));
	expect("ip4 tcp", RL_REASON_DENIED);
	attack_ends();
	expect("ip4 tcp", RL_REASON_UNMATCHED);
}

/* A state is read as it was written, and goes on when it is written back. */
static void read_test(void **state)
{
	struct policy first = {0}, second = {0};

	(void)state;
	begin("set bad;alarm b when udp dport 53,99 src @bad over 10mbit for 2s until under 1mbit "
	      "for 10s # DNS;" ATTACK "10.1.2.3 deny while attack;10.1.2.3 tcp deny;"
	      "any limit 1k/second while not b;@bad tcp deny while b");
	assert_int_equal(instance_policy_read(&h->instance, &first), 0);
	assert_int_equal(first.alarm_count, 2);
	assert_string_equal(first.alarms[1].comment, "DNS");
	assert_int_equal(first.count, 4);
	attack_begins();
	assert_int_equal(instance_policy_write(&h->instance, &first, true, NULL, NULL), 0);
	assert_true(is_on("attack"));
	assert_int_equal(instance_policy_read(&h->instance, &second), 0);
	assert_int_equal(policy_diff(&first, &second, NULL, NULL), 0);
	assert_int_equal(second.alarm_count, 2);
	policy_clear(&first);
	policy_clear(&second);
}

/* ---- from outside */

#define PULLED "alarm zz manual;any tcp deny while zz;"

static void turn(const char *name, bool on, uint64_t for_ns)
{
	bool was_on;

	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){name, on, for_ns}, &was_on),
			 0);
	time_pass(NS_PER_SECOND / 50); /* each CPU looks once in a tick */
}

/* To the tenth, whether packets come or not; a time that begins anew, no time, and `off`. */
static void manual_test(void **state)
{
	(void)state;
	begin_anew(PULLED);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	turn("zz", true, 10 * TENTH);
	for (int i = 0; i < 9; i++) {
		expect("ip4 tcp", RL_REASON_DENIED);
		time_pass(TENTH);
	}
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("zz").changes, 1);
	time_pass(TENTH);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	assert_int_equal(alarm_at("zz").changes, 2);

	turn("zz", true, 3 * TENTH);
	time_pass(2 * TENTH);
	turn("zz", true, 3 * TENTH);
	time_pass(2 * TENTH);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("zz").changes, 3);
	time_pass(2 * TENTH);
	assert_false(is_on("zz"));
	turn("zz", true, 0);
	time_pass(NS_PER_DAY);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("zz").changes, 5);
	turn("zz", false, 0);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	turn("zz", false, 0);
	assert_int_equal(alarm_at("zz").changes, 6);

	/* It ended with no packet to see it, and is turned on anew. */
	turn("zz", true, TENTH);
	time_pass(5 * TENTH);
	turn("zz", true, TENTH);
	assert_int_equal(alarm_at("zz").changes, 9);
	expect("ip4 tcp", RL_REASON_DENIED);
}

/* Those that count stand first, whatever their names are, and count as they did. */
static void manual_beside_test(void **state)
{
	(void)state;
	begin_anew("alarm aa manual;" ATTACK PULLED
		   "any icmp deny while attack;any udp dport 9 deny while aa");
	turn("aa", true, 10 * NS_PER_SECOND);
	attack_begins();
	expect("ip4 icmp", RL_REASON_DENIED);
	expect("ip4 udp=1>9", RL_REASON_DENIED);
	expect("ip4 tcp", RL_REASON_UNMATCHED);
	assert_int_equal(alarm_at("attack").counted, 111);
	assert_int_equal(alarm_at("aa").counted, 0);
	turn("zz", true, 0);
	attack_ends();
	expect("ip4 icmp", RL_REASON_UNMATCHED);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_int_equal(alarm_at("attack").counted, 111);

	/* The other half, other numbers. */
	harness_policy(h,
		       "alarm ab manual;" PULLED "alarm aa manual;any udp dport 9 deny while aa");
	expect("ip4 udp=1>9", RL_REASON_DENIED);
	expect("ip4 tcp", RL_REASON_DENIED);
	time_pass(10 * NS_PER_SECOND);
	expect("ip4 udp=1>9", RL_REASON_UNMATCHED);
	expect("ip4 tcp", RL_REASON_DENIED);
	assert_false(is_on("ab"));
}

/* A guard that has no end is uneasy no longer than it is on. */
static void manual_guard_test(void **state)
{
	(void)state;
	begin_anew("alarm zz manual;any new-source deny while zz;any udp allow");
	turn("zz", true, 0);
	expect("ip4=10.9.0.1 udp", RL_REASON_ALLOWED);
	time_pass(4 * NS_PER_SECOND);
	expect("ip4=10.9.0.1 udp", RL_REASON_ALLOWED);
	expect("ip4=10.9.0.1 tcp", RL_REASON_DENIED);
	turn("zz", false, 0);
	expect("ip4=10.9.0.2 udp", RL_REASON_ALLOWED);
	time_pass(31 * TENTH);
	expect("ip4=10.9.0.2 udp", RL_REASON_ALLOWED);
	turn("zz", true, 0);
	expect("ip4=10.9.0.2 tcp", RL_REASON_UNMATCHED);
	expect("ip4=10.9.0.1 tcp", RL_REASON_DENIED);
	turn("zz", false, 0);
}

static void manual_wrong_test(void **state)
{
	bool was_on;

	(void)state;
	begin_anew(ATTACK PULLED);
	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){"attack", true, 0}, &was_on),
			 -ENOENT);
	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){"z", true, 0}, &was_on),
			 -ENOENT);
	harness_policy(h, "any tcp allow");
	assert_int_equal(alarm_pull(&h->instance, &(struct alarm_pull){"zz", true, 0}, &was_on),
			 -ENOENT);
}

/* ---- many */

static void many_test(void **state)
{
	static char policy[8192];
	size_t used = 0;

	(void)state;
	for (int i = 0; i < RL_ALARMS_MAX; i++)
		used += snprintf(policy + used, sizeof(policy) - used,
				 "alarm a%02d when udp dport %d" RATES
				 "any tcp dport %d deny while a%02d;",
				 i, 100 + i, 100 + i, i);
	begin(policy);
	for (int i = 0; i < RL_ALARMS_MAX; i++) {
		char udp[64], tcp[64], name[8];

		snprintf(udp, sizeof(udp), "ip6 udp=1>%d", 100 + i);
		tenths_of(udp, 10, 11);
		for (int j = 0; j < RL_ALARMS_MAX; j++) {
			snprintf(name, sizeof(name), "a%02d", j);
			assert_int_equal(is_on(name), i == j);
			snprintf(tcp, sizeof(tcp), "ip6 tcp=1>%d", 100 + j);
			expect(tcp, i == j ? RL_REASON_DENIED : RL_REASON_UNMATCHED);
		}
		time_pass(5 * TENTH);
	}
}

static int close_all(void **state)
{
	(void)state;
	harness_close(opened[RL_TABLE_HOT]);
	harness_close(opened[RL_TABLE_LRU]);
	harness_close(opened[RL_TABLE_CPU]);
	harness_close(at_tc);
	return 0;
}

int main(void)
{
	struct CMUnitTest tests[64 + ARRAY_SIZE(counted_rows) + ARRAY_SIZE(held_rows) +
				ARRAY_SIZE(cached_rows) + ARRAY_SIZE(stray_rows)] = {
		cmocka_unit_test(exact_test),         cmocka_unit_test(edges_test),
		cmocka_unit_test(silence_test),       cmocka_unit_test(established_test),
		cmocka_unit_test(segments_test),      cmocka_unit_test(refused_test),
		cmocka_unit_test(known_test),         cmocka_unit_test(known_not_test),
		cmocka_unit_test(same_test),          cmocka_unit_test(carried_test),
		cmocka_unit_test(restored_test),      cmocka_unit_test(read_test),
		cmocka_unit_test(many_test),          cmocka_unit_test(senders_test),
		cmocka_unit_test(pulses_test),        cmocka_unit_test(bursts_test),
		cmocka_unit_test(long_test),          cmocka_unit_test(stray_changes_test),
		cmocka_unit_test(ripe_test),          cmocka_unit_test(manual_test),
		cmocka_unit_test(manual_beside_test), cmocka_unit_test(manual_guard_test),
		cmocka_unit_test(manual_wrong_test),
	};
	size_t n = 23;

	ROWS(counted_rows, counted_test);
	ROWS(held_rows, held_test);
	ROWS(cached_rows, cached_test);
	ROWS(stray_rows, stray_test);
	cpu_stay(0); /* with --table cpu a source is known to a CPU */
	return _cmocka_run_group_tests("alarms", tests, n, NULL, close_all);
}
