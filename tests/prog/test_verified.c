// SPDX-License-Identifier: GPL-2.0-only
/* How far this kernel's verifier has to go: each program within its million of steps, with some to
 * spare for what a newer compiler makes of it. The steps are told as comments.
 */
#include <inttypes.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/attach/features.h"
#include "harness.h"
#include "rlctl.skel.h"
#include "sent.skel.h"

/* of the kernel's 1,000,000; before Linux 6.8 it follows functions that nothing calls, too */
#define STEPS_MAX     400000
#define STEPS_MAX_6_7 750000

/* As many as there may be, of many ways and loads. */
#define LOADS(n)                                                                              \
	"(tcp[12 + " #n "] & 0xf0) >> 2 > udp[8 + tcp[" #n "] * 2:4] % 7 or (ip6[" #n         \
	"] = len and "                                                                        \
	"port " #n ") or net 10." #n ".0.0/16 or icmp[ip[" #n "]:2] != ip[2:2] - 20 or host " \
	"2001:db8::" #n
#define LOADS_4(n) LOADS(n), LOADS(1##n), LOADS(2##n), LOADS(3##n)
static const char *const most_filters[] = {LOADS_4(1), LOADS_4(2), LOADS_4(3),
					   LOADS_4(4), LOADS_4(5), LOADS_4(6),
					   LOADS_4(7), LOADS_4(8), NULL};

static const struct row {
	const char *name;
	enum rl_hook hook;
	enum rl_table table;
	uint32_t mtu;
	uint64_t uses;
	enum rl_proof proof;
	const char *const *filters;
} rows[] = {
	{"xdp", RL_HOOK_XDP, RL_TABLE_HOT, 1500, 0, RL_PROOF_SOCKETS, NULL},
	{"xdp, jumbo frames", RL_HOOK_XDP, RL_TABLE_HOT, 9000, 0, RL_PROOF_SOCKETS, NULL},
	{"xdp, exact keys", RL_HOOK_XDP, RL_TABLE_LRU, 1500, 0, RL_PROOF_SOCKETS, NULL},
	{"ingress", RL_HOOK_INGRESS, RL_TABLE_HOT, 1500, 0, RL_PROOF_SOCKETS, NULL},
	{"egress", RL_HOOK_EGRESS, RL_TABLE_HOT, 1500, 0, RL_PROOF_SOCKETS, NULL},
	{"xdp, established", RL_HOOK_XDP, RL_TABLE_HOT, 1500, RL_USE_PROOF | RL_USE_ASKED,
	 RL_PROOF_SOCKETS, NULL},
	{"xdp, everything", RL_HOOK_XDP, RL_TABLE_HOT, 1500, RL_USE_PROGRAM, RL_PROOF_SOCKETS,
	 NULL},
	{"xdp, everything, jumbo frames", RL_HOOK_XDP, RL_TABLE_HOT, 9000, RL_USE_PROGRAM,
	 RL_PROOF_SOCKETS, NULL},
	{"xdp, everything, exact keys", RL_HOOK_XDP, RL_TABLE_LRU, 1500, RL_USE_PROGRAM,
	 RL_PROOF_SOCKETS, NULL},
	{"ingress, everything", RL_HOOK_INGRESS, RL_TABLE_HOT, 1500, RL_USE_PROGRAM,
	 RL_PROOF_SOCKETS, NULL},
	{"egress, everything", RL_HOOK_EGRESS, RL_TABLE_HOT, 1500, RL_USE_PROGRAM, RL_PROOF_SOCKETS,
	 NULL},
	{"xdp, filters", RL_HOOK_XDP, RL_TABLE_HOT, 1500, RL_USE_FILTERS | RL_USE_EXTRAS,
	 RL_PROOF_SOCKETS, most_filters},
	{"ingress, everything, filters", RL_HOOK_INGRESS, RL_TABLE_HOT, 1500, RL_USE_PROGRAM,
	 RL_PROOF_SOCKETS, most_filters},
	{"xdp, connection tracking", RL_HOOK_XDP, RL_TABLE_HOT, 9000, RL_USE_PROOF,
	 RL_PROOF_CONNTRACK, NULL},
	{"xdp, connection tracking, everything", RL_HOOK_XDP, RL_TABLE_HOT, 9000, RL_USE_PROGRAM,
	 RL_PROOF_CONNTRACK, NULL},
	{"egress, connection tracking", RL_HOOK_EGRESS, RL_TABLE_HOT, 1500, RL_USE_PROGRAM,
	 RL_PROOF_CONNTRACK, NULL},
};

