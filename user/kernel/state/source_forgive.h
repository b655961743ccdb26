/* SPDX-License-Identifier: GPL-2.0-only */
/* Clears states and bans. */
#pragma once

#include <stddef.h>

#include "kernel/instance/instance.h"
#include "kernel/state/source_entry.h"

/* Clears these states and bans, but not shared states (per rule). Reports. */
int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count);
