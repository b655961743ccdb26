// SPDX-License-Identifier: GPL-2.0-only
/* rlctl apply: replaces the whole policy, with --try on trial; --check only looks for errors.
 * The file is read before the instance is locked, so that a slow pipe does not block other writers.
 */
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "cli/cmd.h"
#include "cli/guard/guard.h"
#include "cli/guard/session.h"
#include "cli/guard/surroundings.h"
#include "cli/output/output.h"
#include "cli/policy/replaced.h"
#include "cli/sets/set_each.h"
#include "kernel/attach/mode.h"
#include "kernel/attach/object.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/instance/pins.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/failures.h"
#include "kernel/policy/rule_counters.h"
#include "kernel/sets/set_load.h"
#include "kernel/sets/sets.h"
#include "policy/alarm.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

/* ---- --check ---- */

struct check {
	const struct policy_file *file;
	struct policy *policy;
	struct policy_context ctx;
	bool found; /* an instance that could be read: */
	struct rl_instance info;
	char device[IF_NAMESIZE];
};

static int hook_add(struct instance *instance, void *arg)
{
	unsigned int *hooks = arg;

	*hooks |= 1u << instance->info.hook;
	return 0;
}

static int check_against(struct instance *instance, void *arg)
{
	struct check *check = arg;
	int rc;

	instance_context(instance, &check->ctx);
	check->found = true;
	check->info = instance->info;
	memcpy(check->device, instance->device, sizeof(check->device));
	rc = policy_file_parse(check->file, &check->ctx, check->policy);
	return rc ? rc : instance_policy_check(instance, check->policy, &check->file->source);
}

/* Whether this user may list instances; if not, --check works without one and reports nothing. */
static bool may_list(const struct target *target)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/rlctl", target->bpffs) < (int)sizeof(path) &&
	       !access(path, R_OK | X_OK);
}

static int check_alone(const struct target *target, struct check *check)
{
	bool by_dest = target->hook == RL_HOOK_EGRESS;
	struct policy_context *ctx = &check->ctx;
	int rc = 0;

	*ctx = (struct policy_context){.mtu = 1500,
				       .by_dest = by_dest,
				       .tc = target->hook > RL_HOOK_XDP,
				       .leaving = target->hook == RL_HOOK_EGRESS};
	if (target->device && if_nametoindex(target->device))
		rc = device_context(target, by_dest, ctx);
	if (!rc)
		rc = policy_file_parse(check->file, ctx, check->policy);
	return rc ? rc
		  : policy_file_check(check->file, ctx, PREFIXES_DEFAULT, RULES_DEFAULT,
				      check->policy);
}

/* Checks against the instance of the device if it can be read, else against the device, else
 * against the defaults. */
static int check_file(const struct target *target, const struct policy_file *file,
		      struct policy *policy)
{
	struct check check = {.file = file, .policy = policy};
	struct target one = *target;
	unsigned int hooks = 0;
	int rc = 0;

	if (target->device && may_list(target))
		rc = instance_for_each(target, hook_add, &hooks);
	if (!rc && hooks) {
		one.hook = hook_meant(hooks);
		rc = one.hook < 0 ? report_hooks(one.device)
				  : instance_for_each(&one, check_against, &check);
	}
	if (!rc && !check.found)
		rc = check_alone(target, &check);
	if (rc)
		return rc;
	policy_warnings_note(&file->source, policy, &check.ctx);
	if (check.found)
		surroundings_note(check.device, &check.info, policy);
	else if (target->device)
		surroundings_note(target->device, NULL, policy);
	sets_files_check(policy);
	return policy_lint_note(&file->source, policy, &check.ctx);
}

/* ---- permanently, or on trial ---- */

struct apply {
	const struct command *command;
	const struct target *target;
	const struct policy_file *file;
	struct guard guard;
	uint64_t try_ns;      /* 0: no trial */
	uint64_t drop_ns;     /* of a policy that was kept */
	struct policy former; /* that was replaced */
};

