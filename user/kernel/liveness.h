/* SPDX-License-Identifier: GPL-2.0-only */
/* Is it still held by anything? */
#ifndef RLCTL_LIVENESS_H
#define RLCTL_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

struct liveness { /* all zero at first */
	struct liveness_bpf *skel;
	bool asked;
};
void liveness_close(struct liveness *liveness);

/* No network namespace has that inode number. */
bool netns_is_gone(struct liveness *liveness, uint32_t inode);
/* Has the program more references than those that are known? */
bool program_is_held(struct liveness *liveness, uint32_t program, uint32_t known);

#endif
