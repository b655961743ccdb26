/* SPDX-License-Identifier: GPL-2.0-only */
/* The style sheet of a page: style.css beside this file, which the Makefile embeds. */
#pragma once

extern const char page_style[];
