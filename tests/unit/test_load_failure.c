// SPDX-License-Identifier: GPL-2.0-only
/* Messages when the kernel refused a map or a program: one test per row, by the text of the line.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <bpf/libbpf.h>
#include "cases.h"
#include "kernel/attach/object.h"
#include "kernel/failures.h"
#include "rlctl.skel.h"

/* ---- words */

#define TOO_OLD ": use Linux 6.1 or later"

static const struct words_row {
	const char *name;
	struct load_failure failure;
	const char *words;
} rows[] = {
	{"words: a helper that is newer",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .error = -EINVAL,
	  .release = "5.15.0-91-generic",
	  .missing = {{"helper", "xdp_load_bytes"}},
	  .count = 1},
	 "Linux 5.15.0-91-generic has no helper xdp_load_bytes (since Linux 5.18): --hook ingress "
	 "does not need it, or use a distribution's kernel, Linux 6.1 or later"},
	{"words: two that the same hook does not need",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .error = -EINVAL,
	  .release = "5.15",
	  .missing = {{"helper", "xdp_load_bytes"}, {"helper", "xdp_get_buff_len"}},
	  .count = 2},
	 "Linux 5.15 has no helper xdp_load_bytes (since Linux 5.18), no helper xdp_get_buff_len "
	 "(since Linux 5.18): --hook ingress does not need it, or use a distribution's kernel, "
	 "Linux 6.1 or later"},
	{"words: two that every hook needs",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .error = -EINVAL,
	  .release = "5.4.0",
	  .missing = {{"helper", "xdp_load_bytes"}, {"map type", "ringbuf"}},
	  .count = 2},
	 "Linux 5.4.0 has no helper xdp_load_bytes (since Linux 5.18), no map type ringbuf (since "
	 "Linux 5.8): use a distribution's kernel, Linux 6.1 or later"},
	{"words: at egress",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .hook = RL_HOOK_EGRESS,
	  .error = -EINVAL,
	  .release = "5.17.0",
	  .missing = {{"helper", "skb_set_tstamp"}},
	  .count = 1},
	 "Linux 5.17.0 has no helper skb_set_tstamp (since Linux 5.18): --hook ingress and --hook "
	 "xdp do not need it, or use a distribution's kernel, Linux 6.1 or later"},
	{"words: new enough, but left out",
	 {.stage = LOAD_STAGE_MAPS,
	  .error = -EINVAL,
	  .release = "6.12.1",
	  .missing = {{"map type", "lru_percpu_hash"}},
	  .count = 1},
	 "Linux 6.12.1 has no map type lru_percpu_hash (since Linux 4.10, but this kernel is built "
	 "without it): --table hot does not need it, or use a distribution's kernel, Linux 6.1 or "
	 "later"},
	{"words: a helper that only some policies need",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .uses = RL_USE_PROOF | RL_USE_CHALLENGE,
	  .error = -EINVAL,
	  .release = "5.1.0",
	  .missing = {{"helper", "skc_lookup_tcp"}},
	  .count = 1},
	 "the policy uses `established` and `over challenge`, but Linux 5.1.0 has no helper "
	 "skc_lookup_tcp (since Linux 5.2): do without it, or use a distribution's kernel, Linux "
	 "6.1 or later"},
	{"words: a program that only some policies need",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .uses = RL_USE_TRUNCATE,
	  .error = -E2BIG,
	  .release = "6.12.1"},
	 "the policy uses `over truncate`, but the Linux 6.12.1 verifier rejected the program as "
	 "too complex: do without it, and please report this with the output of -v"},
	{"words: matches that only some policies have",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .uses = RL_USE_EXTRAS | RL_USE_PAYLOAD,
	  .error = -E2BIG,
	  .release = "6.12.1"},
	 "the policy uses `matches such as length` and `payload`, but the Linux 6.12.1 verifier "
	 "rejected the program as too complex: do without it, and please report this with the "
	 "output of -v"},
	{"words: one filter",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .uses = RL_USE_FILTERS | RL_USE_EXTRAS,
	  .error = -E2BIG,
	  .release = "6.12.1",
	  .filter = "udp",
	  .filter_longest = "len > 7"},
	 "the policy uses `filter \"udp\"`, but the Linux 6.12.1 verifier rejected the program as "
	 "too complex: split it into several rules or write it shorter, and please report this "
	 "with the output of -v"},
	{"words: all filters together",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .uses = RL_USE_FILTERS,
	  .error = -E2BIG,
	  .release = "6.12.1",
	  .filter_longest = "len > 7"},
	 "the policy uses `filter`, but the Linux 6.12.1 verifier rejected the program as too "
	 "complex: it takes each filter alone: use fewer or shorter ones, first of all instead of "
	 "\"len > 7\", and please report this with the output of -v"},
	{"words: what Enterprise Linux has not taken yet",
	 {.stage = LOAD_STAGE_MAPS,
	  .error = -EINVAL,
	  .release = "5.14.0-70.13.1.el9_0.x86_64",
	  .missing = {{"helper", "xdp_load_bytes"}},
	  .count = 1},
	 "Linux 5.14.0-70.13.1.el9_0.x86_64 has no helper xdp_load_bytes (since Linux 5.18): "
	 "--hook ingress does not need it, or use the distribution's newest kernel (`dnf upgrade "
	 "kernel`)"},
	{"words: what Enterprise Linux 8 lacks",
	 {.stage = LOAD_STAGE_MAPS,
	  .error = -EINVAL,
	  .release = "4.18.0-553.el8_10.x86_64",
	  .missing = {{"map type", "ringbuf"}},
	  .count = 1},
	 "Linux 4.18.0-553.el8_10.x86_64 has no map type ringbuf (since Linux 5.8): use a "
	 "distribution's kernel, Linux 6.1 or later"},
	{"words: the verifier of Enterprise Linux",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .hook = RL_HOOK_INGRESS,
	  .error = -EINVAL,
	  .release = "5.14.0-570.12.1.el9_6.x86_64"},
	 "the Linux 5.14.0-570.12.1.el9_6.x86_64 verifier rejected the program (Invalid "
	 "argument): please report this with the output of -v"},
	{"words: the verifier of Enterprise Linux 8",
	 {.stage = LOAD_STAGE_PROGRAM, .error = -E2BIG, .release = "4.18.0-553.el8_10.x86_64"},
	 "the Linux 4.18.0-553.el8_10.x86_64 verifier rejected the program as too complex" TOO_OLD},
	{"words: nothing that we know",
	 {.stage = LOAD_STAGE_MAPS,
	  .error = -EINVAL,
	  .release = "6.12.1",
	  .missing = {{"helper", "that is newer than rlctl"}},
	  .count = 1},
	 "Linux 6.12.1 has no helper that is newer than rlctl: use a distribution's kernel, Linux "
	 "6.1 or later"},
	{"words: the verifier of an old kernel",
	 {.stage = LOAD_STAGE_PROGRAM, .error = -EACCES, .release = "5.19.17"},
	 "the Linux 5.19.17 verifier rejected the program (Permission denied)" TOO_OLD},
	{"words: too complex for an old kernel",
	 {.stage = LOAD_STAGE_PROGRAM, .error = -E2BIG, .release = "5.19.17"},
	 "the Linux 5.19.17 verifier rejected the program as too complex" TOO_OLD},
	{"words: the verifier of a new kernel, xdp",
	 {.stage = LOAD_STAGE_PROGRAM, .error = -EINVAL, .release = "6.1.0"},
	 "the Linux 6.1.0 verifier rejected the program (Invalid argument): try --hook ingress, "
	 "and please report this with the output of -v"},
	{"words: the verifier of a new kernel, ingress",
	 {.stage = LOAD_STAGE_PROGRAM,
	  .hook = RL_HOOK_INGRESS,
	  .error = -EINVAL,
	  .release = "6.1.0"},
	 "the Linux 6.1.0 verifier rejected the program (Invalid argument): please report this "
	 "with the output of -v"},
	{"words: no memory",
	 {.stage = LOAD_STAGE_MAPS, .error = -ENOMEM, .release = "6.1.0"},
	 "creating its maps failed: Cannot allocate memory: use smaller --sources or --prefixes"},
	{"words: maps, and nobody knows why",
	 {.stage = LOAD_STAGE_MAPS, .error = -EIO, .release = "6.1.0"},
	 "creating its maps failed: Input/output error (-v shows the kernel's log)"},
	{"words: no privilege",
	 {.stage = LOAD_STAGE_MAPS, .error = -EPERM, .release = "6.1.0"},
	 "the kernel denies BPF here (Operation not permitted): run as root"},
	{"words: no privilege, or no locked memory",
	 {.stage = LOAD_STAGE_MAPS, .error = -EPERM, .release = "5.10.0"},
	 "the kernel denies BPF here (Operation not permitted): run as root, and before Linux 5.11 "
	 "after `ulimit -l unlimited`"},
	{"words: no BPF",
	 {.stage = LOAD_STAGE_PROGRAM, .error = -ENOSYS, .release = "6.1.0"},
	 "Linux 6.1.0 is built without BPF (CONFIG_BPF_SYSCALL): use a distribution's kernel"},
};

