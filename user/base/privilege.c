// SPDX-License-Identifier: GPL-2.0-only
/* Capabilities of this process, by libcap. */

#include "privilege.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "message.h"

#define NAMES_MAX 256

static const struct {
	const char *name;
	cap_value_t value;
} rows[PRIVILEGE_COUNT] = {
#define PRIVILEGE_ROW(name) {"CAP_" #name, CAP_##name},
	PRIVILEGES(PRIVILEGE_ROW)
#undef PRIVILEGE_ROW
};

/* SYS_ADMIN includes these. */
#define PARTS_OF_SYS_ADMIN (PRIVILEGE_BIT(BPF) | PRIVILEGE_BIT(PERFMON))

static uint32_t capabilities_get(cap_flag_t flag)
{
	cap_t caps = cap_get_proc();
	uint32_t bits = 0;

	for (int i = 0; caps && i < PRIVILEGE_COUNT; i++) {
		cap_flag_value_t value = CAP_CLEAR;

		if (!cap_get_flag(caps, rows[i].value, flag, &value) && value == CAP_SET)
			bits |= 1u << i;
	}
	cap_free(caps);
	return bits;
}

bool privilege_held(enum privilege privilege)
{
	return capabilities_get(CAP_EFFECTIVE) & 1u << privilege;
}

/* Sets permitted and effective capabilities to `bits` for good: execve() adds none. */
static int capabilities_set(uint32_t bits)
{
	cap_t caps = cap_init();
	int ret = caps ? 0 : -1;

	for (int i = 0; !ret && i < PRIVILEGE_COUNT; i++) {
		if (!(bits & 1u << i))
			continue;
		ret = cap_set_flag(caps, CAP_PERMITTED, 1, &rows[i].value, CAP_SET);
		if (!ret)
			ret = cap_set_flag(caps, CAP_EFFECTIVE, 1, &rows[i].value, CAP_SET);
	}
	if (!ret)
		ret = cap_set_proc(caps);
	if (!ret)
		ret = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	cap_free(caps);
	return ret ? fail("capabilities cannot be dropped: %s", strerror(errno)) : 0;
}

/* "CAP_BPF, CAP_NET_ADMIN" */
static void names_print(uint32_t bits, char out[NAMES_MAX])
{
	size_t used = 0;

	out[0] = '\0';
	for (int i = 0; i < PRIVILEGE_COUNT; i++)
		if (bits & 1u << i)
			used += snprintf(out + used, NAMES_MAX - used, "%s%s", used ? ", " : "",
					 rows[i].name);
}

int privileges_keep(const char *verb, uint32_t needs, uint32_t uses)
{
	uint32_t have = capabilities_get(CAP_PERMITTED), keep = needs | uses, missing;
	char names[NAMES_MAX];

	if (have & PRIVILEGE_BIT(SYS_ADMIN) && keep & ~have & PARTS_OF_SYS_ADMIN) {
		keep |= PRIVILEGE_BIT(SYS_ADMIN);
		needs &= ~PARTS_OF_SYS_ADMIN;
	}
	missing = needs & ~have;
	if (!missing)
		return capabilities_set(keep & have);
	names_print(missing, names);
	return fail("%s: missing capabilities: %s: run it as root (sudo)", verb, names);
}

int privileges_drop(void)
{
	return capabilities_set(0);
}
