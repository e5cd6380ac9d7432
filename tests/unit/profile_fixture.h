/* Profiles of logs that a test has written. Each log is whole, and is freed. What a test declares by AUTO_… ends with
 * its block, as in the tools (PT_AUTO), when the test has not failed. */
#ifndef PP_TESTS_PROFILE_FIXTURE_H
#define PP_TESTS_PROFILE_FIXTURE_H

#include "log_fixture.h"
#include "tools/flame/flame.h"
#include "tools/model/model.h"
#include "tools/view/call_tree.h"
#include "unit.h"

static inline void end_profile(struct pt_profile **profile)
{
    pt_profile_free(*profile);
}

static inline void end_flame(struct pt_flame **flame)
{
    pt_flame_free(*flame);
}

static inline void end_view(struct pt_view **view)
{
    pt_view_free(*view);
}

static inline void end_bytes(struct fixture_bytes *bytes)
{
    free(bytes->data);
}

#define AUTO_BYTES   PT_AUTO(end_bytes) struct fixture_bytes
#define AUTO_FIXTURE PT_AUTO(fixture_end) struct fixture
#define AUTO_PROFILE PT_AUTO(end_profile) struct pt_profile
#define AUTO_FLAME   PT_AUTO(end_flame) struct pt_flame
#define AUTO_VIEW    PT_AUTO(end_view) struct pt_view

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
