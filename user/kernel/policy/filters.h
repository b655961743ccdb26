/* SPDX-License-Identifier: GPL-2.0-only */
/* The filters of an instance's program: which it has, and their instructions. */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "compile/compiled.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

/* Those that the program has, as far as is noted. */
int filters_read(const struct instance *instance, struct rl_filters *out);
int filters_read_at(const char *path, struct rl_filters *out);
int filters_write(const struct instance *instance, const struct rl_filters *filters);

/* Those of a policy that is to be the first, but for more than a program can have: then compiling
 * it fails. */
void filters_of(const struct policy *policy, struct rl_filters *out);
/* Adds those of a policy that is compiled. */
void filters_add(struct rl_filters *filters, const struct compiled *compiled);

/* The instructions for them in a program of this instance; `filters` NULL: there are none. How many
 * they are; -E2BIG: too many, -ENOMEM. */
int filters_code(const struct rl_instance *info, const struct rl_filters *filters,
		 struct bpf_insn out[RL_FILTER_STEPS]);

/* The one with the most instructions; "" if there is none. */
const char *filters_longest(const struct rl_filters *filters);

/* Would they fit? Reports. */
int filters_check(const struct instance *instance, const struct rl_filters *filters);

/* ---- their instructions in a BPF object, before libbpf reads it */

/* Gives filters_run() of bpf/match/filter.h in the object these instructions. -E2BIG where they do
 * not fit, -ENOEXEC where the object has no such function. */
int filter_image_put(void *object, size_t size, const struct bpf_insn *code, uint32_t count);

/* ---- which of them the kernel's verifier refuses */

/* The first that the kernel refuses without the others; NULL: it takes each of them. */
const char *filter_blame(const struct rl_instance *info, const struct rl_filters *filters);
