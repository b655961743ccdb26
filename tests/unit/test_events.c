// SPDX-License-Identifier: GPL-2.0-only
/* The pure parts of rlctl events: when drops begin and end, how many events are told, what packets
 * have in common, and alarms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cases.h"
#include "cli/events/event_json.h"
#include "cli/events/watched.h"
#include "kernel/state/alarms.h"
#include "watch/events/event.h"
#include "watch/traffic/pattern.h"

#define TENTH ONSET_TENTH_NS

/* ---- onset: readings a tenth apart, '1': it was there, '0': not, digits: how often */

struct onset_row {
	const char *name, *readings;
	const char *wanted; /* B: begun, E: ended, for each reading */
};

static const struct onset_row onset_rows[] = {
	{"a single one tells nothing", "1000000000", ".........."},
	{"two in a second tell nothing", "1000000010", ".........."},
	{"three in a row", "111", "..B"},
	{"three in a second", "1001001", "......B"},
	{"three in more than a second", "10000100001", "..........."},
	{"it begins once", "111111", "..B..."},
	{"a pause does not end it", "1110000000001", "..B.........."},
};

TEST(onset_begins)
{
	for (size_t i = 0; i < sizeof(onset_rows) / sizeof(*onset_rows); i++) {
		const struct onset_row *row = &onset_rows[i];
		struct onset onset = {0};
		uint64_t now = 1000 * TENTH;
		char got[32] = "";

		for (size_t n = 0; row->readings[n]; n++, now += TENTH)
			got[n] = ".BE"[onset_step(&onset, row->readings[n] == '1', now - TENTH,
						  now)];
		print_message("# %s\n", row->name);
		assert_string_equal(got, row->wanted);
	}
}

static uint64_t readings_without(struct onset *onset, uint64_t from)
{
	uint64_t now = from;

	while (onset_step(onset, 0, now, now + TENTH) != ONSET_ENDED) {
		now += TENTH;
		assert_true(now < from + 2 * ONSET_PAUSE_NS);
	}
	return now + TENTH;
}

TEST(onset_ends)
{
	struct onset onset = {0};
	uint64_t now = 1000 * TENTH;

	for (int i = 0; i < 3; i++, now += TENTH)
		onset_step(&onset, 5, now - TENTH, now);
	assert_true(onset.on);
	assert_int_equal(onset.first_ns, 1000 * TENTH);
	assert_int_equal(readings_without(&onset, now - TENTH), now - TENTH + ONSET_PAUSE_NS);
	assert_true(onset_is_idle(&onset));
	for (int i = 0; i < 3; i++, now += TENTH)
		onset_step(&onset, 5, now - TENTH, now);
	assert_true(onset.on); /* anew */
}

/* One reading after half a second is as good as five. */
TEST(onset_late)
{
	struct onset onset = {0};

	assert_int_equal(onset_step(&onset, 2, 0, 5 * TENTH), ONSET_NONE);
	assert_int_equal(onset_step(&onset, 1, 5 * TENTH, 6 * TENTH), ONSET_BEGUN);
	onset = (struct onset){0};
	assert_int_equal(onset_step(&onset, 1000, 0, 100 * TENTH), ONSET_BEGUN);
	onset = (struct onset){0};
	assert_int_equal(onset_step(&onset, 1000, TENTH, TENTH), ONSET_NONE); /* no time passed */
}

/* ---- quota */

static unsigned int told_in(struct quota *quota, enum event_kind kind, uint64_t from_ns,
			    uint64_t ns, unsigned int tries)
{
	unsigned int told = 0;

	for (unsigned int i = 0; i < tries; i++)
		told += quota_take(quota, kind, from_ns + ns * i / tries);
	return told;
}

TEST(quota_holds)
{
	struct quota quota = {0};
	struct event lost = {0};
	uint64_t now = 100 * NS_PER_SECOND;

	assert_int_equal(told_in(&quota, EVENT_BAN_BEGIN, now, 0, 1000000), QUOTA_RATE);
	assert_int_equal(told_in(&quota, EVENT_BAN_END, now, 0, 5), 5); /* of its own */
	assert_int_equal(told_in(&quota, EVENT_BAN_BEGIN, now, 10 * NS_PER_SECOND, 1000000),
			 10 * QUOTA_RATE - 1);
	assert_true(quota_tell(&quota, now, false, &lost));
	assert_int_equal(lost.kind, EVENT_LOST);
	assert_int_equal(lost.count, 2000000 - 11 * QUOTA_RATE + 1);
	assert_int_equal(lost.of[EVENT_BAN_BEGIN], lost.count);
	assert_int_equal(lost.of[EVENT_BAN_END], 0);
	assert_string_equal(lost.text, "1,999,781 events were suppressed: 1,999,781 ban-begin");
	assert_false(quota_tell(&quota, now + NS_PER_SECOND, false, &lost)); /* no more */
}

