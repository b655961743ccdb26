// SPDX-License-Identifier: GPL-2.0-only
/* Sets as map entries: their numbers, groups and words, what is refused, and the way back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compile_helpers.h"
#include "policy/sets/set.h"
#include "policy_helpers.h"

/* The policy compiled for a kernel that has these sets, by number; "" for a free number. */
static int compile_with(const char *text, const char *const *names, size_t count,
			struct policy *policy, struct compiled *out, struct policy_errors *errors)
{
	static struct rl_set sets[RL_SETS_MAX];
	const struct rl_policy_header header = {0};
	struct compile_context ctx = roomy;
	const struct policy none = {0};

	memset(sets, 0, sizeof(sets));
	for (size_t i = 0; i < count; i++)
		snprintf(sets[i].name, sizeof(sets[i].name), "%s", names[i]);
	ctx.sets = sets;
	*policy = must_parse_policy(text);
	return policy_compile(policy, &none, &header, false, &ctx, out, errors);
}

static void must_compile_with(const char *text, const char *const *names, size_t count,
			      struct policy *policy, struct compiled *out)
{
	struct policy_errors errors;

	if (compile_with(text, names, count, policy, out, &errors))
		fail_msg("%s: %s", text, errors.first[0].text);
	assert_layout(out, &roomy);
}

/* ---- numbers */

static const struct number_row {
	const char *text, *kernel[6];
	size_t count;
	const char *numbers; /* of the policy's sets, by name */
} numbers[] = {
	{"set a;set b;set c", {NULL}, 0, "0 1 2 "},
	{"set b;set c", {"", "c"}, 2, "0 1 "},
	{"set a;set b;set c", {"x", "b", "", "a"}, 4, "3 1 2 "},
	{"set a;set b", {"x", "y", "z"}, 3, "3 4 "},
	{"set y", {"x", "y", "z"}, 3, "1 "},
};

TEST(test_numbers)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char said[64] = "";
		uint64_t defined = 0;
		CLEARED_COMPILED struct compiled out;
		CLEARED_POLICY struct policy policy;

		must_compile_with(numbers[i].text, numbers[i].kernel, numbers[i].count, &policy,
				  &out);
		for (size_t n = 0; n < policy.set_count; n++) {
			uint32_t id = policy.sets[n].id;

			sprintf(said + strlen(said), "%u ", id);
			defined |= 1ull << id;
			assert_string_equal(out.groups->words[id].name, policy.sets[n].name);
		}
		assert_string_equal(said, numbers[i].numbers);
		assert_true(out.groups->defined == defined);
	}
}

/* 64 sets, in a kernel with the same, with others, and with one other. */
TEST(test_all_numbers)
{
	char text[1024] = "", own[RL_SETS_MAX][RL_SET_NAME_MAX + 1];
	const char *names[RL_SETS_MAX];
	struct policy_errors errors;
	struct compiled out = {0};
	struct policy policy;

	for (int i = 0; i < RL_SETS_MAX; i++) {
		sprintf(text + strlen(text), "set s%02d;", i);
		snprintf(own[i], sizeof(own[i]), "s%02d", RL_SETS_MAX - 1 - i);
		names[i] = own[i];
	}
	must_compile_with(text, NULL, 0, &policy, &out);
	assert_true(out.groups->defined == UINT64_MAX);
	compiled_clear(&out);
	policy_clear(&policy);
	must_compile_with(text, names, RL_SETS_MAX, &policy, &out);
	for (uint32_t i = 0; i < RL_SETS_MAX; i++)
		assert_int_equal(policy.sets[i].id, RL_SETS_MAX - 1 - i);
	compiled_clear(&out);
	policy_clear(&policy);
	names[5] = "other";
	assert_int_equal(compile_with(text, names, RL_SETS_MAX, &policy, &out, &errors), -E2BIG);
	assert_non_null(strstr(errors.first[0].text, "too many sets (at most 64): join lists"));
	assert_null(out.groups);
	policy_clear(&policy);
}

