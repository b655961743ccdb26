/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF objects that the command carries, compressed: one of them is needed at a time. */
#pragma once

#include <stddef.h>

/* bpf/rlctl.bpf.c, and each bpf/rlctl_*.bpf.c. */
enum object_kind {
	OBJECT_PLAIN,
	OBJECT_EXTENDED,
	OBJECT_ANSWERS,
	OBJECT_CONNTRACK,
	OBJECT_CONNTRACK_ANSWERS,
	OBJECT_COUNT
};

/* Its ELF file, to be freed. NULL with errno: ENOMEM; ENOEXEC where the command is damaged. */
void *object_unpack(enum object_kind kind, size_t *size);
