// SPDX-License-Identifier: GPL-2.0-only
/* rlctl rule add|del|list|flush: single rules of the policy in force. Each change reads the rules
 * of its prefix under the writers' lock and replaces them atomically.
 */

#include "cli/policy/cmd_rule.h"
#include "policy/alarm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/guard/guard.h"
#include "cli/guard/surroundings.h"
#include "cli/output/stats_output.h"
#include "cli/policy/replaced.h"
#include "compile/compile.h"
#include "compile/numbers.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/trial_record.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/sets/sets.h"
#include "policy/lint/lint.h"
#include "policy/names.h"
#include "policy/sets/set.h"

/* ---- words ---- */

int rule_words_parse(const struct command *command, const struct policy_context *ctx, bool selector,
		     struct rule *out)
{
	char *line = words_join("rule", command->words, command->word_count);
	const size_t before = strlen("rule ");
	struct policy_error err = {0};
	bool found = true;
	int rc;

	if (selector)
		rc = selector_parse(line + before, ctx, out, &err);
	else
		rc = statement_parse(line, ctx, out, &found, &err);
	if (rc) {
		err.column += selector ? before : 0;
		fail_at(NULL, line, strlen(line), &err);
		rc = EXIT_USAGE;
	}
	free(line);
	return rc;
}

/* ---- printing rules ---- */

static void report_line(struct report *report, const struct session *session,
			const struct rule *rule)
{
	const struct rl_instance *info = &session->instance.info;
	uint64_t seconds = rule->for_ns / NS_PER_SECOND + !!(rule->for_ns % NS_PER_SECOND);
	char words[RULE_TEXT_MAX], line[STATEMENT_TEXT_MAX], prefix[PREFIX_TEXT_MAX];
	char left[NUMBER_TEXT_MAX];

	rule_format(words, rule, &session->ctx);
	statement_format(line, rule, &session->ctx);
	duration_print(left, sizeof(left), seconds * NS_PER_SECOND);
	rule_prefix_print(prefix, rule);
	report_begin(report, NULL);
	report_text(report, "prefix", NULL, prefix);
	report_id(report, "slot", "slot", rule->counter_id);
	if (rule->action == RL_ACTION_LIMIT) {
		report_id(report, "limit_id", "limit", rule->limit_id);
		report_text(report, "clock", "clock",
			    clock_choose(&rule->limit, info->hook, info->tick_ns) == RL_CLOCK_TICK
				    ? "tick"
				    : "precise");
	} else {
		report_none(report, "limit");
		report_none(report, "clock");
	}
	report_text(report, NULL, "left", rule->for_ns ? left : "-");
	if (rule->for_ns)
		report_number(report, "seconds_left", NULL, seconds);
	report_text(report, "rule", NULL, words);
	if (output_json)
		json_put_while(report->record, rule);
	if (rule->comment[0])
		report_text(report, "comment", NULL, rule->comment);
	report_text(report, NULL, "rule", line);
}

void rules_print(const struct command *command, const struct session *session,
		 const struct policy *rules, struct json_object *document)
{
	struct report report = {0};
	char line[STATEMENT_TEXT_MAX];

	policy_for_each (rules, rule) {
		if (output_json || output_verbose) {
			report_line(&report, session, rule);
			continue;
		}
		statement_format(line, rule, &session->ctx);
		puts(line);
	}
	report_put(&report, document, "rules");
	document_print(command, document);
}

/* ---- add, del, flush ---- */

/* The rules that may decide for an address, before and after a change of one prefix. */
struct around {
	const struct session *session;
	const struct rule *words;
	struct policy before, after;
};

static int around_read(void *arg, const uint8_t addr[16], const struct policy **before,
		       const struct policy **after)
{
	struct around *around = arg;
	int rc;

	policy_clear(&around->before);
	policy_clear(&around->after);
	rc = instance_address_read(&around->session->instance, addr, &around->before);
	policy_for_each (&around->before, rule)
		rules_append(&around->after, rule);
	if (!rc && policy_prefix_replace(&around->after, around->words, &around->session->policy))
		out_of_memory();
	*before = &around->before;
	*after = &around->after;
	return rc;
}

static int change_guard(const struct session *session, const struct rule *words,
			struct guard *guard)
{
	struct around around = {.session = session, .words = words};
	struct set_live sets;
	const struct guarded change = {.ifindex = (int)session->instance.info.ifindex,
				       .ctx = &session->ctx,
				       .rules = around_read,
				       .arg = &around,
				       .members = &sets.members};
	int rc;

	if (!guard_wanted(guard))
		return 0;
	set_live_open(&session->instance, &sets);
	rc = guard_pass(guard, &change);
	set_live_close(&sets);
	policy_clear(&around.before);
	policy_clear(&around.after);
	return rc;
}

/* Warns of the rule by itself, beside the other rules in force, and on this machine. */
static void added_note(const struct session *session, const struct rule *rule)
{
	const struct rule others = {.kind = rule->kind == PREFIX_ANY ? PREFIX_DEVICE : PREFIX_ANY};
	const struct policy added = {.rules = (struct rule *)rule, .count = 1};
	CLEARED struct policy beside = {0};

	policy_warnings_note(NULL, &added, &session->ctx);
	surroundings_note(session->instance.device, &session->instance.info, &added);
	if (rule->kind != PREFIX_ANY && rule->kind != PREFIX_DEVICE)
		return;
	if (!instance_prefix_read(&session->instance, &others, &beside))
		lower_limit_warn(&beside, rule, &session->ctx, warning_note, NULL);
}

