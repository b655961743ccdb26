/* SPDX-License-Identifier: GPL-2.0-only */
/* The sources of most packets, in bounded memory. Pure.
 *
 * D. Anderson et al., "A High-Performance Algorithm for Identifying Frequent Items in Data Streams"
 * (IMC 2017), after Misra and Gries: where there is no room for one more, every source loses the
 * median of the weights, and those that have nothing left are forgotten. With no more than
 * HEAVY_MAX sources all figures are exact. With more, what is known of a source may lack
 * heavy_source.missed packets, of before it was seen anew; that is at most a 4,096th of all
 * packets, and each source with more packets than that is in the list.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "rlctl_abi.h"

#define HEAVY_MAX   8192
#define HEAVY_KINDS 4
#define HEAVY_ALL   ((1U << HEAVY_KINDS) - 1) /* a bit for each kind */

/* A source as limits count it: an IPv4 address or an IPv6 /64. */
struct heavy_source {
	uint8_t addr[16];
	struct rl_amount amount[HEAVY_KINDS]; /* since it was seen anew */
	uint64_t missed;                      /* packets before that, at most */
	uint64_t first_ns, last_ns;           /* since 1970 */
	uint64_t weight;                      /* as the algorithm keeps it */
	UT_hash_handle hh;
};

struct heavy {
	struct heavy_source *list;
	uint64_t missed; /* of one source that is not in the list, at most; 0: all are */
};

/* A packet of a kind, 0..HEAVY_KINDS - 1. 0 or -ENOMEM. */
int heavy_add(struct heavy *heavy, const uint8_t addr[16], unsigned int kind, uint32_t bytes,
	      uint64_t time_ns);

/* The packets of these kinds. */
struct rl_amount heavy_amount(const struct heavy_source *source, unsigned int kinds);

/* The sources with most packets of these kinds, none without, of those first seen before that
 * time, the heaviest first, into out[max]. Returns how many. */
size_t heavy_top(const struct heavy *heavy, unsigned int kinds, uint64_t before_ns,
		 const struct heavy_source **out, size_t max);

/* Sums up those of the same with a single packet of these kinds. Returns how many. */
size_t heavy_singles(const struct heavy *heavy, unsigned int kinds, uint64_t before_ns,
		     struct heavy_source *sum);

void heavy_clear(struct heavy *heavy);

/* The source's prefix as text, as PREFIX_TEXT_MAX says. */
void heavy_print(char *buf, size_t size, const struct heavy_source *source);
