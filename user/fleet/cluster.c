// SPDX-License-Identifier: GPL-2.0-only
/* The nodes of a Redis Cluster that a fleet's shards are on, found by following redirections. */

#include "fleet/link.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/units.h"

int cluster_open(struct fleet_cluster *c, char error[LINK_ERROR_MAX])
{
	bool cluster = fleet_url_is_cluster(c->url);
	int hosts = cluster ? c->url->host_count : 1, ret = -1;
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + c->connect_ns;

	memset(c->node, 0, sizeof(c->node));
	memset(c->ask, 0, sizeof(c->ask));
	for (int i = 0; ret && i < hosts && clock_ns(CLOCK_MONOTONIC) < end_ns; i++)
		ret = link_open(c->url, cluster ? &c->url->hosts[c->turn++ % hosts] : NULL,
				c->connect_ns, &c->nodes[0], error);
	if (ret)
		return -1;
	c->nodes[0].timeout_ns = c->timeout_ns;
	c->count = 1;
	return 0;
}

void cluster_close(struct fleet_cluster *c)
{
	while (c->count)
		link_close(&c->nodes[--c->count]);
}

/* ---- redirections */

/* From "MOVED SLOT HOST:PORT" or "ASK ...". The host may be missing: that of the node that
 * answered. */
static int target_read(const char *text, struct fleet_host *inout)
{
	const char *host = strrchr(text, ' '), *colon = host ? strrchr(host, ':') : NULL;
	uint64_t port;
	size_t len;

	if (!colon || number_parse(colon + 1, 1, 65535, &port))
		return -1;
	len = colon - ++host;
	if (len >= sizeof(inout->name) || *host == '?')
		return -1;
	if (len)
		snprintf(inout->name, sizeof(inout->name), "%.*s", (int)len, host);
	inout->port = (uint16_t)port;
	return 0;
}

/* The node of this address, connected; or -1 with the error. */
static int node_find(struct fleet_cluster *c, const struct fleet_host *host,
		     char error[LINK_ERROR_MAX])
{
	for (int i = 0; i < c->count; i++)
		if (c->nodes[i].host.port == host->port &&
		    !strcmp(c->nodes[i].host.name, host->name))
			return i;
	if (c->count == FLEET_NODES_MAX)
		return link_error(error, "redirected to more than %d nodes", FLEET_NODES_MAX);
	if (link_open(c->url, host, c->connect_ns, &c->nodes[c->count], error))
		return -1;
	c->nodes[c->count].timeout_ns = c->timeout_ns;
	return c->count++;
}

/* The outcome of cluster_answer for an error from Redis. */
static int error_follow(struct fleet_cluster *c, int shard, int node, const char *text,
			char error[LINK_ERROR_MAX])
{
	bool moved = !strncmp(text, "MOVED ", 6), ask = !strncmp(text, "ASK ", 4);
	struct fleet_host host = c->nodes[node].host;

	link_error(error, "%s: shard %d: %.200s", c->nodes[node].server, shard, text);
	if (!strncmp(text, "TRYAGAIN", 8)) /* its keys are on two nodes meanwhile */
		return 1;
	if ((!moved && !ask) || target_read(text, &host))
		return -1;
	node = node_find(c, &host, error);
	if (node < 0)
		return -1;
	link_error(error, "shard %d has no node in a circle of redirections, the last to %s", shard,
		   c->nodes[node].server);
	if (moved)
		c->node[shard] = node;
	else
		c->ask[shard] = node + 1;
	return 1;
}

/* ---- calls */

int cluster_node(const struct fleet_cluster *c, int shard)
{
	return c->ask[shard] ? c->ask[shard] - 1 : c->node[shard];
}

int cluster_call(struct fleet_cluster *c, int shard, enum fleet_script script, int count,
		 const char **words, size_t *lengths)
{
	int node = cluster_node(c, shard);

	/* The call may be for a slot that is about to come to this node. */
	if (c->ask[shard] && redisAppendCommand(c->nodes[node].redis, "ASKING"))
		return -1;
	c->ask[shard] = 0;
	return link_call(&c->nodes[node], script, count, words, lengths) ? -1 : node;
}

int cluster_answer(struct fleet_cluster *c, int shard, int node, redisReply **out,
		   char error[LINK_ERROR_MAX])
{
	redisReply *reply = link_answer(&c->nodes[node], error);
	int ret;

	*out = reply;
	if (!reply)
		return -1;
	if (reply->type != REDIS_REPLY_ERROR)
		return 0;
	*out = NULL;
	ret = error_follow(c, shard, node, reply->str, error);
	freeReplyObject(reply);
	return ret;
}