static int policy_guard(struct apply *apply, const struct instance *instance,
			const struct policy *next, const struct policy_context *ctx)
{
	struct policy current = {0};
	struct set_live sets;
	int rc;

	if (!guard_wanted(&apply->guard) && next->count)
		return 0;
	rc = instance_policy_read(instance, &current);
	set_live_open(instance, &sets);
	if (!rc && !next->count)
		rc = guard_empty(&apply->guard, current.count, apply->file->name);
	if (!rc)
		rc = guard_policies(&apply->guard, (int)instance->info.ifindex, ctx, &current, next,
				    &sets.members);
	set_live_close(&sets);
	policy_clear(&current);
	return rc;
}

static int policy_put_in_force(struct apply *apply, struct instance *instance,
			       struct policy *policy)
{
	if (apply->command->phase == PHASE_CHECK) {
		int rc = trial_refuse(instance);

		return rc ? rc : instance_policy_check(instance, policy, &apply->file->source);
	}
	if (apply->try_ns)
		return policy_try(apply->target, instance, policy, &apply->file->source,
				  apply->try_ns, &apply->former);
	return instance_policy_write(instance, policy, true, &apply->file->source, &apply->former);
}

/* The time that is left of a rule passes by itself: the same file, applied again, replaces nothing.
 */
static void difference_find(const struct rule *from, const struct rule *to, void *arg)
{
	bool *differ = arg;
	struct rule former;

	if (from)
		former = *from;
	if (from && to && from->for_ns && to->for_ns)
		former.for_ns = to->for_ns;
	*differ = *differ || !from || !to || !same_rule(&former, to);
}

static bool policies_differ(const struct policy *a, const struct policy *b)
{
	bool differ = policy_sets_diff(a, b, NULL, NULL) || policy_alarms_diff(a, b, NULL, NULL);

	if (!differ)
		policy_diff(a, b, difference_find, &differ);
	return differ;
}

static bool has_counted(const struct rule_counters *counters)
{
	return counters->passed.packets || counters->dropped.packets || counters->shadow.packets;
}

/* The rules of `next` that were in the former policy as well, and have counted packets then. */
static int counting_find(const struct apply *apply, const struct instance *instance,
			 const struct policy *next, struct policy *out)
{
	struct rule_counters *counters;
	size_t kept = 0;
	int rc;

	policy_for_each (next, rule) {
		const struct rule *former = policy_find(&apply->former, rule);

		if (former && former->counter_id == rule->counter_id)
			rules_append(out, rule);
	}
	counters = calloc(out->count + 1, sizeof(*counters));
	if (!counters)
		out_of_memory();
	rc = counters_read(instance, out, counters);
	for (size_t i = 0; !rc && i < out->count; i++)
		if (has_counted(&counters[i]))
			out->rules[kept++] = out->rules[i];
	out->count = rc ? 0 : kept;
	free(counters);
	return rc;
}

/* Their numbers are not of the new policy alone. */
static void counting_note(const struct apply *apply, const struct instance *instance,
			  const struct policy *next, const struct policy_context *ctx)
{
	struct policy kept = {0};
	char words[RULE_TEXT_MAX], more[64] = "";

	if (counting_find(apply, instance, next, &kept) || !kept.count) {
		policy_clear(&kept);
		return;
	}
	rule_format(words, &kept.rules[0], ctx);
	if (kept.count > 1)
		snprintf(more, sizeof(more), ", and %zu more%s", kept.count - 1,
			 output_verbose ? ":" : " (-v names them)");
	note("%s: %zu rule%s counters: %s%s", instance->device, kept.count,
	     kept.count == 1 ? " keeps its" : "s keep their", words, more);
	for (size_t i = 1; output_verbose && i < kept.count; i++) {
		rule_format(words, &kept.rules[i], ctx);
		note("  %s", words);
	}
	policy_clear(&kept);
}

