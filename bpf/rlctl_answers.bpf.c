// SPDX-License-Identifier: GPL-2.0-only
/* The programs of rlctl_extended.bpf.c that send answers besides (RL_USE_ANSWERS). Apart, because a
 * kernel may refuse a program behind libxdp's dispatcher for no more than having the instructions
 * that change a frame: user/kernel/attach/xdp.c.
 */
#define EXTENDED 1
#define ANSWERS  1
#include "rlctl.bpf.c"
