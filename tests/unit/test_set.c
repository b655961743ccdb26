// SPDX-License-Identifier: GPL-2.0-only
/* Sets in the policy language: statements as they are read and printed, each refusal with its
 * place, what two policies differ in, and random policies there and back.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"
#include "policy_helpers.h"

#define LONGEST  "a23456789012345678901234567890x" /* 31 */
#define PATH_50  "/23456789012345678901234567890123456789012345678/0"
#define PATH_255 PATH_50 PATH_50 PATH_50 PATH_50 PATH_50 "/2345"

static struct policy policy_of(const char *text)
{
	return must_parse_lines(text, &on_xdp);
}

/* ---- what is read */

static const struct {
	const char *text, *canonical; /* NULL: the same */
} statements[] = {
	{"set bad\n", NULL},
	{"set b\n", NULL},
	{"set " LONGEST "\n", NULL},
	{"set a-b_c9\n", NULL},
	{"set  bad\t max  7 \n", "set bad max 7\n"},
	{"set bad max 65536\n", "set bad\n"},
	{"set bad max 1\n", NULL},
	{"set bad max 16777216\n", NULL},
	{"set bad timeout 10m max 9\n", "set bad max 9 timeout 10m\n"},
	{"set bad timeout 600s\n", "set bad timeout 10m\n"},
	{"set bad timeout 2920d\n", NULL},
	{"set bad shortest /16,32\n", NULL},
	{"set bad shortest /0,0\n", "set bad\n"},
	{"set bad shortest /16\n", "set bad shortest /16,0\n"},
	{"set bad file /a shortest /8,19\n", "set bad file /a\n"},
	{"set bad shortest /16 file /a\n", "set bad file /a shortest /16,19\n"},
	{"set bad file /a timeout 1h shortest /0,0 max 9\n",
	 "set bad file /a max 9 shortest /0,0 timeout 1h\n"},
	{"set de mmdb /g.mmdb country DE shortest /4,12\n", NULL},
	{"set bad file /a\n", NULL},
	{"set bad every 1h file /a\n", "set bad file /a every 1h\n"},
	{"set bad file \"/a\"\n", "set bad file /a\n"},
	{"set bad file \"/a b\" every 60s\n", "set bad file \"/a b\" every 1m\n"},
	{"set bad file \"/a#b\"\n", NULL},
	{"set bad file \"/a#b\" # why\n", NULL},
	{"set bad file /a#b\n", "set bad file /a # b\n"},
	{"set bad file /\xc3\xa4\n", NULL},
	{"set bad file " PATH_255 "\n", NULL},
	{"set bad file \"" PATH_255 "\" every 1d\n", "set bad file " PATH_255 " every 1d\n"},
	{"set de mmdb /g.mmdb country DE\n", NULL},
	{"set de mmdb \"/g h.mmdb\" country DE,FR every 1d max 9 timeout 1h\n",
	 "set de mmdb \"/g h.mmdb\" country DE,FR every 1d max 9 timeout 1h\n"},
	{"set us max 9 mmdb /g asn 0,64496,4294967295\n",
	 "set us mmdb /g asn 0,64496,4294967295 max 9\n"},
	{"set bad # from the list\n", NULL},
	{"set bad max 7 #x\n", "set bad max 7 # x\n"},
	{"set bad #\n", "set bad\n"},
	{"set b\nset a\nrule any deny\nset c\n", "set a\nset b\nset c\nrule any deny\n"},
	/* rules */
	{"rule @bad deny\nset bad\n", "set bad\nrule @bad deny\n"},
	{"set bad\nrule @bad udp limit 9/s for 1h # x\n",
	 "set bad\nrule @bad udp limit 9/second burst 5 for 1h # x\n"},
	{"set bad\nrule any src @bad not dst @bad deny\n", NULL},
	{"set bad\nrule any not src @bad tcp deny\n", "set bad\nrule any tcp not src @bad deny\n"},
	{"set bad\nrule 10.0.0.0/8 src @bad deny\n", NULL},
	{"set bad\nrule 10.0.0.0/8 icmp src @bad dst 10.0.0.1 deny\n", NULL},
	{"set bad\nrule device src @bad deny\n", NULL},
	{"set bad\nrule @bad icmp deny\nrule @bad icmp6 deny\n",
	 "set bad\nrule @bad icmp deny\nrule @bad icmp6 deny\n"},
	{"set bad\nrule @bad limit 9/s per dest\n",
	 "set bad\nrule @bad limit 9/second burst 5 per dest\n"},
	{"set bad\nrule @bad limit 9/s per source/24,56\n",
	 "set bad\nrule @bad limit 9/second burst 5 per source/24,56\n"},
	{"set bad\nrule @bad limit 9/s per source\n",
	 "set bad\nrule @bad limit 9/second burst 5\n"},
	{"set bad\nrule @bad src @bad deny\n", NULL},
	{"set any\nset device\nrule @any deny\nrule @device deny\nrule any deny\nrule device tcp deny\n"
	 "rule 10.0.0.0/8 deny\n",
	 "set any\nset device\nrule device tcp deny\nrule any deny\nrule @any deny\n"
	 "rule @device deny\nrule 10.0.0.0/8 deny\n"},
	/* one identity */
	{"set b\nrule @b allow\nrule @b deny\n", "set b\nrule @b deny\n"},
	{"set b\nset c\nrule @b deny\nrule @c deny\n", NULL},
	{"set b\nset c\nrule any src @b deny\nrule any src @c deny\nrule any src 10.0.0.0/8 deny\n",
	 "set b\nset c\nrule any src 10.0.0.0/8 deny\nrule any src @b deny\nrule any src @c deny\n"},
};

