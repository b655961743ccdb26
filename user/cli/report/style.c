// SPDX-License-Identifier: GPL-2.0-only
/* The style sheet, as the Makefile has made a string of it. */
#include "cli/report/style.h"

/* clang-format off */
const char page_style[] =
#include "style.css.h"
;