/* ---- entries */

/* Is it of the set's bit? */
static void assert_bit(const struct rl_condition *condition, enum rl_word word, enum rl_operator op,
		       uint32_t id)
{
	assert_int_equal(condition->word, word + id / 16);
	assert_int_equal(condition->op, op);
	assert_int_equal(condition->first, 1u << id % 16);
	assert_int_equal(condition->span, 1u << id % 16);
}

TEST(test_groups)
{
	static const char *const kernel[] = {"", "worse", "bad"};
	const struct rl_set_groups *groups;
	CLEARED_COMPILED struct compiled out;
	CLEARED_POLICY struct policy policy;

	must_compile_with("set bad;set worse;set by-src;set by-dst;set idle;"
			  "rule @bad allow;rule @bad udp deny;rule @worse limit 9/s;"
			  "rule any src @by-src not dst @by-dst deny;rule any dst @by-dst tcp deny;"
			  "rule 10.0.0.0/8 deny",
			  kernel, ARRAY_SIZE(kernel), &policy, &out);
	groups = out.groups;
	assert_int_equal(out.header.uses & RL_USE_SETS, RL_USE_SETS);
	assert_true(groups->prefixes == (1 << 1 | 1 << 2));
	assert_true(groups->src == 1ull << policy_set_find(&policy, "by-src")->id);
	assert_true(groups->dst == 1ull << policy_set_find(&policy, "by-dst")->id);
	assert_int_equal(groups->range[1].count, 1);
	assert_int_equal(groups->range[2].count, 2);
	for (uint32_t i = 0; i < out.rule_count; i++) {
		const struct rl_match *match = &out.rules[i].match;
		const struct rl_condition *condition = match->conditions;

		if (match->flags & RL_MATCH_SRC)
			assert_bit(condition++, RL_WORD_SRC_SETS, RL_BITS_ARE,
				   policy_set_find(&policy, "by-src")->id);
		if (match->flags & RL_MATCH_DST)
			assert_bit(condition++, RL_WORD_DST_SETS,
				   match->negated ? RL_BITS_ARE_NOT : RL_BITS_ARE,
				   policy_set_find(&policy, "by-dst")->id);
		assert_int_equal(match->count, condition - match->conditions);
	}
	assert_int_equal(out.prefix_count, 1);
}

/* The set for which a limit keeps a part: packets look for it, and the limit has its number. */
TEST(test_keep)
{
	static const char *const kernel[] = {"", "", "gold"};
	struct policy policy, back = {0};
	CLEARED_COMPILED struct compiled out;

	must_compile_with("set gold;rule device limit 9/s keep 1 for @gold", kernel,
			  ARRAY_SIZE(kernel), &policy, &out);
	assert_int_equal(out.groups->src, 1 << 2);
	assert_int_equal(out.header.uses & RL_USE_SET_RULES, RL_USE_SET_RULES);
	assert_int_equal(out.rules[0].parts.keep_for, RL_KEEP_SET + 2);
	assert_int_equal(policy_decompile(&out, &roomy, &back), 0);
	assert_string_equal(back.rules[0].keep_set, "gold");
	assert_true(set_is_named(&back, "gold"));
	policy_clear(&back);
	out.rules[0].limit.keep_for = RL_KEEP_SET + RL_SETS_MAX;
	assert_int_equal(policy_decompile(&out, &roomy, &back), -EBADMSG);
	policy_clear(&policy);
}

#define ODD "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31"

/* A rule that states all that it may, for any protocol or for TCP, has as many conditions as there
 * is room for. */
TEST(test_most)
{
	static const char *const rules[] = {"not udp", "tcp flags ack/ack"};
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		char text[512];
		CLEARED_COMPILED struct compiled out;
		CLEARED_POLICY struct policy policy;

		snprintf(text, sizeof(text),
			 "set a;rule any %s not syn not sport " ODD " not dport " ODD
			 " length 40-90 ttl 9-99 dscp ef vlan 9 not fragment src @a not dst @a "
			 "filter \"ip\" deny",
			 rules[i]);
		must_compile_with(text, NULL, 0, &policy, &out);
		assert_int_equal(out.rules[0].match.count, RL_CONDITIONS_MAX | RL_CONDITIONS_APART);
	}
}

