/* SPDX-License-Identifier: GPL-2.0-only */
/* The owner record: a small pinned map that names the program of an instance, so that readers
 * without CAP_SYS_ADMIN can recognise it. */
#pragma once

#include <stdint.h>

#include "rlctl_abi.h"

int owner_record_make(const char *path, const struct rl_instance *info);
int owner_record_write(const char *path, const struct rl_instance *info, uint32_t program);

/* The ids are 0 while attach is in progress, if it was killed before writing them, or if they could
 * not be read. Then any program on the device may be the instance's. */
struct owner_record {
	uint32_t program;
	uint32_t on_device; /* xdp: id that the device reports: the program or a dispatcher */
	uint32_t mode;      /* enum rl_mode */
};

/* -ENOENT if nothing is pinned, -EPROTO if another version wrote no record. */
int owner_record_read(const char *path, struct owner_record *out);
