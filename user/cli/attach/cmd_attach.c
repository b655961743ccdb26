// SPDX-License-Identifier: GPL-2.0-only
/* rlctl attach: checks the command line and the policy before it touches the device. The exception
 * is `over mark` with --mode auto: whether it is allowed depends on the mode that attach ends up
 * with.
 */

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/guard/guard.h"
#include "cli/guard/surroundings.h"
#include "cli/policy/save_file.h"
#include "cli/sets/set_each.h"
#include "kernel/attach/attach.h"
#include "kernel/attach/hook_names.h"
#include "kernel/attach/mode.h"
#include "kernel/attach/object.h"
#include "kernel/device/device.h"
#include "kernel/instance/group.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "policy/policy.h"

/* Why a plan fails: the policy cannot come into force. -1: any other reason. */
#define POLICY_REFUSED     (-2)

#define CHALLENGE_RATE_MAX 100000000u

/* --by source|dest */
enum { BY_DEST = 1 };

_Static_assert(ATTACH_AUTO == 0 && ATTACH_NATIVE == 1 && ATTACH_GENERIC == 2, "--mode");
_Static_assert(RL_TABLE_HOT == 0 && RL_TABLE_LRU == 1 && RL_TABLE_CPU == 2, "--table");
_Static_assert(RL_PROOF_SOCKETS == 0 && RL_PROOF_CONNTRACK == 1, "--state");
_Static_assert(RL_HOOK_XDP == 0 && RL_HOOK_INGRESS == 1 && RL_HOOK_EGRESS == 2, "--hook");

/* The ring of a sliding log is indexed by a mask. */
static uint32_t power_of_two(uint32_t least)
{
	uint32_t power = 2;

	while (power < least)
		power *= 2;
	return power;
}

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
	int rc = group_option(command, out);

	if (rc)
		return rc;

	out->mode = command->choices[OPTION_MODE];
	out->fq = option_given(command, OPTION_FQ);
	out->table = command->choices[OPTION_TABLE];
	out->proof = command->choices[OPTION_STATE];
	rc = option_number(command, OPTION_SOURCES, CAPACITY_MAX, SOURCES_DEFAULT, &out->sources);
	if (!rc)
		rc = option_number(command, OPTION_PREFIXES, CAPACITY_MAX, PREFIXES_DEFAULT,
				   &out->prefixes);
	out->rules = option_given(command, OPTION_PREFIXES) ? out->prefixes : RULES_DEFAULT;
	if (!rc)
		rc = option_number(command, OPTION_BANS, CAPACITY_MAX, BANS_DEFAULT, &out->bans);
	if (!rc)
		rc = option_number(command, OPTION_LOG_DEPTH, RL_SLIDING_LOG_MAX,
				   RL_SLIDING_LOG_MAX, &out->log_depth);
	if (!rc)
		rc = option_number(command, OPTION_CHALLENGE_RATE, CHALLENGE_RATE_MAX,
				   RL_CHALLENGE_RATE, &out->challenge_rate);
	if (!rc)
		out->log_depth = power_of_two(out->log_depth);
	return rc;
}

/* Options that apply to one hook only. */
static int hooks_check(const struct command *command, unsigned int hooks)
{
	if (option_given(command, OPTION_MODE) && !(hooks & 1u << RL_HOOK_XDP))
		return wrong("attach: --mode applies only to --hook xdp: leave it out");
	if (option_given(command, OPTION_CHALLENGE_RATE) && !(hooks & 1u << RL_HOOK_XDP))
		return wrong("attach: --challenge-rate applies only to --hook xdp, where packets "
			     "can be answered: leave it out");
	if (option_given(command, OPTION_FQ) && !(hooks & 1u << RL_HOOK_EGRESS))
		return wrong("attach: --fq applies only to --hook egress: leave it out, or add "
			     "--hook egress");
	return 0;
}

static int try_check(const struct command *command, unsigned int hooks)
{
	uint64_t duration_ns;

	if (!option_given(command, OPTION_TRY))
		return 0;
	if (option_given(command, OPTION_REPLACE))
		return wrong("attach: --replace cannot be undone: leave --try out");
	if (hooks & (hooks - 1))
		return wrong("attach: --try takes only one --hook: attach one after the other");
	return try_get(command, &duration_ns);
}

/* ---- one instance for each hook */

struct plan {
	struct target target;
	struct attach_options options;
	struct policy_context ctx;
	const struct policy_file *file; /* NULL: no policy */
	struct policy policy;
	uint64_t try_ns; /* 0: no trial */
	bool wanted;
};

static int policy_guard(const struct command *command, const struct plan *plan)
{
	struct guard guard;
	int rc;

	guard_start(&guard, plan->try_ns || option_given(command, OPTION_YES));
	rc = guard_policies(&guard, device_index(plan->target.device), &plan->ctx, NULL,
			    &plan->policy, NULL);
	if (rc == GUARD_ASKS)
		rc = guard_ask(&guard);
	guard_clear(&guard);
	return rc;
}

