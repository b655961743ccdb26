/* SPDX-License-Identifier: GPL-2.0-only */
/* How often the long loops of the tests go round. Under the sanitizers a turn takes ten to twenty
 * times as long, and what they look for shows itself in fewer.
 */
#ifndef TESTS_TURNS_H
#define TESTS_TURNS_H

#ifdef SANITIZED
#define TURNS(n) ((n) / 20)
#else
#define TURNS(n) (n)
#endif

#endif
