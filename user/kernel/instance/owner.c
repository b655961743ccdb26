// SPDX-License-Identifier: GPL-2.0-only
/* The owner record is a small pinned map. The kernel identifies programs by ids, and only
 * CAP_SYS_ADMIN may inspect them by id; with the record, any reader of the pins can tell whether
 * the program on a device is ours. */

#include "kernel/instance/owner.h"

#include <errno.h>
#include <linux/if_link.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"

#define RECORD_PIN "program"

int owner_record_make(const char *path, const struct rl_instance *info)
{
	struct owner_record record = {.mode = info->mode};
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_program", sizeof(uint32_t),
				       sizeof(struct owner_record), 1, NULL);
	int ret = fd < 0 ? fd : map_put(fd, &record);

	return ret ? ret : pin_make(path, RECORD_PIN, fd);
}

int owner_record_write(const char *path, const struct rl_instance *info, uint32_t program)
{
	struct owner_record record = {.program = program, .on_device = program, .mode = info->mode};
	CLOSED int fd = pin_open_at(path, RECORD_PIN, true);

	if (fd < 0)
		return fd;
	if (info->mode != RL_MODE_TC && bpf_xdp_query_id(info->ifindex, 0, &record.on_device))
		record.on_device = 0;
	return map_put(fd, &record);
}

/* The record is the last pin to be removed: if other pins exist without it, none was made. */
int owner_record_read(const char *path, struct owner_record *out)
{
	CLOSED int fd = pin_open_at(path, RECORD_PIN, false);
	uint32_t policy;
	int ret;

	*out = (struct owner_record){0}; /* other versions may have recorded less */
	ret = fd < 0 ? fd : map_get(fd, out);
	if (ret != -ENOENT)
		return ret;
	ret = pins_policy_id(path, &policy);
	return ret ? ret : -EPROTO;
}
