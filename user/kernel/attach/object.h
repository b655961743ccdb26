/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens the BPF object, sizes its maps and creates those that a policy needs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "rlctl_abi.h"

struct rlctl_bpf;

#define RULES_DEFAULT    16384u /* with matches or limits; see RULES_MAX */
#define RULES_ROOM_LEAST 256u   /* that there is room for before any policy */
#define SOURCES_DEFAULT  262144u
#define PREFIXES_DEFAULT 262144u
#define CAPACITY_MAX     16777216u /* of sources, prefixes and bans */
#define BANS_DEFAULT     65536u

/* The object sized for this instance, opened but not loaded; NULL with errno. Without filters: for
 * a device it is opened by the next functions. */
struct rlctl_bpf *object_open(const struct rl_instance *info);
/* With these filters, where it uses any; NULL: none. */
struct rlctl_bpf *object_open_with(const struct rl_instance *info,
				   const struct rl_filters *filters);
/* How far into a frame its headers may lie. */
uint32_t object_headers_reach(const struct rl_instance *info);
/* Makes and pins the maps that are not pinned at path yet, those of the policy as `uses` asks. */
int object_maps_make(const char *path, const struct rl_instance *info, uint64_t uses);
/* Gives the maps of a loaded object to an instance without pins; policy_maps_close() closes those
 * of the policy, and the object the others. */
int object_maps_take(struct rlctl_bpf *skel, struct instance *out);

/* Opens, and with `load` loads, the program for the instance's hook with the maps pinned at path,
 * and the filters that are noted there. */
int object_open_pinned(const char *path, const struct rl_instance *info, bool load,
		       struct rlctl_bpf **out);
/* Would it load with these filters? */
int object_load_check(const char *path, const struct rl_instance *info,
		      const struct rl_filters *filters);

/* Computes the map sizes that follow from the options, with defaults for those that are 0. */
void instance_sizes(struct rl_instance *info);

/* Does its program depend on whom this machine asked, which one at egress notes? */
bool instance_asks(const struct rl_instance *info, uint64_t uses);

/* Does its program ask connection tracking? */
bool object_asks_conntrack(const struct rl_instance *info);

/* Creates the missing maps that a policy needs. `uses`: enum rl_policy_use. Silent. */
int policy_maps_make(const struct instance *instance, uint64_t uses);
/* Drops those that neither the policy in force nor a program uses: their states are of rules that
 * are gone, whose ids do not come back. Maps with bans of sources in force stay, and those of the
 * fleet, which its agent has open. */
void policy_maps_trim(const struct instance *instance, uint64_t uses);
