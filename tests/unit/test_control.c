/* The control file says what holds for each process, or it is no control file. */
#include "preload/common/control.h"
#include "unit.h"
#include <stdbool.h>

static const struct pp_control_scope self = {4711, 99};
static struct pp_control_orders orders;

static bool reads(const char *lines)
{
    char text[512];
    snprintf(text, sizeof text, PP_CONTROL_HEAD "written 7\n%s" PP_CONTROL_TAIL, lines);
    return pp_control_read(text, &self, false, &orders);
}

void before_each(void)
{
    orders = pp_control_default(false);
}

TEST(without_orders_it_is_as_started)
{
    assert_true(reads(""));
    assert_int_equal(orders.written, 7);
    assert_false(pp_control_is_paused(&orders, 1000));
    assert_int_equal(orders.hz, 0);
    assert_true(pp_control_read(PP_CONTROL_HEAD "written 7\n" PP_CONTROL_TAIL, &self, true, &orders));
    assert_true(pp_control_is_paused(&orders, 1000));
}

TEST(an_order_to_a_process_goes_before_those_to_all)
{
    assert_true(reads("pid 4711 99 running\nall paused\npid 4712 99 paused\npid 4711 98 paused\nall hz 50\n"));
    assert_false(pp_control_is_paused(&orders, 1000));
    assert_int_equal(orders.hz, 50);
    assert_true(reads("all running\npid 4711 99 hz 200\nall hz 50\npid 4711 99 paused\n"));
    assert_true(pp_control_is_paused(&orders, 1000));
    assert_int_equal(orders.hz, 200);
}

TEST(after_its_time_the_contrary_holds)
{
    assert_true(reads("all paused until 500\n"));
    assert_true(pp_control_is_paused(&orders, 499));
    assert_false(pp_control_is_paused(&orders, 500));
    assert_true(reads("all running until 500\n"));
    assert_false(pp_control_is_paused(&orders, 499));
    assert_true(pp_control_is_paused(&orders, 500));
}

TEST(what_is_not_whole_changes_nothing)
{
    static const char *const bad[] = {"",
                                      "pyprof-control 2\nwritten 7\nend\n",
                                      PP_CONTROL_HEAD "end\n",
                                      PP_CONTROL_HEAD "written 0\nend\n",
                                      PP_CONTROL_HEAD "written 7\nall paused\n",
                                      PP_CONTROL_HEAD "written 7\nall paused\nend\nall running\n",
                                      PP_CONTROL_HEAD "written 7\nall paused \nend\n",
                                      PP_CONTROL_HEAD "written 7\npid 0 1 paused\nend\n",
                                      PP_CONTROL_HEAD "written 7\nall hz 5001\nend\n",
                                      PP_CONTROL_HEAD "written 7\nall hz 99999999999999999999\nend\n",
                                      PP_CONTROL_HEAD "written 7\nall paused until\nend\n"};
    assert_true(reads("all paused\nall hz 9\n"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(pp_control_read(bad[i], &self, false, &orders));
        assert_true(orders.paused && orders.hz == 9);
    }
}
