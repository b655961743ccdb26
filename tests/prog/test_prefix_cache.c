// SPDX-License-Identifier: GPL-2.0-only
/* The cache in front of the trie never changes a verdict: verdicts are those of a walk over the
 * prefixes, before and after every swap, whichever other sources share the set, and when two CPUs
 * write at once.
 */
#include <pthread.h>
#include <string.h>

#include "base/units.h"
#include "harness.h"
#include "scenario.h"

/* ---- scenarios: every frame twice, so that the second is answered by the cache */

static const struct row {
	const char *name, *scenario;
} rows[] = {
	{"deny, allow, limit, gone", "= 192.0.2.1 deny | "
				     "2 * ip4 udp : denied | "
				     "= 192.0.2.1 allow | "
				     "2 * ip4 udp : allowed | "
				     "= 192.0.2.1 limit 1/h burst 2 | "
				     "2 * ip4 udp : within | "
				     "2 * ip4 udp : over | "
				     "= 192.0.2.2 deny | "
				     "2 * ip4 udp : unmatched | "
				     "= 192.0.2.1 deny | "
				     "2 * ip4 udp : denied | "
				     "= | "
				     "ip4 udp : unmatched"},
	{"deny, allow, limit, gone, IPv6", "= 2001:db8::1 deny | "
					   "2 * ip6 udp : denied | "
					   "= 2001:db8::1 allow | "
					   "2 * ip6 udp : allowed | "
					   "= 2001:db8::1 limit 1/h burst 2 | "
					   "2 * ip6 udp : within | "
					   "2 * ip6 udp : over | "
					   "= 2001:db8::2 deny | "
					   "2 * ip6 udp : unmatched | "
					   "= 2001:db8::1 deny | "
					   "2 * ip6 udp : denied"},
	{"a longer prefix is added", "= 192.0.0.0/16 deny | "
				     "2 * ip4 udp : denied | "
				     "= 192.0.0.0/16 deny; 192.0.2.0/24 allow | "
				     "2 * ip4 udp : allowed | "
				     "= 192.0.0.0/16 deny; 192.0.2.0/24 allow; 192.0.2.1 deny | "
				     "2 * ip4 udp : denied | "
				     "= 192.0.0.0/16 deny; 192.0.2.0/24 allow | "
				     "2 * ip4 udp : allowed | "
				     "= 192.0.0.0/16 deny | "
				     "2 * ip4 udp : denied"},
	{"a shorter prefix is added", "= 192.0.2.1 tcp deny | "
				      "2 * ip4 udp : unmatched | "
				      "= 192.0.2.1 tcp deny; 192.0.2.0/24 deny | "
				      "2 * ip4 udp : denied | "
				      "= 192.0.2.1 tcp deny; 192.0.0.0/16 allow | "
				      "2 * ip4 udp : allowed | "
				      "= 192.0.2.1 tcp deny; any deny | "
				      "2 * ip4 udp : denied"},
	{"the first prefix of all, the last", "= any allow | "
					      "2 * ip4 udp : allowed | "
					      "= any allow; 192.0.2.1 deny | "
					      "2 * ip4 udp : denied | "
					      "= any allow | "
					      "2 * ip4 udp : allowed | "
					      "= any allow; 192.0.2.2 deny | "
					      "2 * ip4 udp : allowed"},
	{"conditions fall through",
	 "= 192.0.2.1 tcp deny; 192.0.2.0/24 udp allow; 192.0.0.0/16 icmp limit 1/h burst 4; any deny | "
	 "2 * ip4 tcp : denied | "
	 "2 * ip4 udp : allowed | "
	 "2 * ip4 icmp : within | "
	 "2 * ip4 gre : denied | "
	 "2 * ip4 udp : allowed | "
	 "2 * ip4 tcp : denied | "
	 "2 * ip4=192.0.2.9 tcp : denied | "
	 "2 * ip4=192.0.2.9 udp : allowed | "
	 "2 * ip4=192.0.2.9 icmp : within"},
	{"conditions fall through to a plain verdict that expires",
	 "= 192.0.2.1 tcp deny; 192.0.2.0/24 deny for 1h; 192.0.0.0/16 allow | "
	 "2 * ip4 udp : denied | "
	 "@ 192.0.2.0/24 deny -1ns | "
	 "2 * ip4 udp : denied | "
	 "@ 192.0.2.0/24 deny +0 | "
	 "2 * ip4 udp : allowed | "
	 "2 * ip4 tcp : denied"},
	{"a plain verdict expires",
	 "= 192.0.2.1 allow for 1h; 192.0.2.0/24 deny for 2h; any limit 1/h burst 9 | "
	 "2 * ip4 udp : allowed | "
	 "@ 192.0.2.1 allow -1ns | "
	 "2 * ip4 udp : allowed | "
	 "@ 192.0.2.1 allow +0 | "
	 "2 * ip4 udp : denied | "
	 "@ 192.0.2.0/24 deny -1ns | "
	 "2 * ip4 udp : denied | "
	 "@ 192.0.2.0/24 deny +0 | "
	 "2 * ip4 udp : within"},
	{"one of a group expires", "= 192.0.2.1 udp allow for 1h; 192.0.2.1 deny | "
				   "2 * ip4 udp : allowed | "
				   "@ 192.0.2.1 udp allow -1ns | "
				   "2 * ip4 udp : allowed | "
				   "@ 192.0.2.1 udp allow +0 | "
				   "2 * ip4 udp : denied"},
	{"a limit for all of a group expires", "= 192.0.2.1 limit 1/h burst 2 for 2h; any deny | "
					       "2 * ip4 udp : within | "
					       "2 * ip4 udp : over | "
					       "@ 192.0.2.1 limit 1/h +0 | "
					       "2 * ip4 udp : denied"},
	{"an expiry is taken back", "= 192.0.2.1 deny for 1h | "
				    "2 * ip4 udp : denied | "
				    "= 192.0.2.1 deny | "
				    "2 * ip4 udp : denied | "
				    "+ 2h | "
				    "2 * ip4 udp : denied | "
				    "= 192.0.2.1 deny for 1h | "
				    "+ 59m | "
				    "2 * ip4 udp : denied | "
				    "+ 1m | "
				    "2 * ip4 udp : unmatched"},
	{"families are apart", "= 0.0.0.0/0 deny; ::/0 allow | "
			       "2 * ip4 udp : denied | "
			       "2 * ip6 udp : allowed | "
			       "2 * ip6=::192.0.2.1 udp : allowed | "
			       "2 * ip4 udp : denied"},
	{"old answers are nobody else's", "= 2101:db8::1 deny | "
					  "2 * ip6=2101:db8::1 udp : denied | "
					  "= 2101:db8::1 deny; 10.0.0.1 deny | "
					  "2 * ip6=2001:db8::1 udp : unmatched"},
	{"old answers are nobody else's, two swaps later", "= 2101:db8::1 deny | "
							   "2 * ip6=2101:db8::1 udp : denied | "
							   "= 2101:db8::1 deny | "
							   "= 2101:db8::1 deny | "
							   "2 * ip6=1f01:db8::1 udp : unmatched"},
	{"an address has no twin", "= 2001:db8::1 deny | "
				   "2 * ip6=2001:db8:0:80:0:80:0:81 udp : unmatched | "
				   "2 * ip6=2001:db8::1 udp : denied | "
				   "2 * ip6=2001:db8:0:80:0:80:0:81 udp : unmatched"},
};

