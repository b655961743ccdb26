/* SPDX-License-Identifier: GPL-2.0-only */
/* Locks that are waited for with a bound, and with a word about who holds them. */
#pragma once

#define LOCK_WORD_MS 2000  /* after that a message names the holder */
#define LOCK_WAIT_MS 30000 /* after that the waiter gives up */

/* Takes the exclusive flock() of a descriptor that may read; `path` is for messages. 0; -ETIMEDOUT
 * after wait_ms, reported if that is more than LOCK_WORD_MS; or another error, silent. */
int lock_wait(int fd, const char *path, unsigned int wait_ms);
