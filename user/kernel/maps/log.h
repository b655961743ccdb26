/* SPDX-License-Identifier: GPL-2.0-only */
/* Redirects the messages of libbpf and libxdp. */
#pragma once

/* Sends them to the sink of message.h. */
void log_setup(void);
