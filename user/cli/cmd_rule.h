/* SPDX-License-Identifier: GPL-2.0-only */
/* What the verbs of `rlctl rule` share. */
#ifndef RLCTL_CMD_RULE_H
#define RLCTL_CMD_RULE_H

#include "cmd.h"
#include "instance.h"
#include "policy.h"

/* An instance, rules of it that were read, and how to read and print rules. */
struct json_object;

struct session {
	struct instance instance;
	struct policy policy;
	struct policy_context ctx;
};

/* 0 or a negative errno, and has said why; with `write` the instance is locked until the close. No
 * rule is read yet. */
int session_open(const struct command *command, bool write, struct session *out);
/* The same, to read, with the whole policy. */
int session_read(const struct command *command, struct session *out);
void session_close(struct session *session);

/* A rule into a list that has an order of its own. */
void rules_append(struct policy *list, const struct rule *rule);

/* The rules as lines, with -v as a table, with -j as the array "rules" of `document`, which is
 * taken over. */
void rules_print(const struct session *session, const struct policy *rules,
		 struct json_object *document);

#endif
