// SPDX-License-Identifier: GPL-2.0-only
/* Keys by parts: two packets share a state exactly if what the parts name of them is equal. All
 * combinations of parts, with the usual lengths and others, on pairs of packets of both families,
 * against a second formula; and what `source forgive` finds of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "harness.h"
#include "random.h"

enum { SOURCE, DEST, SPORT, DPORT, PROTO, VLAN, PARTS };

static const char *const part_words[PARTS] = {"source", "dest", "sport", "dport", "proto", "vlan"};

/* A packet and what it shows to a key: no ports in later fragments, nor where there are none. */
static const struct packet_row {
	const char *words;
	uint16_t sport, dport;
	uint8_t proto;
} rows[] = {
	{"ip4=192.0.2.1>198.51.100.1 udp=1000>53", 1000, 53, 17},
	{"8021q=17 ip4=192.0.2.1>198.51.100.1 udp=1000>53", 1000, 53, 17},
	{"8021q=0x6006 ip4=192.0.2.1>198.51.100.1 tcp=1000>53", 1000, 53, 6},
	{"8021ad=17 8021q=6 ip4=192.0.2.1>198.51.100.1 udp=1000>53", 1000, 53, 17},
	{"ip4=192.0.2.1>198.51.100.1 udp=1000>54", 1000, 54, 17},
	{"ip4=192.0.2.1>198.51.100.1 udp=1001>53", 1001, 53, 17},
	{"ip4=192.0.2.1>198.51.100.1 udp=53>1000", 53, 1000, 17},
	{"ip4=192.0.2.1>198.51.100.1 tcp=1000>53", 1000, 53, 6},
	{"ip4=192.0.2.1>198.51.100.1 sctp=1000>53", 1000, 53, 132},
	{"ip4=192.0.2.1>198.51.100.2 udp=1000>53", 1000, 53, 17},
	{"ip4=192.0.2.1>203.0.113.1 udp=1000>53", 1000, 53, 17},
	{"ip4=192.0.2.2>198.51.100.1 udp=1000>53", 1000, 53, 17},
	{"ip4=192.0.3.1>198.51.100.1 udp=1000>53", 1000, 53, 17},
	{"ip4=198.51.100.1>192.0.2.1 udp=1000>53", 1000, 53, 17},
	{"ip4=192.0.2.1>198.51.100.1 frag=0+ udp=1000>53 data=8", 1000, 53, 17},
	{"ip4=192.0.2.1>198.51.100.1 frag=64 udp=1000>53", 0, 0, 17},
	{"ip4=192.0.2.1>198.51.100.1 frag=64 tcp=1000>53", 0, 0, 6},
	{"ip4=192.0.2.1>198.51.100.1 icmp", 0, 0, 1},
	{"ip4=192.0.2.1>198.51.100.1 proto=253", 0, 0, 253},
	{"ip6=2001:db8::1>2001:db8:1::1 udp=1000>53", 1000, 53, 17},
	{"8021q=17 ip6=2001:db8::1>2001:db8:1::1 udp=1000>53", 1000, 53, 17},
	{"ip6=2001:db8::1>2001:db8:1::1 udp=1000>54", 1000, 54, 17},
	{"ip6=2001:db8::1>2001:db8:1::1 tcp=1000>53", 1000, 53, 6},
	{"ip6=2001:db8::2>2001:db8:1::1 udp=1000>53", 1000, 53, 17},
	{"ip6=2001:db8::1>2001:db8:1::2 udp=1000>53", 1000, 53, 17},
	{"ip6=2001:db8:0:1::1>2001:db8:1::1 udp=1000>53", 1000, 53, 17},
	{"ip6=2001:db8::1>2001:db8:1:1::1 udp=1000>53", 1000, 53, 17},
	{"ip6=2001:db8:1::1>2001:db8::1 udp=1000>53", 1000, 53, 17},
	{"ip6=2001:db8::1>2001:db8:1::1 frag=64 udp=1000>53", 0, 0, 17},
	{"ip6=2001:db8::1>2001:db8:1::1 icmp6", 0, 0, 58},
	{"ip6=fe80::1>fe80::9 udp=1000>53", 1000, 53, 17},
	{"ip6=fe80::2>fe80::9 udp=1000>53", 1000, 53, 17},
	{"ip6=fe80::1>fe80::8 udp=1000>53", 1000, 53, 17},
	{"ip6=64:ff9b::192.0.2.1>64:ff9b::192.0.2.2 udp=1000>53", 1000, 53, 17},
	{"ip6=64:ff9b::192.0.2.2>64:ff9b::192.0.2.1 udp=1000>53", 1000, 53, 17},
};
#define PACKETS ARRAY_SIZE(rows)

