/* SPDX-License-Identifier: GPL-2.0-only */
/* Users by whose files and links a path may lead. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* A link could point to any file that this process can read, so it is followed only if it belongs
 * to root, to the caller or to the file's owner. `file` is of the file that open() found: another
 * user cannot replace his own link by one of these afterwards. */
bool link_is_foreign(const char *path, const struct stat *file);
