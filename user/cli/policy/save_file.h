/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces a file as a whole, so that a reader or a crash finds the former or the new one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the text to the file. It keeps mode and owner of the former file, or gets mode 0640. If
 * `backup_wanted` says so of the former text, that is kept as PATH~, and *backup is true; both may
 * be NULL. An error changes neither file. A
 * symbolic link is followed if it belongs to root or to the caller. 0 or -1; reports. */
int file_save(const char *path, const char *text, size_t size,
	      bool (*backup_wanted)(const char *text, size_t size, const void *arg),
	      const void *arg, bool *backup);

/* Whether file_save() could begin. 0 or -1; reports. */
int file_save_check(const char *path);
