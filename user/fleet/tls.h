/* SPDX-License-Identifier: GPL-2.0-only */
/* TLS to Redis, where hiredis and OpenSSL are there to build with. */
#ifndef RLCTL_FLEET_TLS_H
#define RLCTL_FLEET_TLS_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* False: rediss:// is refused, and FLEET_TLS_NONE says why. */
bool fleet_tls_is_there(void);

#define FLEET_TLS_NONE                                                                          \
	"this rlctl was built with a hiredis without TLS: use redis:// through a tunnel, such " \
	"as stunnel, or unix://"

/* Makes a fresh connection one of TLS. The server's certificate has to name the host, and be signed
 * by somebody whom this machine trusts (or whom SSL_CERT_FILE or SSL_CERT_DIR names). NULL, or what
 * went wrong; it lasts as long as the connection. */
const char *fleet_tls_begin(redisContext *redis, const char *host);

#endif
