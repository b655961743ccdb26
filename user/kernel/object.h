/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF object and its maps, and how large they are. */
#ifndef RLCTL_OBJECT_H
#define RLCTL_OBJECT_H

#include <stdint.h>

#include "instance.h"
#include "rlctl_abi.h"

struct rlctl_bpf;

#define RULES_MAX        131072u /* rules with matches or limits, whatever --prefixes says */
#define RULES_DEFAULT    16384u  /* the same where it says nothing */
#define SOURCES_DEFAULT  262144u
#define PREFIXES_DEFAULT 262144u
#define BANS_DEFAULT     65536u

/* The object sized for this instance, open and not yet loaded; NULL with errno. */
struct rlctl_bpf *object_open(const struct rl_instance *info);
int object_pin_paths(struct rlctl_bpf *skel, const char *path);

/* The program of the instance's hook in the kernel, with the maps that are pinned below path. */
int object_load_pinned(const char *path, const struct rl_instance *info, struct rlctl_bpf **out);

/* How large what an instance does not say itself becomes. */
void instance_sizes(struct rl_instance *info);

/* Makes the maps that a policy uses and that are not there yet. enum rl_policy_use. */
int policy_maps_make(const struct instance *instance, uint32_t uses);

#endif
