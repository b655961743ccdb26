// SPDX-License-Identifier: GPL-2.0-only
/* Error messages that several files share. */

#include "kernel/failures.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "base/message.h"
#include "kernel/attach/features.h"
#include "kernel/attach/hook_names.h"
#include "kernel/device/device.h"
#include "kernel/instance/pins.h"
#include "kernel/instance/selection.h"
#include "kernel/policy/filters.h"

static void missing_append(const char *kind, const char *name, void *arg)
{
	struct load_failure *failure = arg;

	if (failure->count < MISSING_MAX)
		failure->missing[failure->count++] = (struct kernel_feature){kind, name};
}

int report_load_failure(const char *device, const struct rl_instance *info, enum load_stage stage,
			const struct rl_filters *filters, int error)
{
	bool asks = error != -ENOMEM && error != -EPERM && error != -ENOSYS;
	struct load_failure failure = {
		.stage = stage,
		.hook = info->mode == RL_MODE_TC ? tc_hook(info) : RL_HOOK_XDP,
		.uses = info->program_uses & RL_USE_EXTENDED,
		.error = error,
	};
	char words[LOAD_FAILURE_MAX];
	struct utsname kernel;

	uname(&kernel);
	failure.release = kernel.release;
	if (asks)
		kernel_missing_features(info, missing_append, &failure);
	if (asks && filters && failure.uses & RL_USE_FILTERS && !failure.count) {
		failure.filter = filter_blame(info, filters);
		failure.filter_longest = filters_longest(filters);
	}
	load_failure_format(&failure, words);
	fail("%s: %s", device, words);
	return error;
}

int report_program_refused(const char *path, const char *device, const struct rl_instance *info,
			   int error)
{
	struct rl_filters filters;
	bool known = info->program_uses & RL_USE_FILTERS && !filters_read_at(path, &filters);

	return report_load_failure(device, info, LOAD_STAGE_PROGRAM, known ? &filters : NULL,
				   error);
}

int report_no_device(const char *device)
{
	if (selection_is_many(device))
		fail("no such device: %s (this takes only one device: `ip link` lists them)",
		     device);
	else
		fail("no such device: %s (`ip link` lists the devices)", device);
	return -ENODEV;
}

int report_hooks(const char *device)
{
	fail("%s: several instances, at ingress and egress: choose one with --hook", device);
	return -ENOTUNIQ;
}

int report_elsewhere(const char *device, enum rl_hook hook)
{
	fail("%s: its program runs on in another network namespace, to which the device was moved: "
	     "move it back and run `rlctl detach %s --hook %s`: until then its pins stay",
	     device, device, hook_name(hook));
	return -EXDEV;
}

int report_open_error(const char *device, enum rl_hook hook, int error)
{
	const char *option = hook_option(hook);

	switch (error) {
	case -ENOENT:
		if (device_index(device) == -ENODEV)
			report_no_device(device);
		else
			fail("%s: nothing attached%s%s: `rlctl attach %s%s`", device,
			     hook ? " at " : "", hook ? hook_name(hook) : "", device, option);
		break;
	case -ESTALE:
		fail("%s: our program is no longer on the device (it was removed, or the device is "
		     "a new one of that name): run `rlctl attach %s%s` to start over, or `rlctl "
		     "detach %s --hook %s` to clean up",
		     device, device, option, device, hook_name(hook));
		break;
	case -EPROTO:
		fail("%s: attached by another version of rlctl: detach with that version or with "
		     "`rlctl detach %s`, then attach again",
		     device, device);
		break;
	case -ETIMEDOUT: /* lock_wait() has said it */
		break;
	default:
		fail("%s: opening the instance failed: %s%s", device, strerror(-error),
		     pins_error_hint(error));
	}
	return error;
}

