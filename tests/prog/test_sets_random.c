// SPDX-License-Identifier: GPL-2.0-only
/* Random policies with sets, members that come and go, and packets: each is held against all rules
 * and all members, one by one, from the longest prefix on. Verdicts agree, and in the end the
 * counters of rules and sets. SEED and RUNS in the environment choose other ones.
 */
#include <stdlib.h>
#include <string.h>

#include "algorithm/member_hash.h"
#include "base/units.h"
#include "harness.h"
#include "kernel/sets/sets.h"

#define RUNS        9
#define PACKETS     20000
#define SETS_MAX    16
#define WANTS_MAX   64
#define MEMBERS_MAX 1200
#define BATCH_MAX   24

static uint64_t seed, run_seed;

static uint32_t draw(uint32_t bound)
{
	return random_under(&seed, bound);
}

/* ---- addresses that share beginnings of many lengths */

static const uint8_t lengths4[] = {0, 7, 8, 11, 12, 13, 20, 24, 30, 31, 32};
static const uint8_t lengths6[] = {0, 3, 16, 29, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128};

static uint8_t length_draw(bool ip6)
{
	return ip6 ? lengths6[draw(ARRAY_SIZE(lengths6))]
		   : RL_MAPPED_BITS + lengths4[draw(ARRAY_SIZE(lengths4))];
}

static void address_draw(bool ip6, uint8_t out[16])
{
	uint8_t first[16], len = length_draw(ip6);

	if (ip6)
		address_ip6(first, 7, 1);
	else
		address_ip4(first, 0x070605);
	prefix_mask(out, first, len);
	for (int bit = len; bit < 128; bit++)
		if (draw(2))
			out[bit / 8] |= 0x80 >> bit % 8;
}

/* Most often the address with nothing else. */
static void prefix_draw(bool ip6, uint8_t addr[16], uint8_t *len)
{
	uint8_t any[16];

	*len = draw(3) ? length_draw(ip6) : 128;
	address_draw(ip6, any);
	prefix_mask(addr, any, *len);
}

/* ---- rules */

enum place { DEVICE = -3, ANY, PREFIX }; /* or the number of a set */
enum matched { ALL, TCP, UDP, DNS, GRE, SRC, DST, NOT_SRC, MATCHES };

struct want {
	char text[160];
	int place;
	uint8_t addr[16], len; /* of PREFIX */
	enum matched match;
	int set; /* of SRC, DST, NOT_SRC */
	enum rl_action action;
	uint64_t counted;
};

static struct want rules[WANTS_MAX];
static int rule_count, set_count, set_limits;
static bool by_dest, has_extras;

static const char *const match_words[MATCHES] = {
	"", "tcp", "udp", "udp dport 53", "gre", "src @s%02d", "dst @s%02d", "not src @s%02d"};
static const char *const action_words[] = {
	[RL_ACTION_ALLOW] = "allow",
	[RL_ACTION_DENY] = "deny",
	[RL_ACTION_LIMIT] = "limit 900k/s burst 900k",
};

static void place_print(const struct want *rule, char *out, size_t size)
{
	if (rule->place == DEVICE)
		snprintf(out, size, "device");
	else if (rule->place == ANY)
		snprintf(out, size, "any");
	else if (rule->place == PREFIX)
		prefix_print(out, size, rule->addr, rule->len);
	else
		snprintf(out, size, "@s%02d", rule->place);
}

static bool same_identity(const struct want *a, const struct want *b)
{
	return a->place == b->place && a->match == b->match && a->set == b->set &&
	       (a->place != PREFIX || (a->len == b->len && !memcmp(a->addr, b->addr, 16)));
}

/* At most six limits of sets, and two of any other place, meet. */
static bool may_be_limit(const struct want *rule)
{
	int there = 0;

	if (rule->place >= 0)
		return set_limits < 6;
	for (int i = 0; i < rule_count; i++)
		there += rules[i].action == RL_ACTION_LIMIT && rules[i].place == rule->place &&
			 (rule->place != PREFIX || rules[i].len == rule->len);
	return there < 2;
}

