/* Requests that the program counts: sums, names, threads at once, forks. */
#include "preload/base/process.h"
#include "preload/flush/requests.h"
#include "preload/flush/state.h"
#include "unit.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static struct pp_tables tables;

struct consumed {
    uint64_t endpoints, count, measured, cpu_ns, buckets[PP_HANDLER_BUCKETS];
};

static uint64_t next(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        value |= (uint64_t)(**at & 127) << shift;
        if (*(*at)++ < 128)
            return value;
    }
}

/* Takes what was counted; returns the sums of the endpoint with this name, NULL: of all. */
static struct consumed consume(const char *name)
{
    static struct pp_buffer records;
    struct consumed sum = {0};
    pp_buffer_clear(&records);
    pp_requests_consume(&tables, &records);
    uint32_t wanted = name && *name ? pp_intern_find(&tables.strings, name, (uint32_t)strlen(name)) : 0;
    for (const uint8_t *at = records.data, *end = at + records.length; at < end;) {
        uint64_t length = next(&at);
        const uint8_t *record = at;
        bool counts = !name || next(&record) == wanted;
        record = at;
        next(&record);
        at += length;
        if (!counts)
            continue;
        sum.endpoints++;
        sum.count += next(&record);
        sum.measured += next(&record);
        sum.cpu_ns += next(&record);
        for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
            sum.buckets[i] += next(&record);
        assert_ptr_equal(record, at);
    }
    return sum;
}

void before_all(void)
{
    pp_process_begins();
    pp_tables_reset(&tables);
    atomic_store(&pp_flush.life, PP_FLUSH_RUNS);
}

TEST(each_request_is_in_one_bucket)
{
    uint64_t sum = 0;
    assert_false(pp_requests_waiting());
    for (unsigned i = 0; i + 1 < PP_HANDLER_BUCKETS; i++) {
        uint64_t limit = pp_request_bucket_limit(i);
        pp_requests_add("/", limit - 1);
        pp_requests_add("/", limit);
        sum += 2 * limit - 1;
    }
    pp_requests_add("/", UINT32_MAX);
    pp_requests_add("/", 0);
    assert_true(pp_requests_waiting());
    struct consumed consumed = consume("/");
    assert_int_equal(consumed.count, 2 * (PP_HANDLER_BUCKETS - 1) + 2);
    assert_int_equal(consumed.measured, consumed.count - 1);
    assert_int_equal(consumed.cpu_ns, sum + UINT32_MAX);
    assert_int_equal(consumed.buckets[0], 1);
    for (unsigned i = 1; i < PP_HANDLER_BUCKETS; i++)
        assert_int_equal(consumed.buckets[i], 2);
    assert_false(pp_requests_waiting());
    assert_int_equal(consume(NULL).endpoints, 0);
}

TEST(names_are_cut_like_those_of_samples)
{
    char name[400];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    pp_requests_add(name, 0);
    memcpy(name + 152, "\u2026", 4);
    assert_int_equal(consume(name).count, 1);
    pp_requests_add(name, 0); /* as long as it may be */
    assert_int_equal(consume(name).count, 1);
    for (unsigned i = 0; i < sizeof name - 1; i++)
        name[i] = "\u00e9"[i % 2];
    pp_requests_add(name, 0);
    memcpy(name + 152, "\u2026", 4);
    assert_int_equal(consume(name).count, 1);
    pp_requests_add(NULL, 0);
    pp_requests_add("", 5);
    assert_int_equal(consume("(unknown route)").count, 2);
}

TEST(a_process_without_a_flush_thread_counts_nothing)
{
    atomic_store(&pp_flush.life, PP_FLUSH_NONE);
    pp_requests_add("/", 0);
    assert_false(pp_requests_waiting());
    atomic_store(&pp_flush.life, PP_FLUSH_NEEDED);
    pp_requests_add("/", 0);
    assert_int_equal(consume(NULL).count, 1);
    atomic_store(&pp_flush.life, PP_FLUSH_RUNS);
}

TEST(what_a_parent_has_counted_is_not_its_childs)
{
    int status;
    pp_requests_add("/parent", 3);
    pid_t child = fork();
    if (!child) {
        pp_process_begins();
        pp_requests_after_fork();
        bool nothing = !pp_requests_waiting() && consume(NULL).count == 0;
        pp_requests_add("/parent", 0);
        pp_requests_add("/child", 0);
        struct consumed consumed = consume(NULL);
        _exit(nothing && consumed.endpoints == 2 && consumed.count == 2 && !consumed.cpu_ns ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(consume("/parent").cpu_ns, 3);
}

#define THREADS  4
#define REQUESTS 100000
#define NAMES    700 /* of all threads; few enough even where two add each name at once */

static void on_signal(int number)
{
    (void)number;
    pp_requests_add("/signal", 1);
}

static void *count_many(void *argument)
{
    (void)argument;
    char name[32];
    for (uint32_t i = 0; i < REQUESTS; i++) {
        snprintf(name, sizeof name, "/many/%u", i % (NAMES / THREADS));
        pp_requests_add(name, 1);
        if (i % 1000 == 0)
            raise(SIGUSR1);
    }
    return NULL;
}

TEST(threads_and_handlers_count_at_once)
{
    pthread_t threads[THREADS];
    struct consumed all = {0};
    signal(SIGUSR1, on_signal);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count_many, NULL);
    for (unsigned i = 0; i < 2000; i++) { /* as the flush thread does meanwhile */
        struct consumed some = consume(NULL);
        all.count += some.count;
        all.cpu_ns += some.cpu_ns;
        assert_int_equal(some.count, some.measured);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct consumed rest = consume(NULL);
    assert_int_equal(all.count + rest.count, THREADS * (REQUESTS + REQUESTS / 1000));
    assert_int_equal(all.cpu_ns + rest.cpu_ns, all.count + rest.count);
}

/* The last test: names stay. */
TEST(of_many_names_all_later_ones_are_others)
{
    char name[32];
    for (unsigned i = 0; i < 3 * PP_REQUEST_ENDPOINTS; i++) {
        snprintf(name, sizeof name, "/other/%u", i);
        pp_requests_add(name, 0);
        pp_requests_add("/parent", 0);
    }
    static struct pp_buffer records;
    pp_requests_consume(&tables, &records);
    pp_requests_add("/parent", 0);
    pp_requests_add(name, 0);
    assert_int_equal(consume("/parent").count, 1);
    pp_requests_add(name, 0);
    assert_int_equal(consume("(other)").count, 1);
}
