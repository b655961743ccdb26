// SPDX-License-Identifier: GPL-2.0-only
/* Starts redis-server, and loads the scripts with another clock. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "base/units.h"
#include "cases.h"
#include "fleet_redis.h"

#define SCRIPT_MAX 4096

static char folder[] = "/tmp/rlctl-fleet.XXXXXX", path[64], kept[64];
static pid_t server;
static struct fleet_link redis_link;

/* In `text` each `from` becomes `to`. */
static void replace(char text[SCRIPT_MAX], const char *from, const char *to)
{
	char *at = text;

	while ((at = strstr(at, from))) {
		char rest[SCRIPT_MAX];

		assert_true(strlen(text) + strlen(to) < SCRIPT_MAX);
		snprintf(rest, sizeof(rest), "%s", at + strlen(from));
		at += snprintf(at, text + SCRIPT_MAX - at, "%s%s", to, rest) - (int)strlen(rest);
	}
}

/* No key may expire while the machine delays the test: the scripts determine expiry by themselves.
 */
static void script_load(enum fleet_script script)
{
	char text[SCRIPT_MAX];
	redisReply *reply;

	snprintf(text, sizeof(text), "%s", fleet_scripts[script]);
	replace(text, "redis.call('TIME')", "cjson.decode(redis.call('GET', 'now'))");
	replace(text, "'PX', 2500)", "'PX', 3000000)");
	replace(text, "'PX', 3000)", "'PX', 3000000)");
	replace(text, "'PX', left)", "'PX', 3000000)");
	replace(text, "'PX', lasts)", "'PX', 3000000)");
	reply = redisCommand(redis_link.redis, "SCRIPT LOAD %s", text);
	assert_non_null(reply);
	assert_int_equal(reply->type, REDIS_REPLY_STRING);
	snprintf(redis_link.sha[script], LINK_SHA_MAX, "%s", reply->str);
	freeReplyObject(reply);
}

int fleet_redis_start(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	snprintf(kept, sizeof(kept), "%s/fleet-f.members", folder);
	setenv("STATE_DIRECTORY", folder, 1);
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (freopen("/dev/null", "w", stdout))
			execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path,
			       "--save", "", "--appendonly", "no", "--dir", folder, NULL);
		_exit(127);
	}
	for (int i = 0; i < 1000 && !redis_link.redis; i++) {
		usleep(20000);
		redis_link.redis = redisConnectUnix(path);
		if (redis_link.redis->err) {
			redisFree(redis_link.redis);
			redis_link.redis = NULL;
		}
	}
	if (!redis_link.redis)
		return -1;
	redis_link.timeout_ns = 60 * NS_PER_SECOND;
	script_load(SCRIPT_HEARTBEAT);
	script_load(SCRIPT_RATE);
	script_load(SCRIPT_WINDOW);
	return 0;
}

int fleet_redis_stop(void **state)
{
	(void)state;
	if (redis_link.redis)
		redisFree(redis_link.redis);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	unlink(path);
	unlink(kept);
	return rmdir(folder);
}

static void redis_tell(const char *format, ...)
{
	va_list args;
	redisReply *reply;

	va_start(args, format);
	reply = redisvCommand(redis_link.redis, format, args);
	va_end(args);
	assert_non_null(reply);
	assert_int_equal(reply->type, REDIS_REPLY_STATUS);
	freeReplyObject(reply);
}

void fleet_redis_connect(struct fleet_link *out)
{
	*out = redis_link;
	out->redis = redisConnectUnix(path);
	assert_non_null(out->redis);
	assert_int_equal(out->redis->err, 0);
}

void fleet_redis_time(uint64_t now_ns)
{
	redis_tell("SET now [%llu,%llu]", (unsigned long long)(now_ns / NS_PER_SECOND),
		   (unsigned long long)(now_ns % NS_PER_SECOND / NS_PER_US));
}

void fleet_redis_clear(void)
{
	redis_tell("FLUSHALL");
}
