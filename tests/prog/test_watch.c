// SPDX-License-Identifier: GPL-2.0-only
/* Watching (bpf/watch.h, user/kernel/watch/watch.c) on the real program, on no device, with a clock
 * that moves only when it is set: the contents of samples, that their weights add up to the number
 * of packets, that the budget holds, that sources get their share, filters, slots, expiry.
 */
#include "cli/output/output.h" /* before cmocka.h, which has a macro fail() */
#include "kernel/device/cpus.h"

#include "harness.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/units.h"
#include "kernel/watch/watch.h"
#include "pieces.h"
#include "rlctl.skel.h"

#define DROPS                                                                     \
	(1u << RL_REASON_DENIED | 1u << RL_REASON_OVER | 1u << RL_REASON_BANNED | \
	 1u << RL_REASON_MALFORMED | 1u << RL_REASON_NO_ROOM)
#define EVERYTHING  ((1u << RL_REASON_COUNT) - 1)
#define SAMPLES_MAX 20000
#define SLOT_NS     (100 * NS_PER_MS) /* from ten samples a second on */

HARNESS(h, .table = RL_TABLE_HOT, .seed = {1, 2})
static uint64_t now_ns = NS_PER_DAY;

/* Samples and figures received from one watch. */
struct seen {
	struct rl_sample samples[SAMPLES_MAX];
	uint64_t weights[SAMPLES_MAX];
	size_t count;
	uint64_t stands_for;
};
static struct seen seen, seen_too;

static int take(void *arg, const struct sampled *sample)
{
	struct seen *s = arg;

	assert_true(s->count < SAMPLES_MAX);
	s->weights[s->count] = sample->stands_for;
	s->samples[s->count++] = sample->packet;
	s->stands_for += sample->stands_for;
	return 0;
}

static void wait_ns(uint64_t ns)
{
	now_ns += ns;
	harness_clock(h, now_ns);
}

static struct watch *watch_new(uint32_t reasons, uint32_t rate)
{
	const struct watch_options options = {
		.reasons = reasons, .rate = rate, .counter_id = RL_WATCH_ANY};
	struct watch *watch = NULL;

	memset(&seen, 0, sizeof(seen));
	memset(&seen_too, 0, sizeof(seen_too));
	assert_int_equal(watch_open(&h->instance, &options, &watch), 0);
	return watch;
}

/* When the slot is over. */
static void poll_into(struct watch *watch, struct seen *into)
{
	wait_ns(SLOT_NS + 20 * NS_PER_MS);
	assert_int_equal(watch_poll(watch, take, into), 0);
}

/* Repeated by the kernel only where that is worth its waiting for RCU. */
static void run(const char *words, uint32_t times)
{
	static struct frame frame;
	uint32_t once = times < 100000 ? 1 : times;

	frame_build(&frame, words);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.bytes, .data_size_in = frame.size,
		    .repeat = once);
	for (uint32_t i = 0; i < times; i += once)
		assert_int_equal(bpf_prog_test_run_opts(h->program_fd, &opts), 0);
}

static struct watch_figures figures_of(const struct watch *watch)
{
	struct watch_figures figures;

	assert_int_equal(watch_figures(watch, &figures), 0);
	return figures;
}

/* Its states are a day old. A swap waits for RCU: only where it is another policy. */
static void policy_of(const char *rules)
{
	static const char *in_force;

	if (!in_force || strcmp(in_force, rules) != 0)
		harness_policy(h, rules);
	in_force = rules;
}

static int fresh(void **state)
{
	(void)state;
	wait_ns(NS_PER_DAY);
	return 0;
}

static int fresh_deny(void **state)
{
	policy_of("any deny");
	return fresh(state);
}

/* ---- what a sample says */

#define SAYING_IN_PIECES "in pieces" /* with a linear part of an Ethernet header */

