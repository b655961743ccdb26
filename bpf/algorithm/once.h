/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that several CPUs change at once, by the names that Linux has for it. Pure; compiles for
 * BPF and for the host.
 */
#pragma once

/* One load, one store, whatever the compiler knows of the place. */
#define READ_ONCE(place)         (*(const volatile __typeof__(place) *)&(place))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))
