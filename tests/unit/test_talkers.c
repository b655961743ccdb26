// SPDX-License-Identifier: GPL-2.0-only
/* The traffic of each sender, or to each destination, estimated from samples. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cases.h"
#include "watch/traffic/talkers.h"

static struct talkers talkers;

static int fresh(void **state)
{
	(void)state;
	talkers_clear(&talkers);
	return 0;
}

static struct sampled sample_of(const char *source, uint64_t stands_for, uint32_t bytes)
{
	struct sampled sample = {.stands_for = stands_for,
				 .packet = {.bytes = bytes, .packets = 1}};
	uint8_t len;

	assert_int_equal(prefix_parse(source, sample.packet.src, &len, NULL), 0);
	return sample;
}

static void add(const char *source, uint64_t stands_for, bool passed)
{
	struct sampled sample = sample_of(source, stands_for, 100);

	talkers_add(&talkers, &sample, true, passed);
}

static const struct talker *find(const char *source)
{
	struct sampled wanted = sample_of(source, 0, 0);

	for (const struct talker *at = talkers.list; at; at = at->hh.next)
		if (!memcmp(at->addr, wanted.packet.src, sizeof(wanted.packet.src)))
			return at;
	return NULL;
}

TEST(weights_are_summed, fresh)
{
	add("10.0.0.1", 7, false);
	add("10.0.0.1", 5, false);
	add("10.0.0.1", 3, true);
	add("10.0.0.2", 1, true);
	assert_int_equal(HASH_COUNT(talkers.list), 2);
	assert_int_equal(talker_sum(find("10.0.0.1"), TALKER_DROPPED).packets.sum, 12);
	assert_int_equal(talker_sum(find("10.0.0.1"), TALKER_DROPPED).bytes.sum, 1200);
	assert_int_equal(talker_sum(find("10.0.0.1"), TALKER_PASSED).packets.sum, 3);
	assert_int_equal(talkers_sum(&talkers, TALKER_PASSED).packets.sum, 4);
}

/* At tc one sample may be several packets. */
TEST(segments_are_packets, fresh)
{
	struct sampled sample = sample_of("10.0.0.1", 3, 4000);

	sample.packet.packets = 4;
	talkers_add(&talkers, &sample, true, false);
	assert_int_equal(talker_sum(find("10.0.0.1"), TALKER_DROPPED).packets.sum, 12);
	assert_int_equal(talker_sum(find("10.0.0.1"), TALKER_DROPPED).packets.samples, 1);
	assert_int_equal(talker_sum(find("10.0.0.1"), TALKER_DROPPED).bytes.sum, 12000);
}

static void add_port(uint16_t port, uint32_t times)
{
	struct sampled sample = sample_of("10.0.0.1", 1, 100);

	sample.packet.has_ports = 1;
	sample.packet.dport = port;
	while (times--)
		talkers_add(&talkers, &sample, true, false);
}

/* The port of more than a fifth of the samples is found, among however many others. */
TEST(ports_are_found, fresh)
{
	struct talker_value port;

	add("10.0.0.1", 1, false);
	assert_false(talker_value(talkers.list).known);
	for (uint16_t i = 1; i <= 600; i++)
		add_port(i, 1);
	assert_false(talker_value(talkers.list).known);
	add_port(443, 400);
	port = talker_value(talkers.list);
	assert_true(port.known);
	assert_int_equal(port.value, 443);
	assert_in_range(port.share, 20, 40);
	for (int i = 0; i < 4; i++) {
		talkers_next_slice(&talkers);
		add_port(53, 500);
	}
	port = talker_value(talkers.list);
	assert_true(port.known);
	assert_int_equal(port.value, 53);
	assert_in_range(port.share, 75, 100);
}

TEST(a_64_is_one_source, fresh)
{
	add("2001:db8::1", 1, false);
	add("2001:db8::ffff:1", 1, false);
	add("2001:db8:0:1::1", 1, false);
	assert_int_equal(HASH_COUNT(talkers.list), 2);
	assert_int_equal(talker_sum(find("2001:db8::"), TALKER_DROPPED).packets.sum, 2);
}

