/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts the instructions of filters into a BPF object, before libbpf reads it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

/* Gives filters_run() of bpf/match/filter.h in the object these instructions. -E2BIG where they do
 * not fit, -ENOEXEC where the object has no such function. */
int filter_image_put(void *object, size_t size, const struct bpf_insn *code, uint32_t count);
