/* SPDX-License-Identifier: GPL-2.0-only */
/* A cmocka test for each row of a table whose rows begin with a name. */
#pragma once

/* Appends to tests[n]; the test gets its row as *state. */
#define ROWS(table, function)                                             \
	for (size_t i = 0; i < sizeof(table) / sizeof((table)[0]); i++)   \
		tests[n++] = (struct CMUnitTest)                          \
		{                                                         \
			.name = (table)[i].name, .test_func = (function), \
			.initial_state = (void *)&(table)[i]              \
		}
