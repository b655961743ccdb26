/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets of an instance: what the policy says of them, and their members. */
#pragma once

#include "compile/compiled.h"
#include "compile/member_table.h"
#include "kernel/instance/instance.h"
#include "policy/packets/level.h"
#include "policy/policy.h"

/* ---- with a policy: policy_write.c, replace.c, trial.c */

/* All sets in the kernel by number, all zero if there are none; RL_SETS_MAX elements. */
int sets_read(const struct instance *instance, struct rl_set out[RL_SETS_MAX]);

/* Reads out->groups of the policy whose header is in *out; none if it has no set. */
int set_groups_read(const struct instance *instance, struct compiled *out);

/* Makes the maps of sets unless they are there, with room for the members of all; members of sets
 * that are there already stay. Then writes the groups for the half of this policy. */
int sets_write(const struct instance *instance, const struct compiled *compiled);

/* Once a policy is in force: notes what it says of its sets. The sets of no policy are forgotten
 * with their members. in_force: NULL without any set; then the members go, unless the maps that
 * belong to them stay. */
int sets_settle(const struct instance *instance, const struct rl_set_groups *in_force,
		bool maps_stay);

/* ---- members */

struct set_session {
	const struct instance *instance;
	struct member_table table;
	struct rl_set sets[RL_SETS_MAX];
	int members_fd, sets_fd, layout_fd;
	bool writes;                       /* the table's layout is mapped; readers have a copy */
	struct rl_set opened[RL_SETS_MAX]; /* as it was when the session was opened */
	/* Added to one set, or deleted from it: the journal names the first ones. The
	 * caller's, until the session is closed. */
	const struct member_entry *changed;
	size_t changed_count;
	uint32_t published; /* table.layout->changes when packets were last made to ask anew */
};

/* To change members, the instance is open for writing (under its lock). -ENOENT: the policy has no
 * set. Reports other errors. */
int set_session_open(const struct instance *instance, bool writes, struct set_session *out);

/* Writes the descriptors, and makes packets ask anew if anything has changed: what is cached of
 * addresses is void. */
int set_session_close(struct set_session *session);

/* The number of the set of that name; -ENOENT. */
int set_session_find(const struct set_session *session, const char *name);

/* Packets and bytes of all CPUs that members of the set sent (or, as dst, received). */
int set_matched(const struct instance *instance, uint32_t set, struct rl_amount *out);

/* ---- the members of the sets of a policy in force, and their history */

struct set_stats {
	struct rl_set set;        /* its members are those that have not expired */
	struct rl_amount matched; /* packets for which a rule asked, from or to its members */
};

/* One for each of policy->sets, in that order; *out is to be freed. None: NULL. */
int set_stats_read(const struct instance *instance, const struct policy *policy,
		   struct set_stats **out);

/* ---- the members that sets have now, for questions about rules (level.h) */

struct set_live {
	struct set_session session;
	struct set_members members; /* to be passed on; of an instance without sets it knows none */
	bool open;
};

/* Reports; then nothing is known of any set. */
void set_live_open(const struct instance *instance, struct set_live *out);
void set_live_close(struct set_live *live);
