// SPDX-License-Identifier: GPL-2.0-only
/* One prefix changes in place: maps that are written as user/kernel/policy/prefix_write.c writes
 * them hold, after every change, the policy that a whole compilation of the same rules holds; and
 * nothing that is in force is overwritten on the way.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "compile/compile.h"
#include "compile_helpers.h"
#include "policy/parser.h"
#include "policy/policy.h"
#include "policy_helpers.h"
#include "turns.h"

#define RULES_ROOM       130 /* at most */
#define RULES_ROOM_FIRST 8
#define PREFIXES_ROOM    80

/* The maps of an imaginary instance. */
struct maps {
	struct compile_context ctx;
	struct rl_policy_header header;
	struct rl_rule rules[4 * RULES_ROOM]; /* of which 2 * ctx.rules_room are there */
	struct compiled_prefix trie[PREFIXES_ROOM + 1];
	uint32_t trie_count;
};

static struct maps maps_make(void)
{
	struct maps maps = {.ctx = roomy};

	maps.ctx.rules_max = RULES_ROOM;
	maps.ctx.rules_room = RULES_ROOM_FIRST;
	maps.ctx.prefixes_max = PREFIXES_ROOM;
	maps.ctx.slots_max = 2 * PREFIXES_ROOM;
	maps.ctx.hot = true;
	return maps;
}

static struct policy maps_policy(const struct maps *maps)
{
	struct compiled compiled = {
		.header = maps->header,
		.rules = (struct rl_rule *)&maps->rules[maps->header.rules_begin],
		.rule_count = maps->header.rules,
		.prefixes = (struct compiled_prefix *)maps->trie,
		.prefix_count = maps->trie_count,
	};
	struct policy policy = {0};

	assert_int_equal(policy_decompile(&compiled, &maps->ctx, &policy), 0);
	return policy;
}

/* A larger array has the same rules. Those in force stay as they are, and no half exceeds its own.
 */
static void rules_write(struct maps *maps, const struct compiled *compiled)
{
	uint32_t begin = compiled->header.rules_begin, first = begin + compiled->first_rule;
	uint32_t end = first + compiled->rule_count, room = compiled->rules_room;
	uint32_t in_force = maps->header.rules_begin + maps->header.rules;

	assert_in_range(room, maps->ctx.rules_room, 2 * RULES_ROOM - 1);
	maps->ctx.rules_room = room;
	assert_true(end - begin <= RULES_ROOM && end <= (begin < room ? room : 2 * room));
	assert_true(first >= in_force || end <= maps->header.rules_begin);
	if (compiled->rule_count)
		memcpy(&maps->rules[first], compiled->rules,
		       compiled->rule_count * sizeof(*compiled->rules));
}

static void whole_put(struct maps *maps, struct policy *next)
{
	CLEARED_POLICY struct policy current = maps_policy(maps);
	struct policy_errors errors;
	CLEARED_COMPILED struct compiled compiled;

	if (policy_compile(next, &current, &maps->header, false, &maps->ctx, &compiled, &errors))
		fail_msg("%s", errors.first[0].text);
	rules_write(maps, &compiled);
	maps->trie_count = compiled.prefix_count;
	if (compiled.prefix_count)
		memcpy(maps->trie, compiled.prefixes,
		       compiled.prefix_count * sizeof(*compiled.prefixes));
	maps->header = compiled.header;
}

static struct compiled_prefix *trie_find(struct maps *maps, const struct rl_prefix_key *key)
{
	for (uint32_t i = 0; i < maps->trie_count; i++)
		if (!memcmp(&maps->trie[i].key, key, sizeof(*key)))
			return &maps->trie[i];
	return NULL;
}

static void trie_put(struct maps *maps, const struct rl_prefix_key *key,
		     const struct compiled *compiled)
{
	struct compiled_prefix *at = trie_find(maps, key);

	if (!compiled->prefix_count && at)
		*at = maps->trie[--maps->trie_count];
	if (!compiled->prefix_count)
		return;
	assert_memory_equal(&compiled->prefixes[0].key, key, sizeof(*key));
	if (!at)
		at = &maps->trie[maps->trie_count++];
	assert_true(maps->trie_count <= PREFIXES_ROOM);
	*at = compiled->prefixes[0];
}

