// SPDX-License-Identifier: GPL-2.0-only
/* The owner record is a small pinned map. The kernel identifies programs by ids, and only
 * CAP_SYS_ADMIN may inspect them by id; with the record, any reader of the pins can tell whether
 * the program on a device is ours. */

#include "kernel/instance/owner.h"

#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/instance/instance.h"
#include "kernel/instance/pins.h"

#define RECORD_PIN "program"

static int record_put(int fd, const struct owner_record *record)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(fd, &zero, record, BPF_ANY) ? -errno : 0;
}

int owner_record_make(const char *path, const struct rl_instance *info)
{
	struct owner_record record = {.mode = info->mode};
	char pin[INSTANCE_PATH_MAX + 32];
	int ret, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_program", sizeof(uint32_t),
				     sizeof(struct owner_record), 1, NULL);

	if (fd < 0)
		return -errno;
	snprintf(pin, sizeof(pin), "%s/" RECORD_PIN, path);
	ret = record_put(fd, &record);
	if (!ret && bpf_obj_pin(fd, pin))
		ret = -errno;
	close(fd);
	return ret;
}

int owner_record_write(const char *path, const struct rl_instance *info, uint32_t program)
{
	struct owner_record record = {.program = program, .on_device = program, .mode = info->mode};
	int fd = pin_open_at(path, RECORD_PIN, true), ret;

	if (fd < 0)
		return fd;
	if (info->mode != RL_MODE_TC && bpf_xdp_query_id(info->ifindex, 0, &record.on_device))
		record.on_device = 0;
	ret = record_put(fd, &record);
	close(fd);
	return ret;
}

static int record_read(const char *path, struct owner_record *out)
{
	uint32_t zero = 0;
	int fd = pin_open_at(path, RECORD_PIN, false), ret;

	if (fd < 0)
		return fd;
	*out = (struct owner_record){0}; /* other versions may have recorded less */
	ret = bpf_map_lookup_elem(fd, &zero, out) ? -errno : 0;
	close(fd);
	return ret;
}

/* The record is the last pin to be removed: if other pins exist without it, none was made. */
int owner_record_read(const char *path, struct owner_record *out)
{
	int ret = record_read(path, out);
	uint32_t policy;

	if (ret != -ENOENT)
		return ret;
	ret = pins_policy_id(path, &policy);
	return ret ? ret : -EPROTO;
}

int owner_record_check(const char *path)
{
	struct owner_record record;

	return owner_record_read(path, &record);
}
