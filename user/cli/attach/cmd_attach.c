// SPDX-License-Identifier: GPL-2.0-only
/* rlctl attach: its options, and what it does where an instance is attached already; and rlctl
 * detach. */

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/devices.h"
#include "cli/attach/plan.h"
#include "cli/policy/save_file.h"
#include "cli/policy/try.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/object.h"
#include "kernel/instance/group.h"

#define CHALLENGE_RATE_MAX 100000000u

_Static_assert(ATTACH_AUTO == 0 && ATTACH_NATIVE == 1 && ATTACH_GENERIC == 2, "--mode");
_Static_assert(RL_TABLE_HOT == 0 && RL_TABLE_LRU == 1 && RL_TABLE_CPU == 2, "--table");
_Static_assert(RL_PROOF_SOCKETS == 0 && RL_PROOF_CONNTRACK == 1, "--state");
_Static_assert(RL_HOOK_XDP == 0 && RL_HOOK_INGRESS == 1 && RL_HOOK_EGRESS == 2, "--hook");

/* By name or by number. */
static int group_option(const struct command *command, struct attach_options *out)
{
	const char *word = command->arguments[OPTION_GROUP];
	const struct group *group;
	uint64_t number;

	out->has_group = word;
	if (!word)
		return 0;
	group = getgrnam(word);
	if (group)
		out->group = group->gr_gid;
	else if (number_parse(word, 0, UINT32_MAX - 1, &number))
		return wrong(
			"--group '%s': no such group: use a name that `getent group` lists, or "
			"a number",
			word);
	else
		out->group = (gid_t)number;
	return 0;
}

static int options_get(const struct command *command, struct attach_options *out)
{
	uint32_t power = 2;

	out->mode = command->choices[OPTION_MODE];
	out->fq = option_given(command, OPTION_FQ);
	out->table = command->choices[OPTION_TABLE];
	out->proof = command->choices[OPTION_STATE];
	if (group_option(command, out) ||
	    option_number(command, OPTION_SOURCES, CAPACITY_MAX, SOURCES_DEFAULT, &out->sources) ||
	    option_number(command, OPTION_PREFIXES, CAPACITY_MAX, PREFIXES_DEFAULT,
			  &out->prefixes) ||
	    option_number(command, OPTION_BANS, CAPACITY_MAX, BANS_DEFAULT, &out->bans) ||
	    option_number(command, OPTION_LOG_DEPTH, RL_SLIDING_LOG_MAX, RL_SLIDING_LOG_MAX,
			  &out->log_depth) ||
	    option_number(command, OPTION_CHALLENGE_RATE, CHALLENGE_RATE_MAX, RL_CHALLENGE_RATE,
			  &out->challenge_rate))
		return EXIT_USAGE;
	out->rules = option_given(command, OPTION_PREFIXES) ? out->prefixes : RULES_DEFAULT;
	while (power < out->log_depth) /* the ring of a sliding log is indexed by a mask */
		power *= 2;
	out->log_depth = power;
	return 0;
}

/* Options that apply to one hook only, or to one another. */
static int options_check(const struct command *command, unsigned int hooks)
{
	bool tries = option_given(command, OPTION_TRY), last = option_given(command, OPTION_LAST);
	uint64_t try_ns;

	if (option_given(command, OPTION_MODE) && !(hooks & 1u << RL_HOOK_XDP))
		return wrong("attach: --mode applies only to --hook xdp: leave it out");
	if (option_given(command, OPTION_CHALLENGE_RATE) && !(hooks & 1u << RL_HOOK_XDP))
		return wrong("attach: --challenge-rate applies only to --hook xdp, where packets "
			     "can be answered: leave it out");
	if (option_given(command, OPTION_FQ) && !(hooks & 1u << RL_HOOK_EGRESS))
		return wrong("attach: --fq applies only to --hook egress: leave it out, or add "
			     "--hook egress");
	if (tries && option_given(command, OPTION_REPLACE))
		return wrong("attach: --replace cannot be undone: leave --try out");
	if (tries && hooks & (hooks - 1))
		return wrong("attach: --try takes only one --hook: attach one after the other");
	if (try_get(command, &try_ns))
		return EXIT_USAGE;
	if (last &&
	    (!option_given(command, OPTION_OR_APPLY) || !option_given(command, OPTION_POLICY)))
		return wrong(
			"attach: --last needs --or-apply and --policy: add them, or leave it out");
	if (last && tries)
		return wrong("attach: a policy on trial is not kept: leave --last or --try out");
	return 0;
}