ROWS(words_test, rows, row)
{
	char words[LOAD_FAILURE_MAX];

	load_failure_format(&row->failure, words);
	assert_string_equal(words, row->words);
}

/* However much is missing, the line fits. */
NAMED_TEST("words: too many for a line", words_many)
{
	struct load_failure failure = {.error = -EINVAL, .release = "4.0", .count = MISSING_MAX};
	char long_name[500], words[LOAD_FAILURE_MAX];

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i < MISSING_MAX; i++)
		failure.missing[i] = (struct kernel_feature){"helper", long_name};
	load_failure_format(&failure, words);
	assert_int_equal(strlen(words), LOAD_FAILURE_MAX - 1);
}

/* ---- releases */

static const struct release_row {
	const char *name, *release, *version;
	bool before;
} releases[] = {
	{"release: older by the minor", "6.0.19", "6.1", true},
	{"release: the same", "6.1.0-56-cloud-amd64", "6.1", false},
	{"release: newer by the minor, in two digits", "6.12.3", "6.2", false},
	{"release: older by the major", "5.19", "6.1", true},
	{"release: newer by the major", "7.0-rc1", "6.1", false},
	{"release: minor in two digits", "5.4.0", "5.18", true},
};

ROWS(release_test, releases, row)
{
	assert_int_equal(release_is_before(row->release, row->version), row->before);
}

/* ---- the table knows what our programs use, as far as the object tells without being loaded */

static void type_known(const char *kind, const char *name)
{
	struct kernel_feature missing = {kind, name};

	if (!feature_since(&missing))
		fail_msg("no row for %s %s", kind, name);
}

NAMED_TEST("the table is complete", table_complete)
{
	struct rl_instance info = {
		.sources = 1024, .prefixes = 1024, .log_depth = 2, .cpus = 1, .possible_cpus = 1};
	struct bpf_program *program;
	struct rlctl_bpf *skel;
	struct bpf_map *map;

	instance_sizes(&info);
	skel = object_open(&info);
	assert_non_null(skel);
	bpf_object__for_each_map(map, skel->obj)
	{
		type_known("map type", libbpf_bpf_map_type_str(bpf_map__type(map)));
		if (bpf_map__inner_map(map))
			type_known("map type",
				   libbpf_bpf_map_type_str(bpf_map__type(bpf_map__inner_map(map))));
	}
	bpf_object__for_each_program(program, skel->obj)
	{
		type_known("program type", libbpf_bpf_prog_type_str(bpf_program__type(program)));
	}
	rlctl_bpf__destroy(skel);
}