const char *native_error_text(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "the driver does not support XDP";
	case -ERANGE:
	case -E2BIG:
		return "the MTU is too large for XDP with this driver";
	case -ENOSPC:
		return "too few queues for XDP with this driver";
	case -EINVAL:
		return "the driver refused it, perhaps because of its offloads (LRO, GRO-HW) or "
		       "queue count";
	default:
		return strerror(-error);
	}
}

int report_xdp_error(const char *device, int error)
{
	if (error == -EBUSY || error == -EEXIST)
		fail("%s: another XDP program is on the device that was attached without libxdp, "
		     "or in another mode: detach it first (`bpftool net show dev %s` shows it)",
		     device, device);
	else if (error == -EPERM || error == -EACCES)
		fail("%s: attaching was refused: %s: run as root", device, strerror(-error));
	else
		fail("%s: attaching failed: %s", device, native_error_text(error));
	return error;
}

int report_tc_error(const char *device, int error)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
		fail("%s: attaching was refused: %s: run as root", device, strerror(-error));
		break;
	case -ENOENT:
	case -EOPNOTSUPP:
		fail("%s: the kernel has neither tcx (Linux 6.6) nor clsact and cls_bpf: run "
		     "`modprobe -a sch_ingress cls_bpf`",
		     device);
		break;
	case -ENODEV:
		fail("%s: the device is gone: `ip link` lists the devices", device);
		break;
	default:
		fail("%s: attaching failed: %s", device, strerror(-error));
	}
	return error;
}

/* ---- the features that kernels may lack, with versions and alternatives */

#define INGRESS "--hook ingress does not need it"
#define OTHER   "--hook xdp does not need it"
#define UNPACED "--hook ingress and --hook xdp do not need it"
#define TABLE   "--table hot does not need it"

/* X(kind, libbpf's name, since, alternative to a newer kernel) */
#define FEATURES(X)                                      \
	X("map type", "array", "3.19", NULL)             \
	X("map type", "hash", "3.19", NULL)              \
	X("map type", "percpu_array", "4.6", NULL)       \
	X("map type", "lru_hash", "4.10", NULL)          \
	X("map type", "lru_percpu_hash", "4.10", TABLE)  \
	X("map type", "lpm_trie", "4.11", NULL)          \
	X("map type", "array_of_maps", "4.12", NULL)     \
	X("map type", "ringbuf", "5.8", NULL)            \
	X("map type", "prog_array", "4.2", NULL)         \
	X("program type", "xdp", "4.8", INGRESS)         \
	X("program type", "sched_cls", "4.1", OTHER)     \
	X("program type", "syscall", "5.14", NULL)       \
	X("helper", "map_lookup_elem", "3.19", NULL)     \
	X("helper", "map_update_elem", "3.19", NULL)     \
	X("helper", "map_delete_elem", "3.19", NULL)     \
	X("helper", "ktime_get_ns", "4.1", NULL)         \
	X("helper", "get_prandom_u32", "4.1", NULL)      \
	X("helper", "skb_load_bytes", "4.5", OTHER)      \
	X("helper", "skb_pull_data", "4.9", OTHER)       \
	X("helper", "jiffies64", "5.6", NULL)            \
	X("helper", "ringbuf_output", "5.8", NULL)       \
	X("helper", "ringbuf_reserve", "5.8", NULL)      \
	X("helper", "ringbuf_submit", "5.8", NULL)       \
	X("helper", "xdp_get_buff_len", "5.18", INGRESS) \
	X("helper", "xdp_load_bytes", "5.18", INGRESS)   \
	X("helper", "skb_set_tstamp", "5.18", UNPACED)   \
	X("helper", "sk_lookup_udp", "4.20", NULL)       \
	X("helper", "sk_release", "4.20", NULL)          \
	X("helper", "skc_lookup_tcp", "5.2", NULL)       \
	X("helper", "tcp_gen_syncookie", "5.3", NULL)    \
	X("helper", "tcp_check_syncookie", "5.2", NULL)

