// SPDX-License-Identifier: GPL-2.0
/*
 * strangers: how long loaded programs take for a packet from a random source, by
 * BPF_PROG_TEST_RUN: strangers.bpf.c draws the source and makes a tail call. Programs take turns;
 * in its turn each is warmed up, for the others have taken the cache, and then measured in slices,
 * of which the faster half counts. It sends nothing and writes to no map of others.
 */
#include <getopt.h>
#include <inttypes.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include "frame.h"
#include "tool.h"
#include "strangers.skel.h"

enum { CANDIDATES_MAX = 64, SLICES_MAX = 100, PACKETS_MAX = 100000000 };
#define NETWORK UINT32_C(0x0a000000) /* 10.0.0.0/8 */

struct options {
	const char *dev;
	uint32_t rounds, slices, packets, warm, sources;
	struct frame_spec spec;
};

struct candidate {
	const char *name;
	int program;
	uint16_t dport;
	uint64_t packets;
	struct frame frame;
};

static const char *const usage =
	"usage: strangers [OPTIONS] NAME=ID[,DPORT] | FLOOR ...\n"
	"Prints \"ROUND NAME NS\" of each round, then \"packets NAME COUNT\" of all that it made.\n"
	"  NAME=ID[,DPORT]  a loaded XDP program; its packets go to DPORT (9)\n"
	"  FLOOR            bare, line, line_filter, look_up_udp or look_up_tcp\n"
	"  -i, --interface DEV  a device without traffic, to which our program stays attached: else the\n"
	"                   kernel writes its XDP dispatcher anew for each run, which takes long\n"
	"      --rounds N   turns of each (9)\n"
	"      --slices N   parts of a turn, of which the faster half counts (8)\n"
	"      --packets N  of a slice (50000)\n"
	"      --warm N     packets before the slices (100000)\n"
	"      --sources N  a power of two up to 16777216 (1)\n"
	"      --proto P    udp (the default), syn or ack\n"
	"  -h, --help       this text\n";

static const struct option long_options[] = {
	{"interface", required_argument, NULL, 'i'},
	{"rounds", required_argument, NULL, 'r'},
	{"slices", required_argument, NULL, 's'},
	{"packets", required_argument, NULL, 'p'},
	{"warm", required_argument, NULL, 'w'},
	{"sources", required_argument, NULL, 'n'},
	{"proto", required_argument, NULL, 'P'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static uint32_t sources_parse(const char *text)
{
	uint32_t n = number_of(text, 1u << 24, usage);

	if (n & (n - 1))
		usage_fail("--sources wants a power of two", usage);
	return n;
}

static void proto_parse(struct frame_spec *spec, const char *text)
{
	spec->proto = strcmp(text, "udp") ? FRAME_TCP : FRAME_UDP;
	if (!strcmp(text, "syn"))
		spec->tcp_flags = TH_SYN;
	else if (!strcmp(text, "ack"))
		spec->tcp_flags = TH_ACK;
	else if (spec->proto == FRAME_TCP)
		usage_fail("--proto wants udp, syn or ack", usage);
}

static struct options options_parse(int argc, char **argv)
{
	struct options o = {
		NULL, 9, 8, 50000, 100000, 1, {.sport = 40000, .size = FRAME_BYTES_MIN}};
	int c;

	inet_pton(AF_INET, "10.77.0.2", o.spec.dst);
	while ((c = getopt_long(argc, argv, "i:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'i':
			o.dev = optarg;
			break;
		case 'r':
			o.rounds = number_of(optarg, 1000, usage);
			break;
		case 's':
			o.slices = number_of(optarg, SLICES_MAX, usage);
			break;
		case 'p':
			o.packets = number_of(optarg, PACKETS_MAX, usage);
			break;
		case 'w':
			o.warm = number_of(optarg, PACKETS_MAX, usage);
			break;
		case 'n':
			o.sources = sources_parse(optarg);
			break;
		case 'P':
			proto_parse(&o.spec, optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(EXIT_USAGE);
		}
	}
	if (optind == argc || argc - optind > CANDIDATES_MAX)
		usage_fail("from 1 to 64 programs", usage);
	return o;
}

/* Its words are cut into pieces. It stays open until the process ends. */
static int candidate_open(const struct options *o, const struct strangers_bpf *skel, char *words,
			  struct candidate *c)
{
	char *id = strchr(words, '='), *dport = id ? strchr(id, ',') : NULL;
	struct frame_spec spec = o->spec;

	if (id)
		*id++ = 0;
	if (dport)
		*dport++ = 0;
	spec.dport = dport ? (uint16_t)number_of(dport, UINT16_MAX, usage) : 9;
	c->name = words;
	frame_build(&c->frame, &spec);
	c->program = id ? bpf_prog_get_fd_by_id(number_of(id, UINT32_MAX, usage))
			: bpf_program__fd(bpf_object__find_program_by_name(skel->obj, words));
	if (c->program < 0)
		return failed(words, id ? -errno : -ENOENT);
	return 0;
}

static int packets_run(const struct strangers_bpf *skel, struct candidate *c, uint32_t packets,
		       double *ns)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = c->frame.bytes,
		    .data_size_in = c->frame.size, .repeat = (int)packets);

	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.strangers), &opts))
		return failed(c->name, -errno);
	if (opts.retval != XDP_DROP && opts.retval != XDP_PASS)
		return failed(c->name, -EPROTO); /* no tail call, or the program fails */
	c->packets += packets;
	*ns = opts.duration; /* whole nanoseconds: another reason for several slices */
	return 0;
}

