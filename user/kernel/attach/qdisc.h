/* SPDX-License-Identifier: GPL-2.0-only */
/* Installs the qdiscs clsact and fq that an instance needs, and restores the former ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/device/netlink.h"
#include "kernel/instance/instance.h"
#include "policy/policy.h"
#include "rlctl_abi.h"

struct qdiscs {
	int ifindex;
	bool clsact, ingress;
	uint32_t children, fq_children; /* of the root */
	uint32_t root_handle;           /* major number 0: the kernel's default qdisc */
	uint32_t root_size;
	bool root_fits; /* root_options holds all options */
	char root_kind[16];
	uint8_t root_options[RL_ROOT_OPTIONS_MAX];
};

/* Silent. */
int qdiscs_read(int ifindex, struct qdiscs *out);

/* Saves the root qdisc in *info, for --fq. Reports. */
int fq_prepare(const char *device, struct rl_instance *info);
/* Installs fq if fq_prepare found it missing. Reports. */
int fq_put(const char *device, const struct rl_instance *info);
/* Prints a note if the policy paces packets but the device lacks fq. */
void fq_missing_note(const struct instance *instance, const struct policy *policy);

/* Creates clsact unless it exists, and records that in *info and the instance map. Hold the lock of
 * all instances. Reports only errors that errno cannot express. */
int clsact_make(const char *device, enum rl_hook hook, struct rl_instance *info, int info_fd);
/* Removes the clsact that the instance created, unless other programs use it, and records that in
 * *info, too. Takes that lock. */
int clsact_undo(const struct instance *instance, struct rl_instance *info);
/* Removes the qdiscs that the instance created and no other program uses, unless the name now
 * belongs to another device. Hold that lock. An error means that a retry may help. */
int qdiscs_restore(const struct instance *instance);

/* ---- the filters of a tc hook */

/* Calls `each` for every filter. Restarts if the filters change meanwhile, so calling it twice for
 * one filter must be harmless. */
int tc_filters_read(int ifindex, enum rl_hook hook, mnl_cb_t each, void *arg);
