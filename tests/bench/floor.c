// SPDX-License-Identifier: GPL-2.0
/*
 * floor: a lower bound on the cost of a limiter. On a device it drops the packets whose source one
 * LRU look-up finds, or drops all after it has read one line of an array; with --run it measures
 * how long programs take for a packet, by BPF_PROG_TEST_RUN: an empty one, the look-up, and any
 * that are already loaded, in turns, on one CPU or on several at once. A round in many slices gives
 * the mean of the faster half, so that what else the machine does in some of them does not count.
 * It writes to no map but its own.
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include "frame.h"
#include "tool.h"
#include "floor.skel.h"

enum { REPEAT = 1000000, KEYS_MAX = 131072, THREADS_MAX = 16, SLICES_MAX = 100 };
#define LINE_BYTES   64
#define ARRAY_MAX    (UINT64_C(1) << 30)
#define FIRST_SOURCE 0x0a000001u /* 10.0.0.1, the one that --run sends from */

struct options {
	const char *dev;
	uint64_t keys, rounds, slices, array, threads; /* array, threads: 0 without that option */
	bool run, ipv6, icmp, tcp;
};

static const char *const usage =
	"usage: floor -i DEV [--keys N]          drops what a look-up finds, until SIGINT or "
	"SIGTERM\n"
	"       floor -i DEV --array BYTES       drops after reading a line of so large an array\n"
	"       floor --run [--rounds N] [ID …]  ns per packet of an empty program, of the "
	"look-up\n"
	"                                        and of the loaded programs ID, a line for each:\n"
	"                                        ROUND empty|lookup|ID NS VERDICT\n"
	"  -i, --interface DEV  where to attach, natively\n"
	"      --keys N         sources 10.0.0.0 and after that are in the map (256)\n"
	"      --array BYTES    a power of two, one line of 64 bytes at least\n"
	"      --rounds N       how often each is measured (5)\n"
	"      --slices N       a round is so many parts, of all programs in turns; NS is then\n"
	"                       the mean of the faster half of the parts (1)\n"
	"      --threads N      on the CPUs 0 to N - 1 at once; NS is then their mean\n"
	"      --ipv6           the packet is an IPv6 one, from 2001:db8::1\n"
	"      --icmp           it is an echo request, not UDP\n"
	"      --tcp            it is a TCP segment with ACK\n"
	"  -h, --help           this text\n"
	"Says \"floor: DEV: attached\" on stderr once the program is in place.\n";

