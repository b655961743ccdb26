/* SPDX-License-Identifier: GPL-2.0-only */
/* The folders and files of journals. Silent. */
#pragma once

#include "kernel/instance/instance.h"

#define JOURNAL_FOLDER   "/run/rlctl"
#define JOURNAL_PATH_MAX (2 * INSTANCE_PATH_MAX)

/* The file of the instance pinned at `pins` with that ending ("", ".old", ".lock"). 0 or -errno. */
int journal_path(const char *pins, const char *ending, char out[JOURNAL_PATH_MAX]);
/* The folder of all that are pinned at `root`. 0 or -errno. */
int journal_folder(const char *root, char out[JOURNAL_PATH_MAX]);

/* Opens it, with O_CREAT after making the folders. A descriptor or -errno. */
int journal_open(const char *pins, const char *ending, int flags);

/* Removes the journals of namespaces that are gone. */
void journals_tidy(const char *pins);
