// SPDX-License-Identifier: GPL-2.0-only
/* Since 6.18 a test run's context says how much is linear. Before, the linear part is as long as a
 * page has room for: then a program in front of the one under test gets the frame with so much
 * padding before it that only `linear` bytes of the frame itself are in that part, takes the
 * padding off and goes on to the other one. The kernel leaves a linear part of an Ethernet header
 * at least.
 */
#include "pieces.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stddef.h>
#include <string.h>

#include <bpf/bpf.h>

#define PAGE_BYTES 4096

static int programs = -1; /* what the stripper goes on to; none: it answers how much was linear */

/* The first byte says how many bytes are to stay. */
static int stripper_load(void)
{
	struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
		{.code = BPF_LDX | BPF_MEM | BPF_W,
		 .dst_reg = 2,
		 .src_reg = 1,
		 .off = offsetof(struct xdp_md, data)},
		{.code = BPF_LDX | BPF_MEM | BPF_W,
		 .dst_reg = 7,
		 .src_reg = 1,
		 .off = offsetof(struct xdp_md, data_end)},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 2},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 3, .imm = 1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_JGT | BPF_X, .dst_reg = 3, .src_reg = 7, .off = 11},
		{.code = BPF_LDX | BPF_MEM | BPF_B, .dst_reg = 3, .src_reg = 2},
		{.code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = 7, .src_reg = 2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 7},
		{.code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = 2, .src_reg = 3},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_xdp_adjust_head},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = 2,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = programs},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 0, .src_reg = 7},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_XDP_HAS_FRAGS,
		    .expected_attach_type = BPF_XDP);

	return bpf_prog_load(BPF_PROG_TYPE_XDP, "stripper", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), &opts);
}

static int run(int program_fd, const uint8_t *data, uint32_t size, uint32_t linear)
{
	struct xdp_md md = {.data_end = linear};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = size);

	if (linear != size) {
		opts.ctx_in = &md;
		opts.ctx_size_in = sizeof(md);
	}
	return bpf_prog_test_run_opts(program_fd, &opts) ? -errno : (int)opts.retval;
}

/* The stripper's descriptor, and how large a linear part is. */
static int stripper_make(int program_fd, uint32_t *most)
{
	static uint8_t page[PAGE_BYTES] = {ETH_HLEN};
	static int stripper = -1, room;
	int zero = 0;

	if (stripper < 0) {
		programs = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "programs", 4, 4, 1, NULL);
		stripper = stripper_load();
		room = stripper < 0 ? 0 : run(stripper, page, sizeof(page), sizeof(page));
	}
	*most = room;
	if (room <= 0 || bpf_map_update_elem(programs, &zero, &program_fd, BPF_ANY))
		return -1;
	return stripper;
}

static int run_stripped(int program_fd, const struct frame *frame, uint32_t linear)
{
	static uint8_t bytes[PAGE_BYTES + FRAME_BYTES_MAX];
	uint32_t most, pad;
	int stripper = stripper_make(program_fd, &most);

	if (stripper < 0)
		return -ENOTSUP;
	pad = most - linear;
	bytes[0] = linear;
	memcpy(bytes + pad, frame->bytes, frame->size);
	return run(stripper, bytes, pad + frame->size, pad + frame->size);
}

int pieces_run(int program_fd, const struct frame *frame, uint32_t linear)
{
	int verdict;

	if (linear > frame->size)
		linear = frame->size;
	verdict = run(program_fd, frame->bytes, frame->size, linear);
	if (verdict == -EINVAL)
		return linear < ETH_HLEN ? -ENOTSUP : run_stripped(program_fd, frame, linear);
	return verdict;
}
