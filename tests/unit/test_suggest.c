// SPDX-License-Identifier: GPL-2.0-only
/* Limits from what was seen: the statistics, their breakdown points, memory. */
#include <string.h>

#include "../random.h"
#include "base/units.h"
#include "cases.h"
#include "watch/suggest/suggest.h"
#include "watch/suggest/seen.h"

#define SECONDS   300u
#define CLIENTS   40u
#define HTTPS     443
#define TCP_PROTO 6
#define UDP_PROTO 17

static struct seen seen;
static struct suggestion suggestion;

static int begin(void **state)
{
	(void)state;
	return seen_init(&seen);
}

static int end(void **state)
{
	(void)state;
	seen_clear(&seen);
	return 0;
}

/* ---- order statistics */

TEST(quantiles)
{
	static const struct {
		size_t count;
		uint64_t low;
		unsigned int permille;
		uint64_t wanted;
	} rows[] = {
		{0, 0, 500, 0},  {1, 0, 500, 10}, {2, 0, 500, 10},  {3, 0, 500, 20},
		{4, 0, 990, 40}, {4, 0, 250, 10}, {4, 0, 1000, 40}, {4, 0, 0, 10},
		{4, 4, 500, 1},  {4, 4, 501, 10}, {0, 3, 1000, 1},  {4, 96, 990, 30},
	};
	static const uint64_t values[] = {10, 20, 30, 40};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(
			values_quantile(values, rows[i].count, rows[i].low, rows[i].permille),
			rows[i].wanted);
}

/* Less than half of the values, however large, leave the border where the others have it, within
 * its bounds; half of them do not. */
TEST(border_breaks_down_at_half)
{
	uint64_t values[200], random = 5;

	for (size_t wild = 0; wild < 100; wild++) {
		for (size_t i = 0; i < 200; i++)
			values[i] = i < wild ? 1000000000 + i : 50 + random_under(&random, 50);
		values_sort(values, 200);
		assert_in_range(values_border(values, 200, 32), 32 * 50, 32 * 100 * 32);
	}
	for (size_t i = 0; i < 200; i++)
		values[i] = i < 101 ? 1000000000 : 50;
	values_sort(values, 200);
	assert_true(values_border(values, 200, 32) > 1000000000);
}

TEST(border_needs_values)
{
	const uint64_t values[] = {1, 1, 1, 1, 1, 1, 1, 1};

	assert_true(values_border(values, 7, 32) == UINT64_MAX);
	assert_int_equal(values_border(values, 8, 32), 32);
	assert_int_equal(values_border(values, 8, 8), 8);
}

TEST(border_follows_the_spread)
{
	const uint64_t wide[] = {1, 2, 5, 10, 50, 100, 200, 500, 1000, 2000};
	uint64_t border = values_border(wide, 10, 32);

	assert_true(border > 32 * 50);
	assert_true(border <= (uint64_t)ROBUST_FACTOR_MAX * 50);
}

TEST(depths)
{
	struct depth depth = {0};

	depth_add(&depth, 0, 10, 4);
	depth_add(&depth, 1, 10, 4); /* 6 + 10 */
	depth_add(&depth, 9, 3, 4);  /* empty before */
	assert_int_equal((int)depth.most, 16);
}

/* ---- traffic */

static void source_set(struct seen_packet *packet, uint32_t network, uint32_t number)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	memcpy(packet->source, mapped, sizeof(mapped));
	packet->source[12] = (uint8_t)network;
	packet->source[13] = (uint8_t)(number >> 16);
	packet->source[14] = (uint8_t)(number >> 8);
	packet->source[15] = (uint8_t)number;
}

static struct seen_packet packet_of(uint32_t network, uint32_t number, uint64_t time_ns)
{
	struct seen_packet packet = {
		.time_ns = time_ns,
		.proto = TCP_PROTO,
		.port = HTTPS,
		.has_ports = true,
		.bytes = 100,
		.weight = 1,
	};

	source_set(&packet, network, number);
	return packet;
}

/* `count` packets within that second. */
static void send_port(uint32_t network, uint32_t number, uint32_t second, uint64_t count,
		      uint16_t port)
{
	for (uint64_t i = 0; i < count; i++) {
		struct seen_packet packet = packet_of(
			network, number, second * NS_PER_SECOND + i * (NS_PER_SECOND / count));

		packet.port = port;
		assert_int_equal(seen_add(&seen, &packet), 0);
	}
}

static void send(uint32_t network, uint32_t number, uint32_t second, uint64_t count)
{
	send_port(network, number, second, count, HTTPS);
}