/* Keeps the policy that was replaced. */
static void former_keep(const struct apply *apply, const struct instance *instance,
			const struct policy_context *ctx)
{
	int lock = -1;

	if (apply->try_ns) /* a trial releases the lock */
		lock = pins_lock(instance->path, false);
	if (!apply->try_ns || lock >= 0)
		replaced_keep(instance, &apply->former, ctx, apply->drop_ns);
	if (lock >= 0)
		close(lock);
}

/* 0, below 0, or GUARD_ASKS. */
static int apply_file(struct apply *apply, struct policy *policy)
{
	struct policy_context ctx;
	struct instance instance;
	int rc = instance_open(apply->target, true, &instance);

	if (rc)
		return rc;
	policy_clear(policy);
	instance_context(&instance, &ctx);
	rc = policy_file_parse(apply->file, &ctx, policy);
	if (!rc)
		rc = policy_guard(apply, &instance, policy, &ctx);
	if (!rc)
		policy_warnings_note(&apply->file->source, policy, &ctx);
	if (!rc)
		rc = policy_put_in_force(apply, &instance, policy);
	if (!rc && apply->command->phase != PHASE_CHECK &&
	    policies_differ(&apply->former, policy)) {
		former_keep(apply, &instance, &ctx);
		counting_note(apply, &instance, policy, &ctx);
	}
	if (!rc && apply->command->phase != PHASE_CHECK)
		surroundings_note(instance.device, &instance.info, policy);
	instance_close(&instance);
	if (!rc && policy->set_count && apply->command->phase != PHASE_CHECK && !apply->try_ns)
		sets_load_new(apply->target);
	return rc;
}

static int apply_guarded(struct apply *apply, struct policy *policy)
{
	int rc = apply_file(apply, policy);

	if (rc != GUARD_ASKS)
		return rc;
	rc = guard_ask(&apply->guard);
	return rc ? rc : apply_file(apply, policy);
}

int policy_file_apply_one(const struct command *command, const struct policy_file *file,
			  uint64_t drop_ns)
{
	struct apply apply = {
		.command = command, .target = &command->target, .file = file, .drop_ns = drop_ns};
	struct policy policy = {0};
	int rc = try_get(command, &apply.try_ns);

	if (rc)
		return rc;
	if (apply.try_ns && command->phase != PHASE_ALONE)
		return wrong("%s: --try takes only one device: name one after the other",
			     command->verb->name);
	if (option_given(command, OPTION_CHECK)) {
		rc = check_file(&command->target, file, &policy);
	} else {
		guard_start(&apply.guard, apply.try_ns || option_given(command, OPTION_YES));
		apply.guard.agreed = command->phase == PHASE_CHANGE;
		rc = apply_guarded(&apply, &policy);
		if (!rc && output_verbose)
			note("%zu rule%s", policy.count, policy.count == 1 ? "" : "s");
		guard_clear(&apply.guard);
	}
	policy_clear(&apply.former);
	policy_clear(&policy);
	return rc;
}

static int apply_run(const struct command *command, void *arg)
{
	return policy_file_apply_one(command, arg, 0);
}

int policy_file_apply(const struct command *command, const struct policy_file *file)
{
	return option_given(command, OPTION_CHECK)
		       ? targets_check(command, apply_run, (void *)file)
		       : targets_change(command, apply_run, (void *)file);
}

int cmd_apply(const struct command *command)
{
	struct policy_file file;
	uint64_t try_ns;
	int rc = try_get(command, &try_ns);

	if (!rc && try_ns && option_given(command, OPTION_CHECK))
		return wrong("apply: --check and --try exclude each other: leave one out");
	if (!rc)
		rc = policy_file_read(command->words[0], &file);
	if (rc)
		return rc;
	rc = policy_file_apply(command, &file);
	policy_file_clear(&file);
	return rc;
}