#define PORTS(why, all, some, from, to, protocol)                                                  \
	{                                                                                          \
		.reason = RL_REASON_##why, .bytes = all, .kept = some, .sport = from, .dport = to, \
		.has_ports = 1, .proto = protocol                                                  \
	}

static const struct saying {
	const char *name, *rules, *words;
	struct rl_sample says; /* of its fields, those that are checked for every row */
	const char *src, *dst; /* NULL: none */
} sayings[] = {
	{"udp", "any deny", "ip4=10.1.2.3>10.9.8.7 udp=1000>53 data=100",
	 PORTS(DENIED, 142, 142, 1000, 53, 17), "10.1.2.3", "10.9.8.7"},
	{"tcp, IPv6, a tag", "any deny", "8021q ip6=2001:db8::5>2001:db8::6 syn=7>80",
	 PORTS(DENIED, 78, 78, 7, 80, 6), "2001:db8::5", "2001:db8::6"},
	{"icmp has no ports",
	 "any deny",
	 "ip4=10.1.2.3>10.9.8.7 icmp",
	 {.reason = RL_REASON_DENIED, .bytes = 42, .kept = 42, .proto = 1},
	 "10.1.2.3",
	 "10.9.8.7"},
	{"longer than what is kept", "any limit 1/hour burst 1",
	 "ip4=10.1.2.3>10.9.8.7 udp data=1300", PORTS(WITHIN, 1342, RL_FRAME_KEPT, 1000, 2000, 17),
	 "10.1.2.3", "10.9.8.7"},
	{"no rule", "10.0.0.0/8 deny", "ip4=11.1.2.3>10.9.8.7 udp",
	 PORTS(UNMATCHED, 42, 42, 1000, 2000, 17), "11.1.2.3", "10.9.8.7"},
	{"not IP",
	 "any deny",
	 "type=0x0806 data=28",
	 {.reason = RL_REASON_NON_IP, .bytes = 42, .kept = 42},
	 NULL,
	 NULL},
	{SAYING_IN_PIECES, "any deny", "ip4=10.1.2.3>10.9.8.7 udp=1000>53 data=1300",
	 PORTS(DENIED, 1342, RL_FRAME_KEPT, 1000, 53, 17), "10.1.2.3", "10.9.8.7"},
	{"malformed",
	 "any deny",
	 "ip4 udp ihl=4",
	 {.reason = RL_REASON_MALFORMED, .bytes = 42, .kept = 42},
	 NULL,
	 NULL},
};

static void address_check(const uint8_t addr[16], const char *text)
{
	uint8_t wanted[16], len;

	assert_int_equal(prefix_parse(text, wanted, &len, NULL), 0);
	assert_memory_equal(addr, wanted, sizeof(wanted));
}

static void saying_check(const struct saying *row, const struct rl_sample *sample, uint64_t sent_ns)
{
	static struct frame frame;

	frame_build(&frame, row->words);
	assert_int_equal(sample->reason, row->says.reason);
	assert_int_equal(sample->bytes, row->says.bytes);
	assert_int_equal(sample->kept, row->says.kept);
	assert_memory_equal(sample->frame, frame.bytes, sample->kept);
	assert_int_equal(sample->time_ns, sent_ns);
	assert_int_equal(sample->packets, 1);
	if (!row->src)
		return;
	assert_int_equal(sample->proto, row->says.proto);
	assert_int_equal(sample->has_ports, row->says.has_ports);
	assert_int_equal(sample->sport, row->says.sport);
	assert_int_equal(sample->dport, row->says.dport);
	address_check(sample->src, row->src);
	address_check(sample->dst, row->dst);
}

static void run_saying(const struct saying *row)
{
	static struct frame frame;

	if (strcmp(row->name, SAYING_IN_PIECES) != 0) {
		run(row->words, 1);
		return;
	}
	frame_build(&frame, row->words);
	assert_true(pieces_run(h->program_fd, &frame, ETH_HLEN) >= 0);
}

