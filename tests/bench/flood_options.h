/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of flood: words to options, complete and checked against each other. Asks the
 * kernel nothing.
 */
#pragma once

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "frame.h"

enum { FAILED = 1, EXIT_USAGE = 2 };
enum { THREADS_MAX = 64, BATCH_MAX = 256 };

struct options {
	const char *dev, *timeline;
	struct frame_spec spec;
	uint8_t src[16];
	int src_family, dst_family;
	unsigned int src_length; /* of the prefix; UINT_MAX: a single address */
	bool smac, dmac, ports, sequential, json;
	uint64_t count, seconds, rate, seed, threads, batch;
	int cpu; /* of the first thread, -1: any */
};

static const char *const usage =
	"usage: flood -i DEV --count N | --seconds S [OPTIONS]\n"
	"Sends frames into the veth DEV; they arrive at its peer as if from a wire.\n"
	"  -i, --interface DEV  a veth; its peer needs an XDP program or `ethtool -K PEER gro on`\n"
	"      --count N        stop after N frames\n"
	"      --seconds S      stop after S seconds\n"
	"      --rate PPS       spread evenly in small batches; 0 (the default) is full speed\n"
	"      --src ADDR[/LEN] the source, or random sources in the prefix (10.77.0.1, fd77::1)\n"
	"      --sequential     sources counted up from ADDR, round in the prefix; an IPv6 prefix\n"
	"                       shorter than 64 bits is counted by /64\n"
	"      --seed N         another sequence of random sources and ports\n"
	"      --dst ADDR       the destination (10.77.0.2, fd77::2)\n"
	"      --proto P        udp (the default), icmp (echo request), dns (a query over UDP), or TCP\n"
	"                       with these flags:\n"
	"                       tcp-syn, tcp-syn-ack, tcp-ack, tcp-rst, tcp-fin, tcp-xmas, tcp-null\n"
	"      --sport N        source port (40000); 0 is a random one for each frame\n"
	"      --dport N        destination port (9)\n"
	"      --size BYTES     of the frame without FCS (60, IPv6 62, IPv6 TCP 74; up to 3328)\n"
	"      --smac MAC       (DEV's)\n"
	"      --dmac MAC       (its peer's, whichever namespace that is in)\n"
	"      --threads N      one for each CPU; DEV's peer should have as many receive queues\n"
	"      --cpu N          stay on CPU N, further threads on those after it (by default on\n"
	"                       the CPU it starts on, several threads on CPU 0 and after)\n"
	"      --batch N        frames for each flush, 1 to 256 (64)\n"
	"      --timeline FILE  when how many frames were made, by one thread, for 8 s at most:\n"
	"                       lines \"FROM TO FRAMES\", in nanoseconds of CLOCK_MONOTONIC\n"
	"  -j, --json           {\"sent\",\"failed\",\"seconds\",\"pps\",\"exact\"}\n"
	"  -h, --help           this text\n"
	"sent: taken by the peer; failed: refused, as by a full ring; exact: false if the "
	"driver's\n"
	"counters disagree, as when threads share a queue; sent may then include other traffic.\n";

enum {
	OPT_COUNT = 256,
	OPT_SECONDS,
	OPT_RATE,
	OPT_SRC,
	OPT_SEQUENTIAL,
	OPT_SEED,
	OPT_DST,
	OPT_PROTO,
	OPT_SPORT,
	OPT_DPORT,
	OPT_SIZE,
	OPT_SMAC,
	OPT_DMAC,
	OPT_CPU,
	OPT_THREADS,
	OPT_BATCH,
	OPT_TIMELINE
};

