/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers of the fuzz targets. Each target is a program of its own and one file,
 * tests/fuzz/fuzz_NAME.c: libFuzzer calls LLVMFuzzerTestOneInput() with every input. A finding is a
 * crash, a report of the sanitizers, or a failed require().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program if the condition does not hold. */
#define require(promise)                                                                           \
	do {                                                                                       \
		if (!(promise)) {                                                                  \
			fprintf(fuzz_talk(), "%s:%d: not so: %s\n", __FILE__, __LINE__, #promise); \
			fflush(NULL);                                                              \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* stderr as it was at the start: a target may give the code under test another one. */
static inline FILE *fuzz_talk(void)
{
	static FILE *talk;

	if (!talk)
		talk = stderr;
	return talk;
}

/* Keeps messages of the code under test off the terminal. */
static inline void fuzz_quiet(void)
{
	fuzz_talk();
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
	require(stdout && stderr);
}

/* Bytes of exactly that size, so that reading past them is seen; with a NUL behind them as a
 * string. To be freed. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);

	require(copy || !size);
	if (size)
		memcpy(copy, data, size);
	return copy;
}

static inline char *fuzz_string(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);

	require(copy);
	if (size)
		memcpy(copy, data, size);
	copy[size] = '\0';
	return copy;
}

/* A frame with the alignment that drivers use: the IP header behind Ethernet's 14 bytes is aligned.
 */
#define FRAME_ALIGN 2

static inline uint8_t *fuzz_frame(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(FRAME_ALIGN + size);

	require(copy);
	if (size)
		memcpy(copy + FRAME_ALIGN, data, size);
	return copy + FRAME_ALIGN;
}

static inline void fuzz_frame_free(uint8_t *frame)
{
	free(frame - FRAME_ALIGN);
}

/* Safe for any terminal: printable ASCII, and not empty. */
static inline bool fuzz_is_plain(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return *text;
}
