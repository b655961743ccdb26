// SPDX-License-Identifier: GPL-2.0-only
/* Cases that only the program of ingress and egress meets: skbs that are several packets on the
 * wire, VLAN tags beside the data, marks. Departure times are in test_departure.c, cases in common
 * with xdp in the other files; headers outside of the linear part in tests/net/test_tc.sh.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/units.h"
#include "harness.h"

#define NOW   NS_PER_DAY
#define ETHER 14
#define IP4   20
#define IP6   40
#define TCP   20
#define UDP   8

HARNESS(ingress, .hook = RL_HOOK_INGRESS)
HARNESS(egress, .hook = RL_HOOK_EGRESS, .by_dest = true)

/* ---- what an skb counts */

static const struct measure_row {
	const char *name, *words;
	uint32_t gso_size, gso_segs, wire_len;
	uint32_t packets, headers; /* expected; headers of each packet but the first, in bytes */
} measures[] = {
	{"no segments", "ip4 tcp data=2800", 0, 0, 0, 1, 0},
	{"four segments", "ip4 tcp data=2800", 700, 4, 0, 4, ETHER + IP4 + TCP},
	{"a short one at the end", "ip4 tcp data=2801", 700, 5, 0, 5, ETHER + IP4 + TCP},
	{"not said how many", "ip4 tcp data=2800", 700, 0, 0, 4, ETHER + IP4 + TCP},
	{"not said how many, a short one", "ip4 tcp data=2801", 700, 0, 0, 5, ETHER + IP4 + TCP},
	{"one segment", "ip4 tcp data=700", 700, 1, 0, 1, 0},
	{"not said that it is one", "ip4 tcp data=700", 700, 0, 0, 1, 0},
	{"many", "ip4 tcp data=3000", 10, 300, 0, 300, ETHER + IP4 + TCP},
	{"TCP options", "ip4 tcp data=2812 doff=8", 700, 4, 0, 4, ETHER + IP4 + 32},
	{"IPv4 options", "ip4 options=8 tcp data=2800", 700, 4, 0, 4, ETHER + IP4 + 8 + TCP},
	{"IPv6", "ip6 tcp data=2800", 700, 4, 0, 4, ETHER + IP6 + TCP},
	{"IPv6 extensions", "ip6 hop dst=1 tcp data=2800", 700, 0, 0, 4, ETHER + IP6 + 24 + TCP},
	{"a tag in the data", "8021q ip4 tcp data=2800", 700, 4, 0, 4, ETHER + 4 + IP4 + TCP},
	{"UDP", "ip4 udp data=2800", 700, 4, 0, 4, ETHER + IP4 + UDP},
	{"UDP over IPv6", "ip6 udp data=2800", 700, 0, 0, 4, ETHER + IP6 + UDP},
	{"the kernel knows more headers", "ip4 gre data=2800", 700, 4, 2842 + 3 * 90, 4, 90},
	{"a tunnel that says no more", "ip4 gre data=2800", 700, 4, 0, 4, ETHER + IP4},
	{"wire_len of one packet", "ip4 tcp data=2800", 0, 0, 3500, 1, 0},
	{"malformed", "ip4 tcp data=2800 longer=1", 700, 4, 0, 4, 0},
	{"not IP", "type=0x88cc data=2800", 700, 4, 0, 4, 0},
};

static void measure_test(void **state)
{
	const struct measure_row *row = *state;
	struct __sk_buff skb = {
		.gso_size = row->gso_size, .gso_segs = row->gso_segs, .wire_len = row->wire_len};
	struct frame frame;

	harness_policy(ingress, "");
	frame_build(&frame, row->words);
	harness_skb(ingress, &frame, &skb, row->packets,
		    frame.size + (row->packets - 1) * row->headers);
}

/* ---- limits of packets */

#define SINGLE "ip4 tcp"
#define MANY   "ip4 tcp data=2800"

static enum rl_reason run_segments(struct harness *h, uint32_t segments)
{
	struct __sk_buff skb = {.gso_size = segments > 1 ? 2800 / segments : 0,
				.gso_segs = segments > 1 ? segments : 0};
	struct frame frame;

	frame_build(&frame, segments > 1 ? MANY : SINGLE);
	return harness_skb(h, &frame, &skb, segments, frame.size + (segments - 1) * 54);
}

/* Segments of one skb after the other; + is within, - over. All limits hold ten packets. */
static const char *const sequences[] = {
	"4+ 4+ 4- 1+ 1+ 1-", "1+ 4+ 4+ 4- 1+ 1-", "4+ 1+ 4+ 2- 1+ 1-",
	"11- 10+ 1-",        "1+ 10- 9+ 1-",      "2+ 8+ 2- 1-",
};
static const char *const limits[] = {
	"limit 24/d burst 10",
	"limit leaky-bucket 24/d queue 10",
	"limit fixed-window 10/12h",
	"limit sliding-window 10/12h",
	"limit sliding-log 10/12h",
	"limit 24/d burst 10 per rule",
	"limit sliding-log 10/12h per rule",
	"limit sliding-window 10/12h per flow",
};

