/* SPDX-License-Identifier: GPL-2.0-only */
/* What `doctor` asks of the kernel through libbpf and libxdp. Silent, and changes nothing. */
#ifndef RLCTL_KERNEL_DOCTOR_H
#define RLCTL_KERNEL_DOCTOR_H

#include "kernel.h"

/* Tries the program, which attaches nothing, then asks the kernel for every map type, program type
 * and helper that it uses, and calls `lacks` for each that is not there. How many were asked for,
 * or a negative errno. */
struct program_tried {
	int error; /* of loading it; 0: the kernel takes it */
	bool jited;
};
typedef void (*kernel_lacks_fn)(const char *kind, const char *name, void *arg);
int kernel_features(kernel_lacks_fn lacks, void *arg, struct program_tried *tried);

/* The same of what such an instance needs, with its hook and its table; its program is tried. */
void kernel_lacks(const struct rl_instance *info, kernel_lacks_fn lacks, void *arg);

/* Are maps charged to RLIMIT_MEMLOCK (before Linux 5.11)? */
bool kernel_counts_memlock(void);

/* The machine's CPUs, and what each possible one takes of an instance of the usual size. */
struct cpu_facts {
	uint32_t online, possible;
	uint64_t bytes;
};
int cpus_read(struct cpu_facts *out);

#define DEVICE_PROGRAMS_MAX 16
struct device_xdp_program {
	uint32_t id;
	char name[64];
};
struct device_programs {
	bool native, dispatcher; /* dispatcher: put there by libxdp, and others may join */
	size_t count;
	struct device_xdp_program list[DEVICE_PROGRAMS_MAX];
};
int device_programs_read(int ifindex, struct device_programs *out);

/* The tcx programs on one of tc's hooks, in the order in which packets come to them, and how many
 * of them come before ours: all where ours is a filter of clsact, none where it is not there. bpffs
 * NULL: ours is not looked for. -EOPNOTSUPP: the kernel has no tcx. */
#define DEVICE_TCX_MAX 63
struct device_tcx {
	uint32_t ours; /* its number; 0: not there */
	bool twice;    /* replacing ours was interrupted */
	uint32_t before;
	uint32_t count;
	struct device_xdp_program list[DEVICE_TCX_MAX];
};
int device_tcx_read(const char *bpffs, const char *device, enum rl_hook hook,
		    struct device_tcx *out);

/* Is the program of that id one of the instance's? There are two where replacing it was
 * interrupted.
 */
bool instance_runs(const struct instance *instance, uint32_t program_id);

/* Is there a bpffs, and if not, what would attach do about it? Mounts nothing. */
enum bpffs_state {
	BPFFS_MOUNTED,
	BPFFS_ABSENT,    /* attach mounts one */
	BPFFS_WOULD_END, /* attach mounts none: the mount namespace may end before the limiter */
	BPFFS_HIDDEN,    /* by `ip netns exec` */
	BPFFS_NO_FOLDER
};
enum bpffs_state bpffs_look(const char *bpffs);
bool bpffs_mounted(const char *bpffs);

/* Pins that belong to nothing any more: calls `visit` with the path and, where it is of this
 * namespace, the device. Not those that another process is at work on. */
void pins_leftovers(const char *bpffs,
		    void (*visit)(const char *path, const char *device, enum rl_hook hook,
				  void *arg),
		    void *arg);

#endif
