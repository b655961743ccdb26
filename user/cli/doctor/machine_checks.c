// SPDX-License-Identifier: GPL-2.0-only
/* doctor's checks of the kernel and of this process. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "kernel/attach/features.h"
#include "kernel/attach/hook_names.h"
#include "kernel/failures.h"
#include "kernel/instance/bpffs.h"
#include "kernel/instance/gc.h"
#include "kernel/instance/pins.h"
#include "kernel/scope.h"

#define BTF_PATH    "/sys/kernel/btf/vmlinux"
#define AS_ROOT     "sudo rlctl doctor"

#define FILES_LEAST 128 /* twice what an attach without sets and filters opens */

static bool has_capability(const struct __user_cap_data_struct *data, int capability)
{
	return data[capability / 32].effective & 1u << capability % 32;
}

/* CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON; finding maps by ID needs it. */
void check_privilege(struct doctor *doctor)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	bool admin, net;

	syscall(SYS_capget, &header, data);
	admin = has_capability(data, CAP_SYS_ADMIN);
	net = has_capability(data, CAP_NET_ADMIN);
	doctor->privileged = admin && net;
	if (doctor->privileged)
		doctor_ok(doctor, "CAP_SYS_ADMIN and CAP_NET_ADMIN");
	else
		doctor_fail(doctor, AS_ROOT, "missing capabilities: %s%s%s",
			    admin ? "" : "CAP_SYS_ADMIN", admin || net ? "" : ", ",
			    net ? "" : "CAP_NET_ADMIN");
}

void check_kernel(struct doctor *doctor)
{
	CLOSED_FILE FILE *realtime =
		fopen("/sys/kernel/realtime", "re"); /* such a kernel says so */
	struct utsname name;

	if (realtime && getc(realtime) == '1')
		doctor_warn(doctor, "boot a kernel without PREEMPT_RT",
			    "PREEMPT_RT is not supported: a packet may interrupt another one on "
			    "the same CPU, whose memory for the work on a packet it shares");
	uname(&name);
	doctor_ok(doctor, "Linux %s", name.release);
}

/* ---- features */

static void lack_report(struct doctor *doctor, enum health health, const char *remedy,
			const char *kind, const char *name)
{
	const char *since = feature_since(&(struct kernel_feature){kind, name});

	doctor_finds(doctor, health, remedy, "the kernel lacks the %s %s%s%s", kind, name,
		     since ? ", added in Linux " : "", since ? since : "");
}

static void feature_missing(const char *kind, const char *name, void *arg)
{
	struct utsname kernel;

	uname(&kernel);
	lack_report(arg, HEALTH_FAIL, kernel_remedy(kernel.release), kind, name);
}

void check_features(struct doctor *doctor)
{
	size_t failed = doctor->failed;
	int count = kernel_features(0, feature_missing, doctor, &doctor->tried);

	if (count < 0)
		doctor_fail(doctor, NULL, "opening the programs failed: %s", strerror(-count));
	else if (failed == doctor->failed)
		doctor_ok(doctor, "all %d that the programs use", count);
}

void check_program(struct doctor *doctor)
{
	if (doctor->tried.error)
		doctor_fail(doctor, "rlctl -vv doctor shows the kernel's log",
			    "the kernel refused it: %s", strerror(-doctor->tried.error));
	else
		doctor_ok(doctor, "the kernel loads it");
}

static void part_missing(const char *kind, const char *name, void *arg)
{
	lack_report(arg, HEALTH_WARN, "do without those words, or install a newer kernel", kind,
		    name);
}

/* A lack that concerns only some policies is no error. */
void check_proof(struct doctor *doctor)
{
	struct load_result tried;
	int count = doctor->tried.error
			    ? 0
			    : kernel_features(RL_USE_PROGRAM, part_missing, doctor, &tried);

	if (doctor->tried.error)
		doctor_warn(doctor, "fix `program` first", "unknown");
	else if (count < 0)
		doctor_warn(doctor, NULL, "opening the programs failed: %s", strerror(-count));
	else if (tried.error)
		doctor_warn(doctor,
			    "do without those words; rlctl -vv doctor shows the kernel's log",
			    "the kernel refused the program: %s", strerror(-tried.error));
	else
		doctor_ok(doctor,
			  "the kernel loads the programs of policies that ask who is there");
}

void check_jit(struct doctor *doctor)
{
	if (doctor->tried.error)
		doctor_warn(doctor, "fix `program` first", "unknown: no program could be loaded");
	else if (doctor->tried.jited)
		doctor_ok(doctor, "on: the program was compiled");
	else
		doctor_warn(doctor, "sysctl -w net.core.bpf_jit_enable=1",
			    "off: the program is interpreted");
}

void check_btf(struct doctor *doctor)
{
	if (!access(BTF_PATH, F_OK))
		doctor_ok(doctor, "%s", BTF_PATH);
	else
		doctor_warn(
			doctor,
			"use a kernel with CONFIG_DEBUG_INFO_BTF, or attach no other XDP program",
			"missing %s: ours must be the only XDP program", BTF_PATH);
}

/* ---- memory and pins */

#define SPARE_BYTES (16u << 20) /* memory for offline CPUs that causes no warning */

