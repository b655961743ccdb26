// SPDX-License-Identifier: GPL-2.0
/*
 * steps: the guest's end of instructions.py. It does what the lines of its standard input say and
 * ends each answer with "done": it runs a loaded program over packets, or says what it consists of,
 * so that a debugger outside of the machine knows where to stop and what it sees.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "frame.h"

enum { FUNCTIONS_MAX = 256, LINES_MAX = 65536, SOURCES_MAX = 8 };

static const char *const usage =
	"usage: steps          does what the lines of its standard input say:\n"
	"  functions ID         \"function ADDRESS BYTES NAME\" of each in the loaded program\n"
	"  lines ID             \"line ADDRESS FILE:LINE\" of each of its lines of source\n"
	"  run ID N SOURCE ...  runs it N times over a packet from each source in turns, IPv4 or\n"
	"                       IPv6, an echo request from SOURCE,icmp, TCP from SOURCE,tcp,\n"
	"                       a SYN from SOURCE,syn:\n"
	"                       \"verdict NUMBER\" of each\n";

struct program {
	int fd;
	struct bpf_prog_info info;
	uint64_t addresses[FUNCTIONS_MAX], line_addresses[LINES_MAX];
	uint32_t sizes[FUNCTIONS_MAX];
	struct bpf_func_info functions[FUNCTIONS_MAX];
	struct bpf_line_info lines[LINES_MAX];
	struct btf *btf;
};

static int program_open(struct program *p, uint32_t id)
{
	uint32_t size = sizeof(p->info);

	p->fd = bpf_prog_get_fd_by_id(id);
	if (p->fd < 0)
		return -errno;
	p->info = (struct bpf_prog_info){
		.jited_ksyms = (uintptr_t)p->addresses,
		.nr_jited_ksyms = FUNCTIONS_MAX,
		.jited_func_lens = (uintptr_t)p->sizes,
		.nr_jited_func_lens = FUNCTIONS_MAX,
		.func_info = (uintptr_t)p->functions,
		.func_info_rec_size = sizeof(p->functions[0]),
		.nr_func_info = FUNCTIONS_MAX,
		.line_info = (uintptr_t)p->lines,
		.line_info_rec_size = sizeof(p->lines[0]),
		.nr_line_info = LINES_MAX,
		.jited_line_info = (uintptr_t)p->line_addresses,
		.jited_line_info_rec_size = sizeof(p->line_addresses[0]),
		.nr_jited_line_info = LINES_MAX,
	};
	if (bpf_obj_get_info_by_fd(p->fd, &p->info, &size))
		return -errno;
	p->btf = btf__load_from_kernel_by_id(p->info.btf_id);
	return 0;
}

static void program_close(struct program *p)
{
	if (p->fd >= 0)
		close(p->fd);
	btf__free(p->btf);
	p->btf = NULL;
}

static const char *text(const struct program *p, uint32_t at)
{
	const char *name = p->btf ? btf__name_by_offset(p->btf, at) : NULL;

	return name ? name : "?";
}

static void functions_print(const struct program *p)
{
	for (uint32_t i = 0; i < p->info.nr_jited_ksyms; i++) {
		const struct btf_type *type =
			p->btf && i < p->info.nr_func_info
				? btf__type_by_id(p->btf, p->functions[i].type_id)
				: NULL;

		printf("function %" PRIx64 " %u %s\n", p->addresses[i], p->sizes[i],
		       type ? text(p, type->name_off) : p->info.name);
	}
}

static void lines_print(const struct program *p)
{
	for (uint32_t i = 0; i < p->info.nr_jited_line_info; i++)
		printf("line %" PRIx64 " %s:%u\n", p->line_addresses[i],
		       text(p, p->lines[i].file_name_off),
		       BPF_LINE_INFO_LINE_NUM(p->lines[i].line_col));
}

/* Its checksums are not those of this source: no program asks. */
static int packet_build(struct frame *frame, char *source)
{
	struct frame_spec spec = {.ipv6 = strchr(source, ':'), .sport = 40000, .dport = 9};
	int family = spec.ipv6 ? AF_INET6 : AF_INET;
	char *kind = strchr(source, ',');

	if (kind) {
		*kind++ = 0;
		spec.proto = !strcmp(kind, "icmp") ? FRAME_ICMP : FRAME_TCP;
		spec.tcp_flags = !strcmp(kind, "syn") ? TH_SYN : TH_ACK;
	}
	spec.size = frame_bytes_min(&spec);
	inet_pton(family, spec.ipv6 ? "fd77::2" : "10.77.0.2", spec.dst);
	frame_build(frame, &spec);
	return inet_pton(family, source, frame->bytes + frame->source_at) == 1 ? 0 : -EINVAL;
}

static int frames_run(const struct program *p, const struct frame *frames, int count, long times)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .repeat = 1);

	for (long i = 0; i < times * count; i++) {
		opts.data_in = frames[i % count].bytes;
		opts.data_size_in = frames[i % count].size;
		if (bpf_prog_test_run_opts(p->fd, &opts))
			return -errno;
		printf("verdict %u\n", opts.retval);
	}
	return 0;
}

static int program_run(const struct program *p, char *words)
{
	static struct frame frames[SOURCES_MAX];
	long times = strtol(words, &words, 10);
	char *source, *save;
	int count = 0, err = 0;

	for (source = strtok_r(words, " \n", &save); source && count < SOURCES_MAX && !err;
	     source = strtok_r(NULL, " \n", &save))
		err = packet_build(&frames[count++], source);
	return err ? err : count ? frames_run(p, frames, count, times) : -EINVAL;
}

static int obey(char *line)
{
	static struct program p;
	char verb[16] = "";
	unsigned int id = 0;
	int words = 0, err;

	if (sscanf(line, "%15s %u %n", verb, &id, &words) < 2)
		return -EINVAL;
	err = program_open(&p, id);
	if (err)
		goto out;
	if (!strcmp(verb, "functions"))
		functions_print(&p);
	else if (!strcmp(verb, "lines"))
		lines_print(&p);
	else if (!strcmp(verb, "run"))
		err = program_run(&p, line + words);
	else
		err = -EINVAL;
out:
	program_close(&p);
	return err;
}

int main(int argc, char **argv)
{
	char line[512];
	int err;

	(void)argv;
	if (argc > 1)
		return fputs(usage, stdout), 0;
	while (fgets(line, sizeof(line), stdin)) {
		err = obey(line);
		if (err)
			printf("error %s: %s\n", strerror(-err), line);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