static void sequence_check(const char *limit, const char *sequence)
{
	char rule[80];

	snprintf(rule, sizeof(rule), "rule any %s", limit);
	harness_policy(ingress, "");
	harness_policy(ingress, rule);
	for (const char *at = sequence; *at; at += strspn(at, " ")) {
		char *end;
		uint32_t segments = strtoul(at, &end, 10);
		enum rl_reason reason = run_segments(ingress, segments);

		if (reason != (*end == '+' ? RL_REASON_WITHIN : RL_REASON_OVER))
			fail_msg("%s: %s: at \"%s\" it is %s", limit, sequence, at,
				 reason_name(reason));
		at = end + 1;
	}
}

static void sequence_test(void **state)
{
	const char *const *limit = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
		sequence_check(*limit, sequences[i]);
}

/* A packet that a later limit refuses costs the earlier one nothing. */
static void refund_test(void **state)
{
	const char *const *limit = *state;
	char rules[160];

	snprintf(rules, sizeof(rules),
		 "rule any %s; rule device udp deny; rule device limit 24/d burst 8", *limit);
	harness_policy(ingress, "");
	harness_policy(ingress, rules);
	assert_int_equal(run_segments(ingress, 4), RL_REASON_WITHIN);
	assert_int_equal(run_segments(ingress, 2), RL_REASON_WITHIN);
	assert_int_equal(run_segments(ingress, 4), RL_REASON_OVER);
	snprintf(rules, sizeof(rules), "rule any %s", *limit);
	harness_policy(ingress, rules);
	assert_int_equal(run_segments(ingress, 4), RL_REASON_WITHIN);
	assert_int_equal(run_segments(ingress, 1), RL_REASON_OVER);
}

/* Cold, ten a second: a permit costs from 0.1 to 0.3 s, four of them four times that. */
TEST(warm_up_test)
{
	harness_policy(ingress, "");
	harness_policy(ingress, "rule any limit warm-up 10/s ramp 10s");
	assert_int_equal(run_segments(ingress, 4), RL_REASON_WITHIN);
	harness_clock(ingress, NOW + 1100 * NS_PER_MS);
	assert_int_equal(run_segments(ingress, 1), RL_REASON_OVER);
	harness_clock(ingress, NOW + 1200 * NS_PER_MS);
	assert_int_equal(run_segments(ingress, 1), RL_REASON_WITHIN);
	harness_clock(ingress, NOW + 1400 * NS_PER_MS);
	assert_int_equal(run_segments(ingress, 1), RL_REASON_OVER);
	harness_clock(ingress, NOW + 1500 * NS_PER_MS);
	assert_int_equal(run_segments(ingress, 4), RL_REASON_WITHIN);
	harness_clock(ingress, NOW);
}

/* A limit in bytes counts each packet's headers: 2854 and three times 54. */
TEST(bytes_test)
{
	harness_policy(ingress, "");
	harness_policy(ingress, "rule any limit 1byte/s burst 6086byte");
	assert_int_equal(run_segments(ingress, 4), RL_REASON_WITHIN);
	assert_int_equal(run_segments(ingress, 4), RL_REASON_WITHIN);
	assert_int_equal(run_segments(ingress, 1), RL_REASON_WITHIN);
	assert_int_equal(run_segments(ingress, 1), RL_REASON_OVER);
}

/* ---- tags beside the data: pushed by another program, which then runs ours */

static int programs; /* as long as this is open the program finds ours in it */

static int pusher_load(const struct harness *h, uint16_t proto)
{
	int zero = 0, ours = h->program_fd, fd;
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = htons(proto)},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 5},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_skb_vlan_push},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = 2,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = programs},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};

	fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "pusher", "GPL", insns, ARRAY_SIZE(insns),
			   NULL);
	assert_true(fd >= 0);
	assert_int_equal(bpf_map_update_elem(programs, &zero, &ours, BPF_ANY), 0);
	return fd;
}

static const struct tag_row {
	const char *name;
	uint16_t proto;
	const char *words;
	uint32_t gso_size;
	enum rl_reason reason;
	uint32_t packets, more; /* bytes besides the data's */
} tags[] = {
	{"802.1Q", 0x8100, "ip4 udp", 0, RL_REASON_DENIED, 1, 4},
	{"802.1ad", 0x88a8, "ip4 udp", 0, RL_REASON_DENIED, 1, 4},
	{"802.1ad, 802.1Q in the data", 0x88a8, "8021q ip6 udp", 0, RL_REASON_DENIED, 1, 4},
	{"three tags", 0x88a8, "8021q 8021q ip4 udp", 0, RL_REASON_MALFORMED, 1, 4},
	{"not IP", 0x8100, "type=0x806 data=46", 0, RL_REASON_NON_IP, 1, 4},
	{"segments", 0x8100, "ip4 udp data=2800", 700, RL_REASON_DENIED, 4, 3 * 42 + 4 * 4},
};

