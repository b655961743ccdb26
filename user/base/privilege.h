/* SPDX-License-Identifier: GPL-2.0-only */
/* Capabilities of this process. A verb's row says what it needs and what it uses; all else is given
 * up before it does anything, and a verb that goes on for long gives up the rest once it has opened
 * what it reads. Nothing comes back: no program is run, and none could gain any.
 */
#ifndef RLCTL_PRIVILEGE_H
#define RLCTL_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME): CAP_NAME, and what rlctl does with it. */
#define PRIVILEGES(X)                                                                   \
	X(BPF)              /* make maps and load programs */                           \
	X(NET_ADMIN)        /* load programs for packets, attach them */                \
	X(PERFMON)          /* have them take addresses for numbers */                  \
	X(SYS_ADMIN)        /* open what has but a number, mount, enter a namespace */  \
	X(SYS_PTRACE)       /* look into the environment and namespaces of processes */ \
	X(DAC_READ_SEARCH)  /* read files of users */                                   \
	X(DAC_OVERRIDE)     /* write to folders of users */                             \
	X(CHOWN)            /* give pins to a group */                                  \
	X(NET_BIND_SERVICE) /* listen at a port below 1024 */                           \
	X(NET_RAW)          /* see which frames come in */

enum privilege {
#define PRIVILEGE_ID(name) PRIVILEGE_##name,
	PRIVILEGES(PRIVILEGE_ID)
#undef PRIVILEGE_ID
		PRIVILEGE_COUNT
};

#define PRIVILEGE_BIT(name) (1u << PRIVILEGE_##name)

/* Gives up all capabilities but these. CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON where these
 * are not there. 0, or -1 where one that `who` needs is missing, which it says. */
int privileges_keep(const char *who, uint32_t needs, uint32_t uses);

/* Gives up all. 0 or -1, which it says. */
int privileges_drop(void);

bool privilege_held(enum privilege privilege);

#endif