static struct frame frames[PACKETS];
static uint8_t addresses[PACKETS][2][16]; /* SOURCE, DEST */
static uint16_t vlans[PACKETS];           /* of the first tag; 0: none */

/* A key, and how long its addresses are, by family. */
struct key {
	unsigned int parts;
	unsigned int len4[2], len6[2];
	char words[80];
};

static struct harness *h; /* of the group */
static uint64_t now_ns = NS_PER_DAY;
static uint64_t seed = 20;

/* ---- the second formula */

static bool is_ipv4(size_t packet)
{
	return strstr(rows[packet].words, "ip4=") != NULL;
}

static bool begins(const uint8_t a[16], const char *with, unsigned int bits)
{
	uint8_t addr[16], len;

	assert_int_equal(prefix_parse(with, addr, &len, NULL), 0);
	for (unsigned int i = 0; i < bits; i++)
		if ((a[i / 8] ^ addr[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

/* Bits of an address that count. */
static unsigned int bits_of(const struct key *key, size_t packet, int which)
{
	const uint8_t *addr = addresses[packet][which];

	if (is_ipv4(packet))
		return 96 + key->len4[which];
	if (key->len6[which] == 64 && (begins(addr, "fe80::", 10) || begins(addr, "64:ff9b::", 96)))
		return 128;
	return key->len6[which];
}

static bool same_address(const struct key *key, size_t a, size_t b, int which)
{
	unsigned int bits = bits_of(key, a, which);

	if (is_ipv4(a) != is_ipv4(b) || bits != bits_of(key, b, which))
		return false;
	for (unsigned int i = 0; i < bits; i++)
		if ((addresses[a][which][i / 8] ^ addresses[b][which][i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

static bool same_key(const struct key *key, size_t a, size_t b)
{
	for (int which = SOURCE; which <= DEST; which++)
		if (key->parts & 1 << which && !same_address(key, a, b, which))
			return false;
	return !(key->parts & 1 << SPORT && rows[a].sport != rows[b].sport) &&
	       !(key->parts & 1 << DPORT && rows[a].dport != rows[b].dport) &&
	       !(key->parts & 1 << PROTO && rows[a].proto != rows[b].proto) &&
	       !(key->parts & 1 << VLAN && vlans[a] != vlans[b]);
}

/* ---- keys in words */

static void lengths_draw(struct key *key, int which, bool usual)
{
	static const unsigned int lens4[] = {0, 23, 24, 31, 32}, lens6[] = {0, 48, 63, 64, 128};
	bool both = key->parts & 1 << SOURCE && key->parts & 1 << DEST;

	key->len4[which] = usual ? 32 : lens4[random_under(&seed, ARRAY_SIZE(lens4))];
	key->len6[which] = usual ? both ? 128 : 64 : lens6[random_under(&seed, ARRAY_SIZE(lens6))];
}

/* The parts in an order that is drawn. */
static void key_draw(struct key *key, unsigned int parts, bool usual)
{
	size_t used = 0, first = random_under(&seed, PARTS);

	*key = (struct key){.parts = parts};
	lengths_draw(key, SOURCE, usual);
	lengths_draw(key, DEST, usual);
	for (size_t i = 0; i < PARTS; i++) {
		size_t part = (first + i) % PARTS;

		if (!(parts & 1 << part))
			continue;
		used += sprintf(key->words + used, "%s%s", used ? "+" : "", part_words[part]);
		if (!usual && part <= DEST)
			used += sprintf(key->words + used, "/%u,%u", key->len4[part],
					key->len6[part]);
	}
}

/* ---- */

/* States of before are over. Each packet comes again within the 52 days after which the numbers of
 * a sliding window's slots do (algorithm/sliding_window.h). */
static void time_pass(void)
{
	now_ns += NS_PER_DAY;
	harness_clock(h, now_ns);
}

static void pair_check(const char *rule, const struct key *key, size_t a, size_t b)
{
	enum rl_reason wanted = same_key(key, a, b) ? RL_REASON_OVER : RL_REASON_WITHIN, found;

	time_pass();
	found = harness_run(h, &frames[a]);
	if (found != RL_REASON_WITHIN)
		fail_msg("%s: \"%s\" is %s, not within", rule, rows[a].words, reason_name(found));
	found = harness_run(h, &frames[b]);
	if (found != wanted)
		fail_msg("%s: behind \"%s\", \"%s\" is %s, not %s", rule, rows[a].words,
			 rows[b].words, reason_name(found), reason_name(wanted));
}

/* The state of a key is found by its first address, unless it is a bucket in the hot table and that
 * is not all that it takes to find it. */
static void forgiven_check(const char *rule, const struct key *key, size_t packet, bool hot)
{
	int numbers = __builtin_popcount(key->parts & (1 << SPORT | 1 << DPORT | 1 << VLAN));
	bool both = key->parts & 1 << SOURCE && key->parts & 1 << DEST;
	bool found = key->parts & (1 << SOURCE | 1 << DEST);
	int first = key->parts & 1 << SOURCE ? SOURCE : DEST;

	if (hot && (both || numbers > 1))
		found = false;
	time_pass();
	assert_int_equal(harness_run(h, &frames[packet]), RL_REASON_WITHIN);
	assert_int_equal(harness_run(h, &frames[packet]), RL_REASON_OVER);
	if (!harness_forgive(h, addresses[packet][first]) == found)
		fail_msg("%s: the state of \"%s\" was%s found", rule, rows[packet].words,
			 found ? " not" : "");
	assert_int_equal(harness_run(h, &frames[packet]),
			 found ? RL_REASON_WITHIN : RL_REASON_OVER);
}

static void key_check(enum rl_table table, unsigned int parts, bool usual)
{
	enum rl_algorithm algorithm =
		usual ? RL_TOKEN_BUCKET : random_under(&seed, RL_ALGORITHM_COUNT);
	char limit[80], rule[200];
	struct key key;

	key_draw(&key, parts, usual);
	limit_of(limit, sizeof(limit), algorithm, 1);
	snprintf(rule, sizeof(rule), "any limit %s per %s", limit, key.words);
	time_pass();
	harness_renew(h, rule);
	for (size_t a = 0; a < PACKETS; a++)
		for (size_t b = 0; b < PACKETS; b++)
			pair_check(rule, &key, a, b);
	if (algorithm == RL_TOKEN_BUCKET || algorithm == RL_LEAKY_BUCKET)
		for (size_t a = 0; a < PACKETS; a += PACKETS / 2)
			forgiven_check(rule, &key, a, table == RL_TABLE_HOT);
}

static void keys_check(enum rl_table table)
{
	h = harness_must_open(&(struct harness_options){
		.table = table, .seed = {20, 21}, .program_uses = RL_USE_KEY_PARTS | RL_USE_VLANS});
	cpu_stay(0);
	for (unsigned int parts = 1; parts < 1 << PARTS; parts++)
		for (int turn = 0; turn < 3; turn++)
			key_check(table, parts, !turn);
	harness_close(h);
}

TEST(keys_hot)
{
	keys_check(RL_TABLE_HOT);
}

TEST(keys_lru)
{
	keys_check(RL_TABLE_LRU);
}

/* A ban is the key's: others of the same address pass. */
TEST(ban_test)
{
	static const struct {
		const char *words;
		enum rl_reason reason;
	} steps[] = {
		{"ip4=192.0.2.1>198.51.100.1 udp=1>53", RL_REASON_WITHIN},
		{"ip4=192.0.2.2>198.51.100.1 tcp=2>53", RL_REASON_OVER},
		{"ip4=192.0.2.3>198.51.100.1 udp=3>53", RL_REASON_BANNED},
		{"ip4=192.0.2.1>198.51.100.1 udp=1>54", RL_REASON_WITHIN},
		{"ip4=192.0.2.1>198.51.100.2 udp=1>53", RL_REASON_WITHIN},
	};

	h = harness_must_open(&(struct harness_options){.program_uses = RL_USE_KEY_PARTS});
	harness_policy(h, "any limit 1/h burst 1 per dest+dport over ban 10m");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		harness_expect(h, "a ban of a service", steps[i].words, steps[i].reason);
	harness_close(h);
}

AT_START(packets_build)
{
	for (size_t i = 0; i < PACKETS; i++) {
		const char *words = rows[i].words;
		char from[64], to[64];
		uint8_t len;

		frame_build(&frames[i], words);
		if (words[0] == '8')
			vlans[i] = strtoul(strchr(words, '=') + 1, NULL, 0) & 0xfff;
		assert_int_equal(sscanf(strstr(words, "ip"), "ip%*c=%63[^>]>%63s", from, to), 2);
		assert_int_equal(prefix_parse(from, addresses[i][SOURCE], &len, NULL), 0);
		assert_int_equal(prefix_parse(to, addresses[i][DEST], &len, NULL), 0);
	}
}
