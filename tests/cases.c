// SPDX-License-Identifier: GPL-2.0-only
/* Runs the tests that cases.h registers. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FIXTURES_MAX 16

static struct CMUnitTest *tests;
static size_t test_count;
static struct {
	CMFixtureFunction set_up, tear_down;
} fixtures[FIXTURES_MAX];
static size_t fixture_count;

void test_add(struct CMUnitTest test)
{
	tests = reallocarray(tests, test_count + 1, sizeof(*tests));
	if (!tests)
		abort();
	tests[test_count++] = test;
}

void rows_add(struct CMUnitTest test, const void *table, size_t count, size_t row_bytes)
{
	const char *group = test.name;
	char *name;

	for (size_t i = 0; i < count; i++) {
		test.initial_state = (char *)table + i * row_bytes;
		if (asprintf(&name, "%s: %s", group, *(char *const *)test.initial_state) < 0)
			abort();
		test.name = name;
		test_add(test);
	}
}

void test_add_named(CMUnitTestFunction test, const void *row, const char *format, ...)
{
	struct CMUnitTest named = {.test_func = test, .initial_state = (void *)row};
	va_list arguments;
	char *name;

	va_start(arguments, format);
	if (vasprintf(&name, format, arguments) < 0)
		abort();
	va_end(arguments);
	named.name = name;
	test_add(named);
}

void fixture_add(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	if (fixture_count == FIXTURES_MAX)
		abort();
	fixtures[fixture_count].set_up = set_up;
	fixtures[fixture_count++].tear_down = tear_down;
}

static int set_up_all(void **state)
{
	for (size_t i = 0; i < fixture_count; i++)
		if (fixtures[i].set_up && fixtures[i].set_up(state))
			return -1;
	return 0;
}

static int tear_down_all(void **state)
{
	int failed = 0;

	for (size_t i = fixture_count; i-- > 0;)
		if (fixtures[i].tear_down && fixtures[i].tear_down(state))
			failed = -1;
	return failed;
}

/* A program whose arguments matter has a main() of its own. */
__attribute__((weak)) int main(void)
{
	return _cmocka_run_group_tests(program_invocation_short_name, tests, test_count, set_up_all,
				       tear_down_all);
}
