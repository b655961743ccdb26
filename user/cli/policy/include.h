/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts the files that a policy includes in the place of its `include` lines. */
#pragma once

#include "cli/cmd.h"

/* `fd` is the open file, which is distinguished from the files that it includes; names in it are
 * relative to the folder of `path`, or to the current one if that is NULL. An include that cannot
 * be followed stays in the text, with its error in file->errors. 0 or -1; reports. */
int includes_expand(struct policy_file *file, int fd, const char *path);
