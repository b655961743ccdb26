// SPDX-License-Identifier: GPL-2.0-only
/* rlctl-policy(5): `established`, `not established` and `over drop unless established`, in the
 * program of policies that use them. Each row is a scenario (scenario.h) on fresh states.
 */
#include "scenario.h"

static const struct scenario rows[] = {
	{"a match", "= any tcp established deny | "
		    "ip4 tcp : unmatched | "
		    "! established | "
		    "ip4 tcp : denied | "
		    "ip6 tcp : denied | "
		    "ip4 syn : unmatched | "
		    "ip4 udp : unmatched"},
	{"the other way round", "= any tcp not established deny | "
				"ip4 tcp : denied | "
				"! established | "
				"ip4 tcp : unmatched | "
				"ip4 syn : denied"},
	{"a limit that spares", "= any limit 1/h burst 1 over drop unless established | "
				"ip4 tcp : within | "
				"2 * ip4 tcp : over | "
				"! established | "
				"2 * ip4 tcp : established | "
				"ip4 syn : over"},
	{"policies without it", "= any limit 1/h burst 1 | "
				"! established | "
				"ip4 tcp : within | "
				"ip4 tcp : over"},
};

SCENARIOS(rows, .program_uses = RL_USE_PROGRAM)
