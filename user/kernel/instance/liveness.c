// SPDX-License-Identifier: GPL-2.0-only
/* Reads the kernel's own lists and reference counts through a BPF program. /proc shows neither
 * namespaces that only a descriptor, a socket or a mount holds, nor those of processes that this
 * one may not inspect. If that cannot be determined, it counts as in use. */

#include "kernel/instance/liveness.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "liveness.skel.h"
#include "rlctl_abi.h"

/* The program's answer; 0 ("unknown") if it could not run. */
static uint32_t ask(const struct bpf_program *program, uint64_t first, uint64_t second)
{
	uint64_t args[] = {first, second};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	return bpf_prog_test_run_opts(bpf_program__fd(program), &opts) ? 0 : opts.retval;
}

/* Loaded once by a process, for itself and those that it forks, as libbpf reads all types of the
 * kernel for it; NULL if it cannot be. */
static const struct liveness_bpf *liveness(void)
{
	static struct liveness_bpf *skel;
	static bool asked;

	if (!asked)
		skel = liveness_bpf__open_and_load();
	asked = true;
	return skel;
}

bool netns_is_gone(uint32_t inode)
{
	const struct liveness_bpf *skel = liveness();

	return skel && ask(skel->progs.netns_find, inode, 0) == RL_NETNS_NONE;
}

bool program_is_held(uint32_t program, uint32_t known)
{
	int fd = bpf_prog_get_fd_by_id(program);
	const struct liveness_bpf *skel;
	uint32_t references = 0;

	if (fd < 0)
		return fd != -ENOENT;
	skel = liveness();
	if (skel)
		references = ask(skel->progs.program_references, fd, program);
	close(fd);
	return references != known + 1; /* the descriptor's own */
}
