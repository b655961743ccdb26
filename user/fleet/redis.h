/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection to a fleet's Redis, and the scripts that account there. Nothing waits longer than
 * the time limit that it is given. What went wrong is a text without secrets.
 *
 * All of Redis' numbers are hostile: reply_number() holds them to a range.
 */
#ifndef RLCTL_FLEET_REDIS_H
#define RLCTL_FLEET_REDIS_H

#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "url.h"

/* What the scripts do: see scripts.c. */
enum fleet_script { SCRIPT_BEAT, SCRIPT_RATE, SCRIPT_WINDOW, SCRIPT_COUNT };
extern const char *const fleet_scripts[SCRIPT_COUNT];

#define LINK_SHA_MAX 41
struct fleet_link {
	redisContext *redis; /* NULL: not connected */
	char sha[SCRIPT_COUNT][LINK_SHA_MAX];
	char server[FLEET_TEXT_MAX]; /* HOST:PORT or a path */
};

#define LINK_WRONG_MAX 512

/* 0, or -1 with the reason. */
int link_open(const struct fleet_url *url, uint64_t timeout_ns, struct fleet_link *out,
	      char wrong[LINK_WRONG_MAX]);
void link_close(struct fleet_link *link);

/* How long link_answer waits from now on. */
void link_timeout(struct fleet_link *link, uint64_t timeout_ns);

/* A call of a script; it leaves with the next link_answer. Words begin behind EVALSHA and the sha:
 * the number of keys, the keys, the arguments. The first two of `words` are filled in here. */
int link_call(struct fleet_link *link, enum fleet_script script, int count, const char **words,
	      size_t *lengths);

/* The next answer, an array; to be freed. NULL with the reason: the link is of no use any more. */
redisReply *link_answer(struct fleet_link *link, char wrong[LINK_WRONG_MAX]);

/* Element i of an array, brought into the range; `least` where it is no number. */
int64_t reply_number(const redisReply *reply, size_t i, int64_t least, int64_t most);

#endif
