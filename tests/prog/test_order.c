// SPDX-License-Identifier: GPL-2.0-only
/* Shortcuts change no verdict: the order in which a packet's limits are asked, refusals that are
 * remembered, the guide of prefixes, the filter of peers. Two instances get the same packets at the
 * same instants, one with shortcuts and one without. A packet has the same
 * verdict in both, and a packet that passes the same reason, mark, departure time and counters.
 * Packets are those of the rows, of random policies, and of captures that are named as arguments.
 * Clocks are exact, or the tick clock is up to a tick late.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/peers.h"
#include "base/units.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/policy_write.h"
#include "order_input.h"
#include "rlctl.skel.h"
#include "watch/capture/capture.h"

#define TICK_NS        (4 * NS_PER_MS)
#define RANDOM_RUNS    30
#define RANDOM_PACKETS 6000
#define CHANGES        12   /* in place */
#define CAPTURE_BYTES  3000 /* of a frame: those of an skb are limited to a page */

/* ---- two instances, told the same */

struct pair {
	const char *name;
	struct harness_options options;
	struct harness *in_order, *other;
	bool failed;      /* the run before did not end, and they may differ */
	bool late;        /* the tick clock of this run */
	bool refused;     /* in this run a limit per rule has refused packets */
	uint64_t shared;  /* packets that such limits have refused, when it was last looked at */
	int64_t moved;    /* drops that one has counted for its rules, and the other for none */
	const char *text; /* the policy */
	struct policy policy;
	struct rl_amount reasons[2][RL_REASON_COUNT]; /* when the run began */
};

static struct pair pairs[] = {
	{.name = "xdp", .options = {.table = RL_TABLE_HOT}},
	{.name = "xdp, lru", .options = {.table = RL_TABLE_LRU}},
	{.name = "ingress, cpu", .options = {.table = RL_TABLE_CPU, .hook = RL_HOOK_INGRESS}},
	{.name = "egress",
	 .options = {.hook = RL_HOOK_EGRESS, .by_dest = true, .program_uses = RL_USE_KEY_PARTS}},
#define PAIRS_PLAIN 4 /* those above; rows say for which of their hooks they are */
	{.name = "xdp, proof",
	 .options = {.program_uses = RL_USE_EXTENDED & ~(RL_USE_CHALLENGE | RL_USE_TRUNCATE)}},
};

/* ---- sockets of this machine: peers are in the filter of the instance with shortcuts, beside some
 * strangers, and nobody else has anything established */

static bool asks_proof(const struct pair *pair)
{
	return pair->options.program_uses & RL_USE_PROOF;
}

static bool is_peer(const uint8_t addr[16])
{
	return (addr[5] + addr[7] + addr[14] + addr[15]) % 3 == 0;
}

static void peer_put(struct rl_peers *table, bool ip4, const uint8_t addr[16])
{
	__u64 halves[2];
	struct peers_key key;

	memcpy(halves, addr, sizeof(halves));
	if (!is_peer(addr) && random_under(&seed, 40))
		return;
	key = peers_key_of(table->seed, ip4, halves);
	peers_note(table, key, 1, PEERS_STICK);
}

static void peers_feed(struct harness *h)
{
	int fd = policy_map_open(&h->instance, POLICY_MAP_peers);
	struct rl_peers *table = malloc(sizeof(*table));
	uint32_t zero = 0;
	uint8_t addr[16];

	if (fd < 0) { /* no rule asks */
		free(table);
		return;
	}
	assert_non_null(table);
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, table), 0);
	for (uint32_t n = 0; n < SOURCES_MAX; n++) {
		source_address(true, n, addr);
		peer_put(table, true, addr);
		source_address(false, n, addr);
		peer_put(table, false, addr);
	}
	table->fed = 1;
	assert_int_equal(bpf_map_update_elem(fd, &zero, table, BPF_ANY), 0);
	close(fd);
	free(table);
}

static void frame_source_of(const struct frame *frame, uint8_t out[16])
{
	const uint8_t *ip = frame->bytes + frame->ip_at;

	memset(out, 0, 16);
	if (*ip >> 4 == 4)
		memcpy(out + 12, ip + 12, 4);
	else
		memcpy(out, ip + 8, 16);
}

/* The same for both. */
static void sockets_draw(struct pair *pair, const struct frame *frame)
{
	enum rl_simulated_proof sockets =
		random_under(&seed, 2) ? RL_SIMULATED_NONE : RL_SIMULATED_BOUND;
	uint8_t addr[16];

	if (!asks_proof(pair))
		return;
	frame_source_of(frame, addr);
	if (is_peer(addr) && random_under(&seed, 3))
		sockets = RL_SIMULATED_ESTABLISHED;
	harness_sockets(pair->in_order, sockets);
	harness_sockets(pair->other, sockets);
}

