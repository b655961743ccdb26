// SPDX-License-Identifier: GPL-2.0-only
/* Probes the kernel for what the programs need. The list is read from the object itself and so
 * cannot be outdated. */

#include "kernel/attach/features.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/message.h"
#include "kernel/attach/object.h"
#include "kernel/device/cpus.h"
#include "kernel/scope.h"
#include "rlctl.skel.h"

#define PROBE_SOURCES  1024 /* of the object that is loaded only as a probe */
#define PROBE_PREFIXES 64
#define HELPERS_MAX    512

static const char *helper_name(uint32_t id)
{
	static const char *const names[] = {
#define HELPER_NAME(name) #name
		__BPF_FUNC_MAPPER(HELPER_NAME)
#undef HELPER_NAME
	};

	return id < sizeof(names) / sizeof(names[0]) ? names[id] : "that is newer than rlctl";
}

int cpus_read(struct cpu_facts *out)
{
	struct rl_instance info = {.sources = SOURCES_DEFAULT,
				   .prefixes = PREFIXES_DEFAULT,
				   .log_depth = RL_SLIDING_LOG_MAX,
				   .cpus = 1,
				   .possible_cpus = 1};
	int online = cpus_online(), possible = cpus_possible();
	struct rlctl_bpf *skel;
	struct bpf_map *map;

	if (possible < 0)
		return possible;
	instance_sizes(&info);
	skel = object_open(&info);
	if (!skel)
		return -errno;
	*out = (struct cpu_facts){.online = online, .possible = possible};
	bpf_object__for_each_map(map, skel->obj)
	{
		if (bpf_map__autocreate(map))
			out->bytes +=
				map_cpu_bytes(&info, bpf_map__type(map), bpf_map__value_size(map),
					      bpf_map__max_entries(map));
	}
	rlctl_bpf__destroy(skel);
	return 0;
}

static int maps_probe(const struct bpf_object *object, missing_feature_fn missing, void *arg)
{
	uint64_t asked = 0;
	struct bpf_map *map;
	int count = 0;

	bpf_object__for_each_map(map, object)
	{
		for (struct bpf_map *at = map; at; at = bpf_map__inner_map(at)) {
			enum bpf_map_type type = bpf_map__type(at);

			if (asked & 1ull << type)
				continue;
			asked |= 1ull << type;
			count++;
			if (libbpf_probe_bpf_map_type(type, NULL) == 0)
				missing("map type", libbpf_bpf_map_type_str(type), arg);
		}
	}
	return count;
}

static int program_probe(const struct bpf_program *program, missing_feature_fn missing, void *arg)
{
	const struct bpf_insn *insns = bpf_program__insns(program);
	enum bpf_prog_type type = bpf_program__type(program);
	bool asked[HELPERS_MAX] = {false};
	int count = 1;

	if (libbpf_probe_bpf_prog_type(type, NULL) == 0)
		missing("program type", libbpf_bpf_prog_type_str(type), arg);
	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
		uint32_t id = (uint32_t)insns[i].imm;

		/* A helper call names the helper by its id; calls of BPF functions and kfuncs set
		 * the source register. */
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg || !id ||
		    id >= HELPERS_MAX || asked[id])
			continue;
		asked[id] = true;
		count++;
		if (libbpf_probe_bpf_helper(type, id, NULL) == 0)
			missing("helper", helper_name(id), arg);
	}
	return count;
}

/* Loads it, and probes what it needs. all: also what programs of other hooks need. */
static int features_probe(struct rl_instance info, bool all, missing_feature_fn missing, void *arg,
			  struct load_result *out)
{
	struct bpf_prog_info loaded = {0};
	uint32_t size = sizeof(loaded);
	struct bpf_program *program;
	struct rlctl_bpf *skel;
	int count;

