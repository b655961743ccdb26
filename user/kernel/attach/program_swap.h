/* SPDX-License-Identifier: GPL-2.0-only */
/* Replaces the running program of an instance, at any hook, and keeps its maps. */
#pragma once

#include <stdint.h>

#include "kernel/instance/instance.h"

/* Loads the program that instance->info asks for and puts it in the place of the running one, so
 * that no packet runs without one of them. On failure the running one stays. *before and *after are
 * ids. Call with the writers' lock. Reports. */
int program_swap(const struct instance *instance, uint32_t *before, uint32_t *after);
