// SPDX-License-Identifier: GPL-2.0-only
/* Connections to Redis, directly or through sentinels. */

#include "fleet/link.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "fleet/url.h"

#define ANSWER_BYTES    (256 << 10) /* the longest answer lists a thousand members */
#define ANSWER_ELEMENTS 4096
#define COMMAND_NS      (300 * NS_PER_MS)
#define POLL_NS         (50 * NS_PER_MS)
#define SIGNAL_NS       (100 * NS_PER_MS) /* left to an answer after a signal to end */

#if HIREDIS_MAJOR < 1
typedef int element_count;
#else
typedef size_t element_count;
#endif

int link_error(char error[LINK_ERROR_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, LINK_ERROR_MAX, format, args);
	va_end(args);
	return -1;
}

/* ---- answers */

short socket_wait(int fd, short events, uint64_t *end_ns)
{
	struct pollfd one = {.fd = fd, .events = events};

	for (;;) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), left;

		if (signals_held() && *end_ns > now_ns + SIGNAL_NS)
			*end_ns = now_ns + SIGNAL_NS;
		if (now_ns >= *end_ns)
			return 0;
		left = *end_ns - now_ns < POLL_NS ? *end_ns - now_ns : POLL_NS;
		if (poll(&one, 1, (int)(left / NS_PER_MS) + 1) > 0)
			return one.revents;
	}
}

static redisReplyObjectFunctions usual, bounded;
static size_t elements; /* of the answer that is being read: one at a time */

/* hiredis has no bound on what elements take: an answer of some bytes may claim gigabytes. */
static void *array_make(const redisReadTask *task, element_count count)
{
	elements += (size_t)count;
	return elements > ANSWER_ELEMENTS ? NULL : usual.createArray(task, count);
}

/* Sends what is queued, and reads the next answer, for timeout_ns from now at most: a server that
 * sends a byte now and then does not prolong it. */
static redisReply *reply_wait(redisContext *redis, uint64_t timeout_ns, const char **wrong)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	void *reply = NULL;
	short ready = 0;
	int sent = 0;

	elements = 0;
	for (;;) {
		if ((ready & ~POLLOUT && redisBufferRead(redis)) ||
		    redisGetReplyFromReader(redis, &reply) ||
		    (!reply && !sent && redisBufferWrite(redis, &sent))) {
			*wrong = elements > ANSWER_ELEMENTS ? "the answer is too long"
							    : redis->errstr;
			return NULL;
		}
		if (reply)
			return reply;
		*wrong = "the answer is too long";
		if (redis->reader->len > ANSWER_BYTES)
			return NULL;
		*wrong = "no answer in time";
		ready = socket_wait(redis->fd, (short)(sent ? POLLIN : POLLIN | POLLOUT), &end_ns);
		if (!ready)
			return NULL;
	}
}

/* ---- connections */

static redisContext *connect_to(const struct fleet_host *host, const char *path,
				uint64_t timeout_ns, char error[LINK_ERROR_MAX])
{
	struct timeval timeout = {.tv_sec = timeout_ns / NS_PER_SECOND,
				  .tv_usec = timeout_ns % NS_PER_SECOND / NS_PER_US};
	redisContext *redis = path ? redisConnectUnixWithTimeout(path, timeout)
				   : redisConnectWithTimeout(host->name, host->port, timeout);

	if (redis && !redis->err) {
		usual = *redis->reader->fn;
		bounded = usual;
		bounded.createArray = array_make;
		redis->reader->fn = &bounded;
		redis->flags &= ~REDIS_BLOCK;
		fcntl(redis->fd, F_SETFL, fcntl(redis->fd, F_GETFL) | O_NONBLOCK);
		return redis;
	}
	if (path)
		link_error(error, "%s: %s", path, redis ? redis->errstr : "out of memory");
	else
		link_error(error, "%s:%u: %s", host->name, host->port,
			   redis ? redis->errstr : "out of memory");
	redisFree(redis);
	return NULL;
}

/* Runs one command and checks the type of its answer, which the caller frees. */
static redisReply *command_reply(redisContext *redis, int type, char error[LINK_ERROR_MAX],
				 const char *format, ...)
{
	const char *wrong = "out of memory";
	redisReply *reply = NULL;
	va_list args;

	va_start(args, format);
	if (!redisvAppendCommand(redis, format, args))
		reply = reply_wait(redis, COMMAND_NS, &wrong);
	va_end(args);
	if (reply && reply->type == type)
		return reply;
	if (!reply)
		link_error(error, "%s", wrong);
	else if (reply->type == REDIS_REPLY_ERROR)
		link_error(error, "error from Redis: %s", reply->str);
	else
		link_error(error, "%.*s: unexpected answer from Redis", (int)strcspn(format, " "),
			   format);
	freeReplyObject(reply);
	return NULL;
}

static int reply_end(redisReply *reply)
{
	int ret = reply ? 0 : -1;

	freeReplyObject(reply);
	return ret;
}

static int login(redisContext *redis, const struct fleet_url *url, char error[LINK_ERROR_MAX])
{
	const int type = REDIS_REPLY_STATUS;
	int ret = 0;

	if (*url->user)
		ret = reply_end(
			command_reply(redis, type, error, "AUTH %s %s", url->user, url->password));
	else if (*url->password)
		ret = reply_end(command_reply(redis, type, error, "AUTH %s", url->password));
	return ret || !url->db ? ret
			       : reply_end(command_reply(redis, type, error, "SELECT %u", url->db));
}

