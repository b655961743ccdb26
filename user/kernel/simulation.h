/* SPDX-License-Identifier: GPL-2.0-only */
/* The program and maps of an instance that is on no device. */
#ifndef RLCTL_SIMULATION_H
#define RLCTL_SIMULATION_H

#include <stdint.h>

#include "instance.h"
#include "policy.h"
#include "rlctl_abi.h"
#include "stats.h"

struct captured; /* captured.h */
struct simulation;

/* A caller that wants the same result every time stays on one CPU: LRU maps evict by CPU.
 * `policy` is in force from now_ns; `file` as in instance_policy_write. Both must live as long as
 * the simulation. */
int simulation_open(struct policy *policy, uint64_t now_ns, const char *file,
		    struct simulation **out);
void simulation_close(struct simulation *simulation); /* NULL is allowed */

/* The policy comes into force once more, at now_ns, and no state is left; counters stay. Reports.
 */
int simulation_begin_anew(struct simulation *simulation, uint64_t now_ns);

/* What became of the packet. */
int simulation_run(struct simulation *simulation, const struct captured *packet,
		   enum rl_reason *out);

/* Its instance, and what it counted, rules that have expired meanwhile included. */
const struct instance *simulation_instance(const struct simulation *simulation);
int simulation_stats_read(const struct simulation *simulation, struct instance_stats *out);

#endif