/* Clients that send 1 to 10 packets in every third second. */
static void clients_send(uint32_t first, uint32_t last)
{
	uint64_t random = 9;

	for (uint32_t second = first; second < last; second++)
		for (uint32_t i = 0; i < CLIENTS; i++)
			if (!random_under(&random, 3))
				send(10, i, second, 1 + random_under(&random, 10));
}

static const struct suggest_class *judged(unsigned int headroom, enum suggest_kind kind,
					  uint16_t number)
{
	const struct suggest_options options = {.headroom = headroom, .seconds = SECONDS};

	assert_int_equal(suggest_make(&seen, &options, &suggestion), 0);
	for (size_t i = 0; i < suggestion.count; i++)
		if (suggestion.classes[i].kind == kind && suggestion.classes[i].number == number)
			return &suggestion.classes[i];
	return NULL;
}

static const struct suggest_class *https(void)
{
	const struct suggest_class *class = judged(200, SUGGEST_TCP, HTTPS);

	assert_non_null(class);
	return class;
}

static void assert_near(uint64_t got, uint64_t wanted)
{
	assert_in_range(got, wanted * 9 / 10, wanted * 11 / 10);
}

/* The limits that clean traffic alone suggests. */
static struct suggest_class clean(void)
{
	struct suggest_class class;

	clients_send(0, SECONDS);
	class = *https();
	assert_int_equal(class.left_out.packets, 0);
	seen_clear(&seen);
	assert_int_equal(seen_init(&seen), 0);
	return class;
}

static void assert_same_limits(const struct suggest_class *class, const struct suggest_class *as)
{
	assert_near(class->source_limit.amount, as->source_limit.amount);
	assert_near(class->source_limit.burst, as->source_limit.burst);
	assert_near(class->sum_limit.amount, as->sum_limit.amount);
	assert_near(class->sum_limit.burst, as->sum_limit.burst);
}

static void assert_all_same(const struct suggest_class *as)
{
	const struct suggest_class *all = judged(200, SUGGEST_ALL, 0);

	assert_non_null(all);
	assert_near(all->sum_limit.amount, as->sum_limit.amount);
	assert_near(all->sum_limit.burst, as->sum_limit.burst);
}

/* ---- floods in what is learnt from */

TEST(one_source_floods, begin, end)
{
	struct suggest_class wanted = clean();

	clients_send(0, SECONDS);
	for (uint32_t second = 100; second < 120; second++)
		send(99, 1, second, 3000);
	assert_same_limits(https(), &wanted);
	assert_true(https()->left_out.packets >= 20 * 3000);
	assert_all_same(&wanted);
}

TEST(forged_sources_flood, begin, end)
{
	struct suggest_class wanted = clean();
	uint64_t random = 3;

	clients_send(0, SECONDS);
	for (uint32_t second = 40; second < 90; second++)
		for (int i = 0; i < 2000; i++)
			send(99, (uint32_t)random_under(&random, 1 << 24), second, 1);
	assert_same_limits(https(), &wanted);
	assert_all_same(&wanted);
}

/* A flood that is there for too long to be left out is said. The first and last seconds are parts,
 * what grows by the hour is no jump, and little harms nobody. */
