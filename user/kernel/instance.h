/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance whose pins are open: its maps and what attach decided. */
#ifndef RLCTL_INSTANCE_H
#define RLCTL_INSTANCE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "instance_maps.h"
#include "policy.h"
#include "rlctl_abi.h"

#define BPFFS_DEFAULT "/sys/fs/bpf"

/* Where a command acts; from the global options. */
struct target {
	const char *bpffs;  /* BPFFS_DEFAULT unless --bpffs */
	const char *device; /* NULL: not said */
	int hook;           /* enum rl_hook, or -1: not said */
};

/* Where a limiter is being put: pins, policy and all are there, its program is not on the device.
 */
struct place {
	const char *path, *device;
	enum rl_hook hook;
	uint32_t ifindex;
	int *lock_fd; /* the writers' lock */
};

/* Where an instance has no pins, the maps in the slots of its maps are kept open here: whoever has
 * no CAP_SYS_ADMIN may not open them by number. */
#define KEPT_MAPS 64
struct kept_map {
	uint32_t id; /* 0: nothing */
	int fd;
};

/* An instance whose pins are open. */
struct instance {
	char device[IF_NAMESIZE];
	char path[INSTANCE_PATH_MAX]; /* pin folder */
	struct rl_instance info;
	struct instance_maps fd;
	int lock_fd;         /* of the folder; locked for writers, -1 for readers */
	bool read_only;      /* its maps are open for reading */
	bool on_trial;       /* by this process itself: it may write its policy */
	bool clock_injected; /* simulate: the time is now_ns, not CLOCK_MONOTONIC */
	uint64_t now_ns;
	struct kept_map *kept; /* KEPT_MAPS of them instead of pins, or NULL */
};

void instance_close(struct instance *instance);

void instance_context(const struct instance *instance, struct policy_context *out);

/* What attach wrote of an instance of this version. Silent. */
bool instance_info_read(const char *path, struct rl_instance *out);

/* Opens the instance whose pins are at path; silent -ENOENT when they are not complete. */
int instance_open_path(const char *path, const char *device, bool write, struct instance *out);

#endif
