// SPDX-License-Identifier: GPL-2.0
/*
 * empty COUNT [SIZE]: runs a program that does nothing COUNT times over a frame of SIZE bytes (64),
 * one BPF_PROG_TEST_RUN each, and prints the runs per second: the yardstick for simulate.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "empty.skel.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int runs(int program, uint64_t count, uint32_t size)
{
	static unsigned char frame[2048];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = size);
	int err = 0;

	while (!err && count--)
		err = bpf_prog_test_run_opts(program, &opts);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, start, ns;
	uint64_t size = argc > 2 ? strtoull(argv[2], NULL, 10) : 64;
	struct empty_bpf *skel;
	int err;

	if (!count || size < 14 || size > 2048) {
		fputs("usage: empty COUNT [SIZE 14..2048]\n", stderr);
		return 2;
	}
	skel = empty_bpf__open_and_load();
	if (!skel) {
		perror("empty: cannot load");
		return 1;
	}
	start = now_ns();
	err = runs(bpf_program__fd(skel->progs.empty_run), count, (uint32_t)size);
	ns = now_ns() - start;
	empty_bpf__destroy(skel);
	if (err) {
		fprintf(stderr, "empty: cannot run: %s\n", strerror(-err));
		return 1;
	}
	printf("%" PRIu64 "\n", (uint64_t)((unsigned __int128)count * NS_PER_S / ns));
	return 0;
}
