// SPDX-License-Identifier: GPL-2.0-only
/* The watcher of a trial: a process in its own session that undoes the trial when its time is over,
 * or when the process that started it asks for that or ends. That process and those that it forks
 * send it what begins later, with the descriptors that hold its lock. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/policy/try.h"

void trials_add(struct trials *trials, const struct trial *trial)
{
	trials->items = xreallocarray(trials->items, trials->count + 1, sizeof(*trials->items));
	trials->items[trials->count++] = *trial;
	if (trials->deadline_ns < trial->deadline_ns)
		trials->deadline_ns = trial->deadline_ns;
}

uint64_t trials_left_ns(const struct trials *trials)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME);

	if (!trials->deadline_ns)
		return UINT64_MAX;
	return trials->deadline_ns > now ? trials->deadline_ns - now : 0;
}

int trials_wait_ms(const struct trials *trials, int most)
{
	uint64_t left_ms = trials_left_ns(trials) / NS_PER_MS + 1;

	return left_ms < (uint64_t)most ? (int)left_ms : most;
}

/* ---- messages: a trial with its two descriptors, or a deadline */

union rights {
	struct cmsghdr header;
	char space[CMSG_SPACE(2 * sizeof(int))];
};

int trial_send(int to, const struct trial *trial)
{
	int fds[2] = {trial->folder_fd, trial->state_fd};
	union rights rights = {.header = {.cmsg_len = CMSG_LEN(sizeof(fds)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {.iov_base = (void *)trial, .iov_len = sizeof(*trial)};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &rights,
				 .msg_controllen = sizeof(rights)};

	memcpy(CMSG_DATA(&rights.header), fds, sizeof(fds));
	return sendmsg(to, &message, MSG_NOSIGNAL) == sizeof(*trial) ? 0 : -errno;
}

bool trials_receive(struct trials *trials, int from, int flags)
{
	struct trial trial = {0};
	union rights rights = {0};
	struct iovec data = {.iov_base = &trial, .iov_len = sizeof(trial)};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &rights,
				 .msg_controllen = sizeof(rights)};
	ssize_t size = recvmsg(from, &message, flags | MSG_CMSG_CLOEXEC);

	if (size == sizeof(trials->deadline_ns))
		memcpy(&trials->deadline_ns, &trial, sizeof(trials->deadline_ns));
	if (size != sizeof(trial))
		return size > 0;
	if (message.msg_flags & MSG_CTRUNC || rights.header.cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return false; /* no descriptors are left */
	memcpy(&trial.folder_fd, CMSG_DATA(&rights.header), sizeof(int));
	memcpy(&trial.state_fd, CMSG_DATA(&rights.header) + sizeof(int), sizeof(int));
	trial.lock_fd = NULL; /* of the process that began it */
	trials_add(trials, &trial);
	return true;
}

/* ---- the process */

__attribute__((noreturn)) static void watch(struct trials *trials, int line)
{
	struct pollfd fds[] = {{.fd = line, .events = POLLIN},
			       {.fd = trials->signals, .events = POLLIN}};
	int null;

	setsid();
	if (chdir("/"))
		_exit(EXIT_FAILURE);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	for (size_t i = 0; i < trials->count; i++)
		trial_unlock(&trials->items[i]);
	if (send(line, "", 1, MSG_NOSIGNAL) != 1)
		_exit(EXIT_FAILURE); /* the parent waits for this byte */
	while (trials_left_ns(trials)) {
		if (poll(fds, 2, trials_wait_ms(trials, 1000)) <= 0)
			continue;
		if (fds[1].revents || !trials_receive(trials, line, 0))
			break;
	}
	for (size_t i = 0; i < trials->count; i++)
		trial_end(&trials->items[i], false);
	_exit(EXIT_SUCCESS);
}

int watcher_start(struct trials *trials)
{
	int line[2];
	char ready;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line))
		return fail("starting the trial failed: %s", strerror(errno));
	trials->watcher = fork();
	if (!trials->watcher) {
		close(line[0]);
		watch(trials, line[1]);
	}
	close(line[1]);
	trials->line = line[0];
	if (trials->watcher > 0 && recv(trials->line, &ready, 1, 0) == 1)
		return 0;
	return fail("starting the trial failed: its watcher process did not start");
}