	info.sources = PROBE_SOURCES;
	info.prefixes = PROBE_PREFIXES;
	info.log_depth = 2;
	info.tick_ns = info.cpus = info.possible_cpus = 1;
	info.mtu = 1500;
	instance_sizes(&info);
	skel = object_open(&info);
	if (!skel)
		return -errno;
	count = maps_probe(skel->obj, missing, arg);
	out->error = rlctl_bpf__load(skel); /* links the functions of a program */
	if (!out->error && all)
		out->error = bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.rlctl_xdp), &loaded,
						    &size);
	out->jited = loaded.jited_prog_len;
	bpf_object__for_each_program(program, skel->obj)
	{
		if (all || bpf_program__autoload(program))
			count += program_probe(program, missing, arg);
	}
	rlctl_bpf__destroy(skel);
	return count;
}

/* At hook xdp in mode native, with the hot table. */
int kernel_features(uint64_t uses, missing_feature_fn missing, void *arg,
		    struct load_result *result)
{
	return features_probe((struct rl_instance){.program_uses = uses}, true, missing, arg,
			      result);
}

void kernel_missing_features(const struct rl_instance *info, missing_feature_fn missing, void *arg)
{
	libbpf_print_fn_t talk = libbpf_set_print(NULL); /* the failure is already logged */
	struct load_result result;

	features_probe((struct rl_instance){.hook = info->hook,
					    .mode = info->mode,
					    .table = info->table,
					    .program_uses = info->program_uses,
					    .proof = info->proof,
					    .challenge_rate = info->challenge_rate},
		       false, missing, arg, &result);
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) == 0)
		missing("program type", libbpf_bpf_prog_type_str(BPF_PROG_TYPE_SYSCALL), arg);
	libbpf_set_print(talk);
}

/* The first kernel that charges maps to control groups added this helper. */
bool kernel_counts_memlock(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SOCKET_FILTER, BPF_FUNC_ktime_get_coarse_ns,
				       NULL) == 0;
}

/* ---- connection tracking
 *
 * Looks for the functions of connection tracking in the type information of the kernel, or of its
 * module, as libbpf does when it loads a program that calls them. */

#define CONNTRACK_SINCE "5.18"
#define MODULE          "nf_conntrack"
#define FUNCTION        "bpf_xdp_ct_lookup" /* all came together */
#define COUNT           "/proc/sys/net/netfilter/nf_conntrack_count"

static bool has_function(const struct btf *btf)
{
	return btf && btf__find_by_name_kind(btf, FUNCTION, BTF_KIND_FUNC) > 0;
}

static bool functions_exist(void)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *module = NULL;
	bool found = has_function(kernel);

	if (kernel && !found) {
		module = btf__load_module_btf(MODULE, kernel);
		found = has_function(module);
	}
	btf__free(module);
	btf__free(kernel);
	return found;
}

enum conntrack conntrack_read(void)
{
	CLOSED_FILE FILE *file = fopen(COUNT, "re");
	int64_t count; /* of connections; -1: there is no connection tracking */

	if (!file || fscanf(file, "%" SCNd64, &count) != 1)
		count = -1;
	if (!functions_exist())
		return count < 0 ? CONNTRACK_NOT_LOADED : CONNTRACK_NO_FUNCTIONS;
	return count > 0 ? CONNTRACK_TRACKS : CONNTRACK_EMPTY;
}

int conntrack_check(const char *device, const struct rl_instance *info)
{
	if (info->proof != RL_PROOF_CONNTRACK)
		return 0;
	switch (conntrack_read()) {
	case CONNTRACK_NOT_LOADED:
		fail("%s: --state conntrack: the kernel's connection tracking is not loaded: run "
		     "`modprobe nf_conntrack`",
		     device);
		return -ENOENT;
	case CONNTRACK_NO_FUNCTIONS:
		fail("%s: --state conntrack: this kernel's connection tracking cannot be asked by "
		     "programs: use Linux " CONNTRACK_SINCE " or later, built with "
		     "CONFIG_DEBUG_INFO_BTF_MODULES",
		     device);
		return -EOPNOTSUPP;
	default:
		return 0;
	}
}
