// SPDX-License-Identifier: GPL-2.0-only
/* rlctl alarm: the alarms of a policy, and those that are turned on from outside. */
#include <string.h>

#include "base/clock.h"
#include "base/hint.h"
#include "cli/guard/session.h"
#include "cli/output/stats_output.h"
#include "kernel/state/alarms.h"

#define ON_MIN_NS (100 * NS_PER_MS) /* many ticks: each CPU looks once in one */
#define ON_MAX_NS (365 * NS_PER_DAY)

/* ---- list */

static int alarms_get_all(const struct instance *instance, struct alarms_now *out,
			  struct clock_pair *at)
{
	int ret;

	*at = clock_pair();
	ret = alarms_read(instance, out);
	return ret ? fail("%s: reading the alarms failed: %s", instance->device, strerror(-ret))
		   : 0;
}

static void alarms_show(const struct command *command, const struct instance *instance,
			const struct alarms_now *alarms, const struct clock_pair *at)
{
	struct json_object *document = json_instance(instance);

	json_put(document, "alarms", json_alarms(alarms, at));
	document_print(command, document);
	if (!output_json && alarms->count)
		alarms_print(alarms, at);
	else if (!alarms->count)
		text_note("%s: the policy has no alarm: man rlctl-policy says how to write one",
			  instance->device);
}

static int alarms_list(const struct command *command, struct session *session, void *arg)
{
	struct alarms_now alarms;
	struct clock_pair at;
	int rc = alarms_get_all(&session->instance, &alarms, &at);

	(void)arg;
	if (!rc)
		alarms_show(command, &session->instance, &alarms, &at);
	return rc;
}

int cmd_alarm_list(const struct command *command)
{
	return sessions_read(command, SESSION_LOOK, alarms_list, NULL);
}

/* ---- on, off */

#define NAMES_MAX (RL_ALARMS_MAX * (RL_ALARM_NAME_MAX + 2) + 1)

/* Is there a manual alarm of that name? Reports. */
static int name_check(const char *device, const struct alarms_now *alarms, const char *name)
{
	struct hint hint = {.word = name};
	const struct alarm_now *found = NULL;
	char names[NAMES_MAX] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < alarms->count; i++)
		if (!strcmp(alarms->alarm[i].name, name))
			found = &alarms->alarm[i];
	if (found && found->manual)
		return 0;
	for (uint32_t i = 0; i < alarms->count; i++) { /* "flood, overload" */
		if (!alarms->alarm[i].manual)
			continue;
		hint_offer(&hint, alarms->alarm[i].name);
		used += (size_t)snprintf(names + used, NAMES_MAX - used, "%s%s", used ? ", " : "",
					 alarms->alarm[i].name);
	}
	if (found)
		return fail("%s: alarm %s is not manual: measured alarms go on and off by "
			    "themselves; the manual ones are: %s",
			    device, name, *names ? names : "none");
	if (hint.best)
		return fail("%s: unknown alarm '%s' (did you mean %s?)", device, name, hint.best);
	if (*names)
		return fail("%s: unknown alarm '%s': the manual ones are: %s", device, name, names);
	return fail("%s: unknown alarm '%s': the policy has no manual alarm: apply one with a line "
		    "\"alarm NAME manual\" first",
		    device, name);
}

struct turn {
	struct alarm_pull pull;
	const char *duration;
};

static int turn_run(const struct command *command, struct session *session, void *arg)
{
	const struct instance *instance = &session->instance;
	const struct turn *turn = arg;
	const struct alarm_pull *pull = &turn->pull;
	const char *device = instance->device;
	struct alarms_now alarms;
	struct clock_pair at;
	bool was_on;
	int ret, rc = alarms_get_all(instance, &alarms, &at);

	rc = rc ?: name_check(device, &alarms, pull->name);
	if (rc || command->phase == PHASE_CHECK)
		return rc;
	ret = alarm_pull(instance, pull, &was_on);
	if (ret)
		return fail("%s: turning alarm %s %s failed: %s", device, pull->name,
			    pull->on ? "on" : "off", strerror(-ret));
	if (!pull->on)
		text_note("%s: alarm %s is off%s", device, pull->name,
			  was_on ? "" : ", as it was before");
	else if (pull->for_ns)
		text_note("%s: alarm %s is on for %s", device, pull->name, turn->duration);
	else
		text_note("%s: alarm %s is on, until `rlctl alarm off %s`", device, pull->name,
			  pull->name);
	if (!output_json)
		return 0;
	rc = alarms_get_all(instance, &alarms, &at);
	if (!rc)
		alarms_show(command, instance, &alarms, &at);
	return rc;
}

/* The words after the name: none, or "for DURATION". 0 or EXIT_USAGE. */
static int duration_get(const struct command *command, struct turn *turn)
{
	const char *verb = command->verb->name, *name = command->words[0];
	uint64_t ns = 0;

	if (command->word_count == 1)
		return 0;
	if (strcmp(command->words[1], "for") != 0)
		return wrong("%s: unexpected argument '%s': `rlctl %s %s for 30s`", verb,
			     command->words[1], verb, name);
	if (command->word_count == 2)
		return wrong("%s: missing duration after 'for': write for example `for 30s`", verb);
	turn->duration = command->words[2];
	if (duration_parse(turn->duration, &ns))
		return wrong("%s: invalid time '%s': use for example 10s, 30s or 5m", verb,
			     turn->duration);
	if (ns < ON_MIN_NS)
		return wrong("%s: '%s' is too short: write 100ms or longer", verb, turn->duration);
	if (ns > ON_MAX_NS)
		return wrong("%s: '%s' is too long: write 365d or less, or leave it out: the alarm "
			     "is on until `rlctl alarm off %s` then",
			     verb, turn->duration, name);
	turn->pull.for_ns = ns;
	return 0;
}

int cmd_alarm_on(const struct command *command)
{
	struct turn turn = {.pull = {.name = command->words[0], .on = true}};
	int rc = duration_get(command, &turn);

	return rc ?: sessions_change(command, SESSION_LOCK, turn_run, &turn);
}

int cmd_alarm_off(const struct command *command)
{
	struct turn turn = {.pull = {.name = command->words[0]}};

	return sessions_change(command, SESSION_LOCK, turn_run, &turn);
}
