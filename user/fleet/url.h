/* SPDX-License-Identifier: GPL-2.0-only */
/* The URL of a fleet's Redis. Pure: text to struct.
 *   redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]      rediss://… (TLS)
 *   valkey:// and valkeys:// are the same: Valkey answers as Redis does.
 *   unix://[[USER]:PASSWORD@]/PATH[?db=DB]
 *   redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT],…/MASTER[/DB]
 *   redis+cluster://[[USER]:PASSWORD@]HOST[:PORT],…[/SHARDS]    rediss+cluster://… (TLS)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FLEET_TEXT_MAX   256
#define FLEET_HOSTS_MAX  8
#define FLEET_SHARDS_MAX 64

enum fleet_scheme {
	FLEET_TCP,
	FLEET_TLS,
	FLEET_UNIX,
	FLEET_SENTINEL,
	FLEET_CLUSTER,
	FLEET_CLUSTER_TLS
};

struct fleet_host {
	char name[FLEET_TEXT_MAX];
	uint16_t port;
};

struct fleet_url {
	enum fleet_scheme scheme;
	char user[FLEET_TEXT_MAX]; /* "": none */
	char password[FLEET_TEXT_MAX];
	struct fleet_host hosts[FLEET_HOSTS_MAX];
	int host_count;
	char path[FLEET_TEXT_MAX]; /* of the Unix socket */
	char master[FLEET_TEXT_MAX];
	uint32_t db;
	int shards; /* parts that the fleet's keys are split into, at least 1 */
};

static inline bool fleet_url_is_cluster(const struct fleet_url *url)
{
	return url->scheme == FLEET_CLUSTER || url->scheme == FLEET_CLUSTER_TLS;
}

static inline bool fleet_url_is_tls(const struct fleet_url *url)
{
	return url->scheme == FLEET_TLS || url->scheme == FLEET_CLUSTER_TLS;
}

/* NULL, or the error and what to write. The text never contains the password. */
const char *fleet_url_parse(const char *text, struct fleet_url *out);
