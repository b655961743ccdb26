/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal of an instance: its last events, JSON lines in two files (journal_place.h) that
 * take turns, and two more for bans, which packets alone can make many. Readable by root alone;
 * gone with the next boot, unless a follower keeps them. Each network namespace has a folder of its
 * own, and each bpffs.
 *
 * Commands write what they change. A follower that has the journal's lock writes what else it sees.
 * Where the journal cannot be written, as on a disk that is full, it goes on in memory (/run);
 * where that cannot be written, as in a sandbox, nothing is said and nothing fails. */
#pragma once

#include <json-c/json.h>

#include "kernel/instance/instance.h"
#include "watch/events/event.h"

#define JOURNAL_MAX           (256u << 10) /* bytes of a file */
#define JOURNAL_KEPT_MAX      (8u << 20)   /* where they are kept */
#define JOURNAL_KEPT_BANS_MAX (1u << 20)

/* From now on, writes the changes that this process makes to instances. */
void journal_begin(void);

/* Becomes the one that writes the journal of the instance pinned at `pins`: a descriptor to be
 * closed at the end, or a negative errno (-EWOULDBLOCK: another one is). */
int journal_lock(const char *pins);

/* Is there a follower that writes it? */
bool journal_is_followed(const char *pins);

/* The ending of the file that such an event is in: that of bans also has the events that are lost,
 * which are mostly bans. */
const char *journal_ending(enum event_kind kind);

/* Keeps the journals of this network namespace in a folder from now on, with what is in them. 0, or
 * < 0; reports. */
int journal_keep_in(const struct target *target, const char *folder);

/* Appends an event of the instance that is pinned there: `line` without its newline. */
void journal_append(const char *pins, enum event_kind kind, const char *line);

/* Calls `visit` for each event of the journals of this namespace and bpffs that the target selects,
 * in the order of each journal. 0 or < 0; reports a journal that may not be read. */
int journal_read(const struct target *target, void (*visit)(struct json_object *event, void *arg),
		 void *arg);
