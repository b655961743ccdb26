// SPDX-License-Identifier: GPL-2.0-only
/* rlctl undo: applies a policy that was replaced. The one that it replaces is kept in turn, so that
 * a second `undo` takes back the first. */
#include "base/clock.h"
#include "cli/guard/session.h"
#include "cli/policy/replaced.h"
#include "kernel/policy/policy_read.h"

/* The policy that an instance is to have again, and the one that it has. */
struct former {
	struct policy_file file;
	uint64_t then_ns; /* when it was replaced */
	struct policy policy;
	struct session current; /* its instance is closed */
};

static void difference_print(const struct command *command, const struct former *former)
{
	uint64_t age_ns = clock_ns(CLOCK_BOOTTIME) - former->then_ns;
	char ago[NUMBER_TEXT_MAX];

	duration_print(ago, sizeof(ago), age_ns + NS_PER_SECOND - age_ns % NS_PER_SECOND);
	note("%s: the policy that was replaced %s ago:", former->current.instance.device, ago);
	policies_diff_print(command, &former->current.instance, &former->current.policy,
			    &former->policy, &former->current.ctx);
}

/* The difference as text comes before the guard may ask; the document says what was done. */
static int undo_run(const struct command *command, void *arg)
{
	bool checks = option_given(command, OPTION_CHECK), first = checks || !output_json;
	struct former former = {0};
	struct session *current = &former.current;
	struct instance *instance = &current->instance;
	int rc;

	if (option_given(command, OPTION_TRY) && command->phase != PHASE_ALONE)
		return wrong("undo: --try takes only one device: name one after the other");
	rc = session_open(&command->target, SESSION_LOOK, current);
	if (rc)
		return rc;
	rc = replaced_read(instance, *(const unsigned int *)arg, &current->ctx, &former.file,
			   &former.then_ns);
	rc = rc ?: policy_file_parse_again(&former.file, &current->ctx, &former.policy);
	rc = rc ?: instance_policy_read(instance, &current->policy);
	instance_close(instance);

	if (!rc && first && command->phase != PHASE_CHECK)
		difference_print(command, &former);
	if (!rc && !checks)
		rc = policy_file_apply_one(command, &former.file, former.then_ns);
	if (!rc && !first && command->phase != PHASE_CHECK)
		difference_print(command, &former);
	policy_file_clear(&former.file);
	policy_clear(&former.policy);
	policy_clear(&former.current.policy);
	return rc;
}

int cmd_undo(const struct command *command)
{
	unsigned int number = 1;
	uint64_t n, try_ns;

	if (try_get(command, &try_ns))
		return EXIT_USAGE;
	if (command->word_count) {
		if (number_parse(command->words[0], 1, REPLACED_MAX, &n))
			return wrong("invalid number '%s': use 1, the policy before, to %u",
				     command->words[0], REPLACED_MAX);
		number = (unsigned int)n;
	}
	return option_given(command, OPTION_CHECK) ? targets_read(command, undo_run, &number)
						   : targets_change(command, undo_run, &number);
}
