/* Moments as --from and --to take them. */
#include "tools/cli/times.h"
#include "unit.h"
#include <stdlib.h>
#include <time.h>

#define S   1000000000u
#define NOW (1700000000ull * S) /* 2023-11-14 22:13:20 UTC */

void before_each(void)
{
    setenv("TZ", "UTC-1", 1); /* an hour east of Greenwich: 23:13:20 */
    tzset();
}

void after_each(void)
{
}

static struct pt_when when_of(const char *text)
{
    struct pt_when when;
    if (!pt_parse_when(text, NOW, &when))
        fail_msg("not taken: %s", text);
    return when;
}

static uint64_t unix_of(const char *text)
{
    const struct pt_when when = when_of(text);
    assert_true(!when.of_run_ns && !when.before_end_ns);
    return when.unix_ns / S;
}

TEST(times_of_the_run_and_before_its_end)
{
    assert_int_equal(when_of("90").of_run_ns, 90ull * S);
    assert_int_equal(when_of("1m30s").of_run_ns, 90ull * S);
    assert_int_equal(when_of("2d").of_run_ns, 2 * 86400ull * S);
    assert_int_equal(when_of("-5m").before_end_ns, 300ull * S);
    assert_int_equal(when_of("-250ms").before_end_ns, 250000000);
}

TEST(ready_is_of_no_clock)
{
    const struct pt_when when = when_of("ready");
    assert_true(when.ready && pt_when_is_given(&when));
    assert_true(!when.of_run_ns && !when.before_end_ns && !when.unix_ns);
}

TEST(times_of_day_are_the_latest_that_has_been)
{
    assert_int_equal(unix_of("23:13:20"), 1700000000);
    assert_int_equal(unix_of("23:13"), 1700000000 - 20);
    assert_int_equal(unix_of("23:13:21"), 1700000000 + 1 - 86400);
    assert_int_equal(when_of("23:13:19.25").unix_ns, 1699999999ull * S + 250000000);
}

TEST(dates)
{
    assert_int_equal(unix_of("2023-11-14"), 1699916400);
    assert_int_equal(unix_of("2023-11-14 23:13:20"), 1700000000);
    assert_int_equal(unix_of("2023-11-14T23:13:20"), 1700000000);
    assert_int_equal(unix_of("2023-11-14T22:13:20Z"), 1700000000);
    assert_int_equal(unix_of("2023-11-15T01:43:20+03:30"), 1700000000);
    assert_int_equal(unix_of("2023-11-14T17:13:20-0500"), 1700000000);
    assert_int_equal(unix_of("today"), 1699916400);
    assert_int_equal(unix_of("yesterday"), 1699916400 - 86400);
    assert_int_equal(unix_of("yesterday 14:05"), 1699916400 - 86400 + 14 * 3600 + 5 * 60);
    assert_int_equal(unix_of("2024-02-29"), 1709161200);
}

TEST(what_is_no_time)
{
    static const char *const wrong[] = {"",
                                        "-",
                                        "--5m",
                                        "-0",
                                        "24:00",
                                        "12:60",
                                        "1:30",
                                        "14:05:",
                                        "14:05:61",
                                        "14:05Z",
                                        "2023-13-01",
                                        "2023-02-29",
                                        "2023-11-1",
                                        "2023-11",
                                        "2023-11-14T",
                                        "2023-11-14 25:00",
                                        "tomorrow",
                                        "yesterdays",
                                        "yesterday ",
                                        "5 minutes",
                                        "-yesterday",
                                        "2023-11-14T22:13+1",
                                        "9999-01-01",
                                        "readyness"};
    struct pt_when when;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (pt_parse_when(wrong[i], NOW, &when))
            fail_msg("taken: %s", wrong[i]);
}
