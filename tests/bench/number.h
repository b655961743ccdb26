/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers in the options of these programs. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* A decimal number from 1 to `max`; 0: the text is none. */
static inline uint64_t number_read(const char *text, uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	return errno || *text < '0' || *text > '9' || *end || n > max ? 0 : n;
}
