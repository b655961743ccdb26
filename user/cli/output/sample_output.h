/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of packets as lines and JSON. */
#ifndef RLCTL_SAMPLE_OUTPUT_H
#define RLCTL_SAMPLE_OUTPUT_H

#include "rule_book.h"
#include "sampler.h"

/* Prints one line or one JSON object to stdout. */
void sample_print(const struct sampled *sampled, uint64_t realtime_ns,
		  const struct rule_book *book);

#endif
