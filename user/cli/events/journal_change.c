// SPDX-License-Identifier: GPL-2.0-only
/* The changes that this process makes, as events of the journal. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/events/event_json.h"
#include "cli/events/event_sink.h"
#include "cli/events/journal.h"
#include "cli/events/journal_place.h"
#include "cli/output/output.h"
#include "kernel/instance/change.h"
#include "policy/sets/member.h"
#include "watch/events/event.h"

static const enum event_kind kinds[] = {
	[CHANGE_ATTACHED] = EVENT_ATTACH,       [CHANGE_DETACHED] = EVENT_DETACH,
	[CHANGE_POLICY] = EVENT_APPLY,          [CHANGE_TRIAL_UNDONE] = EVENT_TRIAL_UNDONE,
	[CHANGE_SET_ADD] = EVENT_SET_ADD,       [CHANGE_SET_DEL] = EVENT_SET_DEL,
	[CHANGE_SET_FULL] = EVENT_SET_FULL,     [CHANGE_FLEET_JOINED] = EVENT_FLEET_JOINED,
	[CHANGE_FLEET_LOST] = EVENT_FLEET_LOST,
};

/* ---- who gave the command */

/* Whoever logged in, whatever user he has become since; in a service, the process's own. Local
 * users only: a directory that does not answer must not hold up a command. */
static void user_put(char out[EVENT_USER_MAX])
{
	FILE *login = fopen("/proc/self/loginuid", "re"), *file = fopen("/etc/passwd", "re");
	struct passwd *user;
	uid_t uid = -1;

	if (!login || fscanf(login, "%u", &uid) != 1 || uid == (uid_t)-1)
		uid = getuid();
	snprintf(out, EVENT_USER_MAX, "%u", uid);
	while (file && (user = fgetpwent(file)))
		if (user->pw_uid == uid) {
			snprintf(out, EVENT_USER_MAX, "%s", user->pw_name);
			break;
		}
	if (login)
		fclose(login);
	if (file)
		fclose(file);
}

/* ---- a policy */

struct difference {
	size_t added, changed, removed;
	const struct rule *first; /* of those that differ */
	bool one_prefix;
};

static void rule_differs(const struct rule *from, const struct rule *to, void *arg)
{
	struct difference *difference = arg;
	const struct rule *rule = to ? to : from;

	difference->changed += from && to;
	difference->added += !from;
	difference->removed += !to;
	if (!difference->first) {
		difference->first = rule;
		difference->one_prefix = true;
	}
	difference->one_prefix = difference->one_prefix && same_prefix(difference->first, rule);
}

static void rules_put(const struct instance_change *change, struct event *event)
{
	struct difference difference = {0};
	size_t count = policy_diff(change->from, change->to, rule_differs, &difference);

	if (difference.one_prefix)
		rule_prefix_print(event->prefix, difference.first);
	if (count != 1) {
		snprintf(event->text, EVENT_TEXT_MAX,
			 "%zu rule%s added, %zu changed, %zu removed by %s", difference.added,
			 difference.added == 1 ? "" : "s", difference.changed, difference.removed,
			 event->user);
		return;
	}
	rule_format(event->rule, difference.first, change->ctx);
	snprintf(event->text, EVENT_TEXT_MAX, "rule %s by %s: %.900s",
		 difference.added     ? "added"
		 : difference.removed ? "removed"
				      : "changed",
		 event->user, event->rule);
}

/* ---- the members of a set */

static void set_put(const struct instance_change *change, struct event *event)
{
	const char *verb = change->kind == CHANGE_SET_ADD ? "added to" : "deleted from";
	char number[NUMBER_TEXT_MAX];
	size_t count = 0;

	snprintf(event->set, sizeof(event->set), "%s", change->name);
	event->count = change->number;
	for (size_t i = 0; count < EVENT_MEMBERS && i < change->member_count; i++)
		if (change->members[i].became == MEMBER_ADDED)
			member_print(event->members[count++], &change->members[i].member);
	number_print(number, change->number);
	if (change->number == 1 && *event->members[0])
		snprintf(event->text, EVENT_TEXT_MAX, "%s %s set %s by %s", event->members[0], verb,
			 change->name, event->user);
	else
		snprintf(event->text, EVENT_TEXT_MAX, "%s member%s %s set %s by %s", number,
			 change->number == 1 ? "" : "s", verb, change->name, event->user);
}

/* ---- an event */

static void text_put(const struct instance_change *change, struct event *event)
{
	const char *name = change->name ? change->name : "";
	char number[NUMBER_TEXT_MAX];

	number_print(number, change->number);
	switch (change->kind) {
	case CHANGE_POLICY:
		return rules_put(change, event);
	case CHANGE_SET_ADD:
	case CHANGE_SET_DEL:
		return set_put(change, event);
	case CHANGE_ATTACHED:
		snprintf(event->text, EVENT_TEXT_MAX, "attached by %s, with %s rule%s", event->user,
			 number, change->number == 1 ? "" : "s");
		break;
	case CHANGE_DETACHED:
		snprintf(event->text, EVENT_TEXT_MAX, "detached by %s", event->user);
		break;
	case CHANGE_TRIAL_UNDONE:
		snprintf(event->text, EVENT_TEXT_MAX, "not confirmed: %s",
			 change->number ? "the limiter was detached"
					: "the previous policy is in force again");
		break;
	case CHANGE_SET_FULL:
		snprintf(event->set, sizeof(event->set), "%s", name);
		snprintf(event->text, EVENT_TEXT_MAX, "set %.31s is full: %s not added", name,
			 number);
		break;
	case CHANGE_FLEET_JOINED:
		snprintf(event->text, EVENT_TEXT_MAX, "fleet %.63s joined: %s member%s", name,
			 number, change->number == 1 ? "" : "s");
		break;
	case CHANGE_FLEET_LOST:
		snprintf(event->text, EVENT_TEXT_MAX, "fleet %.63s lost", name);
		break;
	}
}

static void change_write(const struct instance_change *change)
{
	struct event event = {.kind = kinds[change->kind],
			      .time_ns =
				      change->time_ns ? change->time_ns : clock_ns(CLOCK_REALTIME),
			      .hook = (uint8_t)change->hook};
	/* A follower sees these for itself, with more than is known here. */
	bool seen = change->kind == CHANGE_SET_FULL || change->kind == CHANGE_FLEET_JOINED ||
		    change->kind == CHANGE_FLEET_LOST;
	struct json_object *object;
	char *line;

	if (seen && journal_is_followed(change->path))
		return;
	snprintf(event.device, sizeof(event.device), "%s", change->device);
	user_put(event.user);
	text_put(change, &event);
	object = event_json(&event);
	line = json_line(object);
	journal_append(change->path, event.kind, line);
	free(line);
	json_object_put(object);
	if (change->kind == CHANGE_ATTACHED)
		journals_tidy(change->path);
}

void journal_begin(void)
{
	change_sink_set(change_write);
}
