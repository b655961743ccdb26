/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of services, as /etc/services has them. */
#pragma once

#include <stdint.h>

/* The port of a service under a protocol such as "tcp". 0 or -ENOENT. */
int service_port(const char *name, const char *protocol, uint16_t *out);
