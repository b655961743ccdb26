/* SPDX-License-Identifier: GPL-2.0-only */
/* Redirects the messages of libbpf and libxdp. */
#ifndef RLCTL_LOG_H
#define RLCTL_LOG_H

/* Sends them to the sink of message.h. */
void log_setup(void);

#endif
