// SPDX-License-Identifier: GPL-2.0-only
/* The table of what this machine asks, which instances share. */

#include "kernel/proof/asked_table.h"

#include <unistd.h>

#include "kernel/maps/shared_table.h"

static const struct shared_table asked = SHARED_TABLE(asked, struct rl_asked);

bool asked_is_there(const char *path, const char *device)
{
	int fd = shared_table_open_at(path, device, &asked);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int asked_make(const struct instance *instance)
{
	return shared_table_make(instance, &asked);
}
