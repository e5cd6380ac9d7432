/* Profiles of logs that a test has written. Each log is whole, and is freed. */
#ifndef PP_TESTS_PROFILE_FIXTURE_H
#define PP_TESTS_PROFILE_FIXTURE_H

#include "log_fixture.h"
#include "tools/model/model.h"
#include "unit.h"

static inline void add_log(struct pt_profile *profile, struct fixture *log)
{
    assert_int_equal(pt_profile_add_segment(profile, log->file.data, log->file.length, "test"), PT_READ_OK);
    fixture_end(log);
}

static inline struct pt_profile *profile_of(struct fixture *log, const struct pt_load_request *request)
{
    struct pt_profile *profile = pt_profile_new(request);
    add_log(profile, log);
    pt_profile_finish(profile);
    return profile;
}

#endif