TEST(quota_losses_wait)
{
	struct quota quota = {0};
	struct event lost = {0};
	uint64_t now = 100 * NS_PER_SECOND;

	quota_lose(&quota, EVENT_BAN_END, 1);
	assert_true(quota_tell(&quota, now, false, &lost));
	assert_string_equal(lost.text, "1 event was suppressed: 1 ban-end");
	quota_lose(&quota, EVENT_BAN_END, 2);
	quota_lose(&quota, EVENT_APPLY, 3);
	assert_false(quota_tell(&quota, now + NS_PER_SECOND - 1, false, &lost));
	assert_true(quota_tell(&quota, now + NS_PER_SECOND, false, &lost));
	assert_string_equal(lost.text, "5 events were suppressed: 3 apply, 2 ban-end");
	quota_lose(&quota, EVENT_APPLY, 1);
	assert_true(quota_tell(&quota, now + NS_PER_SECOND, true, &lost)); /* at the end */
}

/* ---- what packets have in common */

struct packet_row {
	const char *source;
	uint8_t proto;
	uint16_t sport, dport;
	uint16_t length;
	uint8_t ttl, flags;
	bool vlan, raw;
};

static size_t ip_put(uint8_t *ip, const struct packet_row *row, const uint8_t src[16], bool ipv4)
{
	if (ipv4) {
		ip[0] = 0x45;
		ip[2] = row->length >> 8;
		ip[3] = row->length & 0xff;
		ip[8] = row->ttl;
		memcpy(ip + 12, src + 12, 4);
		return 20;
	}
	ip[0] = 0x60;
	ip[4] = (row->length - 40) >> 8;
	ip[5] = (row->length - 40) & 0xff;
	ip[6] = 60; /* destination options of 8 bytes */
	ip[7] = row->ttl;
	memcpy(ip + 8, src, 16);
	ip[40] = row->proto;
	return 48;
}

static struct sampled sample_of(const struct packet_row *row, uint64_t stands_for)
{
	struct sampled s = {.stands_for = stands_for,
			    .packet = {.packets = 1,
				       .proto = row->proto,
				       .has_ports = row->proto == 6 || row->proto == 17,
				       .sport = row->sport,
				       .dport = row->dport,
				       .reason = RL_REASON_DENIED}};
	size_t at = row->raw ? 0 : row->vlan ? 18 : 14;
	uint8_t len;
	bool ipv4;

	assert_int_equal(prefix_parse(row->source, s.packet.src, &len, NULL), 0);
	ipv4 = prefix_is_ipv4(s.packet.src, 128);
	if (!row->raw) {
		const uint8_t type[] = {ipv4 ? 0x08 : 0x86, ipv4 ? 0x00 : 0xdd};

		memcpy(s.packet.frame + at - 2, type, 2);
		if (row->vlan)
			memcpy(s.packet.frame + 12, "\x81\x00", 2);
	}
	at += ip_put(s.packet.frame + at, row, s.packet.src, ipv4);
	s.packet.frame[at + 13] = row->flags;
	s.packet.kept = (uint16_t)(at + 20);
	return s;
}

static struct traits traits;
static struct json_object *excerpt;

static void add(const struct packet_row *row, uint64_t stands_for, int times)
{
	struct sampled s = sample_of(row, stands_for);

	for (int i = 0; i < times; i++)
		traits_add(&traits, &s, row->raw);
}

static int fresh(void **state)
{
	(void)state;
	memset(&traits, 0, sizeof(traits));
	return 0;
}

static int cleared(void **state)
{
	(void)state;
	json_object_put(excerpt);
	excerpt = NULL;
	return 0;
}

static void excerpt_make(uint64_t rate)
{
	json_object_put(excerpt);
	excerpt = traits_json(&traits, rate);
}

/* The sources, or the values of a feature; NULL: none. */
static struct json_object *parts_of(const char *feature)
{
	struct json_object *common = json_object_object_get(excerpt, "common");

	return json_object_object_get(feature ? common : excerpt, feature ? feature : "sources");
}

static size_t parts(const char *feature)
{
	return parts_of(feature) ? json_object_array_length(parts_of(feature)) : 0;
}

static struct json_object *member(const char *feature, size_t n, const char *key)
{
	assert_true(parts(feature) > n);
	return json_object_object_get(json_object_array_get_idx(parts_of(feature), n), key);
}

