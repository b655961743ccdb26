// SPDX-License-Identifier: GPL-2.0-only
/* The instructions that a filter becomes do what libpcap's interpreter does with classic BPF: on
 * the same packets, cut off anywhere, by each of the ways to read what was not copied.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cases.h"
#include "expression.h"
#include "filter_oracle.h"
#include "frame.h"
#include "kernel/policy/filter_code.h"
#include "random.h"

#define EXPRESSION_MAX 256
#define PROGRAMS       10
#define START          14 /* the IP header's place in the frames */
#define PACKET_MAX     600
#define CODE_MAX       (RL_FILTER_STEPS + 16)

static const char *const frames[] = {
	"ip4 udp=1000>53 data=20",
	"ip4=10.1.2.3>192.0.2.1 udp=53>4000 query",
	"ip4 options=12 tcp=1000>80 syn",
	"ip4 tcp=40000>443 data=400",
	"ip4 options=40 udp=1000>53 data=300",
	"ip4 icmp data=100",
	"ip4 frag=64 udp=1>2 data=60",
	"ip4 frag=0+ udp=1000>53 data=60",
	"ip4 gre data=64",
	"ip4 sctp=1000>80 data=30",
	"ip6 udp=1000>53 data=20",
	"ip6 tcp=1000>80 syn",
	"ip6=2001:db8::1>2001:db8::2 icmp6 data=300",
	"ip6 hop tcp=1000>80 data=10",
	"ip6 frag=0+ udp=1000>53 data=50",
	"ip6 sctp=1000>80 data=500",
};

/* The function's caller: the view is the map's element, which the test fills in. */
struct bed {
	struct rl_filter_view *view;
	int map_fd;
};

static struct bed bed_open(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct bed bed;

	bed.map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "view", 4, sizeof(*bed.view), 1, &opts);
	assert_true(bed.map_fd >= 0);
	bed.view = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, bed.map_fd, 0);
	assert_true(bed.view != MAP_FAILED);
	return bed;
}

static void bed_close(struct bed *bed)
{
	munmap(bed->view, 4096);
	close(bed->map_fd);
}

static int program_load(const struct bed *bed, enum filter_loads loads,
			const struct filter_program filters[RL_FILTERS_MAX])
{
	static const struct bpf_insn head[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
		{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
		{.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD},
		{0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
		{.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 0, .off = 1},
		{.code = BPF_JMP | BPF_EXIT},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 0},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	static struct bpf_insn code[CODE_MAX];
	static char log[1 << 20];
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	int count = filter_code_make(filters, loads, code + ARRAY_SIZE(head)), fd;
	enum bpf_prog_type type =
		loads == FILTER_LOADS_XDP ? BPF_PROG_TYPE_XDP : BPF_PROG_TYPE_SCHED_CLS;

	assert_true(count > 0);
	memcpy(code, head, sizeof(head));
	code[4].imm = bed->map_fd;
	fd = bpf_prog_load(type, "filters", "GPL", code, ARRAY_SIZE(head) + count, &opts);
	if (fd >= 0)
		return fd;
	opts.log_buf = log;
	opts.log_size = sizeof(log);
	opts.log_level = 1;
	bpf_prog_load(type, "filters", "GPL", code, ARRAY_SIZE(head) + count, &opts);
	fail_msg("%s", log + (strlen(log) > 2000 ? strlen(log) - 2000 : 0));
	return -1;
}

/* The bits of the filters that hold for the packet. */
static uint32_t program_run(const struct bed *bed, int fd, enum filter_loads loads,
			    const uint8_t *frame, uint32_t bytes)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = START + bytes);
	struct rl_filter_view *view = bed->view;
	uint32_t copied = bytes < RL_FILTER_BYTES ? bytes : RL_FILTER_BYTES;

	memset(view->bytes, 0xa5, sizeof(view->bytes)); /* of a packet before */
	memcpy(view->bytes, frame + START, copied);
	view->room = bytes;
	view->length = bytes;
	view->start = loads == FILTER_LOADS_SKB_NETWORK ? 0 : START;
	view->found = 0;
	assert_int_equal(bpf_prog_test_run_opts(fd, &opts), 0);
	assert_int_equal(opts.retval, view->found);
	return opts.retval;
}

