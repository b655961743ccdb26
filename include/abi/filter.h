/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of a packet that the filters of a policy see: bpf/match/filter.h fills it in, and the
 * instructions that user/kernel/policy/filter_code.c writes read it. IPv6 stands there without its
 * extension headers, so that no header hides what follows it. Part of rlctl_abi.h.
 */
#pragma once

#include <linux/types.h>

#include "abi/policy.h"

#define RL_FILTERS_MAX  32   /* different ones in the programs of one instance */
#define RL_FILTER_BYTES 128  /* of a packet that are copied; others take a call each */
#define RL_FILTER_LEAST 20   /* every packet that is parsed has so many: an IPv4 header */
#define RL_FILTER_STEPS 8192 /* instructions that all filters of a program may have */

/* The filters of a program, by bit: expressions, "" where there is none. While a change of the
 * program is under way, those of the policy in force and perhaps more. */
struct rl_filters {
	char text[RL_FILTERS_MAX][RL_FILTER_MAX + 1];
};
_Static_assert(sizeof(struct rl_filters) == 8192, "rl_filters");

struct rl_filter_view {
	__u8 bytes[RL_FILTER_BYTES]; /* from the IP header on */
	__u32 room;                  /* bytes that can be read, from the IP header on */
	__u32 length;                /* bytes that the packet has: the `len` of a filter */
	__u32 start; /* offset in the frame of what follows the copy: of the IP header, and more by
			the extension headers that are left out */
	__u32 found; /* a bit for each filter that holds */
};
_Static_assert(sizeof(struct rl_filter_view) == RL_FILTER_BYTES + 16, "rl_filter_view");
