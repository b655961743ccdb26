// SPDX-License-Identifier: GPL-2.0-only
/* Connections to Redis, directly or through sentinels. */

#include "redis.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tls.h"
#include "units.h"
#include "url.h"

static int error_set(char error[LINK_ERROR_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int error_set(char error[LINK_ERROR_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, LINK_ERROR_MAX, format, args);
	va_end(args);
	return -1;
}

static struct timeval timeval_of(uint64_t ns)
{
	return (struct timeval){.tv_sec = ns / NS_PER_SECOND,
				.tv_usec = ns % NS_PER_SECOND / NS_PER_US};
}

/* The error of a connection. */
static const char *connection_error(const redisContext *redis)
{
	if (!redis)
		return "out of memory";
	if (redis->err == REDIS_ERR_IO &&
	    !strcmp(redis->errstr, "Resource temporarily unavailable"))
		return "no answer in time";
	return redis->errstr;
}

static redisContext *connect_to(const struct fleet_host *host, const char *path,
				uint64_t timeout_ns, char error[LINK_ERROR_MAX])
{
	struct timeval timeout = timeval_of(timeout_ns);
	redisContext *redis = path ? redisConnectUnixWithTimeout(path, timeout)
				   : redisConnectWithTimeout(host->name, host->port, timeout);

	if (redis && !redis->err && !redisSetTimeout(redis, timeout))
		return redis;
	if (path)
		error_set(error, "%s: %s", path, connection_error(redis));
	else
		error_set(error, "%s:%u: %s", host->name, host->port, connection_error(redis));
	if (redis)
		redisFree(redis);
	return NULL;
}

/* Sends one command and checks the type of its answer, which the caller frees. */
static redisReply *command_reply(redisContext *redis, int type, char error[LINK_ERROR_MAX],
				 int count, const char **words)
{
	redisReply *reply = redisCommandArgv(redis, count, words, NULL);

	if (reply && reply->type == type)
		return reply;
	if (!reply)
		error_set(error, "%s", connection_error(redis));
	else if (reply->type == REDIS_REPLY_ERROR)
		error_set(error, "error from Redis: %s", reply->str);
	else
		error_set(error, "%s: unexpected answer from Redis", words[0]);
	if (reply)
		freeReplyObject(reply);
	return NULL;
}

static int command_run(redisContext *redis, char error[LINK_ERROR_MAX], int count,
		       const char **words)
{
	redisReply *reply = command_reply(redis, REDIS_REPLY_STATUS, error, count, words);

	if (!reply)
		return -1;
	freeReplyObject(reply);
	return 0;
}

static int login(redisContext *redis, const struct fleet_url *url, char error[LINK_ERROR_MAX])
{
	const char *with_user[] = {"AUTH", url->user, url->password};
	const char *without[] = {"AUTH", url->password};
	char db[16];
	const char *select[] = {"SELECT", db};
	int ret = 0;

	snprintf(db, sizeof(db), "%u", url->db);
	if (*url->user)
		ret = command_run(redis, error, 3, with_user);
	else if (*url->password)
		ret = command_run(redis, error, 2, without);
	return ret || !url->db ? ret : command_run(redis, error, 2, select);
}

/* A replica is read-only; a former master may be one after a failover. */
static int master_check(redisContext *redis, char error[LINK_ERROR_MAX])
{
	const char *words[] = {"ROLE"};
	redisReply *reply = command_reply(redis, REDIS_REPLY_ARRAY, error, 1, words);
	int ret = 0;

	if (!reply)
		return -1;
	if (!reply->elements || reply->element[0]->type != REDIS_REPLY_STRING ||
	    strcmp(reply->element[0]->str, "master"))
		ret = error_set(error, "this Redis is a replica: use the master's address, or the "
				       "sentinels with redis+sentinel://");
	freeReplyObject(reply);
	return ret;
}

static int scripts_load(struct fleet_link *link, char error[LINK_ERROR_MAX])
{
	for (int i = 0; i < SCRIPT_COUNT; i++) {
		const char *words[] = {"SCRIPT", "LOAD", fleet_scripts[i]};
		redisReply *reply = command_reply(link->redis, REDIS_REPLY_STRING, error, 3, words);

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
	const char *words[] = {"SENTINEL", "get-master-addr-by-name", url->master};
	int ret = -1;

	for (int i = 0; ret && i < url->host_count; i++) {
		redisContext *sentinel = connect_to(&url->hosts[i], NULL, timeout_ns, error);
		redisReply *reply =
			sentinel ? command_reply(sentinel, REDIS_REPLY_ARRAY, error, 3, words)
				 : NULL;

		ret = reply ? master_read(reply, out) : -1;
		if (reply && ret)
			error_set(error, "unexpected answer from a sentinel");
		if (reply)
			freeReplyObject(reply);
		if (sentinel)
			redisFree(sentinel);
	}
	return ret;
}

static int tls_begin(struct fleet_link *link, const struct fleet_host *host,
		     char error[LINK_ERROR_MAX])
{
	const char *tls_error = fleet_tls_begin(link->redis, host->name);

	if (!tls_error)
		return 0;
	error_set(error, "%s:%u: %s", host->name, host->port, tls_error);
	link_close(link);
	return -1;
}

int link_open(const struct fleet_url *url, uint64_t timeout_ns, struct fleet_link *out,
	      char error[LINK_ERROR_MAX])
{
	struct fleet_host host = url->hosts[0];
	struct fleet_link link = {0};

	if (url->scheme == FLEET_SENTINEL && master_find(url, timeout_ns, &host, error))
		return -1;
	link.redis =
		connect_to(&host, url->scheme == FLEET_UNIX ? url->path : NULL, timeout_ns, error);
	if (!link.redis)
		return -1;
	if (url->scheme == FLEET_TLS && tls_begin(&link, &host, error))
		return -1;
	if (url->scheme == FLEET_UNIX)
		snprintf(link.server, sizeof(link.server), "%s", url->path);
	else
		snprintf(link.server, sizeof(link.server), "%.240s:%u", host.name, host.port);
	if (login(link.redis, url, error) || master_check(link.redis, error) ||
	    scripts_load(&link, error)) {
		link_close(&link);
		return -1;
	}
	*out = link;
	return 0;
}

void link_close(struct fleet_link *link)
{
	if (link->redis)
		redisFree(link->redis);
	link->redis = NULL;
}

void link_timeout(struct fleet_link *link, uint64_t timeout_ns)
{
	redisSetTimeout(link->redis, timeval_of(timeout_ns));
}

int link_call(struct fleet_link *link, enum fleet_script script, int count, const char **words,
	      size_t *lengths)
{
	words[0] = "EVALSHA";
	lengths[0] = strlen(words[0]);
	words[1] = link->sha[script];
	lengths[1] = strlen(words[1]);
	return redisAppendCommandArgv(link->redis, count, words, lengths) == REDIS_OK ? 0 : -1;
}

redisReply *link_answer(struct fleet_link *link, char error[LINK_ERROR_MAX])
{
	redisReply *reply = NULL;

	if (redisGetReply(link->redis, (void **)&reply) != REDIS_OK || !reply) {
		error_set(error, "%s: %s", link->server, connection_error(link->redis));
		return NULL;
	}
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements)
		return reply;
	error_set(error, "%s: %s", link->server,
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
