/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the pins of a program that came along with its device from another network namespace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance_maps.h"

/* The pins of the instance, of whatever network namespace, that has the program. Silent. */
bool program_pins_find(const char *bpffs, uint32_t program, char out[INSTANCE_PATH_MAX]);