static int hooks_attach(const struct command *command, const struct attach_options *options,
			unsigned int hooks, const struct policy_file *file)
{
	struct plan plans[HOOKS] = {0};
	struct trials trials = TRIALS_NONE;
	uint64_t try_ns;
	int rc = plans_make(command, options, hooks, file, plans);

	try_get(command, &try_ns); /* checked */
	if (!rc)
		plans_warn(plans);
	if (!rc && try_ns)
		rc = limiters_try_begin(&trials, try_ns);
	if (!rc && try_ns)
		plans_try(plans, &trials);
	rc = rc ?: plans_attach(plans);
	if (!rc && try_ns)
		rc = limiters_try(&trials, command->target.device);
	trials_close(&trials);
	plans_clear(plans);
	return rc;
}

/* ---- --or-apply, for the start of a service */

struct found {
	const struct command *command;
	const struct attach_options *options;
	unsigned int wanted, hooks; /* as bits */
};

/* The group is the only option that changes an existing instance; others are noted. */
static int found_add(struct instance *instance, void *arg)
{
	struct found *found = arg;
	unsigned int hook = 1u << instance->info.hook;

	found->hooks |= hook;
	if (!(found->wanted & hook))
		return 0;
	options_kept_note(found->command, found->options, instance);
	return found->options->has_group
		       ? group_give(instance->path, instance->device, found->options->group)
		       : 0;
}

/* The instance keeps its state and its options, and gets the policy if one is given. */
static int policy_apply(const struct command *command, enum rl_hook hook,
			const struct policy_file *file)
{
	bool wanted = option_given(command, OPTION_POLICY);
	struct command apply = *command;
	int rc = 0;

	apply.target.hook = hook;
	if (wanted)
		rc = file ? policy_file_apply(&apply, file) : -1;
	if (rc && !option_given(command, OPTION_TRY))
		note("%s: the policy that was in force stays in force; `rlctl detach %s --hook %s` "
		     "ends it",
		     apply.target.device, apply.target.device, hook_name(hook));
	if (!rc)
		note("%s: already attached: the instance stays%s", apply.target.device,
		     wanted ? " and the policy was applied" : "");
	return rc;
}

/* Removes from *hooks those that are already attached. */
static int found_apply(const struct command *command, const struct attach_options *options,
		       const struct policy_file *file, unsigned int *hooks)
{
	struct target any = {
		.bpffs = command->target.bpffs, .device = command->target.device, .hook = -1};
	struct found there = {.command = command, .options = options, .wanted = *hooks};
	int rc = instance_for_each(&any, found_add, &there);
	unsigned int found = there.hooks & *hooks;

	for (int hook = RL_HOOK_XDP; !rc && hook <= RL_HOOK_EGRESS; hook++)
		if (found & 1u << hook)
			rc = policy_apply(command, hook, file);
	*hooks &= ~found;
	return rc;
}

/* ---- --last: the policy that came into force last, for a boot that meets an error in the new one
 */

/* In place of the refused file, which is NULL if it could not be read. Returns -1: what the
 * operator wants is not in force. */
static int last_attach(const struct command *command, const struct attach_options *options,
		       unsigned int hooks, const struct policy_file *refused)
{
	const char *path = command->arguments[OPTION_LAST], *device = command->target.device;
	CLEARED_FILE struct policy_file last = {0};
	bool same;

	if (access(path, F_OK) && errno == ENOENT)
		return fail("%s: nothing is attached: no earlier policy in %s", device, path);
	if (policy_file_read(path, &last))
		return fail("%s: nothing is attached", device);
	same = refused && last.size == refused->size &&
	       !memcmp(last.text, refused->text, last.size);
	if (same)
		fail("%s: nothing is attached: the policy in %s is the same one", device, path);
	else if (hooks_attach(command, options, hooks, &last))
		fail("%s: nothing is attached: neither that policy nor the one before it, %s",
		     device, path);
	else
		fail("%s: the policy that was in force last is in force again, %s; `rlctl detach "
		     "%s` ends it",
		     device, path, device);
	return -1;
}

/* ---- the devices */

/* file: NULL if there is none, or if it cannot be read. */
static int one_attach(const struct command *command, const struct attach_options *options,
		      unsigned int hooks, const struct policy_file *file)
{
	bool unread = option_given(command, OPTION_POLICY) && !file;
	int rc = 0;

	if (option_given(command, OPTION_OR_APPLY))
		rc = found_apply(command, options, file, &hooks);
	if (!rc && hooks)
		rc = unread ? POLICY_REFUSED : hooks_attach(command, options, hooks, file);
	/* That it is in force is what counts: an error here is reported and no more. */
	if (!rc && file && option_given(command, OPTION_LAST))
		file_save(command->arguments[OPTION_LAST], file->text, file->size, NULL, NULL,
			  NULL);
	if (rc == POLICY_REFUSED && option_given(command, OPTION_LAST))
		return last_attach(command, options, hooks, file);
	return rc;
}

