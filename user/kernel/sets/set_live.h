/* SPDX-License-Identifier: GPL-2.0-only */
/* The members that the sets of an instance have now, for questions about rules (level.h). */
#pragma once

#include "kernel/sets/sets.h"
#include "policy/level.h"

struct set_live {
	struct set_session session;
	struct set_members members; /* to be passed on; of an instance without sets it knows none */
	bool open;
};

/* Reports; then nothing is known of any set. */
void set_live_open(const struct instance *instance, struct set_live *out);
void set_live_close(struct set_live *live);