/* A replica is read-only; a former master may be one after a failover. */
static int master_check(redisContext *redis, char error[LINK_ERROR_MAX])
{
	redisReply *reply = command_reply(redis, REDIS_REPLY_ARRAY, error, "ROLE");
	int ret = 0;

	if (!reply)
		return -1;
	if (!reply->elements || reply->element[0]->type != REDIS_REPLY_STRING ||
	    strcmp(reply->element[0]->str, "master"))
		ret = link_error(error, "this Redis is a replica: use the master's address, or the "
					"sentinels with redis+sentinel://");
	freeReplyObject(reply);
	return ret;
}

static int scripts_load(struct fleet_link *link, char error[LINK_ERROR_MAX])
{
	for (int i = 0; i < SCRIPT_COUNT; i++) {
		redisReply *reply = command_reply(link->redis, REDIS_REPLY_STRING, error,
						  "SCRIPT LOAD %s", fleet_scripts[i]);

		if (!reply)
			return -1;
		snprintf(link->sha[i], LINK_SHA_MAX, "%s", reply->str);
		freeReplyObject(reply);
	}
	return 0;
}

static int master_read(const redisReply *reply, struct fleet_host *out)
{
	uint64_t port;

	if (reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
	    reply->element[1]->type != REDIS_REPLY_STRING ||
	    number_parse(reply->element[1]->str, 1, 65535, &port) ||
	    reply->element[0]->len >= sizeof(out->name))
		return -1;
	snprintf(out->name, sizeof(out->name), "%s", reply->element[0]->str);
	out->port = (uint16_t)port;
	return 0;
}

/* Asks one sentinel after the other for the master. */
static int master_find(const struct fleet_url *url, uint64_t timeout_ns, struct fleet_host *out,
		       char error[LINK_ERROR_MAX])
{
	int ret = -1;

	for (int i = 0; ret && i < url->host_count; i++) {
		redisContext *sentinel = connect_to(&url->hosts[i], NULL, timeout_ns, error);
		redisReply *reply =
			sentinel ? command_reply(sentinel, REDIS_REPLY_ARRAY, error,
						 "SENTINEL get-master-addr-by-name %s", url->master)
				 : NULL;

		ret = reply ? master_read(reply, out) : -1;
		if (reply && ret)
			link_error(error, "unexpected answer from a sentinel");
		freeReplyObject(reply);
		redisFree(sentinel);
	}
	return ret;
}

int link_open(const struct fleet_url *url, const struct fleet_host *to, uint64_t timeout_ns,
	      struct fleet_link *out, char error[LINK_ERROR_MAX])
{
	struct fleet_host host = to ? *to : url->hosts[0];
	char why[LINK_ERROR_MAX] = "";
	const char *wrong = NULL;
	struct fleet_link link = {.timeout_ns = COMMAND_NS, .cluster = fleet_url_is_cluster(url)};

	if (url->scheme == FLEET_SENTINEL && master_find(url, timeout_ns, &host, error))
		return -1;
	link.redis =
		connect_to(&host, url->scheme == FLEET_UNIX ? url->path : NULL, timeout_ns, error);
	if (!link.redis)
		return -1;
	if (fleet_url_is_tls(url))
		wrong = fleet_tls_begin(link.redis, host.name,
					clock_ns(CLOCK_MONOTONIC) + COMMAND_NS);
	if (wrong) {
		link_error(error, "%s:%u: %s", host.name, host.port, wrong);
		link_close(&link);
		return -1;
	}
	link.host = host;
	if (url->scheme == FLEET_UNIX)
		snprintf(link.server, sizeof(link.server), "%s", url->path);
	else
		snprintf(link.server, sizeof(link.server), "%.240s:%u", host.name, host.port);
	if (login(link.redis, url, why) || (!link.cluster && master_check(link.redis, why)) ||
	    scripts_load(&link, why)) {
		link_close(&link);
		return link_error(error, "%s: %s", link.server, why);
	}
	*out = link;
	return 0;
}

void link_close(struct fleet_link *link)
{
	redisFree(link->redis);
	link->redis = NULL;
}

int link_call(struct fleet_link *link, enum fleet_script script, int count, const char **words,
	      size_t *lengths)
{
	words[0] = "EVALSHA";
	lengths[0] = strlen(words[0]);
	words[1] = link->sha[script];
	lengths[1] = strlen(words[1]);
	link->pending++;
	return redisAppendCommandArgv(link->redis, count, words, lengths) == REDIS_OK ? 0 : -1;
}

redisReply *link_answer(struct fleet_link *link, char error[LINK_ERROR_MAX])
{
	const char *wrong;
	redisReply *reply = reply_wait(link->redis, link->timeout_ns, &wrong);

	if (reply && reply->type == REDIS_REPLY_STATUS && link->cluster) { /* of ASKING */
		freeReplyObject(reply);
		reply = reply_wait(link->redis, link->timeout_ns, &wrong);
	}
	link->pending--;
	if (!reply) {
		link_error(error, "%s: %s", link->server, wrong);
		return NULL;
	}
	if ((reply->type == REDIS_REPLY_ARRAY && reply->elements) ||
	    (reply->type == REDIS_REPLY_ERROR && link->cluster))
		return reply;
	if (reply->type == REDIS_REPLY_ERROR && !strncmp(reply->str, "MOVED ", 6))
		link_error(error,
			   "%s: this node of a cluster does not have the fleet's keys: use "
			   "redis+cluster://",
			   link->server);
	else
		link_error(error, "%s: %s", link->server,
			   reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected answer");
	freeReplyObject(reply);
	return NULL;
}

int64_t reply_number(const redisReply *reply, size_t i, int64_t least, int64_t most)
{
	const redisReply *one = i < reply->elements ? reply->element[i] : NULL;

	if (!one || one->type != REDIS_REPLY_INTEGER || one->integer < least)
		return least;
	return one->integer < most ? one->integer : most;
}
