// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes that a client may send to the exporter: the daemon as cmd_exporter.c starts it, on a
 * socket, and the input as the bytes of one connection. However the connection ends, there is at
 * most one answer, the answer is text, the client's slot is free again and no descriptor leaks.
 *
 * The first byte sets the size of the pieces in which the rest is sent, and whether the client
 * closes after it; a client that neither finishes nor closes has to be dropped by the timeout.
 */

#include <sys/un.h>

#include "base/units.h"
#include "cli/state/cmd_exporter.c" /* NOLINT(bugprone-suspicious-include): its functions are static */
#include "fuzz.h"
#include "kernel/instance/instance.h"
#include "watch/metrics/prometheus.h"

#define CLOSES     0x80
#define ANSWER_MAX 65536
#define TURNS      8 /* of the daemon, for what is at hand to be done */

static struct exporter exporter;
static struct sockaddr_un place;
static socklen_t place_size = sizeof(place);
static uint64_t now_ns = NS_PER_DAY;

/* ---- in the place of the kernel and its instances */

uint64_t clock_ns(int clock)
{
	(void)clock;
	return now_ns;
}

int scrape_read(const struct target *target, enum scrape_rules rules, struct scrape *out)
{
	(void)target, (void)rules;
	memset(out, 0, sizeof(*out));
	return 0;
}

void scrape_clear(struct scrape *scrape)
{
	(void)scrape;
}

void scrape_print(FILE *file, const struct scrape *scrape)
{
	fprintf(file, "rlctl_scrape_errors %zu\n", scrape->errors);
}

/* ---- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)argc, (void)argv;
	fuzz_quiet();
	signal(SIGPIPE, SIG_IGN);
	place.sun_family = AF_UNIX; /* no name: the kernel finds one */
	require(!bind(fd, (struct sockaddr *)&place, sizeof(place.sun_family)));
	require(!getsockname(fd, (struct sockaddr *)&place, &place_size));
	require(!microhttpd_load());
	require(!listen(fd, 4) && !daemon_start(&exporter, fd));
	return 0;
}

static void turn(void)
{
	for (int i = 0; i < TURNS; i++)
		MHD_run(exporter.daemon);
	clients_expire(&exporter);
}

/* False when the other side has closed. */
static bool take(int fd, char *answer, size_t *len)
{
	ssize_t n;

	do {
		n = read(fd, answer + *len, ANSWER_MAX - *len);
		*len += n > 0 ? (size_t)n : 0;
		require(*len < ANSWER_MAX);
	} while (n > 0);
	return n < 0 && errno == EAGAIN;
}

/* Stores the exporter's answer in `answer`. */
static void converse(const uint8_t *data, size_t size, char *answer, size_t *len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	size_t piece = data[0] & ~CLOSES ? data[0] & ~CLOSES : size;
	bool open = true;

	require(!connect(fd, (struct sockaddr *)&place, place_size));
	turn();
	for (size_t at = 1; open && at < size; at += piece) {
		size_t rest = size - at;

		open = send(fd, data + at, rest < piece ? rest : piece, MSG_NOSIGNAL) > 0;
		turn();
		open = open && take(fd, answer, len);
	}
	if (open && data[0] & CLOSES)
		shutdown(fd, SHUT_WR);
	turn();
	if (take(fd, answer, len)) {
		now_ns += CLIENT_TIME_NS + 1;
		turn();
		turn();
		take(fd, answer, len);
	}
	close(fd);
	turn();
}

static bool has_status(const char *answer, const char *const *statuses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(answer + strlen("HTTP/1.x "), statuses[i], 3))
			return true;
	return false;
}

/* When libmicrohttpd 0.9.75 refuses a request by itself, it sends the head twice in some cases. */
static void answer_check(const char *answer, size_t len)
{
	static const char *const ours[] = {"200", "404", "405"};
	static const char *const others[] = {"400", "411", "413", "414",
					     "417", "431", "501", "505"};
	bool is_ours;

	require(strlen(answer) == len);
	for (const char *c = answer; *c; c++)
		require(*c == '\r' || *c == '\n' || (*c >= ' ' && *c <= '~'));
	if (!strncmp(answer, "HTTP/1.1 100 ", 13))
		answer = strstr(answer, "\r\n\r\n") + 4;
	if (!*answer)
		return;
	is_ours = has_status(answer, ours, ARRAY_COUNT(ours));
	require(!strncmp(answer, "HTTP/1.", 7));
	require(is_ours || has_status(answer, others, ARRAY_COUNT(others)));
	require(strstr(answer, "\r\nConnection: close\r\n"));
	require(!is_ours || !strstr(answer + 1, "HTTP/1."));
}

/* --listen, which is text from outside as well. */
static void address_check(const char *text)
{
	struct addrinfo *address = address_parse(text);

	if (address)
		freeaddrinfo(address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char answer[ANSWER_MAX + 1];
	int free_fd = dup(0);
	size_t len = 0;
	char *text;

	if (!size)
		return close(free_fd);
	text = fuzz_string(data + 1, size - 1);
	address_check(text);
	free(text);
	close(free_fd);
	converse(data, size, answer, &len);
	answer[len] = '\0';
	answer_check(answer, len);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		require(exporter.clients[i].fd < 0);
	document_clear(&exporter.document); /* which is open from one scrape to the next */
	require(dup(0) == free_fd && !close(free_fd));
	return 0;
}
