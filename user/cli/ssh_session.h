/* SPDX-License-Identifier: GPL-2.0-only */
/* The SSH session that this process belongs to, if it belongs to one. */
#ifndef RLCTL_SSH_SESSION_H
#define RLCTL_SSH_SESSION_H

#include "decide.h"

/* "CLIENT PORT SERVER PORT" of SSH_CONNECTION, or "CLIENT PORT PORT" of SSH_CLIENT. 0 or -EINVAL.
 */
int ssh_session_parse(const char *text, struct flow *out);

/* From the environment of this process or, as sudo drops it, of the nearest process above it that
 * has one. False also where the session's processes are in another network namespace than this one
 * is in now: what happens here does not cut it. */
bool ssh_session_find(struct flow *out);

#endif
