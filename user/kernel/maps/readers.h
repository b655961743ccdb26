/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits for those that read maps: packets and programs. */
#pragma once

/* When it returns 0, no packet and no program still uses what it read before the call. Needs
 * CAP_BPF where the kernel has no membarrier(2) for it (nohz_full). 0 or a negative errno. Silent.
 */
int readers_wait(void);
