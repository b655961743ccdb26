// SPDX-License-Identifier: GPL-2.0-only
/* rlctl apply: a whole policy in force at once, or with --check only looked at. The file is read
 * before the instance is locked, so that a slow pipe keeps nobody waiting.
 */
#include <limits.h>
#include <net/if.h>
#include <unistd.h>

#include "cmd.h"

static void say_count(const struct policy *policy)
{
	if (output_verbose)
		note("%zu rule%s", policy->count, policy->count == 1 ? "" : "s");
}

/* ---- --check ---- */

struct check {
	const struct policy_file *file;
	struct policy *policy;
	bool found; /* an instance that could be asked */
};

static int check_against(struct instance *instance, void *arg)
{
	struct check *check = arg;
	struct policy_context ctx;
	int rc;

	instance_context(instance, &ctx);
	check->found = true;
	rc = policy_file_parse(check->file, &ctx, check->policy);
	return rc ? rc : instance_policy_check(instance, check->policy, check->file->name);
}

/* Whether there may be instances that this user may look at; if not nobody is to complain. */
static bool may_look(const struct target *target)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/rlctl", target->bpffs) < (int)sizeof(path) &&
	       !access(path, R_OK | X_OK);
}

static int check_alone(const struct target *target, struct check *check)
{
	struct policy_context ctx = {.mtu = 1500, .tc = target->hook > RL_HOOK_XDP};
	int rc = 0;

	if (target->device && if_nametoindex(target->device))
		rc = device_context(target, false, &ctx);
	if (!rc)
		rc = policy_file_parse(check->file, &ctx, check->policy);
	return rc ? rc : policy_file_check(check->file, &ctx, PREFIXES_DEFAULT, check->policy);
}

/* By the instance on the device where one is named and can be looked at, else by the device, else
 * by the defaults. */
static int check_file(const struct target *target, const struct policy_file *file,
		      struct policy *policy)
{
	struct check check = {.file = file, .policy = policy};
	int rc = 0;

	if (target->device && may_look(target))
		rc = instance_for_each(target, check_against, &check);
	if (!rc && !check.found)
		rc = check_alone(target, &check);
	return rc;
}

/* ---- for good ---- */

static int apply_file(const struct target *target, const struct policy_file *file,
		      struct policy *policy)
{
	struct policy_context ctx;
	struct instance instance;
	int rc = instance_open(target, true, &instance);

	if (rc)
		return rc;
	instance_context(&instance, &ctx);
	rc = policy_file_parse(file, &ctx, policy);
	if (!rc)
		rc = instance_policy_write(&instance, policy, true, file->name);
	instance_close(&instance);
	return rc;
}

int cmd_apply(const struct command *command)
{
	struct policy policy = {0};
	struct policy_file file;
	int rc = policy_file_read(command->words[0], &file);

	if (rc)
		return rc;
	rc = option_given(command, OPTION_CHECK) ? check_file(&command->target, &file, &policy)
						 : apply_file(&command->target, &file, &policy);
	if (!rc)
		say_count(&policy);
	policy_clear(&policy);
	policy_file_clear(&file);
	return rc;
}
