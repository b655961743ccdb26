/* SPDX-License-Identifier: GPL-2.0-only */
/* The rate of the answers that the program sends itself. bpf/answer.h describes how packets use
 * it. */
#ifndef RLCTL_ANSWERS_H
#define RLCTL_ANSWERS_H

#include "instance.h"

struct rlctl_bpf;

/* Sets the program's constants, before it is loaded. */
void answers_constants(struct rlctl_bpf *skel, const struct rl_instance *info);
/* Makes the map unless there is one. */
int answers_make(const struct instance *instance);

#endif
