// SPDX-License-Identifier: GPL-2.0-only
/* Which alarms went on or off between two readings: by their names, their numbers of changes and
 * their states. */

#include "watch/alarm_changes.h"

#include <errno.h>
#include <string.h>

static const struct alarm_now *alarm_find(const struct alarms_now *alarms, const char *name)
{
	for (uint32_t i = 0; i < alarms->count; i++)
		if (!strcmp(alarms->alarm[i].name, name))
			return &alarms->alarm[i];
	return NULL;
}

/* The count begins anew with another alarm of that name, which is off at first. */
static bool has_changed(const struct alarm_now *before, const struct alarm_now *now)
{
	if (!before)
		return now->changes;
	return before->on != now->on || (now->changes && before->changes != now->changes);
}

/* Those that were on and are not in the policy any more. */
static void gone_tell(const struct alarms_now *before, const struct alarms_now *now,
		      alarm_change_fn tell, void *arg)
{
	for (uint32_t i = 0; i < before->count; i++) {
		struct alarm_now off = before->alarm[i];

		if (!off.on || alarm_find(now, off.name))
			continue;
		off.on = false;
		off.since_ns = 0;
		off.rate = 0;
		tell(&off, arg);
	}
}

void alarm_changes_tell(struct alarm_changes *changes, const struct alarms_now *now,
			alarm_change_fn tell, void *arg)
{
	if (changes->read)
		gone_tell(&changes->before, now, tell, arg);
	for (uint32_t i = 0; changes->read && i < now->count; i++)
		if (has_changed(alarm_find(&changes->before, now->alarm[i].name), &now->alarm[i]))
			tell(&now->alarm[i], arg);
	changes->before = *now;
	changes->read = true;
}

bool alarms_same_places(const struct alarms_now *a, const struct alarms_now *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = !strcmp(a->alarm[i].name, b->alarm[i].name);
	return same;
}

bool alarms_are_unknown(int error)
{
	return error == -EAGAIN || error == -ENOENT || error == -ESTALE;
}
