// SPDX-License-Identifier: GPL-2.0-only
/* rlctl rule add|del --file: adds or deletes the rules of a file in one atomic change, which costs
 * as much as one apply, and leaves all other rules as they are.
 */
#include <errno.h>
#include <inttypes.h>

#include "cli/guard/guard.h"
#include "cli/guard/session.h"
#include "cli/guard/surroundings.h"
#include "kernel/attach/trial_record.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/sets/sets.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"

struct change {
	const struct command *command;
	struct policy_file file; /* read once, for all instances */
	bool adds;
	struct guard guard;
};

struct missing {
	size_t count;
	const struct rule *first; /* in order of line */
};

static void missing_add(const struct rule *rule, void *arg)
{
	struct missing *missing = arg;

	if (!missing->count++ || rule->line < missing->first->line)
		missing->first = rule;
}

/* The rules after the change. One of the file replaces that in force, because only it has a line.
 */
static int next_make(const struct change *change, const struct session *session,
		     const struct policy *rules, struct policy *out)
{
	const struct policy *current = &session->policy;
	struct missing missing = {0};
	char words[RULE_TEXT_MAX];
	struct policy_place place;

	policy_for_each (current, rule)
		rules_append(out, rule);
	if (policy_names_copy(out, current))
		out_of_memory();
	if (change->adds) {
		policy_for_each (rules, rule)
			rules_append(out, rule);
		policy_sort(out, NULL);
		return 0;
	}
	policy_subtract(out, rules, missing_add, &missing);
	if (!missing.count || option_given(change->command, OPTION_IF_EXISTS))
		return 0;
	place = policy_place(&change->file.source, missing.first->line);
	rule_format(words, missing.first, &session->ctx);
	if (missing.count == 1)
		fail("%s:%" PRIu32 ": no such rule: %s", place.name, place.line, words);
	else
		fail("%s:%" PRIu32 ": no such rule: %s, and %zu more: --if-exists ignores them",
		     place.name, place.line, words, missing.count - 1);
	return -ENOENT;
}

/* ---- one instance */

/* 0, an error, or GUARD_ASKS. */
static int change_make(struct change *change, struct session *session, const struct policy *rules)
{
	bool checks = change->command->phase == PHASE_CHECK;
	const struct policy_source *source = &change->file.source;
	CLEARED struct policy next = {0};
	struct set_live sets;
	int rc = next_make(change, session, rules, &next);

	set_live_open(&session->instance, &sets);
	if (!rc)
		rc = guard_policies(&change->guard, (int)session->instance.info.ifindex,
				    &session->ctx, &session->policy, &next, &sets.members);
	set_live_close(&sets);
	if (!rc && change->adds && rules->count)
		policy_warnings_note(source, rules, &session->ctx);
	if (!rc && checks)
		rc = trial_refuse(&session->instance);
	if (!rc)
		rc = checks ? instance_policy_check(&session->instance, &next, source)
			    : instance_policy_write(&session->instance, &next, false, source, NULL);
	if (!rc && change->adds && !checks)
		surroundings_note(session->instance.device, &session->instance.info, rules);
	return rc;
}

static int change_once(const struct command *command, struct session *session, void *arg)
{
	struct policy_context ctx = session->ctx;
	struct change *change = arg;
	CLEARED struct policy rules = {0};

	change->command = command;
	ctx.known = &session->policy;
	return policy_file_parse(&change->file, &ctx, &rules)
		       ?: change_make(change, session, &rules);
}

int rules_file_change(const struct command *command, bool adds)
{
	struct change change = {.adds = adds};
	int rc = policy_file_read(command->arguments[OPTION_FILE], &change.file);

	rc = rc ?: guarded_changes(command, &change.guard, SESSION_WRITE, change_once, &change);
	policy_file_clear(&change.file);
	return rc;
}