TEST(test_statements)
{
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
		must_round_trip(statements[i].text, statements[i].canonical ?: statements[i].text,
				&on_xdp);
}

/* ---- what is refused */

static const struct refusal refusals[] = {
	{"set", 1, 4, "must be followed by the name of a set"},
	{"set # bad", 1, 5, "must be followed by the name of a set"},
	{"set Bad", 1, 5, "\"Bad\" is not the name of a set: write a lowercase letter"},
	{"set 9a", 1, 5, "is not the name of a set"},
	{"set b.d", 1, 5, "is not the name of a set"},
	{"set " LONGEST "y", 1, 5, "is not the name of a set"},
	{"set @bad", 1, 5, "\"@bad\" has an @, which rules have in front of a name: write bad"},
	{"set @\x1b[31m", 1, 5, "\"@\\x1b[31m\" is not the name of a set"},
	{"set bad worse", 1, 9, "\"worse\" is not an option of a set: write file PATH"},
	{"set bad max", 1, 12, "must be followed by a number"},
	{"set bad max 0", 1, 13, "out of range: write 1 to 16777216"},
	{"set bad max 16777217", 1, 13, "out of range"},
	{"set bad max 1k", 1, 13, "is not a number"},
	{"set bad max 1 max 2", 1, 15, "repeats an earlier word"},
	{"set bad timeout", 1, 16, "must be followed by"},
	{"set bad timeout 10", 1, 17, "\"10\" is not a duration"},
	{"set bad timeout 0s", 1, 17, ""},
	{"set bad timeout 2921d", 1, 17, "is too long: write up to 2920d"},
	{"set bad shortest", 1, 17, "must be followed by the shortest prefix of members"},
	{"set bad shortest 8,19", 1, 18, "write for example shortest /16"},
	{"set bad shortest /33", 1, 18, "(0 to 32 for IPv4, 0 to 128 for IPv6)"},
	{"set bad shortest /8,129", 1, 18, "is not the shortest prefix"},
	{"set bad shortest /8,", 1, 18, "is not the shortest prefix"},
	{"set bad shortest /0000000016", 1, 18, "is not the shortest prefix"},
	{"set bad every 1h", 1, 9, "needs a file that is looked at: add file PATH"},
	{"set bad file /a every 999ms", 1, 23, "is too short"},
	{"set bad file", 1, 13, "must be followed by the path of a file"},
	{"set bad file a", 1, 14, "is not the path of a file from / on"},
	{"set bad file \"\"", 1, 14, "is not the path of a file"},
	{"set bad file \"/a", 1, 14, "has no second quotation mark"},
	{"set bad file \"/a # x", 1, 14, "has no second quotation mark"},
	{"set bad file \"/a\"x", 1, 18, "is not an option of a set"},
	{"set bad file /a\"b", 1, 14, "has a quotation mark"},
	{"set bad file \"/a\x1b\"", 1, 14, "bytes that are not plain UTF-8"},
	{"set bad file \"/a\tb\"", 1, 14, "bytes that are not plain UTF-8"},
	{"set bad file /a\xff", 1, 14, "bytes that are not plain UTF-8"},
	{"set bad file " PATH_255 "x", 1, 14, "is longer than 255 bytes"},
	{"set bad file /a file /b", 1, 17, "repeats an earlier word"},
	{"set bad file /a mmdb /b country DE", 1, 17, "is a second source"},
	{"set bad mmdb /b", 1, 16, "must be followed by a country or an AS"},
	{"set bad mmdb /b land DE", 1, 17, "is not a country or an AS"},
	{"set bad mmdb /b country", 1, 24, "must be followed by a country"},
	{"set bad mmdb /b country de", 1, 25, "is not a list of countries"},
	{"set bad mmdb /b country DE,", 1, 25, "is not a list of countries"},
	{"set bad mmdb /b country ,DE", 1, 25, "is not a list of countries"},
	{"set bad mmdb /b country DEU", 1, 25, "is not a list of countries"},
	{"set bad mmdb /b asn AS64496", 1, 21, "is not a list of AS numbers"},
	{"set bad mmdb /b asn 4294967296", 1, 21, "is not a list of AS numbers"},
	{"set bad mmdb /b asn " PATH_50 PATH_50 PATH_50 PATH_50 PATH_50, 1, 21, ""},
	{"set bad mmdb /b asn 1000000001,1000000002,1000000003,1000000004,1000000005,1000000006,"
	 "1000000007,1000000008,1000000009,1000000010,1000000011,1000000012",
	 1, 21, "is too long: a set has room for"},
	/* rules */
	{"rule @ deny", 1, 6, "\"@\" is not the name of a set"},
	{"rule @Bad deny", 1, 6, "\"@Bad\" is not the name of a set"},
	{"set bad\nrule @bad", 2, 10, "must be followed by a match"},
	{"rule bad deny", 1, 6, "is not a prefix: write any, device, a set such as @badguys"},
	{"rule @bad deny", 1, 6, "unknown set \"bad\": add a line \"set bad\""},
	{"set bad\nrule any src @worse deny", 2, 14, "unknown set \"worse\""},
	{"set bad\nrule @bad tcp not dst @worse dport 22 deny", 2, 23, "unknown set \"worse\""},
	{"set bad\nrule any limit 9/s keep 1 for @worse", 2, 31, "unknown set \"worse\""},
	{"rule any @bad deny", 1, 10, "\"@bad\" is a set: write src or dst in front of it"},
	{"rule any not @bad deny", 1, 14, "\"@bad\" is a set: write src or dst in front of it"},
	{"set bad\nrule not @bad deny", 2, 6, "is not a prefix"},
	{"rule any src @ deny", 1, 14, "\"@\" is not the name of a set"},
	{"rule any src bad deny", 1, 14,
	 "is not an address: write for example 203.0.113.7, 2001:db8::/32 or "
	 "@badguys"},
	{"set bad\nrule any src @bad src @bad deny", 2, 19, "repeats an earlier word"},
	{"set bad\nrule any src @bad not src @bad deny", 2, 19, "is a second src"},
	{"set bad\nrule @bad allow per source", 2, 17, "is not allowed after allow"},
	{"rule device deny", 1, 13, "needs a match"},
	/* twice */
	{"set bad\n\nset bad max 9", 3, 5, "the set bad is there already: remove one of the two",
	 1},
	{"set bad\nset worse\nset bad", 3, 5, "the set bad is there already", 1},
};

