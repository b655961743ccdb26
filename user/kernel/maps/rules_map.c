// SPDX-License-Identifier: GPL-2.0-only

#include "kernel/maps/rules_map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/maps/policy_maps.h"
#include "rlctl_abi.h"

static int room_of(int fd, uint32_t *out)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	*out = info.max_entries / 2;
	return 0;
}

int rules_room(const struct instance *instance, uint32_t *out)
{
	int fd = policy_map_open(instance, POLICY_MAP_rules), ret;

	if (fd < 0)
		return fd;
	ret = room_of(fd, out);
	close(fd);
	return ret;
}

/* Both are mapped, for there may be many. */
static int rules_copy(int from, int to)
{
	void *source, *copy;
	uint32_t room;
	size_t size;
	int ret = room_of(from, &room);

	if (ret)
		return ret;
	size = 2 * (size_t)room * sizeof(struct rl_rule);
	source = mmap(NULL, size, PROT_READ, MAP_SHARED, from, 0);
	if (source == MAP_FAILED)
		return -errno;
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	if (copy == MAP_FAILED)
		ret = -errno;
	else
		memcpy(copy, source, size);
	if (!ret)
		munmap(copy, size);
	munmap(source, size);
	return ret;
}

int rules_grow(const struct instance *instance, uint32_t room)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int before = policy_map_open(instance, POLICY_MAP_rules), fd, ret;

	if (before < 0)
		return before;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rules", sizeof(uint32_t), sizeof(struct rl_rule),
			    2 * room, &opts);
	ret = fd < 0 ? -errno : rules_copy(before, fd);
	if (!ret)
		ret = policy_map_exchange(instance, POLICY_MAP_rules, fd);
	if (fd >= 0)
		close(fd);
	close(before);
	return ret;
}