static void pair_clock(struct pair *pair, uint64_t now_ns)
{
	struct harness *each[] = {pair->in_order, pair->other};

	for (int i = 0; i < 2; i++) {
		harness_clock(each[i], now_ns);
		each[i]->skel->bss->clock_late_ns = pair->late ? now_ns % TICK_NS : 0;
	}
}

/* Each rule has counted the same packets as passed. By how many packets the drops differ. */
static int64_t rule_check(struct pair *pair, const struct rule *rule)
{
	struct rule_counters a = harness_counters_of(pair->in_order, rule);
	struct rule_counters b = harness_counters_of(pair->other, rule);

	assert_memory_equal(&a.passed, &b.passed, sizeof(a.passed));
	assert_memory_equal(&a.shadow, &b.shadow, sizeof(a.shadow));
	if (rule->action == RL_ACTION_LIMIT && rule->limit.key == RL_KEY_RULE)
		pair->shared += a.dropped.packets;
	return (int64_t)(b.dropped.packets - a.dropped.packets);
}

static int64_t rules_check(struct pair *pair)
{
	int64_t moved = 0;

	pair->shared = 0;
	policy_for_each (&pair->policy, rule)
		moved += rule_check(pair, rule);
	return moved;
}

/* Drops may count for another rule, but not twice nor for none; unless a source is banned: that
 * counts for none. A rule that goes takes its counters with it, so the difference is that since
 * the last change. */
static void pair_check(struct pair *pair)
{
	uint64_t shared = pair->shared;
	int64_t moved = rules_check(pair);

	pair->refused |= pair->shared > shared;
	policy_for_each (&pair->policy, rule)
		if (rule->limit.ban_source)
			return;
	assert_int_equal(moved, pair->moved);
}

/* Another policy came into force. */
static void pair_note(struct pair *pair)
{
	policy_clear(&pair->policy);
	assert_int_equal(instance_policy_read(&pair->in_order->instance, &pair->policy), 0);
	pair->moved = rules_check(pair);
}

static void pair_apply(struct pair *pair, const char *text)
{
	pair->text = text;
	harness_policy(pair->in_order, text);
	harness_policy(pair->other, text);
	if (asks_proof(pair))
		peers_feed(pair->other);
	pair_note(pair);
}

static void pair_begin(struct pair *pair, bool late, const char *text)
{
	if (pair->failed)
		pair_apply(pair, "");
	pair->failed = true;
	pair->late = late;
	pair_clock(pair, pair->other->now_ns + NS_PER_DAY + random_under(&seed, TICK_NS));
	pair_apply(pair, text);
	pair->refused = false;
	harness_reasons(pair->in_order, pair->reasons[0]);
	harness_reasons(pair->other, pair->reasons[1]);
}

static void pair_change(struct pair *pair, const char *text)
{
	pair_check(pair);
	pair_apply(pair, text);
}

/* How many packets had each reason in this run; what rules drop is one. */
static void reasons_since(struct harness *h, const struct rl_amount before[RL_REASON_COUNT],
			  uint64_t out[RL_REASON_COUNT])
{
	struct rl_amount now[RL_REASON_COUNT];

	harness_reasons(h, now);
	for (int i = 0; i < RL_REASON_COUNT; i++)
		out[i] = now[i].packets - before[i].packets;
	out[RL_REASON_OVER] += out[RL_REASON_BANNED] + out[RL_REASON_DENIED];
	out[RL_REASON_BANNED] = 0;
	out[RL_REASON_DENIED] = 0;
}

static void pair_end(struct pair *pair)
{
	uint64_t a[RL_REASON_COUNT], b[RL_REASON_COUNT];

	pair_check(pair);
	reasons_since(pair->in_order, pair->reasons[0], a);
	reasons_since(pair->other, pair->reasons[1], b);
	assert_memory_equal(a, b, sizeof(a));
	pair->failed = false;
}

/* ---- a packet */

struct verdict {
	uint32_t value, mark;
	uint64_t departs_ns;
	enum rl_reason reason;
};

static struct verdict verdict_of(struct harness *h, const struct packet *packet)
{
	struct __sk_buff in = {.gso_size = packet->gso_size, .mark = 3}, out = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet->frame->bytes,
		    .data_size_in = packet->frame->size);

	if (h->instance.info.hook != RL_HOOK_XDP) {
		opts.ctx_in = &in;
		opts.ctx_out = &out;
		opts.ctx_size_in = opts.ctx_size_out = sizeof(in);
	}
	if (bpf_prog_test_run_opts(h->entry_fd, &opts))
		fail_msg("BPF_PROG_TEST_RUN of %u bytes: %s", packet->frame->size, strerror(errno));
	return (struct verdict){opts.retval, out.mark, out.tstamp, h->skel->bss->simulated_reason};
}

