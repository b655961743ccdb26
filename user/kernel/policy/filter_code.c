// SPDX-License-Identifier: GPL-2.0-only
/* uint32_t filters_run(void *ctx, struct rl_filter_view *view): one filter after the other. Each
 * sets its bit in the view where it holds: in memory, and not in a register, so that the verifier
 * does not distinguish which of the filters before have held. Registers and semantics are those of
 * classic BPF: 32 bits, unsigned; a load beyond the packet ends the filter, which does not hold. */

#include "kernel/policy/filter_code.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define REG_CTX      BPF_REG_6
#define REG_VIEW     BPF_REG_7
#define REG_X        BPF_REG_8
#define REG_A        BPF_REG_9

#define STACK_LOADED (-8)
#define STACK_WORDS  (STACK_LOADED - 4 * BPF_MEMWORDS)

#define VIEW(field)  ((int16_t)offsetof(struct rl_filter_view, field))

/* Where a jump leads: to a step of the filter, or one of these after its last. */
#define LABEL_HOLDS(f) ((f)->count)
#define LABEL_FAILS(f) ((f)->count + 1)

struct writer {
	struct bpf_insn *out;
	uint32_t count;
	uint32_t *leads;  /* of each instruction: 1 + the label that it jumps to; 0: it does not */
	uint32_t *labels; /* where each of them is; before it is, 1 where something leads there */
	const struct filter_program *filter;
	enum filter_loads loads;
	bool full;
};

static void put(struct writer *w, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	if (w->count == RL_FILTER_STEPS) {
		w->full = true;
		return;
	}
	w->leads[w->count] = 0;
	w->out[w->count++] = (struct bpf_insn){
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm};
}

static void put_jump(struct writer *w, uint8_t code, uint8_t dst, uint8_t src, int32_t imm,
		     uint32_t label)
{
	put(w, code, dst, src, 0, imm);
	if (!w->full)
		w->leads[w->count - 1] = label + 1;
	w->labels[label] = 1;
}

