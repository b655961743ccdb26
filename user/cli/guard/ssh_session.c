// SPDX-License-Identifier: GPL-2.0-only
/* The SSH session, from the environment variables that sshd sets. */

#include "cli/guard/ssh_sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "kernel/scope.h"
#include "policy/packets/decide.h"

#define ENVIRONMENT_MAX (1u << 20)
#define ABOVE_MAX       64 /* processes */
#define WORDS_MAX       4
#define TEXT_MAX        256
#define STAT_MAX        1024 /* of /proc/PID/stat: less than that */

/* ---- text */

/* Accepts a zone (fe80::1%eth0) and an IPv4-mapped address, which sshd may write on an IPv6 socket.
 */
static int address_parse(char *word, uint8_t addr[16])
{
	char canonical[PREFIX_TEXT_MAX];
	uint8_t len = 0;
	int ret;

	*strchrnul(word, '%') = '\0';
	ret = prefix_parse(word, addr, &len, canonical);
	if (ret == WORD_MAPPED)
		ret = prefix_parse(canonical, addr, &len, canonical);
	return ret || len != 128 ? -EINVAL : 0;
}

static int port_parse(const char *word, uint16_t *out)
{
	uint64_t port;

	if (number_parse(word, 1, UINT16_MAX, &port))
		return -EINVAL;
	*out = (uint16_t)port;
	return 0;
}

int ssh_session_parse(const char *text, struct flow *out)
{
	char copy[TEXT_MAX], *words[WORDS_MAX], *rest = NULL;
	struct flow flow = {0};
	int count = 0, ret;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return -EINVAL;
	for (char *word = strtok_r(copy, " ", &rest); word && count < WORDS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	if (count < WORDS_MAX - 1)
		return -EINVAL;
	flow.dst_known = count == WORDS_MAX;
	ret = address_parse(words[0], flow.src);
	ret = ret ?: port_parse(words[1], &flow.sport);
	if (!ret && flow.dst_known)
		ret = address_parse(words[2], flow.dst);
	ret = ret ?: port_parse(words[count - 1], &flow.dport);
	if (!ret)
		*out = flow;
	return ret;
}

/* ---- processes */

void process_read(pid_t pid, const char *name, char *out, size_t size)
{
	char path[64];
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, out, size - 1);
		close(fd);
	}
	out[len > 0 ? len : 0] = '\0';
}

static const char *variable_find(const char *environment, const char *name)
{
	size_t len = strlen(name);

	for (; *environment; environment += strlen(environment) + 1)
		if (!strncmp(environment, name, len) && environment[len] == '=')
			return environment + len + 1;
	return NULL;
}

/* The session's variable in the process's environment, or "". */
static void session_text(pid_t pid, char out[TEXT_MAX])
{
	FREED char *environment = calloc(1, ENVIRONMENT_MAX + 2); /* two NULs at the end */
	const char *text = NULL;

	if (environment) {
		process_read(pid, "environ", environment, ENVIRONMENT_MAX);
		text = variable_find(environment, "SSH_CONNECTION")
			       ?: variable_find(environment, "SSH_CLIENT");
	}
	snprintf(out, TEXT_MAX, "%s", text ?: "");
}

/* 0 if there is none. The name in parentheses may contain any character. */
static pid_t parent_of(pid_t pid)
{
	char text[STAT_MAX];
	const char *end;
	pid_t parent;

	process_read(pid, "stat", text, sizeof(text));
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* False if unknown: an unnecessary question is better than a lost session. */
static bool in_other_netns(pid_t pid)
{
	struct stat mine, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	return !stat("/proc/self/ns/net", &mine) && !stat(path, &other) &&
	       mine.st_ino != other.st_ino;
}

bool ssh_session_find(struct flow *out)
{
	char text[TEXT_MAX], above[TEXT_MAX];
	pid_t pid = getpid(), session;
	int left = ABOVE_MAX;

	for (session_text(pid, text); !text[0] && pid > 1 && left--; session_text(pid, text))
		pid = parent_of(pid);
	if (!text[0])
		return false;
	/* The namespace is that of the session's first process: this one may have left it. */
	session = pid;
	while (pid > 1 && left-- > 0) {
		pid = parent_of(pid);
		session_text(pid, above);
		if (!strcmp(above, text))
			session = pid;
	}
	return !in_other_netns(session) && !ssh_session_parse(text, out);
}