TEST(test_without)
{
	CLEARED_COMPILED struct compiled out;
	CLEARED_POLICY struct policy policy;

	must_compile_with("rule any src 10.0.0.0/8 deny", NULL, 0, &policy, &out);
	assert_null(out.groups);
	assert_int_equal(out.header.uses & RL_USE_SETS, 0);
}

static void line_append(const char *line, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s\n", line);
}

/* Every word of a statement, and rules of all kinds, there and back under other numbers. */
TEST(test_back)
{
	static const char text[] =
		"set bad file \"/a b#c\" every 1h max 9 timeout 1d # from the list\n"
		"set de mmdb /g country DE,FR every 2d\n"
		"set free\n"
		"rule device tcp src @bad deny\n"
		"rule device limit 1000/second burst 100 keep 20 for @free\n"
		"rule any not dst @de deny\n"
		"rule @bad udp deny\n"
		"rule @bad limit 9/second burst 5 per source/24,56\n"
		"rule @free allow\n"
		"rule 10.0.0.0/8 src @free not dst @bad limit 9/second burst 5 for 1h\n";
	static const char *const kernel[] = {"x", "free", "y", "bad"};
	CLEARED_POLICY struct policy policy, back = {0};
	char said[4096] = "";
	CLEARED_COMPILED struct compiled out;

	must_compile_with(text, kernel, ARRAY_SIZE(kernel), &policy, &out);
	assert_int_equal(policy_decompile(&out, &roomy, &back), 0);
	policy_lines(&back, &on_xdp, line_append, said);
	assert_string_equal(said, text);
	assert_int_equal(policy_set_find(&back, "bad")->id, 3);
	assert_int_equal(policy_diff(&policy, &back, NULL, NULL), 0);
}

/* A rule keeps its identity while sets come and go. */
TEST(test_inherit)
{
	struct force force = {.ctx = roomy};
	const struct rule *rule;
	uint32_t limit, other;

	force_put(&force,
		  "set a;set b;rule @a limit 9/s;rule @b limit 9/s;rule any src @b limit 7/s",
		  false);
	limit = force_find(&force, "rule @b limit 9/s")->limit_id;
	other = force_find(&force, "rule any src @b limit 7/s")->limit_id;
	force_put(&force,
		  "set b;set c;rule @c limit 9/s;rule @b limit 8/s;rule any src @b limit 6/s;"
		  "rule any src @c limit 7/s",
		  false);
	rule = force_find(&force, "rule @b limit 8/s");
	assert_int_equal(rule->limit_id, limit);
	assert_int_equal(force_find(&force, "rule any src @b limit 6/s")->limit_id, other);
	assert_true(force_find(&force, "rule @c limit 9/s")->limit_id != limit);
	assert_true(force_find(&force, "rule any src @c limit 7/s")->limit_id != other);
	force_clear(&force);
}

/* ---- what is refused */

#define SETS16                                                                           \
	"set a;set b;set c;set d;set e;set f;set g;set h;set i;set j;set k;set l;set m;" \
	"set n;set o;set p;"
#define DENY16                                                                           \
	"rule @a deny;rule @b deny;rule @c deny;rule @d deny;rule @e deny;rule @f deny;" \
	"rule @g deny;rule @h deny;rule @i deny;rule @j deny;rule @k deny;rule @l deny;" \
	"rule @m deny;rule @n deny;rule @o deny;rule @p deny;"

#define LIMITS4 "rule @a limit 9/s;rule @a udp limit 9/s;rule @b limit 9/s;rule @b udp limit 9/s;"