static const struct option long_options[] = {
	{"interface", required_argument, NULL, 'i'},
	{"count", required_argument, NULL, OPT_COUNT},
	{"seconds", required_argument, NULL, OPT_SECONDS},
	{"rate", required_argument, NULL, OPT_RATE},
	{"src", required_argument, NULL, OPT_SRC},
	{"sequential", no_argument, NULL, OPT_SEQUENTIAL},
	{"seed", required_argument, NULL, OPT_SEED},
	{"dst", required_argument, NULL, OPT_DST},
	{"proto", required_argument, NULL, OPT_PROTO},
	{"sport", required_argument, NULL, OPT_SPORT},
	{"dport", required_argument, NULL, OPT_DPORT},
	{"size", required_argument, NULL, OPT_SIZE},
	{"smac", required_argument, NULL, OPT_SMAC},
	{"dmac", required_argument, NULL, OPT_DMAC},
	{"cpu", required_argument, NULL, OPT_CPU},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"batch", required_argument, NULL, OPT_BATCH},
	{"timeline", required_argument, NULL, OPT_TIMELINE},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static void wrong_words(const char *option, const char *what)
{
	fprintf(stderr, "flood: %s: %s (flood --help)\n", option, what);
	exit(EXIT_USAGE);
}

static uint64_t number_parse(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char *end, what[80];
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && n >= min && n <= max)
		return n;
	snprintf(what, sizeof(what), "not a number from %" PRIu64 " to %" PRIu64, min, max);
	wrong_words(option, what);
	return 0;
}

static int address_parse(const char *option, const char *text, uint8_t *address)
{
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, text, address) != 1)
		wrong_words(option, "not an IPv4 or IPv6 address");
	return family;
}

static void source_parse(struct options *o, const char *text)
{
	char address[INET6_ADDRSTRLEN + 1];
	const char *slash = strchrnul(text, '/');

	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	o->src_family = address_parse("--src", address, o->src);
	if (*slash)
		o->src_length = (unsigned int)number_parse("--src", slash + 1, 0,
							   o->src_family == AF_INET6 ? 128 : 32);
}

static void mac_parse(const char *option, const char *text, uint8_t *mac)
{
	int used = 0;

	if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2],
		   &mac[3], &mac[4], &mac[5], &used) != 6 ||
	    text[used])
		wrong_words(option, "not a MAC address");
}

