/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the data path takes a source for a known one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

/* Did a packet of the source (mapped) pass while the policy used new-source? Silent. */
int instance_source_is_known(const struct instance *instance, const uint8_t source[16],
			     bool *known);