static uint32_t steps_max(void)
{
	unsigned int major, minor;
	struct utsname name;

	assert_int_equal(uname(&name), 0);
	assert_int_equal(sscanf(name.release, "%u.%u", &major, &minor), 2);
	return major > 6 || (major == 6 && minor > 7) ? STEPS_MAX : STEPS_MAX_6_7;
}

static void steps_within(const char *name, int program_fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(program_fd, &info, &size), 0);
	printf("# %s: %u steps\n", name, info.verified_insns);
	assert_in_range(info.verified_insns, 1, steps_max());
}

ROWS(within_steps, rows, row)
{
	struct harness_options options = {
		.hook = row->hook,
		.table = row->table,
		.mtu = row->mtu,
		.program_uses = row->uses,
		.proof = row->proof,
		.filters = row->filters,
		.real_time = true, /* what is loaded on a device */
	};
	struct harness *h;

	if (row->proof == RL_PROOF_CONNTRACK && conntrack_read() < CONNTRACK_EMPTY)
		skip(); /* no kernel of these tests is without it but by choice */
	h = harness_must_open(&options);
	steps_within(row->name, h->program_fd);
	if (h->companion)
		steps_within("its companion", bpf_program__fd(h->companion->progs.rlctl_sent));
	harness_close(h);
}

/* ---- programs without most of their code, and without its maps */

static const uint64_t alone[] = {
	0,
	RL_USE_HOT,
	RL_USE_SOURCES,
	RL_USE_PREFIXES,
	RL_USE_PARTS,
	RL_USE_STATES,
	RL_USE_STATES | RL_USE_FLEET,
	RL_USE_FLOWS,
	RL_USE_WINDOWS,
	RL_USE_LOGS,
	RL_USE_NEW_SOURCE,
	RL_USE_FLOWS | RL_USE_WINDOWS,
	RL_USE_FLOWS | RL_USE_LOGS,
	RL_USE_WINDOWS | RL_USE_LOGS | RL_USE_FLEET,
	RL_USE_PROOF,
	RL_USE_PROOF | RL_USE_ASKED,
	RL_USE_CHALLENGE,
	RL_USE_TRUNCATE,
	RL_USE_EXTRAS,
	RL_USE_EXTRAS | RL_USE_PAYLOAD,
	RL_USE_INDEX,
	RL_USE_KEY_PARTS,
	RL_USE_VLANS,
	RL_USE_KEY_PARTS | RL_USE_VLANS,
	RL_USE_SET_RULES,
	RL_USE_SET_RULES | RL_USE_KEY_PARTS | RL_USE_MEMBER_KEYS,
	RL_USE_KEY_PARTS | RL_USE_ACCOUNTS,
	RL_USE_ALARMS,
	RL_USE_ALARMS | RL_USE_NEW_SOURCE | RL_USE_KNOWN_BY,
	RL_USE_MANUAL,
	RL_USE_MANUAL | RL_USE_NEW_SOURCE | RL_USE_KNOWN_BY,
	RL_USE_ANY_ALARMS,
};

/* The compiler must not name a map before the constant that says whether it is there. */
static const struct {
	const char *name;
	struct harness_options options;
} programs[] = {
	{"alone, xdp", {.hook = RL_HOOK_XDP}},
	{"alone, exact keys", {.table = RL_TABLE_LRU}},
	{"alone, a CPU's keys", {.table = RL_TABLE_CPU}},
	{"alone, egress", {.hook = RL_HOOK_EGRESS}},
};

ROWS(alone_test, programs, row)
{
	for (size_t i = 0; i < ARRAY_SIZE(alone); i++) {
		struct harness_options these = row->options;
		struct harness *h;

		these.only_uses = these.real_time = true;
		these.program_uses = alone[i];
		h = harness_open(&these);
		if (!h)
			fail_msg("uses %#" PRIx64, alone[i]);
		harness_close(h);
	}
}
