// SPDX-License-Identifier: GPL-2.0-only
/* rlctl rule get ADDR: the rules that decide for packets of an address, in order of evaluation.
 * Rules that decide for no packet of that address are omitted.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/output/stats_output.h"
#include "cli/policy/cmd_rule.h"
#include "kernel/policy/policy_read.h"
#include "kernel/sets/sets.h"
#include "kernel/state/alarms.h"
#include "policy/packets/decide.h"
#include "policy/packets/level.h"
#include "policy/packets/probe.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

#define REACHED_MAX 128
#define WHY_MAX     480

/* ---- why a rule is listed ---- */

/* Is it the rule whose prefix is longest? Rules of unknown members come before it. */
static bool is_longest(const struct policy *found, const uint8_t *levels, size_t index)
{
	size_t first = 0;

	while (first < index && levels[first] == LEVEL_UNKNOWN)
		first++;
	return levels[first] == levels[index] &&
	       (levels[index] != LEVEL_NONE ||
		found->rules[first].kind == found->rules[index].kind);
}

/* The packets that reach the rule. */
static void reached_print(char out[REACHED_MAX], const struct policy *found, const uint8_t *levels,
			  size_t index, const struct asked *asked)
{
	const struct rule *rule = &found->rules[index];
	char text[PREFIX_TEXT_MAX], member[PREFIX_TEXT_MAX + 16] = "";
	uint8_t addr[16];

	if (levels[index] == LEVEL_UNKNOWN) {
		snprintf(out, REACHED_MAX, "may decide, if the address is in @%s", rule->set);
		return;
	}
	if (rule->kind == PREFIX_SET) {
		prefix_mask(addr, asked->addr, levels[index]);
		prefix_print(text, sizeof(text), addr, levels[index]);
		snprintf(member, sizeof(member), "its member %s", text);
	}
	if (rule->kind == PREFIX_DEVICE)
		snprintf(out, REACHED_MAX, "for packets that no rule before allows or denies");
	else if (!is_longest(found, levels, index))
		snprintf(out, REACHED_MAX, "%s%sif no rule of a longer prefix matches", member,
			 *member ? ", " : "");
	else if (rule->kind == PREFIX_ANY)
		snprintf(out, REACHED_MAX, "no prefix contains the address, so any decides");
	else
		snprintf(out, REACHED_MAX, "%s%slongest prefix that contains the address", member,
			 *member ? " is the " : "");
}

/* The proof that decides, and that the packet's words do not show. */
static const char *proof_of(const struct rule *rule, bool tracked)
{
	bool limits = rule->action == RL_ACTION_LIMIT;

	if (match_wants(&rule->match, RL_MATCH_ESTABLISHED))
		return tracked ? ", if connection tracking proves them established"
			       : ", if a socket of this machine proves them established";
	if (rule->match.negated & RL_MATCH_ESTABLISHED)
		return tracked ? ", unless connection tracking proves them established"
			       : ", unless a socket of this machine proves them established";
	if (!limits)
		return "";
	if (rule_limits_connections(rule) && limit_spares(&rule->limit))
		return "; over the limit, those that belong to an open connection pass";
	switch (rule->limit.over) {
	case RL_OVER_UNLESS:
		return tracked ? "; over the limit, those that connection tracking proves "
				 "established pass"
			       : "; over the limit, those that a socket proves established pass";
	case RL_OVER_CHALLENGE:
		return "; over the limit, SYNs are answered with a cookie";
	case RL_OVER_TRUNCATE:
		return "; over the limit, DNS queries are answered as truncated";
	}
	return "";
}

static const char *effect_of(const struct rule *rule)
{
	bool matches = rule->match.flags;

	switch (rule->action) {
	case RL_ACTION_ALLOW:
		return matches ? "passes matching packets uncounted" : "passes every packet";
	case RL_ACTION_DENY:
		return matches ? "drops matching packets" : "drops every packet";
	default:
		return matches ? "limits matching packets" : "limits every packet";
	}
}

