/* SPDX-License-Identifier: GPL-2.0-only */
/* An expression of pcap-filter(7), compiled by libpcap. It sees an IP packet from its header on,
 * without the link's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

#define FILTER_ERROR_MAX 320

/* Instructions of classic BPF, each of which leads to later ones alone. */
struct filter_program {
	struct sock_filter *steps;
	uint32_t count;
};

/* -EINVAL with the reason in `error`, which goes on from "the filter …"; -ENOMEM. Names of hosts
 * and networks are refused, because they mean something else elsewhere and later. */
int filter_compile(const char *expression, struct filter_program *out,
		   char error[FILTER_ERROR_MAX]);
/* Whether it compiles: the same, with the reason for every error. */
int filter_check(const char *expression, char error[FILTER_ERROR_MAX]);
void filter_program_clear(struct filter_program *program);
