/* SPDX-License-Identifier: GPL-2.0-only */
/* Chooses the instances that a target names, among those that have pins. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

struct pin_list {
	char root[INSTANCE_PATH_MAX];
	struct dirent **entries; /* in order of name */
	int count;
	bool many; /* the target selects by a list, a pattern or `all` */
};

/* The pins of this network namespace. Reports. */
int pins_list(const struct target *target, struct pin_list *out);
void pins_list_clear(struct pin_list *list);

/* Does the target select the instance with these pins? */
bool pins_match(const struct target *target, const struct pin_list *list, const char *name,
		char device[IF_NAMESIZE], enum rl_hook *hook);

/* Reports each part of a selection by list or pattern that selects nothing. 0 or -ENOENT. */
int selection_check(const struct target *target, const struct pin_list *list);

/* An instance by its name. */
struct place {
	char device[IF_NAMESIZE];
	enum rl_hook hook;
	unsigned int hooks; /* of the device, as bits */
};
struct places {
	struct place *items;
	size_t count;
	bool many; /* as in pin_list */
};

/* The instances that a target selects: one for each device, at the target's hook, else at xdp, else
 * at the only one. If the target names one device or none, there is one place, whose program may no
 * longer be attached. Reports. */
int places_choose(const struct target *target, struct places *out);
void places_clear(struct places *places);