ROWS(row_test, rows, row)
{
	static const struct harness_options defaults;
	struct harness *h = harness_must_open(&defaults);

	scenario_run(h, row->scenario);
	harness_close(h);
}

/* Time starts where the scenario before left it. */
NAMED_TEST("by destination", by_dest_test)
{
	static const struct harness_options options = {.by_dest = true};
	struct harness *h = harness_must_open(&options);

	scenario_run(h, "= 198.51.100.1 deny; 2001:db8:1::/64 allow | "
			"2 * ip4 udp : denied | "
			"2 * ip4=9.9.9.9 udp : denied | "
			"2 * ip4=198.51.100.1>192.0.2.1 udp : unmatched | "
			"2 * ip6 udp : allowed | "
			"= 192.0.2.1 deny | "
			"2 * ip4 udp : unmatched | "
			"2 * ip4=198.51.100.1>192.0.2.1 udp : denied");
	harness_close(h);
}

/* ---- random policies against the slowest model */

#define PREFIXES 60
#define PACKETS  5000 /* of each policy */
#define POLICIES 20

/* 0: every packet that matches nothing else. */
enum condition { ALL, UDP, TCP, CONDITIONS };

struct entry {
	uint8_t addr[16];
	uint8_t len; /* of the mapped address */
	bool ip4;
	enum condition condition;
	bool allow;
};

