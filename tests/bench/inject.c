// SPDX-License-Identifier: GPL-2.0-only
/* Runs a command and lets one of its system calls fail, or kills it there. strace -e inject= counts
 * bpf() whatever it is asked to do, and attach runs a program as often as fits into a few ticks:
 * here those runs are not counted, so that the N-th call is the same one every time. The kernel
 * asks this process before each counted call (seccomp's user notification), children included; it
 * returns when all of them have ended.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMON_CALLS(X) \
	X(bpf)          \
	X(openat)       \
	X(mmap)         \
	X(brk)          \
	X(socket)       \
	X(socketpair)   \
	X(ioctl)        \
	X(flock)        \
	X(clone)        \
	X(sendmsg)      \
	X(sendto)       \
	X(recvmsg)      \
	X(recvfrom)     \
	X(getrandom)    \
	X(renameat)     \
	X(renameat2)    \
	X(unlinkat)     \
	X(mkdirat)      \
	X(mount)        \
	X(getdents64)
#ifdef __NR_unlink /* older architectures have both kinds */
#define OLDER_CALLS(X) \
	X(open)        \
	X(rename)      \
	X(unlink)      \
	X(rmdir)       \
	X(mkdir)       \
	X(fork)
#else
#define OLDER_CALLS(X)
#endif

struct call {
	const char *name;
	int number;
};

static const struct call calls[] = {
#define CALL_ROW(name) {#name, __NR_##name},
	COMMON_CALLS(CALL_ROW) OLDER_CALLS(CALL_ROW)
#undef CALL_ROW
};
#define CALL_COUNT (sizeof(calls) / sizeof(calls[0]))

static const struct call errors[] = {
	{"EPERM", EPERM}, {"ENOMEM", ENOMEM}, {"ENOSPC", ENOSPC}, {"E2BIG", E2BIG},
	{"EBUSY", EBUSY}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN}, {"EIO", EIO},
};
#define ERROR_COUNT (sizeof(errors) / sizeof(errors[0]))

struct plan {
	uint64_t nth;      /* from 1; 0: none, only count */
	uint64_t bound;    /* calls are counted from behind so many maps bound to programs on */
	bool and_after;    /* all further ones too */
	int error;         /* 0: kill */
	const char *only;  /* calls of these names alone are counted, "mmap,brk"; NULL: all */
	const char *trace; /* file for the calls that were seen */
};

/* The data the parent needs from the child before it runs the command. */
struct shared {
	int listener;
};

static void die(const char *what)
{
	perror(what);
	exit(125);
}

/* ---- the child */

static bool is_wanted(const char *only, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = only; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
	}
	return !only;
}

static int listener_open(const char *only)
{
	struct sock_filter code[2 * CALL_COUNT + 8];
	size_t n = 0;

#define LOAD(field)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)
	code[n++] = (struct sock_filter)LOAD(nr);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bpf, 0, 4);
	code[n++] = (struct sock_filter)LOAD(args[0]); /* the lower half: little endian */
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_PROG_TEST_RUN, 0, 1);
	code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)LOAD(nr);
	/* The command makes this call to show that the loader is done. */
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_setns, 0, 1);
	code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_USER_NOTIF);
	for (size_t i = 0; i < CALL_COUNT; i++) {
		if (!is_wanted(only, calls[i].name))
			continue;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number,
							 0, 1);
		code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_USER_NOTIF);
	}
	code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = n, .filter = code};

	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		       &program);
}

/* No call that the filter reports may be made here: nobody would answer yet. */
__attribute__((noreturn)) static void command_run(struct shared *shared, const char *only,
						  char *const *words)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	shared->listener = listener_open(only);
	raise(SIGSTOP);
	execvp(words[0], words);
	_exit(127);
}

/* ---- the parent */

struct watch {
	const struct plan *plan;
	int listener;
	bool counting;
	uint64_t bound, seen;
	FILE *trace;
};

static const char *call_name(int number)
{
	for (size_t i = 0; i < CALL_COUNT; i++)
		if (calls[i].number == number)
			return calls[i].name;
	return "?";
}

static bool is_chosen(const struct watch *watch)
{
	const struct plan *plan = watch->plan;

	return plan->nth &&
	       (watch->seen == plan->nth || (plan->and_after && watch->seen > plan->nth));
}

