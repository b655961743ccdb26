/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts the instructions of filters into a BPF object, before libbpf reads it. */
#ifndef RLCTL_FILTER_IMAGE_H
#define RLCTL_FILTER_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

/* A copy of the object in which filters_run() of bpf/filter.h has these instructions, to be freed
 * when it was opened. NULL with errno: ENOMEM, E2BIG where they do not fit, ENOEXEC where the
 * object has no such function. */
void *filter_image_make(const void *object, size_t size, const struct bpf_insn *code,
			uint32_t count);

#endif