static void proto_parse(const char *text, struct frame_spec *spec)
{
	static const struct {
		const char *name;
		enum frame_proto proto;
		uint8_t tcp_flags;
	} rows[] = {
		{"udp", FRAME_UDP, 0},          {"icmp", FRAME_ICMP, 0},
		{"tcp-syn", FRAME_TCP, TH_SYN}, {"tcp-syn-ack", FRAME_TCP, TH_SYN | TH_ACK},
		{"tcp-ack", FRAME_TCP, TH_ACK}, {"tcp-rst", FRAME_TCP, TH_RST},
		{"tcp-fin", FRAME_TCP, TH_FIN}, {"tcp-xmas", FRAME_TCP, TH_FIN | TH_PUSH | TH_URG},
		{"tcp-null", FRAME_TCP, 0},     {"dns", FRAME_DNS, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(text, rows[i].name)) {
			spec->proto = rows[i].proto;
			spec->tcp_flags = rows[i].tcp_flags;
			return;
		}
	wrong_words("--proto",
		    "one of udp, icmp, dns, tcp-syn, tcp-syn-ack, tcp-ack, tcp-rst, tcp-fin, "
		    "tcp-xmas, tcp-null");
}

static void frame_option_parse(struct options *o, int c)
{
	switch (c) {
	case OPT_SRC:
		source_parse(o, optarg);
		break;
	case OPT_DST:
		o->dst_family = address_parse("--dst", optarg, o->spec.dst);
		break;
	case OPT_PROTO:
		proto_parse(optarg, &o->spec);
		break;
	case OPT_SPORT:
		o->spec.sport = (uint16_t)number_parse("--sport", optarg, 0, 65535);
		o->ports = true;
		break;
	case OPT_DPORT:
		o->spec.dport = (uint16_t)number_parse("--dport", optarg, 0, 65535);
		o->ports = true;
		break;
	case OPT_SIZE:
		o->spec.size = (uint32_t)number_parse("--size", optarg, 1, FRAME_BYTES_MAX);
		break;
	case OPT_SMAC:
		mac_parse("--smac", optarg, o->spec.smac);
		o->smac = true;
		break;
	case OPT_DMAC:
		mac_parse("--dmac", optarg, o->spec.dmac);
		o->dmac = true;
		break;
	default: /* getopt has printed the error */
		exit(EXIT_USAGE);
	}
}

static void option_parse(struct options *o, int c)
{
	switch (c) {
	case 'i':
		o->dev = optarg;
		break;
	case 'j':
		o->json = true;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case OPT_COUNT:
		o->count = number_parse("--count", optarg, 1, UINT64_C(1) << 40);
		break;
	case OPT_SECONDS:
		o->seconds = number_parse("--seconds", optarg, 1, 86400);
		break;
	case OPT_RATE:
		o->rate = number_parse("--rate", optarg, 0, 1000000000);
		break;
	case OPT_SEQUENTIAL:
		o->sequential = true;
		break;
	case OPT_SEED:
		o->seed = number_parse("--seed", optarg, 0, UINT64_MAX);
		break;
	case OPT_CPU:
		o->cpu = (int)number_parse("--cpu", optarg, 0, CPU_SETSIZE - 1);
		break;
	case OPT_THREADS:
		o->threads = number_parse("--threads", optarg, 1, THREADS_MAX);
		break;
	case OPT_BATCH:
		o->batch = number_parse("--batch", optarg, 1, BATCH_MAX);
		break;
	case OPT_TIMELINE:
		o->timeline = optarg;
		break;
	default:
		frame_option_parse(o, c);
	}
}

static void addresses_complete(struct options *o)
{
	int family = o->src_family ?: o->dst_family ?: AF_INET;
	unsigned int bits = family == AF_INET6 ? 128 : 32;

	if (o->src_family && o->dst_family && o->src_family != o->dst_family)
		wrong_words("--dst", "not of the family of --src");
	o->spec.ipv6 = family == AF_INET6;
	if (!o->src_family)
		inet_pton(family, o->spec.ipv6 ? "fd77::1" : "10.77.0.1", o->src);
	if (!o->dst_family)
		inet_pton(family, o->spec.ipv6 ? "fd77::2" : "10.77.0.2", o->spec.dst);
	if (o->src_length > bits)
		o->src_length = bits;
}

static void options_complete(struct options *o)
{
	char what[40];

	if (!o->dev)
		wrong_words("-i", "which device?");
	if (!o->count == !o->seconds)
		wrong_words("--count", "give either --count or --seconds");
	if (o->spec.proto == FRAME_ICMP && o->ports)
		wrong_words("--proto", "icmp has no ports");
	if (o->count && o->count < o->threads)
		wrong_words("--threads", "more than there are frames to send");
	if (o->rate && o->rate < o->threads)
		wrong_words("--threads", "more than there are frames per second to send");
	if ((o->cpu < 0 ? 0 : o->cpu) + (int)o->threads > get_nprocs_conf())
		wrong_words("--cpu", "this machine has fewer CPUs");
	if (o->timeline && o->threads > 1)
		wrong_words("--timeline", "of one thread only");
	addresses_complete(o);
	if (!o->spec.size)
		o->spec.size = frame_bytes_min(&o->spec);
	snprintf(what, sizeof(what), "these frames need %u bytes", frame_bytes_min(&o->spec));
	if (o->spec.size < frame_bytes_min(&o->spec))
		wrong_words("--size", what);
}

static struct options options_parse(int argc, char **argv)
{
	struct options o = {.cpu = -1, .seed = 1, .threads = 1, .batch = 64};
	int c;

	o.src_length = UINT_MAX;
	o.spec.sport = 40000;
	o.spec.dport = 9;
	while ((c = getopt_long(argc, argv, "i:jh", long_options, NULL)) != -1)
		option_parse(&o, c);
	if (optind != argc)
		wrong_words(argv[optind], "one word too many");
	options_complete(&o);
	return o;
}
