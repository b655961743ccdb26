/* SPDX-License-Identifier: GPL-2.0-only */
/* The SSH session that this process belongs to, if any. */
#pragma once

#include "policy/decide.h"

/* "CLIENT PORT SERVER PORT" of SSH_CONNECTION, or "CLIENT PORT PORT" of SSH_CLIENT. 0 or -EINVAL.
 */
int ssh_session_parse(const char *text, struct flow *out);

/* From the environment of this process or, since sudo drops it, of the nearest process above it
 * that has one. False also if the session's processes are in another network namespace than this
 * process, which cannot cut them off. */
bool ssh_session_find(struct flow *out);