static const struct option long_options[] = {
	{"interface", required_argument, NULL, 'i'},
	{"keys", required_argument, NULL, 'k'},
	{"array", required_argument, NULL, 'a'},
	{"rounds", required_argument, NULL, 'n'},
	{"slices", required_argument, NULL, 's'},
	{"threads", required_argument, NULL, 't'},
	{"run", no_argument, NULL, 'r'},
	{"ipv6", no_argument, NULL, '6'},
	{"icmp", no_argument, NULL, 'e'},
	{"tcp", no_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static uint64_t array_parse(const char *text)
{
	uint64_t n = number_of(text, ARRAY_MAX, usage);

	if (n < LINE_BYTES || n & (n - 1))
		usage_fail("--array wants a power of two", usage);
	return n;
}

static struct options options_parse(int argc, char **argv)
{
	struct options o = {.keys = 256, .rounds = 5, .slices = 1};
	int c;

	while ((c = getopt_long(argc, argv, "i:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			o.dev = optarg;
			break;
		case 'k':
			o.keys = number_of(optarg, KEYS_MAX, usage);
			break;
		case 'a':
			o.array = array_parse(optarg);
			break;
		case 'n':
			o.rounds = number_of(optarg, 1000, usage);
			break;
		case 's':
			o.slices = number_of(optarg, SLICES_MAX, usage);
			break;
		case 't':
			o.threads = number_of(optarg, THREADS_MAX, usage);
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
		case 'p':
			o.tcp = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(EXIT_USAGE);
		}
	}
	if (o.run == !!o.dev || (o.dev && optind != argc))
		usage_fail("either -i DEV or --run", usage);
	if (o.icmp && o.tcp)
		usage_fail("either --icmp or --tcp", usage);
	return o;
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

static int lines_set(const struct options *o, const struct floor_bpf *skel)
{
	uint32_t lines = o->array ? (uint32_t)(o->array / LINE_BYTES) : 1;

	skel->rodata->line_mask = lines - 1;
	return bpf_map__set_max_entries(skel->maps.lines, lines);
}

static int drop(const struct options *o, const struct floor_bpf *skel, const sigset_t *signals)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	const struct bpf_program *program =
		o->array ? skel->progs.floor_line : skel->progs.floor_lookup;
	int ifindex = (int)if_nametoindex(o->dev), link;

	if (!ifindex)
		return failed(o->dev, -ENODEV);
	link = bpf_link_create(bpf_program__fd(program), ifindex, BPF_XDP, &opts);
	if (link < 0)
		return failed(o->dev, -errno);
	fprintf(stderr, "floor: %s: attached\n", o->dev);
	sigwaitinfo(signals, NULL);
	return 0; /* the link ends with this process */
}

/* A packet from FIRST_SOURCE. Its checksums are not those of this source: no program asks. */
static void packet_build(const struct options *o, struct frame *frame)
{
	struct frame_spec spec = {.ipv6 = o->ipv6, .sport = 40000, .dport = 9};
	uint32_t source = htonl(FIRST_SOURCE);

	spec.proto = o->icmp ? FRAME_ICMP : o->tcp ? FRAME_TCP : FRAME_UDP;
	spec.tcp_flags = TH_ACK;
	spec.size = frame_bytes_min(&spec);
	inet_pton(o->ipv6 ? AF_INET6 : AF_INET, o->ipv6 ? "fd77::2" : "10.77.0.2", spec.dst);
	frame_build(frame, &spec);
	if (o->ipv6)
		inet_pton(AF_INET6, "2001:db8::1", frame->bytes + frame->source_at);
	else
		memcpy(frame->bytes + frame->source_at, &source, sizeof(source));
}

/* ---- programs in a loop */

/* One CPU's part of a measurement. */
struct loop {
	const struct frame *frame;
	int program, cpu; /* cpu -1: wherever it is */
	int repeat;
	pthread_t thread;
	pthread_barrier_t *start;
	double ns;
	uint32_t verdict;
	int err;
};

static int loop_pin(const struct loop *l)
{
	cpu_set_t set;

	if (l->cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)l->cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static void *loop_run(void *arg)
{
	struct loop *l = arg;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = l->frame->bytes,
		    .data_size_in = l->frame->size, .repeat = l->repeat);

	l->err = loop_pin(l);
	if (l->start)
		pthread_barrier_wait(l->start);
	if (!l->err && bpf_prog_test_run_opts(l->program, &opts))
		l->err = -errno;
	/* As the kernel counts it: the call takes milliseconds more for a program that is not
	 * attached, for which the XDP dispatcher is written anew. */
	l->ns = opts.duration;
	l->verdict = opts.retval;
	return NULL;
}

/* In `n` threads that start together; loop[0] gets their mean. */
static int loops_run(struct loop *loop, unsigned int n)
{
	pthread_barrier_t start;
	int err = -pthread_barrier_init(&start, NULL, n);

	for (unsigned int i = 0; i < n && !err; i++) {
		loop[i] = (struct loop){
			.frame = loop->frame,
			.program = loop->program,
			.repeat = loop->repeat,
		};
		loop[i].cpu = (int)i;
		loop[i].start = &start;
		/* those that have started wait at the barrier; the process ends with them */
		err = -pthread_create(&loop[i].thread, NULL, loop_run, &loop[i]);
	}
	if (err)
		return err;
	for (unsigned int i = 0; i < n; i++)
		pthread_join(loop[i].thread, NULL);
	for (unsigned int i = 1; i < n; i++) {
		loop->ns += loop[i].ns;
		loop->err = loop->err ?: loop[i].err;
	}
	loop->ns /= n;
	pthread_barrier_destroy(&start);
	return loop->err;
}

struct candidate {
	const char *name;
	int program;
	uint32_t verdict;
	double ns[SLICES_MAX];
};

static int slice_time(const struct options *o, const struct frame *frame, struct candidate *c,
		      uint64_t slice)
{
	struct loop loop[THREADS_MAX] = {{.frame = frame, .program = c->program, .cpu = -1}};
	int err;

	loop->repeat = REPEAT / (int)o->slices;
	if (o->threads) {
		err = loops_run(loop, (unsigned int)o->threads);
	} else {
		loop_run(loop);
		err = loop->err;
	}
	c->ns[slice] = loop->ns;
	c->verdict = loop->verdict;
	return err ? failed(c->name, err) : 0;
}

static int round_run(const struct options *o, const struct frame *frame, uint64_t round,
		     struct candidate *c, int count)
{
	int err = 0;

	for (uint64_t slice = 0; slice < o->slices; slice++)
		for (int i = 0; i < count && !err; i++)
			err = slice_time(o, frame, &c[i], slice);
	for (int i = 0; i < count && !err; i++)
		printf("%" PRIu64 " %s %.2f %u\n", round, c[i].name, lower_mean(c[i].ns, o->slices),
		       c[i].verdict);
	return err;
}

static int candidates_open(const struct floor_bpf *skel, struct candidate *c, char **ids, int count)
{
	c[0] = (struct candidate){"empty", bpf_program__fd(skel->progs.floor_empty), 0, {0}};
	c[1] = (struct candidate){"lookup", bpf_program__fd(skel->progs.floor_lookup), 0, {0}};
	for (int i = 2; i < count; i++) {
		c[i].name = ids[i - 2];
		c[i].program =
			bpf_prog_get_fd_by_id((uint32_t)number_of(c[i].name, UINT32_MAX, usage));
		if (c[i].program < 0)
			return failed(c[i].name, -errno);
	}
	return 0;
}

/* The loaded programs stay open until the process ends. */
static int run(const struct options *o, const struct floor_bpf *skel, char **ids, int id_count)
{
	static struct frame frame;
	int count = id_count + 2, err;
	struct candidate *c = calloc((size_t)count, sizeof(*c));

	if (!c)
		return failed("programs", -ENOMEM);
	packet_build(o, &frame);
	err = candidates_open(skel, c, ids, count);
	for (uint64_t round = 1; round <= o->rounds && !err; round++)
		err = round_run(o, &frame, round, c, count);
	free(c);
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
	err = lines_set(&o, skel) ?: floor_bpf__load(skel);
	if (!err)
		err = keys_fill(skel, o.keys);
	if (err)
		failed("cannot load the programs and their keys", err);
	else
		err = o.run ? run(&o, skel, argv + optind, argc - optind)
			    : drop(&o, skel, &signals);
	floor_bpf__destroy(skel);
	return err ? FAILED : 0;
}
