/* SPDX-License-Identifier: GPL-2.0-only */
/* TLS to Redis, if built with hiredis_ssl and OpenSSL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/* False: rediss:// is an error, with the text FLEET_TLS_NONE. */
bool fleet_tls_is_supported(void);

#define FLEET_TLS_NONE                                                                          \
	"this rlctl was built with a hiredis without TLS: use redis:// through a tunnel, such " \
	"as stunnel, or unix://"

/* Starts TLS on a new connection that does not block, until end_ns at most. The server's
 * certificate must be for the host, and signed by an authority that this machine trusts (or of
 * SSL_CERT_FILE or SSL_CERT_DIR). NULL, or the error, valid as long as the connection. */
const char *fleet_tls_begin(redisContext *redis, const char *host, uint64_t end_ns);