TEST(a_long_flood_is_said, begin, end)
{
	static const struct {
		const char *name;
		uint32_t begin, end, every; /* seconds */
		uint64_t rate, grows;       /* packets a second; more for each second */
		uint32_t wanted, first;
	} rows[] = {
		{"from the beginning on", 0, 160, 1, 5000, 0, 159, 1},
		{"to the end", 140, SECONDS, 1, 5000, 0, SECONDS - 141, 140},
		{"for most of the time", 20, 270, 1, 5000, 0, 250, 20},
		{"pulses", 0, SECONDS, 2, 90000, 0, 149, 2},
		{"shorter, so left out", 100, 150, 1, 5000, 0, 0, 0},
		{"little", 100, 260, 1, 900, 0, 0, 0},
		{"slow growth", 30, SECONDS, 1, 80, 40, 0, 0},
		{"all of the time", 0, SECONDS, 1, 5000, 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s\n", rows[i].name);
		clients_send(0, SECONDS);
		for (uint32_t second = rows[i].begin; second < rows[i].end; second += rows[i].every)
			send(99, 1, second,
			     rows[i].rate + rows[i].grows * (second - rows[i].begin));
		judged(200, SUGGEST_ALL, 0);
		assert_int_equal(suggestion.flood.seconds, rows[i].wanted);
		assert_int_equal(suggestion.flood.first, rows[i].first);
		assert_true(!rows[i].wanted || suggestion.flood.rate >= rows[i].rate);
		assert_true(suggestion.flood.usual < 200);
		seen_clear(&seen);
		assert_int_equal(seen_init(&seen), 0);
	}
}

/* Less than eight times all together, more than 32 times a client. */
TEST(a_loud_source_is_left_out, begin, end)
{
	struct suggest_class wanted = clean();
	const struct suggest_class *class;

	clients_send(0, SECONDS);
	for (uint32_t second = 100; second < 110; second++)
		send(99, 7, second, 420);
	class = https();
	assert_same_limits(class, &wanted);
	assert_int_equal(class->left_out.sources, 1);
	assert_int_equal(class->left_out.heaviest[15], 7);
	assert_int_equal(class->left_out.heaviest_packets, 420);
	assert_all_same(&wanted);
}

/* 20 times the median client, once. */
TEST(nat_is_honest, begin, end)
{
	const struct suggest_class *class;
	uint64_t median;

	clients_send(0, SECONDS);
	median = https()->source[SUGGEST_1S].median;
	send(20, 1, 50, 20 * median);
	class = https();
	assert_int_equal(class->left_out.packets, 0);
	assert_int_equal(class->source[SUGGEST_1S].highest, 20 * median);
	assert_true(class->source_limit.burst >= 2 * 20 * median);
}

/* Unlike the rest, but most of the time: so it is. */
TEST(a_steady_source_is_honest, begin, end)
{
	clients_send(0, SECONDS);
	for (uint32_t second = 0; second < SECONDS; second++)
		send(20, 1, second, 420);
	assert_int_equal(https()->left_out.packets, 0);
	assert_true(https()->source_limit.amount >= 2 * 420);
}

TEST(pulses_are_left_out, begin, end)
{
	struct suggest_class wanted = clean();
	const struct suggest_class *class;

	clients_send(0, SECONDS);
	for (uint32_t i = 0; i < 5; i++)
		send(99, 1, 20 + i * 55, 3000);
	class = https();
	assert_near(class->source_limit.amount, wanted.source_limit.amount);
	/* Clients of these seconds are left out as well. */
	assert_in_range(class->sum_limit.amount, wanted.sum_limit.amount * 7 / 10,
			wanted.sum_limit.amount);
	assert_true(class->left_out.packets >= 5 * 3000);
}

/* The seconds in which it begins and ends are under every border. */
TEST(parts_of_a_flood_are_left_out, begin, end)
{
	struct suggest_class wanted = clean();

	clients_send(0, SECONDS);
	send(99, 1, 99, 200);
	for (uint32_t second = 100; second < 110; second++)
		send(99, 1, second, 3000);
	send(99, 1, 110, 200);
	assert_same_limits(https(), &wanted);
	assert_true(https()->left_out.packets >= 10 * 3000 + 400);
}

/* A port that only the flood sends to, for less than half of the time, has no other traffic to tell
 * it from. */
TEST(an_unused_port_is_flooded, begin, end)
{
	struct suggest_class wanted = clean();
	const struct suggest_class *class;

	clients_send(0, SECONDS);
	for (uint32_t second = 100; second < 180; second++)
		send_port(99, second % 20, second, 3000, 8443);
	seen_service_of(&seen, SEEN_TCP, 8443)->asked = 1;
	class = judged(200, SUGGEST_TCP, 8443);
	assert_non_null(class);
	assert_int_equal(class->left_out.packets, 80 * 3000);
	assert_true(class->sum_limit.least);
	assert_same_limits(https(), &wanted);
	assert_all_same(&wanted);
}

/* ---- what does not matter */

static void assert_same_limit(const struct suggest_limit *a, const struct suggest_limit *b)
{
	assert_int_equal(a->amount, b->amount);
	assert_int_equal(a->period_ns, b->period_ns);
	assert_int_equal(a->burst, b->burst);
	assert_int_equal(a->least, b->least);
	assert_int_equal(a->depth, b->depth);
}

TEST(order_within_a_time, begin, end)
{
	uint64_t random = 77;
	struct suggest_class first;
	const struct suggest_class *again;

	clients_send(0, 60);
	first = *judged(200, SUGGEST_TCP, HTTPS);
	seen_clear(&seen);
	assert_int_equal(seen_init(&seen), 0);
	random = 9;
	for (uint32_t second = 0; second < 60; second++) {
		uint64_t counts[CLIENTS];

		for (uint32_t i = 0; i < CLIENTS; i++)
			counts[i] = random_under(&random, 3) ? 0 : 1 + random_under(&random, 10);
		for (uint32_t i = CLIENTS; i--;)
			send(10, i, second, counts[i]);
	}
	again = judged(200, SUGGEST_TCP, HTTPS);
	assert_memory_equal(again->source, first.source, sizeof(first.source));
	assert_memory_equal(again->sum, first.sum, sizeof(first.sum));
	assert_same_limit(&again->source_limit, &first.source_limit);
	assert_same_limit(&again->sum_limit, &first.sum_limit);
	assert_int_equal(again->left_out.packets, first.left_out.packets);
}

TEST(headroom_scales, begin, end)
{
	uint64_t rate, burst;

	clients_send(0, SECONDS);
	rate = judged(100, SUGGEST_TCP, HTTPS)->sum_limit.amount;
	burst = suggestion.classes[0].sum_limit.burst;
	for (unsigned int factor = 2; factor < 20; factor++) {
		const struct suggest_class *class = judged(100 * factor, SUGGEST_TCP, HTTPS);

		assert_near(class->sum_limit.amount, factor * rate);
		assert_near(class->sum_limit.burst, factor * burst);
		assert_true(class->source_limit.amount <= class->sum_limit.amount);
	}
}

/* With headroom 2, what was learnt from is not refused: a bucket of the limit, second by second. */
TEST(learnt_is_within, begin, end)
{
	const struct suggest_class *class;
	struct depth depth = {0};
	uint64_t random = 9;

	clients_send(0, SECONDS);
	class = https();
	for (uint32_t second = 0; second < SECONDS; second++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < CLIENTS; i++)
			sum += random_under(&random, 3) ? 0 : 1 + random_under(&random, 10);
		depth_add(&depth, second, sum, (double)class->sum_limit.amount);
	}
	assert_true(depth.most <= (double)class->sum_limit.burst);
}