/* Options that need one device. */
static int many_check(const struct command *command)
{
	const char *words = command->target.device;

	if (option_given(command, OPTION_FOLLOW) && option_given(command, OPTION_REPLACE))
		return wrong("attach: --follow and --replace exclude each other: leave one out");
	if (option_given(command, OPTION_FOLLOW) && option_given(command, OPTION_TRY))
		return wrong(
			"attach: --follow and --try exclude each other, for a device that comes "
			"later would have no trial: leave one out");
	if (option_given(command, OPTION_TRY) && option_given(command, OPTION_OR_APPLY))
		return wrong(
			"attach: with several devices --try and --or-apply exclude each other: "
			"leave --or-apply out, and use `rlctl apply -i '%s' --try` for those "
			"that are attached",
			words);
	if (option_given(command, OPTION_LAST))
		return wrong("attach: --last takes only one device, not '%s': leave it out", words);
	return 0;
}

/* Where an instance is attached already, --or-apply applies the policy. */
static int many_apply(const struct command *command, const struct attach_options *options,
		      const struct policy_file *file, struct device_choices *choices)
{
	struct command one = *command;
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < choices->count; i++) {
		struct device_choice choice = choices->items[i];

		one.target.device = choice.name;
		rc = found_apply(&one, options, file, &choice.hooks);
		if (choice.hooks)
			choices->items[kept++] = choice;
	}
	choices->count = kept;
	return rc;
}

/* With a follower if it goes on with the devices that come. */
static int many_attach(const struct command *command, const struct attach_options *options,
		       unsigned int hooks, const struct policy_file *file,
		       struct follower *follower)
{
	struct trials trials = TRIALS_NONE;
	struct device_choices choices;
	uint64_t try_ns;
	bool chosen;
	int rc;

	if (option_given(command, OPTION_POLICY) && !file)
		return -1;
	try_get(command, &try_ns); /* checked */
	rc = devices_choose(command, hooks, &choices);
	if (!rc && option_given(command, OPTION_OR_APPLY))
		rc = many_apply(command, options, file, &choices);
	if (!rc && choices.attached)
		note("%s: %zu of the devices attached already, and left so: `rlctl apply -i` changes "
		     "their policy",
		     command->target.device, choices.attached);
	chosen = !rc;
	if (chosen && choices.count) {
		if (try_ns)
			rc = limiters_try_begin(&trials, try_ns);
		if (!rc)
			rc = devices_attach(command, options, &choices, file, follower,
					    try_ns ? &trials : NULL);
		if (!rc && try_ns)
			rc = limiters_try(&trials, command->target.device);
		trials_close(&trials);
	}
	if (chosen && follower)
		follow_done(follower, &choices);
	devices_clear(&choices);
	return rc;
}

static int replace_one(const struct command *one, void *arg)
{
	struct command command = *one;

	command.hooks = 1u << one->target.hook;
	return one->phase == PHASE_CHECK ? 0 : attach_replace(&command, arg);
}

int cmd_attach(const struct command *command)
{
	unsigned int hooks = command->hooks ? command->hooks : 1u << RL_HOOK_XDP;
	const char *path = command->arguments[OPTION_POLICY];
	struct attach_options options = {0};
	bool follow = option_given(command, OPTION_FOLLOW);
	bool many = follow || devices_are_many(command), read;
	struct policy_file file;
	struct follower follower;
	int rc;

	if (options_get(command, &options) || options_check(command, hooks) ||
	    (many && many_check(command)))
		return EXIT_USAGE;
	if (option_given(command, OPTION_REPLACE))
		return many ? targets_change(command, replace_one, &options)
			    : attach_replace(command, &options);
	read = path && !policy_file_read(path, &file);
	if (follow)
		follow_begin(&follower, command, &options, hooks);
	if (many)
		rc = many_attach(command, &options, hooks, read ? &file : NULL,
				 follow ? &follower : NULL);
	else
		rc = one_attach(command, &options, hooks, read ? &file : NULL);
	if (read)
		policy_file_clear(&file);
	if (follow && rc != EXIT_USAGE && (read || !path))
		rc = follow_run(&follower);
	return rc;
}

/* ---- detach: removes our program from the device, and no other */

static int detach(const struct command *command, void *arg)
{
	struct target target = command->target;

	(void)arg;
	if (!command->hooks)
		target.hook = -1; /* as if it were the only device named */
	return command->phase == PHASE_CHECK ? 0 : instance_detach(&target);
}

int cmd_detach(const struct command *command)
{
	struct command one = *command;
	int rc = 0;

	if (!command->hooks)
		return targets_change(command, detach, NULL);
	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++) {
		one.target.hook = hook;
		if (command->hooks & 1u << hook && targets_change(&one, detach, NULL))
			rc = -1;
	}
	return rc;
}
