// SPDX-License-Identifier: GPL-2.0-only
/* URLs of a fleet's Redis: accepted forms, and the messages for refused ones. */
#include <stdint.h>
#include <string.h>

#include "cli/cmd.h" /* before cmocka.h, which has a macro fail() */
#include "cases.h"
#include "fleet/url.h"

struct row {
	const char *name, *text;
	struct fleet_url url;
};

static const struct row good[] = {
	{"host", "redis://h", {.hosts = {{"h", 6379}}, .host_count = 1}},
	{"port and database", "redis://h:1/15", {.hosts = {{"h", 1}}, .host_count = 1, .db = 15}},
	{"slash alone", "redis://h/", {.hosts = {{"h", 6379}}, .host_count = 1}},
	{"IPv6", "redis://[::1]:7", {.hosts = {{"::1", 7}}, .host_count = 1}},
	{"IPv6 without port", "redis://[fd00::1]", {.hosts = {{"fd00::1", 6379}}, .host_count = 1}},
	{"password", "redis://:p@h", {.password = "p", .hosts = {{"h", 6379}}, .host_count = 1}},
	{"user, password with signs",
	 "redis://u:a%40b:%2f@h",
	 {.user = "u", .password = "a@b:/", .hosts = {{"h", 6379}}, .host_count = 1}},
	{"TLS", "rediss://h", {.scheme = FLEET_TLS, .hosts = {{"h", 6379}}, .host_count = 1}},
	{"Valkey",
	 "valkey://u:p@h:1/2",
	 {.user = "u", .password = "p", .hosts = {{"h", 1}}, .host_count = 1, .db = 2}},
	{"Valkey, TLS",
	 "valkeys://h",
	 {.scheme = FLEET_TLS, .hosts = {{"h", 6379}}, .host_count = 1}},
	{"socket", "unix:///run/r.sock", {.scheme = FLEET_UNIX, .path = "/run/r.sock"}},
	{"socket, password and database",
	 "unix://:p@/r?db=3",
	 {.scheme = FLEET_UNIX, .password = "p", .path = "/r", .db = 3}},
	{"sentinels",
	 "redis+sentinel://a,b:2,[::3]/m/4",
	 {.scheme = FLEET_SENTINEL,
	  .hosts = {{"a", 26379}, {"b", 2}, {"::3", 26379}},
	  .host_count = 3,
	  .master = "m",
	  .db = 4}},
	{"cluster",
	 "redis+cluster://:p@a,[::3]:7/16",
	 {.scheme = FLEET_CLUSTER,
	  .password = "p",
	  .hosts = {{"a", 6379}, {"::3", 7}},
	  .host_count = 2,
	  .shards = 16}},
	{"cluster with TLS, one shard",
	 "rediss+cluster://a/",
	 {.scheme = FLEET_CLUSTER_TLS, .hosts = {{"a", 6379}}, .host_count = 1}},
	{"Valkey's cluster",
	 "valkey+cluster://a/3",
	 {.scheme = FLEET_CLUSTER, .hosts = {{"a", 6379}}, .host_count = 1, .shards = 3}},
};

static const struct {
	const char *name, *text, *says;
} bad[] = {
	{"nothing", "", "redis://HOST"},
	{"another scheme", "http://h", "redis://HOST"},
	{"no host", "redis://", "redis://HOST"},
	{"Valkey without a host", "valkey://", "or valkey"},
	{"almost Valkey", "valkeyss://h", "or valkey"},
	{"port only", "redis://:1", "redis://HOST"},
	{"port 0", "redis://h:0", "1 to 65535"},
	{"port too large", "redis://h:65536", "1 to 65535"},
	{"port with rest", "redis://h:1x", "1 to 65535"},
	{"database is no number", "redis://h/a", "a number"},
	{"several hosts", "redis://a,b", "redis+cluster://"},
	{"no shards", "redis+cluster://a/0", "1 to 64"},
	{"too many shards", "redis+cluster://a/65", "1 to 64"},
	{"shards are no number", "redis+cluster://a/x", "the same on all members"},
	{"cluster of no host", "redis+cluster:///8", "redis://HOST"},
	{"sentinel without master", "redis+sentinel://a", "MASTER"},
	{"sentinel with an empty host", "redis+sentinel://a,,b/m", "redis://HOST"},
	{"nine sentinels", "redis+sentinel://a,a,a,a,a,a,a,a,a/m", "at most 8"},
	{"socket without path", "unix://r", "unix:///PATH"},
	{"socket with another option", "unix:///r?x=1", "?db=N"},
	{"user alone", "redis://u@h", ":PASSWORD"},
	{"percent", "redis://:a%4@h", "%25"},
	{"open bracket", "redis://[::1", "[ADDRESS]"},
};

TEST(good_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct fleet_url url;
		const char *wrong = fleet_url_parse(good[i].text, &url);

		if (wrong)
			fail_msg("%s: %s", good[i].name, wrong);
		if (memcmp(&url.hosts, &good[i].url.hosts, sizeof(url.hosts)) != 0 ||
		    url.host_count != good[i].url.host_count || url.scheme != good[i].url.scheme ||
		    url.shards != (good[i].url.shards ?: 1) || url.db != good[i].url.db ||
		    strcmp(url.user, good[i].url.user) || strcmp(url.path, good[i].url.path) ||
		    strcmp(url.password, good[i].url.password) ||
		    strcmp(url.master, good[i].url.master))
			fail_msg("%s: something else came out", good[i].name);
	}
}

TEST(bad_test)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fleet_url url = {.db = 77};
		const char *wrong = fleet_url_parse(bad[i].text, &url);

		if (!wrong || !strstr(wrong, bad[i].says) || url.db != 77)
			fail_msg("%s: %s", bad[i].name, wrong ? wrong : "accepted");
	}
}
