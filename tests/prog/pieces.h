/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames in pieces, for an XDP program's test run. */
#pragma once

#include "frame.h"

/* Runs the program on the frame, of which `linear` bytes can be read in place and the rest lies in
 * fragments. Answers the program's verdict; -ENOTSUP where this kernel makes no such frames: before
 * 6.18 none without a linear part. */
int pieces_run(int program_fd, const struct frame *frame, uint32_t linear);