struct model {
	struct entry entries[PREFIXES];
	uint32_t count;
};

/* Addresses lie close together, so that prefixes nest and packets hit them. */
static void address_draw(uint64_t *seed, bool ip4, uint8_t out[16])
{
	uint32_t bits = random_under(seed, 1u << 12);

	if (ip4)
		address_ip4(out, (bits & 0xf) | (bits & 0x30) << 6 | (bits & 0xfc0) << 12);
	else
		address_ip6(out, (bits & 0xf00) << 12 | (bits & 0xc0), bits & 0x3f);
}

static void entry_draw(uint64_t *seed, struct entry *e)
{
	static const uint8_t lens4[] = {0, 8, 12, 16, 21, 24, 28, 30, 31, 32};
	static const uint8_t lens6[] = {0, 16, 32, 40, 57, 64, 96, 123, 127, 128};

	e->ip4 = random_under(seed, 2);
	e->len = e->ip4 ? RL_MAPPED_BITS + lens4[random_under(seed, ARRAY_SIZE(lens4))]
			: lens6[random_under(seed, ARRAY_SIZE(lens6))];
	address_draw(seed, e->ip4, e->addr);
	prefix_mask(e->addr, e->addr, e->len);
	e->condition = random_under(seed, CONDITIONS);
	e->allow = random_under(seed, 2);
}

static bool entry_is_new(const struct model *m, const struct entry *e)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (m->entries[i].ip4 == e->ip4 && m->entries[i].len == e->len &&
		    !memcmp(m->entries[i].addr, e->addr, 16) &&
		    (m->entries[i].condition == e->condition))
			return false;
	return true;
}

static void model_draw(struct model *m, uint64_t *seed)
{
	m->count = 0;
	while (m->count < PREFIXES) {
		struct entry *e = &m->entries[m->count];

		entry_draw(seed, e);
		m->count += entry_is_new(m, e);
	}
}

static void model_apply(const struct model *m, struct harness *h)
{
	static const char *const words[] = {"", " udp", " tcp"};
	char text[PREFIXES * 80] = "", prefix[PREFIX_TEXT_MAX];

	for (uint32_t i = 0; i < m->count; i++) {
		const struct entry *e = &m->entries[i];
		size_t used = strlen(text);

		prefix_print(prefix, sizeof(prefix), e->addr, e->len);
		snprintf(text + used, sizeof(text) - used, "%s%s %s;", prefix, words[e->condition],
			 e->allow ? "allow" : "deny");
	}
	harness_policy(h, text);
}

/* Every prefix, the longest first; within one, allow before deny. */
static enum rl_reason model_verdict(const struct model *m, const uint8_t addr[16], bool ip4,
				    enum condition proto)
{
	for (int len = 128; len >= 0; len--) {
		enum rl_reason found = RL_REASON_UNMATCHED;

		for (uint32_t i = 0; i < m->count; i++) {
			const struct entry *e = &m->entries[i];

			if (e->len != len || e->ip4 != ip4 ||
			    !prefix_contains(e->addr, len, addr) ||
			    (e->condition != ALL && e->condition != proto))
				continue;
			if (e->allow)
				return RL_REASON_ALLOWED;
			found = RL_REASON_DENIED;
		}
		if (found != RL_REASON_UNMATCHED)
			return found;
	}
	return RL_REASON_UNMATCHED;
}