static void value_is(const char *feature, size_t n, const char *value, double share)
{
	double got = json_object_get_double(member(feature, n, "share"));

	assert_string_equal(json_object_get_string(member(feature, n, "value")), value);
	assert_true(got > share - 0.001 && got < share + 0.001);
}

static void source_is(size_t n, const char *address, uint64_t rate)
{
	assert_string_equal(json_object_get_string(member(NULL, n, "address")), address);
	assert_int_equal(json_object_get_uint64(member(NULL, n, "rate")), rate);
}

TEST(common_of_each, fresh, cleared)
{
	static const struct packet_row rows[] = {
		{"10.0.0.1", 17, 53, 1234, 1400, 57, 0, false, false},
		{"2001:db8::1", 6, 1000, 443, 60, 64, 0x12, false, false},
		{"10.0.0.1", 6, 1000, 443, 40, 250, 0x02, true, false},
		{"10.0.0.1", 6, 1000, 443, 40, 250, 0x02, false, true},
		{"10.0.0.1", 1, 0, 0, 84, 1, 0, false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct packet_row *row = &rows[i];
		bool tcp = row->proto == 6, ports = row->proto != 1;
		char text[32];

		fresh(state);
		add(row, 10, 4);
		excerpt_make(1000);
		assert_int_equal(parts(NULL), 1);
		source_is(0, row->source[0] == '2' ? "2001:db8::/64" : row->source, 1000);
		snprintf(text, sizeof(text), "%u", row->length);
		value_is("length", 0, text, 1);
		snprintf(text, sizeof(text), "%u", row->ttl);
		value_is("ttl", 0, text, 1);
		assert_int_equal(parts("flags"), tcp);
		assert_int_equal(parts("port"), ports);
		if (tcp)
			value_is("flags", 0, row->flags == 2 ? "syn" : "syn,ack", 1);
		snprintf(text, sizeof(text), "%s/%u", tcp ? "tcp" : "udp", row->dport);
		if (ports)
			value_is("port", 0, text, 1);
		snprintf(text, sizeof(text), "%s/%u", tcp ? "tcp" : "udp", row->sport);
		if (ports)
			value_is("sport", 0, text, 1);
	}
}

/* An excerpt of ten samples of each, which stand for so many packets. */
static void udp_and_tcp_make(uint64_t udp_packets, uint64_t tcp_packets, uint64_t rate)
{
	static const struct packet_row udp = {"10.0.0.1", 17, 53, 1234, 1400, 57, 0, 0, 0};
	static const struct packet_row tcp = {"10.0.0.2", 6, 9, 80, 40, 64, 2, 0, 0};

	add(&udp, udp_packets, 10);
	add(&tcp, tcp_packets, 10);
	excerpt_make(rate);
}

TEST(shares_are_of_all, fresh, cleared)
{
	udp_and_tcp_make(30, 10, 4000);
	assert_int_equal(parts(NULL), 2);
	source_is(0, "10.0.0.1", 3000);
	source_is(1, "10.0.0.2", 1000);
	value_is("port", 0, "udp/1234", 0.75);
	value_is("port", 1, "tcp/80", 0.25);
	value_is("flags", 0, "syn", 0.25); /* not of TCP alone */
}

/* Members, in order; shares of three digits; no rate where none is known. */
TEST(as_text, fresh, cleared)
{
	udp_and_tcp_make(20, 10, 3000);
	assert_string_equal(json_object_to_json_string_ext(parts_of(NULL), JSON_C_TO_STRING_PLAIN),
			    "[{\"address\":\"10.0.0.1\",\"rate\":2000,\"share\":0.667},"
			    "{\"address\":\"10.0.0.2\",\"rate\":1000,\"share\":0.333}]");
	assert_string_equal(
		json_object_to_json_string_ext(json_object_object_get(excerpt, "common"),
					       JSON_C_TO_STRING_PLAIN |
						       JSON_C_TO_STRING_NOSLASHESCAPE),
		"{\"port\":[{\"value\":\"udp/1234\",\"share\":0.667},{\"value\":\"tcp/80\","
		"\"share\":0.333}],\"sport\":[{\"value\":\"udp/53\",\"share\":0.667},"
		"{\"value\":\"tcp/9\",\"share\":0.333}],\"length\":[{\"value\":1400,"
		"\"share\":0.667},{\"value\":40,\"share\":0.333}],\"ttl\":[{\"value\":57,"
		"\"share\":0.667},{\"value\":64,\"share\":0.333}],\"flags\":[{\"value\":\"syn\","
		"\"share\":0.333}]}");
	excerpt_make(0);
	assert_null(member(NULL, 0, "rate"));
}

/* A flood from forged sources: no source is told, and what they have in common is. */
TEST(forged_sources, fresh, cleared)
{
	struct packet_row row = {NULL, 17, 53, 0, 1400, 57, 0, 0, 0};
	char source[32];
	double share;

	for (unsigned int i = 0; i < 20000; i++) {
		snprintf(source, sizeof(source), "10.%u.%u.%u", i * 7919 % 251, i * 104729 % 253,
			 i % 255);
		row.source = source;
		row.dport = (uint16_t)(i * 31);
		add(&row, 100, 1);
	}
	row.source = "192.0.2.1";
	add(&row, 100, 1000);
	excerpt_make(1000000);
	assert_int_equal(parts(NULL), 1);
	assert_string_equal(json_object_get_string(member(NULL, 0, "address")), "192.0.2.1");
	share = json_object_get_double(member(NULL, 0, "share"));
	assert_true(share > 0.01 && share < 0.048);
	assert_int_equal(parts("port"), 0);
	value_is("sport", 0, "udp/53", 1);
	value_is("length", 0, "1400", 1);
}

/* A header that was cut off, or of a tunnel, says nothing; no byte behind `kept` is read. */
TEST(headers_cut, fresh, cleared)
{
	static const struct packet_row row = {"10.0.0.1", 6, 9, 80, 40, 64, 2, 0, 0};
	struct sampled whole = sample_of(&row, 1);
	struct packet_fields fields;

	for (uint16_t kept = 0; kept <= whole.packet.kept; kept++) {
		struct sampled cut = whole;

		memset(cut.packet.frame + kept, 0xff, RL_FRAME_KEPT - kept);
		cut.packet.kept = kept;
		packet_fields_read(&cut.packet, false, &fields);
		assert_int_equal(fields.has_ip, kept >= 34);
		assert_int_equal(fields.has_flags, kept >= 48);
	}
	whole.packet.src[15] = 9;
	packet_fields_read(&whole.packet, false, &fields);
	assert_false(fields.has_ip);
	whole.packet.reason = RL_REASON_MALFORMED;
	traits_add(&traits, &whole, false);
	assert_int_equal(traits.packets, 1);
	assert_int_equal(traits.sources.total, 0);
}

/* ---- alarms: this stands for the kernel */

static struct alarms_now alarms;

int alarms_read(const struct instance *instance, struct alarms_now *out)
{
	(void)instance;
	*out = alarms;
	return 0;
}

static const struct event *event_next(struct watched *w, bool on)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	size_t before = w->queue_count;

	alarms.alarm[0].changes += alarms.alarm[0].on != on;
	alarms.alarm[0].on = on;
	alarms.alarm[0].since_ns = now_ns;
	watched_state_poll(w, now_ns);
	return w->queue_count == before ? NULL : &w->queue[before]->event;
}

