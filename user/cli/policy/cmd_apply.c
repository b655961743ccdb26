// SPDX-License-Identifier: GPL-2.0-only
/* rlctl apply: replaces the whole policy, with --try on trial; --check only looks for errors.
 * The file is read before the instance is locked, so that a slow pipe does not block other writers.
 */
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/guard/guard.h"
#include "cli/guard/session.h"
#include "cli/guard/surroundings.h"
#include "cli/policy/replaced.h"
#include "cli/policy/try.h"
#include "cli/sets/set_open.h"
#include "kernel/attach/mode.h"
#include "kernel/attach/object.h"
#include "kernel/attach/trial_record.h"
#include "kernel/failures.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/open.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/policy/policy_write.h"
#include "kernel/sets/set_load.h"
#include "kernel/sets/sets.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"

/* ---- --check ---- */

struct check {
	const struct policy_file *file;
	struct policy policy;
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
	rc = policy_file_parse(check->file, &check->ctx, &check->policy);
	return rc ?: instance_policy_check(instance, &check->policy, &check->file->source);
}

/* Checks against the instance of the device if it can be read, else against the device, else
 * against the defaults. */
static int check_file(const struct target *target, const struct policy_file *file)
{
	struct check check = {.file = file};
	struct target one = *target;
	char pins[PATH_MAX];
	unsigned int hooks = 0;
	int rc = 0;

	/* A user who may not list instances checks without one, and nothing is reported. */
	snprintf(pins, sizeof(pins), "%s/rlctl", target->bpffs);
	if (target->device && !access(pins, R_OK | X_OK))
		rc = instance_for_each(target, hook_add, &hooks);
	if (!rc && hooks) {
		one.hook = hook_meant(hooks);
		rc = one.hook < 0 ? report_hooks(one.device)
				  : instance_for_each(&one, check_against, &check);
	}
	if (!rc && !check.found) {
		check.ctx = context_assumed(target);
		if (target->device && if_nametoindex(target->device))
			rc = device_context(target, check.ctx.by_dest, &check.ctx);
		rc = rc ?: policy_file_parse(file, &check.ctx, &check.policy);
		if (!rc)
			rc = policy_file_check(file, &check.ctx, PREFIXES_DEFAULT, RULES_DEFAULT,
					       &check.policy);
	}
	if (!rc) {
		policy_warnings_note(&file->source, &check.policy, &check.ctx);
		if (check.found || target->device)
			surroundings_note(check.found ? check.device : target->device,
					  check.found ? &check.info : NULL, &check.policy);
		sets_files_check(&check.policy);
		rc = policy_lint_note(&file->source, &check.policy, &check.ctx);
	}
	policy_clear(&check.policy);
	return rc;
}

/* ---- permanently, or on trial ---- */

struct apply {
	struct target target;
	const struct policy_file *file;
	struct guard guard;
	uint64_t try_ns;      /* 0: no trial */
	uint64_t drop_ns;     /* of a policy that was kept */
	struct policy former; /* that was replaced */
	/* between apply_begin() and apply_end() */
	struct instance instance;
	struct policy_context ctx;
	struct policy policy;
	bool in_force; /* now, and not on trial */
};

