// SPDX-License-Identifier: GPL-2.0-only
/* TLS by OpenSSL's own functions, as hiredis' context does not verify the host name. Without the
 * headers of hiredis_ssl and OpenSSL the second half is built.
 */
#include "fleet/link.h"

#if __has_include(<hiredis/hiredis_ssl.h>) && __has_include(<openssl/ssl.h>)

#include <arpa/inet.h>
#include <poll.h>

#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

const char *fleet_lacks(const struct fleet_url *url)
{
	(void)url;
	return NULL;
}

static SSL *session_make(const char *host)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct in6_addr address;
	SSL *ssl = NULL;
	bool set;

	if (!context)
		return NULL;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_default_verify_paths(context) == 1)
		ssl = SSL_new(context);
	SSL_CTX_free(context); /* the session holds a reference */
	if (!ssl)
		return NULL;
	/* The certificate must be for this name or address. */
	if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
		set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	else
		set = SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
	if (set)
		return ssl;
	SSL_free(ssl);
	return NULL;
}

/* The socket does not block, so that hiredis leaves most of the handshake to others. */
static bool handshake_end(const redisContext *redis, SSL *ssl, uint64_t end_ns)
{
	int ret;

	while ((ret = SSL_do_handshake(ssl)) != 1) {
		int want = SSL_get_error(ssl, ret);

		if ((want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE) ||
		    !socket_wait(redis->fd, want == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT,
				 &end_ns))
			return false;
	}
	return true;
}

/* hiredis owns the session unless it refuses it. */
const char *fleet_tls_begin(redisContext *redis, const char *host, uint64_t end_ns)
{
	SSL *ssl = session_make(host);
	bool owned;
	long result;

	if (!ssl)
		return "cannot set up TLS";
	owned = redisInitiateSSL(redis, ssl) == REDIS_OK;
	if (owned && handshake_end(redis, ssl, end_ns))
		return NULL;
	result = SSL_get_verify_result(ssl);
	if (!owned)
		SSL_free(ssl);
	if (result != X509_V_OK)
		return X509_verify_cert_error_string(result);
	return owned ? "the TLS handshake failed" : redis->errstr;
}

#else

const char *fleet_lacks(const struct fleet_url *url)
{
	return fleet_url_is_tls(url) ? FLEET_TLS_NONE : NULL;
}

const char *fleet_tls_begin(struct redisContext *redis, const char *host, uint64_t end_ns)
{
	(void)redis;
	(void)host;
	(void)end_ns;
	return FLEET_TLS_NONE;
}

#endif