static void tag_test(void **state)
{
	const struct tag_row *row = *state;
	struct __sk_buff skb = {.gso_size = row->gso_size};
	struct frame frame;
	int pusher;

	harness_policy(ingress, "rule any udp dport 2000 deny");
	programs = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "programs", 4, 4, 1, NULL);
	assert_true(programs >= 0);
	pusher = pusher_load(ingress, row->proto);
	ingress->entry_fd = pusher;
	frame_build(&frame, row->words);
	assert_int_equal(harness_skb(ingress, &frame, &skb, row->packets, frame.size + row->more),
			 row->reason);
	ingress->entry_fd = ingress->program_fd;
	close(pusher);
	close(programs);
}

static enum rl_reason reason_of(struct harness *h, const char *words)
{
	struct __sk_buff skb = {0};
	struct frame frame;

	frame_build(&frame, words);
	return harness_skb(h, &frame, &skb, 1, frame.size + 4);
}

/* The bytes that rules match lie where they lie without the tag. */
TEST(tagged_match_test)
{
	static const struct harness_options with_matches = {.hook = RL_HOOK_INGRESS,
							    .program_uses = RL_USE_PROGRAM};
	struct harness *h = harness_must_open(&with_matches);

	harness_policy(h, "any udp payload 2 beef length 32 ttl 7 dscp 9 vlan 5 deny");
	programs = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "programs", 4, 4, 1, NULL);
	assert_true(programs >= 0);
	h->entry_fd = pusher_load(h, 0x8100);
	assert_int_equal(reason_of(h, "ip4 udp bytes=deadbeef ttl=7 dscp=9"), RL_REASON_DENIED);
	assert_int_equal(reason_of(h, "8021q ip4 udp bytes=deadbeef ttl=7 dscp=9"),
			 RL_REASON_DENIED);
	assert_int_equal(reason_of(h, "ip4 udp bytes=deadbee0 ttl=7 dscp=9"), RL_REASON_UNMATCHED);
	harness_policy(h, "any limit 1/d burst 1 per vlan");
	assert_int_equal(reason_of(h, "ip4 udp"), RL_REASON_WITHIN);
	assert_int_equal(reason_of(h, "8021q=9 ip6 tcp"), RL_REASON_OVER);
	h->entry_fd = h->program_fd;
	harness_expect(h, "a tag in the data", "8021q=9 ip6 tcp", RL_REASON_WITHIN);
	harness_expect(h, "and another", "8021q=5 ip6 tcp", RL_REASON_OVER);
	close(h->entry_fd);
	close(programs);
	harness_close(h);
}

/* ---- marks */

static uint32_t mark_of(const char *words, uint32_t before, enum rl_reason reason)
{
	struct __sk_buff skb = {.mark = before};
	struct frame frame;

	frame_build(&frame, words);
	assert_int_equal(harness_skb(ingress, &frame, &skb, 1, frame.size), reason);
	return skb.mark;
}

TEST(mark_test)
{
	struct rule_counters counters;

	harness_policy(ingress, "");
	harness_policy(ingress, "rule any udp limit 1/d burst 1 over mark 4294967295");
	assert_int_equal(mark_of("ip4 udp", 9, RL_REASON_WITHIN), 9);
	assert_int_equal(mark_of("ip4 udp", 9, RL_REASON_SHADOW), 4294967295);
	assert_int_equal(mark_of("ip4 tcp", 9, RL_REASON_UNMATCHED), 9);
	counters = harness_counters(ingress, "any udp limit 1/d");
	assert_int_equal(counters.passed.packets, 1);
	assert_int_equal(counters.shadow.packets, 1);
	assert_int_equal(counters.dropped.packets, 0);
}

/* The last of them; and what only counts marks nothing. */
TEST(marks_test)
{
	harness_policy(ingress, "");
	harness_policy(ingress, "rule any limit 1/d burst 1 over mark 5; "
				"rule any limit 1/d burst 1 per flow over count; "
				"rule device limit 24/d burst 2 over mark 7");
	assert_int_equal(mark_of("ip4 udp", 0, RL_REASON_WITHIN), 0);
	assert_int_equal(mark_of("ip4 udp", 0, RL_REASON_SHADOW), 5);
	assert_int_equal(mark_of("ip4 udp", 0, RL_REASON_SHADOW), 7);
}

TEST(mark_drop_test)
{
	harness_policy(ingress, "");
	harness_policy(ingress,
		       "rule any limit 1/d burst 1 over mark 5; rule device limit 1/d burst 1");
	assert_int_equal(mark_of("ip4 udp", 0, RL_REASON_WITHIN), 0);
	assert_int_equal(mark_of("ip4 udp", 0, RL_REASON_OVER), 0);
}

AT_START(rows_add_each)
{
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
		test_add_named(measure_test, &measures[i], "counts: %s", measures[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		test_add_named(sequence_test, &limits[i], "segments: %s", limits[i]);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		test_add_named(refund_test, &limits[i], "given back: %s", limits[i]);
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		test_add_named(tag_test, &tags[i], "tag beside: %s", tags[i].name);
}
