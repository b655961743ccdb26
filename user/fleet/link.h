/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections to a fleet's Redis, and the scripts that run there. Errors are texts without
 * secrets.
 *
 * Redis is untrusted: reply_number() clamps its numbers to a range, no answer as a whole takes
 * longer than its timeout, whatever arrives meanwhile, or much memory, and a signal to end shortens
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisContext;
struct redisReply;

#include "fleet/url.h"

/* ---- scripts.c: the Lua scripts that Redis runs */

/* Described in *.lua. */
enum fleet_script { SCRIPT_HEARTBEAT, SCRIPT_RATE, SCRIPT_WINDOW, SCRIPT_COUNT };
extern const char *const fleet_scripts[SCRIPT_COUNT];

/* ---- redis.c: one connection */

#define LINK_SHA_MAX 41
struct fleet_link {
	struct redisContext *redis; /* NULL: not connected */
	uint64_t timeout_ns;        /* of link_answer, for the whole answer */
	unsigned int pending;       /* calls without an answer yet */
	bool cluster;               /* redirections are answers */
	struct fleet_host host;
	char sha[SCRIPT_COUNT][LINK_SHA_MAX];
	char server[FLEET_TEXT_MAX]; /* HOST:PORT or a path */
};

#define LINK_ERROR_MAX 512

/* Connects to this host of the URL's Redis; NULL: to its first, or the sentinels' master. 0, or -1
 * with the error. */
int link_open(const struct fleet_url *url, const struct fleet_host *host, uint64_t timeout_ns,
	      struct fleet_link *out, char error[LINK_ERROR_MAX]);
void link_close(struct fleet_link *link);

/* Queues a call of a script, sent by the next link_answer. words[0] and [1] are filled in here;
 * then come the number of keys, the keys and the arguments. */
int link_call(struct fleet_link *link, enum fleet_script script, int count, const char **words,
	      size_t *lengths);

/* The next answer, an array or, of a cluster, an error; the caller frees it. NULL with the error:
 * close the link then. */
struct redisReply *link_answer(struct fleet_link *link, char error[LINK_ERROR_MAX]);

/* Element i of an array, clamped to the range; `least` if it is not a number. */
int64_t reply_number(const struct redisReply *reply, size_t i, int64_t least, int64_t most);

/* The events of poll(2) on a socket, or 0 after end_ns; a signal to end brings that forward. */
short socket_wait(int fd, short events, uint64_t *end_ns);

/* ---- cluster.c: the nodes that a fleet's shards are on
 *
 * A shard is a hash tag, {FLEET} or {FLEET:n}, and so a slot of a cluster. Its node is whichever
 * the others redirect to; without a cluster there is one node. Any lost connection loses all. */

#define FLEET_NODES_MAX (FLEET_SHARDS_MAX + 1)
struct fleet_cluster {
	const struct fleet_url *url;
	uint64_t connect_ns, timeout_ns; /* of connections, of answers */
	int count;                       /* of nodes; 0: not connected */
	unsigned int turn;               /* of the URL's hosts */
	struct fleet_link nodes[FLEET_NODES_MAX];
	uint8_t node[FLEET_SHARDS_MAX]; /* by shard */
	uint8_t ask[FLEET_SHARDS_MAX];  /* node for one call, counted from 1; 0: none */
};

/* Connects to one of the URL's hosts; url, connect_ns and timeout_ns are set. 0, or -1 with the
 * error. */
int cluster_open(struct fleet_cluster *c, char error[LINK_ERROR_MAX]);
void cluster_close(struct fleet_cluster *c);

/* The node that the shard's next call goes to. */
int cluster_node(const struct fleet_cluster *c, int shard);

/* As link_call; the node that was called, or -1. */
int cluster_call(struct fleet_cluster *c, int shard, enum fleet_script script, int count,
		 const char **words, size_t *lengths);

/* The answer to a call of that shard and node. 0; 1 with the reason: call again, as it was sent to
 * another node or its slot is on the way; -1 with the error: close all. */
int cluster_answer(struct fleet_cluster *c, int shard, int node, struct redisReply **out,
		   char error[LINK_ERROR_MAX]);

/* Errors of both files. -1. */
int link_error(char error[LINK_ERROR_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- tls.c: TLS to Redis, if built with hiredis_ssl and OpenSSL */

/* NULL, or why this build cannot connect to it, and what to do. */
const char *fleet_lacks(const struct fleet_url *url);

#define FLEET_TLS_NONE                                                                          \
	"this rlctl was built with a hiredis without TLS: use redis:// through a tunnel, such " \
	"as stunnel, or unix://"

/* Starts TLS on a new connection that does not block, until end_ns at most. The server's
 * certificate must be for the host, and signed by an authority that this machine trusts (or of
 * SSL_CERT_FILE or SSL_CERT_DIR). NULL, or the error, valid as long as the connection. */
const char *fleet_tls_begin(struct redisContext *redis, const char *host, uint64_t end_ns);
