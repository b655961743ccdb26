// SPDX-License-Identifier: GPL-2.0-only
/* The number of members that limits are divided by. Redis is believed for the members that it
 * names; the number is kept in a file, so that an agent that starts while Redis is away does not
 * take more than its part, also after a reboot.
 */
#include "fleet/agent_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "base/units.h"

#define STATE_FOLDER "/var/lib/rlctl"
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

static uint32_t at_most(uint32_t members, uint32_t most)
{
	return most && members > most ? most : members;
}

void agent_members_begin(struct agent *a, const struct rl_fleet_session *former)
{
	const struct fleet_options *o = a->options;
	uint32_t known = 0;

	if (!strncmp(former->fleet, o->fleet, RL_FLEET_NAME))
		known = former->members;
	if (!known || known > FLEET_SIZE_MAX)
		known = file_read(o->fleet);
	if (known)
		a->pace.members = at_most(known, o->members);
	else
		a->pace.members = o->members ? o->members : 1;
	a->session.members = a->pace.members;
}

/* Those that are not named still count as long as they did before: after an outage of Redis they
 * hold their part until they are back. */
static uint32_t members_believed(uint32_t said, uint32_t named, uint32_t before)
{
	uint32_t least = named ? named : 1;
	uint32_t absent = said < before ? said : before;

	return absent > least ? absent : least;
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

void agent_members_read(struct agent *a, const redisReply *reply)
{
	uint32_t said = (uint32_t)reply_number(reply, 1, 1, FLEET_SIZE_MAX);
	uint32_t named = names_read(reply, &a->session), most = a->options->members;
	uint32_t members = members_believed(said, named, a->pace.members);

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