static bool same_verdict(const struct verdict *a, const struct verdict *b)
{
	if (a->value != b->value || !reason_is_same(a->reason, b->reason))
		return false;
	return a->mark == b->mark && a->departs_ns == b->departs_ns;
}

static enum rl_reason pair_run(struct pair *pair, const struct packet *packet, uint32_t number)
{
	struct verdict a, b;

	sockets_draw(pair, packet->frame);
	a = verdict_of(pair->in_order, packet);
	b = verdict_of(pair->other, packet);
	if (!same_verdict(&a, &b))
		fail_msg("%s, %s clock, seed %llu: packet %u \"%s\" of %u bytes is %s (mark %u, "
			 "departs %llu), in order %s (mark %u, departs %llu), under\n%s",
			 pair->name, pair->late ? "late" : "exact", (unsigned long long)run_seed,
			 number, packet->words, packet->frame->size, reason_name(b.reason), b.mark,
			 (unsigned long long)b.departs_ns, reason_name(a.reason), a.mark,
			 (unsigned long long)a.departs_ns, pair->text);
	return a.reason;
}

/* ---- a run */

/* From one policy to another and back: right behind a refusal, in the same instant. How many
 * passed. */
static uint32_t row_run(struct pair *pair, const struct row *row, bool late)
{
	uint32_t passed = 0, changes = 0;

	pair_begin(pair, late, row->rules);
	for (uint32_t i = 0; i < row->packets; i++) {
		struct packet packet = packet_draw(row, pair->options.hook != RL_HOOK_XDP);
		bool pass = reason_is_pass(pair_run(pair, &packet, i));

		passed += pass;
		if (changes < row->changes && !pass && !random_under(&seed, 100))
			pair_change(pair, ++changes % 2 ? row->then : row->rules);
		else
			pair_clock(pair, pair->other->now_ns + wait_draw(row));
	}
	pair_end(pair);
	return passed;
}

static void row_check(const struct row *row, struct pair *pair, bool late)
{
	uint32_t passed;

	seed = run_seed = 20261122;
	passed = row_run(pair, row, late);
	if (passed < row->packets / 50 || passed > row->packets / 50 * 49 || !pair->refused)
		fail_msg("%s: %u of %u passed, and a limit per rule has refused %s", pair->name,
			 passed, row->packets, pair->refused ? "some" : "none");
}

/* With xdp's usual table and with one of the others, or with one of all: to apply a policy takes
 * long. */
static void row_test(void **state)
{
	const struct row *row = *state;
	size_t other = row - order_rows;

	if (!row->changes && !(row->not_at & 1 << RL_HOOK_XDP)) {
		row_check(row, &pairs[0], true);
		if (other % 3 == 0)
			row_check(row, &pairs[PAIRS_PLAIN], false);
		other = 1 + other % (PAIRS_PLAIN - 1);
	}
	while (row->not_at & 1 << pairs[other % PAIRS_PLAIN].options.hook)
		other++;
	row_check(row, &pairs[other % PAIRS_PLAIN], false);
}

/* ---- random policies, and random changes of one prefix */

static uint64_t environment_number(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : usual;
}

static void random_test(void **state)
{
	uint64_t from = environment_number("SEED", 1);
	uint64_t runs = environment_number("RUNS", RANDOM_RUNS);
	uint64_t passed = 0;
	uint32_t refused = 0;

	(void)state;
	printf("# SEED=%llu RUNS=%llu\n", (unsigned long long)from, (unsigned long long)runs);
	for (uint64_t i = from; i < from + runs; i++) {
		struct pair *pair = &pairs[i % ARRAY_SIZE(pairs)];
		char rules[2048], then[2048];
		struct row row = {
			.rules = rules, .then = then, .changes = 1, .packets = RANDOM_PACKETS};

		run_seed = i;
		seed = i * 0x9e3779b97f4a7c15ull;
		policy_draw(pair->other, &row, rules, then, sizeof(rules));
		passed += row_run(pair, &row, random_under(&seed, 2));
		refused += pair->refused;
	}
	assert_in_range(passed, runs * RANDOM_PACKETS / 10, runs * RANDOM_PACKETS / 10 * 9);
	assert_in_range(refused, runs / 4, runs);
}

/* A rule of a prefix that had none changes a policy of prefixes in place. */
static void in_place_write(struct harness *h, const char *text, bool keep)
{
	CLEARED_POLICY struct policy next = {0}, none = {0};
	struct policy_context ctx;
	struct policy_errors errors;

	instance_context(&h->instance, &ctx);
	assert_int_equal(policy_parse(text, strlen(text), &ctx, NULL, &next, &errors), 0);
	assert_int_equal(instance_prefix_write(&h->instance, &next.rules[0], keep ? &next : &none),
			 0);
}

