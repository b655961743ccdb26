/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to a bed, in one string: steps apart by '|', run in order.
 *   = RULE; RULE            this policy comes into force (the words without "rule")
 *   + DURATION              time passes
 *   @ RULE +DURATION        it is that long after the rule's expiry; -DURATION: before
 *   [N *] WORDS : REASON    N frames (shape.h), each with this reason
 *   # RULE : P D S          the rule has passed, dropped, shadowed so many packets
 */
#ifndef TESTS_SCRIPT_H
#define TESTS_SCRIPT_H

#include "bed.h"

/* Fails the test, naming the step, where something else happens. Policy and time are those that the
 * script before left. */
void script_run(struct bed *bed, const char *script);

/* No policy, and so fresh states for the next one; a new day. */
void script_reset(struct bed *bed);

#endif