/* One that is on at first is no news; a change is, once; a new one that is on is, too. */
TEST(alarms_change)
{
	struct watched w = {.instance = {.device = "eth0", .fd = {.fleet_session = -1}}};
	const struct event *event;

	alarms = (struct alarms_now){
		.count = 1,
		.alarm = {{.name = "flood", .rate = 12345, .unit = RL_PACKETS, .comment = "why"}}};
	assert_null(event_next(&w, true));
	event = event_next(&w, false);
	assert_non_null(event);
	assert_int_equal(event->kind, EVENT_ALARM_OFF);
	assert_null(event_next(&w, false));
	event = event_next(&w, true);
	assert_non_null(event);
	assert_int_equal(event->kind, EVENT_ALARM_ON);
	assert_string_equal(event->device, "eth0");
	assert_string_equal(event->alarm, "flood");
	assert_int_equal(event->rate.packets, 12345);
	assert_int_equal(event->rate.bytes, 0);
	assert_string_equal(event->text, "alarm flood is on, at 12,345 packets a second: why");
	assert_int_equal(w.queue[1]->alarm, 0); /* waits for samples of it */
	assert_true(w.queue[1]->due_ns > clock_ns(CLOCK_MONOTONIC));
	alarms.alarm[0] = (struct alarm_now){.name = "other", .rate = 2048, .unit = RL_BITS};
	event = event_next(&w, true); /* in place of one that was on */
	assert_non_null(event);
	assert_int_equal(event->kind, EVENT_ALARM_OFF);
	assert_string_equal(event->alarm, "flood");
	assert_int_equal(w.queue[1]->alarm, -1); /* what was sampled of it is in its event */
	assert_int_equal(w.queue_count, 4);
	event = &w.queue[3]->event;
	assert_int_equal(event->rate.bytes, 2048);
	assert_string_equal(event->text, "alarm other is on, at 2.0 KiB a second");
	watched_forget(&w);
}