static struct policy prefix_rules(const struct policy *policy, const struct rule *prefix)
{
	struct policy rules = {0};

	policy_for_each (policy, rule)
		if (rule->kind == prefix->kind && rule->len == prefix->len &&
		    !memcmp(rule->addr, prefix->addr, sizeof(rule->addr)))
			assert_int_equal(policy_append(&rules, rule), 0);
	return rules;
}

/* The header claims no less of each prefix in the trie than is true. */
static void check_header(struct maps *maps)
{
	struct rl_policy_header *header = &maps->header;

	assert_int_equal(header->prefixes, maps->trie_count);
	for (uint32_t i = 0; i < maps->trie_count; i++) {
		const struct rl_prefix_key *key = &maps->trie[i].key;
		uint32_t len = key->len - RL_FAMILY_BITS;

		assert_int_equal(maps->trie[i].value.len, key->len);
		assert_true(key->len >= (key->family == 4 ? header->shortest4 : header->shortest6));
		assert_true(header->lengths[key->family == 6][len / 64] >> len % 64 & 1);
	}
}

static unsigned int classes_seen;

/* A limit whose refusals are remembered holds for every packet of their class. */
static void check_class(struct maps *maps)
{
	const struct rl_refusal_class *class = &maps->header.refusal_class;
	const __u64 *longer = &maps->header.lengths[1][1];

	assert_false(class->ipv6 && (longer[0] & ~1ull || longer[1])); /* of 65 bits and more */
	for (uint32_t i = 0; i < maps->header.rules; i++) {
		const struct rl_rule *rule = &maps->rules[maps->header.rules_begin + i];
		uint32_t asks = rule->match.flags & (RL_MATCH_PROTO | RL_MATCH_DPORT);

		if (!(rule->flags & RL_RULE_REFUSAL_CACHED) || !asks)
			continue;
		classes_seen++;
		assert_true(RL_REFUSES_CLASS(&maps->header));
		assert_int_equal(asks, class->match);
		assert_true(!(asks & RL_MATCH_PROTO) || rule->match.proto == class->proto);
		assert_true(!(asks & RL_MATCH_DPORT) ||
			    (rule->match.dport_first == class->dport_first &&
			     rule->match.dport_last == class->dport_last));
	}
}

/* Flags that concern other rules must not come or go in place. */
static void check_uses(struct maps *maps, const struct policy *policy)
{
	struct policy copy = {0}, none = {0};
	struct policy_errors errors;
	CLEARED_COMPILED struct compiled whole;

	policy_for_each (policy, rule)
		assert_int_equal(policy_append(&copy, rule), 0);
	assert_int_equal(
		policy_compile(&copy, &none, &maps->header, false, &maps->ctx, &whole, &errors), 0);
	assert_int_equal(
		whole.header.uses & ~maps->header.uses & ~(RL_USE_REFUSALS4 | RL_USE_REFUSALS6), 0);
	if (!(whole.header.uses & RL_USE_REFUSALS6) && whole.header.uses & RL_USE_REFUSALS4)
		assert_int_equal(maps->header.uses & RL_USE_REFUSALS6, 0);
	if (whole.header.uses & RL_USE_SOURCE_BANS)
		for (uint32_t i = 0; i < maps->header.rules; i++)
			assert_int_equal(maps->rules[maps->header.rules_begin + i].flags &
						 RL_RULE_REFUSAL_CACHED,
					 0);
	check_class(maps);
	policy_clear(&copy);
}

