/* SPDX-License-Identifier: GPL-2.0-only */
/* How often the long loops of the tests go round. Under the sanitizers a turn takes ten to twenty
 * times as long, and what they look for shows itself in fewer.
 */
#pragma once

#ifdef SANITIZED
#define TURNS(n) ((n) / 20)
#else
#define TURNS(n) (n)
#endif
