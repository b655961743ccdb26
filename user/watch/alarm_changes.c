// SPDX-License-Identifier: GPL-2.0-only
/* Which alarms went on or off between two readings: by their names and their numbers of changes. */

#include "alarm_changes.h"

#include <errno.h>
#include <string.h>

static const struct alarm_now *alarm_find(const struct alarms_now *alarms, const char *name)
{
	for (uint32_t i = 0; i < alarms->count; i++)
		if (!strcmp(alarms->alarm[i].name, name))
			return &alarms->alarm[i];
	return NULL;
}

/* The count begins anew with another alarm of that name. */
static bool has_changed(const struct alarm_now *before, const struct alarm_now *now)
{
	return now->changes && (!before || before->changes != now->changes);
}

void alarm_changes_tell(struct alarm_changes *changes, const struct alarms_now *now,
			alarm_change_fn tell, void *arg)
{
	for (uint32_t i = 0; changes->read && i < now->count; i++)
		if (has_changed(alarm_find(&changes->before, now->alarm[i].name), &now->alarm[i]))
			tell(&now->alarm[i], arg);
	changes->before = *now;
	changes->read = true;
}

bool alarms_are_unknown(int error)
{
	return error == -EAGAIN || error == -ENOENT || error == -ESTALE;
}
