// SPDX-License-Identifier: GPL-2.0-only
/* rlctl attach --replace: replaces the running program with that of this build. The instance keeps
 * its options, so options that contradict it are refused; with --or-apply they are noted.
 */

#include "cli/cmd.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/mode.h"
#include "kernel/instance/group.h"
#include "kernel/state/stats.h"

/* An option of attach and the instance's value. */
struct kept {
	enum option_id option;
	bool same;
	const char *why; /* what --replace can do with it */
	const char *has; /* NULL: the number */
	uint32_t number;
};

#define KEEPS  "keeps"
#define RAISES "can only raise"

static int contradicts(const struct instance *instance, const struct command *command,
		       const struct kept *kept)
{
	const char *name = option_rows[kept->option].name, *has = kept->has;
	char number[16];

	if (!has) {
		snprintf(number, sizeof(number), "%u", kept->number);
		has = number;
	}
	if (!option_given(command, kept->option) || kept->same)
		return 0;
	if (option_given(command, OPTION_OR_APPLY)) {
		note("%s: attached with --%s %s, which stays: to change it, detach (`systemctl "
		     "stop`) and attach again",
		     instance->device, name, has);
		return 0;
	}
	return fail("%s: attached with --%s %s, which --replace %s: leave --%s out, or `rlctl "
		    "detach %s` and attach again",
		    instance->device, name, has, kept->why, name, instance->device);
}

static int options_check(const struct command *command, const struct attach_options *asked,
			 const struct instance *instance)
{
	const struct rl_instance *info = &instance->info;
	bool by_dest = command->choices[OPTION_BY];
	const struct kept rows[] = {
		{OPTION_TABLE, asked->table == info->table, KEEPS, table_name(info->table), 0},
		{OPTION_BY, by_dest == info->by_dest, KEEPS, info->by_dest ? "dest" : "source", 0},
		{OPTION_SOURCES, asked->sources == info->sources, KEEPS, NULL, info->sources},
		{OPTION_PREFIXES, asked->prefixes >= info->prefixes, RAISES, NULL, info->prefixes},
		{OPTION_LOG_DEPTH, asked->log_depth == info->log_depth, KEEPS, NULL,
		 info->log_depth},
		{OPTION_STATE, asked->proof == info->proof, KEEPS, proof_name(info->proof), 0},
		{OPTION_CHALLENGE_RATE, asked->challenge_rate == info->challenge_rate, KEEPS, NULL,
		 info->challenge_rate},
		{OPTION_BANS, asked->bans >= info->bans, RAISES, NULL, info->bans},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (contradicts(instance, command, &rows[i]))
			return -1;
	return 0;
}

/* --mode auto accepts every mode. */
static int mode_check(const struct command *command, const struct attach_options *asked,
		      const struct instance *instance)
{
	struct instance_status status;
	enum rl_mode mode = asked->mode == ATTACH_NATIVE ? RL_MODE_NATIVE : RL_MODE_GENERIC;

	if (asked->mode == ATTACH_AUTO || instance->info.hook != RL_HOOK_XDP)
		return 0;
	if (instance_status_read(instance, &status))
		return -1;
	if (status.mode != RL_MODE_TC || option_given(command, OPTION_OR_APPLY))
		return contradicts(instance, command,
				   &(struct kept){.option = OPTION_MODE,
						  .same = status.mode == mode,
						  .has = mode_name(status.mode),
						  .why = KEEPS});
	return fail("%s: attached in mode tc, which --replace keeps: leave --mode out, or `rlctl "
		    "detach %s` and attach again",
		    instance->device, instance->device);
}

void options_kept_note(const struct command *command, const struct attach_options *asked,
		       const struct instance *instance)
{
	if (!options_check(command, asked, instance))
		mode_check(command, asked, instance);
}

/* Checks all instances before it replaces the first. */
static int hooks_replace(const struct command *command, const struct attach_options *asked,
			 unsigned int hooks)
{
	const struct sizes wanted = {
		.prefixes = option_given(command, OPTION_PREFIXES) ? asked->prefixes : 0,
		.bans = option_given(command, OPTION_BANS) ? asked->bans : 0,
	};
	struct instance instances[RL_HOOK_EGRESS + 1];
	struct target target = command->target;
	int rc = 0, count = 0;

	for (int hook = RL_HOOK_XDP; !rc && hook <= RL_HOOK_EGRESS; hook++) {
		if (!(hooks & 1u << hook))
			continue;
		target.hook = hook;
		rc = -1;
		if (instance_replace_open(&target, &instances[count]))
			break;
		if (!options_check(command, asked, &instances[count]) &&
		    !mode_check(command, asked, &instances[count]))
			rc = 0;
		count++; /* it is closed below */
	}
	for (int i = 0; !rc && i < count; i++) {
		rc = instance_replace(&instances[i], &wanted);
		if (!rc && asked->has_group)
			rc = group_give(instances[i].path, instances[i].device, asked->group);
	}
	while (count--)
		instance_close(&instances[count]);
	return rc;
}

int attach_replace(const struct command *command, const struct attach_options *asked)
{
	unsigned int hooks = command->hooks;
	int rc = 0;

	if (option_given(command, OPTION_POLICY))
		return wrong(
			"attach: --replace keeps the policy: leave --policy out, and run `rlctl "
			"apply` afterwards");
	if (option_given(command, OPTION_OR_APPLY))
		return wrong("attach: --or-apply and --replace exclude each other: leave one out");
	if (option_given(command, OPTION_FQ))
		return wrong("attach: --replace keeps the qdisc: leave --fq out");
	if (!hooks)
		rc = instance_hooks(&command->target, &hooks);
	if (rc)
		return rc;
	if (!hooks)
		hooks = 1u << RL_HOOK_XDP; /* instance_replace_open reports that there is none */
	return hooks_replace(command, asked, hooks);
}
