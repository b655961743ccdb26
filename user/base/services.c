// SPDX-License-Identifier: GPL-2.0-only
/* Names of services, by the C library: /etc/services, or what nsswitch.conf says. A file of its
 * own, so that tests can replace it.
 */
#include "base/services.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stddef.h>

int service_port(const char *name, const char *protocol, uint16_t *out)
{
	struct servent entry, *found = NULL;
	char buffer[4096]; /* an entry with its aliases */

	if (getservbyname_r(name, protocol, &entry, buffer, sizeof(buffer), &found) || !found)
		return -ENOENT;
	*out = ntohs((uint16_t)found->s_port);
	return 0;
}