/* ---- services */

TEST(few_packets_are_said, begin, end)
{
	clients_send(0, SECONDS);
	send_port(10, 1, 50, 99, 22);
	assert_null(judged(200, SUGGEST_TCP, 22));
	assert_int_equal(suggestion.few_count, 1);
	assert_int_equal(suggestion.few[0].number, 22);
	assert_int_equal(suggestion.few[0].packets, 99);
	assert_int_equal(judged(200, SUGGEST_REST_TCP, 0)->packets, 99);
}

/* A burst at a port that is not used otherwise makes no service of it. */
TEST(once_is_no_service, begin, end)
{
	clients_send(0, SECONDS);
	send_port(99, 1, 50, 5000, 80);
	assert_null(judged(200, SUGGEST_TCP, 80));
	assert_int_equal(suggestion.few[0].number, 80);
}

TEST(answers_are_the_rest, begin, end)
{
	clients_send(0, SECONDS);
	for (uint32_t second = 0; second < SECONDS; second++)
		send_port(30, 1, second, 5, 40000);
	assert_null(judged(200, SUGGEST_TCP, 40000));
	assert_int_equal(suggestion.few_count, 0);
	assert_int_equal(judged(200, SUGGEST_REST_TCP, 0)->packets, SECONDS * 5);
}

TEST(syn_makes_a_service, begin, end)
{
	for (uint32_t second = 0; second < SECONDS; second++) {
		struct seen_packet packet = packet_of(1, 1, second * NS_PER_SECOND);

		packet.port = 40000;
		packet.asks = true;
		assert_int_equal(seen_add(&seen, &packet), 0);
	}
	assert_non_null(judged(200, SUGGEST_TCP, 40000));
}

static void udp_send(uint32_t sources, uint16_t port)
{
	for (uint32_t second = 0; second < SECONDS; second++) {
		struct seen_packet packet = packet_of(1, second % sources, second * NS_PER_SECOND);

		packet.proto = UDP_PROTO;
		packet.port = port;
		assert_int_equal(seen_add(&seen, &packet), 0);
	}
}

TEST(udp_services, begin, end)
{
	udp_send(1, 50000); /* an answer's port has one source */
	udp_send(2, 51820);
	udp_send(1, 53);
	assert_null(judged(200, SUGGEST_UDP, 50000));
	assert_non_null(judged(200, SUGGEST_UDP, 51820));
	assert_non_null(judged(200, SUGGEST_UDP, 53));
}

TEST(most_ports_of_a_rule, begin, end)
{
	char line[SUGGEST_RULE_MAX];

	for (uint16_t port = 1; port <= 20; port++)
		for (uint32_t second = 0; second < SECONDS; second++)
			send_port(1, 1, second, port, port);
	judged(200, SUGGEST_TCP, 0);
	assert_int_equal(suggestion.classes[SUGGEST_PORTS].kind, SUGGEST_REST_TCP);
	assert_int_equal(suggestion.few_count, 4);
	suggest_rule_print(line, &suggestion, &suggestion.classes[SUGGEST_PORTS], true, false);
	assert_non_null(strstr(line, "tcp not dport 5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 "));
	assert_non_null(strstr(line, " over count"));
}

