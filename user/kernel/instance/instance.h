/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance whose pins are open: its maps and the settings chosen at attach. */
#pragma once

#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernel/instance/instance_maps.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* The instances that a command acts on, from the global options. */
struct target {
	const char *bpffs;  /* BPFFS_DEFAULT unless --bpffs */
	const char *device; /* NULL: not given */
	int hook;           /* enum rl_hook, or -1: not given */
	bool many;          /* device may be `all`, a list or a pattern (selection.h) */
};

/* The hook that an instance is being attached to. Its pins and policy exist; its program is not
 * attached yet. */
struct attach_point {
	const char *path, *device;
	enum rl_hook hook;
	uint32_t ifindex;
	int *lock_fd; /* the writers' lock */
};

/* An instance without pins keeps its inner maps open here, because opening them by id needs
 * CAP_SYS_ADMIN. */
#define KEPT_MAPS 64
struct kept_map {
	uint32_t id; /* 0: free */
	int fd;
};

/* Slots of maps of maps, written in threads of their own (map_in_map.h). */
#define SLOT_WRITES 16
struct slot_write {
	pthread_t thread;
	uint32_t slot;
	int outer_fd, fd, ret;
	bool is_over;
};

struct slot_writes {
	size_t count;
	struct slot_write list[SLOT_WRITES];
};

struct instance {
	char device[IF_NAMESIZE];
	char path[INSTANCE_PATH_MAX]; /* pin directory */
	struct rl_instance info;
	struct instance_maps fd;
	int lock_fd;                /* of the pin directory; held by writers, -1 for readers */
	bool read_only;             /* its maps are open for reading only */
	struct slot_writes *writes; /* while attach makes it, else NULL */
	bool on_trial;              /* this process runs the trial and may write the policy */
	bool no_refusals;           /* tests: compile_context.no_refusals */
	bool clock_injected;        /* simulate: time is now_ns, not CLOCK_MONOTONIC */
	uint64_t now_ns;
	struct kept_map *kept; /* KEPT_MAPS entries instead of pins, or NULL */
	int *policy_maps;      /* descriptors or -1, by enum policy_map, instead of pins; or NULL */
};

/* Simulations and tests have none; their program is loaded with all that their policies use. */
static inline bool has_pins(const struct instance *instance)
{
	return instance->path[0];
}

/* Does attach make it? Then its program comes later. */
static inline bool is_being_made(const struct instance *instance)
{
	return instance->writes;
}

/* One that was detached and attached again is another. */
static inline bool same_instance(const struct instance *a, const struct instance *b)
{
	return !strcmp(a->path, b->path) && a->info.since_ns == b->info.since_ns;
}

void instance_close(struct instance *instance);

/* 0 if the pins still belong to the opened instance, else -ENOENT. Silent. */
int instance_pins_check(const struct instance *instance);

/* CLOCK_MONOTONIC, or the time of a simulation. */
uint64_t instance_now(const struct instance *instance);

void instance_context(const struct instance *instance, struct policy_context *out);

/* Reads the settings of an instance of this version. Silent. */
bool instance_info_read(const char *path, struct rl_instance *out);

/* Its settings as they are now: whoever writes them reads them anew, for other processes write them
 * too (one that detaches another instance hands over clsact). Silent. */
int instance_info_now(const struct instance *instance, struct rl_instance *out);

/* Opens the instance pinned at path with these maps (INSTANCE_MAP_BITs, `instance` among them);
 * -ENOENT without a report if a pin is missing, -EPROTO for another version. */
int instance_open_maps(const char *path, const char *device, bool write, uint64_t maps,
		       struct instance *out);

/* Opens these maps pinned at path (INSTANCE_MAP_BITs), read-only unless `write`; the others are -1.
 * -ENOENT without a report if one is missing. */
int pins_open(const char *path, bool write, uint64_t wanted, struct instance_maps *out);
void maps_close(struct instance_maps *maps);

/* ---- the owner record: a small pinned map that names the program of an instance, so that readers
 * without CAP_SYS_ADMIN can recognise it. */

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
