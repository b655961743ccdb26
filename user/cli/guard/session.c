// SPDX-License-Identifier: GPL-2.0-only
/* An instance that a verb has opened, with rules read from it. */

#include "cli/guard/session.h"

#include <string.h>

#include "cli/output/output.h"
#include "kernel/instance/open.h"
#include "kernel/policy/policy_read.h"

int session_open(const struct command *command, bool write, struct session *out)
{
	int rc = instance_open(&command->target, write, &out->instance);

	memset(&out->policy, 0, sizeof(out->policy));
	if (!rc)
		instance_context(&out->instance, &out->ctx);
	return rc;
}

int session_read(const struct command *command, struct session *out)
{
	int rc = session_open(command, false, out);

	if (rc)
		return rc;
	rc = instance_policy_read(&out->instance, &out->policy);
	if (rc)
		instance_close(&out->instance);
	return rc;
}

void session_close(struct session *session)
{
	policy_clear(&session->policy);
	instance_close(&session->instance);
}

void rules_append(struct policy *list, const struct rule *rule)
{
	if (policy_append(list, rule))
		out_of_memory();
}