ROWS(says_what_was, sayings, row, fresh)
{
	uint64_t sent_ns = now_ns;
	struct watch *watch;

	policy_of(row->rules);
	watch = watch_new(EVERYTHING, 100);
	run_saying(row);
	poll_into(watch, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.weights[0], 1);
	saying_check(row, &seen.samples[0], sent_ns);
	watch_close(watch);
}

/* The rule that decided; of several limits that let it pass, the first. */
TEST(says_which_rule, fresh)
{
	static const char *const words[] = {"ip4=10.0.0.1 udp", "ip4=11.0.0.1 udp",
					    "ip4=11.0.0.1 udp", "ip4=12.0.0.1 udp"};
	static const int wanted[] = {1, 2, 2, 0}; /* in the order of the policy: device is first */
	CLEARED_POLICY struct policy policy = {0};
	struct watch *watch;

	policy_of("10.0.0.0/8 deny;11.0.0.0/8 limit 1/hour burst 1;"
		  "device limit 1k/second burst 100");
	assert_int_equal(instance_policy_read(&h->instance, &policy), 0);
	watch = watch_new(EVERYTHING, 100);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		run(words[i], 1);
		wait_ns(NS_PER_MS);
	}
	poll_into(watch, &seen);
	assert_int_equal(seen.count, ARRAY_SIZE(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_int_equal(seen.samples[i].counter_id, policy.rules[wanted[i]].counter_id);
	watch_close(watch);
}

/* ---- how many, and for how many */

static const struct load {
	const char *name;
	uint32_t rate;
	uint32_t times, packets; /* so many times so many packets, */
	uint32_t every_ms;       /* in so much time each */
	uint32_t samples;        /* and hardly less */
} loads[] = {
	{"few: each is a sample", 1000, 20, 50, 100, 1000},
	{"more than the rate", 1000, 20, 300, 100, 2000},
	{"a flood", 1000, 20, 10000, 100, 2000},
	{"a flood that begins at once", 1000, 1, 1000000, 100, 100},
	{"a flood, ten samples", 10, 10, 20000, 100, 10},
	{"a flood, one sample a second", 1, 50, 500, 100, 5},
	{"at most once in a slot", 15, 30, 40, 66, 30},
};

/* The samples stand for all packets, those of a slot for as many each. */
ROWS(weights_add_up, loads, load, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, load->rate);
	uint64_t packets = (uint64_t)load->times * load->packets;

	for (uint32_t i = 0; i < load->times; i++) {
		run("ip4=10.0.0.1 udp", load->packets);
		wait_ns(load->every_ms * NS_PER_MS);
		assert_int_equal(watch_poll(watch, take, &seen), 0);
	}
	assert_int_equal(watch_finish(watch, UINT64_MAX, take, &seen), 0);
	assert_int_equal(figures_of(watch).packets[0], packets);
	assert_int_equal(figures_of(watch).packets[1], 0);
	assert_int_equal(figures_of(watch).lost, 0);
	assert_int_equal(seen.stands_for, packets);
	assert_in_range(seen.count, load->samples * 99 / 100, load->samples);
	watch_close(watch);
}

/* Ten samples of a second are of ten tenths, and stand for as many packets each, also those of the
 * first. */
TEST(samples_are_spread, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, 10);
	uint64_t begin_ns = now_ns;

	for (uint32_t i = 0; i < 100; i++) {
		run("ip4=10.0.0.1 udp", 500);
		wait_ns(10 * NS_PER_MS);
		assert_int_equal(watch_poll(watch, take, &seen), 0);
	}
	assert_int_equal(watch_finish(watch, begin_ns + NS_PER_SECOND, take, &seen), 0);
	assert_int_equal(seen.count, 10);
	for (uint32_t i = 0; i < seen.count; i++) {
		assert_int_equal((seen.samples[i].time_ns - begin_ns) / SLOT_NS, i);
		assert_int_equal(seen.weights[i], 5000);
	}
	watch_close(watch);
}

