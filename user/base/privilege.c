// SPDX-License-Identifier: GPL-2.0-only
/* Capabilities of this process, by libcap. */

#include "base/privilege.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "base/message.h"

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

static int flags_set(cap_t caps, cap_flag_t flag, uint32_t bits)
{
	int ret = 0;

	for (int i = 0; !ret && i < PRIVILEGE_COUNT; i++)
		if (bits & 1u << i)
			ret = cap_set_flag(caps, flag, 1, &rows[i].value, CAP_SET);
	return ret;
}

static int sets_write(uint32_t permitted, uint32_t effective)
{
	cap_t caps = cap_init();
	int ret = caps ? flags_set(caps, CAP_PERMITTED, permitted) : -1;

	if (!ret)
		ret = flags_set(caps, CAP_EFFECTIVE, effective);
	if (!ret)
		ret = cap_set_proc(caps);
	cap_free(caps);
	return ret;
}

/* Drops all others for good: execve() adds none. */
static int capabilities_set(uint32_t permitted, uint32_t effective)
{
	int ret = sets_write(permitted, effective);

	if (!ret)
		ret = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return ret ? fail("capabilities cannot be dropped: %s", strerror(errno)) : 0;
}

bool privileges_raise(uint32_t wanted, uint32_t *raised)
{
	uint32_t permitted = capabilities_get(CAP_PERMITTED);
	uint32_t effective = capabilities_get(CAP_EFFECTIVE);

	*raised = wanted & permitted & ~effective;
	if (*raised && sets_write(permitted, effective | *raised))
		*raised = 0;
	effective = capabilities_get(CAP_EFFECTIVE);
	if (effective & PRIVILEGE_BIT(SYS_ADMIN))
		wanted &= ~PARTS_OF_SYS_ADMIN;
	return (effective & wanted) == wanted;
}

void privileges_lower(uint32_t raised)
{
	if (raised)
		sets_write(capabilities_get(CAP_PERMITTED),
			   capabilities_get(CAP_EFFECTIVE) & ~raised);
}

int privileges_keep(const char *verb, uint32_t needs, uint32_t uses, uint32_t aside)
{
	uint32_t have = capabilities_get(CAP_PERMITTED), keep = needs | uses, missing;
	char names[NAMES_MAX] = "";
	size_t used = 0;

	if (have & PRIVILEGE_BIT(SYS_ADMIN) && keep & ~have & PARTS_OF_SYS_ADMIN) {
		keep |= PRIVILEGE_BIT(SYS_ADMIN);
		needs &= ~PARTS_OF_SYS_ADMIN;
	}
	missing = needs & ~have;
	if (!missing)
		return capabilities_set((keep | aside) & have, keep & have);
	for (int i = 0; i < PRIVILEGE_COUNT; i++)
		if (missing & 1u << i)
			used += snprintf(names + used, NAMES_MAX - used, "%s%s", used ? ", " : "",
					 rows[i].name);
	return fail("%s: missing capabilities: %s: run it as root (sudo)", verb, names);
}

int privileges_drop(void)
{
	return capabilities_set(0, 0);
}
