// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/proof/recount.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "kernel/maps/readers.h"
#include "kernel/proof/tcp_sockets.h"
#include "rlctl_abi.h"

#define RECOUNTS_MAX 8 /* sockets that each of them sees for the first time are few after two */

struct recount {
	int fd;          /* of the program */
	uint32_t number; /* no other recount has it */
	uint32_t first;  /* sockets that are not counted yet */
	uint32_t ifindex;
	uint32_t listed;
	int ret; /* of the first failure */
	struct rl_open_sockets sockets;
	uint64_t listening[65536 / 64]; /* a bit for each port on which a socket listens */
};

static void recount_run(struct recount *r)
{
	struct __sk_buff skb = {.ifindex = r->ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = &r->sockets,
		    .data_size_in = sizeof(r->sockets), .ctx_in = &skb, .ctx_size_in = sizeof(skb));

	if (!r->listed)
		return;
	if (!bpf_prog_test_run_opts(r->fd, &opts))
		r->first += opts.retval;
	else if (errno != ENODEV && !r->ret) /* of a device that has gone no socket is found */
		r->ret = -errno;
	memset(&r->sockets, 0, sizeof(r->sockets));
	r->listed = 0;
}

static void listening_note(const struct tcp_socket *socket, void *arg)
{
	struct recount *r = arg;

	r->listening[socket->flow.dport / 64] |= 1ull << socket->flow.dport % 64;
}

/* Nothing says who began a connection that was there before; where a socket listens, the peer is
 * taken to have done so. */
static void socket_list(const struct tcp_socket *socket, void *arg)
{
	const struct flow *flow = &socket->flow;
	struct rl_open_socket *listed;
	struct recount *r = arg;

	if (r->listed == RL_OPEN_SOCKETS || socket->ifindex != r->ifindex)
		recount_run(r);
	r->ifindex = socket->ifindex;
	listed = &r->sockets.socket[r->listed++];
	listed->recount = r->number;
	listed->peer_began = r->listening[flow->dport / 64] >> flow->dport % 64 & 1;
	memcpy(listed->src, flow->src, sizeof(listed->src));
	memcpy(listed->dst, flow->dst, sizeof(listed->dst));
	listed->sport = flow->sport;
	listed->dport = flow->dport;
}

/* Microseconds since the machine was started. No two are equal, for each recount waits. */
static uint32_t recount_number(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint32_t)(now.tv_sec * 1000000ull + now.tv_nsec / 1000) | 1;
}

/* *first: how many sockets the next one is to count. */
static int recount_once(int fd, uint32_t *first)
{
	struct recount *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	r->fd = fd;
	r->number = recount_number();
	ret = tcp_sockets_read(TCP_LISTEN, 0, listening_note, r);
	if (!ret)
		ret = open_sockets_read(socket_list, r);
	recount_run(r);
	ret = ret ? ret : r->ret;
	*first = r->first;
	free(r);
	return ret;
}

/* At least twice, as a list may miss a socket while others leave its chain. Each waits for programs
 * that are at a socket that the one before has seen for the first time. */
int sockets_recount(int program_fd)
{
	uint32_t first = 0;
	int ret = 0;

	for (int i = 0; !ret && (i < 2 || (first && i < RECOUNTS_MAX)); i++) {
		ret = readers_wait();
		if (!ret)
			ret = recount_once(program_fd, &first);
	}
	return ret;
}
