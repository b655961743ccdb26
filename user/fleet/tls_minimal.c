// SPDX-License-Identifier: GPL-2.0-only
/* A build without hiredis has no agent. */
#include "base/message.h"
#include "fleet/fleet.h"
#include "fleet/link.h"

const char *fleet_lacks(const struct fleet_url *url)
{
	(void)url;
	return MINIMAL_LACKS("hiredis") "install the package, or build it without MINIMAL=1";
}

/* Not called: no URL is taken. */
int fleet_run(const struct instance *instance, const struct fleet_options *options)
{
	(void)instance;
	return fail("%s", fleet_lacks(&options->url));
}
