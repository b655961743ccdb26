/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a packet is established, and how the capture says so. */
#pragma once

#include <stdbool.h>

/* X(NAME, "key"): the keys are those of simulate -j. */
#define LOCAL_CERTAINTIES(X)                                            \
	X(KNOWN, "known")     /* by all packets of its conversation */  \
	X(GUESSED, "guessed") /* the capture lacks what would say it */ \
	X(UNSEEN, "unseen")   /* the machine has sent nothing in this conversation */
#define LOCAL_CERTAINTY_ENUM(name, ...) LOCAL_##name,
enum local_certainty { LOCAL_CERTAINTIES(LOCAL_CERTAINTY_ENUM) LOCAL_CERTAINTY_COUNT };

struct local_proof {
	bool established;
	enum local_certainty certainty;
};