struct change {
	rule_change_fn make;
	bool selects; /* the words are a selector */
	struct guard guard;
};

/* One change under the lock. 0, an error, or GUARD_ASKS. */
static int change_once(const struct command *command, struct session *session, void *arg)
{
	struct change *change = arg;
	bool checks = command->phase == PHASE_CHECK;
	char prefix[PREFIX_TEXT_MAX];
	struct rule words;
	int rc = rule_words_parse(command, &session->ctx, change->selects, &words);

	rc = rc ?: instance_prefix_read(&session->instance, &words, &session->policy);
	rc = rc ?: change->make(session, &words);
	rc = rc ?: change_guard(session, &words, &change->guard);
	if (!rc)
		rc = (checks ? instance_prefix_check
			     : instance_prefix_write)(&session->instance, &words, &session->policy);
	if (!rc && !change->selects && !checks)
		added_note(session, &words);
	/* Some of several instances may be where packets leave. */
	if (!rc && !change->selects && command->phase == PHASE_CHANGE && session->ctx.by_dest &&
	    words.kind == PREFIX_ADDR) {
		rule_prefix_print(prefix, &words);
		note("%s: at %s the rule holds what %s receives: `dest`; where packets come in, "
		     "what it sends",
		     session->instance.device, hook_name(session->instance.info.hook), prefix);
	}
	return rc == CHANGE_NONE ? 0 : rc;
}

int rule_change(const struct command *command, rule_change_fn make, bool selects)
{
	struct change change = {.make = make, .selects = selects};

	return guarded_changes(command, &change.guard, SESSION_LOCK, change_once, &change);
}

static int rule_put(struct session *session, const struct rule *words)
{
	if (policy_put(&session->policy, words))
		out_of_memory();
	return 0;
}

int cmd_rule_add(const struct command *command)
{
	if (option_given(command, OPTION_FILE))
		return rules_file_change(command, true);
	return rule_change(command, rule_put, false);
}

/* If no rule is selected, reports that, and lists those of the same prefix. */
static int rule_remove(struct session *session, const struct rule *words)
{
	char text[RULE_TEXT_MAX], prefix[PREFIX_TEXT_MAX], line[STATEMENT_TEXT_MAX];
	bool near = false;

	if (policy_remove(&session->policy, words))
		return 0;
	rule_format(text, words, &session->ctx);
	fail("no such rule: %s", text);
	rule_prefix_print(prefix, words);
	policy_for_each (&session->policy, rule) {
		if (!same_prefix(rule, words))
			continue;
		if (!near)
			note("the rules of %s are:", prefix);
		near = true;
		statement_format(line, rule, &session->ctx);
		note("  %s", line);
	}
	return -ENOENT;
}

static int rule_remove_if_exists(struct session *session, const struct rule *words)
{
	return policy_remove(&session->policy, words) ? 0 : CHANGE_NONE;
}

int cmd_rule_del(const struct command *command)
{
	if (option_given(command, OPTION_FILE))
		return rules_file_change(command, false);
	return rule_change(command,
			   option_given(command, OPTION_IF_EXISTS) ? rule_remove_if_exists
								   : rule_remove,
			   true);
}

/* The sets stay, with their members, and the alarms. */
static int flush(const struct command *command, struct session *session, void *arg)
{
	const struct policy *current = &session->policy;
	CLEARED struct policy empty = {0};
	int rc;

	(void)arg;
	if (command->phase == PHASE_CHECK)
		return trial_refuse(&session->instance);
	if (policy_names_copy(&empty, current))
		out_of_memory();
	rc = instance_policy_write(&session->instance, &empty, false, NULL, NULL);
	if (!rc && current->count)
		replaced_keep(&session->instance, current, &session->ctx, 0);
	return rc;
}

int cmd_rule_flush(const struct command *command)
{
	return sessions_change(command, SESSION_WRITE, flush, NULL);
}

/* ---- list ---- */

/* By prefix; also by match and `while` if the selector has them; by identity if it has an action.
 */
static bool is_selected(const struct rule *selector, const struct rule *rule)
{
	if (!same_prefix(selector, rule))
		return false;
	if (selector->action < RL_ACTION_COUNT)
		return selector->action == rule->action && !rule_compare(selector, rule);
	return (!selector->match.flags && !selector->extra) || same_match(selector, rule);
}

static int list(const struct command *command, struct session *session, void *arg)
{
	bool all = !command->word_count;
	CLEARED struct policy selected = {0};
	char words[RULE_TEXT_MAX], address[PREFIX_TEXT_MAX];
	struct rule selector;
	int rc = all ? 0 : rule_words_parse(command, &session->ctx, true, &selector);

	(void)arg;
	if (rc)
		return rc;
	policy_for_each (&session->policy, rule)
		if (all || is_selected(&selector, rule))
			rules_append(&selected, rule);
	if (!selected.count && !all) {
		rule_format(words, &selector, &session->ctx);
		rule_prefix_print(address, &selector);
		if (selector.kind != PREFIX_ADDR || selector.len != 128)
			text_note("no rules for %s", words);
		else
			text_note("no rules for %s; `rlctl rule get %s` shows what applies to it",
				  words, address);
	}
	rules_print(command, session, &selected, json_instance(&session->instance));
	return 0;
}

int cmd_rule_list(const struct command *command)
{
	return sessions_read(command, SESSION_READ, list, NULL);
}
