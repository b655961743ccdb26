// SPDX-License-Identifier: GPL-2.0-only
/* Connections: to Redis itself, or to the master that the sentinels know of. */

#include "redis.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tls.h"
#include "units.h"
#include "url.h"

static int wrong_say(char wrong[LINK_WRONG_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int wrong_say(char wrong[LINK_WRONG_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(wrong, LINK_WRONG_MAX, format, args);
	va_end(args);
	return -1;
}

static struct timeval timeval_of(uint64_t ns)
{
	return (struct timeval){.tv_sec = ns / NS_PER_SECOND,
				.tv_usec = ns % NS_PER_SECOND / NS_PER_US};
}

/* Why the connection is of no use. */
static const char *trouble(const redisContext *redis)
{
	if (!redis)
		return "out of memory";
	if (redis->err == REDIS_ERR_IO &&
	    !strcmp(redis->errstr, "Resource temporarily unavailable"))
		return "no answer in time";
	return redis->errstr;
}

static redisContext *connect_to(const struct fleet_host *host, const char *path,
				uint64_t timeout_ns, char wrong[LINK_WRONG_MAX])
{
	struct timeval timeout = timeval_of(timeout_ns);
	redisContext *redis = path ? redisConnectUnixWithTimeout(path, timeout)
				   : redisConnectWithTimeout(host->name, host->port, timeout);

	if (redis && !redis->err && !redisSetTimeout(redis, timeout))
		return redis;
	if (path)
		wrong_say(wrong, "%s: %s", path, trouble(redis));
	else
		wrong_say(wrong, "%s:%u: %s", host->name, host->port, trouble(redis));
	if (redis)
		redisFree(redis);
	return NULL;
}

/* One command whose answer has the type; it is taken over by the caller. */
static redisReply *ask(redisContext *redis, int type, char wrong[LINK_WRONG_MAX], int count,
		       const char **words)
{
	redisReply *reply = redisCommandArgv(redis, count, words, NULL);

	if (reply && reply->type == type)
		return reply;
	if (!reply)
		wrong_say(wrong, "%s", trouble(redis));
	else if (reply->type == REDIS_REPLY_ERROR)
		wrong_say(wrong, "Redis says: %s", reply->str);
	else
		wrong_say(wrong, "%s: Redis answers what it should not", words[0]);
	if (reply)
		freeReplyObject(reply);
	return NULL;
}

static int tell(redisContext *redis, char wrong[LINK_WRONG_MAX], int count, const char **words)
{
	redisReply *reply = ask(redis, REDIS_REPLY_STATUS, wrong, count, words);

	if (!reply)
		return -1;
	freeReplyObject(reply);
	return 0;
}

static int login(redisContext *redis, const struct fleet_url *url, char wrong[LINK_WRONG_MAX])
{
	const char *with_user[] = {"AUTH", url->user, url->password};
	const char *without[] = {"AUTH", url->password};
	char db[16];
	const char *select[] = {"SELECT", db};
	int ret = 0;

	snprintf(db, sizeof(db), "%u", url->db);
	if (*url->user)
		ret = tell(redis, wrong, 3, with_user);
	else if (*url->password)
		ret = tell(redis, wrong, 2, without);
	return ret || !url->db ? ret : tell(redis, wrong, 2, select);
}

/* A replica would take no leases: after a failover the former master may be one. */
static int is_master(redisContext *redis, char wrong[LINK_WRONG_MAX])
{
	const char *words[] = {"ROLE"};
	redisReply *reply = ask(redis, REDIS_REPLY_ARRAY, wrong, 1, words);
	int ret = 0;

	if (!reply)
		return -1;
	if (!reply->elements || reply->element[0]->type != REDIS_REPLY_STRING ||
	    strcmp(reply->element[0]->str, "master"))
		ret = wrong_say(wrong, "this Redis is a replica: name the master, or the "
				       "sentinels by redis+sentinel://");
	freeReplyObject(reply);
	return ret;
}

static int scripts_load(struct fleet_link *link, char wrong[LINK_WRONG_MAX])
{
	for (int i = 0; i < SCRIPT_COUNT; i++) {
		const char *words[] = {"SCRIPT", "LOAD", fleet_scripts[i]};
		redisReply *reply = ask(link->redis, REDIS_REPLY_STRING, wrong, 3, words);

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

/* Asks one sentinel after the other. */
static int master_find(const struct fleet_url *url, uint64_t timeout_ns, struct fleet_host *out,
		       char wrong[LINK_WRONG_MAX])
{
	const char *words[] = {"SENTINEL", "get-master-addr-by-name", url->master};
	int ret = -1;

	for (int i = 0; ret && i < url->host_count; i++) {
		redisContext *sentinel = connect_to(&url->hosts[i], NULL, timeout_ns, wrong);
		redisReply *reply =
			sentinel ? ask(sentinel, REDIS_REPLY_ARRAY, wrong, 3, words) : NULL;

		ret = reply ? master_read(reply, out) : -1;
		if (reply && ret)
			wrong_say(wrong, "a sentinel answers what it should not");
		if (reply)
			freeReplyObject(reply);
		if (sentinel)
			redisFree(sentinel);
	}
	return ret;
}

static int tls_begin(struct fleet_link *link, const struct fleet_host *host,
		     char wrong[LINK_WRONG_MAX])
{
	const char *trouble_with = fleet_tls_begin(link->redis, host->name);

	if (!trouble_with)
		return 0;
	wrong_say(wrong, "%s:%u: %s", host->name, host->port, trouble_with);
	link_close(link);
	return -1;
}

int link_open(const struct fleet_url *url, uint64_t timeout_ns, struct fleet_link *out,
	      char wrong[LINK_WRONG_MAX])
{
	struct fleet_host host = url->hosts[0];
	struct fleet_link link = {0};

	if (url->scheme == FLEET_SENTINEL && master_find(url, timeout_ns, &host, wrong))
		return -1;
	link.redis =
		connect_to(&host, url->scheme == FLEET_UNIX ? url->path : NULL, timeout_ns, wrong);
	if (!link.redis)
		return -1;
	if (url->scheme == FLEET_TLS && tls_begin(&link, &host, wrong))
		return -1;
	if (url->scheme == FLEET_UNIX)
		snprintf(link.server, sizeof(link.server), "%s", url->path);
	else
		snprintf(link.server, sizeof(link.server), "%.240s:%u", host.name, host.port);
	if (login(link.redis, url, wrong) || is_master(link.redis, wrong) ||
	    scripts_load(&link, wrong)) {
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

redisReply *link_answer(struct fleet_link *link, char wrong[LINK_WRONG_MAX])
{
	redisReply *reply = NULL;

	if (redisGetReply(link->redis, (void **)&reply) != REDIS_OK || !reply) {
		wrong_say(wrong, "%s: %s", link->server, trouble(link->redis));
		return NULL;
	}
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements)
		return reply;
	wrong_say(wrong, "%s: %s", link->server,
		  reply->type == REDIS_REPLY_ERROR ? reply->str : "an answer of no known form");
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
