// SPDX-License-Identifier: GPL-2.0-only
/* rlctl ban and unban, for somebody in a hurry: a rule `ADDRESS deny for 1h`, and the end of
 * whatever denies the address. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/stats_output.h"
#include "cli/policy/cmd_rule.h"
#include "cli/policy/denial.h"
#include "kernel/attach/trial_record.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/sets/sets.h"
#include "kernel/state/source.h"
#include "policy/sets/member.h"
#include "policy/sets/set.h"

#define BAN_USUAL "1h"

/* ---- ban */

/* The denial that is there stays if it lasts longer. */
static int ban_put(struct session *session, const struct rule *words)
{
	char text[RULE_TEXT_MAX];

	policy_for_each (&session->policy, rule) {
		if (rule_compare(rule, words) != 0)
			continue;
		rule_format(text, rule, &session->ctx);
		if (rule->action == RL_ACTION_ALLOW)
			return fail("%s: the rule '%s' is there: delete it first: `rlctl rule del "
				    "%s`",
				    session->instance.device, text, text);
		if (!rule->for_ns || rule->for_ns >= words->for_ns) {
			note("%s: the rule '%s' stays", session->instance.device, text);
			return CHANGE_NONE;
		}
	}
	if (policy_put(&session->policy, words))
		out_of_memory();
	return 0;
}

int cmd_ban(const struct command *command)
{
	int count = command->word_count, addresses = count;
	struct command one = *command;
	char *duration = BAN_USUAL;
	struct rule prefix;
	uint64_t ns;
	int rc = 0;

	if (count >= 2 && !strcmp(command->words[count - 2], "for")) {
		duration = command->words[count - 1];
		addresses -= 2;
		if (duration_parse(duration, &ns))
			return wrong("ban: invalid time '%s': use for example 30m, 1h or 2d",
				     duration);
	}
	if (addresses > 1 && !duration_parse(command->words[addresses - 1], &ns))
		return wrong("ban: '%s' is a time: write `for %s`", command->words[addresses - 1],
			     command->words[addresses - 1]);
	if (!addresses)
		return wrong("ban: missing address: `rlctl ban ADDRESS for %s`", duration);
	for (int i = 0; !rc && i < addresses; i++)
		rc = prefix_get(command->words[i], prefix.addr, &prefix.len);
	for (int i = 0; !rc && i < addresses; i++) {
		char *address = command->words[i], *words[] = {address, "deny", "for", duration};

		one.words = words;
		one.word_count = sizeof(words) / sizeof(words[0]);
		rc = rule_change(&one, ban_put, false);
		if (!rc)
			note("%s is denied; `rlctl unban %s` ends that", address, address);
	}
	return rc;
}

/* ---- unban */

/* An address, and what denied it on an instance. */
struct unban {
	struct session *session; /* with the whole policy */
	const struct rule *prefix;
	struct json_object *rules, *sets; /* texts of rules, names of sets */
	size_t bans;
};

static int rules_unban(struct unban *unban)
{
	const struct session *session = unban->session;
	CLEARED struct policy before = {0};
	CLEARED struct policy after = {0};
	char text[RULE_TEXT_MAX];
	int rc = instance_prefix_read(&session->instance, unban->prefix, &before);

	policy_for_each (&before, rule) {
		if (!is_plain_deny(rule)) {
			rules_append(&after, rule);
			continue;
		}
		rule_format(text, rule, &session->ctx);
		json_append(unban->rules, json_object_new_string(text));
	}
	if (!rc && after.count < before.count)
		rc = instance_prefix_write(&session->instance, unban->prefix, &after);
	return rc;
}

static int members_unban(struct unban *unban)
{
	const struct session *session = unban->session;
	struct member_entry entry = {.member.len = unban->prefix->len};
	struct set_session sets;
	int closed, rc = 0;

	if (!session->policy.set_count)
		return 0;
	rc = set_session_open(&session->instance, true, &sets);
	if (rc)
		return rc;
	memcpy(entry.member.addr, unban->prefix->addr, sizeof(entry.member.addr));
	sets.changed = &entry;
	sets.changed_count = 1;
	policy_for_each (&session->policy, rule) {
		struct member_result result = {0};
		int set = rule->kind == PREFIX_SET && is_plain_deny(rule)
				  ? set_session_find(&sets, rule->set)
				  : -ENOENT;

		if (rc || set < 0)
			continue;
		rc = member_table_delete(&sets.table, (uint32_t)set, &entry.member, 1, &result);
		if (rc)
			fail("%s: %s: deleting its member failed: %s", session->instance.device,
			     rule->set, strerror(-rc));
		if (result.deleted)
			json_append(unban->sets, json_object_new_string(rule->set));
	}
	closed = set_session_close(&sets);
	return rc ?: closed;
}

