// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes that a Redis may answer to a fleet's agent: the input is everything that one connection
 * ever sends, to the greeting and to the requests of a tick. No answer exceeds its limits, and
 * every failure has a reason as text. The input is also parsed as a URL.
 *
 * The first byte says how many keys are asked for, and whether there is a password.
 */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cmd.h"
#include "fleet/agent_parts.h"
#include "fleet/url.h"
#include "fuzz.h"
#include "kernel/maps/fleet_maps.h"

#define KEYS      7
#define PASSWORD  0x80
#define PERIOD_NS (10 * NS_PER_SECOND)

static const struct fleet_options options = {.fleet = "fuzz"};
static struct agent agent = {.options = &options,
			     .pace = {.patience_ns = NS_PER_SECOND, .members = 2}};
static struct fleet_url url = {.scheme = FLEET_UNIX, .host_count = 1, .shards = 1};
static int listener;
static sem_t served;           /* a connection is over */
static const uint8_t *answers; /* set before it is made */
static size_t answers_size;

/* ---- in the place of the leases and their maps */

uint64_t fleet_now_ns(void)
{
	return NS_PER_DAY;
}

uint64_t fleet_limit_leased(const struct fleet_limit *limit)
{
	(void)limit;
	return 1000;
}

void fleet_entry_grant(struct fleet_entry *e, const struct fleet_maps *maps,
		       const struct fleet_pace *pace, uint32_t share, uint32_t part,
		       uint32_t second, uint64_t sent_ns)
{
	(void)e, (void)maps, (void)pace, (void)part, (void)second, (void)sent_ns;
	require(share < 1u << 20);
}

void fleet_entry_window(struct fleet_entry *e, const struct fleet_maps *maps,
			const struct fleet_pace *pace, uint64_t lease, uint64_t lasts_ns,
			int64_t start, uint64_t sent_ns)
{
	(void)e, (void)maps, (void)pace, (void)sent_ns;
	require(lease <= INT64_MAX && lasts_ns <= PERIOD_NS && start >= 0);
}

/* ---- the server: one connection after the other, and the same bytes whatever it hears */

static void *serve(void *unused)
{
	static char heard[65536];

	(void)unused;
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		require(fd >= 0);
		require(send(fd, answers, answers_size, MSG_NOSIGNAL) >= 0 || errno == EPIPE ||
			errno == ECONNRESET);
		shutdown(fd, SHUT_WR);
		while (read(fd, heard, sizeof(heard)) > 0)
			;
		close(fd);
		sem_post(&served);
	}
	return NULL;
}

static void place_leave(void)
{
	unlink(url.path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sockaddr_un place = {.sun_family = AF_UNIX};
	pthread_t thread;

	(void)argc, (void)argv;
	snprintf(url.path, sizeof(url.path), "/tmp/fuzz-redis-%d", (int)getpid());
	snprintf(place.sun_path, sizeof(place.sun_path), "%s", url.path);
	atexit(place_leave);
	require(!sem_init(&served, 0, 0));
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	require(!bind(listener, (struct sockaddr *)&place, sizeof(place)) && !listen(listener, 8));
	require(!pthread_create(&thread, NULL, serve, NULL));
	return 0;
}

/* ---- */

static void questions_ask(size_t count)
{
	const struct fleet_limit limit = {.rule.limit.period_ns = PERIOD_NS, .packet = 1};
	struct fleet_entry entries[KEYS] = {0}, *asked[KEYS];
	char wrong[LINK_ERROR_MAX] = "";
	int ret = 0;

	for (size_t i = 0; i < KEYS; i++) {
		entries[i].limit = &limit;
		asked[i] = &entries[i];
	}
	for (int kind = 0; !ret && kind < FLEET_REQUEST_KINDS; kind++) {
		agent.ask[kind] = (struct fleet_requests){.entries = asked, .count = count};
		ret = fleet_requests_send(&agent, kind, wrong);
	}
	require(!ret || strnlen(wrong, sizeof(wrong)) < sizeof(wrong));
}

static void url_check(const char *text)
{
	struct fleet_url parsed = {0};
	const char *wrong = fleet_url_parse(text, &parsed);

	if (wrong)
		require(fuzz_is_plain(wrong));
	else
		require(parsed.host_count <= FLEET_HOSTS_MAX && parsed.shards >= 1 &&
			parsed.shards <= FLEET_SHARDS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char wrong[LINK_ERROR_MAX] = "", *text;
	struct fleet_cluster *cluster = &agent.cluster;

	if (!size || memchr(data, '\0', size)) /* text, so that all of it is looked at below */
		return 0;
	text = fuzz_string(data + 1, size - 1);
	url_check(text);
	free(text);
	answers = data + 1;
	answers_size = size - 1;
	snprintf(url.password, sizeof(url.password), "%s", data[0] & PASSWORD ? "secret" : "");
	cluster->url = &url;
	cluster->connect_ns = cluster->timeout_ns = NS_PER_SECOND;
	if (cluster_open(cluster, wrong)) {
		require(*wrong && strnlen(wrong, sizeof(wrong)) < sizeof(wrong));
	} else {
		questions_ask(data[0] % KEYS + 1);
		cluster_close(cluster);
	}
	while (sem_wait(&served)) /* libFuzzer has a timer */
		;
	return 0;
}
