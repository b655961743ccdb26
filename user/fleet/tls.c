// SPDX-License-Identifier: GPL-2.0-only
/* TLS by OpenSSL's own functions, as hiredis' context does not verify the host name. Without the
 * headers of hiredis_ssl and OpenSSL the second half is built.
 */
#include "tls.h"

#if __has_include(<hiredis/hiredis_ssl.h>) && __has_include(<openssl/ssl.h>)

#include <arpa/inet.h>

#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

bool fleet_tls_is_supported(void)
{
	return true;
}

/* The certificate must be for this name or address. */
static bool host_set(SSL *ssl, const char *host)
{
	struct in6_addr address;

	if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static SSL *session_make(const char *host)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = NULL;

	if (!context)
		return NULL;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_default_verify_paths(context) == 1)
		ssl = SSL_new(context);
	SSL_CTX_free(context); /* the session holds a reference */
	if (ssl && !host_set(ssl, host)) {
		SSL_free(ssl);
		return NULL;
	}
	return ssl;
}

/* On success, hiredis owns the session. */
const char *fleet_tls_begin(redisContext *redis, const char *host)
{
	SSL *ssl = session_make(host);
	long result;

	if (!ssl)
		return "cannot set up TLS";
	if (redisInitiateSSL(redis, ssl) == REDIS_OK)
		return NULL;
	result = SSL_get_verify_result(ssl);
	SSL_free(ssl);
	return result == X509_V_OK ? redis->errstr : X509_verify_cert_error_string(result);
}

#else

bool fleet_tls_is_supported(void)
{
	return false;
}

const char *fleet_tls_begin(redisContext *redis, const char *host)
{
	(void)redis;
	(void)host;
	return FLEET_TLS_NONE;
}

#endif
