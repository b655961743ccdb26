// SPDX-License-Identifier: GPL-2.0-only
/* The alarms of an instance, as they stand now. */
#include "alarms.h"

#include <string.h>

int alarms_read(const struct instance *instance, struct alarms_now *out)
{
	(void)instance;
	memset(out, 0, sizeof(*out));
	return 0;
}