/* A slot that is not over is told of at the end, one that begins too late is not. */
TEST(the_end_is_held, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, 100);
	uint64_t begin_ns = now_ns;

	run("ip4=10.0.0.1 udp", 3);
	wait_ns(SLOT_NS);
	run("ip4=10.0.0.2 udp", 1);
	assert_int_equal(watch_poll(watch, take, &seen), 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(watch_finish(watch, begin_ns + SLOT_NS, take, &seen), 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(watch_finish(watch, UINT64_MAX, take, &seen), 0);
	assert_int_equal(seen.count, 4);
	watch_close(watch);
}

/* Every tenth packet is from another source: taking each n-th packet as a sample might give it all
 * samples or none. */
TEST(shares_are_kept, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, 1000);
	uint64_t rare = 0;

	for (int i = 0; i < 500; i++) {
		for (int j = 0; j < 100; j++) {
			run("ip4=10.0.0.1 udp", 9);
			run("ip4=10.0.0.2 udp", 1);
		}
		wait_ns(20 * NS_PER_MS);
		assert_int_equal(watch_poll(watch, take, &seen), 0);
	}
	for (size_t i = 0; i < seen.count; i++)
		rare += seen.samples[i].src[15] == 2 ? seen.weights[i] : 0;
	assert_in_range(rare * 1000 / seen.stands_for, 80, 120);
	watch_close(watch);
}

/* A flood of drops takes none of the samples of what passes. */
TEST(verdicts_have_their_own, fresh)
{
	uint64_t passed = 0;
	struct watch *watch;

	policy_of("10.0.0.1 deny");
	watch = watch_new(EVERYTHING, 1000);
	for (int i = 0; i < 20; i++) {
		run("ip4=10.0.0.1 udp", 10000);
		run("ip4=10.0.0.2 udp", 5);
		poll_into(watch, &seen);
	}
	for (size_t i = 0; i < seen.count; i++)
		passed += seen.samples[i].reason == RL_REASON_UNMATCHED;
	assert_int_equal(passed, 100);
	watch_close(watch);
}

/* A reader that is late gets the samples of all slots since, each with its own weight. */
TEST(late_readers_know_each_slot, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, 10);

	for (uint32_t i = 1; i <= 8; i++) {
		run("ip4=10.0.0.1 udp", i * 100);
		wait_ns(SLOT_NS);
	}
	poll_into(watch, &seen);
	assert_int_equal(seen.count, 8);
	for (uint32_t i = 0; i < seen.count; i++)
		assert_int_equal(seen.weights[i], (i + 1) * 100);
	watch_close(watch);
}

/* Without a reader the ring takes as much as it holds, and what it does not is counted. */
TEST(lost_is_counted, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, 1000);
	struct watch_figures figures;

	for (uint32_t i = 0; i < 40; i++) {
		h->skel->data_watch->watch_board.watcher[0].stream[0].keep = 1000;
		run("ip4=10.0.0.1 udp", 1000);
		wait_ns(SLOT_NS / 2);
	}
	figures = figures_of(watch);
	assert_int_equal(figures.packets[0], 40000);
	assert_true(figures.lost > 0);
	poll_into(watch, &seen);
	assert_true(seen.count > 0);
	seen.stands_for = 0;
	run("ip4=10.0.0.1 udp", 7);
	poll_into(watch, &seen);
	assert_int_equal(seen.stands_for, 7); /* what was lost is told of by nobody later */
	watch_close(watch);
}

/* ---- filters */

