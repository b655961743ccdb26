// SPDX-License-Identifier: GPL-2.0-only
/* The same programs for policies that use a capability of RL_USE_EXTENDED.
 * Apart, so that the others pay not an instruction for it.
 */
#define EXTENDED 1
#include "rlctl.bpf.c"
