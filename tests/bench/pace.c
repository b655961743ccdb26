// SPDX-License-Identifier: GPL-2.0-only
/* Measures the effect of a queue on packets: sends them all at once, or as one TCP stream, and
 * reports how evenly they arrive. For guests that have no other tool.
 *
 * pace send ADDRESS COUNT SIZE: COUNT datagrams of SIZE bytes to port 9009.
 *
 * pace listen COUNT: their times of arrival, as JSON, once COUNT came or none for 1 s.
 *
 * pace stream ADDRESS SECONDS: as much as TCP accepts, to port 9009.
 *
 * pace drain: one such stream: bytes and seconds, as JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PORT      9009
#define COUNT_MAX 100000
#define STREAM    65536

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t nanoseconds(const struct timespec *t)
{
	return t->tv_sec * 1000000000ull + t->tv_nsec;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return nanoseconds(&now);
}

/* Connects to ADDRESS, or binds to any if there is none. */
static int open_socket(int type, const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address && inet_pton(AF_INET, address, &to.sin_addr) != 1) {
		fprintf(stderr, "%s: no IPv4 address\n", address);
		exit(2);
	}
	if (address ? connect(fd, (void *)&to, sizeof(to)) : bind(fd, (void *)&to, sizeof(to)))
		die(address ? "connect" : "bind");
	return fd;
}

/* ---- datagrams */

static int send_all(const char *address, long count, size_t size)
{
	int fd = open_socket(SOCK_DGRAM, address), bytes = 16 << 20;
	char *data = calloc(1, size);

	if (!data)
		die("calloc");
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		die("SO_SNDBUFFORCE");
	while (count--)
		if (send(fd, data, size, 0) < 0)
			die("send");
	free(data);
	return 0;
}

/* Time at which the kernel received the next datagram; false: none for a second. */
static bool arrival_take(int fd, uint64_t *at_ns)
{
	char data[2048], control[128];
	struct iovec vector = {data, sizeof(data)};
	struct msghdr message = {.msg_iov = &vector,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct timespec stamp;

	if (recvmsg(fd, &message, 0) < 0) {
		if (errno == EAGAIN)
			return false;
		die("recvmsg");
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
		*at_ns = nanoseconds(&stamp);
	}
	return true;
}

static int by_length(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Gaps by rank: 99 of 100 lie between p1 and p99, except for one. */
static void gaps_print(uint64_t *at_ns, long count)
{
	uint64_t span = at_ns[count - 1] - at_ns[0];
	long gaps = count - 1;

	for (long i = 0; i < gaps; i++)
		at_ns[i] = at_ns[i + 1] - at_ns[i];
	qsort(at_ns, gaps, sizeof(*at_ns), by_length);
	printf("{\"packets\":%ld,\"span_ns\":%llu,\"p1_ns\":%llu,\"p50_ns\":%llu,\"p99_ns\":%llu}"
	       "\n",
	       count, (unsigned long long)span, (unsigned long long)at_ns[gaps / 100],
	       (unsigned long long)at_ns[gaps / 2],
	       (unsigned long long)at_ns[gaps - 1 - gaps / 100]);
}

static int listen_all(long count)
{
	static uint64_t at_ns[COUNT_MAX];
	int fd = open_socket(SOCK_DGRAM, NULL), one = 1, bytes = 16 << 20;
	struct timeval second = {.tv_sec = 1}, long_ago = {.tv_sec = 20};
	long got = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &long_ago, sizeof(long_ago)))
		die("setsockopt");
	while (got < count && got < COUNT_MAX && arrival_take(fd, &at_ns[got]))
		if (!got++)
			setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	if (got > 1)
		gaps_print(at_ns, got);
	return got < 2;
}

/* ---- a stream */

static int stream_out(const char *address, double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	int fd = open_socket(SOCK_STREAM, address);
	static const char data[STREAM];

	while (now_ns() < end)
		if (send(fd, data, sizeof(data), 0) < 0)
			die("send");
	return 0;
}

/* From the first byte to the last. */
static int stream_drain(void)
{
	int fd = open_socket(SOCK_STREAM, NULL), from;
	uint64_t bytes = 0, first = 0, last = 0;
	static char data[STREAM];
	ssize_t got;

	if (listen(fd, 1))
		die("listen");
	from = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (from < 0)
		die("accept");
	while ((got = recv(from, data, sizeof(data), 0)) > 0) {
		last = now_ns();
		first = first ? first : last;
		bytes += got;
	}
	printf("{\"bytes\":%llu,\"span_ns\":%llu}\n", (unsigned long long)bytes,
	       (unsigned long long)(last - first));
	return !bytes;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 5 && !strcmp(what, "send"))
		return send_all(argv[2], atol(argv[3]), atol(argv[4]));
	if (argc == 3 && !strcmp(what, "listen"))
		return listen_all(atol(argv[2]));
	if (argc == 4 && !strcmp(what, "stream"))
		return stream_out(argv[2], atof(argv[3]));
	if (argc == 2 && !strcmp(what, "drain"))
		return stream_drain();
	fprintf(stderr,
		"pace: send ADDRESS COUNT SIZE | listen COUNT | stream ADDRESS SECONDS | drain\n");
	return 2;
}
