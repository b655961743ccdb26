/* SPDX-License-Identifier: GPL-2.0-only */
/* The objects that are compiled from one source: rlctl.bpf.c with none of these, and each
 * rlctl_*.bpf.c with those that it defines as 1.
 */
#pragma once

/* Its programs are for policies of RL_USE_EXTENDED. Each of its capabilities is behind a constant
 * that is set at load, so that the kernel removes the code of those that a policy does not use. */
#ifndef EXTENDED
#define EXTENDED 0
#endif

/* They ask connection tracking instead of sockets. */
#ifndef ASKS_CONNTRACK
#define ASKS_CONNTRACK 0
#endif

/* They send answers themselves. */
#ifndef ANSWERS
#define ANSWERS 0
#endif
