// SPDX-License-Identifier: GPL-2.0-only
/* rlctl attach: everything that can be wrong with the words and the policy is found before the
 * device is touched.
 */
#include "cmd.h"
#include "guard.h"

#define CAPACITY_MAX 16777216u

/* Numbers of the choices in COMMAND_OPTIONS that are named here. */
enum { BY_DEST = 1 };

_Static_assert(ATTACH_AUTO == 0 && ATTACH_NATIVE == 1 && ATTACH_GENERIC == 2, "--mode");
_Static_assert(RL_TABLE_HOT == 0 && RL_TABLE_LRU == 1 && RL_TABLE_CPU == 2, "--table");
_Static_assert(RL_HOOK_XDP == 0 && RL_HOOK_INGRESS == 1 && RL_HOOK_EGRESS == 2, "--hook");

/* The ring of a sliding log is indexed by a mask. */
static uint32_t power_of_two(uint32_t least)
{
	uint32_t power = 2;

	while (power < least)
		power *= 2;
	return power;
}

static int options_take(const struct command *command, struct attach_options *out)
{
	int rc;

	out->mode = command->choices[OPTION_MODE];
	out->by_dest = command->choices[OPTION_BY] == BY_DEST;
	out->table = command->choices[OPTION_TABLE];
	rc = option_number(command, OPTION_SOURCES, CAPACITY_MAX, SOURCES_DEFAULT, &out->sources);
	if (!rc)
		rc = option_number(command, OPTION_PREFIXES, CAPACITY_MAX, PREFIXES_DEFAULT,
				   &out->prefixes);
	if (!rc)
		rc = option_number(command, OPTION_LOG_DEPTH, RL_SLIDING_LOG_MAX,
				   RL_SLIDING_LOG_MAX, &out->log_depth);
	if (!rc)
		out->log_depth = power_of_two(out->log_depth);
	return rc;
}

static int policy_take(const struct command *command, const struct attach_options *options,
		       const struct policy_context *ctx, struct policy *out)
{
	const char *path = command->arguments[OPTION_POLICY];
	struct policy_file file;
	int rc;

	if (!path)
		return 0;
	rc = policy_file_read(path, &file);
	if (rc)
		return rc;
	rc = policy_file_parse(&file, ctx, out);
	if (!rc)
		rc = policy_file_check(&file, ctx, options->prefixes, out);
	policy_file_clear(&file);
	return rc;
}

static int policy_guard(const struct command *command, const struct policy *policy,
			const struct policy_context *ctx)
{
	struct guard guard;
	int rc;

	guard_start(&guard, option_given(command, OPTION_YES));
	rc = guard_pass(&guard, NULL, policy, ctx);
	return rc == GUARD_ASKS ? guard_ask(&guard) : rc;
}

/* What is in the language of the command line but not yet in this version. */
static int version_check(const struct command *command)
{
	if (command->target.hook > RL_HOOK_XDP)
		return fail("--hook %s is not in this version, only xdp is",
			    command->arguments[OPTION_HOOK]);
	return 0;
}

/* ---- --or-apply: what a service's start is to do */

static int found_set(struct instance *instance, void *arg)
{
	(void)instance;
	*(bool *)arg = true;
	return 0;
}

/* The instance keeps its state and its options; it gets the policy, if one is named. */
static int policy_apply(const struct command *command, const struct target *target)
{
	char *words[] = {(char *)command->arguments[OPTION_POLICY]};
	struct command apply = *command;
	int rc;

	apply.target = *target;
	apply.words = words;
	apply.word_count = 1;
	rc = words[0] ? cmd_apply(&apply) : 0;
	if (!rc)
		note("%s: attached already, and stays as it is%s", target->device,
		     words[0] ? "; the policy was applied" : "");
	return rc;
}

int cmd_attach(const struct command *command)
{
	struct target target = command->target;
	struct attach_options options;
	struct policy_context ctx;
	struct policy policy = {0};
	bool found = false;
	int rc = options_take(command, &options);

	if (!rc)
		rc = version_check(command);
	if (rc)
		return rc;
	target.hook = RL_HOOK_XDP;
	if (option_given(command, OPTION_OR_APPLY))
		rc = instance_for_each(&target, found_set, &found);
	if (found)
		return policy_apply(command, &target);
	if (!rc)
		rc = device_context(&target, options.by_dest, &ctx);
	if (!rc)
		rc = policy_take(command, &options, &ctx, &policy);
	if (!rc)
		rc = policy_guard(command, &policy, &ctx);
	if (!rc)
		rc = instance_attach(&target, &options, &policy, &ctx);
	policy_clear(&policy);
	return rc;
}