/* Round 0 only warms up. */
static int turn_run(const struct options *o, const struct strangers_bpf *skel, struct candidate *c,
		    uint32_t round)
{
	double ns[SLICES_MAX];
	uint32_t key = 0;
	int err = bpf_map_update_elem(bpf_map__fd(skel->maps.next), &key, &c->program, BPF_ANY);

	if (err)
		return failed(c->name, err);
	err = packets_run(skel, c, o->warm, ns);
	if (err || !round)
		return err;
	for (uint32_t i = 0; i < o->slices && !err; i++)
		err = packets_run(skel, c, o->packets, &ns[i]);
	if (!err)
		printf("%u %s %.2f\n", round, c->name, lower_mean(ns, o->slices));
	return err;
}

/* The link ends with this process. */
static int attach(const struct options *o, const struct strangers_bpf *skel)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	int ifindex = o->dev ? (int)if_nametoindex(o->dev) : 0;

	if (!o->dev)
		return 0;
	if (!ifindex)
		return failed(o->dev, -ENODEV);
	if (bpf_link_create(bpf_program__fd(skel->progs.strangers), ifindex, BPF_XDP, &opts) < 0)
		return failed(o->dev, -errno);
	return 0;
}

static int run(const struct options *o, const struct strangers_bpf *skel, char **words, int count)
{
	static struct candidate candidates[CANDIDATES_MAX];
	int err = attach(o, skel);

	for (int i = 0; i < count && !err; i++)
		err = candidate_open(o, skel, words[i], &candidates[i]);
	for (uint32_t round = 0; round <= o->rounds && !err; round++)
		for (int i = 0; i < count && !err; i++)
			err = turn_run(o, skel, &candidates[i], round);
	for (int i = 0; i < count && !err; i++)
		printf("packets %s %" PRIu64 "\n", candidates[i].name, candidates[i].packets);
	return err;
}

int main(int argc, char **argv)
{
	struct options o = options_parse(argc, argv);
	struct strangers_bpf *skel = strangers_bpf__open();
	int err;

	if (!skel)
		return failed("cannot open the programs", -errno), FAILED;
	skel->rodata->source_mask = o.sources - 1;
	skel->rodata->first_source =
		NETWORK | (o.sources == 1); /* a network's own address is none */
	err = strangers_bpf__load(skel);
	if (err)
		failed("cannot load the programs", err);
	else
		err = run(&o, skel, argv + optind, argc - optind);
	strangers_bpf__destroy(skel);
	return err ? FAILED : 0;
}