static const struct filter {
	const char *name, *prefix, *rule;
	uint32_t reasons;
	const char *words;
	bool shown;
} filters[] = {
	{"a reason", NULL, NULL, 1u << RL_REASON_DENIED, "ip4=10.0.0.1 udp", true},
	{"another reason", NULL, NULL, 1u << RL_REASON_DENIED, "ip4=11.0.0.1 udp", false},
	{"what passes", NULL, NULL, EVERYTHING & ~DROPS, "ip4=11.0.0.1 udp", true},
	{"from the prefix", "10.0.0.0/24", NULL, DROPS, "ip4=10.0.0.1 udp", true},
	{"to the prefix", "10.7.0.0/16", NULL, DROPS, "ip4=10.0.0.1>10.7.0.1 udp", true},
	{"outside the prefix", "10.0.1.0/24", NULL, DROPS, "ip4=10.0.0.1 udp", false},
	{"an address", "10.0.0.1", NULL, DROPS, "ip4=10.0.0.1 udp", true},
	{"all of IPv4", "0.0.0.0/0", NULL, DROPS, "ip4=10.0.0.1 udp", true},
	{"an IPv6 prefix", "2001:db8::/48", NULL, DROPS, "ip6=2001:db8::9>2001:db9::1 udp", true},
	{"outside the IPv6 prefix", "2001:db8:9::/48", NULL, DROPS, "ip6=2001:db8::9 udp", false},
	{"IPv6 is not IPv4", "::/0", NULL, EVERYTHING, "ip4=10.0.0.1 udp", false},
	{"IPv4 is not IPv6", "0.0.0.0/0", NULL, EVERYTHING, "ip6 udp", false},
	{"no address", "0.0.0.0/0", NULL, EVERYTHING, "type=0x0806 data=28", false},
	{"the rule", NULL, "10.0.0.0/8 deny", EVERYTHING, "ip4=10.0.0.1 udp", true},
	{"another rule", NULL, "2001:db8::/32 deny", EVERYTHING, "ip4=10.0.0.1 udp", false},
	{"a limit that lets pass", NULL, "any udp limit 1k/second per source", EVERYTHING,
	 "ip4=11.0.0.1 udp", true},
	{"the second of its limits", NULL, "any limit 2k/second per source", EVERYTHING,
	 "ip4=11.0.0.1 udp", true},
	{"not of this packet's limits", NULL, "any udp limit 1k/second per source", EVERYTHING,
	 "ip4=11.0.0.1 tcp", false},
};

static uint32_t slot_of(const char *text)
{
	CLEARED_POLICY struct policy policy = {0};
	struct policy_error err;
	struct policy_context ctx;
	const struct rule *found;
	struct rule rule;
	uint32_t slot;

	instance_context(&h->instance, &ctx);
	assert_int_equal(selector_parse(text, &ctx, &rule, &err), 0);
	assert_int_equal(instance_policy_read(&h->instance, &policy), 0);
	found = policy_find(&policy, &rule);
	assert_non_null(found);
	slot = found ? found->counter_id : 0;
	return slot;
}

ROWS(shows_what_was_asked, filters, row, fresh)
{
	struct watch_options options = {
		.reasons = row->reasons, .rate = 100, .counter_id = RL_WATCH_ANY};
	struct watch *watch;

	policy_of("10.0.0.0/8 deny;2001:db8::/32 deny;any udp limit 1k/second per source;"
		  "any limit 2k/second per source");
	if (row->prefix) {
		options.has_prefix = true;
		assert_int_equal(prefix_parse(row->prefix, options.addr, &options.len, NULL), 0);
	}
	if (row->rule)
		options.counter_id = slot_of(row->rule);
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(watch_open(&h->instance, &options, &watch), 0);
	run(row->words, 1);
	poll_into(watch, &seen);
	assert_int_equal(seen.count, row->shown);
	assert_int_equal(figures_of(watch).packets[0] + figures_of(watch).packets[1], row->shown);
	watch_close(watch);
}

/* ---- places */

static uint32_t is_on(void)
{
	return h->skel->data_watch->watch_board.on;
}

