// SPDX-License-Identifier: GPL-2.0-only
/* The sets of a policy: model to text, and which rules name them. */
#include "set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

bool set_name_is_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	size_t len = strlen(name);

	return len && len <= RL_SET_NAME_MAX && strchr(letters, name[0]) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static int put_duration(char *buf, size_t size, const char *word, uint64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	if (!ns)
		return 0;
	duration_print(text, sizeof(text), ns);
	return snprintf(buf, size, " %s %s", word, text);
}

int set_print(char *buf, size_t size, const struct policy_set *set)
{
	const char *quote = strpbrk(set->path, " \t#") ? "\"" : "";
	char source[RL_SET_PATH_MAX + RL_SET_PICK_MAX + 16] = "", every[QUANTITY_TEXT_MAX + 8] = "";
	char max[24] = "", timeout[QUANTITY_TEXT_MAX + 10] = "";

	if (set->source != RL_SET_DYNAMIC)
		snprintf(source, sizeof(source), " %s %s%s%s%s%s",
			 set->source == RL_SET_FILE ? "file" : "mmdb", quote, set->path, quote,
			 set->pick[0] ? " " : "", set->pick);
	put_duration(every, sizeof(every), "every", set->every_ns);
	if (set->max != RL_SET_MAX_DEFAULT)
		snprintf(max, sizeof(max), " max %u", set->max);
	put_duration(timeout, sizeof(timeout), "timeout", set->timeout_ns);
	return snprintf(buf, size, "set %s%s%s%s%s%s%s", set->name, source, every, max, timeout,
			set->comment[0] ? " # " : "", set->comment);
}

/* Where the set of that name is, or would be. */
static size_t set_place(const struct policy *policy, const char *name)
{
	size_t at = 0;

	while (at < policy->set_count && strcmp(policy->sets[at].name, name) < 0)
		at++;
	return at;
}

struct policy_set *policy_set_find(const struct policy *policy, const char *name)
{
	size_t at = set_place(policy, name);

	return at < policy->set_count && !strcmp(policy->sets[at].name, name) ? &policy->sets[at]
									      : NULL;
}

int policy_set_put(struct policy *policy, const struct policy_set *set)
{
	struct policy_set *there = policy_set_find(policy, set->name), *sets;
	size_t at = set_place(policy, set->name);

	if (there) {
		*there = *set;
		return 0;
	}
	sets = reallocarray(policy->sets, policy->set_count + 1, sizeof(*sets));
	if (!sets)
		return -ENOMEM;
	memmove(&sets[at + 1], &sets[at], (policy->set_count - at) * sizeof(*sets));
	sets[at] = *set;
	policy->sets = sets;
	policy->set_count++;
	return 0;
}

int policy_sets_copy(struct policy *policy, const struct policy *from)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < from->set_count; i++)
		ret = policy_set_put(policy, &from->sets[i]);
	return ret;
}

bool same_set(const struct policy_set *a, const struct policy_set *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->path, b->path) &&
	       !strcmp(a->pick, b->pick) && !strcmp(a->comment, b->comment) &&
	       a->source == b->source && a->every_ns == b->every_ns &&
	       a->timeout_ns == b->timeout_ns && a->max == b->max;
}

struct rule_sets rule_sets(const struct rule *rule)
{
	const struct rl_match *match = &rule->match;
	struct rule_sets sets = {0};

	if (rule->kind == PREFIX_SET)
		sets.prefix = rule->set;
	if (match_names_set(match, RL_MATCH_SRC))
		sets.src = rule->extra->src_set;
	if (match_names_set(match, RL_MATCH_DST))
		sets.dst = rule->extra->dst_set;
	return sets;
}

size_t policy_sets_missing(const struct policy *policy, const struct policy *known,
			   set_refuse_fn refuse, void *arg)
{
	size_t count = 0;

	policy_for_each (policy, rule) {
		const struct rule_sets sets = rule_sets(rule);
		const struct {
			const char *name;
			uint32_t column;
		} words[] = {{sets.prefix, rule->set_column.prefix},
			     {sets.src, rule->set_column.src},
			     {sets.dst, rule->set_column.dst}};

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (!words[i].name || policy_set_find(known, words[i].name))
				continue;
			refuse(rule, words[i].column, words[i].name, arg);
			count++;
		}
	}
	return count;
}

static bool is_named(const struct policy *policy, const char *name)
{
	policy_for_each (policy, rule) {
		struct rule_sets sets = rule_sets(rule);

		if ((sets.prefix && !strcmp(sets.prefix, name)) ||
		    (sets.src && !strcmp(sets.src, name)) || (sets.dst && !strcmp(sets.dst, name)))
			return true;
	}
	return false;
}

void policy_sets_unused(const struct policy *policy,
			void (*tell)(const struct policy_set *set, void *arg), void *arg)
{
	for (size_t i = 0; i < policy->set_count; i++)
		if (!is_named(policy, policy->sets[i].name))
			tell(&policy->sets[i], arg);
}