TEST(test_refusals)
{
	must_fail_each(refusals, ARRAY_SIZE(refusals));
}

/* Two sets that one line names, each at its word; many lines. */
TEST(test_several_unknown)
{
	static const char text[] = "rule @a src @b dst @a deny\nset c\nrule @c dst @b deny\n";
	static const struct {
		uint32_t line, column;
		const char *name;
	} wanted[] = {{1, 6, "\"a\""}, {1, 13, "\"b\""}, {1, 20, "\"a\""}, {3, 13, "\"b\""}};
	struct policy_errors errors;

	must_fail(text, &on_xdp, &errors);
	assert_int_equal(errors.count, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_int_equal(errors.first[i].line, wanted[i].line);
		assert_int_equal(errors.first[i].column, wanted[i].column);
		assert_non_null(strstr(errors.first[i].text, wanted[i].name));
	}
}

TEST(test_too_many)
{
	char text[4096] = "";
	struct policy policy;

	for (int i = 0; i < RL_SETS_MAX; i++)
		sprintf(text + strlen(text), "set s%d\n", i);
	policy = policy_of(text);
	assert_int_equal(policy.set_count, RL_SETS_MAX);
	policy_clear(&policy);
	sprintf(text + strlen(text), "\nset one-more\n");
	must_fail_each(&(struct refusal){text, RL_SETS_MAX + 2, 5, "a policy has at most 64"}, 1);
}

