// SPDX-License-Identifier: GPL-2.0-only
/* Limits that senders share, on the packet's way: what `keep` keeps, what a class and a sender get
 * of `share`, that the limit itself is never exceeded, and what stands beside them. How well shares
 * are computed: tests/bench/share.c.
 */
#include <string.h>

#include "base/units.h"
#include "harness.h"

#define USES (RL_USE_PROGRAM & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE))

static struct harness *h, *opened[RL_TABLE_CPU + 1], *by_dest, *pair[2];
static uint64_t now;
static uint32_t strangers; /* sources that were never used before */

static void at(uint64_t ns)
{
	now = ns;
	harness_clock(h, now);
}

static void begin_with(enum rl_table table, const char *policy)
{
	if (!opened[table])
		opened[table] = harness_open(&(struct harness_options){
			.table = table, .sources = 65536, .program_uses = USES, .seed = {5, 9}});
	assert_non_null(opened[table]);
	h = opened[table];
	at(h->now_ns + NS_PER_DAY); /* whatever was known is forgotten */
	harness_sockets(h, RL_SIMULATED_NONE);
	harness_renew(h, policy);
}

static void begin(const char *policy)
{
	begin_with(RL_TABLE_HOT, policy);
}

/* A stream of packets of one kind. */
struct stream {
	const char *words;
	uint32_t rate;    /* a second */
	uint32_t sources; /* they take turns; 0: each packet has another */
	uint32_t first;   /* number of the first of them */
	uint32_t established;
	/* what became of it */
	uint32_t sent, passed, over;
	uint64_t verdicts; /* a hash of all, in order */
	struct frame frame;
	uint64_t next_ns;
};

static void send_one(struct stream *s)
{
	uint32_t number = s->sources ? s->first + s->sent % s->sources : 0x800000 + strangers++;
	enum rl_reason reason;
	uint8_t addr[16];

	if (s->frame.size && s->words[2] == '6')
		address_ip6(addr, number, 1);
	else
		address_ip4(addr, number);
	frame_source(&s->frame, addr);
	harness_sockets(h, s->established ? RL_SIMULATED_ESTABLISHED : RL_SIMULATED_NONE);
	reason = harness_run(h, &s->frame);
	s->sent++;
	s->passed += reason_is_pass(reason) && reason != RL_REASON_SHADOW;
	s->over += reason == RL_REASON_OVER;
	s->verdicts = (s->verdicts ^ reason) * 0x100000001b3;
}

/* All streams at once for so long, each evenly. */
static void play(struct stream *streams, size_t count, uint64_t ns)
{
	uint64_t end = now + ns;

	for (size_t i = 0; i < count; i++) {
		if (!streams[i].frame.size)
			frame_build(&streams[i].frame, streams[i].words);
		streams[i].next_ns = now + i;
		streams[i].sent = streams[i].passed = streams[i].over = 0;
	}
	for (;;) {
		struct stream *first = &streams[0];

		for (size_t i = 1; i < count; i++)
			if (streams[i].next_ns < first->next_ns)
				first = &streams[i];
		if (first->next_ns >= end)
			break;
		at(first->next_ns);
		send_one(first);
		first->next_ns += NS_PER_SECOND / first->rate;
	}
	at(end);
}

static uint32_t passed(const struct stream *streams, size_t count)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += streams[i].passed;
	return sum;
}