TEST(ipv6_counts_by_64, begin, end)
{
	for (uint32_t second = 0; second < SECONDS; second++) {
		struct seen_packet packet = packet_of(1, 1, second * NS_PER_SECOND);

		memset(packet.source, 0, sizeof(packet.source));
		packet.source[0] = 0x20;
		packet.source[15] = (uint8_t)second;
		packet.source[7] = (uint8_t)(second % 2);
		assert_int_equal(seen_add(&seen, &packet), 0);
	}
	assert_int_equal(https()->sources, 2);
	assert_int_equal(https()->packets, SECONDS);
	assert_int_equal(https()->bytes, SECONDS * 100);
}

TEST(fragments, begin, end)
{
	for (uint32_t second = 0; second < SECONDS; second++) {
		struct seen_packet packet = packet_of(1, 1, second * NS_PER_SECOND);

		packet.fragment = true;
		assert_int_equal(seen_add(&seen, &packet), 0);
		packet.later = true;
		packet.has_ports = false;
		assert_int_equal(seen_add(&seen, &packet), 0);
	}
	assert_int_equal(https()->packets, SECONDS);
	assert_int_equal(judged(200, SUGGEST_FRAGMENT, 0)->packets, 2 * SECONDS);
	assert_int_equal(judged(200, SUGGEST_ALL, 0)->packets, 2 * SECONDS);
}

/* ---- samples, memory */

TEST(samples_have_errors, begin, end)
{
	for (uint32_t second = 0; second < SECONDS; second++)
		for (int i = 0; i < 10; i++) {
			struct seen_packet packet = packet_of(1, 1, second * NS_PER_SECOND);

			packet.weight = 10;
			assert_int_equal(seen_add(&seen, &packet), 0);
		}
	assert_int_equal(https()->packets, SECONDS * 100);
	assert_int_equal(https()->source[SUGGEST_1S].highest, 100);
	/* 2 sqrt(100 * 9 + 81) and 18 */
	assert_in_range(https()->source[SUGGEST_1S].error, 75, 90);
}

TEST(memory_is_bounded, begin, end)
{
	uint64_t random = 1;

	clients_send(0, 50);
	for (uint32_t i = 0; i < 2 * SEEN_CELLS_MAX; i++)
		send(100 + (uint32_t)random_under(&random, 100),
		     (uint32_t)random_under(&random, 1 << 24), 50 + i / 50000, 1);
	clients_send(50, SECONDS);
	assert_true(seen.cell_room <= SEEN_CELLS_MAX);
	assert_true(seen.forgotten > SEEN_CELLS_MAX / 2);
	assert_int_equal(seen.halvings, 0);
	assert_int_equal(https()->packets + https()->left_out.packets, seen.packets);
	assert_true(https()->source[SUGGEST_10S].highest >= 10);
}

/* Sources that all send much: every second one is kept, and the sums stay whole. */
TEST(halved, begin, end)
{
	for (uint32_t second = 0; second < 5; second++)
		for (uint32_t i = 0; i < SEEN_CELLS_MAX / 4; i++)
			send(1, i, second, 1);
	assert_true(seen.cell_room <= SEEN_CELLS_MAX);
	assert_true(seen.halvings >= 1);
	assert_int_equal(judged(200, SUGGEST_ALL, 0)->packets, 5 * (SEEN_CELLS_MAX / 4));
}

TEST(nothing, begin, end)
{
	assert_non_null(judged(200, SUGGEST_ALL, 0));
	assert_int_equal(suggestion.classes[0].kind, SUGGEST_REST_TCP);
	assert_true(suggestion.classes[0].source_limit.least);
	for (size_t i = 0; i < suggestion.count; i++)
		assert_int_equal(suggest_has_rule(&suggestion.classes[i], true),
				 suggestion.classes[i].kind == SUGGEST_ALL);
}

/* A service that got a flood alone has a limit all the same. */
TEST(only_a_flood, begin, end)
{
	clients_send(0, SECONDS);
	for (uint32_t second = 100; second < 105; second++)
		send_port(99, 1, second, 50000, 40000);
	assert_int_equal(judged(200, SUGGEST_REST_TCP, 0)->packets, 0);
	assert_true(suggest_has_rule(judged(200, SUGGEST_REST_TCP, 0), true));
	assert_false(suggest_has_rule(judged(200, SUGGEST_REST_UDP, 0), true));
}