void check_cpus(struct doctor *doctor)
{
	struct cpu_facts cpus;
	int ret = cpus_read(&cpus);
	uint64_t bytes;

	if (ret) {
		doctor_fail(doctor, "mount -t sysfs sysfs /sys", "unknown: %s", strerror(-ret));
		return;
	}
	if (cpus.online == cpus.possible) {
		doctor_ok(doctor, "%u, all online", cpus.online);
		return;
	}
	bytes = cpus.bytes * (cpus.possible - cpus.online);
	doctor_finds(
		doctor, bytes < SPARE_BYTES ? HEALTH_OK : HEALTH_WARN,
		bytes < SPARE_BYTES
			? NULL
			: remedy(doctor,
				 "possible_cpus=%u on the kernel's command line, if no CPU is ever "
				 "added",
				 cpus.online),
		"%u online of %u possible: an instance uses %s for each, %s of it for CPUs "
		"that are not online",
		cpus.online, cpus.possible, size_text(cpus.bytes), size_text(bytes));
}

void check_memlock(struct doctor *doctor)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (!kernel_counts_memlock())
		doctor_ok(doctor, "this kernel does not charge maps to it");
	else if (limit.rlim_cur == RLIM_INFINITY)
		doctor_ok(doctor, "unlimited");
	else
		doctor_warn(doctor, "ulimit -l unlimited",
			    "%" PRIu64 " KiB, and this kernel charges maps to it",
			    (uint64_t)limit.rlim_cur / 1024);
}

void check_files(struct doctor *doctor)
{
	struct rlimit limit = {0};
	uint64_t files;

	getrlimit(RLIMIT_NOFILE, &limit);
	files = limit.rlim_cur;
	if (limit.rlim_cur == RLIM_INFINITY)
		doctor_ok(doctor, "unlimited");
	else if (files >= FILES_LEAST)
		doctor_ok(doctor, "at most %" PRIu64, files);
	else
		doctor_warn(doctor, "ulimit -n 1024, or LimitNOFILE= in a unit",
			    "at most %" PRIu64 " open files: attach needs some 60, and more for "
			    "sets and filters",
			    files);
}

/* Mounted by hand it has mode 1777, as /tmp has. */
static void check_bpffs_owner(struct doctor *doctor, const char *bpffs)
{
	char ours[REMEDY_MAX];
	struct stat folder;

	snprintf(ours, sizeof(ours), "%.200s/rlctl", bpffs);
	if (pins_are_foreign(bpffs))
		doctor_fail(
			doctor, remedy(doctor, "find out who created %s, and remove it", ours),
			"%s belongs to another user, or others may write to it: attach is refused",
			ours);
	else if (access(ours, F_OK) && !stat(bpffs, &folder) && folder.st_mode & S_IWOTH)
		doctor_ok(doctor,
			  "%s, where any user can create %s before attach does, which is "
			  "refused then: chmod 711 %s prevents that",
			  bpffs, ours, bpffs);
	else
		doctor_ok(doctor, "%s", bpffs);
}

void check_bpffs(struct doctor *doctor)
{
	const char *bpffs = doctor->target->bpffs;

	switch (bpffs_state_read(bpffs)) {
	case BPFFS_MOUNTED:
		check_bpffs_owner(doctor, bpffs);
		break;
	case BPFFS_ABSENT:
		doctor_warn(doctor, remedy(doctor, "mount -t bpf bpf %s", bpffs),
			    "%s is not a bpffs: attach mounts one", bpffs);
		break;
	case BPFFS_WOULD_END:
		doctor_fail(doctor,
			    remedy(doctor, "mount bpffs on the host and pass it in with -v %s:%s",
				   bpffs, bpffs),
			    "%s is not a bpffs, and a mount made here may end before the limiter",
			    bpffs);
		break;
	case BPFFS_HIDDEN:
		doctor_fail(doctor, "use rlctl -n NAME instead of `ip netns exec`",
			    "%s is not a bpffs: `ip netns exec` hides it", bpffs);
		break;
	case BPFFS_NO_FOLDER:
		doctor_fail(doctor, "name an existing directory with --bpffs DIR", "%s: %s", bpffs,
			    strerror(ENOENT));
		break;
	}
}

struct leftovers {
	struct doctor *doctor;
	size_t count;
};

static void leftover_found(const char *path, const char *device, enum rl_hook hook, void *arg)
{
	struct leftovers *leftovers = arg;
	struct doctor *doctor = leftovers->doctor;

	leftovers->count++;
	if (device && instance_is_elsewhere(path))
		doctor_warn(doctor,
			    remedy(doctor, "move the device back, then rlctl detach %s", device),
			    "%s: the device was moved to another network namespace, where the "
			    "program runs on",
			    path);
	else if (device)
		doctor_warn(doctor,
			    remedy(doctor, "rlctl detach %s --hook %s", device, hook_name(hook)),
			    "%s: no program on the device uses these maps", path);
	else
		doctor_warn(doctor, "attach or detach on any device removes them",
			    "%s: the namespace is gone", path);
}

void check_leftovers(struct doctor *doctor)
{
	struct leftovers leftovers = {.doctor = doctor};

	pins_leftovers(doctor->target->bpffs, leftover_found, &leftovers);
	if (!leftovers.count)
		doctor_ok(doctor, "none");
}
