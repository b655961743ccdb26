/* SPDX-License-Identifier: GPL-2.0-only */
/* The folders and files of journals: /run/rlctl/NAMESPACE, and in it `kept`, which may be a link to
 * a folder on a disk, for events alone: the rest has to be gone with the next boot. Silent. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "kernel/instance/instance.h"

#define JOURNAL_FOLDER   "/run/rlctl"
#define JOURNAL_PATH_MAX (2 * INSTANCE_PATH_MAX)

#define JOURNAL_KEPT     "kept"

/* Files of a journal: that of most events has no ending, that of bans and members of sets has one,
 * and the former one of each another. */
#define JOURNAL_BANS ".bans"
#define JOURNAL_OLD  ".old"

/* The better place for an event comes first: the folder that is kept, and that in memory. */
enum journal_place { PLACE_KEPT, PLACE_RUN, PLACES };

/* The file of the instance pinned at `pins` with that ending, such as ".lock". 0 or -errno. */
int journal_path(enum journal_place place, const char *pins, const char *ending,
		 char out[JOURNAL_PATH_MAX]);
/* The folder of all that are pinned at `root`. 0 or -errno. */
int journal_folder(const char *root, char out[JOURNAL_PATH_MAX]);

/* Opens a file, no link, no pipe. A descriptor or -errno; -EINVAL: it is no file. */
int regular_open(int folder, const char *path, int flags);

/* The same of a journal, in memory with O_CREAT after making the folders; -ENOENT where none is
 * kept. */
int journal_open(enum journal_place place, const char *pins, const char *ending, int flags);

/* From now on, `folder` is kept for this network namespace, by whichever process. 0 or -errno;
 * -EPERM: others may write to it. *former: of another folder that was kept up to now, or "". */
int journal_keep(const char *root, const char *folder, char former[JOURNAL_PATH_MAX]);

/* A file of a journal: "eth0-xdp.bans.old" is the former one of "eth0-xdp.bans", of "eth0-xdp".
 * False: it is no such file. */
struct journal_name {
	char pins[NAME_MAX + 1], current[NAME_MAX + 1];
	bool is_old;
};
bool journal_name_split(const char *file, struct journal_name *out);

/* Removes the journals of namespaces that are gone. */
void journals_tidy(const char *pins);
