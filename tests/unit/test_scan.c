/* How often a program is scanned for threads that bypass our wrappers. */
#include "preload/threads/scan.h"
#include "unit.h"

#define MS     1000000u
#define SECOND 1000000000u

TEST(a_thread_is_found_within_a_part_of_the_quiet_time_before_it)
{
    for (uint64_t quiet = 0; quiet < 100ull * SECOND; quiet += 10 * MS) {
        uint64_t pause = pp_scan_pause_ns(quiet);
        assert_in_range(pause, 50 * MS, SECOND);
        assert_true(pause <= 50 * MS || pause <= quiet / 4);
    }
}

TEST(a_program_whose_threads_stay_is_scanned_ever_less_often)
{
    unsigned scans = 0;
    for (uint64_t quiet = 0; quiet < 5ull * SECOND; quiet += pp_scan_pause_ns(quiet))
        scans++;
    assert_in_range(scans, 5, 20); /* not each 50 ms: 100 */
    assert_int_equal(pp_scan_pause_ns(60ull * SECOND), SECOND);
}