static void put_goto(struct writer *w, uint32_t label)
{
	put_jump(w, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

static void put_set(struct writer *w, uint8_t dst, uint32_t value)
{
	put(w, BPF_ALU | BPF_MOV | BPF_K, dst, 0, 0, (int32_t)value);
}

static void put_read(struct writer *w, uint8_t size, uint8_t dst, uint8_t src, int16_t off)
{
	put(w, BPF_LDX | BPF_MEM | size, dst, src, off, 0);
}

/* ---- loads */

/* Into r0; each time, because of a register the verifier would remember what every check before has
 * shown, and follow each filter once for each of the ways through those in front of it. */
static void put_room(struct writer *w)
{
	put_read(w, BPF_W, BPF_REG_0, REG_VIEW, VIEW(room));
}

/* As a condition that always holds: the kernel refuses instructions that no jump can reach, and
 * here some may follow. */
static void put_failure(struct writer *w)
{
	put_room(w);
	put_jump(w, BPF_JMP | BPF_JGE | BPF_K, BPF_REG_0, 0, 0, LABEL_FAILS(w->filter));
}

static uint32_t size_bytes(uint8_t size)
{
	return size == BPF_W ? 4 : size == BPF_H ? 2 : 1;
}

static void put_host_order(struct writer *w, uint8_t size, uint8_t dst)
{
	if (size != BPF_B)
		put(w, BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, (int32_t)size_bytes(size) * 8);
}

/* From the frame; the offset after the IP header is in r2. */
static void put_call(struct writer *w, uint8_t size, uint8_t dst)
{
	put_read(w, BPF_W, BPF_REG_0, REG_VIEW, VIEW(start));
	put(w, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_2, BPF_REG_0, 0, 0);
	put(w, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, REG_CTX, 0, 0);
	put(w, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_10, 0, 0);
	put(w, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0, STACK_LOADED);
	put_set(w, BPF_REG_4, size_bytes(size));
	if (w->loads == FILTER_LOADS_SKB_NETWORK)
		put_set(w, BPF_REG_5, BPF_HDR_START_NET);
	put(w, BPF_JMP | BPF_CALL, 0, 0, 0,
	    w->loads == FILTER_LOADS_XDP   ? BPF_FUNC_xdp_load_bytes
	    : w->loads == FILTER_LOADS_SKB ? BPF_FUNC_skb_load_bytes
					   : BPF_FUNC_skb_load_bytes_relative);
	put_jump(w, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 0, LABEL_FAILS(w->filter));
	put_read(w, size, dst, BPF_REG_10, STACK_LOADED);
}

static void put_load(struct writer *w, uint8_t size, uint8_t dst, uint32_t at)
{
	uint32_t bytes = size_bytes(size);

	if (at > INT32_MAX - bytes)
		return put_failure(w);
	if (at + bytes > RL_FILTER_LEAST) {
		put_room(w);
		put_jump(w, BPF_JMP | BPF_JLT | BPF_K, BPF_REG_0, 0, (int32_t)(at + bytes),
			 LABEL_FAILS(w->filter));
	}
	if (at + bytes <= RL_FILTER_BYTES) {
		put_read(w, size, dst, REG_VIEW, (int16_t)(VIEW(bytes) + at));
	} else {
		put_set(w, BPF_REG_2, at);
		put_call(w, size, dst);
	}
	put_host_order(w, size, dst);
}

/* From X + at. */
static void put_load_indexed(struct writer *w, uint8_t size, uint32_t at)
{
	uint32_t bytes = size_bytes(size), before, over;

	if (at > INT32_MAX - bytes)
		return put_failure(w);
	put(w, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, REG_X, 0, 0);
	put(w, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, (int32_t)at);
	put(w, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_2, 0, 0);
	put(w, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, (int32_t)bytes);
	put_room(w);
	put_jump(w, BPF_JMP | BPF_JGT | BPF_X, BPF_REG_1, BPF_REG_0, 0, LABEL_FAILS(w->filter));
	put(w, BPF_JMP | BPF_JGT | BPF_K, BPF_REG_2, 0, 3, (int32_t)(RL_FILTER_BYTES - bytes));
	put(w, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_2, REG_VIEW, 0, 0);
	put_read(w, size, REG_A, BPF_REG_2, VIEW(bytes));
	over = w->count;
	put(w, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	before = w->count;
	put_call(w, size, REG_A);
	if (!w->full)
		w->out[over].off = (int16_t)(w->count - before);
	put_host_order(w, size, REG_A);
}

static int put_load_step(struct writer *w, const struct sock_filter *step)
{
	uint8_t dst = BPF_CLASS(step->code) == BPF_LDX ? REG_X : REG_A;
	uint8_t size = BPF_SIZE(step->code);

	switch (BPF_MODE(step->code)) {
	case BPF_IMM:
		put_set(w, dst, step->k);
		return 0;
	case BPF_LEN:
		put_read(w, BPF_W, dst, REG_VIEW, VIEW(length));
		return 0;
	case BPF_MEM:
		if (step->k >= BPF_MEMWORDS)
			return -EINVAL;
		put_read(w, BPF_W, dst, BPF_REG_10, (int16_t)(STACK_WORDS + 4 * (int)step->k));
		return 0;
	case BPF_MSH: /* X = the length of the IPv4 header whose first byte is there */
		put_load(w, BPF_B, REG_X, step->k);
		put(w, BPF_ALU | BPF_AND | BPF_K, REG_X, 0, 0, 0xf);
		put(w, BPF_ALU | BPF_LSH | BPF_K, REG_X, 0, 0, 2);
		return dst == REG_X ? 0 : -EINVAL;
	case BPF_ABS:
		put_load(w, size, dst, step->k);
		return 0;
	case BPF_IND:
		put_load_indexed(w, size, step->k);
		return dst == REG_A ? 0 : -EINVAL;
	}
	return -EINVAL;
}

/* ---- arithmetic */

/* By 32 bits or more nothing is left; an instruction would shift by their last five bits. */
static void put_shift(struct writer *w, uint8_t op, bool by_x, uint32_t k)
{
	if (!by_x && k > 31)
		return put_set(w, REG_A, 0);
	if (!by_x)
		return put(w, BPF_ALU | op | BPF_K, REG_A, 0, 0, (int32_t)k);
	put(w, BPF_JMP32 | BPF_JGT | BPF_K, REG_X, 0, 2, 31);
	put(w, BPF_ALU | op | BPF_X, REG_A, REG_X, 0, 0);
	put(w, BPF_JMP | BPF_JA, 0, 0, 1, 0);
	put_set(w, REG_A, 0);
}

static void put_division(struct writer *w, uint8_t op, bool by_x, uint32_t k)
{
	if (by_x)
		put_jump(w, BPF_JMP32 | BPF_JEQ | BPF_K, REG_X, 0, 0, LABEL_FAILS(w->filter));
	else if (!k)
		return put_failure(w);
	put(w, BPF_ALU | op | (by_x ? BPF_X : BPF_K), REG_A, by_x ? REG_X : 0, 0,
	    by_x ? 0 : (int32_t)k);
}

static int put_arithmetic_step(struct writer *w, const struct sock_filter *step)
{
	bool by_x = BPF_SRC(step->code) == BPF_X;
	uint8_t op = BPF_OP(step->code);

	switch (op) {
	case BPF_DIV:
	case BPF_MOD:
		put_division(w, op, by_x, step->k);
		return 0;
	case BPF_LSH:
	case BPF_RSH:
		put_shift(w, op, by_x, step->k);
		return 0;
	case BPF_NEG:
		put(w, BPF_ALU | BPF_NEG, REG_A, 0, 0, 0);
		return 0;
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		put(w, BPF_ALU | op | (by_x ? BPF_X : BPF_K), REG_A, by_x ? REG_X : 0, 0,
		    by_x ? 0 : (int32_t)step->k);
		return 0;
	}
	return -EINVAL;
}

/* ---- jumps */

/* 0: there is none. */
static uint8_t contrary(uint8_t op)
{
	switch (op) {
	case BPF_JEQ:
		return BPF_JNE;
	case BPF_JGT:
		return BPF_JLE;
	case BPF_JGE:
		return BPF_JLT;
	}
	return 0;
}

static int put_condition(struct writer *w, const struct sock_filter *step, uint32_t next)
{
	uint8_t op = BPF_OP(step->code), source = BPF_SRC(step->code);
	uint32_t holds = next + step->jt, fails = next + step->jf;
	int32_t imm = source == BPF_K ? (int32_t)step->k : 0;

	if (op != BPF_JEQ && op != BPF_JGT && op != BPF_JGE && op != BPF_JSET)
		return -EINVAL;
	if (holds >= w->filter->count || fails >= w->filter->count)
		return -EINVAL;
	if (!step->jt && contrary(op)) {
		op = contrary(op);
		holds = fails;
		fails = next;
	}
	put_jump(w, BPF_JMP32 | op | source, REG_A, source == BPF_X ? REG_X : 0, imm, holds);
	if (fails != next)
		put_goto(w, fails);
	else
		w->labels[next] = 1;
	return 0;
}

static int put_jump_step(struct writer *w, const struct sock_filter *step, uint32_t next)
{
	if (BPF_OP(step->code) != BPF_JA)
		return put_condition(w, step, next);
	if (step->k >= w->filter->count - next)
		return -EINVAL;
	put_goto(w, next + step->k);
	return 0;
}

static int put_end_step(struct writer *w, const struct sock_filter *step)
{
	if (BPF_RVAL(step->code) == BPF_A)
		put_jump(w, BPF_JMP32 | BPF_JEQ | BPF_K, REG_A, 0, 0, LABEL_FAILS(w->filter));
	else if (BPF_RVAL(step->code) != BPF_K)
		return -EINVAL;
	else if (!step->k) {
		put_goto(w, LABEL_FAILS(w->filter));
		return 0;
	}
	put_goto(w, LABEL_HOLDS(w->filter));
	return 0;
}

/* ---- filters */

/* A step that nothing leads to is left out. */
static int put_step(struct writer *w, uint32_t i)
{
	const struct sock_filter *step = &w->filter->steps[i];
	uint8_t kind = BPF_CLASS(step->code), from = kind == BPF_STX ? REG_X : REG_A;
	bool to_x = BPF_MISCOP(step->code) == BPF_TAX;

	if (!w->labels[i])
		return 0;
	w->labels[i] = w->count;
	if (kind != BPF_RET && kind != BPF_JMP) { /* goes on */
		if (i + 1 == w->filter->count)
			return -EINVAL;
		w->labels[i + 1] = 1;
	}
	switch (kind) {
	case BPF_LD:
	case BPF_LDX:
		return put_load_step(w, step);
	case BPF_ST:
	case BPF_STX:
		if (step->k >= BPF_MEMWORDS)
			return -EINVAL;
		put(w, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, from,
		    (int16_t)(STACK_WORDS + 4 * (int)step->k), 0);
		return 0;
	case BPF_ALU:
		return put_arithmetic_step(w, step);
	case BPF_JMP:
		return put_jump_step(w, step, i + 1);
	case BPF_RET:
		return put_end_step(w, step);
	}
	if (!to_x && BPF_MISCOP(step->code) != BPF_TXA)
		return -EINVAL;
	put(w, BPF_ALU | BPF_MOV | BPF_X, to_x ? REG_X : REG_A, to_x ? REG_A : REG_X, 0, 0);
	return 0;
}

/* Both registers are zero at first, and so are the words that it reads. */
static void put_beginning(struct writer *w)
{
	uint32_t words = 0;

	put_set(w, REG_A, 0);
	put_set(w, REG_X, 0);
	for (uint32_t i = 0; i < w->filter->count; i++) {
		const struct sock_filter *step = &w->filter->steps[i];

		if (BPF_CLASS(step->code) <= BPF_LDX && BPF_MODE(step->code) == BPF_MEM &&
		    step->k < BPF_MEMWORDS)
			words |= 1u << step->k;
	}
	for (int i = 0; i < BPF_MEMWORDS; i++)
		if (words >> i & 1)
			put(w, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0,
			    (int16_t)(STACK_WORDS + 4 * i), 0);
}

static int put_filter(struct writer *w, const struct filter_program *filter, uint32_t bit)
{
	uint32_t first = w->count;
	int ret = 0;

	w->filter = filter;
	w->labels = calloc(filter->count + 2, sizeof(*w->labels));
	if (!w->labels)
		return -ENOMEM;
	put_beginning(w);
	w->labels[0] = 1;
	for (uint32_t i = 0; !ret && i < filter->count; i++)
		ret = put_step(w, i);
	if (w->labels[LABEL_HOLDS(filter)]) {
		w->labels[LABEL_HOLDS(filter)] = w->count;
		put_read(w, BPF_W, BPF_REG_0, REG_VIEW, VIEW(found));
		put(w, BPF_ALU | BPF_OR | BPF_K, BPF_REG_0, 0, 0, (int32_t)(1u << bit));
		put(w, BPF_STX | BPF_MEM | BPF_W, REG_VIEW, BPF_REG_0, VIEW(found), 0);
	}
	w->labels[LABEL_FAILS(filter)] = w->count;
	for (uint32_t i = first; !w->full && i < w->count; i++)
		if (w->leads[i])
			w->out[i].off = (int16_t)(w->labels[w->leads[i] - 1] - i - 1);
	free(w->labels);
	return ret;
}

int filter_code_make(const struct filter_program filters[RL_FILTERS_MAX], enum filter_loads loads,
		     struct bpf_insn out[RL_FILTER_STEPS])
{
	struct writer w = {.out = out, .loads = loads};
	int ret = 0;

	w.leads = calloc(RL_FILTER_STEPS, sizeof(*w.leads));
	if (!w.leads)
		return -ENOMEM;
	put(&w, BPF_ALU64 | BPF_MOV | BPF_X, REG_CTX, BPF_REG_1, 0, 0);
	put(&w, BPF_ALU64 | BPF_MOV | BPF_X, REG_VIEW, BPF_REG_2, 0, 0);
	for (uint32_t i = 0; !ret && i < RL_FILTERS_MAX; i++)
		if (filters[i].count)
			ret = put_filter(&w, &filters[i], i);
	put_read(&w, BPF_W, BPF_REG_0, REG_VIEW, VIEW(found));
	put(&w, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	free(w.leads);
	if (ret)
		return ret;
	return w.full ? -E2BIG : (int)w.count;
}
