// SPDX-License-Identifier: GPL-2.0-only
/* An instance that a verb has opened, with rules read from it. */

#include "cli/guard/session.h"

#include <string.h>

#include "cli/guard/guard.h"
#include "cli/output/output.h"
#include "kernel/instance/open.h"
#include "kernel/policy/policy_read.h"

int session_open(const struct target *target, enum session_use use, struct session *out)
{
	int rc = use == SESSION_SHARED ? instance_open_shared(target, &out->instance)
				       : instance_open(target, use >= SESSION_LOCK, &out->instance);

	memset(&out->policy, 0, sizeof(out->policy));
	if (rc)
		return rc;
	instance_context(&out->instance, &out->ctx);
	if (use != SESSION_LOOK && use != SESSION_LOCK)
		rc = instance_policy_read(&out->instance, &out->policy);
	if (rc)
		session_close(out);
	return rc;
}

void session_close(struct session *session)
{
	policy_clear(&session->policy);
	instance_close(&session->instance);
}

int session_run(const struct command *command, enum session_use use, session_fn run, void *arg)
{
	struct session session;
	int rc = session_open(&command->target, use, &session);

	if (rc)
		return rc;
	rc = run(command, &session, arg);
	session_close(&session);
	return rc;
}

struct each {
	enum session_use use;
	session_fn run;
	void *arg;
	struct guard *guard;
};

static int each_run(const struct command *command, void *arg)
{
	const struct each *each = arg;

	return session_run(command, each->use, each->run, each->arg);
}

int sessions_read(const struct command *command, enum session_use use, session_fn run, void *arg)
{
	struct each each = {.use = use, .run = run, .arg = arg};

	return targets_read(command, each_run, &each);
}

int sessions_change(const struct command *command, enum session_use use, session_fn run, void *arg)
{
	struct each each = {.use = use, .run = run, .arg = arg};

	return targets_change(command, each_run, &each);
}

/* ---- with a guard */

int guarded_change(const struct command *command, struct guard *guard, bool only_warns,
		   targets_fn once, void *arg)
{
	int rc;

	guard_start(guard, only_warns || option_given(command, OPTION_YES));
	guard->agreed = command->phase == PHASE_CHANGE;
	rc = once(command, arg);
	if (rc == GUARD_ASKS) {
		rc = guard_ask(guard);
		rc = rc ?: once(command, arg);
	}
	guard_clear(guard);
	return rc;
}

static int guarded_run(const struct command *command, void *arg)
{
	const struct each *each = arg;

	return guarded_change(command, each->guard, false, each_run, arg);
}

int guarded_changes(const struct command *command, struct guard *guard, enum session_use use,
		    session_fn once, void *arg)
{
	struct each each = {.use = use, .run = once, .arg = arg, .guard = guard};

	return targets_change(command, guarded_run, &each);
}

void rules_append(struct policy *list, const struct rule *rule)
{
	if (policy_append(list, rule))
		out_of_memory();
}
