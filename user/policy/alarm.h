/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements `alarm` of a policy, and `while` after rules: text and model. */
#pragma once

#include "policy/policy.h"

/* The canonical line, beginning with the word "alarm", with its comment. Returns the length, like
 * snprintf. */
#define ALARM_TEXT_MAX STATEMENT_TEXT_MAX
int alarm_print(char *buf, size_t size, const struct policy_alarm *alarm,
		const struct policy_context *ctx);

/* In how many equal parts a phase of that length is looked at: 1..RL_ALARM_TENTHS, of at least
 * RL_ALARM_TENTH_MIN each. */
uint32_t alarm_tenths(uint64_t for_ns);

/* The alarm of that name, or NULL. */
struct policy_alarm *policy_alarm_find(const struct policy *policy, const char *name);

/* Its number in the kernel, where those that count come first. */
uint32_t policy_alarm_number(const struct policy *policy, const struct policy_alarm *alarm);

/* Adds it, or replaces that of the same name; keeps the order. 0 or -ENOMEM. */
int policy_alarm_put(struct policy *policy, const struct policy_alarm *alarm);

/* Puts all sets and alarms of `from`. 0 or -ENOMEM. */
int policy_names_copy(struct policy *policy, const struct policy *from);

/* Do they have one name, count the same, and go on and off alike? Is all that the statements say
 * the same; not line and column? */
bool alarm_counts_alike(const struct policy_alarm *a, const struct policy_alarm *b);
bool same_alarm(const struct policy_alarm *a, const struct policy_alarm *b);

/* Calls `tell`, unless it is NULL, for each alarm that only one of the policies has (the other is
 * NULL) or that they have differently, by name. Returns how many there are. */
typedef void (*alarm_diff_fn)(const struct policy_alarm *from, const struct policy_alarm *to,
			      void *arg);
size_t policy_alarms_diff(const struct policy *from, const struct policy *to, alarm_diff_fn tell,
			  void *arg);

/* The error of a name that the policy, in force or not, has not: with the one that is most like it,
 * or what to add. */
void alarm_missing_print(char *buf, size_t size, const struct policy *policy, const char *name,
			 bool in_force);

/* Calls `refuse`, unless it is NULL, for each rule that names an alarm that `known` has not.
 * Returns how many there are. */
typedef void (*alarm_refuse_fn)(const struct rule *rule, const char *name, void *arg);
size_t policy_alarms_missing(const struct policy *policy, const struct policy *known,
			     alarm_refuse_fn refuse, void *arg);
