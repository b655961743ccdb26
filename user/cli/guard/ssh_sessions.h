/* SPDX-License-Identifier: GPL-2.0-only */
/* The connections that this machine is managed by: SSH sessions, whoever asks, and on a node of
 * Kubernetes those with its API servers. */
#pragma once

#include <net/if.h>
#include <sys/types.h>

#include "policy/packets/decide.h"

struct ssh_session {
	struct flow flow;
	bool own;    /* this process belongs to it */
	bool inside; /* it comes through a tunnel, whose packets are another element */
	/* A tunnel has: its device; and whether its packets are unknown, `flow` being those within
	 * it. */
	char tunnel[IF_NAMESIZE];
	int tunnel_index;
	bool unknown;
	uint16_t control; /* no SSH session, but this port of Kubernetes; else 0 */
};

/* One for each pair of addresses and port of the server. */
struct ssh_sessions {
	struct ssh_session *session;
	size_t count, room;
};

/* With each session that comes through a tunnel, the packets of that tunnel. */
/* This process's own session first, then the connections in this network namespace on which sshd
 * of root has logged somebody in. Those need CAP_SYS_PTRACE; without it only the own one is found.
 * Where a kubelet listens, the API servers that this machine has connections to, each with its way
 * back to the kubelet's port: what others connect to here may be an attacker's. `only_own` costs
 * no look at other processes but those above this one. */
void ssh_sessions_find(struct ssh_sessions *out, bool only_own);
void ssh_sessions_clear(struct ssh_sessions *sessions);

/* Whether sshd has set this title (a command line with NULs between its words) after a login. */
bool sshd_title_is_login(const char *title);

/* ---- ssh_session.c: the one that this process belongs to, if any */

/* "CLIENT PORT SERVER PORT" of SSH_CONNECTION, or "CLIENT PORT PORT" of SSH_CLIENT. 0 or -EINVAL.
 */
int ssh_session_parse(const char *text, struct flow *out);

/* From the environment of this process or, since sudo drops it, of the nearest process above it
 * that has one. False also if the session's processes are in another network namespace than this
 * process, which cannot cut them off. */
bool ssh_session_find(struct flow *out);

/* The first bytes of /proc/PID/NAME as a string; "" if it cannot be read. */
void process_read(pid_t pid, const char *name, char *out, size_t size);
