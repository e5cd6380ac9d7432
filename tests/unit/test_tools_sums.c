/* The sums of a process, of parts that are many, or lie. */
#include "profile_fixture.h"
#include "tools/view/summary.h"

static void put_earlier(struct fixture *log, const struct fixture_account *accounts)
{
    AUTO_BYTES payload = {0};
    for (; accounts->key; accounts++) {
        struct fixture_bytes value = {0};
        fixture_varint(&value, accounts->value);
        fixture_varint(&payload, accounts->key);
        fixture_varint(&payload, value.length);
        fixture_append(&payload, value.data, value.length);
        free(value.data);
    }
    fixture_block(log, PP_BLOCK_EARLIER, payload.data, payload.length);
}

/* 1 us in this part, and 1 us before it in one that is missing. */
static void append_part(struct fixture_bytes *file, uint64_t number)
{
    AUTO_FIXTURE log = fixture_of(&(struct fixture_process){"r", "same", "/", "3.12.0", "/bin/python", number, 7, 0});
    put_earlier(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, 2000 * number + 1000}, {0, 0}});
    fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, 2000 * number + 2000}, {0, 0}});
    fixture_append(file, log.file.data, log.file.length);
}

static void read_growing(struct pt_profile *profile, const struct fixture_bytes *file)
{
    for (uint64_t before = 0, end = 0; before < file->length; before += end) {
        struct pt_growing *growing = pt_growing_new(profile, "growing");
        end = 0;
        assert_int_equal(pt_growing_read(growing, file->data + before, file->length - (size_t)before, &end, NULL),
                         PT_READ_OK);
        assert_true(end > 0);
        pt_growing_add(growing);
        pt_growing_free(growing);
    }
    pt_profile_close_sums(profile);
}

TEST(many_parts_in_any_order_add_up)
{
    enum { PARTS = 3000 };
    struct fixture_bytes file = {0};
    for (uint64_t number = 0; number < PARTS; number++)
        append_part(&file, PARTS - 1 - number);
    for (int growing = 0; growing < 2; growing++) {
        AUTO_PROFILE *profile = pt_profile_new(&(struct pt_load_request){.usage = true});
        if (growing)
            read_growing(profile, &file);
        else
            assert_int_equal(pt_profile_add_segment(profile, file.data, file.length, "many"), PT_READ_OK);
        pt_profile_finish(profile);
        assert_int_equal(profile->processes.count, 1);
        assert_int_equal(profile->processes.items[0].parts.count, PARTS);
        assert_int_equal(pt_profile_accounting(profile).cpu_ns, 1000 * PARTS);
        assert_int_equal(pt_summary_missing_ns(profile, PT_NONE), 1000 * PARTS);
    }
    free(file.data);
}

/* Sums of one segment with such an EARLIER block and 5 us. */
static struct pt_process read_one(const struct fixture_account *earlier, const char *instance, size_t cut)
{
    struct fixture log;
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    fixture_begin(&log);
    if (instance)
        fixture_process(&log, &(struct fixture_process){"r", instance, "/", "3.12.0", "/bin/python", 1, 7, 0});
    if (cut)
        fixture_block(&log, PP_BLOCK_EARLIER, (const unsigned char[]){PP_ACCOUNT_CPU_NS, 1, 100, PP_ACCOUNT_OWN_NS, 9},
                      cut);
    else
        put_earlier(&log, earlier);
    fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_CPU_NS, 5000}, {0, 0}});
    assert_int_equal(pt_profile_add_segment(profile, log.file.data, log.file.length, "one"), PT_READ_OK);
    assert_int_equal(profile->losses.damaged_records, cut != 0);
    pt_profile_finish(profile);
    assert_int_equal(profile->processes.count, 1);
    struct pt_process process = profile->processes.items[0];
    fixture_end(&log);
    return process;
}

TEST(what_is_said_of_earlier_parts_may_be_false)
{
    static const struct fixture_account more_pending[] = {{PP_ACCOUNT_CPU_NS, 100},
                                                          {PP_ACCOUNT_PENDING_NS, 101},
                                                          {0, 0}},
                                        more_than_all[] = {{PP_ACCOUNT_CPU_NS, UINT64_MAX}, {0, 0}};
    struct pt_process process = read_one(more_pending, "same", 0);
    assert_int_equal(process.missing_ns, 0);
    assert_int_equal(process.accounting.cpu_ns, 5000);
    assert_int_equal(read_one(more_than_all, "same", 0).accounting.cpu_ns, 0);
    process = read_one(NULL, "same", 5);
    assert_int_equal(process.missing_ns, 0);
    assert_int_equal(process.accounting.cpu_ns, 5000);
}

TEST(a_segment_that_does_not_say_whose_it_is_has_its_own_sums)
{
    static const struct fixture_account earlier[] = {{PP_ACCOUNT_CPU_NS, 100}, {0, 0}};
    assert_int_equal(read_one(earlier, "", 0).accounting.cpu_ns, 5000);
    assert_int_equal(read_one(earlier, NULL, 0).missing_ns, 0);
}
