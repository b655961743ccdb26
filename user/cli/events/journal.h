/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal of an instance: its last events, JSON lines in two files (journal_place.h) that
 * take turns, so that it takes at most 2 * JOURNAL_MAX bytes. Readable by root alone; gone with the
 * next boot. Each network namespace has a folder of its own, and each bpffs.
 *
 * A follower that has the journal's lock writes what it sees, and commands leave it to that one.
 * While there is none, they write their own changes. Where the journal cannot be written, as in a
 * sandbox, nothing is said and nothing fails. */
#pragma once

#include <json-c/json.h>

#include "kernel/instance/instance.h"

#define JOURNAL_MAX (256u << 10)

/* From now on, writes the changes that this process makes to instances. */
void journal_begin(void);

/* Becomes the one that writes the journal of the instance pinned at `pins`: a descriptor to be
 * closed at the end, or a negative errno (-EWOULDBLOCK: another one is). */
int journal_lock(const char *pins);

/* Appends an event of the instance that is pinned there: `line` without its newline. */
void journal_append(const char *pins, const char *line);

/* Calls `visit` for each event of the journals of this namespace and bpffs that the target selects,
 * in the order of each journal. 0 or < 0; reports a journal that may not be read. */
int journal_read(const struct target *target, void (*visit)(struct json_object *event, void *arg),
		 void *arg);