/* One of the frames, some bytes of it changed, cut off behind the part that the parser asks for. */
static uint32_t packet_draw(uint8_t out[START + PACKET_MAX], uint64_t *seed)
{
	static struct frame frame;
	uint32_t least, bytes;

	frame_build(&frame, frames[random_under(seed, ARRAY_SIZE(frames))]);
	least = (frame.bytes[START] >> 4) == 4 ? RL_FILTER_LEAST : 40;
	bytes = frame.size - START;
	assert_in_range(bytes, least, PACKET_MAX);
	memcpy(out, frame.bytes, frame.size);
	for (uint64_t i = random_under(seed, 4); i > 0; i--)
		out[START + 1 + random_under(seed, bytes - 1)] = (uint8_t)random_next(seed);
	if (!random_under(seed, 3))
		bytes = least + random_under(seed, bytes - least + 1);
	return bytes;
}

static void filters_draw(struct filter_program filters[RL_FILTERS_MAX],
			 char texts[RL_FILTERS_MAX][EXPRESSION_MAX], uint64_t *seed)
{
	char error[FILTER_ERROR_MAX];

	for (int i = 0; i < RL_FILTERS_MAX;) {
		expression_draw(texts[i], EXPRESSION_MAX, seed);
		if (!filter_compile(texts[i], &filters[i], error))
			i++;
	}
}

/* Sums of how often filters held, so that it is seen that some do and some do not. */
static void packets_compare(const struct bed *bed, int fd, enum filter_loads loads,
			    char texts[RL_FILTERS_MAX][EXPRESSION_MAX], uint64_t *seed,
			    uint64_t held[2])
{
	struct filter_oracle *oracle[RL_FILTERS_MAX];
	uint8_t packet[START + PACKET_MAX];

	for (int i = 0; i < RL_FILTERS_MAX; i++)
		oracle[i] = filter_oracle_open(texts[i]);
	for (int n = 0; n < 100; n++) {
		uint32_t bytes = packet_draw(packet, seed);
		uint32_t found = program_run(bed, fd, loads, packet, bytes);

		for (int i = 0; i < RL_FILTERS_MAX; i++) {
			bool holds = filter_oracle_holds(oracle[i], packet + START, bytes);

			held[holds]++;
			if (holds != (found >> i & 1))
				fail_msg("\"%s\": %u bytes, libpcap says %d", texts[i], bytes,
					 holds);
		}
	}
	for (int i = 0; i < RL_FILTERS_MAX; i++)
		filter_oracle_close(oracle[i]);
}

static void compare(enum filter_loads loads, uint64_t seed)
{
	static char texts[RL_FILTERS_MAX][EXPRESSION_MAX];
	struct filter_program filters[RL_FILTERS_MAX];
	uint64_t held[2] = {0};
	struct bed bed = bed_open();

	for (int n = 0; n < PROGRAMS; n++) {
		int fd;

		filters_draw(filters, texts, &seed);
		fd = program_load(&bed, loads, filters);
		packets_compare(&bed, fd, loads, texts, &seed, held);
		close(fd);
		for (int i = 0; i < RL_FILTERS_MAX; i++)
			filter_program_clear(&filters[i]);
	}
	bed_close(&bed);
	assert_true(held[0] > PROGRAMS * 500 && held[1] > PROGRAMS * 500);
}

TEST(by_xdp)
{
	compare(FILTER_LOADS_XDP, 11);
}

TEST(by_skb)
{
	compare(FILTER_LOADS_SKB, 12);
}

TEST(by_skb_network)
{
	compare(FILTER_LOADS_SKB_NETWORK, 13);
}
