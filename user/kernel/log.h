/* SPDX-License-Identifier: GPL-2.0-only */
/* What libbpf and libxdp say. */
#ifndef RLCTL_LOG_H
#define RLCTL_LOG_H

/* What the libraries and the kernel say goes to stderr only with -v (everything with -vv). To be
 * called once the options are known. */
void kernel_talk(int verbose);

/* From now on it goes to the sink of message.h. */
void log_setup(void);

#endif
