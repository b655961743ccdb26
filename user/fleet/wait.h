/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for a socket. */
#pragma once

#include <stdint.h>

/* The events of poll(2) on a socket, or 0 after end_ns; a signal to end brings that forward. */
short socket_wait(int fd, short events, uint64_t *end_ns);