/* Single rules, and files of rules for a policy in force. */
TEST(test_rules_alone)
{
	struct policy live = policy_of("set bad\nrule @bad deny\n"), out = {0};
	struct policy_context ctx = on_xdp;
	struct policy_errors errors;
	struct policy_error err;
	struct rule rule;
	bool found;

	ctx.known = &live;
	assert_int_equal(statement_parse("rule @bad udp deny", &ctx, &rule, &found, &err), 0);
	assert_string_equal(rule.set, "bad");
	assert_int_equal(selector_parse("@other", &ctx, &rule, &err), 0);
	assert_int_equal(rule.action, RL_ACTION_COUNT);
	assert_int_equal(statement_parse("set bad", &on_xdp, &rule, &found, &err), -EINVAL);
	assert_int_equal(err.column, 1);
	assert_non_null(strstr(err.text, "stands in a policy, not among rules"));
	assert_int_equal(policy_parse("rule @bad tcp deny", 18, &ctx, NULL, &out, &errors), 0);
	assert_int_equal(out.count, 1);
	policy_clear(&out);
	must_fail("set more", &ctx, &errors);
	assert_non_null(strstr(errors.first[0].text, "stands in a policy, not among rules"));
	must_fail("rule any deny\nrule any src @more deny", &ctx, &errors);
	assert_int_equal(errors.first[0].line, 2);
	assert_int_equal(errors.first[0].column, 14);
	assert_non_null(
		strstr(errors.first[0].text,
		       "unknown set \"more\": apply a policy with a line \"set more\" first"));
	must_fail("rule @bad dny\nrule any dny src @more", &ctx, &errors);
	assert_int_equal(errors.count, 3);
	assert_int_equal(errors.first[2].column, 18);
	policy_clear(&live);
}

/* ---- the model */

static void diff_append(const struct policy_set *from, const struct policy_set *to, void *arg)
{
	char *said = arg, line[SET_TEXT_MAX];

	assert_true(from || to);
	if (from) {
		set_print(line, sizeof(line), from);
		sprintf(said + strlen(said), "-%s;", line + strlen("set "));
	}
	if (to) {
		set_print(line, sizeof(line), to);
		sprintf(said + strlen(said), "+%s;", line + strlen("set "));
	}
}