static void rule_draw(void)
{
	struct want rule = {.place = (int)draw(set_count + 6) - 3, .set = -1};
	char place[PREFIX_TEXT_MAX + 8], match[64];

	if (rule.place >= set_count)
		rule.place = PREFIX;
	if (rule.place == PREFIX)
		prefix_draw(draw(2), rule.addr, &rule.len);
	rule.match = draw(has_extras ? MATCHES : SRC);
	if (rule.match >= SRC)
		rule.set = draw(set_count);
	rule.action = draw(3) ? (draw(2) ? RL_ACTION_ALLOW : RL_ACTION_DENY) : RL_ACTION_LIMIT;
	if (rule.place == DEVICE && (rule.action == RL_ACTION_ALLOW || rule.match == ALL))
		return;
	for (int i = 0; i < rule_count; i++)
		if (same_identity(&rules[i], &rule))
			return;
	if (rule.action == RL_ACTION_LIMIT && !may_be_limit(&rule))
		return;
	set_limits += rule.action == RL_ACTION_LIMIT && rule.place >= 0;
	place_print(&rule, place, sizeof(place));
	snprintf(match, sizeof(match), match_words[rule.match], rule.set);
	snprintf(rule.text, sizeof(rule.text), "%s %s %s", place, match, action_words[rule.action]);
	rules[rule_count++] = rule;
}

