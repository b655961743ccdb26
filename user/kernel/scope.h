/* SPDX-License-Identifier: GPL-2.0-only */
/* Variables whose descriptor, stream or memory ends with their block. Each is declared alone, with
 * its value. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void scope_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void scope_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void scope_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void scope_memory(void *at)
{
	free(*(void **)at);
}

#define CLOSED      __attribute__((cleanup(scope_fd)))
#define CLOSED_DIR  __attribute__((cleanup(scope_dir)))
#define CLOSED_FILE __attribute__((cleanup(scope_file)))
#define FREED       __attribute__((cleanup(scope_memory)))
