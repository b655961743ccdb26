// SPDX-License-Identifier: GPL-2.0-only
/* older CMD…: runs CMD as on a kernel before 6.6, which has no tcx: bpf(2) refuses to list the
 * programs of a hook and to make links, with the error of those kernels. Tests attach by clsact
 * with it.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(value, then, els) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, els)
#define ANSWER(value)        BPF_STMT(BPF_RET | BPF_K, value)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		LOAD(nr),
		IF(__NR_bpf, 0, 3),
		LOAD(args[0]), /* its lower half where the machine is little-endian */
		IF(BPF_PROG_QUERY, 2, 0),
		IF(BPF_LINK_CREATE, 1, 0),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_ERRNO | EINVAL),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (argc < 2) {
		fputs("usage: older CMD...\n", stderr);
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("older");
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
