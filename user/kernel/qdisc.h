/* SPDX-License-Identifier: GPL-2.0-only */
/* clsact and fq, which an instance may need on its device. */
#ifndef RLCTL_QDISC_H
#define RLCTL_QDISC_H

#include <stdbool.h>
#include <stdint.h>

#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"

struct qdiscs {
	int ifindex;
	bool clsact, ingress;
	uint32_t children, fq_children; /* of the root */
	uint32_t root_handle;           /* its major number 0: the kernel's default */
	uint32_t root_size;
	bool root_fits; /* all options are here */
	char root_kind[16];
	uint8_t root_options[RL_ROOT_OPTIONS_MAX];
};

/* Silent. */
int qdiscs_read(int ifindex, struct qdiscs *out);
bool qdiscs_have_fq(const struct qdiscs *qdiscs);

/* --fq: remembers in *info what is there. Reports. */
int fq_prepare(const char *device, struct rl_instance *info);
/* Puts it there if fq_prepare found that it should. Reports. */
int fq_put(const char *device, const struct rl_instance *info);
/* Says so where the policy wants fq and there is none. */
void fq_miss(const struct instance *instance, const struct policy *policy);

/* With the lock of `root` held, here and below. Reports only what is no plain errno. */
int clsact_make(const char *device, struct rl_instance *info, int info_fd);
/* Takes away what the instance made and nobody else uses; another device of that name is left
 * alone. An error where trying again may help. */
int qdiscs_restore(const char *root, const char *device, const struct rl_instance *info);

#endif
