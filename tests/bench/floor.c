// SPDX-License-Identifier: GPL-2.0
/*
 * floor: a lower bound on the cost of a limiter. On a device it drops the packets whose source one
 * LRU look-up finds; with --run it measures how long programs take for a packet, by
 * BPF_PROG_TEST_RUN: an empty one, the look-up, and any that are already loaded, in turns. It
 * writes to no map but its own.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include "frame.h"
#include "floor.skel.h"

enum { FAILED = 1, EXIT_USAGE = 2 };
enum { REPEAT = 1000000, KEYS_MAX = 131072 };
#define FIRST_SOURCE 0x0a000001u /* 10.0.0.1, the one that --run sends from */
#define NS_PER_S     UINT64_C(1000000000)

struct options {
	const char *dev;
	uint64_t keys, rounds;
	bool run, ipv6, icmp;
};

static const char *const usage =
	"usage: floor -i DEV [--keys N]          drops what a look-up finds, until SIGINT or "
	"SIGTERM\n"
	"       floor --run [--rounds N] [ID …]  ns per packet of an empty program, of the "
	"look-up\n"
	"                                        and of the loaded programs ID, a line for each:\n"
	"                                        ROUND empty|lookup|ID NS VERDICT\n"
	"  -i, --interface DEV  where to attach, natively\n"
	"      --keys N         sources 10.0.0.0 and after that are in the map (256)\n"
	"      --rounds N       how often each is measured (5)\n"
	"      --ipv6           the packet is an IPv6 one, from 2001:db8::1\n"
	"      --icmp           it is an echo request, not UDP\n"
	"  -h, --help           this text\n"
	"Says \"floor: DEV: attached\" on stderr once the program is in place.\n";

static const struct option long_options[] = {
	{"interface", required_argument, NULL, 'i'},
	{"keys", required_argument, NULL, 'k'},
	{"rounds", required_argument, NULL, 'n'},
	{"run", no_argument, NULL, 'r'},
	{"ipv6", no_argument, NULL, '6'},
	{"icmp", no_argument, NULL, 'e'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static void wrong_words(const char *what)
{
	fprintf(stderr, "floor: %s\n%s", what, usage);
	exit(EXIT_USAGE);
}

static uint64_t number_parse(const char *text, uint64_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || n < 1 || n > max)
		wrong_words("a number is wrong");
	return n;
}

static struct options options_parse(int argc, char **argv)
{
	struct options o = {.keys = 256, .rounds = 5};
	int c;

	while ((c = getopt_long(argc, argv, "i:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			o.dev = optarg;
			break;
		case 'k':
			o.keys = number_parse(optarg, KEYS_MAX);
			break;
		case 'n':
			o.rounds = number_parse(optarg, 1000);
			break;
		case 'r':
			o.run = true;
			break;
		case '6':
			o.ipv6 = true;
			break;
		case 'e':
			o.icmp = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(EXIT_USAGE);
		}
	}
	if (o.run == !!o.dev || (o.dev && optind != argc))
		wrong_words("either -i DEV or --run");
	return o;
}

static int failed(const char *what, int err)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(-err));
	return err;
}

static int keys_fill(const struct floor_bpf *skel, uint64_t n)
{
	int map = bpf_map__fd(skel->maps.keys), err = 0;
	uint64_t value = 1;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t key = htonl((FIRST_SOURCE & ~1u) + i);

		err = bpf_map_update_elem(map, &key, &value, BPF_ANY);
	}
	return err;
}

static int drop(const struct options *o, const struct floor_bpf *skel, const sigset_t *signals)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	int ifindex = (int)if_nametoindex(o->dev), link;

	if (!ifindex)
		return failed(o->dev, -ENODEV);
	link = bpf_link_create(bpf_program__fd(skel->progs.floor_lookup), ifindex, BPF_XDP, &opts);
	if (link < 0)
		return failed(o->dev, -errno);
	fprintf(stderr, "floor: %s: attached\n", o->dev);
	sigwaitinfo(signals, NULL);
	return 0; /* the link ends with this process */
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* A packet from FIRST_SOURCE. Its checksums are not those of this source: no program asks. */
static void packet_build(const struct options *o, struct frame *frame)
{
	struct frame_spec spec = {.ipv6 = o->ipv6, .sport = 40000, .dport = 9};
	uint32_t source = htonl(FIRST_SOURCE);

	spec.proto = o->icmp ? FRAME_ICMP : FRAME_UDP;
	spec.size = frame_bytes_min(&spec);
	inet_pton(o->ipv6 ? AF_INET6 : AF_INET, o->ipv6 ? "fd77::2" : "10.77.0.2", spec.dst);
	frame_build(frame, &spec);
	if (o->ipv6)
		inet_pton(AF_INET6, "2001:db8::1", frame->bytes + frame->source_at);
	else
		memcpy(frame->bytes + frame->source_at, &source, sizeof(source));
}

static int program_time(const struct frame *frame, uint64_t round, const char *name, int program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = frame->size,
		    .repeat = REPEAT);
	uint64_t start = now_ns();

	if (bpf_prog_test_run_opts(program, &opts))
		return failed(name, -errno);
	printf("%" PRIu64 " %s %.2f %u\n", round, name, (double)(now_ns() - start) / REPEAT,
	       opts.retval);
	return 0;
}

static int loaded_program_time(const struct frame *frame, uint64_t round, const char *id)
{
	int program = bpf_prog_get_fd_by_id((uint32_t)number_parse(id, UINT32_MAX)), err;

	if (program < 0)
		return failed(id, -errno);
	err = program_time(frame, round, id, program);
	close(program);
	return err;
}

static int run(const struct options *o, const struct floor_bpf *skel, char **ids)
{
	static struct frame frame;
	int err = 0;

	packet_build(o, &frame);
	for (uint64_t round = 1; round <= o->rounds && !err; round++) {
		err = program_time(&frame, round, "empty",
				   bpf_program__fd(skel->progs.floor_empty));
		if (!err)
			err = program_time(&frame, round, "lookup",
					   bpf_program__fd(skel->progs.floor_lookup));
		for (char **id = ids; *id && !err; id++)
			err = loaded_program_time(&frame, round, *id);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	struct floor_bpf *skel = floor_bpf__open();
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (!skel)
		return failed("cannot open the programs", -errno), FAILED;
	skel->rodata->verdict = o.run ? XDP_PASS : XDP_DROP;
	err = floor_bpf__load(skel);
	if (!err)
		err = keys_fill(skel, o.keys);
	if (err)
		failed("cannot load the programs and their keys", err);
	else
		err = o.run ? run(&o, skel, argv + optind) : drop(&o, skel, &signals);
	floor_bpf__destroy(skel);
	return err ? FAILED : 0;
}
