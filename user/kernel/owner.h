/* SPDX-License-Identifier: GPL-2.0-only */
/* The note of which program is ours, for readers without CAP_SYS_ADMIN. */
#ifndef RLCTL_OWNER_H
#define RLCTL_OWNER_H

#include <stdint.h>

#include "rlctl_abi.h"

int program_note_make(const char *path, const struct rl_instance *info);
/* -EPROTO: an instance of another version, which noted nothing. */
int program_note_check(const char *path);
int program_note_write(const char *path, const struct rl_instance *info, uint32_t program);

/* The numbers are zero while attach is under way, or where it was killed before it could write:
 * then what the device names is taken for the program. A number that could not be asked for is 0,
 * too. */
struct program_note {
	uint32_t program;
	uint32_t on_device; /* xdp: what the device names, the program or a dispatcher before it */
	uint32_t mode;      /* enum rl_mode */
};

/* -ENOENT where nothing is pinned, -EPROTO where another version noted nothing. */
int program_note_read(const char *path, struct program_note *out);

#endif