static void why_print(char out[WHY_MAX], const char reached[REACHED_MAX], const struct rule *rule,
		      const struct asked *asked, bool tracked)
{
	unsigned int open = rule->match.flags & RL_MATCH_EXTRAS;
	struct rule_sets sets = rule_sets(rule);
	const char *own = sets.name[asked->by_dest ? SET_DST : SET_SRC];
	bool off, wants = match_wants(&rule->match, asked->by_dest ? RL_MATCH_DST : RL_MATCH_SRC);
	const char *alarm = rule_while(rule, &off);
	char in_set[RL_SET_NAME_MAX + 40] = "", held[RL_ALARM_NAME_MAX + 40] = "";
	char fields[FIELDS_TEXT_MAX];

	/* A set that nobody knows; and an alarm: a rule that does not hold now is not listed. */
	if (own && set_member_len(asked->members, own, asked->addr) == SET_UNKNOWN)
		snprintf(in_set, sizeof(in_set), ", %s the address is in @%s",
			 wants ? "if" : "unless", own);
	if (alarm[0])
		snprintf(held, sizeof(held), ", while alarm %s is %s%s", alarm, off ? "off" : "on",
			 while_held(rule, asked->alarms) == HELD ? ", as it is now" : "");
	fields_print(fields, open);
	snprintf(out, WHY_MAX, "%s: %s%s%s%s%s%s%s", reached, effect_of(rule), in_set, held,
		 open ? ", depending on " : "", fields, proof_of(rule, tracked),
		 rule->for_ns ? ", until it expires" : "");
}

/* Policy lines with the reason as a comment; in the document the reason is "why". */
static void found_print(const struct command *command, const struct session *session,
			const struct policy *found, const struct asked *asked,
			struct json_object *document)
{
	bool tracked = session->instance.info.proof == RL_PROOF_CONNTRACK;
	struct json_object *rules = json_object_new_array();
	char words[RULE_TEXT_MAX], reached[REACHED_MAX], why[WHY_MAX];
	uint8_t *levels = policy_levels(found, asked->addr, asked->members);

	if (!levels)
		out_of_memory();
	policy_for_each (found, rule) {
		struct json_object *object = json_object_new_object();

		rule_format(words, rule, &session->ctx);
		reached_print(reached, found, levels, rule - found->rules, asked);
		why_print(why, reached, rule, asked, tracked);
		json_put_text(object, "rule", words);
		json_put_while(object, rule);
		json_put_text(object, "why", why);
		json_append(rules, object);
		text_print("%s\t# %s\n", words, why);
	}
	free(levels);
	if (!found->count)
		text_note("no rule applies: packets of this address pass (unmatched)");
	json_put(document, "rules", rules);
	document_print(command, document);
}

/* arg: the address. */
static int get(const struct command *command, struct session *session, void *arg)
{
	/* With several instances, each document names its own. */
	struct json_object *document =
		command->documents ? json_instance(&session->instance) : json_object_new_object();
	struct asked asked = {.by_dest = session->ctx.by_dest};
	CLEARED struct policy found = {0};
	struct set_live sets;
	struct alarm_live alarms;
	char address[PREFIX_TEXT_MAX];
	int rc;

	memcpy(asked.addr, arg, sizeof(asked.addr));
	set_live_open(&session->instance, &sets);
	alarm_live_read(&session->instance, &alarms);
	asked.members = &sets.members;
	asked.alarms = &alarms.states;
	rc = instance_address_read(&session->instance, asked.addr, &session->policy);
	if (!rc && rules_decide(&session->policy, &asked, &found))
		out_of_memory();
	prefix_print(address, sizeof(address), asked.addr, 128);
	json_put_text(document, "address", address);
	if (rc)
		json_object_put(document);
	else if (output_verbose && !output_json)
		rules_print(command, session, &found, document);
	else
		found_print(command, session, &found, &asked, document);
	set_live_close(&sets);
	return rc;
}

static int get_one(const struct command *command, void *arg)
{
	uint8_t addr[16];

	(void)arg;
	return address_get(command->words[0], addr)
		       ?: session_run(command, SESSION_LOOK, get, addr);
}

int cmd_rule_get(const struct command *command)
{
	return targets_read(command, get_one, NULL);
}
