// SPDX-License-Identifier: GPL-2.0-only
/* Text to fleet_url. */

#include "fleet/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define REDIS_PORT    6379
#define SENTINEL_PORT 26379
#define DB_MAX        65535

static const char form[] =
	"write redis://HOST[:PORT][/DB], unix:///PATH, "
	"redis+sentinel://HOST[:PORT],.../MASTER or "
	"redis+cluster://HOST[:PORT],.../SHARDS, or valkey in the place of redis";

static bool text_get(char out[FLEET_TEXT_MAX], const char *from, size_t len)
{
	if (len >= FLEET_TEXT_MAX)
		return false;
	memcpy(out, from, len);
	out[len] = '\0';
	return true;
}

/* %XX, in place. */
static bool percent_decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		if (strspn(text + 1, "0123456789abcdefABCDEF") < 2)
			return false;
		*to++ = (char)strtoul((char[]){text[1], text[2], '\0'}, NULL, 16);
		text += 2;
	}
	*to = '\0';
	return true;
}

static const char *login_parse(const char **text, struct fleet_url *out)
{
	const char *end = strrchr(*text, '@'), *colon = strchr(*text, ':');

	if (!end)
		return NULL;
	if (!colon || colon > end)
		return "missing password before @: write USER:PASSWORD@ or :PASSWORD@";
	if (!text_get(out->user, *text, colon - *text) ||
	    !text_get(out->password, colon + 1, end - colon - 1))
		return "user or password too long: at most 255 bytes";
	if (!percent_decode(out->user) || !percent_decode(out->password))
		return "invalid % in user or password: write %25";
	*text = end + 1;
	return NULL;
}

static const char *host_parse(const char *text, size_t len, uint16_t usual, struct fleet_url *out)
{
	struct fleet_host *host = &out->hosts[out->host_count];
	char whole[FLEET_TEXT_MAX], *name = whole, *end, *colon;
	uint64_t port = usual;

	if (out->host_count == FLEET_HOSTS_MAX)
		return "too many hosts: name at most 8";
	if (!len || !text_get(whole, text, len))
		return form;
	end = *name == '[' ? strchr(name, ']') : NULL;
	if (*name == '[' && !end)
		return "unclosed [: write an IPv6 address as [ADDRESS]";
	colon = strchr(end ? end : name, ':');
	if (colon && number_parse(colon + 1, 1, 65535, &port))
		return "invalid port: write a number from 1 to 65535";
	if (colon)
		*colon = '\0';
	if (end) {
		*end = '\0';
		name++;
	}
	if (!*name)
		return form;
	snprintf(host->name, sizeof(host->name), "%s", name);
	host->port = (uint16_t)port;
	out->host_count++;
	return NULL;
}

static const char *db_parse(const char *text, struct fleet_url *out)
{
	uint64_t db = 0;

	if (*text && number_parse(text, 0, DB_MAX, &db))
		return "invalid database: write a number from 0 to 65535, for example "
		       "redis://HOST/0";
	out->db = (uint32_t)db;
	return NULL;
}

static const char *path_parse(const char *text, struct fleet_url *out)
{
	size_t len = strcspn(text, "?");

	if (*text != '/' || !text_get(out->path, text, len))
		return "invalid socket path: write unix:///PATH";
	if (text[len] && strncmp(text + len, "?db=", 4))
		return "unknown option after the path: write ?db=N";
	return text[len] ? db_parse(text + len + 4, out) : NULL;
}

static const char *hosts_parse(const char *text, struct fleet_url *out)
{
	uint16_t usual = out->scheme == FLEET_SENTINEL ? SENTINEL_PORT : REDIS_PORT;
	size_t len = strcspn(text, "/");
	const char *rest = text + len + (text[len] == '/'), *error = NULL;
	uint64_t shards = 1;

	for (const char *end = text + len; !error && text <= end; text++) {
		size_t one = strcspn(text, ",/");

		error = host_parse(text, one, usual, out);
		text += one;
	}
	if (error)
		return error;
	if (fleet_url_is_cluster(out)) {
		if (*rest && number_parse(rest, 1, FLEET_SHARDS_MAX, &shards))
			return "invalid number of shards: write a number from 1 to 64, the same on "
			       "all members, for example redis+cluster://HOST/16";
		out->shards = (int)shards;
		return NULL;
	}
	if (out->scheme != FLEET_SENTINEL)
		return out->host_count > 1 ? "more than one host: name one, or use "
					     "redis+sentinel:// or redis+cluster://"
					   : db_parse(rest, out);
	len = strcspn(rest, "/");
	if (!len || !text_get(out->master, rest, len))
		return "missing name of the master: write /MASTER after the sentinels";
	return db_parse(rest + len + (rest[len] == '/'), out);
}

const char *fleet_url_parse(const char *text, struct fleet_url *out)
{
	static const struct {
		const char *prefix;
		enum fleet_scheme scheme;
	} schemes[] = {{"redis://", FLEET_TCP},
		       {"rediss://", FLEET_TLS},
		       {"unix://", FLEET_UNIX},
		       {"redis+sentinel://", FLEET_SENTINEL},
		       {"redis+cluster://", FLEET_CLUSTER},
		       {"rediss+cluster://", FLEET_CLUSTER_TLS}};
	bool valkey = !strncmp(text, "valkey", 6);
	struct fleet_url url = {.shards = 1};
	const char *error = form;

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		const char *prefix = schemes[i].prefix, *word = text;

		if (valkey && !strncmp(prefix, "redis", 5)) {
			prefix += strlen("redis");
			word += strlen("valkey");
		}
		if (strncmp(word, prefix, strlen(prefix)))
			continue;
		text = word + strlen(prefix);
		url.scheme = schemes[i].scheme;
		error = login_parse(&text, &url);
		if (!error)
			error = url.scheme == FLEET_UNIX ? path_parse(text, &url)
							 : hosts_parse(text, &url);
		break;
	}
	if (!error)
		*out = url;
	return error;
}