TEST(test_diff)
{
	static const struct {
		const char *from, *to, *said;
		size_t count;
	} rows[] = {
		{"", "", "", 0},
		{"set a\nset b\n", "set b\nset a\n", "", 0},
		{"", "set a\n", "+a;", 1},
		{"set a\n", "", "-a;", 1},
		{"set b\nset c\n", "set a\nset c\nset d\n", "+a;-b;+d;", 3},
		{"set a max 9\n", "set a\n", "-a max 9;+a;", 1},
		{"set a timeout 1h\n", "set a timeout 60m\n", "", 0},
		{"set a file /x\n", "set a file /y\n", "-a file /x;+a file /y;", 1},
		{"set a file /x\n", "set a file /x every 1h\n", "-a file /x;+a file /x every 1h;",
		 1},
		{"set a mmdb /x asn 1\n", "set a mmdb /x asn 2\n",
		 "-a mmdb /x asn 1;+a mmdb /x asn 2;", 1},
		{"set a # x\n", "set a # y\n", "-a # x;+a # y;", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEARED_POLICY struct policy from = policy_of(rows[i].from),
					     to = policy_of(rows[i].to);
		char said[1024] = "";

		assert_int_equal(policy_sets_diff(&from, &to, diff_append, said), rows[i].count);
		assert_string_equal(said, rows[i].said);
	}
}

/* Any number of sets, in any order, stays sorted and can be found; copies replace. */
TEST(test_put)
{
	CLEARED_POLICY struct policy policy = {0}, copy = {0};
	struct policy_set set = {.max = 5};

	for (int i = 0; i < 64; i++) {
		snprintf(set.name, sizeof(set.name), "s%02d", i * 37 % 64);
		assert_int_equal(policy_set_put(&policy, &set), 0);
	}
	for (int i = 0; i < 64; i++) {
		snprintf(set.name, sizeof(set.name), "s%02d", i);
		assert_string_equal(policy.sets[i].name, set.name);
		assert_ptr_equal(policy_set_find(&policy, set.name), &policy.sets[i]);
	}
	assert_null(policy_set_find(&policy, "s"));
	assert_null(policy_set_find(&policy, "s640"));
	set = (struct policy_set){.name = "s07", .max = 6};
	assert_int_equal(policy_set_put(&copy, &set), 0);
	assert_int_equal(policy_names_copy(&copy, &policy), 0);
	assert_int_equal(copy.set_count, 64);
	assert_int_equal(policy_set_find(&copy, "s07")->max, 5);
}

/* ---- at random */

#define ROUNDS 300

static void random_set(char *text, const char *name)
{
	static const char *const sources[] = {"", " file /etc/l.txt", " file \"/a b#c\" every 1h",
					      " mmdb /g country DE,FR", " mmdb /g asn 1 every 2d"};
	static const char *const rests[] = {"",
					    " max 9",
					    " timeout 90s",
					    " shortest /24",
					    " timeout 1d shortest /8,19",
					    " max 77 timeout 1d",
					    " # why",
					    " max 65536 # \xc3\xa4"};

	sprintf(text + strlen(text), "set %s%s%s\n", name, sources[random_below(5)],
		rests[random_below(ARRAY_SIZE(rests))]);
}

TEST(test_random)
{
	size_t named = 0;

	random_start(77);
	for (int i = 0; i < ROUNDS; i++) {
		char text[32 * RULE_TEXT_MAX] = "", line[RULE_TEXT_MAX];
		uint64_t rules = random_below(16);

		random_set(text, "bad");
		for (uint64_t n = 0; n < rules; n++) {
			random_rule(line, &on_xdp);
			sprintf(text + strlen(text), "%s\n", line);
			named += strchr(line, '@') != NULL;
		}
		random_set(text, "worse");
		sprintf(text + strlen(text), "%s",
			"alarm attack when over 99/s for 1s until under 50/s for 1s\n"
			"alarm busy when over 99/s for 1s until under 50/s for 1s\n");
		must_round_trip(text, NULL, &on_xdp);
	}
	assert_true(named > ROUNDS);
}