/* Each watcher has samples of its own, and there is no slot for a fifth. */
TEST(watchers_share_nothing, fresh_deny)
{
	const struct watch_options options = {
		.reasons = DROPS, .rate = 100, .counter_id = RL_WATCH_ANY};
	struct watch *watches[RL_WATCHERS], *more = NULL;

	for (int i = 0; i < RL_WATCHERS; i++)
		watches[i] = watch_new(DROPS, 100);
	assert_int_equal(watch_open(&h->instance, &options, &more), -EBUSY);
	assert_null(more);
	run("ip4=10.0.0.1 udp", 5);
	for (int i = 0; i < RL_WATCHERS; i++) {
		memset(&seen, 0, sizeof(seen));
		poll_into(watches[i], &seen);
		assert_int_equal(seen.count, 5);
	}
	watch_close(watches[1]);
	more = watch_new(DROPS, 100); /* in its place, and with counts from zero */
	run("ip4=10.0.0.1 udp", 2);
	poll_into(more, &seen);
	assert_int_equal(seen.count, 2);
	assert_int_equal(figures_of(more).packets[0], 2);
	poll_into(watches[0], &seen_too);
	assert_int_equal(seen_too.count, 2);
	watch_close(more);
	for (int i = 0; i < RL_WATCHERS; i++)
		if (i != 1)
			watch_close(watches[i]);
}

/* A watcher that does not renew gets no samples after three seconds, and the next packet turns
 * watching off. */
TEST(dead_watchers_end, fresh_deny)
{
	struct watch *dead = watch_new(DROPS, 100), *next;

	run("ip4=10.0.0.1 udp", 1);
	assert_int_equal(is_on(), 1);
	assert_int_equal(figures_of(dead).packets[0], 1);
	wait_ns(2900 * NS_PER_MS);
	run("ip4=10.0.0.1 udp", 1);
	assert_int_equal(figures_of(dead).packets[0], 2);
	assert_int_equal(is_on(), 1);
	wait_ns(200 * NS_PER_MS);
	run("ip4=10.0.0.1 udp", 1);
	assert_int_equal(is_on(), 0);
	run("ip4=10.0.0.1 udp", 1);
	assert_int_equal(figures_of(dead).packets[0], 2);
	next = watch_new(DROPS, 100); /* takes its place */
	run("ip4=10.0.0.1 udp", 1);
	poll_into(next, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(watch_poll(dead, take, &seen_too), -ESTALE);
	assert_int_equal(seen_too.count, 2); /* its own, from before */
	watch_close(dead);
	assert_int_equal(is_on(), 1);
	run("ip4=10.0.0.1 udp", 1);
	poll_into(next, &seen);
	assert_int_equal(seen.count, 2);
	watch_close(next);
}

TEST(renewed_watchers_stay, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, 100);

	for (int i = 0; i < 10; i++) {
		run("ip4=10.0.0.1 udp", 1);
		poll_into(watch, &seen);
		wait_ns(NS_PER_SECOND);
	}
	assert_int_equal(seen.count, 10);
	watch_close(watch);
	run("ip4=10.0.0.1 udp", 1);
	assert_int_equal(is_on(), 0);
}

/* Delayed for long, and its slot was not taken: the watcher continues. */
TEST(late_watchers_return, fresh_deny)
{
	struct watch *watch = watch_new(DROPS, 100);

	wait_ns(10 * NS_PER_SECOND);
	run("ip4=10.0.0.1 udp", 1);
	assert_int_equal(is_on(), 0);
	poll_into(watch, &seen);
	assert_int_equal(is_on(), 1);
	run("ip4=10.0.0.1 udp", 1);
	poll_into(watch, &seen);
	assert_int_equal(seen.count, 1);
	watch_close(watch);
}

TEST(nobody_is_told_nothing, fresh_deny)
{
	uint64_t sum[sizeof(struct rl_watch_count) / 8];
	struct watch *watch = watch_new(EVERYTHING, 100);

	watch_close(watch);
	run("ip4=10.0.0.1 udp", 10);
	assert_int_equal(is_on(), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(percpu_sum(h->instance.fd.watch_counts, i, sum, ARRAY_SIZE(sum)),
				 0);
		assert_int_equal(sum[0], 0);
	}
}

AT_START(begin)
{
	output_quiet = true;
	cpu_stay(0);
}
