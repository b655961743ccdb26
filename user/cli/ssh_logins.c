// SPDX-License-Identifier: GPL-2.0-only
/* The SSH sessions of this machine: the established connections on sshd's ports that a process of
 * sshd holds which has logged a user in. A connection that has not is no session: it may be a
 * guesser of passwords, whom a rule is to keep out. */

#include "ssh_logins.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ssh_session.h"
#include "tcp_sockets.h"

#define SSH_PORT    22
#define PORTS_MAX   16
#define INODES_MAX  1024
#define TITLE_MAX   256
#define SOCKET_TEXT "socket:["

struct inodes {
	uint32_t inode[INODES_MAX];
	size_t count;
};

struct scan {
	struct inodes listening; /* sockets of sshd that serves nobody in particular */
	struct inodes logged_in;
	uint16_t ports[PORTS_MAX];
	size_t port_count;
	struct ssh_sessions *out;
};

/* ---- processes */

static void inodes_add(struct inodes *inodes, uint32_t inode)
{
	if (inodes->count < INODES_MAX)
		inodes->inode[inodes->count++] = inode;
}

static bool inodes_have(const struct inodes *inodes, uint32_t inode)
{
	for (size_t i = 0; i < inodes->count; i++)
		if (inodes->inode[i] == inode)
			return true;
	return false;
}

/* The first bytes of /proc/PID/NAME as a string; "" if it cannot be read. */
static void process_read(const char *pid, const char *name, char out[TITLE_MAX])
{
	char path[64];
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, out, TITLE_MAX - 1);
		close(fd);
	}
	out[len > 0 ? len : 0] = '\0';
}

/* "sshd: USER@TTY", or "sshd: USER" without a terminal or command. Before the login, and where the
 * process only watches over another, a word in brackets follows. */
bool sshd_title_is_login(const char *title)
{
	return !strncmp(title, "sshd", 4) && strstr(title, ": ") && !strchr(title, '[');
}

/* The sockets that the process holds. */
static void sockets_read(const char *pid, struct inodes *out)
{
	char path[300], target[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (len <= 0)
			continue;
		target[len] = '\0';
		if (!strncmp(target, SOCKET_TEXT, strlen(SOCKET_TEXT)))
			inodes_add(out, strtoul(target + strlen(SOCKET_TEXT), NULL, 10));
	}
	closedir(dir);
}

static void processes_read(struct scan *scan)
{
	DIR *dir = opendir("/proc");
	char text[TITLE_MAX];
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		process_read(entry->d_name, "comm", text);
		if (strncmp(text, "sshd", 4))
			continue;
		process_read(entry->d_name, "cmdline", text);
		sockets_read(entry->d_name,
			     sshd_title_is_login(text) ? &scan->logged_in : &scan->listening);
	}
	if (dir)
		closedir(dir);
}

/* ---- connections */

static void port_add(const struct flow *flow, uint32_t inode, void *arg)
{
	struct scan *scan = arg;

	if (!inodes_have(&scan->listening, inode) || scan->port_count == PORTS_MAX)
		return;
	for (size_t i = 0; i < scan->port_count; i++)
		if (scan->ports[i] == flow->dport)
			return;
	scan->ports[scan->port_count++] = flow->dport;
}

static void session_add(struct ssh_sessions *out, const struct flow *flow, bool own)
{
	if (out->count == SSH_SESSIONS_MAX)
		return;
	for (size_t i = 0; i < out->count; i++) {
		const struct flow *other = &out->session[i].flow;

		if (!memcmp(other->src, flow->src, 16) && other->dport == flow->dport &&
		    (!other->dst_known || !memcmp(other->dst, flow->dst, 16)))
			return;
	}
	out->session[out->count++] = (struct ssh_session){.flow = *flow, .own = own};
}

static void connection_add(const struct flow *flow, uint32_t inode, void *arg)
{
	struct scan *scan = arg;

	if (inodes_have(&scan->logged_in, inode))
		session_add(scan->out, flow, false);
}

void ssh_sessions_find(struct ssh_sessions *out)
{
	struct scan scan = {.ports = {SSH_PORT}, .port_count = 1, .out = out};
	struct flow own;

	out->count = 0;
	if (ssh_session_find(&own))
		session_add(out, &own, true);
	processes_read(&scan);
	if (!scan.logged_in.count)
		return;
	tcp_sockets_read(TCP_LISTEN, 0, port_add, &scan);
	for (size_t i = 0; i < scan.port_count; i++)
		tcp_sockets_read(TCP_ESTABLISHED, scan.ports[i], connection_add, &scan);
}
