/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks the kernel whether namespaces and programs are still in use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct liveness { /* zero-initialised */
	struct liveness_bpf *skel;
	bool asked;
};
void liveness_close(struct liveness *liveness);

/* Does no network namespace have that inode number? False if unknown. */
bool netns_is_gone(struct liveness *liveness, uint32_t inode);
/* Does the program have references besides the `known` ones? True if unknown. */
bool program_is_held(struct liveness *liveness, uint32_t program, uint32_t known);
