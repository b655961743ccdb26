// SPDX-License-Identifier: GPL-2.0-only
/* rlctl exporter: serves the document of prometheus.c over HTTP. One thread serves a bounded number
 * of clients, each with one request and a bounded time; further connections wait in the backlog.
 * One document answers all scrapes of a second.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/state/lazy_microhttpd.h"

#include "base/clock.h"
#include "base/privilege.h"
#include "cli/cmd.h"
#include "watch/metrics/prometheus.h"

#define LISTEN_DEFAULT "127.0.0.1:9754"
#define CLIENTS_MAX    32
#define HEAD_TIME_NS \
	(2 * NS_PER_SECOND) /* for a request: many slow clients hold a scrape up so long */
#define CLIENT_TIME_NS   (10 * NS_PER_SECOND) /* for a request and its answer */
#define DOCUMENT_TIME_NS NS_PER_SECOND
#define REQUEST_MEMORY   ((size_t)16 * 1024) /* for the head of a request */
#define SERVE_PAUSE_MS   1000                /* how often expired clients are closed */

#define TEXT_TYPE        "text/plain; charset=utf-8"

/* A client's connection. */
struct client {
	int fd; /* -1: unused */
	uint64_t since_ns;
	bool asked; /* its request is whole */
};

/* The answer to every scrape until a time; without a response there is none yet. */
struct document {
	unsigned int status;
	struct MHD_Response *response;
	uint64_t until_ns;
};

struct exporter {
	const struct target *target;
	enum scrape_rules rules;
	struct MHD_Daemon *daemon;
	struct document document;
	struct client clients[CLIENTS_MAX];
};

/* ---- the address ---- */

#define HOST_MAX 64

/* HOST:PORT or [HOST]:PORT; `port` points into the text. */
static int address_split(const char *text, char host[HOST_MAX], const char **port)
{
	bool bracketed = *text == '[';
	const char *start = text + bracketed;
	const char *end = bracketed ? strchr(start, ']') : strchr(start, ':');
	const char *colon = end ? end + bracketed : NULL;
	uint64_t number;

	if (!colon || *colon != ':' || end == start || end - start >= HOST_MAX ||
	    number_parse(colon + 1, 0, UINT16_MAX, &number))
		return -EINVAL;
	memcpy(host, start, end - start);
	host[end - start] = '\0';
	*port = colon + 1;
	return bracketed == !!strchr(host, ':') ? 0 : -EINVAL;
}

/* The caller frees it; NULL on a usage error, which it reports. */
static struct addrinfo *address_parse(const char *text)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *address = NULL;
	char host[HOST_MAX];
	const char *port;

	if (address_split(text, host, &port) || getaddrinfo(host, port, &hints, &address))
		fail("invalid --listen '%s': use a numeric ADDRESS:PORT or [ADDRESS]:PORT, such as "
		     "%s or "
		     "[::1]:9754; 0.0.0.0 and [::] listen on all addresses",
		     text, LISTEN_DEFAULT);
	return address;
}

static const char *listen_remedy(int error)
{
	switch (error) {
	case EADDRINUSE:
		return ": `ss -ltnp` shows the listening process; choose another port with "
		       "--listen";
	case EADDRNOTAVAIL:
		return ": this machine does not have the address; `ip address` lists its addresses";
	case EACCES:
		return ": ports below 1024 require CAP_NET_BIND_SERVICE: run it as root (sudo)";
	default:
		return "";
	}
}