/* One change, in place where that can be. True if it was. */
static bool change(struct maps *maps, const struct rule *prefix, struct policy *next)
{
	CLEARED_POLICY struct policy policy = maps_policy(maps),
				     current = prefix_rules(&policy, prefix);
	struct rl_rule before[4 * RULES_ROOM];
	CLEARED_COMPILED struct compiled compiled = {0};
	struct rl_prefix_key key = {0};
	bool in_trie = false;
	int ret;

	if (prefix->kind == PREFIX_ADDR) {
		prefix_key_compile(prefix, &key);
		in_trie = trie_find(maps, &key);
	}
	ret = prefix_compile(prefix, in_trie, next, &current, &maps->header, &maps->ctx, &compiled);
	assert_true(!ret || ret == -EAGAIN);
	memcpy(before, maps->rules, sizeof(before));
	if (!ret) {
		rules_write(maps, &compiled);
		assert_memory_equal(&before[maps->header.rules_begin],
				    &maps->rules[maps->header.rules_begin],
				    maps->header.rules * sizeof(before[0]));
		if (prefix->kind == PREFIX_ADDR)
			trie_put(maps, &key, &compiled);
		maps->header = compiled.header;
	} else {
		assert_int_equal(policy_prefix_replace(&policy, prefix, next), 0);
		whole_put(maps, &policy);
	}
	return !ret;
}

static const char *const prefixes[] = {
	"any",      "device",       "10.0.0.0/8",    "10.1.0.0/16",  "10.1.2.3",
	"10.1.2.4", "0.0.0.0/0",    "2001:db8::/32", "2001:db8::1",  "2001:db8:1::/64",
	"::/0",     "192.0.2.0/24", "198.51.100.7",  "198.51.100.8", "2001:db8:1::1/128",
};
static const char *const actions[] = {
	"allow",
	"deny",
	"deny for 1h",
	"limit 9/s",
	"udp limit 9/s",
	"tcp deny",
	"limit leaky-bucket 5/s",
	"limit 1mbit",
	"limit sliding-window 9/s",
	"new-source limit 9/s",
	"limit 60/m burst 60",
	"udp limit 9/s over ban 1m source",
};

static struct rule random_pick(void)
{
	char line[RULE_TEXT_MAX];
	const char *prefix = prefixes[random_below(ARRAY_SIZE(prefixes))];

	do
		snprintf(line, sizeof(line), "rule %s %s", prefix,
			 actions[random_below(ARRAY_SIZE(actions))]);
	while (!strncmp(line, "rule device", 11) && !strstr(line, "limit"));
	return must_parse(line, &on_xdp);
}

static void assert_same(const struct policy *a, const struct policy *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_int_equal(rule_compare(&a->rules[i], &b->rules[i]), 0);
		assert_int_equal(a->rules[i].action, b->rules[i].action);
		assert_memory_equal(&a->rules[i].limit, &b->rules[i].limit,
				    sizeof(a->rules[i].limit));
		assert_true(a->rules[i].expires_ns == b->rules[i].expires_ns);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(b->rules[k].counter_id, b->rules[i].counter_id);
	}
}

/* A rule in force before and after keeps its counters, state and lane. */
static void check_kept(const struct policy *before, const struct policy *after)
{
	policy_for_each (after, rule) {
		const struct rule *old = policy_find(before, rule);

		if (!old)
			continue;
		assert_int_equal(rule->counter_id, old->counter_id);
		if (old->action == RL_ACTION_LIMIT && rule->action == RL_ACTION_LIMIT &&
		    old->limit.algorithm == rule->limit.algorithm)
			assert_int_equal(rule->limit_id, old->limit_id);
	}
}

static void one_change(struct maps *maps, unsigned int *in_place)
{
	struct policy model = maps_policy(maps), after, next;
	CLEARED_POLICY struct policy before = maps_policy(maps);
	struct rule rule = random_pick();
	uint64_t generation = maps->header.generation;

	next = prefix_rules(&model, &rule);
	if (random_below(3))
		assert_int_equal(policy_put(&next, &rule), 0);
	else
		policy_remove(&next, &rule);
	if (next.count > RL_GROUP_MAX || (random_below(60) == 0))
		policy_clear(&next);
	*in_place += change(maps, &rule, &next);
	for (size_t i = 0; i < next.count; i++)
		if (next.rules[i].for_ns && !next.rules[i].expires_ns)
			next.rules[i].expires_ns = maps->ctx.now_ns + next.rules[i].for_ns;
	assert_int_equal(maps->header.generation, generation + 1);
	assert_int_equal(policy_prefix_replace(&model, &rule, &next), 0);
	after = maps_policy(maps);
	assert_same(&model, &after);
	check_kept(&before, &after);
	check_header(maps);
	check_uses(maps, &after);
	policy_clear(&next);
	policy_clear(&model);
	policy_clear(&after);
}

