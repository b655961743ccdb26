// SPDX-License-Identifier: GPL-2.0-only
/* Checks an attach to one device before it touches that device, and carries it out. The exception
 * is `over mark` with --mode auto: whether it is allowed depends on the mode that attach ends up
 * with. */

#include "cli/attach/plan.h"

#include "cli/guard/guard.h"
#include "cli/guard/surroundings.h"
#include "cli/policy/try.h"
#include "cli/sets/set_open.h"
#include "kernel/attach/mode.h"
#include "kernel/device/device.h"

/* --by source|dest */
enum { BY_DEST = 1 };

static int plan_make(const struct command *command, const struct attach_options *options,
		     enum rl_hook hook, const struct policy_file *file, struct plan *out)
{
	struct guard guard;
	int rc;

	out->target = command->target;
	out->target.hook = hook;
	out->options = *options;
	out->options.by_dest = option_given(command, OPTION_BY)
				       ? command->choices[OPTION_BY] == BY_DEST
				       : hook == RL_HOOK_EGRESS;
	out->options.fq = options->fq && hook == RL_HOOK_EGRESS;
	out->file = file;
	out->wanted = true;
	if (attach_mode_choose(&out->target, &out->options.mode) ||
	    device_context(&out->target, out->options.by_dest, &out->ctx))
		return -1;
	out->ctx.may_be_tc = out->options.mode == ATTACH_AUTO;
	out->ctx.generic = out->options.mode == ATTACH_GENERIC;
	if (file && (policy_file_parse(file, &out->ctx, &out->policy) ||
		     policy_file_check(file, &out->ctx, out->options.prefixes, out->options.rules,
				       &out->policy)))
		return POLICY_REFUSED;
	guard_start(&guard, option_given(command, OPTION_TRY) || option_given(command, OPTION_YES));
	rc = guard_policies(&guard, device_index(out->target.device), &out->ctx, NULL, &out->policy,
			    NULL);
	if (rc == GUARD_ASKS)
		rc = guard_ask(&guard);
	guard_clear(&guard);
	return rc;
}

static int plan_run(struct plan *plan)
{
	return instance_attach(&plan->target, &plan->options, &plan->policy, &plan->ctx);
}

static int plan_attach(struct plan *plan)
{
	struct instance instance;
	int rc = plan_run(plan);

	if (rc == ATTACH_FALLS_BACK) {
		plan->options.mode = ATTACH_TC;
		plan->ctx.tc = true;
		/* In mode tc the default burst is larger, because packets may be merged. */
		policy_clear(&plan->policy);
		rc = plan->file ? policy_file_parse_again(plan->file, &plan->ctx, &plan->policy)
				: 0;
		rc = rc ?: plan_run(plan);
	}
	if (!rc && plan->policy.set_count)
		sets_load_new(&plan->target);
	/* An operator would otherwise find that out from doctor, or too late. */
	if (rc || instance_open(&plan->target, false, &instance))
		return rc;
	surroundings_note(instance.device, &instance.info, &plan->policy);
	if (!plan->file)
		note("%s: no rules yet, so every packet passes: `rlctl rule add` or `rlctl apply` "
		     "brings some",
		     instance.device);
	instance_close(&instance);
	return 0;
}

void plans_detach(const struct plan plans[HOOKS], int end)
{
	for (int hook = RL_HOOK_XDP; hook < end; hook++)
		if (plans[hook].wanted)
			instance_detach(&plans[hook].target);
}

int plans_attach(struct plan plans[HOOKS])
{
	for (int hook = RL_HOOK_XDP; hook < HOOKS; hook++) {
		struct plan *plan = &plans[hook];

		if (!plan->wanted || !plan_attach(plan))
			continue;
		plans_detach(plans, hook);
		return POLICY_REFUSED; /* by the kernel, or it takes no program here */
	}
	return 0;
}

void plans_try(struct plan plans[HOOKS], struct trials *trials)
{
	for (int hook = RL_HOOK_XDP; hook < HOOKS; hook++) {
		plans[hook].options.ready = limiter_try;
		plans[hook].options.ready_arg = trials;
	}
}

void plans_warn(const struct plan plans[HOOKS])
{
	int hook = RL_HOOK_XDP;

	while (hook < RL_HOOK_EGRESS && !plans[hook].wanted)
		hook++;
	if (plans[hook].file)
		policy_warnings_note(&plans[hook].file->source, &plans[hook].policy,
				     &plans[hook].ctx);
}

int plans_make(const struct command *command, const struct attach_options *options,
	       unsigned int hooks, const struct policy_file *file, struct plan out[HOOKS])
{
	int rc = 0;

	for (int hook = RL_HOOK_XDP; !rc && hook < HOOKS; hook++)
		if (hooks & 1u << hook)
			rc = plan_make(command, options, hook, file, &out[hook]);
	return rc;
}

void plans_clear(struct plan plans[HOOKS])
{
	for (int hook = RL_HOOK_XDP; hook < HOOKS; hook++)
		policy_clear(&plans[hook].policy);
}
