// SPDX-License-Identifier: GPL-2.0-only
/* Two things that the kernel has no call for: which network namespaces there are, whatever holds
 * them, and how many references a program has. Read out of its structures, wherever this kernel has
 * the fields. Run through BPF_PROG_TEST_RUN, which holds the RCU read lock for a raw tracepoint;
 * never attached.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "rlctl_abi.h"

#define NAMESPACES_MAX (1 << 20)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct proc_ns_operations;

struct ns_common {
	const struct proc_ns_operations *ops;
	__u32 inum;
};

struct net {
	struct list_head list; /* of all namespaces */
	struct ns_common ns;
};

struct nsproxy {
	struct net *net_ns;
};

typedef struct {
	__s64 counter;
} atomic64_t;

struct bpf_prog_aux {
	atomic64_t refcnt;
	__u32 id;
};

struct bpf_prog {
	struct bpf_prog_aux *aux;
};

struct file {
	void *private_data;
};

struct fdtable {
	__u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	struct nsproxy *nsproxy;
	struct files_struct *files;
};

#pragma clang attribute pop

/* The list's head lies in no namespace: what stands in its place has not the same operations. */
struct walk {
	struct list_head *first, *at;
	const struct proc_ns_operations *ops;
	__u32 inode, heads;
	enum rl_netns found;
};

/* Non-zero ends the walk. */
static long netns_look(__u32 index, struct walk *walk)
{
	struct list_head *at = walk->at;
	struct net *net = (void *)at - bpf_core_field_offset(struct net, list);

	if (at == walk->first) {
		walk->found = walk->heads == 1 ? RL_NETNS_NONE : RL_NETNS_UNKNOWN;
		return 1;
	}
	if (BPF_CORE_READ(net, ns.ops) != walk->ops) {
		walk->heads++;
	} else if (BPF_CORE_READ(net, ns.inum) == walk->inode) {
		walk->found = RL_NETNS_LISTED;
		return 1;
	}
	walk->at = BPF_CORE_READ(at, next);
	return walk->heads > 1 || !walk->at;
}

/* Once around the list, from this process's namespace. ARGS: the inode number. Returns enum
 * rl_netns: that there is none only where all of the list was seen. */
SEC("raw_tp")
int netns_find(__u64 *args)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct net *net = BPF_CORE_READ(task, nsproxy, net_ns);
	struct list_head *first = (void *)net + bpf_core_field_offset(struct net, list);
	struct walk walk = {.inode = args[0], .found = RL_NETNS_UNKNOWN};

	if (!net || BPF_CORE_READ(net, ns.inum) == walk.inode)
		return net ? RL_NETNS_LISTED : RL_NETNS_UNKNOWN;
	walk.ops = BPF_CORE_READ(net, ns.ops);
	walk.first = first;
	walk.at = BPF_CORE_READ(first, next);
	bpf_loop(NAMESPACES_MAX, netns_look, &walk, 0);
	return walk.found;
}

/* ARGS: a descriptor of this process, and the number of its program. 0: unknown. */
SEC("raw_tp")
int program_references(__u64 *args)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;
	struct bpf_prog *program;

	if (args[0] >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), files + args[0]))
		return 0;
	program = BPF_CORE_READ(file, private_data);
	if (BPF_CORE_READ(program, aux, id) != (__u32)args[1])
		return 0;
	return BPF_CORE_READ(program, aux, refcnt.counter);
}

char LICENSE[] SEC("license") = "GPL";