static const struct random_row {
	const char *name;
	uint32_t sources;
	bool by_dest;
} random_rows[] = {
	{"random policies and packets", 65536, false},
	{"random policies and packets, 64 sets", 256, false},
	{"random policies and packets, one set", 4, false},
	{"random policies and packets, by destination", 65536, true},
};

static void packets_judge(const struct model *m, struct harness *h, uint64_t *seed)
{
	struct frame frames[2][CONDITIONS];
	bool by_dest = h->instance.info.by_dest;

	frame_build(&frames[0][UDP], "ip6 udp");
	frame_build(&frames[0][TCP], "ip6 tcp");
	frame_build(&frames[1][UDP], "ip4 udp");
	frame_build(&frames[1][TCP], "ip4 tcp");
	for (uint32_t i = 0; i < PACKETS; i++) {
		bool ip4 = random_under(seed, 2);
		enum condition proto = UDP + random_under(seed, 2);
		struct frame *frame = &frames[ip4][proto];
		uint8_t addr[16];

		address_draw(seed, ip4, addr);
		if (by_dest)
			frame_dest(frame, addr);
		else
			frame_source(frame, addr);
		assert_int_equal(harness_run(h, frame), model_verdict(m, addr, ip4, proto));
	}
}

ROWS(random_test, random_rows, row)
{
	struct harness_options options = {
		.sources = row->sources, .by_dest = row->by_dest, .seed = {3, 4}};
	struct harness *h = harness_must_open(&options);
	uint64_t seed = 20250711;
	struct model m;

	for (int i = 0; i < POLICIES; i++) {
		model_draw(&m, &seed);
		model_apply(&m, h);
		packets_judge(&m, h, &seed);
	}
	harness_close(h);
}

/* ---- two CPUs that write one way of the one set */

#define RACES        16
#define RACE_PACKETS 100000

struct racer {
	struct harness *h;
	char words[40];
};

static void *race_run(void *arg)
{
	struct racer *racer = arg;
	struct frame frame;

	frame_build(&frame, racer->words);
	harness_repeat(racer->h, &frame, RACE_PACKETS);
	return NULL;
}

/* One is denied, the other matches nothing, whatever both have changed in the cache. */
static void race_pair(struct harness *h, int denied, int unmatched)
{
	struct rl_amount before[RL_REASON_COUNT], after[RL_REASON_COUNT];
	struct racer one = {.h = h}, two = {.h = h};
	pthread_t second;

	snprintf(one.words, sizeof(one.words), "ip4=10.0.0.%d udp", denied);
	snprintf(two.words, sizeof(two.words), "ip4=10.0.0.%d udp", unmatched);
	harness_reasons(h, before);
	assert_int_equal(pthread_create(&second, NULL, race_run, &two), 0);
	race_run(&one);
	assert_int_equal(pthread_join(second, NULL), 0);
	harness_reasons(h, after);
	assert_int_equal(after[RL_REASON_DENIED].packets - before[RL_REASON_DENIED].packets,
			 RACE_PACKETS);
	harness_expect(h, "denied, afterwards", one.words, RL_REASON_DENIED);
	harness_expect(h, "unmatched, afterwards", two.words, RL_REASON_UNMATCHED);
}

/* Some pairs share a way. */
NAMED_TEST("two CPUs write at once", race_test)
{
	static const struct harness_options options = {.sources = 4};
	struct harness *h = harness_must_open(&options);

	harness_policy(h, "rule 10.0.0.0/25 deny");
	for (int i = 0; i < RACES; i++)
		race_pair(h, i, 128 + i);
	harness_close(h);
}
