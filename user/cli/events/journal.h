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
#include <stdint.h>
#include <sys/stat.h>

#include "kernel/instance/instance.h"
#include "watch/events/event.h"

#define JOURNAL_MAX           (256u << 10) /* bytes of a file */
#define JOURNAL_KEPT_MAX      (8u << 20)   /* where they are kept */
#define JOURNAL_KEPT_BANS_MAX (1u << 20)

/* From now on, writes the changes that this process makes to instances. */
void journal_begin(void);

/* The rules that differ between two policies. */
struct policy_difference {
	size_t added, changed, removed;
	const struct rule *first; /* of them */
	size_t prefixes;          /* of how many it has not the prefix */
};
size_t difference_of(const struct policy *from, const struct policy *to,
		     struct policy_difference *out);

/* The text of a trial that was not confirmed: of a limiter, or of a policy. */
void trial_undone_put(struct event *event, bool limiter);

/* Becomes the one that writes the journal of the instance pinned at `pins`: a descriptor to be
 * closed at the end, or a negative errno (-EWOULDBLOCK: another one is). */
int journal_lock(const char *pins);

/* Is there a follower that writes it? */
bool journal_is_followed(const char *pins);

/* Keeps the journals of this network namespace in a folder from now on, with what is in them. 0, or
 * < 0; reports. */
int journal_keep_in(const struct target *target, const char *folder);

/* Appends an event of the instance that is pinned there: `line` without its newline. */
void journal_append(const char *pins, enum event_kind kind, const char *line);

/* Calls `visit` for each event of the journals of this namespace and bpffs that the target selects,
 * in the order of each journal. 0 or < 0; reports a journal that may not be read. */
int journal_read(const struct target *target, void (*visit)(struct json_object *event, void *arg),
		 void *arg);

/* ---- passes on each line that is appended to the journal of an instance; silent */

#define JOURNAL_TAILS 4 /* files: two, in each of two places */

struct journal_tail {
	struct journal_tail_file {
		int fd;            /* -1: it is not there */
		uint64_t since_ns; /* CLOCK_REALTIME: lines up to its present end that are older are
				      past */
	} file[JOURNAL_TAILS];
	struct stat kept; /* of the folder that is kept; zeros: there is none */
	uint64_t last_ns; /* CLOCK_REALTIME: of the last line that was read */
};

/* From now on; or since since_ns (CLOCK_REALTIME), if it is not 0. */
void journal_tail_open(struct journal_tail *tail, const char *pins, uint64_t since_ns);
void journal_tail_close(struct journal_tail *tail);

/* Calls `visit` for each line that was appended since the last call, by whichever process. 0, or
 * the first value of `visit` that is not 0. */
typedef int (*journal_line_fn)(const char *line, struct json_object *event, void *arg);
int journal_tail_poll(struct journal_tail *tail, const char *pins, journal_line_fn visit,
		      void *arg);
