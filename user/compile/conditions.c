// SPDX-License-Identifier: GPL-2.0-only
/* Ranges that a rule leaves out are ranges around the end of the numbers, and a list of ports
 * leaves out its gaps: all conditions of a rule hold together. Those that most rules state, plain,
 * are no part of them: packets compare these one by one.
 */
#include "compile/build.h"

#include <errno.h>
#include <string.h>

#include "policy/alarm.h"
#include "policy/field.h"

struct conditions {
	struct rl_condition *list;
	uint32_t count;
};

static void condition_add(struct conditions *all, enum rl_word word, enum rl_operator op,
			  uint16_t first, uint16_t span)
{
	if (all->count < RL_CONDITIONS_MAX)
		all->list[all->count++] =
			(struct rl_condition){.word = word, .op = op, .first = first, .span = span};
}

/* No number is outside of all. */
static void outside_add(struct conditions *all, enum rl_word word, uint32_t first, uint32_t last)
{
	if (!first && last == UINT16_MAX)
		condition_add(all, word, RL_BITS_ARE, 1, 0);
	else
		condition_add(all, word, RL_IN_RANGE, last + 1, first - last - 2);
}

static void bits_add(struct conditions *all, const struct rule *rule, enum rl_match_flag flag,
		     enum rl_word word, uint16_t bits, uint16_t mask)
{
	if (rule->match.flags & flag)
		condition_add(all, word, rule->match.negated & flag ? RL_BITS_ARE_NOT : RL_BITS_ARE,
			      bits, mask);
}

/* One bit of a word of so many numbers. */
static void bit_add(struct conditions *all, const struct rule *rule, enum rl_match_flag flag,
		    enum rl_word word, uint32_t numbers, uint32_t bit)
{
	uint32_t place = bit / 16;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	place = numbers - 1 - place;
#else
	(void)numbers;
#endif
	bits_add(all, rule, flag, word + place, 1u << bit % 16, 1u << bit % 16);
}

/* The gaps of a list; under `not` its ranges. */
static void ports_add(struct conditions *all, const struct rule *rule, enum rl_match_flag flag,
		      enum rl_word word)
{
	struct rl_port_range ports[RL_PORT_RANGES_MAX];
	uint32_t count = rule_ports(rule, flag, ports);

	for (uint32_t i = 0; i < count; i++)
		if (rule->match.negated & flag)
			outside_add(all, word, ports[i].first, ports[i].last);
		else if (i)
			outside_add(all, word, ports[i - 1].last + 1, ports[i].first - 1);
}

static void numbers_add(struct conditions *all, const struct rule *rule)
{
	fields_for_each (flag, rule->match.flags & RL_MATCH_NUMBERS) {
		int number = all_fields[field_of(flag)].number;
		enum rl_word word = RL_WORD_NUMBERS + number;
		struct rl_numbers numbers = rule->extra->number[number];

		if (all_fields[field_of(flag)].kind == FIELD_FLAGS)
			bits_add(all, rule, flag, word, numbers.first, numbers.last);
		else if (rule->match.negated & flag)
			outside_add(all, word, numbers.first, numbers.last);
		else
			condition_add(all, word, RL_IN_RANGE, numbers.first,
				      numbers.last - numbers.first);
	}
}

uint32_t conditions_make(const struct rule *rule, const struct condition_bits *bits,
			 struct rl_condition out[RL_CONDITIONS_MAX])
{
	const struct match *match = &rule->match;
	struct conditions all = {.list = out};

	if (match->negated & RL_MATCH_PROTO)
		condition_add(&all, RL_WORD_KIND, RL_BITS_ARE_NOT, match->proto << RL_PROTO_SHIFT,
			      UINT8_MAX << RL_PROTO_SHIFT);
	if (match->negated & RL_MATCH_FRAGMENT)
		condition_add(&all, RL_WORD_KIND, RL_BITS_ARE, 0,
			      RL_KIND_FRAGMENT << RL_KIND_SHIFT);
	if (match->negated & RL_MATCH_SYN)
		condition_add(&all, RL_WORD_KIND, RL_BITS_ARE, 0, RL_KIND_SYN << RL_KIND_SHIFT);
	ports_add(&all, rule, RL_MATCH_SPORT, RL_WORD_SPORT);
	ports_add(&all, rule, RL_MATCH_DPORT, RL_WORD_DPORT);
	numbers_add(&all, rule);
	bit_add(&all, rule, RL_MATCH_FILTER, RL_WORD_FILTERS, 2, bits->filter);
	if (match_names_set(match, RL_MATCH_SRC))
		bit_add(&all, rule, RL_MATCH_SRC, RL_WORD_SRC_SETS, 4, bits->src);
	if (match_names_set(match, RL_MATCH_DST))
		bit_add(&all, rule, RL_MATCH_DST, RL_WORD_DST_SETS, 4, bits->dst);
	return all.count;
}

uint32_t conditions_extras_most(const struct rule *rule)
{
	if (rule->extra)
		return 1 + !!(rule->match.flags & RL_MATCH_FILTER);
	return rule->match.negated && RL_MATCH_HAS_PREFIX(&rule->match);
}

/* ---- while */

bool rule_has_while(const struct rule *rule)
{
	return rule->extra && rule->extra->alarm[0];
}

bool extra_is_while(const struct rule *rule)
{
	const struct rl_extra *extra = rule->extra;
	struct rl_extra alone = {.alarm_not = extra->alarm_not};

	/* Not by its bytes alone: those of `dscp cs0` are all zero. */
	if (rule->match.flags & RL_MATCH_EXTRAS)
		return false;
	memcpy(alone.alarm, extra->alarm, sizeof(alone.alarm));
	return extra->alarm[0] && !memcmp(&alone, extra, sizeof(alone));
}

void while_emit(struct build *b, const struct rule *rule, struct rl_rule *entry)
{
	const char *name = rule->extra ? rule->extra->alarm : "";
	const struct policy_alarm *alarm = policy_alarm_find(b->next, name);
	char what[2 * RL_ALARM_NAME_MAX + 128];

	if (!name[0])
		return;
	if (alarm) {
		entry->alarm = policy_alarm_number(b->next, alarm) & (RL_ALARMS_MAX - 1);
		entry->flags |= rule->extra->alarm_not ? RL_RULE_WHILE_NOT : RL_RULE_WHILE;
		return;
	}
	alarm_missing_print(what, sizeof(what), b->next, name, true);
	build_refuse(b, rule, -ENOENT, "%s", what);
}