static const struct {
	const char *name, *text;
	size_t errors;
	const char *says;
} refusals[] = {
	{"16 sets with rules", SETS16 DENY16},
	{"a 17th", SETS16 "set q;" DENY16 "rule @q deny", 1,
	 "rule @q deny: too many sets have rules of their own (at most 16): write src @NAME"},
	{"a 17th as match", SETS16 "set q;" DENY16 "rule any src @q deny"},
	{"8 limits of two sets",
	 SETS16 LIMITS4 "rule @c limit 9/s;rule @c tcp dport 9 limit 9/s;"
			"rule @d limit 9/s;rule @e limit 9/s;rule @f limit 9/s"},
	{"9 limits of seven sets",
	 SETS16 LIMITS4 "rule @c limit 9/s;rule @d limit 9/s;"
			"rule @e limit 9/s;rule @f limit 9/s;rule @g limit 9/s",
	 9, "and 8 others of sets that its address may be in (at most 8)"},
	{"9 limits of one set",
	 "set a;rule @a limit 9/s;rule @a udp limit 9/s;rule @a udp dport 1 limit 9/s;"
	 "rule @a udp dport 1-2 limit 9/s;rule @a udp dport 1-3 limit 9/s;"
	 "rule @a udp dport 1-4 limit 9/s;rule @a udp dport 1-5 limit 9/s;"
	 "rule @a udp dport 1-6 limit 9/s;rule @a udp dport 1-7 limit 9/s",
	 9, "and 8 others of its prefix (at most 8)"},
	{"limits of sets and of a prefix, 8 of them",
	 SETS16 LIMITS4 "rule @c limit 9/s;rule 10.0.0.0/8 limit 9/s;rule 10.0.0.0/8 udp limit 9/s;"
			"rule 10.0.0.0/8 udp dport 1 limit 9/s"},
	{"limits of sets and of a prefix, 9 of them",
	 SETS16 LIMITS4
	 "rule @c limit 9/s;rule @d limit 9/s;rule 10.0.0.0/8 limit 9/s;"
	 "rule 10.0.0.0/8 udp limit 9/s;rule 10.0.0.0/8 udp dport 1 limit 9/s;rule 11.0.0.0/8 limit 9/s",
	 9, "and 8 others of sets that its address may be in (at most 8)"},
	{"limits of sets that a prefix excludes",
	 SETS16 "rule @a src 11.0.0.0/8 limit 9/s;" LIMITS4 "rule @c limit 9/s;rule @d limit 9/s;"
		"rule 10.0.0.0/8 limit 9/s;rule 10.0.0.0/8 udp limit 9/s"},
	{"any stands behind",
	 SETS16 LIMITS4 "rule @c limit 9/s;rule @d limit 9/s;rule any limit 9/s;"
			"rule any udp limit 9/s;rule any udp dport 1 limit 9/s"},
};

TEST(test_refusals)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct policy_errors errors;
		CLEARED_COMPILED struct compiled out = {0};
		CLEARED_POLICY struct policy policy;
		int ret = compile_with(refusals[i].text, NULL, 0, &policy, &out, &errors);

		if (errors.count != refusals[i].errors || !ret != !refusals[i].errors ||
		    (ret && !strstr(errors.first[0].text, refusals[i].says)))
			fail_msg("%s: %d, %zu errors: %s", refusals[i].name, ret, errors.count,
				 ret ? errors.first[0].text : "");
	}
}

/* A rule for the policy in force, which lacks the set. */
TEST(test_unknown)
{
	struct policy policy = {0}, none = {0};
	struct rule rule = must_parse("rule @bad deny", &on_xdp);
	const struct rl_policy_header header = {0};
	struct policy_errors errors;
	struct compiled out = {0};

	assert_int_equal(policy_put(&policy, &rule), 0);
	assert_int_equal(policy_compile(&policy, &none, &header, false, &roomy, &out, &errors),
			 -ENOENT);
	assert_string_equal(errors.first[0].text, "rule @bad deny: unknown set \"bad\": apply a "
						  "policy with a line \"set bad\" first");
	policy_clear(&policy);
}