TEST(changes_test)
{
	struct maps maps = maps_make();
	unsigned int in_place = 0, count = TURNS(20000);

	random_start(20261122);
	for (unsigned int i = 0; i < count; i++) {
		struct policy anew = {0};

		if (random_below(80) == 0) {
			if (random_below(2))
				anew = must_parse_policy(
					"rule any udp limit 9/s; rule 10.0.0.0/8 deny");
			whole_put(&maps, &anew);
			policy_clear(&anew);
		}
		maps.ctx.now_ns += random_below(NS_PER_MINUTE);
		one_change(&maps, &in_place);
	}
	assert_true(in_place > count / 2);
	assert_true(in_place < count);
	assert_true(classes_seen > 0);
}

/* ---- what can and what cannot be changed in place */

static const struct place_row {
	const char *name, *policy, *rule;
	bool in_place;
} places[] = {
	{"a deny beside others", "10.0.0.0/8 deny; rule 11.0.0.0/8 deny", "12.0.0.1 deny", true},
	{"a deny around others", "10.1.0.0/16 deny; rule 10.2.0.0/16 deny", "10.0.0.0/8 deny",
	 true},
	{"a limit in place of a deny", "10.0.0.0/8 deny", "10.0.0.0/8 limit 9/s", true},
	{"any", "10.0.0.0/8 deny; rule any limit 9/s", "any limit 8/s", true},
	{"the device's limit", "10.0.0.0/8 deny; rule device limit 9/s", "device limit 8/s", true},
	{"a deny beside a class", "10.0.0.0/8 deny; rule any udp limit 9/s", "10.0.0.1 deny", true},
	{"a limit beside a class", "10.0.0.0/8 deny; rule any udp limit 9/s", "10.0.0.1 limit 9/s",
	 false},
	{"the first class", "10.0.0.0/8 deny", "any udp limit 9/s", true},
	{"the first window", "10.0.0.0/8 deny", "10.0.0.1 limit sliding-window 9/s", true},
	{"the first prefix", "any deny", "10.0.0.0/8 deny", false},
	{"the first ban of sources", "10.0.0.0/8 deny; rule any limit 9/s",
	 "10.0.0.1 limit 9/s over ban 1h source", false},
	{"another ban of sources", "10.0.0.0/8 limit 9/s over ban 1h source; rule any limit 9/s",
	 "10.0.0.1 limit 9/s over ban 1h source", true},
	{"a device rule that not every packet meets", "10.0.0.0/8 deny; rule device limit 9/s",
	 "device udp limit 9/s", true},
};

ROWS(place_test, places, row)
{
	struct maps maps = maps_make();
	char text[RULE_TEXT_MAX];
	CLEARED_POLICY struct policy policy, next = {0};
	struct rule rule;

	snprintf(text, sizeof(text), "rule %s", row->policy);
	policy = must_parse_policy(text);
	whole_put(&maps, &policy);
	snprintf(text, sizeof(text), "rule %s", row->rule);
	rule = must_parse(text, &on_xdp);
	assert_int_equal(policy_put(&next, &rule), 0);
	assert_int_equal(change(&maps, &rule, &next), row->in_place);
}

/* A full half, or slots that are all given, take the whole policy, which finds room. */
TEST(room_test)
{
	struct policy policy = must_parse_policy("rule 10.0.0.0/8 deny; rule 11.0.0.0/8 deny");
	struct rule rule = must_parse("rule 10.0.0.0/8 limit 9/s", &on_xdp);
	struct maps maps = maps_make();
	unsigned int in_place = 0;

	maps.ctx.rules_room = RULES_ROOM;
	whole_put(&maps, &policy);
	for (unsigned int i = 0; i < 3 * RULES_ROOM; i++) {
		CLEARED_POLICY struct policy next = {0};

		assert_int_equal(policy_put(&next, &rule), 0);
		in_place += change(&maps, &rule, &next);
		assert_true(maps.header.rules <= RULES_ROOM);
	}
	assert_true(in_place >= 3 * RULES_ROOM - 3);
	assert_true(in_place < 3 * RULES_ROOM);
	policy_clear(&policy);
}