#define assert_between(value, low, high) assert_in_range(value, low, high)
/* At least this part of what was sent, in thousandths. */
#define assert_part(stream, part)                                              \
	assert_between((stream).passed * 1000ull, (stream).sent * (part##ull), \
		       (stream).sent * 1000ull)

/* ---- keep */

#define FEW 199 /* packets a second: out of step with the limit, which admits one a millisecond */

/* FEW of one source beside 4000, under 1000: all of them, and as many in all. */
TEST(keep_known_test)
{
	static const char *const words[] = {"ip4 udp", "ip6 udp"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct stream s[] = {{.words = words[i], .rate = FEW, .sources = 1, .first = 7},
				     {.words = words[i], .rate = 4000}};

		begin("device limit 1000/second burst 100 keep 50 for known");
		play(s, 1, 500 * NS_PER_MS);
		play(s, 2, 3 * NS_PER_SECOND);
		assert_int_equal(s[0].passed, s[0].sent);
		assert_between(passed(s, 2), 3000, 3100);
	}
}

TEST(keep_established_test)
{
	struct stream s[] = {
		{.words = "ip4 tcp", .rate = FEW, .sources = 1, .first = 7, .established = 1},
		{.words = "ip4 udp", .rate = 4000}};

	begin("device limit 1000/second burst 100 keep 50 for established");
	play(s, 2, 3 * NS_PER_SECOND);
	assert_int_equal(s[0].passed, s[0].sent);
	assert_between(passed(s, 2), 3000, 3100);
	/* Without it the rest is for the others. */
	begin("device limit 1000/second burst 100 keep 50 for established");
	play(s + 1, 1, 3 * NS_PER_SECOND);
	assert_between(s[1].passed, 3000, 3050);
}

TEST(keep_tables_test)
{
	struct stream s[] = {{.words = "ip4 udp", .rate = FEW, .sources = 1, .first = 7},
			     {.words = "ip4 udp", .rate = 4000}};

	begin_with(RL_TABLE_LRU, "any limit 1000/second burst 100 keep 50 for known");
	play(s, 1, 500 * NS_PER_MS);
	play(s, 2, 3 * NS_PER_SECOND);
	assert_int_equal(s[0].passed, s[0].sent);
	assert_between(passed(s, 2), 3000, 3100);
}

/* FEW packets of one address beside 4000 of others: do all of them pass? */
static bool keeps_for(const char *words, const char *others)
{
	struct stream s[] = {{.words = words, .rate = FEW, .sources = 1, .first = 7},
			     {.words = others, .rate = 4000}};

	play(s, 2, 3 * NS_PER_SECOND);
	assert_between(passed(s, 2), 2990, 3100);
	if (s[0].passed < s[0].sent)
		assert_between(s[0].passed, 0, s[0].sent / 2);
	return s[0].passed == s[0].sent;
}

#define GOLD "any limit 1000/second burst 100 keep 50 for @gold"

/* Members come and go, and the set has the same number beside others. */
TEST(keep_set_test)
{
	static const struct {
		enum rl_table table;
		const char *words, *member;
	} rows[] = {
		{RL_TABLE_HOT, "ip4 udp", "10.0.0.7"},
		{RL_TABLE_HOT, "ip4 udp", "10.0.0.0/24"},
		{RL_TABLE_HOT, "ip6 udp", "2001:db8:0:7::/64"},
		{RL_TABLE_LRU, "ip4 udp", "10.0.0.7"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *words = rows[i].words, *member = rows[i].member;

		begin_with(rows[i].table, "set all; set gold;" GOLD);
		harness_set_add(h, "all", member);
		assert_false(keeps_for(words, words));
		harness_set_add(h, "gold", member);
		assert_true(keeps_for(words, words));
		harness_policy(h, "set gold; set more; @more udp dport 9 deny;" GOLD);
		assert_true(keeps_for(words, words));
		harness_set_delete(h, "gold", member);
		assert_false(keeps_for(words, words));
	}
}

/* On an instance that goes by destination, the destination is the member. */
TEST(keep_set_dest_test)
{
	static const char member[] = "ip4=192.0.2.1>198.51.100.7 udp pad=38";
	static const char other[] = "ip4=192.0.2.1>198.51.100.8 udp pad=38";

	by_dest = harness_must_open(
		&(struct harness_options){.program_uses = USES, .by_dest = true, .seed = {5, 9}});
	h = by_dest;
	at(NS_PER_DAY);
	harness_renew(h, "set gold; device limit 80kbyte/s burst 8kbyte keep 4kbyte for @gold");
	harness_set_add(h, "gold", "198.51.100.7,10.0.0.7");
	assert_true(keeps_for(member, other));
	assert_false(keeps_for(other, other));
}

TEST(keep_set_count_test)
{
	struct stream s[] = {{.words = "ip4 udp", .rate = FEW, .sources = 1, .first = 7},
			     {.words = "ip4 udp", .rate = 4000}};
	struct rule_counters counters;

	begin("set gold; device limit 1000/second burst 100 keep 50 for @gold over count");
	harness_set_add(h, "gold", "10.0.0.7");
	play(s, 2, 3 * NS_PER_SECOND);
	assert_int_equal(s[0].passed, s[0].sent); /* those would have passed */
	counters = harness_counters(h, "device limit 1000/second");
	assert_int_equal(counters.dropped.packets, 0);
	assert_between(counters.shadow.packets, 9450, 9600);
}

/* ---- share */

#define SHARED "device limit 2000/second burst 200 share;"

/* 50 sources that were there, beside packets of a source each. */
TEST(share_known_test)
{
	struct stream s[] = {{.words = "ip4 udp", .rate = 500, .sources = 50, .first = 100},
			     {.words = "ip4 udp=9>99 ttl=3", .rate = 20000}};

	begin(SHARED);
	play(s, 1, NS_PER_SECOND);
	assert_int_equal(s[0].passed, s[0].sent);
	play(s, 2, 3 * NS_PER_SECOND);
	assert_part(s[0], 995);
	assert_between(passed(s, 2), 5500, 6200);
}

/* Those that come first in the flood are held as strangers of its shape are, whatever the flood let
 * through of it: nobody becomes known meanwhile. */
TEST(share_newcomers_test)
{
	struct stream s[] = {
		{.words = "ip4 udp=9>99 ttl=3", .rate = 20000},
		{.words = "ip4 udp=9>99 ttl=3", .rate = 500, .sources = 50, .first = 1000}};

	begin(SHARED);
	play(s, 1, NS_PER_SECOND);
	play(s, 2, 3 * NS_PER_SECOND);
	assert_between(s[1].passed, 0, s[1].sent / 3);
	/* Strangers of another shape pass. */
	s[1].frame.size = 0;
	s[1].words = "ip4 syn ttl=60";
	play(s, 2, 2 * NS_PER_SECOND);
	assert_part(s[1], 950);
	/* When it is over, all do. */
	at(now + 200 * NS_PER_MS);
	play(s + 1, 1, NS_PER_SECOND);
	assert_int_equal(s[1].passed, s[1].sent);
}

/* The established have their part, beside a flood of known sources; each of these has the same. */
TEST(share_established_test)
{
	struct stream s[] = {
		{.words = "ip4 tcp", .rate = 400, .sources = 4, .first = 10, .established = 1},
		{.words = "ip4 udp", .rate = 200, .sources = 4, .first = 100},
		{.words = "ip4 udp", .rate = 10000, .sources = 2, .first = 200}};

	begin(SHARED);
	play(s, 2, NS_PER_SECOND);
	s[2].rate = 1000;
	play(s, 3, NS_PER_SECOND);
	s[2].rate = 10000;
	play(s, 3, 200 * NS_PER_MS); /* until the shares have followed */
	play(s, 3, 3 * NS_PER_SECOND);
	assert_part(s[0], 995);
	assert_part(s[1], 990);
	assert_between(passed(s, 3), 5500, 6200);
}

TEST(share_counts_test)
{
	struct stream s[] = {{.words = "ip4 udp", .rate = 500, .sources = 50, .first = 100},
			     {.words = "ip4 udp=9>99 ttl=3", .rate = 20000}};
	struct rule_counters counters;

	begin("device limit 2000/second burst 200 share over count;");
	play(s, 1, NS_PER_SECOND);
	play(s, 2, 2 * NS_PER_SECOND);
	assert_int_equal(harness_counters(h, "device limit 2000/second").dropped.packets, 0);
	counters = harness_counters(h, "device limit 2000/second");
	assert_between(counters.shadow.packets, 36000, 37500);
	assert_part(s[0], 995); /* those would have passed */
}

/* One bucket, and each network has the same part of it: 100, 450 and 450. */
TEST(share_key_test)
{
	struct stream s[] = {{.words = "ip4 udp", .rate = 100, .sources = 10, .first = 0x100},
			     {.words = "ip4 udp", .rate = 600, .sources = 20, .first = 0x200},
			     {.words = "ip4 udp", .rate = 9000, .sources = 200, .first = 0x300}};

	begin("device limit 1000/second share per source/24");
	play(s, 3, 2 * NS_PER_SECOND);
	play(s, 3, 4 * NS_PER_SECOND);
	assert_part(s[0], 990);
	assert_between(s[1].passed, 1500, 1900);
	assert_between(s[2].passed, 1500, 1950);
	assert_between(passed(s, 3), 3700, 4110);
}

/* ---- beside it */

/* A limit refuses strangers before rules are asked only where none could let them pass. */
TEST(share_rules_test)
{
	static const struct {
		const char *rules;
		uint32_t least, most; /* of 1000 packets */
	} rows[] = {
		{"10.0.9.0/24 allow;", 1000, 1000},
		{"any udp dport 53 allow;", 1000, 1000},
		{"10.0.9.0/24 deny;", 0, 0},
		{"10.0.9.0/24 limit 1/hour burst 5 per rule;", 0, 5},
		{"any udp dport 53 limit 1/hour burst 1;", 0, 300},
		{"any udp dport 53 limit 1/hour burst 1 over ban 1h;", 0, 300},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stream s[] = {{.words = "ip4 udp=9>53 ttl=3", .rate = 20000},
				     {.words = "ip4 udp=9>53 ttl=3",
				      .rate = 500,
				      .sources = 250,
				      .first = 0x900}};
		char text[200];

		snprintf(text, sizeof(text), SHARED "%s", rows[i].rules);
		begin(text);
		if (strstr(rows[i].rules, "any udp dport 53 allow"))
			s[0].frame.size = 0, s[0].words = "ip4 udp=9>54 ttl=3";
		play(s, 1, NS_PER_SECOND);
		play(s, 2, 2 * NS_PER_SECOND);
		assert_int_equal(s[1].sent, 1000);
		assert_between(s[1].passed, rows[i].least, rows[i].most);
	}
}

/* New numbers of a limit hold at once, and its state goes on. */
TEST(share_change_test)
{
	struct stream s[] = {{.words = "ip4 udp", .rate = 500, .sources = 50, .first = 100},
			     {.words = "ip4 udp=9>99 ttl=3", .rate = 20000}};

	begin(SHARED);
	play(s, 1, NS_PER_SECOND);
	play(s, 2, NS_PER_SECOND);
	harness_policy(h, "device limit 6000/second burst 200 share 20/10/70;");
	play(s, 2, 200 * NS_PER_MS);
	play(s, 2, 2 * NS_PER_SECOND);
	assert_part(s[0], 995);
	assert_between(passed(s, 2), 11000, 12300);
}

/* Each of two limits holds the packet. */
TEST(share_two_test)
{
	struct stream s[] = {{.words = "ip4 udp", .rate = 500, .sources = 50, .first = 100},
			     {.words = "ip4 udp=9>99 ttl=3", .rate = 20000}};

	begin(SHARED "any udp limit 1000/second burst 100 share;");
	play(s, 1, NS_PER_SECOND);
	assert_int_equal(s[0].passed, s[0].sent);
	play(s, 2, 200 * NS_PER_MS);
	play(s, 2, 2 * NS_PER_SECOND);
	assert_part(s[0], 990);
	assert_between(passed(s, 2), 1800, 2110);
}

/* Refusals by pattern before rules are asked are those of the limit: packet by packet the same as
 * in order. */
TEST(share_pattern_test)
{
	static const char *const rules[] = {"", "10.0.9.0/24 allow;"};
	static const char *const shapes[] = {"ip4 syn=9>99 ttl=3", "ip6 syn=9>99"};

	cpu_stay(0); /* which of a CPU's packets are counted depends on their number */
	for (int turn = 0; turn < 2; turn++) {
		pair[turn] = harness_open(&(struct harness_options){.sources = 65536,
								    .program_uses = USES,
								    .seed = {5, 9},
								    .no_shortcuts = turn == 1});
		assert_non_null(pair[turn]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rules) * ARRAY_SIZE(shapes); i++) {
		const char *shape = shapes[i % 2];
		uint64_t verdicts[5] = {0}, began = strangers;
		char text[200];

		snprintf(text, sizeof(text), SHARED "%s", rules[i / 2]);
		for (int turn = 0; turn < 2; turn++) {
			struct stream s[] = {
				{.words = shape, .rate = 200, .sources = 20, .first = 0x700},
				{.words = shape, .rate = 100000},
				{.words = shape, .rate = 100, .sources = 10, .first = 0x900},
				{.words = "ip4 udp=7>7 ttl=9", .rate = 90},
				{.words = "ip4 tcp=5>99",
				 .rate = 80,
				 .sources = 1,
				 .first = 0x800,
				 .established = 1}};

			strangers = (uint32_t)began;
			h = pair[turn];
			at((i + 1) * NS_PER_DAY);
			harness_sockets(h, RL_SIMULATED_NONE);
			harness_renew(h, text);
			play(s, 1, 500 * NS_PER_MS);
			play(s, ARRAY_SIZE(s), NS_PER_SECOND);
			assert_true(s[1].over > s[1].sent * 9 / 10);
			for (size_t k = 0; k < ARRAY_SIZE(s); k++) {
				assert_true(!turn || s[k].verdicts == verdicts[k]);
				verdicts[k] = s[k].verdicts;
			}
		}
	}
}

/* A flood of a prefix that is denied: the pattern refuses most of it before the prefix is looked
 * up, and what does not count for the pattern is denied. */
TEST(share_pattern_first_test)
{
	struct stream s[] = {
		{.words = "ip4 syn=9>99 ttl=3", .rate = 100000},
		{.words = "ip4 syn=9>99 ttl=3", .rate = 2000, .sources = 250, .first = 0x900},
		{.words = "ip4 syn=9>98 ttl=3", .rate = 2000, .sources = 250, .first = 0x900}};

	begin(SHARED "10.0.9.0/24 deny;");
	play(s, 1, NS_PER_SECOND);
	play(s, ARRAY_SIZE(s), NS_PER_SECOND);
	assert_true(s[1].over > s[1].sent * 8 / 10);
	assert_int_equal(s[1].passed, 0);
	assert_int_equal(s[2].over, 0);
	assert_int_equal(s[2].passed, 0);
}

/* No alignment of pulses gets more than the burst and the rate. */
TEST(share_bound_test)
{
	static const char *const shapes[] = {"ip4 udp", "ip4 tcp", "ip4 icmp ping=1", "ip6 udp"};
	uint64_t began, ended;
	uint32_t sum = 0;

	begin(SHARED);
	began = now;
	for (uint32_t pulse = 0; pulse < 40; pulse++) {
		struct stream s = {.words = shapes[pulse % ARRAY_SIZE(shapes)],
				   .rate = 30000,
				   .sources = pulse % 3 ? 1 + pulse * 7 : 0,
				   .first = 5000 * pulse,
				   .established = pulse % 5 == 0};

		play(&s, 1, (1 + pulse * 37 % 90) * NS_PER_MS);
		ended = now;
		sum += s.passed;
		assert_between(sum, 0, 200 + (ended - began) * 2000 / NS_PER_SECOND + 1);
		at(now + pulse * 53 % 120 * NS_PER_MS);
	}
	assert_true(sum > 1000);
}

static int close_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opened); i++)
		harness_close(opened[i]);
	harness_close(by_dest);
	harness_close(pair[0]);
	harness_close(pair[1]);
	return 0;
}

FIXTURE(NULL, close_all)
