// SPDX-License-Identifier: GPL-2.0-only
/* tcx DEV ingress|egress WHAT: programs at a device's tcx hook, for the tests, as bpftool
 * before 7.3 cannot. WHAT: `list` prints the programs in their order, "ID NAME" each; `next` and
 * `pass` attach alien_next or alien_pass (tcx.bpf.c) behind those there, `next-first` and
 * `pass-first` before them; `fill` attaches alien_next until there is no room; `clear` takes off
 * what hangs on no link. They stay until then.
 */
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "tcx.skel.h"

enum { TCX_INGRESS = 46, TCX_EGRESS = 47, BEFORE = 1 << 3, PROGRAMS_MAX = 64 }; /* linux/bpf.h */

struct hook {
	int ifindex;
	enum bpf_attach_type type;
};

struct row {
	__u32 ids[PROGRAMS_MAX], count;
};

static int failed(const char *what, int err)
{
	fprintf(stderr, "tcx: %s: %s\n", what, strerror(-err));
	return 1;
}

static int row_read(const struct hook *hook, struct row *out)
{
	out->count = PROGRAMS_MAX;
	return bpf_prog_query(hook->ifindex, hook->type, 0, NULL, out->ids, &out->count) ? -errno
											 : 0;
}

static int list(const struct hook *hook)
{
	struct row row;
	int err = row_read(hook, &row);

	if (err)
		return failed("no list", err);
	for (__u32 i = 0; i < row.count; i++) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(row.ids[i]);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			printf("%u %s\n", info.id, info.name);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* The programs of an object cannot be attached twice. */
static int attach(const struct hook *hook, bool pass, bool first)
{
	struct tcx_bpf *skel = tcx_bpf__open_and_load();
	LIBBPF_OPTS(bpf_prog_attach_opts, opts, .flags = first ? BEFORE : 0);
	int err = -errno;

	if (skel)
		err = bpf_prog_attach_opts(bpf_program__fd(pass ? skel->progs.alien_pass
								: skel->progs.alien_next),
					   hook->ifindex, hook->type, &opts)
			      ? -errno
			      : 0;
	tcx_bpf__destroy(skel);
	return err;
}

static int fill(const struct hook *hook)
{
	int err = 0;

	while (!err)
		err = attach(hook, false, false);
	return err == -ERANGE ? 0 : failed("cannot attach", err);
}

static int clear(const struct hook *hook)
{
	struct row row;
	int err = row_read(hook, &row);

	if (err)
		return failed("no list", err);
	for (__u32 i = 0; i < row.count; i++) {
		int fd = bpf_prog_get_fd_by_id(row.ids[i]);

		if (fd < 0)
			continue;
		bpf_prog_detach2(fd, hook->ifindex, hook->type); /* on a link: is refused */
		close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const words[] = {"next", "pass", "next-first", "pass-first"};
	const char *word = argc == 4 ? argv[3] : "";
	struct hook hook;
	int err;

	hook.ifindex = argc == 4 ? (int)if_nametoindex(argv[1]) : 0;
	if (!hook.ifindex) {
		fputs("usage: tcx DEV ingress|egress "
		      "list|next|pass|next-first|pass-first|fill|clear\n",
		      stderr);
		return 2;
	}
	hook.type = (enum bpf_attach_type)(strcmp(argv[2], "egress") ? TCX_INGRESS : TCX_EGRESS);
	if (!strcmp(word, "list"))
		return list(&hook);
	if (!strcmp(word, "fill"))
		return fill(&hook);
	if (!strcmp(word, "clear"))
		return clear(&hook);
	for (int i = 0; i < 4; i++)
		if (!strcmp(word, words[i])) {
			err = attach(&hook, i & 1, i & 2);
			return err ? failed("cannot attach", err) : 0;
		}
	fprintf(stderr, "tcx: %s: no such word\n", word);
	return 2;
}
