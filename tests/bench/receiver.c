// SPDX-License-Identifier: GPL-2.0
/*
 * receiver: counts what arrives at a device in a minimal native XDP program, and says so as JSON
 * when it is interrupted or its time is up. The program hangs on a link held by this process: it
 * goes however we end.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "tool.h"
#include "veth.h"
#include "receiver.skel.h"

enum mode { MODE_DROP, MODE_PASS, MODE_BARE };

struct options {
	const char *dev;
	enum mode mode;
	long seconds; /* 0: until a signal */
};

struct count {
	uint64_t packets, bytes;
};

static const char *const usage =
	"usage: receiver -i DEV [--drop|--pass|--bare] [--seconds S]\n"
	"Counts the packets that arrive at DEV in a native XDP program until SIGINT, SIGTERM or S "
	"seconds,\n"
	"then prints {\"device\",\"mode\",\"packets\",\"bytes\",\"seconds\"} and detaches.\n"
	"  -i, --interface DEV  where to count\n"
	"      --drop           count and drop (the default)\n"
	"      --pass           count and pass on to the stack\n"
	"      --bare           drop without counting; the numbers are then the veth driver's own\n"
	"      --seconds S      stop by itself after S seconds\n"
	"  -h, --help           this text\n"
	"Says \"receiver: DEV: attached\" on stderr once the program is in place.\n";

static const struct option long_options[] = {
	{"interface", required_argument, NULL, 'i'},
	{"drop", no_argument, NULL, 'd'},
	{"pass", no_argument, NULL, 'p'},
	{"bare", no_argument, NULL, 'b'},
	{"seconds", required_argument, NULL, 's'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static long seconds_parse(const char *text)
{
	uint64_t n = number_read(text, 86400);

	if (!n)
		usage_fail("--seconds wants a number from 1 to 86400", usage);
	return n;
}

static struct options options_parse(int argc, char **argv)
{
	struct options o = {};
	int c;

	while ((c = getopt_long(argc, argv, "i:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			o.dev = optarg;
			break;
		case 'd':
			o.mode = MODE_DROP;
			break;
		case 'p':
			o.mode = MODE_PASS;
			break;
		case 'b':
			o.mode = MODE_BARE;
			break;
		case 's':
			o.seconds = seconds_parse(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(EXIT_USAGE);
		}
	}
	if (!o.dev || optind != argc)
		usage_fail(o.dev ? "too many words" : "which device? -i DEV", usage);
	return o;
}

static int device_failed(const char *dev, const char *what, int err)
{
	fprintf(stderr, "receiver: %s: %s: %s\n", dev, what, strerror(-err));
	return err;
}

static struct bpf_program *program_of(struct receiver_bpf *skel, enum mode mode)
{
	switch (mode) {
	case MODE_PASS:
		return skel->progs.receiver_pass;
	case MODE_BARE:
		return skel->progs.receiver_bare;
	default:
		return skel->progs.receiver_drop;
	}
}

/* Returns the descriptor of the link; closing it detaches the program. */
static int program_attach(const char *dev, int prog_fd)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	int ifindex = (int)if_nametoindex(dev);
	__u32 present = 0;
	int fd;

	if (!ifindex)
		return device_failed(dev, "cannot attach", -ENODEV);
	if (!bpf_xdp_query_id(ifindex, 0, &present) && present) {
		fprintf(stderr,
			"receiver: %s: XDP program %u is already attached; detach it first\n", dev,
			present);
		return -EBUSY;
	}
	fd = bpf_link_create(prog_fd, ifindex, BPF_XDP, &opts);
	return fd < 0 ? device_failed(dev, "cannot attach in native mode", -errno) : fd;
}

/* In NAPI mode the driver counts the packets its XDP program saw, at no cost to a bare drop. */
static struct count driver_count(const char *dev)
{
	struct count count = {};

	if (veth_counter_sum(dev, "rx_queue_", "_xdp_packets", &count.packets) ||
	    veth_counter_sum(dev, "rx_queue_", "_xdp_bytes", &count.bytes))
		fprintf(stderr, "receiver: %s: no XDP counters in this driver: --bare counts 0\n",
			dev);
	return count;
}

static struct count program_count(const struct receiver_bpf *skel)
{
	int cpus = libbpf_num_possible_cpus();
	struct count sum = {}, each[cpus > 0 ? cpus : 1];
	__u32 key = 0;

	if (cpus <= 0 || bpf_map_lookup_elem(bpf_map__fd(skel->maps.counts), &key, each))
		return sum;
	for (int i = 0; i < cpus; i++) {
		sum.packets += each[i].packets;
		sum.bytes += each[i].bytes;
	}
	return sum;
}

/* Waits for the end and returns how long that took, in seconds. */
static double end_wait(const sigset_t *signals, long seconds)
{
	struct timespec from, to, limit = {.tv_sec = seconds};

	clock_gettime(CLOCK_MONOTONIC, &from);
	if (seconds)
		sigtimedwait(signals, NULL, &limit);
	else
		sigwaitinfo(signals, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

static int receive(const struct options *o, struct receiver_bpf *skel, const sigset_t *signals)
{
	static const char *const names[] = {"drop", "pass", "bare"};
	int link = program_attach(o->dev, bpf_program__fd(program_of(skel, o->mode)));
	struct count before = {}, count;
	double seconds;

	if (link < 0)
		return link;
	if (o->mode == MODE_BARE)
		before = driver_count(o->dev);
	fprintf(stderr, "receiver: %s: attached\n", o->dev);
	seconds = end_wait(signals, o->seconds);
	count = o->mode == MODE_BARE ? driver_count(o->dev) : program_count(skel);
	printf("{\"device\":\"%s\",\"mode\":\"%s\",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64
	       ",\"seconds\":%.3f}\n",
	       o->dev, names[o->mode], count.packets - before.packets, count.bytes - before.bytes,
	       seconds);
	close(link);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	struct receiver_bpf *skel;
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	skel = receiver_bpf__open_and_load();
	if (!skel) {
		device_failed(o.dev, "cannot load the programs", -errno);
		return FAILED;
	}
	err = receive(&o, skel, &signals);
	receiver_bpf__destroy(skel);
	return err ? FAILED : 0;
}
