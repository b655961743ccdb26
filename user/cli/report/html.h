/* SPDX-License-Identifier: GPL-2.0-only */
/* Pieces of a page: untrusted text, numbers, times. Nothing else writes text into one. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "rlctl_abi.h"

/* Escaped for text and for attributes in quotation marks; bytes that are not UTF-8, control
 * characters, and those that change the direction of writing as \xNN. */
void html_text(FILE *out, const char *text);

/* 1,234, with the number itself for programs. */
void html_number(FILE *out, uint64_t n);
/* 1.5 MiB, with the number itself for programs. */
void html_bytes(FILE *out, uint64_t bytes);
/* 12.3 %, "< 0.1 %" for what would otherwise be shown as nothing; "-" of nothing. */
void html_share(FILE *out, uint64_t part, uint64_t all);

#define HTML_RATE_MAX 80
/* "1,234/s", with a decimal below 10: packets within so many nanoseconds. */
void rate_text(char buf[HTML_RATE_MAX], uint64_t packets, uint64_t ns);

/* UTC. The step is what the times shown beside this one differ by: it decides between 12:00:31.250,
 * 12:00:31, 12:00 and 2026-11-23. */
#define HTML_TIME_MAX 64
void clock_text(char buf[HTML_TIME_MAX], uint64_t time_ns, uint64_t step_ns);
