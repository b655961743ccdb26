/* SPDX-License-Identifier: GPL-2.0-only */
/* The guide of the table of members: which lengths there may be around an address. Pure. */
#pragma once

#include "compile/member_page.h"

/* The member is about to be written: packets look for its length from now on. */
void guide_add(struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const struct member_slot *slot);

/* May there be members of so many bits around the address, which is as in a slot? */
bool guide_has(const struct rl_member_layout *layout, const __u64 seed[2], bool ipv6,
	       const __u64 addr[2], uint32_t len);

/* Takes over the guide of `from`, which names all lengths that there are. */
void guide_replace(struct rl_member_layout *layout, const struct rl_member_layout *from);
