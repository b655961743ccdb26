/* SPDX-License-Identifier: GPL-2.0-only */
/* Renames the pins of an instance after its device was renamed. */
#pragma once

#include <stdbool.h>

#include "kernel/instance/instance.h"

/* As pins_root, and renames the pins of renamed devices, with a note for each. Reports. */
int pins_root_follow(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX]);
