/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of packets, while there is something to say of them. */
#pragma once

#include "cli/events/watched.h"

void watched_samples_poll(struct watched *w, uint64_t now_ns);
void watched_samples_close(struct watched *w);
