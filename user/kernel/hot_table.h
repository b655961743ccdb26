/* SPDX-License-Identifier: GPL-2.0-only */
/* The hot table, as the command reads it. */
#ifndef RLCTL_HOT_TABLE_H
#define RLCTL_HOT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "instance.h"
#include "rlctl_abi.h"

/* Refusals that stand: one for two sources. */
static inline uint32_t refusal_sets(const struct rl_instance *info)
{
	return info->hot_sets > 1 ? info->hot_sets / 2 : 1;
}

struct hot_table {
	const struct instance *instance;
	struct rl_hot_set *sets; /* NULL where the map is open for reading alone */
	size_t size;
};

int hot_open(const struct instance *instance, struct hot_table *out);
void hot_close(struct hot_table *table);

/* Calls `found` for every slot, its flags included, that `key` has under the limit whose numbers
 * these are, whatever its destination port where that counts, until it returns non-zero. */
int hot_visit(const struct hot_table *table, const struct rl_rule *numbers,
	      const struct rl_state_key *key,
	      int (*found)(void *arg, const struct rl_state_key *key,
			   const struct rl_hot_slot *slot),
	      void *arg);

/* As hot_visit, of this key alone, which may be one of two addresses. */
int hot_look(const struct hot_table *table, const struct rl_rule *numbers,
	     const struct rl_state_key *key,
	     int (*found)(void *arg, const struct rl_state_key *key,
			  const struct rl_hot_slot *slot),
	     void *arg);

/* The key's slot is as if it had never been. */
int hot_forget(const struct hot_table *table, const struct rl_rule *numbers,
	       const struct rl_state_key *key);

/* Slots that still owe something. */
int hot_live(const struct hot_table *table, uint64_t now_ns, uint64_t *out);

#endif