/* Bans by limits, and not the states of the others. */
static int bans_forgive(struct unban *unban)
{
	const struct session *session = unban->session;
	struct source_entry *entries = NULL;
	size_t count = 0;
	int rc;

	if (unban->prefix->len != 128)
		return 0;
	rc = instance_source_read(&session->instance, &session->policy, unban->prefix->addr,
				  &entries, &count);
	for (size_t i = 0; !rc && i < count; i++)
		/* A limit per rule bans all that share it. */
		if (entries[i].ban_ns &&
		    !(entries[i].rule && entries[i].rule->limit.key == RL_KEY_RULE))
			entries[unban->bans++] = entries[i];
	if (!rc && unban->bans)
		rc = instance_source_forgive(&session->instance, entries, unban->bans);
	free(entries);
	return rc;
}

static void texts_note(const char *device, const char *address, const char *before,
		       struct json_object *texts, const char *after)
{
	for (size_t i = 0; i < json_object_array_length(texts); i++)
		text_note("%s: %s: %s%s%s", device, address, before,
			  json_object_get_string(json_object_array_get_idx(texts, i)), after);
}

/* Whether an address was denied on one of the instances, and is so still. */
struct outcome {
	bool found, still;
};

/* Reports what was deleted. */
static void unban_report(const struct command *command, const struct unban *unban,
			 const char *address, struct outcome *outcome)
{
	const char *device = unban->session->instance.device;
	size_t count = json_object_array_length(unban->rules) +
		       json_object_array_length(unban->sets) + unban->bans;
	const struct session *session = unban->session;
	char still[RULE_TEXT_MAX];
	struct json_object *document;
	struct denial denial;
	bool denied =
		denial_find(&session->instance, &session->ctx, unban->prefix->addr, &denial) &&
		denial.len <= unban->prefix->len;

	if (denied)
		rule_format(still, &denial.rule, &session->ctx);
	document = json_instance(&session->instance);
	json_put_text(document, "address", address);
	json_put(document, "rules", json_object_get(unban->rules));
	json_put(document, "sets", json_object_get(unban->sets));
	json_put_number(document, "bans", unban->bans);
	if (denied)
		json_put_text(document, "denied_by", still);
	document_print(command, document);
	texts_note(device, address, "deleted the rule '", unban->rules, "'");
	texts_note(device, address, "deleted from the set ", unban->sets, "");
	if (unban->bans)
		text_note("%s: %s: forgot %zu ban%s of limits", device, address, unban->bans,
			  unban->bans == 1 ? "" : "s");
	outcome->found = outcome->found || count;
	outcome->still = outcome->still || denied;
	if (denied)
		fail("%s: %s is still denied, by '%s': `rlctl rule get %s` shows why", device,
		     address, still, address);
}

static int unban_one(const struct command *command, struct session *session, const char *address,
		     struct outcome *outcome)
{
	struct rule prefix = {.kind = PREFIX_ADDR};
	struct unban unban = {.session = session,
			      .prefix = &prefix,
			      .rules = json_object_new_array(),
			      .sets = json_object_new_array()};
	int rc = prefix_get(address, prefix.addr, &prefix.len);

	rc = rc ?: rules_unban(&unban);
	rc = rc ?: members_unban(&unban);
	rc = rc ?: bans_forgive(&unban);
	unban_report(command, &unban, address, outcome);
	json_object_put(unban.rules);
	json_object_put(unban.sets);
	return rc;
}

/* An address that was not denied, or is still, keeps neither other addresses nor other devices from
 * being changed. arg: an outcome of each word. */
static int unban_run(const struct command *command, struct session *session, void *arg)
{
	struct outcome *outcomes = arg;
	int rc = trial_refuse(&session->instance)
			 ?: instance_policy_read(&session->instance, &session->policy);

	for (int i = 0; !rc && command->phase != PHASE_CHECK && i < command->word_count; i++)
		rc = unban_one(command, session, command->words[i], &outcomes[i]);
	return rc;
}

int cmd_unban(const struct command *command)
{
	struct outcome *outcomes = xcalloc((size_t)command->word_count, sizeof(*outcomes));
	struct rule prefix;
	int rc = 0;

	for (int i = 0; !rc && i < command->word_count; i++)
		rc = prefix_get(command->words[i], prefix.addr, &prefix.len);
	rc = rc ?: sessions_change(command, SESSION_LOCK, unban_run, outcomes);
	for (int i = 0; !rc && i < command->word_count; i++) {
		const char *address = command->words[i];

		if (outcomes[i].still)
			rc = -1; /* reported */
		else if (!outcomes[i].found)
			rc = fail("no rule, set or limit denies everything from %s: `rlctl rule "
				  "get %s` shows its rules",
				  address, address);
	}
	free(outcomes);
	return rc;
}