/* A command's calls before it loads ours, even the programs that it loads, may depend on those of
 * others: only ours has maps bound to it. */
static bool is_counted(struct watch *watch, const struct seccomp_data *call)
{
	bool counted = watch->counting && watch->bound >= watch->plan->bound;

	watch->bound += call->nr == __NR_bpf && (uint32_t)call->args[0] == BPF_PROG_BIND_MAP;
	return counted;
}

static void call_answer(struct watch *watch, const struct seccomp_notif *asked)
{
	struct seccomp_notif_resp answer = {.id = asked->id,
					    .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	bool counted, chosen;

	if (asked->data.nr == __NR_setns) {
		watch->counting = true;
		ioctl(watch->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
		return;
	}
	counted = is_counted(watch, &asked->data);
	watch->seen += counted;
	chosen = counted && is_chosen(watch);
	if (watch->trace && counted)
		fprintf(watch->trace, "%ju %s %lld%s\n", (uintmax_t)watch->seen,
			call_name(asked->data.nr), (long long)asked->data.args[0],
			chosen ? " chosen" : "");
	if (chosen && !watch->plan->error) {
		kill((pid_t)asked->pid, SIGKILL);
		return;
	}
	if (chosen) {
		answer.flags = 0;
		if (asked->data.nr != __NR_brk) /* which answers with where the break stays */
			answer.error = -watch->plan->error;
	}
	ioctl(watch->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Runs until the last process under the filter has ended. */
static void calls_answer(struct watch *watch)
{
	struct pollfd fd = {.fd = watch->listener, .events = POLLIN};

	for (;;) {
		struct seccomp_notif asked = {0};

		if (poll(&fd, 1, -1) < 0)
			continue;
		if (fd.revents & POLLIN) {
			if (!ioctl(watch->listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
				call_answer(watch, &asked);
		} else if (fd.revents & (POLLHUP | POLLERR)) {
			return;
		}
	}
}

static int child_status(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(const struct plan *plan, char *const *words)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct watch watch = {.plan = plan};
	int pidfd, status;
	pid_t child;

	if (shared == MAP_FAILED || (child = fork()) < 0)
		die("fork");
	if (!child)
		command_run(shared, plan->only, words);
	if (waitpid(child, &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
		die("the command did not start");
	pidfd = (int)syscall(__NR_pidfd_open, child, 0);
	watch.listener = (int)syscall(__NR_pidfd_getfd, pidfd, shared->listener, 0);
	if (watch.listener < 0)
		die("seccomp");
	if (plan->trace)
		watch.trace = fopen(plan->trace, "we");
	kill(child, SIGCONT);
	calls_answer(&watch);
	if (watch.trace) {
		fprintf(watch.trace, "%ju\n", (uintmax_t)watch.seen);
		fclose(watch.trace);
	}
	return child_status(child);
}

static int error_of(const char *word)
{
	for (size_t i = 0; i < ERROR_COUNT; i++)
		if (!strcmp(errors[i].name, word))
			return errors[i].number;
	if (!strcmp(word, "KILL"))
		return 0;
	fprintf(stderr, "inject: %s: KILL, or one of those that are in the table\n", word);
	exit(125);
}

int main(int argc, char **argv)
{
	struct plan plan = {.error = EPERM};
	char *end;
	int option;

	while ((option = getopt(argc, argv, "+n:b:e:o:t:")) != -1) {
		switch (option) {
		case 'n':
			plan.nth = strtoull(optarg, &end, 10);
			plan.and_after = *end == '+';
			break;
		case 'b':
			plan.bound = strtoull(optarg, NULL, 10);
			break;
		case 'e':
			plan.error = error_of(optarg);
			break;
		case 'o':
			plan.only = optarg;
			break;
		case 't':
			plan.trace = optarg;
			break;
		default:
			optind = argc;
		}
	}
	if (optind >= argc) {
		fprintf(stderr,
			"inject [-n N[+]] [-b BOUND] [-e ERROR|KILL] [-o CALL] [-t TRACE] CMD ARG…\n");
		return 125;
	}
	return run(&plan, argv + optind);
}