/* The socket, or -1; reports. Prints the URL that it serves. */
static int listen_open(const char *text, const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);
	char host[NI_MAXHOST], port[NI_MAXSERV];
	int on = 1, off = 0;

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (address->ai_family == AF_INET6) /* [::] includes IPv4 */
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		if (!bind(fd, address->ai_addr, address->ai_addrlen) && !listen(fd, SOMAXCONN)) {
			if (!getsockname(fd, (struct sockaddr *)&own, &size) &&
			    !getnameinfo((struct sockaddr *)&own, size, host, sizeof(host), port,
					 sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
				note(own.ss_family == AF_INET6 ? "serving http://[%s]:%s/metrics"
							       : "serving http://%s:%s/metrics",
				     host, port);
			return fd;
		}
	}
	fail("--listen %s: %s%s", text, strerror(errno), listen_remedy(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- answers ---- */

/* Adds headers; returns the response, or NULL. A connection serves one request. */
static struct MHD_Response *response_head(struct MHD_Response *response, const char *type)
{
	if (response) {
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	}
	return response;
}

static struct MHD_Response *text_make(const char *text)
{
	return response_head(
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT),
		TEXT_TYPE);
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
				   const char *text)
{
	struct MHD_Response *response = text_make(text);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* A child process reads the instances: descriptors that a library leaks (libxdp leaks those of
 * programs) are closed at its exit, and running out of memory fails only this answer. The
 * document's descriptor, or -1; reports. */
static int document_make(const struct exporter *exporter)
{
	int fd = memfd_create("metrics", MFD_CLOEXEC), status = 0;
	pid_t child = fd < 0 ? -1 : fork();
	struct scrape scrape;
	FILE *file;

	if (!child) {
		file = fdopen(fd, "w");
		if (!file || scrape_read(exporter->target, exporter->rules, &scrape))
			_exit(EXIT_FAILURE);
		scrape_print(file, &scrape);
		_exit(fclose(file) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	if (child < 0)
		fail("scrape failed: %s", strerror(errno));
	else if (waitpid(child, &status, 0) == child && !status)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void document_clear(struct document *document)
{
	if (document->response)
		MHD_destroy_response(
			document->response); /* freed after the last answer that uses it */
	*document = (struct document){0};
}

/* Valid for a second, or for as long as reading took if that is longer: reading takes at most half
 * of the time, however many clients scrape. */
static void document_renew(struct exporter *exporter)
{
	struct document *document = &exporter->document;
	uint64_t start = clock_ns(CLOCK_MONOTONIC), spent;
	struct stat file;
	int fd;

	if (document->response && start < document->until_ns)
		return;
	document_clear(document);
	fd = document_make(exporter);
	if (fd >= 0 && !fstat(fd, &file)) {
		document->status = MHD_HTTP_OK;
		document->response = response_head(MHD_create_response_from_fd(file.st_size, fd),
						   PROMETHEUS_TYPE);
	} else {
		document->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		document->response = text_make("the instances cannot be read; the exporter's "
					       "standard error has the cause\n");
	}
	spent = clock_ns(CLOCK_MONOTONIC) - start;
	document->until_ns = start + (2 * spent > DOCUMENT_TIME_NS ? 2 * spent : DOCUMENT_TIME_NS);
	/* The time of reading does not count against the clients. */
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		exporter->clients[i].since_ns += spent;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct exporter *exporter = arg;
	const struct document *document = &exporter->document;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = info ? info->socket_context : NULL;
	bool root = !strcmp(url, "/");

	if (client)
		client->asked = true;
	(void)version, (void)upload, (void)upload_size, (void)state;
	if (!root && strcmp(url, "/metrics") != 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND,
				   "not found; the metrics are at /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "method not allowed; use GET or HEAD\n");
	if (root)
		return answer_text(connection, MHD_HTTP_OK,
				   "rlctl exporter; the metrics are at /metrics\n");
	document_renew(exporter);
	if (!document->response)
		return MHD_NO;
	return MHD_queue_response(connection, document->status, document->response);
}

/* ---- clients ---- */

static void client_notice(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct client **client = (struct client **)context,
		      *clients = ((struct exporter *)arg)->clients;

	if (code != MHD_CONNECTION_NOTIFY_STARTED) {
		if (*client)
			(*client)->fd = -1;
		return;
	}
	for (size_t i = 0; info && i < CLIENTS_MAX; i++) {
		if (clients[i].fd >= 0)
			continue;
		clients[i] = (struct client){info->connect_fd, clock_ns(CLOCK_MONOTONIC), false};
		*client = &clients[i];
		return;
	}
}

/* By the total time of a connection: a client that transfers a byte now and then is never idle. */
static void clients_expire(struct exporter *exporter)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		const struct client *client = &exporter->clients[i];
		uint64_t most_ns = client->asked ? CLIENT_TIME_NS : HEAD_TIME_NS;

		if (client->fd >= 0 && now > client->since_ns + most_ns)
			shutdown(client->fd, SHUT_RDWR);
	}
}

/* ---- serving ---- */

static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

static void serve(struct exporter *exporter, const sigset_t *waiting)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(exporter->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd poll = {.fd = info->epoll_fd, .events = POLLIN};

	while (!ended) {
		MHD_UNSIGNED_LONG_LONG ms;
		struct timespec rest;

		if (MHD_get_timeout(exporter->daemon, &ms) != MHD_YES || ms > SERVE_PAUSE_MS)
			ms = SERVE_PAUSE_MS;
		rest = (struct timespec){ms / 1000, (long)(ms % 1000 * NS_PER_MS)};
		if (ppoll(&poll, 1, &rest, waiting) >= 0)
			MHD_run(exporter->daemon);
		clients_expire(exporter);
	}
}

/* Takes ownership of the socket. */
static int daemon_start(struct exporter *exporter, int fd)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		exporter->clients[i].fd = -1;
	exporter->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, answer, exporter, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CLIENTS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_MEMORY, MHD_OPTION_NOTIFY_CONNECTION,
		client_notice, exporter, MHD_OPTION_END);
	if (!exporter->daemon)
		return fail("starting the HTTP server failed: %s", strerror(errno));
	return 0;
}

int cmd_exporter(const struct command *command)
{
	const char *text = option_given(command, OPTION_LISTEN) ? command->arguments[OPTION_LISTEN]
								: LISTEN_DEFAULT;
	struct exporter exporter = {.target = &command->target,
				    .rules = command->choices[OPTION_RULES]};
	struct addrinfo *address = address_parse(text);
	struct scrape scrape;
	const struct sigaction action = {.sa_handler = end};
	sigset_t signals, waiting;
	int fd = -1;

	if (!address)
		return EXIT_USAGE;
	/* Reports missing permissions at the start instead of at the first scrape. */
	if (!microhttpd_load() && !scrape_read(&command->target, SCRAPE_RULES_NONE, &scrape)) {
		scrape_clear(&scrape);
		fd = listen_open(text, address);
	}
	freeaddrinfo(address);
	if (fd < 0)
		return -1;
	if (privileges_drop()) {
		close(fd);
		return -1;
	}
	/* Signals are delivered only during the wait, so that every answer is complete. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, &waiting);
	sigdelset(&waiting, SIGINT);
	sigdelset(&waiting, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (daemon_start(&exporter, fd))
		return -1;
	serve(&exporter, &waiting);
	MHD_stop_daemon(exporter.daemon);
	document_clear(&exporter.document);
	return 0;
}