static void in_place_test(void **state)
{
	static const char *const texts[] = {"rule 10.0.0.1 allow\n", "rule 10.0.0.1 udp deny\n",
					    "rule 2001:db8::/64 limit 20000/s burst 90\n"};
	struct row row = {
		.rules =
			"10.9.0.0/16 limit 9/s; any limit 90/s burst 9; device limit 500/s burst 50",
		.wait_ns = NS_PER_MS,
		.sources = 40,
		.dests = 9,
		.packets = 4000};
	struct pair *pair = &pairs[0];
	uint32_t changes = 0, text = 0;

	(void)state;
	run_seed = seed = 7;
	pair_begin(pair, false, row.rules);
	for (uint32_t i = 0; i < row.packets; i++) {
		struct packet packet = packet_draw(&row, false);
		bool pass = reason_is_pass(pair_run(pair, &packet, i));

		if (pass || changes == CHANGES || random_under(&seed, 50)) {
			pair_clock(pair, pair->other->now_ns + wait_draw(&row));
			continue;
		}
		text = changes++ / 2 % ARRAY_SIZE(texts);
		pair_check(pair);
		in_place_write(pair->in_order, texts[text], changes % 2);
		in_place_write(pair->other, texts[text], changes % 2);
		pair_note(pair);
	}
	assert_int_equal(changes, CHANGES);
	pair_end(pair);
}

/* ---- captures */

/* A frame of the capture, as long as it was; what was not captured is zero. */
static void frame_restore(struct frame *frame, const struct captured *from)
{
	frame->size = from->bytes < CAPTURE_BYTES ? from->bytes : CAPTURE_BYTES;
	memset(frame->bytes, 0, frame->size);
	memcpy(frame->bytes, from->data, from->size < frame->size ? from->size : frame->size);
}

/* Time goes `percent` as fast as in the capture. */
static void capture_replay(const char *path, struct pair *pair, const char *rules, uint32_t percent)
{
	static struct frame frame;
	struct packet packet = {.frame = &frame, .words = path};
	uint64_t first_ns = 0, begin_ns, passed = 0;
	struct captured captured;
	struct capture capture;

	assert_int_equal(capture_open(path, &capture), 0);
	pair_begin(pair, true, rules);
	begin_ns = pair->other->now_ns;
	while (capture_next(&capture, &captured) > 0) {
		first_ns = first_ns ?: captured.time_ns;
		frame_restore(&frame, &captured);
		if (pair->options.hook != RL_HOOK_XDP && !frame_runs_as_skb(&frame))
			continue;
		pair_clock(pair, begin_ns + (captured.time_ns - first_ns) * 100 / percent);
		passed += reason_is_pass(pair_run(pair, &packet, capture.packets));
	}
	pair_end(pair);
	printf("# %s, %s, %u %%: %llu of %llu passed: %s\n", path, pair->name, percent,
	       (unsigned long long)passed, (unsigned long long)capture.packets, rules);
	assert_in_range(passed, 1, capture.packets - 1);
	capture_close(&capture);
}

static void capture_test(void **state)
{
	static const uint32_t percents[] = {100, 1000, 10};
	uint32_t refused = 0;

	for (size_t i = 0; capture_policies[i]; i++)
		for (size_t k = 0; k < ARRAY_SIZE(percents); k++) {
			capture_replay(*state, &pairs[k], capture_policies[i],
				       percents[(i + k) % ARRAY_SIZE(percents)]);
			refused += pairs[k].refused;
		}
	assert_true(refused > 6);
}

/* ---- */

static int set_up(void **state)
{
	(void)state;
	cpu_stay(0);
	frames_build();
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct harness_options options = pairs[i].options;

		options.sources = 65536;
		options.seed[0] = options.seed[1] = 17;
		pairs[i].other = harness_open(&options);
		options.no_shortcuts = true;
		pairs[i].in_order = harness_open(&options);
		if (!pairs[i].other || !pairs[i].in_order)
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		policy_clear(&pairs[i].policy);
		harness_close(pairs[i].other);
		harness_close(pairs[i].in_order);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[128] = {cmocka_unit_test(random_test),
					cmocka_unit_test(in_place_test)};
	size_t count = argc > 1 ? 0 : 2;

	for (int i = 1; i < argc && count < ARRAY_SIZE(tests); i++)
		tests[count++] =
			(struct CMUnitTest){argv[i], capture_test, NULL, NULL, (void *)argv[i]};
	for (const struct row *row = order_rows; argc == 1 && row->name; row++)
		tests[count++] = (struct CMUnitTest){row->name, row_test, NULL, NULL, (void *)row};
	return _cmocka_run_group_tests("order", tests, count, set_up, tear_down);
}
