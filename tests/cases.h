/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of a program register themselves where they are defined; tests/cases.c runs them in
 * that order:
 *
 *	TEST(name) { ... }
 *	NAMED_TEST("shown in words", name) { ... }
 *	ROWS(name, table, row) { ... row->... }
 *
 * ROWS makes a test of each row of a table, whose first member, or which itself, is the row's name.
 * After a test's name may come the functions that set it up and tear it down.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/message.h" /* before cmocka.h, which has a macro fail() */

#include <cmocka.h>

/* Rows leave out what is 0 at their end. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A variable is cleared where its scope ends. */
#define CLEARED_POLICY   __attribute__((cleanup(policy_clear)))
#define CLEARED_COMPILED __attribute__((cleanup(compiled_clear)))

/* Before main(), in the order of the file. */
#define AT_START(function) __attribute__((constructor)) static void function(void)

#define NAMED_TEST(text, test, ...)                                                              \
	static void test(void **state);                                                          \
	AT_START(test##_add)                                                                     \
	{                                                                                        \
		test_add((struct CMUnitTest){.name = (text), .test_func = test, ##__VA_ARGS__}); \
	}                                                                                        \
	static void test(__attribute__((unused)) void **state)

#define TEST(test, ...) NAMED_TEST(#test, test, ##__VA_ARGS__)

#define ROWS(test, table, row, ...)                                                                \
	static void test(const typeof(*(table)) *row);                                             \
	static void test##_of(void **state)                                                        \
	{                                                                                          \
		test(*state);                                                                      \
	}                                                                                          \
	AT_START(test##_add)                                                                       \
	{                                                                                          \
		rows_add(                                                                          \
			(struct CMUnitTest){.name = #test, .test_func = test##_of, ##__VA_ARGS__}, \
			(table), ARRAY_SIZE(table), sizeof(*(table)));                             \
	}                                                                                          \
	static void test(const typeof(*(table)) *row)

/* For the whole program: before its first test, in their order, and after its last. */
#define FIXTURE(set_up, tear_down)                  \
	AT_START(set_up##_add)                      \
	{                                           \
		fixture_add((set_up), (tear_down)); \
	}

void test_add(struct CMUnitTest test);
/* Each row is called by the test and its first member. */
void rows_add(struct CMUnitTest test, const void *table, size_t count, size_t row_bytes);
/* Either may be NULL. */
void fixture_add(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* A test with a name of parts, which gets that row as *state. */
__attribute__((format(printf, 3, 4))) void test_add_named(CMUnitTestFunction test, const void *row,
							  const char *format, ...);
