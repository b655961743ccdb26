// SPDX-License-Identifier: GPL-2.0-only
/* The kernel says of a program that it refuses it, and not because of which filter. So each is
 * loaded without the others, in a program that has nothing else. */

#include "kernel/policy/filters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

/* The caller of filters_run(): its view is the element of a map. */
#define VIEW_MAP 4 /* the instruction that names the map */
static const struct bpf_insn caller[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
	{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4},
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
	{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
	{.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD},
	{0},
	{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
	{.code = BPF_JMP | BPF_JNE | BPF_K, .off = 1},
	{.code = BPF_JMP | BPF_EXIT},
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2},
	{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
	{.code = BPF_JMP | BPF_EXIT},
};
#define CALLER (sizeof(caller) / sizeof(caller[0]))

/* Does the kernel refuse them, in a program without anything else? `code` has the room. */
static bool refuses(const struct rl_instance *info, const struct rl_filters *filters, int map_fd,
		    struct bpf_insn *code)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	enum bpf_prog_type type =
		info->mode == RL_MODE_TC ? BPF_PROG_TYPE_SCHED_CLS : BPF_PROG_TYPE_XDP;
	int fd, count = filters_code(info, filters, code + CALLER);

	if (count < 0)
		return false;
	memcpy(code, caller, sizeof(caller));
	code[VIEW_MAP].imm = map_fd;
	fd = bpf_prog_load(type, "rlctl_filter", "GPL", code, CALLER + count, &opts);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int first_refused(const struct rl_instance *info, const struct rl_filters *filters,
			 int map_fd, struct bpf_insn *code)
{
	struct rl_filters alone;

	for (int i = 0; i < RL_FILTERS_MAX; i++) {
		if (!filters->text[i][0])
			continue;
		memset(&alone, 0, sizeof(alone));
		memcpy(alone.text[0], filters->text[i], sizeof(alone.text[0]));
		if (refuses(info, &alone, map_fd, code))
			return i;
	}
	return -1;
}

const char *filter_blame(const struct rl_instance *info, const struct rl_filters *filters)
{
	struct bpf_insn *code = calloc(CALLER + RL_FILTER_STEPS, sizeof(*code));
	struct rl_filters none = {0};
	int found = -1, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_view", sizeof(uint32_t),
					    sizeof(struct rl_filter_view), 1, NULL);

	/* A kernel that refuses the caller alone says nothing about filters. */
	if (code && fd >= 0 && !refuses(info, &none, fd, code))
		found = first_refused(info, filters, fd, code);
	if (fd >= 0)
		close(fd);
	free(code);
	return found < 0 ? NULL : filters->text[found];
}
