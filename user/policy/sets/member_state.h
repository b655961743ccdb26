/* SPDX-License-Identifier: GPL-2.0-only */
/* The members of dynamic sets as a text that outlives a reboot:
 *
 *   saved 2026-11-23T10:00:00Z # TAG of eth0 at xdp
 *   set badguys
 *   192.0.2.1 until 2026-11-23T12:30:00Z
 *   10.0.0.0/8
 *
 * Times are of the wall clock. A clock that stands before the moment of saving, as that of a
 * machine without a battery does at boot, does not lengthen what is left.
 */
#pragma once

#include <stdio.h>

#include "policy/sets/member_list.h"
#include "rlctl_abi.h"

struct member_state_set {
	char name[RL_SET_NAME_MAX + 1];
	struct member_list list; /* members without a time have MEMBER_LIFE_NONE */
};

struct member_state {
	struct member_state_set *sets;
	size_t count;
	struct member_list other; /* bad lines outside of sets */
};

/* Takes every whole line that is good; the others are in the lists' `bad`. 0 or -ENOMEM. */
int member_state_parse(const char *text, size_t size, uint64_t now_ns, struct member_state *out);
void member_state_clear(struct member_state *state);

/* The parts of such a text; `tag` is a comment by which the writer knows what it wrote, `owner`
 * whose members they are, "" for nobody's in particular. */
void member_state_begin(FILE *file, uint64_t now_ns, const char *tag, const char *owner);
void member_state_member(FILE *file, const struct member *member, uint64_t end_ns);
