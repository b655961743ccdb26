// SPDX-License-Identifier: GPL-2.0-only
/* rlctl undo: applies a policy that was replaced. The one that it replaces is kept in turn, so that
 * a second `undo` takes back the first. */
#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/policy/replaced.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/policy/policy_read.h"

/* Reads the policy with that number, and prints the difference that it makes. */
static int former_read(const struct command *command, unsigned int number, struct policy_file *out)
{
	char ago[NUMBER_TEXT_MAX];
	struct policy from = {0}, to = {0};
	struct policy_context ctx;
	struct instance instance;
	uint64_t age_ns;
	int rc = instance_open(&command->target, false, &instance);

	if (rc)
		return rc;
	instance_context(&instance, &ctx);
	rc = replaced_read(&instance, number, &ctx, out, &age_ns);
	if (!rc)
		rc = policy_file_parse_again(out, &ctx, &to);
	if (!rc)
		rc = instance_policy_read(&instance, &from);
	if (!rc && command->phase != PHASE_CHECK) {
		duration_print(ago, sizeof(ago), age_ns + NS_PER_SECOND - age_ns % NS_PER_SECOND);
		note("%s: the policy that was replaced %s ago:", instance.device, ago);
		policies_diff_print(command, &instance, &from, &to, &ctx);
	}
	policy_clear(&from);
	policy_clear(&to);
	instance_close(&instance);
	return rc;
}

static int undo_run(const struct command *command, void *arg)
{
	unsigned int number = *(const unsigned int *)arg;
	struct policy_file file = {0};
	int rc = former_read(command, number, &file);

	if (!rc && !option_given(command, OPTION_CHECK))
		rc = policy_file_apply_one(command, &file, number);
	policy_file_clear(&file);
	return rc;
}

int cmd_undo(const struct command *command)
{
	unsigned int number = 1;
	uint64_t n;

	if (command->word_count) {
		if (number_parse(command->words[0], 1, REPLACED_MAX, &n))
			return wrong("invalid number '%s': use 1, the policy before, to %u",
				     command->words[0], REPLACED_MAX);
		number = (unsigned int)n;
	}
	return option_given(command, OPTION_CHECK) ? targets_read(command, undo_run, &number)
						   : targets_change(command, undo_run, &number);
}
