/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts the open connections that are there: lists the sockets of this network namespace, and runs
 * the program that looks each of them up (bpf/connections.bpf.c: rlctl_recount).
 */
#pragma once

/* Until all that are open are counted; waits for programs that are at a socket. 0 or a negative
 * errno. Silent. */
int sockets_recount(int program_fd);