static void policy_draw(struct harness *h)
{
	static char text[WANTS_MAX * 200];
	size_t used = 0;
	int wanted = 2 + draw(WANTS_MAX - 8);

	rule_count = set_limits = 0;
	set_count = 1 + draw(SETS_MAX);
	for (int i = 0; i < set_count; i++)
		used += snprintf(text + used, sizeof(text) - used, "set s%02d; ", i);
	for (int i = 0; i < wanted; i++)
		rule_draw();
	for (int i = 0; i < rule_count; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s; ", rules[i].text);
	assert_true(used < sizeof(text));
	harness_policy(h, "");
	harness_policy(h, text);
}

/* ---- members */

static struct want_member {
	struct member_entry entry;
	int set;
} members[MEMBERS_MAX + BATCH_MAX];
static int member_count;
static uint64_t matched[SETS_MAX];

static int member_at(int set, const struct member *member)
{
	for (int i = 0; i < member_count; i++)
		if (members[i].set == set &&
		    !memcmp(&members[i].entry.member, member, sizeof(*member)))
			return i;
	return -1;
}

static void member_forget(int at)
{
	members[at] = members[--member_count];
}

static void set_forget(int set)
{
	for (int i = member_count - 1; i >= 0; i--)
		if (members[i].set == set)
			member_forget(i);
}

static void member_note(const struct harness *h, int set, const struct member_entry *entry)
{
	int at = member_at(set, &entry->member);
	uint32_t *old = &members[at].entry.expires;

	if (at < 0)
		members[member_count++] = (struct want_member){*entry, set};
	else if (member_expired(*old, member_time(h->now_ns)) || !entry->expires ||
		 (*old && (int32_t)(entry->expires - *old) > 0))
		*old = entry->expires;
}

static void entry_draw(const struct harness *h, struct member_entry *out)
{
	*out = (struct member_entry){0};
	prefix_draw(draw(2), out->member.addr, &out->member.len);
	if (draw(2))
		out->expires = member_expiry(h->now_ns, NS_PER_MS * (1 + draw(4000)));
}

/* Something that is there, or anything. */
static void gone_draw(const struct harness *h, struct member *out)
{
	struct member_entry entry;

	entry_draw(h, &entry);
	*out = member_count && draw(4) ? members[draw(member_count)].entry.member : entry.member;
}

static void members_change(struct harness *h)
{
	struct member_entry entries[BATCH_MAX];
	struct member gone[BATCH_MAX];
	struct member_result result = {0};
	struct set_session session;
	uint32_t count = 1 + draw(BATCH_MAX), what = draw(20);
	int set = draw(set_count), number, ret;
	char name[16];

	if (member_count > MEMBERS_MAX - BATCH_MAX)
		what = 19;
	snprintf(name, sizeof(name), "s%02d", set);
	for (uint32_t i = 0; i < count; i++) {
		entry_draw(h, &entries[i]);
		gone_draw(h, &gone[i]);
	}
	assert_int_equal(set_session_open(&h->instance, true, &session), 0);
	number = set_session_find(&session, name);
	assert_true(number >= 0);
	if (what >= 17)
		set_forget(set);
	if (what == 19) {
		ret = member_table_flush(&session.table, number);
	} else if (what >= 17) {
		ret = member_table_swap(&session.table, number, entries, count, &result);
	} else if (what >= 10) {
		ret = member_table_delete(&session.table, number, gone, count, &result);
		for (uint32_t i = 0; i < count; i++)
			if (member_at(set, &gone[i]) >= 0)
				member_forget(member_at(set, &gone[i]));
	} else {
		ret = member_table_add(&session.table, number, entries, count, &result);
	}
	assert_int_equal(ret, 0);
	for (uint32_t i = 0; what != 19 && (what < 10 || what >= 17) && i < count; i++)
		member_note(h, set, &entries[i]);
	assert_int_equal(set_session_close(&session), 0);
}

/* ---- packets */

enum kind { KIND_TCP, KIND_DNS, KIND_UDP, KIND_LATER, KIND_GRE, KINDS };
static const char *const kind_words[KINDS] = {"tcp=1000>53", "udp=1000>53", "udp=1000>54",
					      "frag=100 udp=1000>53", "gre"};
static struct frame frames[2][KINDS];
static uint32_t given[RL_REASON_COUNT];

struct packet {
	enum kind kind;
	bool ip6;
	uint8_t src[16], dst[16];
	uint64_t src_sets, dst_sets;
};

static bool covers(const uint8_t prefix[16], uint8_t len, const uint8_t addr[16])
{
	return prefix_is_ipv4(prefix, len) == prefix_is_ipv4(addr, 128) &&
	       prefix_contains(prefix, len, addr);
}

/* By length: the sets with a member of it around the address. Returns all of them. */
static uint64_t sets_around(const struct harness *h, const uint8_t addr[16], uint64_t by_len[129])
{
	uint32_t now = member_time(h->now_ns);
	uint64_t sets = 0;

	memset(by_len, 0, 129 * sizeof(*by_len));
	for (int i = 0; i < member_count; i++) {
		const struct member_entry *entry = &members[i].entry;

		if (member_expired(entry->expires, now) ||
		    !covers(entry->member.addr, entry->member.len, addr))
			continue;
		by_len[entry->member.len] |= 1ull << members[i].set;
		sets |= 1ull << members[i].set;
	}
	return sets;
}

static bool matches(const struct want *rule, const struct packet *packet)
{
	switch (rule->match) {
	case TCP:
		return packet->kind == KIND_TCP;
	case UDP:
		return packet->kind >= KIND_DNS && packet->kind <= KIND_LATER;
	case DNS:
		return packet->kind == KIND_DNS;
	case GRE:
		return packet->kind == KIND_GRE;
	case SRC:
		return packet->src_sets >> rule->set & 1;
	case DST:
		return packet->dst_sets >> rule->set & 1;
	case NOT_SRC:
		return !(packet->src_sets >> rule->set & 1);
	default:
		return true;
	}
}

/* The rules that decide together: those of a place, or of all prefixes and sets of a length. */
struct level {
	int place; /* or PREFIX */
	int len;
	uint64_t sets;
	const uint8_t *addr;
};

static bool stands_in(const struct want *rule, const struct level *level)
{
	if (level->place != PREFIX)
		return rule->place == level->place;
	if (rule->place >= 0)
		return level->sets >> rule->place & 1;
	return rule->place == PREFIX && rule->len == level->len &&
	       covers(rule->addr, rule->len, level->addr);
}

/* The first match of the action: the prefix's own before those of sets, by number. */
static struct want *first_match(const struct level *level, const struct packet *packet,
				enum rl_action action)
{
	struct want *first = NULL;

	for (int i = 0; i < rule_count; i++)
		if (rules[i].action == action && stands_in(&rules[i], level) &&
		    matches(&rules[i], packet) && (!first || rules[i].place < first->place))
			first = &rules[i];
	return first;
}

/* The effect of a level on the packet; limits are marked in `limits`. RL_REASON_UNMATCHED: nothing.
 */
static enum rl_reason level_judge(const struct level *level, const struct packet *packet,
				  struct want **decides, bool limits[WANTS_MAX])
{
	enum rl_reason reason = RL_REASON_UNMATCHED;

	*decides = first_match(level, packet, RL_ACTION_ALLOW);
	if (*decides)
		return RL_REASON_ALLOWED;
	*decides = first_match(level, packet, RL_ACTION_DENY);
	if (*decides)
		return RL_REASON_DENIED;
	for (int i = 0; i < rule_count; i++)
		if (rules[i].action == RL_ACTION_LIMIT && stands_in(&rules[i], level) &&
		    matches(&rules[i], packet)) {
			limits[i] = true;
			reason = RL_REASON_WITHIN;
		}
	return reason;
}

static enum rl_reason prefixes_judge(const struct packet *packet, const uint64_t by_len[129],
				     struct want **decides, bool limits[WANTS_MAX])
{
	struct level level = {.place = PREFIX, .addr = by_dest ? packet->dst : packet->src};
	enum rl_reason reason = RL_REASON_UNMATCHED;

	for (level.len = 128; level.len >= 0 && reason == RL_REASON_UNMATCHED; level.len--) {
		level.sets = by_len[level.len];
		reason = level_judge(&level, packet, decides, limits);
	}
	if (reason != RL_REASON_UNMATCHED)
		return reason;
	level.place = ANY;
	return level_judge(&level, packet, decides, limits);
}

static void matched_note(const struct packet *packet)
{
	for (int set = 0; set < set_count; set++) {
		uint64_t bit = 1ull << set;
		bool named = false;

		for (int i = 0; i < rule_count; i++) {
			const struct want *rule = &rules[i];
			bool lookup = rule->place == set;

			if (rule->set == set ? rule->match == DST : lookup && by_dest)
				named |= packet->dst_sets & bit;
			if (rule->set == set ? rule->match != DST : lookup && !by_dest)
				named |= packet->src_sets & bit;
			if (lookup)
				named |= (by_dest ? packet->dst_sets : packet->src_sets) & bit;
		}
		matched[set] += named;
	}
}

static enum rl_reason judge(const struct harness *h, struct packet *packet)
{
	static const struct level device = {.place = DEVICE};
	bool limits[WANTS_MAX] = {false};
	struct want *decides, *device_decides;
	uint64_t src[129], dst[129];
	enum rl_reason reason;

	packet->src_sets = sets_around(h, packet->src, src);
	packet->dst_sets = sets_around(h, packet->dst, dst);
	matched_note(packet);
	reason = prefixes_judge(packet, by_dest ? dst : src, &decides, limits);
	if (!decides &&
	    level_judge(&device, packet, &device_decides, limits) != RL_REASON_UNMATCHED) {
		decides = device_decides;
		reason = decides ? RL_REASON_DENIED : RL_REASON_WITHIN;
	}
	if (decides)
		decides->counted++;
	for (int i = 0; !decides && i < rule_count; i++)
		rules[i].counted += limits[i];
	return reason;
}

static void packet_run(struct harness *h, uint32_t number)
{
	struct packet packet = {.kind = draw(KINDS), .ip6 = draw(2)};
	struct frame *frame = &frames[packet.ip6][packet.kind];
	enum rl_reason expected, found;
	char src[PREFIX_TEXT_MAX], dst[PREFIX_TEXT_MAX];

	address_draw(packet.ip6, packet.src);
	address_draw(packet.ip6, packet.dst);
	frame_source(frame, packet.src);
	frame_dest(frame, packet.dst);
	expected = judge(h, &packet);
	found = harness_run(h, frame);
	given[expected]++;
	if (found == expected)
		return;
	prefix_print(src, sizeof(src), packet.src, 128);
	prefix_print(dst, sizeof(dst), packet.dst, 128);
	for (int i = 0; i < rule_count; i++)
		print_message("# %s\n", rules[i].text);
	fail_msg("seed %llu: packet %u, %s > %s %s, is %s, not %s", (unsigned long long)run_seed,
		 number, src, dst, kind_words[packet.kind], reason_name(found),
		 reason_name(expected));
}

/* ---- a run */

/* Rules of one place and action: which of them counts where several match is not said. */
static void place_check(struct harness *h, const struct want *like)
{
	uint64_t expected = 0, found = 0;

	for (int i = 0; i < rule_count; i++) {
		struct rule_counters counters;

		if (rules[i].place != like->place || rules[i].action != like->action ||
		    (like->place == PREFIX &&
		     (rules[i].len != like->len || memcmp(rules[i].addr, like->addr, 16) != 0)))
			continue;
		counters = harness_counters(h, rules[i].text);
		if (like->action == RL_ACTION_LIMIT && counters.passed.packets != rules[i].counted)
			fail_msg("seed %llu: %s has counted %llu, not %llu",
				 (unsigned long long)run_seed, rules[i].text,
				 (unsigned long long)counters.passed.packets,
				 (unsigned long long)rules[i].counted);
		found += counters.passed.packets + counters.dropped.packets;
		expected += rules[i].counted;
	}
	if (found != expected)
		fail_msg("seed %llu: rules like %s have counted %llu, not %llu",
			 (unsigned long long)run_seed, like->text, (unsigned long long)found,
			 (unsigned long long)expected);
}

static void counters_check(struct harness *h)
{
	char name[16];

	for (int i = 0; i < rule_count; i++)
		place_check(h, &rules[i]);
	for (int set = 0; set < set_count; set++) {
		snprintf(name, sizeof(name), "s%02d", set);
		assert_int_equal(harness_set_matched(h, name), matched[set]);
	}
}

static void run(struct harness *h)
{
	member_count = 0;
	memset(matched, 0, sizeof(matched));
	policy_draw(h);
	for (int i = 0; i < 20; i++)
		members_change(h);
	for (uint32_t i = 0; i < PACKETS; i++) {
		packet_run(h, i);
		if (!draw(100))
			members_change(h);
		harness_clock(h, h->now_ns + draw(draw(1000) ? NS_PER_MS : 1000 * NS_PER_MS));
	}
	counters_check(h);
}

static const struct harness_options kinds[] = {
	{.hook = RL_HOOK_XDP, .program_uses = RL_USE_SET_RULES},
	{.hook = RL_HOOK_INGRESS, .program_uses = RL_USE_SET_RULES | RL_USE_EXTRAS | RL_USE_INDEX},
	{.hook = RL_HOOK_EGRESS,
	 .by_dest = true,
	 .program_uses = RL_USE_SET_RULES | RL_USE_EXTRAS | RL_USE_INDEX},
};

static uint64_t environment_number(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : usual;
}

static void frames_build(void)
{
	char words[64];

	for (int ip6 = 0; ip6 < 2; ip6++)
		for (int kind = 0; kind < KINDS; kind++) {
			snprintf(words, sizeof(words), "%s %s", ip6 ? "ip6" : "ip4",
				 kind_words[kind]);
			frame_build(&frames[ip6][kind], words);
		}
}

static void random_test(void **state)
{
	const struct harness_options *options = *state;
	uint64_t from = environment_number("SEED", 1), runs = environment_number("RUNS", RUNS / 3);
	struct harness_options own = *options;
	struct harness *h;

	own.sources = 65536;
	own.seed[0] = own.seed[1] = 17;
	by_dest = own.by_dest;
	has_extras = own.program_uses & RL_USE_EXTRAS;
	frames_build();
	h = harness_must_open(&own);
	for (uint64_t i = from; i < from + runs; i++) {
		run_seed = i;
		seed = (i * 3 + (options - kinds)) * 0x9e3779b97f4a7c15ull;
		/* Times of members go round in the middle of the first run. */
		harness_clock(h, i == from ? (1ull << (32 + RL_MEMBER_TIME_SHIFT)) -
						     5 * 1000 * NS_PER_MS
					   : h->now_ns + NS_PER_DAY);
		run(h);
	}
	assert_in_range(given[RL_REASON_ALLOWED], PACKETS / 50, runs * PACKETS);
	assert_in_range(given[RL_REASON_DENIED], PACKETS / 50, runs * PACKETS);
	assert_in_range(given[RL_REASON_WITHIN], PACKETS / 50, runs * PACKETS);
	memset(given, 0, sizeof(given));
	harness_close(h);
}

AT_START(kinds_add)
{
	static const char *const names[] = {"xdp", "ingress", "egress"};

	cpu_stay(0);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		test_add_named(random_test, &kinds[i], "%s", names[i]);
}
