/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks the kernel whether namespaces and programs are still in use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does no network namespace have that inode number? False if unknown. */
bool netns_is_gone(uint32_t inode);
/* Does the program have references besides the `known` ones? True if unknown. */
bool program_is_held(uint32_t program, uint32_t known);
