// SPDX-License-Identifier: GPL-2.0-only
/* The sets of a policy: model to text, and which rules name them. */
#include "policy/sets/set.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "policy/named.h"

static int put_duration(char *buf, size_t size, const char *word, uint64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	if (!ns)
		return 0;
	duration_print(text, sizeof(text), ns);
	return snprintf(buf, size, " %s %s", word, text);
}

void set_shortest_default(uint8_t source, uint8_t out[2])
{
	out[0] = source == RL_SET_FILE ? 8 : 0;
	out[1] = source == RL_SET_FILE ? 19 : 0;
}

int set_print(char *buf, size_t size, const struct policy_set *set)
{
	const char *quote = strpbrk(set->path, " \t#") ? "\"" : "";
	char source[RL_SET_PATH_MAX + RL_SET_PICK_MAX + 16] = "", every[QUANTITY_TEXT_MAX + 8] = "";
	char max[24] = "", shortest[24] = "", timeout[QUANTITY_TEXT_MAX + 10] = "";
	uint8_t usual[2];

	if (set->source != RL_SET_DYNAMIC)
		snprintf(source, sizeof(source), " %s %s%s%s%s%s",
			 set->source == RL_SET_FILE ? "file" : "mmdb", quote, set->path, quote,
			 set->pick[0] ? " " : "", set->pick);
	put_duration(every, sizeof(every), "every", set->every_ns);
	if (set->max != RL_SET_MAX_DEFAULT)
		snprintf(max, sizeof(max), " max %u", set->max);
	set_shortest_default(set->source, usual);
	if (memcmp(usual, set->shortest, sizeof(usual)) != 0)
		snprintf(shortest, sizeof(shortest), " shortest /%u,%u", set->shortest[0],
			 set->shortest[1]);
	put_duration(timeout, sizeof(timeout), "timeout", set->timeout_ns);
	return snprintf(buf, size, "set %s%s%s%s%s%s%s%s", set->name, source, every, max, shortest,
			timeout, set->comment[0] ? " # " : "", set->comment);
}

static struct named named_sets(const struct policy *policy)
{
	return (struct named){policy->sets, policy->set_count, sizeof(*policy->sets)};
}

struct policy_set *policy_set_find(const struct policy *policy, const char *name)
{
	return named_find(named_sets(policy), name);
}

int policy_set_put(struct policy *policy, const struct policy_set *set)
{
	struct named list = named_put(named_sets(policy), set);

	if (!list.items)
		return -ENOMEM;
	policy->sets = list.items;
	policy->set_count = list.count;
	return 0;
}

bool same_set(const struct policy_set *a, const struct policy_set *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->path, b->path) &&
	       !strcmp(a->pick, b->pick) && !strcmp(a->comment, b->comment) &&
	       a->source == b->source && a->every_ns == b->every_ns &&
	       a->timeout_ns == b->timeout_ns && a->max == b->max &&
	       !memcmp(a->shortest, b->shortest, sizeof(a->shortest));
}

size_t policy_sets_diff(const struct policy *from, const struct policy *to, set_diff_fn tell,
			void *arg)
{
	struct named_place at = {0};
	const void *left, *right;
	size_t count = 0;

	while (named_next(named_sets(from), named_sets(to), &at, &left, &right)) {
		if (left && right && same_set(left, right))
			continue;
		if (tell)
			tell(left, right, arg);
		count++;
	}
	return count;
}

struct rule_sets rule_sets(const struct rule *rule)
{
	const struct match *match = &rule->match;
	struct rule_sets sets = {.column = {rule->set_column.prefix, rule->set_column.src,
					    rule->set_column.dst, rule->set_column.keep}};

	if (rule->kind == PREFIX_SET)
		sets.name[SET_PREFIX] = rule->set;
	if (match_names_set(match, RL_MATCH_SRC))
		sets.name[SET_SRC] = rule->extra->src_set;
	if (match_names_set(match, RL_MATCH_DST))
		sets.name[SET_DST] = rule->extra->dst_set;
	if (rule->limit.keep_for == RL_KEEP_SET)
		sets.name[SET_KEEP] = rule->keep_set;
	return sets;
}

static size_t rule_sets_missing(const struct rule *rule, const struct policy *known,
				set_refuse_fn refuse, void *arg)
{
	const struct rule_sets sets = rule_sets(rule);
	size_t count = 0;

	for (int i = 0; i < SET_ROLES; i++) {
		if (!sets.name[i] || policy_set_find(known, sets.name[i]))
			continue;
		if (refuse)
			refuse(rule, sets.column[i], sets.name[i], arg);
		count++;
	}
	return count;
}

size_t policy_sets_missing(const struct policy *policy, const struct policy *known,
			   set_refuse_fn refuse, void *arg)
{
	size_t count = 0;

	for (size_t i = 0; i < policy->alarm_count; i++)
		count += rule_sets_missing(&policy->alarms[i].counts, known, refuse, arg);
	policy_for_each (policy, rule)
		count += rule_sets_missing(rule, known, refuse, arg);
	return count;
}

static bool rule_names(const struct rule *rule, const char *name)
{
	const struct rule_sets sets = rule_sets(rule);

	for (int i = 0; i < SET_ROLES; i++)
		if (sets.name[i] && !strcmp(sets.name[i], name))
			return true;
	return false;
}

bool set_is_named(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->alarm_count; i++)
		if (rule_names(&policy->alarms[i].counts, name))
			return true;
	policy_for_each (policy, rule)
		if (rule_names(rule, name))
			return true;
	return false;
}
