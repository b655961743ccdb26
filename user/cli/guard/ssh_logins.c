// SPDX-License-Identifier: GPL-2.0-only
/* The SSH sessions of this machine: the established connections on ports where somebody listens
 * that a process of sshd holds which has logged a user in. A connection that has not is no session:
 * it may be a guesser of passwords, whom a rule is to keep out.
 *
 * Every user can run a program with the name and the title of sshd, and sshd's own program. Only
 * processes count that such a user cannot make: sshd of root, and its children. */

#include "cli/guard/ssh_sessions.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/output/output.h"
#include "kernel/device/tunnel.h"
#include "kernel/proof/tcp_sockets.h"
#include "kernel/scope.h"

#define TITLE_MAX   256
#define GUARDED_MAX 1000 /* sessions of which tunnels are looked for */
#define STATUS_MAX  1024 /* enough for the first lines of /proc/PID/status */
#define SOCKET_TEXT "socket:["
#define ROOT_IDS    "\nUid:\t0\t0\t0\t0\n" /* real, effective, saved, of files */

struct inodes {
	uint32_t *inode;
	size_t count, room;
};

struct scan {
	struct inodes logged_in;
	uint8_t ports[(UINT16_MAX + 1) / 8]; /* bits: somebody listens there */
	struct ssh_sessions *out;
};

/* The items, with room for one more; `room` counts them. */
static void *grown(void *items, size_t count, size_t *room, size_t size)
{
	items = array_room(items, count, room, size);
	if (!items)
		out_of_memory();
	return items;
}

/* ---- sets of sockets: sorted before they are asked */

static int inode_compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static bool inodes_have(const struct inodes *inodes, uint32_t inode)
{
	return inodes->count &&
	       bsearch(&inode, inodes->inode, inodes->count, sizeof(*inodes->inode), inode_compare);
}

/* ---- processes */

/* By the name of the program's file (sshd, sshd-session): a process can choose its other names. */
static bool runs_sshd(pid_t pid)
{
	char path[64], target[PATH_MAX];
	const char *name;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	name = strrchr(target, '/');
	return name && !strncmp(name, "/sshd", 5);
}

/* "sshd: USER@TTY", or "sshd: USER" without a terminal or command. Before the login, and where the
 * process only watches over another, a word in brackets follows. */
bool sshd_title_is_login(const char *title)
{
	return !strncmp(title, "sshd", 4) && strstr(title, ": ") && !strchr(title, '[');
}

/* Adds the sockets that the process holds. */
static void sockets_read(pid_t pid, struct inodes *out)
{
	char path[64], target[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		if (strncmp(target, SOCKET_TEXT, strlen(SOCKET_TEXT)) != 0)
			continue;
		out->inode = grown(out->inode, out->count, &out->room, sizeof(*out->inode));
		out->inode[out->count++] = strtoul(target + strlen(SOCKET_TEXT), NULL, 10);
	}
	scope_dir(&dir);
}

static void process_add(struct scan *scan, pid_t pid)
{
	char title[TITLE_MAX], status[STATUS_MAX];
	const char *line;
	pid_t parent;

	if (!runs_sshd(pid))
		return;
	process_read(pid, "status", status, sizeof(status));
	process_read(pid, "cmdline", title, sizeof(title));
	if (!sshd_title_is_login(title))
		return;
	if (!strstr(status, ROOT_IDS)) {
		/* The process of a session that belongs to its user is a child of root's, which
		 * watches over it. */
		line = strstr(status, "\nPPid:\t");
		if (!line || sscanf(line, " PPid: %d", &parent) != 1 || !runs_sshd(parent))
			return;
		process_read(parent, "status", status, sizeof(status));
	}
	if (strstr(status, ROOT_IDS))
		sockets_read(pid, &scan->logged_in);
}

/* ---- connections */

/* Sockets that a session holds itself listen for what is forwarded to its client. */
static void port_add(const struct tcp_socket *socket, void *arg)
{
	struct scan *scan = arg;
	uint16_t port = socket->flow.dport;

	if (!inodes_have(&scan->logged_in, socket->inode))
		scan->ports[port / 8] |= 1u << port % 8;
}

