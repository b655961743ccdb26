/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection to a fleet's Redis, and the scripts that run there. Errors are texts without
 * secrets.
 *
 * Redis is untrusted: reply_number() clamps its numbers to a range, no answer as a whole takes
 * longer than its timeout, whatever arrives meanwhile, or much memory, and a signal to end shortens
 * it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "fleet/scripts.h"
#include "fleet/url.h"

#define LINK_SHA_MAX 41
struct fleet_link {
	redisContext *redis; /* NULL: not connected */
	uint64_t timeout_ns; /* of link_answer */
	char sha[SCRIPT_COUNT][LINK_SHA_MAX];
	char server[FLEET_TEXT_MAX]; /* HOST:PORT or a path */
};

#define LINK_ERROR_MAX 512

/* 0, or -1 with the error. */
int link_open(const struct fleet_url *url, uint64_t timeout_ns, struct fleet_link *out,
	      char error[LINK_ERROR_MAX]);
void link_close(struct fleet_link *link);

/* Timeout of link_answer, for the whole answer, from now on. */
void link_timeout(struct fleet_link *link, uint64_t timeout_ns);

/* Queues a call of a script, sent by the next link_answer. words[0] and [1] are filled in here;
 * then come the number of keys, the keys and the arguments. */
int link_call(struct fleet_link *link, enum fleet_script script, int count, const char **words,
	      size_t *lengths);

/* The next answer, an array; the caller frees it. NULL with the error: close the link then. */
redisReply *link_answer(struct fleet_link *link, char error[LINK_ERROR_MAX]);

/* Element i of an array, clamped to the range; `least` if it is not a number. */
int64_t reply_number(const redisReply *reply, size_t i, int64_t least, int64_t most);
