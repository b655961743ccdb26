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
#include "kernel/scope.h"
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
	CLOSED_FILE FILE *login = fopen("/proc/self/loginuid", "re");
	CLOSED_FILE FILE *file = fopen("/etc/passwd", "re");
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
}

/* ---- a policy */

static void rule_differs(const struct rule *from, const struct rule *to, void *arg)
{
	struct policy_difference *difference = arg;
	const struct rule *rule = to ? to : from;

	difference->changed += from && to;
	difference->added += !from;
	difference->removed += !to;
	difference->first = difference->first ? difference->first : rule;
	difference->prefixes += !same_prefix(difference->first, rule);
}

size_t difference_of(const struct policy *from, const struct policy *to,
		     struct policy_difference *out)
{
	*out = (struct policy_difference){0};
	return policy_diff(from, to, rule_differs, out);
}

static void rules_put(const struct instance_change *change, struct event *event)
{
	struct policy_difference d;
	size_t count = difference_of(change->from, change->to, &d);

	if (d.first && !d.prefixes)
		rule_prefix_print(event->prefix, d.first);
	if (count != 1) {
		event_text_set(event, "%zu rule%s added, %zu changed, %zu removed by %s", d.added,
			       plural(d.added), d.changed, d.removed, event->user);
		return;
	}
	rule_format(event->rule, d.first, change->ctx);
	event_text_set(event, "rule %s by %s: %.900s",
		       d.added     ? "added"
		       : d.removed ? "removed"
				   : "changed",
		       event->user, event->rule);
}

/* ---- the members of a set */

static void set_put(const struct instance_change *change, struct event *event)
{
	const char *verb = change->kind == CHANGE_SET_ADD ? "added to" : "deleted from";
	size_t count = 0;

	snprintf(event->set, sizeof(event->set), "%s", change->name);
	event->count = change->number;
	for (size_t i = 0; count < EVENT_MEMBERS && i < change->member_count; i++)
		if (change->members[i].became == MEMBER_ADDED)
			member_print(event->members[count++], &change->members[i].member);
	if (change->number == 1 && *event->members[0])
		event_text_set(event, "%s %s set %s by %s", event->members[0], verb, change->name,
			       event->user);
	else
		event_text_set(event, "%s member%s %s set %s by %s", number_text(change->number),
			       plural(change->number), verb, change->name, event->user);
}

/* ---- an event */

void trial_undone_put(struct event *event, bool limiter)
{
	event_text_set(event, "not confirmed: %s",
		       limiter ? "the limiter was detached"
			       : "the previous policy is in force again");
}

static void change_put(const struct instance_change *change, struct event *event)
{
	const char *name = change->name ? change->name : "", *number = number_text(change->number);

	switch (change->kind) {
	case CHANGE_POLICY:
		return rules_put(change, event);
	case CHANGE_SET_ADD:
	case CHANGE_SET_DEL:
		return set_put(change, event);
	case CHANGE_ATTACHED:
		return event_text_set(event, "attached by %s, with %s rule%s", event->user, number,
				      plural(change->number));
	case CHANGE_DETACHED:
		return event_text_set(event, "detached by %s", event->user);
	case CHANGE_TRIAL_UNDONE:
		return trial_undone_put(event, change->number);
	case CHANGE_SET_FULL:
		snprintf(event->set, sizeof(event->set), "%s", name);
		return event_text_set(event, "set %.31s is full: %s not added", name, number);
	case CHANGE_FLEET_JOINED:
		return event_text_set(event, "fleet %.63s joined: %s member%s", name, number,
				      plural(change->number));
	case CHANGE_FLEET_LOST:
		return event_text_set(event, "fleet %.63s lost", name);
	}
}

static void change_write(const struct instance_change *change)
{
	struct event event = {.kind = kinds[change->kind],
			      .time_ns = change->time_ns ?: clock_ns(CLOCK_REALTIME),
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
	change_put(change, &event);
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