static int plan_make(const struct command *command, const struct attach_options *options,
		     enum rl_hook hook, const struct policy_file *file, struct plan *out)
{
	out->target = command->target;
	out->target.hook = hook;
	out->options = *options;
	out->options.by_dest = option_given(command, OPTION_BY)
				       ? command->choices[OPTION_BY] == BY_DEST
				       : hook == RL_HOOK_EGRESS;
	out->options.fq = options->fq && hook == RL_HOOK_EGRESS;
	out->file = file;
	out->wanted = true;
	if (try_get(command, &out->try_ns))
		return EXIT_USAGE;
	if (attach_mode_choose(&out->target, &out->options.mode) ||
	    device_context(&out->target, out->options.by_dest, &out->ctx))
		return -1;
	out->ctx.may_be_tc = out->options.mode == ATTACH_AUTO;
	out->ctx.generic = out->options.mode == ATTACH_GENERIC;
	if (file && (policy_file_parse(file, &out->ctx, &out->policy) ||
		     policy_file_check(file, &out->ctx, out->options.prefixes, out->options.rules,
				       &out->policy)))
		return POLICY_REFUSED;
	return policy_guard(command, out);
}

static int plan_run(struct plan *plan)
{
	if (plan->try_ns)
		return limiter_try(&plan->target, &plan->options, &plan->policy, &plan->ctx,
				   plan->try_ns);
	return instance_attach(&plan->target, &plan->options, &plan->policy, &plan->ctx);
}

/* An operator would otherwise find that out from doctor, or too late. */
static void attached_note(const struct plan *plan)
{
	struct instance instance;

	if (instance_open(&plan->target, false, &instance))
		return;
	surroundings_note(instance.device, &instance.info, &plan->policy);
	if (!plan->file)
		note("%s: no rules yet, so every packet passes: `rlctl rule add` or `rlctl apply` "
		     "brings some",
		     instance.device);
	instance_close(&instance);
}

static int plan_attach(struct plan *plan)
{
	int rc = plan_run(plan);

	if (rc == ATTACH_FALLS_BACK) {
		plan->options.mode = ATTACH_TC;
		plan->ctx.tc = true;
		/* In mode tc the default burst is larger, because packets may be merged. */
		policy_clear(&plan->policy);
		rc = plan->file ? policy_file_parse_again(plan->file, &plan->ctx, &plan->policy)
				: 0;
		rc = rc ? rc : plan_run(plan);
	}
	if (!rc && plan->policy.set_count && !plan->try_ns)
		sets_load_new(&plan->target);
	if (!rc)
		attached_note(plan);
	return rc;
}

/* Attaches all of them or none. */
static int plans_attach(struct plan *plans)
{
	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++) {
		struct plan *plan = &plans[hook];

		if (!plan->wanted)
			continue;
		if (!plan_attach(plan))
			continue;
		while (--hook >= RL_HOOK_XDP)
			if (plans[hook].wanted)
				instance_detach(&plans[hook].target);
		return POLICY_REFUSED; /* by the kernel, or it takes no program here */
	}
	return 0;
}

/* Prints the warnings once, also for several hooks. */
static void plans_warn(const struct plan *plans, const struct policy_file *file)
{
	int hook = RL_HOOK_XDP;

	while (hook < RL_HOOK_EGRESS && !plans[hook].wanted)
		hook++;
	if (file)
		policy_warnings_note(&file->source, &plans[hook].policy, &plans[hook].ctx);
}

static int hooks_attach(const struct command *command, const struct attach_options *options,
			unsigned int hooks, const struct policy_file *file)
{
	struct plan plans[RL_HOOK_EGRESS + 1] = {0};
	int rc = 0;

	for (int hook = RL_HOOK_XDP; !rc && hook <= RL_HOOK_EGRESS; hook++)
		if (hooks & 1u << hook)
			rc = plan_make(command, options, hook, file, &plans[hook]);
	if (!rc) {
		plans_warn(plans, file);
		rc = plans_attach(plans);
	}
	for (int hook = RL_HOOK_XDP; hook <= RL_HOOK_EGRESS; hook++)
		policy_clear(&plans[hook].policy);
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
	return found->options->has_group ? instance_group_set(instance, found->options->group) : 0;
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

static int last_check(const struct command *command)
{
	const char *policy = command->arguments[OPTION_POLICY];

	if (!option_given(command, OPTION_LAST))
		return 0;
	if (!option_given(command, OPTION_OR_APPLY) || !policy)
		return wrong(
			"attach: --last needs --or-apply and --policy: add them, or leave it out");
	if (option_given(command, OPTION_TRY))
		return wrong("attach: a policy on trial is not kept: leave --last or --try out");
	return 0;
}

/* In place of the refused file, which is NULL if it could not be read. Returns -1: what the
 * operator wants is not in force. */
static int last_attach(const struct command *command, const struct attach_options *options,
		       unsigned int hooks, const struct policy_file *refused)
{
	const char *path = command->arguments[OPTION_LAST], *device = command->target.device;
	struct policy_file last;
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
	policy_file_clear(&last);
	return -1;
}

/* file: NULL if there is none, or if it cannot be read. */
static int policy_attach(const struct command *command, const struct attach_options *options,
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

int cmd_attach(const struct command *command)
{
	unsigned int hooks = command->hooks ? command->hooks : 1u << RL_HOOK_XDP;
	const char *path = command->arguments[OPTION_POLICY];
	struct attach_options options = {0};
	struct policy_file file;
	bool read;
	int rc = options_get(command, &options);

	if (!rc)
		rc = hooks_check(command, hooks);
	if (!rc)
		rc = try_check(command, hooks);
	if (!rc)
		rc = last_check(command);
	if (!rc && option_given(command, OPTION_REPLACE))
		return attach_replace(command, &options);
	if (rc)
		return rc;
	read = path && !policy_file_read(path, &file);
	rc = policy_attach(command, &options, hooks, read ? &file : NULL);
	if (read)
		policy_file_clear(&file);
	return rc;
}
