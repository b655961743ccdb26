/* SPDX-License-Identifier: GPL-2.0-only */
/* The style sheet of a page: style.css beside this file, which the Makefile embeds. */
#ifndef RLCTL_REPORT_STYLE_H
#define RLCTL_REPORT_STYLE_H

extern const char page_style[];

#endif