static int policy_guard(struct apply *apply)
{
	const struct instance *instance = &apply->instance;
	CLEARED struct policy current = {0};
	struct set_live sets;
	int rc;

	if (!guard_wanted(&apply->guard) && apply->policy.count)
		return 0;
	rc = instance_policy_read(instance, &current);
	set_live_open(instance, &sets);
	if (!rc && !apply->policy.count)
		rc = guard_empty(&apply->guard, current.count, apply->file->name);
	if (!rc)
		rc = guard_policies(&apply->guard, (int)instance->info.ifindex, &apply->ctx,
				    &current, &apply->policy, &sets.members);
	set_live_close(&sets);
	return rc;
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

/* Was the rule in the former policy as well, and has it counted packets then? */
static bool keeps_count(const struct apply *apply, const struct rule *rule,
			const struct rule_counters *counters)
{
	const struct rule *former = policy_find(&apply->former, rule);

	return former && former->counter_id == rule->counter_id &&
	       (counters->passed.packets || counters->dropped.packets || counters->shadow.packets);
}

/* Their numbers are not of the new policy alone. */
static void counting_note(const struct apply *apply)
{
	const struct policy *next = &apply->policy;
	struct rule_counters *counters = xcalloc(next->count + 1, sizeof(*counters));
	char words[RULE_TEXT_MAX], more[64] = "";
	const struct rule *first = NULL;
	size_t kept = 0;

	if (!counters_read(&apply->instance, next, counters))
		for (size_t i = next->count; i--;)
			if (keeps_count(apply, &next->rules[i], &counters[i])) {
				first = &next->rules[i];
				kept++;
			}
	if (first)
		rule_format(words, first, &apply->ctx);
	if (kept > 1)
		snprintf(more, sizeof(more), ", and %zu more%s", kept - 1,
			 output_verbose ? ":" : " (-v names them)");
	if (first)
		note("%s: %zu rule%s counters: %s%s", apply->instance.device, kept,
		     kept == 1 ? " keeps its" : "s keep their", words, more);
	for (size_t i = 0; first && output_verbose && i < next->count; i++)
		if (&next->rules[i] != first && keeps_count(apply, &next->rules[i], &counters[i])) {
			rule_format(words, &next->rules[i], &apply->ctx);
			note("  %s", words);
		}
	free(counters);
}

/* Opens the instance for writing and checks what is to come into force there. 0, below 0, or
 * GUARD_ASKS. */
static int apply_begin(struct apply *apply)
{
	struct instance *instance = &apply->instance;
	int rc = instance_open(&apply->target, true, instance);

	if (rc)
		return rc;
	policy_clear(&apply->policy);
	instance_context(instance, &apply->ctx);
	rc = policy_file_parse(apply->file, &apply->ctx, &apply->policy);
	rc = rc ?: policy_guard(apply);
	if (!rc)
		policy_warnings_note(&apply->file->source, &apply->policy, &apply->ctx);
	if (rc)
		instance_close(instance);
	return rc;
}

static void apply_end(struct apply *apply)
{
	struct instance *instance = &apply->instance;
	bool in_force = apply->in_force;
	int lock = -1;

	if (in_force && policies_differ(&apply->former, &apply->policy)) {
		if (apply->try_ns) /* a trial releases the lock */
			lock = pins_lock(instance->path, false);
		if (!apply->try_ns || lock >= 0)
			replaced_keep(instance, &apply->former, &apply->ctx, apply->drop_ns);
		if (lock >= 0)
			close(lock);
		counting_note(apply);
	}
	if (in_force)
		surroundings_note(instance->device, &instance->info, &apply->policy);
	instance_close(instance);
	if (in_force && apply->policy.set_count && !apply->try_ns)
		sets_load_new(&apply->target);
}

/* 0, below 0, or GUARD_ASKS. */
static int apply_file(const struct command *command, void *arg)
{
	struct apply *apply = arg;
	const struct policy_source *source = &apply->file->source;
	struct instance *instance = &apply->instance;
	struct policy_try one = {.target = &apply->target,
				 .instance = instance,
				 .next = &apply->policy,
				 .former = &apply->former};
	bool checks = command->phase == PHASE_CHECK;
	int rc = apply_begin(apply);

	if (rc)
		return rc;
	if (checks)
		rc = trial_refuse(instance)
			     ?: instance_policy_check(instance, &apply->policy, source);
	else if (apply->try_ns)
		rc = policies_try(&one, 1, source, apply->try_ns, instance->device);
	else
		rc = instance_policy_write(instance, &apply->policy, true, source, &apply->former);
	apply->in_force = !rc && !checks;
	apply_end(apply);
	return rc;
}

static void apply_clear(struct apply *apply)
{
	policy_clear(&apply->former);
	policy_clear(&apply->policy);
}

int policy_file_apply_one(const struct command *command, const struct policy_file *file,
			  uint64_t drop_ns)
{
	struct apply apply = {.target = command->target, .file = file, .drop_ns = drop_ns};
	int rc;

	try_get(command, &apply.try_ns); /* checked */
	rc = guarded_change(command, &apply.guard, apply.try_ns, apply_file, &apply);
	if (!rc && output_verbose)
		note("%zu rule%s", apply.policy.count, apply.policy.count == 1 ? "" : "s");
	apply_clear(&apply);
	return rc;
}

/* ---- on trial on several devices: all are locked until all have the policy */

struct applies {
	const struct policy_file *file;
	struct apply **items;
	size_t count;
	uint64_t try_ns;
};

static int apply_add(struct applies *all, const struct command *command)
{
	struct apply *apply = xcalloc(1, sizeof(*apply));
	int rc;

	all->items = xreallocarray(all->items, all->count + 1, sizeof(struct apply *));
	*apply =
		(struct apply){.target = command->target, .file = all->file, .try_ns = all->try_ns};
	guard_start(&apply->guard, true);
	rc = apply_begin(apply);
	guard_clear(&apply->guard);
	if (rc) {
		apply_clear(apply);
		free(apply);
		return rc;
	}
	apply->target.device = apply->instance.device; /* the command's lasts until the next */
	all->items[all->count++] = apply;
	rc = trial_refuse(&apply->instance);
	return rc ?: instance_policy_check(&apply->instance, &apply->policy, &all->file->source);
}

static int applies_try(struct applies *all, const char *words)
{
	struct policy_try *tries = xcalloc(all->count, sizeof(*tries));
	int rc;

	for (size_t i = 0; i < all->count; i++)
		tries[i] = (struct policy_try){.target = &all->items[i]->target,
					       .instance = &all->items[i]->instance,
					       .next = &all->items[i]->policy,
					       .former = &all->items[i]->former};
	rc = policies_try(tries, all->count, &all->file->source, all->try_ns, words);
	for (size_t i = 0; i < all->count; i++)
		all->items[i]->in_force = tries[i].kept;
	free(tries);
	return rc;
}

static int apply_run(const struct command *command, void *arg)
{
	struct applies *all = arg;

	if (option_given(command, OPTION_CHECK))
		return check_file(&command->target, all->file);
	if (all->try_ns && command->phase != PHASE_ALONE)
		return apply_add(all, command);
	return policy_file_apply_one(command, all->file, 0);
}

int policy_file_apply(const struct command *command, const struct policy_file *file)
{
	struct applies all = {.file = file};
	int rc = try_get(command, &all.try_ns);

	if (rc)
		return rc;
	if (option_given(command, OPTION_CHECK) || all.try_ns)
		rc = targets_check(command, apply_run, &all);
	else
		rc = targets_change(command, apply_run, &all);
	if (!rc && all.count)
		rc = applies_try(&all, command->target.device);
	for (size_t i = 0; i < all.count; i++) {
		apply_end(all.items[i]);
		apply_clear(all.items[i]);
		free(all.items[i]);
	}
	free(all.items);
	return rc;
}

int cmd_apply(const struct command *command)
{
	CLEARED_FILE struct policy_file file = {0};
	uint64_t try_ns;
	int rc = try_get(command, &try_ns);

	if (!rc && try_ns && option_given(command, OPTION_CHECK))
		return wrong("apply: --check and --try exclude each other: leave one out");
	rc = rc ?: policy_file_read(command->words[0], &file);
	return rc ?: policy_file_apply(command, &file);
}
