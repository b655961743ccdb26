/* SPDX-License-Identifier: GPL-2.0-only */
/* The filter of known sources. */
#pragma once

#include "kernel/instance/instance.h"

/* Makes the filter unless there is one. With --table lru and cpu there is none. */
int known_filter_make(const struct instance *instance);
