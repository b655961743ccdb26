// SPDX-License-Identifier: GPL-2.0-only
/* Alarms on the packet's way: what counts and what does not, the packet at which one goes on and
 * off, and rules with `while` wherever a rule may stand and beside every cache.
 */
#include <string.h>

#include "kernel/state/alarms.h"
#include "kernel/watch/watch.h"
#include "alarm_helpers.h"

/* ---- when */

TEST(exact_test)
{
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
TEST(edges_test)
{
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
TEST(silence_test)
{
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
ROWS(counted_test, counted_rows, row)
{
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
TEST(established_test)
{
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
TEST(segments_test)
{
	struct __sk_buff skb = {.gso_segs = 3, .gso_size = 100};
	struct frame frame;

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

ROWS(held_test, held_rows, row)
{
	held(row, RL_TABLE_HOT);
	held(row, RL_TABLE_LRU);
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

ROWS(cached_test, cached_rows, row)
{
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
TEST(refused_test)
{
	static const char *const limits[] = {"any limit 1/hour burst 1",
					     "device limit 1/hour burst 1"};

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
/* ---- many */

TEST(many_test)
{
	static char policy[8192];
	size_t used = 0;

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
