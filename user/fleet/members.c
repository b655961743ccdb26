// SPDX-License-Identifier: GPL-2.0-only
/* The heartbeat, and the number of members that limits are divided by. Redis is believed for the
 * members that it names; the number is kept in a file, so that an agent that starts while Redis is
 * away does not take more than its part, also after a reboot.
 */
#include "fleet/agent_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "base/message.h"
#include "base/units.h"

#define STATE_FOLDER "/var/lib/rlctl"
#define NUMBER_MAX   24
#define NUMBER_SIZE  5 /* always as many bytes, written at once: the file is never torn */

/* systemd names the folder for the unit. */
static int file_open(const char *fleet, int flags)
{
	const char *folder = getenv("STATE_DIRECTORY") ?: STATE_FOLDER;
	char path[512];

	if (flags & O_CREAT && mkdir(folder, 0700) && errno != EEXIST)
		return -1;
	snprintf(path, sizeof(path), "%.400s/fleet-%.63s.members", folder, fleet);
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

static uint32_t file_read(const char *fleet)
{
	int fd = file_open(fleet, O_RDONLY);
	char text[NUMBER_SIZE] = "";
	uint64_t members = 0;

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text)) == sizeof(text) && text[NUMBER_SIZE - 1] == '\n') {
		text[NUMBER_SIZE - 1] = '\0';
		if (number_parse(text + strspn(text, " "), 1, FLEET_SIZE_MAX, &members))
			members = 0;
	}
	close(fd);
	return (uint32_t)members;
}

static void file_write(const char *fleet, uint32_t members)
{
	int fd = file_open(fleet, O_WRONLY | O_CREAT);
	char text[NUMBER_SIZE + 1];

	snprintf(text, sizeof(text), "%4u\n", members % (FLEET_SIZE_MAX + 1));
	if (fd < 0 || write(fd, text, NUMBER_SIZE) != NUMBER_SIZE)
		note("fleet %s: cannot keep the number of its members in " STATE_FOLDER
		     ": %s: after a reboot without Redis it is that of --members",
		     fleet, strerror(errno));
	if (fd >= 0)
		close(fd);
}

void agent_members_begin(struct agent *a, const struct rl_fleet_session *former)
{
	const struct fleet_options *o = a->options;
	uint32_t known = 0;

	if (!strncmp(former->fleet, o->fleet, RL_FLEET_NAME))
		known = former->members;
	if (!known || known > FLEET_SIZE_MAX)
		known = file_read(o->fleet);
	if (!known)
		known = o->members ? o->members : 1;
	a->pace.members = o->members && known > o->members ? o->members : known;
	a->session.members = a->pace.members;
}

static uint32_t names_read(const redisReply *reply, struct rl_fleet_session *out)
{
	uint32_t named = 0;

	memset(out->member, 0, sizeof(out->member));
	for (size_t i = 3; i < reply->elements && named < FLEET_SIZE_MAX; i++) {
		const redisReply *name = reply->element[i];

		if (name->type != REDIS_REPLY_STRING || !name->len)
			continue;
		if (named < RL_FLEET_MEMBERS)
			snprintf(out->member[named], RL_FLEET_NAME, "%.63s", name->str);
		named++;
	}
	return named;
}

static void members_read(struct agent *a, const redisReply *reply)
{
	uint32_t said = (uint32_t)reply_number(reply, 1, 1, FLEET_SIZE_MAX);
	uint32_t named = names_read(reply, &a->session), most = a->options->members;
	uint32_t members = said < a->pace.members ? said : a->pace.members;

	/* Those that are not named still count as long as they did before: after an outage of Redis
	 * they hold their part until they are back. */
	if (members < named)
		members = named;
	members = members ? members : 1;
	if (most && members > most) {
		if (!a->too_many)
			fail("%s: fleet %s has %u members by Redis, and --members %u: limits are "
			     "divided by %u; if there are so many, join with a larger --members",
			     a->instance->device, a->options->fleet, members, most, most);
		a->too_many = true;
		members = most;
	}
	if (members != a->members_kept)
		file_write(a->options->fleet, members);
	a->members_kept = members;
	if (members == a->pace.members)
		return;
	a->pace.members = a->session.members = members;
	agent_limits_write(a, fleet_now_ns());
}

/* ---- the heartbeat */

/* The node, or -1. */
static int heartbeat_send(struct agent *a, int shard, bool leave)
{
	const struct fleet_options *o = a->options;
	char keys[3][FLEET_KEY_MAX], claimed[NUMBER_MAX];
	const char *words[10] = {NULL,    NULL,    "3",      keys[0], keys[1],
				 keys[2], o->node, a->token, claimed, leave ? "1" : "0"};
	size_t lengths[10];

	fleet_key_make(keys[0], o->fleet, shard, "members");
	fleet_key_make(keys[1], o->fleet, shard, "outage");
	fleet_key_make(keys[2], o->fleet, shard, "capacity");
	snprintf(claimed, sizeof(claimed), "%u", a->pace.members);
	for (int i = 2; i < 10; i++)
		lengths[i] = strlen(words[i]);
	return cluster_call(&a->cluster, shard, SCRIPT_HEARTBEAT, 10, words, lengths);
}

/* Redis refuses a member that does not agree with those that are there. After an outage that is
 * said at once, since nothing else is. */
static int heartbeat_check(struct agent *a, const redisReply *reply, char error[LINK_ERROR_MAX])
{
	const struct fleet_options *o = a->options;
	int64_t answer = reply_number(reply, 0, -2, INT64_MAX);

	if (answer >= 0)
		return 0;
	if (answer == -1)
		link_error(error,
			   "another member has the name %.63s: choose another one with --node",
			   o->node);
	else
		link_error(error,
			   "the fleet has %d shards for other members, and %d for this one: "
			   "write the same number into the URL of each",
			   (int)reply_number(reply, 1, 1, FLEET_SHARDS_MAX), o->url.shards);
	if (!a->was_shared || a->session.shared || a->refused)
		return -1;
	a->refused = true;
	return fail("%s: fleet %s: %s", a->instance->device, o->fleet, error);
}

int agent_heartbeat(struct agent *a, bool leave, char error[LINK_ERROR_MAX])
{
	int shards = a->options->url.shards, node[FLEET_SHARDS_MAX], ret = 0;
	redisReply *most = NULL; /* the answer with most members */

	for (int i = 0; i < shards && ret >= 0; i++)
		ret = node[i] = heartbeat_send(a, i, leave);
	ret = ret < 0 ? -1 : 0;
	for (int i = 0; i < shards && ret >= 0; i++) {
		redisReply *reply;
		int one = cluster_answer(&a->cluster, i, node[i], &reply, error);

		if (!one)
			one = heartbeat_check(a, reply, error);
		ret = one ? one : ret;
		if (one || (most && reply_number(most, 1, 1, FLEET_SIZE_MAX) >=
					    reply_number(reply, 1, 1, FLEET_SIZE_MAX))) {
			freeReplyObject(reply);
			continue;
		}
		freeReplyObject(most);
		most = reply;
	}
	if (most && !ret && !leave) {
		members_read(a, most);
		snprintf(a->session.server, sizeof(a->session.server), "%.63s",
			 a->cluster.nodes[node[0]].server);
	}
	freeReplyObject(most);
	return ret;
}
