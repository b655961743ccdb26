/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements `alarm` of a policy, and `while` behind rules: text and model. */
#ifndef RLCTL_POLICY_ALARM_H
#define RLCTL_POLICY_ALARM_H

#include "policy.h"

/* The canonical line, beginning with the word "alarm", with its comment. Returns the length, like
 * snprintf. */
#define ALARM_TEXT_MAX STATEMENT_TEXT_MAX
int alarm_print(char *buf, size_t size, const struct policy_alarm *alarm,
		const struct policy_context *ctx);

/* The alarm of that name, or NULL. */
struct policy_alarm *policy_alarm_find(const struct policy *policy, const char *name);

/* Adds it, or replaces that of the same name; keeps the order. 0 or -ENOMEM. */
int policy_alarm_put(struct policy *policy, const struct policy_alarm *alarm);

/* Puts all alarms of `from`. 0 or -ENOMEM. */
int policy_alarms_copy(struct policy *policy, const struct policy *from);

/* All that the statements say is the same; not line and column. */
bool same_alarm(const struct policy_alarm *a, const struct policy_alarm *b);

/* The alarm behind the rule's `while`, "" if there is none; *not: the rule holds while it is off. */
const char *rule_while(const struct rule *rule, bool *not);

#endif
