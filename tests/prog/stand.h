/* SPDX-License-Identifier: GPL-2.0-only */
/* As bed.h, for tests that choose the table or the clock: the real program with its maps, on no
 * device. Whatever fails here ends the test.
 */
#ifndef TESTS_STAND_H
#define TESTS_STAND_H

#include "bed.h"

struct stand;

extern const char *const table_words[]; /* by enum rl_table */

/* NULL, and a line on stderr, where the program cannot be loaded. Time stands until it is set, or
 * is the machine's. */
struct stand *stand_open(enum rl_table table, bool time_stands);
void stand_close(struct stand *stand);

/* Rules apart by ';' (the words without "rule"), on fresh states. */
void stand_policy(struct stand *stand, const char *rules);

void stand_clock(struct stand *stand, uint64_t now_ns);

/* Runs a frame in words (shape.h) on the CPU at hand. One at a time, and only while time stands. */
enum rl_reason stand_run(struct stand *stand, const char *words);

/* Runs a frame so many times in one call and says nothing: threads may. */
void stand_repeat(struct stand *stand, const struct shape *shape, uint32_t times);

/* How many packets passed since it was opened. */
uint64_t stand_passed(struct stand *stand);

/* How many CPUs the program may use; the thread stays on the n-th of them, counted round. */
unsigned int cpus_usable(void);
void cpu_stay(unsigned int n);

/* How many CPUs share a rate with --table cpu. */
unsigned int cpus_sharing(void);

/* A limit that lets n packets pass at once (warm-up: one), and then none for an hour. */
void limit_of(char *out, size_t size, enum rl_algorithm algorithm, unsigned int n);

#endif
