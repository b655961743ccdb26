// SPDX-License-Identifier: GPL-2.0-only
/* hiredis' own way to make a context does not look at the host's name: so OpenSSL's is used. Which
 * of the two halves is built, the headers decide that are there.
 */
#include "tls.h"

#if __has_include(<hiredis/hiredis_ssl.h>) && __has_include(<openssl/ssl.h>)

#include <arpa/inet.h>

#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

bool fleet_tls_is_there(void)
{
	return true;
}

/* The certificate has to be that of this name or address. */
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
	SSL_CTX_free(context); /* the session keeps it */
	if (ssl && !host_set(ssl, host)) {
		SSL_free(ssl);
		return NULL;
	}
	return ssl;
}

/* hiredis takes the session over, if it succeeds. */
const char *fleet_tls_begin(redisContext *redis, const char *host)
{
	SSL *ssl = session_make(host);
	long wrong;

	if (!ssl)
		return "TLS cannot be set up";
	if (redisInitiateSSL(redis, ssl) == REDIS_OK)
		return NULL;
	wrong = SSL_get_verify_result(ssl);
	SSL_free(ssl);
	return wrong == X509_V_OK ? redis->errstr : X509_verify_cert_error_string(wrong);
}

#else

bool fleet_tls_is_there(void)
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
