/* SPDX-License-Identifier: GPL-2.0-only */
/* Capabilities of this process. The table of verbs lists what each verb needs and may use; all
 * others are dropped before it starts, and a long-running verb drops the rest once its files are
 * open. Dropped capabilities cannot be regained.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* X(NAME): CAP_NAME, and what rlctl uses it for. */
#define PRIVILEGES(X)                                                                    \
	X(BPF)              /* make maps and load programs */                            \
	X(NET_ADMIN)        /* load programs for packets, attach them */                 \
	X(PERFMON)          /* let programs compare pointers */                          \
	X(SYS_ADMIN)        /* open programs and maps by id, mount, enter a namespace */ \
	X(SYS_PTRACE)       /* read the environment and namespaces of other processes */ \
	X(DAC_READ_SEARCH)  /* read files of other users */                              \
	X(DAC_OVERRIDE)     /* write to folders of other users */                        \
	X(CHOWN)            /* change the group of pins */                               \
	X(NET_BIND_SERVICE) /* listen on a port below 1024 */                            \
	X(NET_RAW)          /* see received frames */                                    \
	X(SETUID)           /* run programs as another user */                           \
	X(SETGID)           /* the same, with the groups of that user */                 \
	X(KILL)             /* end programs of another user */

enum privilege {
#define PRIVILEGE_ID(name) PRIVILEGE_##name,
	PRIVILEGES(PRIVILEGE_ID)
#undef PRIVILEGE_ID
		PRIVILEGE_COUNT
};

#define PRIVILEGE_BIT(name) (1u << PRIVILEGE_##name)

/* Drops all capabilities but these. CAP_SYS_ADMIN replaces CAP_BPF and CAP_PERFMON if these are
 * missing. Those in `aside` have no effect until they are raised. 0, or -1 if one that the verb
 * needs is missing; reports. */
int privileges_keep(const char *verb, uint32_t needs, uint32_t uses, uint32_t aside);

/* Gives effect to those of `wanted` that were kept aside, and names them in *raised, to be lowered
 * again. False if one of `wanted` is missing. */
bool privileges_raise(uint32_t wanted, uint32_t *raised);
void privileges_lower(uint32_t raised);

/* The capabilities that replacing the running program takes, or attaching those that feed the
 * filter of peers; kept aside, and raised for that alone. */
#define PRIVILEGES_PROGRAM \
	(PRIVILEGE_BIT(NET_ADMIN) | PRIVILEGE_BIT(PERFMON) | PRIVILEGE_BIT(SYS_ADMIN))

/* Drops all. 0 or -1; reports. */
int privileges_drop(void);

bool privilege_held(enum privilege privilege);