static const struct feature {
	struct kernel_feature feature;
	const char *since, *instead;
} features[] = {
#define FEATURE_ROW(kind, name, since, instead) {{kind, name}, since, instead},
	FEATURES(FEATURE_ROW)
#undef FEATURE_ROW
};

_Static_assert(sizeof(features) / sizeof(features[0]) <= MISSING_MAX,
	       "a kernel may lack all features: the message names each");

static const struct feature *feature_find(const struct kernel_feature *missing)
{
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (!strcmp(features[i].feature.kind, missing->kind) &&
		    !strcmp(features[i].feature.name, missing->name))
			return &features[i];
	return NULL;
}

const char *feature_since(const struct kernel_feature *missing)
{
	const struct feature *feature = feature_find(missing);

	return feature ? feature->since : NULL;
}

bool release_is_before(const char *release, const char *version)
{
	unsigned int major = 0, minor = 0, wanted_major = 0, wanted_minor = 0;

	sscanf(release, "%u.%u", &major, &minor);
	sscanf(version, "%u.%u", &wanted_major, &wanted_minor);
	return major < wanted_major || (major == wanted_major && minor < wanted_minor);
}

/* The version of Enterprise Linux in a release such as "5.14.0-570.12.1.el9_6.x86_64", or 0. */
static unsigned int el_version(const char *release)
{
	const char *el = strstr(release, ".el");
	unsigned int version = 0;

	if (el)
		sscanf(el, ".el%u", &version);
	return version;
}

const char *kernel_remedy(const char *release)
{
	return el_version(release) >= KERNEL_OLDEST_EL
		       ? "use the distribution's newest kernel (`dnf upgrade kernel`)"
		       : "use a distribution's kernel, Linux " KERNEL_OLDEST " or later";
}

/* The words of policies for the parts of the program that only some need. */
static const struct part {
	uint64_t use;
	const char *word;
} parts[] = {
	{RL_USE_PROOF, "established"},
	{RL_USE_CHALLENGE, "over challenge"},
	{RL_USE_TRUNCATE, "over truncate"},
	{RL_USE_EXTRAS, "matches such as length"},
	{RL_USE_PAYLOAD, "payload"},
	{RL_USE_KEY_PARTS, "keys by parts"},
	{RL_USE_INDEX, "more than 8 rules for a prefix"},
	{RL_USE_FILTERS, "filter"},
	{RL_USE_VLANS, "VLANs"},
};

/* ---- building the line */

/* The words of the policy that may be to blame. */
static void parts_add(FILE *line, const struct load_failure *failure)
{
	const char *between = "the policy uses ";

	if (failure->filter) {
		fprintf(line, "the policy uses `filter \"%s\"`, but ", failure->filter);
		return;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!(failure->uses & parts[i].use))
			continue;
		fprintf(line, "%s`%s`", between, parts[i].word);
		between = " and ";
	}
	if (failure->uses)
		fprintf(line, ", but ");
}

static const char *without_parts(const struct load_failure *failure)
{
	return failure->uses ? "do without it, or " : "";
}

/* The hook or table that needs none of the missing features, if one does. */
static const char *instead_of(const struct load_failure *failure)
{
	const char *instead = NULL;

	for (size_t i = 0; i < failure->count; i++) {
		const struct feature *feature = feature_find(&failure->missing[i]);

		if (!feature || !feature->instead || (i && instead != feature->instead))
			return NULL;
		instead = feature->instead;
	}
	return instead;
}

static void missing_list_add(FILE *line, const struct load_failure *failure)
{
	const char *instead = instead_of(failure);

	fprintf(line, "Linux %s has ", failure->release);
	for (size_t i = 0; i < failure->count; i++) {
		const struct kernel_feature *missing = &failure->missing[i];
		const char *since = feature_since(missing);

		fprintf(line, "%s", i ? ", " : "");
		fprintf(line, "no %s %s", missing->kind, missing->name);
		if (since && release_is_before(failure->release, since))
			fprintf(line, " (since Linux %s)", since);
		else if (since)
			fprintf(line, " (since Linux %s, but this kernel is built without it)",
				since);
	}
	fprintf(line, ": %s%s%s%s", instead ? instead : "", instead ? ", or " : "",
		without_parts(failure), kernel_remedy(failure->release));
}