/* Each address by itself, also of IPv6. */
TEST(destinations_are_addresses, fresh)
{
	static const char *const dests[] = {"10.0.0.9", "2001:db8::1", "2001:db8::2", "10.0.0.9"};
	struct talkers by_dest = {.by_dest = true};
	uint8_t len;

	for (size_t i = 0; i < 4; i++) {
		struct sampled sample = sample_of("10.0.0.1", 5, 100);

		assert_int_equal(prefix_parse(dests[i], sample.packet.dst, &len, NULL), 0);
		assert_int_equal(talkers_add(&by_dest, &sample, true, false), 0);
	}
	assert_int_equal(HASH_COUNT(by_dest.list), 3);
	assert_int_equal(talker_sum(by_dest.list, TALKER_DROPPED).packets.sum, 10);
	assert_memory_equal(by_dest.list->addr, by_dest.list->last.dst, 16);
	talkers_clear(&by_dest);
	assert_true(by_dest.by_dest);
	assert_int_equal(HASH_COUNT(by_dest.list), 0);
}

/* A sample made of what is kept has all that a key is made of. */
TEST(what_is_kept_is_a_sample, fresh)
{
	struct sampled sample = sample_of("10.0.0.1", 1, 100);
	struct rl_sample kept;

	sample.packet.sport = 4242;
	sample.packet.dport = 53;
	sample.packet.proto = 17;
	sample.packet.counter_id = 6;
	sample.packet.dst[15] = 9;
	talkers_add(&talkers, &sample, true, false);
	kept = talker_sample(&talkers.list->last);
	assert_memory_equal(kept.src, sample.packet.src, 16);
	assert_memory_equal(kept.dst, sample.packet.dst, 16);
	assert_int_equal(kept.sport, 4242);
	assert_int_equal(kept.dport, 53);
	assert_int_equal(kept.proto, 17);
	assert_int_equal(kept.counter_id, 6);
}

/* Non-IP frames are part of all, and of no source. */
TEST(without_address, fresh)
{
	struct sampled sample = sample_of("10.0.0.1", 9, 60);

	talkers_add(&talkers, &sample, false, true);
	assert_int_equal(HASH_COUNT(talkers.list), 0);
	assert_int_equal(talkers_sum(&talkers, TALKER_PASSED).packets.sum, 9);
}

/* A packet that was dropped says more of a source than one that passed. */
TEST(the_last_dropped_is_kept, fresh)
{
	struct sampled passed = sample_of("10.0.0.1", 1, 100);
	struct sampled dropped = sample_of("10.0.0.1", 1, 100);

	passed.packet.counter_id = 1;
	dropped.packet.counter_id = 2;
	talkers_add(&talkers, &passed, true, true);
	assert_int_equal(talkers.list->last.counter_id, 1);
	talkers_add(&talkers, &dropped, true, false);
	talkers_add(&talkers, &passed, true, true);
	assert_int_equal(talkers.list->last.counter_id, 2);
}

TEST(the_silent_are_forgotten, fresh)
{
	add("10.0.0.1", 1, false);
	for (int i = 1; i < TALKER_SLICES; i++) {
		talkers_next_slice(&talkers);
		add("10.0.0.2", 1, false);
		assert_int_equal(HASH_COUNT(talkers.list), 2);
	}
	talkers_next_slice(&talkers);
	assert_int_equal(HASH_COUNT(talkers.list), 1);
	assert_null(find("10.0.0.1"));
	assert_int_equal(talker_sum(find("10.0.0.2"), TALKER_DROPPED).packets.sum,
			 TALKER_SLICES - 1);
	assert_int_equal(talkers_sum(&talkers, TALKER_DROPPED).packets.sum, TALKER_SLICES - 1);
}

TEST(many_sources, fresh)
{
	char source[32];
	int seen = 0;

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 20000; i++) {
			snprintf(source, sizeof(source), "10.%d.%d.1", i / 200, i % 200);
			add(source, (uint64_t)i + 1, false);
		}
	assert_int_equal(HASH_COUNT(talkers.list), 20000);
	for (const struct talker *at = talkers.list; at; at = at->hh.next)
		assert_int_equal(talker_sum(at, TALKER_DROPPED).packets.sum, 2 * ++seen);
	assert_int_equal(seen, 20000);
}

FIXTURE(NULL, fresh)