/* Unless it is there. */
static void session_add(struct ssh_sessions *out, const struct ssh_session *session)
{
	const struct flow *b = &session->flow;

	for (size_t i = 0; i < out->count; i++) {
		const struct flow *a = &out->session[i].flow;

		if (!memcmp(a->src, b->src, 16) && a->proto == b->proto && a->dport == b->dport &&
		    out->session[i].unknown == session->unknown &&
		    (!a->dst_known || !memcmp(a->dst, b->dst, 16)))
			return;
	}
	out->session = grown(out->session, out->count, &out->room, sizeof(*out->session));
	out->session[out->count++] = *session;
}

static void connection_add(const struct tcp_socket *socket, void *arg)
{
	struct scan *scan = arg;
	uint16_t port = socket->flow.dport;
	bool served = scan->ports[port / 8] & 1u << port % 8;

	if (served && inodes_have(&scan->logged_in, socket->inode))
		session_add(scan->out, &(struct ssh_session){.flow = socket->flow});
}

/* ---- Kubernetes */

#define KUBELET_PORT 10250
#define API_PORT     6443

static void kubelet_found(const struct tcp_socket *socket, void *arg)
{
	(void)socket;
	*(bool *)arg = true;
}

static void api_server_add(const struct tcp_socket *socket, void *arg)
{
	struct ssh_session session = {.flow = socket->flow, .control = API_PORT};

	if (socket->flow.sport != API_PORT)
		return;
	session_add(arg, &session);
	session.flow.sport = 0;
	session.flow.dport = session.control = KUBELET_PORT;
	session_add(arg, &session);
}

/* ---- tunnels */

/* A tunnel may come through another one: its packets are looked at in their turn. */
static void tunnels_add(struct ssh_sessions *out)
{
	struct tunnel tunnels[TUNNELS_MAX];

	for (size_t i = 0; i < out->count && i < GUARDED_MAX; i++) {
		struct ssh_session inner = out->session[i];
		size_t count = inner.unknown ? 0 : tunnels_find(&inner.flow, tunnels);

		out->session[i].inside = count > 0;
		for (size_t j = 0; j < count; j++) {
			const struct tunnel *tunnel = &tunnels[j];
			struct ssh_session outer = {.flow = tunnel->known ? tunnel->outer
									  : inner.flow,
						    .own = inner.own,
						    .unknown = !tunnel->known,
						    .tunnel_index = tunnel->ifindex};

			memcpy(outer.tunnel, tunnel->device, sizeof(outer.tunnel));
			session_add(out, &outer);
		}
	}
}

/* ---- public */

void ssh_sessions_find(struct ssh_sessions *out, bool only_own)
{
	struct ssh_session own = {.own = true};
	struct scan scan = {.out = out};
	CLOSED_DIR DIR *dir = only_own ? NULL : opendir("/proc");
	struct dirent *entry;
	bool kubelet = false;

	*out = (struct ssh_sessions){0};
	if (ssh_session_find(&own.flow))
		session_add(out, &own);
	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			process_add(&scan, atoi(entry->d_name));
	if (scan.logged_in.count) {
		qsort(scan.logged_in.inode, scan.logged_in.count, sizeof(*scan.logged_in.inode),
		      inode_compare);
		/* Whoever listens, sshd or systemd for it; the connections that a session makes
		 * have no such port. */
		tcp_sockets_read(TCP_LISTEN, 0, port_add, &scan);
		tcp_sockets_read(TCP_ESTABLISHED, 0, connection_add, &scan);
	}
	free(scan.logged_in.inode);
	if (!only_own)
		tcp_sockets_read(TCP_LISTEN, KUBELET_PORT, kubelet_found, &kubelet);
	if (kubelet)
		tcp_sockets_read(TCP_ESTABLISHED, 0, api_server_add, out);
	tunnels_add(out);
}

void ssh_sessions_clear(struct ssh_sessions *sessions)
{
	free(sessions->session);
	*sessions = (struct ssh_sessions){0};
}