static void program_add(FILE *line, const struct load_failure *failure)
{
	unsigned int el = el_version(failure->release);
	bool old = el ? el < KERNEL_OLDEST_EL : release_is_before(failure->release, KERNEL_OLDEST);

	if (failure->error == -E2BIG || failure->error == -ENOSPC)
		fprintf(line, "the Linux %s verifier rejected the program as too complex",
			failure->release);
	else
		fprintf(line, "the Linux %s verifier rejected the program (%s)", failure->release,
			strerror(-failure->error));
	if (old)
		fprintf(line, ": %suse Linux " KERNEL_OLDEST " or later", without_parts(failure));
	else if (failure->filter)
		fprintf(line, ": split it into several rules or write it shorter, and please "
			      "report this with the output of -v");
	else if (failure->filter_longest && *failure->filter_longest)
		fprintf(line,
			": it takes each filter alone: use fewer or shorter ones, first of all "
			"instead of \"%s\", and please report this with the output of -v",
			failure->filter_longest);
	else if (failure->uses)
		fprintf(line, ": do without it, and please report this with the output of -v");
	else if (failure->hook == RL_HOOK_XDP)
		fprintf(line, ": try --hook ingress, and please report this with the output of -v");
	else
		fprintf(line, ": please report this with the output of -v");
}

static void line_put(FILE *line, const struct load_failure *failure)
{
	bool maps = failure->stage == LOAD_STAGE_MAPS;

	/* With EACCES the verifier rejects programs, too. */
	if (failure->error == -EPERM || (failure->error == -EACCES && maps)) {
		fprintf(line, "the kernel denies BPF here (%s): run as root",
			strerror(-failure->error));
		if (release_is_before(failure->release, "5.11"))
			fprintf(line, ", and before Linux 5.11 after `ulimit -l unlimited`");
		return;
	}
	if (failure->error == -ENOSYS) {
		fprintf(line,
			"Linux %s is built without BPF (CONFIG_BPF_SYSCALL): use a distribution's "
			"kernel",
			failure->release);
		return;
	}
	/* The kernel lacks something, or its verifier refused the program. */
	if (!maps)
		parts_add(line, failure);
	if (failure->count)
		missing_list_add(line, failure);
	else if (!maps)
		program_add(line, failure);
	else
		fprintf(line, "creating its maps failed: %s%s", strerror(-failure->error),
			failure->error == -ENOMEM || failure->error == -E2BIG
				? ": use smaller --sources or --prefixes"
				: " (-v shows the kernel's log)");
}

void load_failure_format(const struct load_failure *failure, char out[LOAD_FAILURE_MAX])
{
	FILE *line = fmemopen(out, LOAD_FAILURE_MAX, "w");

	snprintf(out, LOAD_FAILURE_MAX, "loading failed: %s", strerror(-failure->error));
	if (!line) /* there is no memory */
		return;
	line_put(line, failure);
	fclose(line);
	out[LOAD_FAILURE_MAX - 1] = '\0'; /* as the stream may fill it all */
}

/* ---- the messages of libbpf and libxdp */

static int libbpf_log(enum libbpf_print_level level, const char *format, va_list args)
{
	return message_send(level < LIBBPF_DEBUG ? MESSAGE_LIBRARY : MESSAGE_LIBRARY_DEBUG, format,
			    args);
}

static int libxdp_log(enum libxdp_print_level level, const char *format, va_list args)
{
	return message_send(level < LIBXDP_DEBUG ? MESSAGE_LIBRARY : MESSAGE_LIBRARY_DEBUG, format,
			    args);
}

void log_setup(void)
{
	libbpf_set_print(libbpf_log);
	libxdp_set_print(libxdp_log);
}
