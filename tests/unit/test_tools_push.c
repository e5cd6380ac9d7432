/* pyprof push: URLs, headers, states and answers are read as they are meant, or refused. */
#include "profile_fixture.h"
#include "tools/push/answer.h"
#include "tools/push/target.h"
#include "tools/sent/state.h"
#include <sys/stat.h>

TEST(urls_name_the_protocol_and_become_an_endpoint)
{
    static const struct {
        const char *text, *endpoint;
    } good[] = {
        {"pyroscope+http://a", "http://a:4040/push.v1.PusherService/Push"},
        {"pyroscope+https://a.example/", "https://a.example/push.v1.PusherService/Push"},
        {"pyroscope+https://a/push.v1.PusherService/Push", "https://a/push.v1.PusherService/Push"},
        {"otlp+http://[::1]:4319", "http://[::1]:4319/v1development/profiles"},
        {"otlp+https://gateway/otlp/", "https://gateway/otlp/v1development/profiles"},
        {"parca+http://10.0.0.1", "http://10.0.0.1:7070/api/profiles/writeraw"},
    };
    static const char *const bad[] = {"",
                                      "http://a",
                                      "pyroscope",
                                      "pyroscope+",
                                      "pyroscope+ftp://a",
                                      "pyroscope+http://",
                                      "otlp+http:///x",
                                      "otlp+http://a:0",
                                      "otlp+http://a:65536",
                                      "otlp+http://a:80b",
                                      "otlp+http://a:",
                                      "otlp+http://[::1",
                                      "otlp+http://a\nheader",
                                      "otlp+http://a/x y",
                                      "otlp+http://a/?x=1",
                                      "otlp+http://name:secret@a"};
    struct pt_push_url url;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_null(pt_push_url_read(&url, good[i].text));
        assert_string_equal(url.endpoint, good[i].endpoint);
        size_t length = strlen(good[i].text); /* the state of a server has this name */
        assert_int_equal(strlen(url.text), length - (good[i].text[length - 1] == '/'));
        pt_push_url_free(&url);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_non_null(pt_push_url_read(&url, bad[i]));
        assert_null(url.endpoint);
        pt_push_url_free(&url);
    }
}

TEST(headers_are_those_of_the_environment_or_of_a_file_and_never_two_in_a_line)
{
    PT_AUTO(pt_pairs_free) struct pt_pairs pairs = {0};
    assert_true(pt_pairs_read(&pairs, " Authorization = Bearer%20a=b , x=1,"));
    assert_string_equal(pt_pairs_value(&pairs, "Authorization"), "Bearer a=b");
    assert_string_equal(pt_pairs_value(&pairs, "x"), "1");
    assert_true(pt_pairs_are_headers(&pairs));
    assert_false(pt_pairs_read(&pairs, "no value"));
    assert_true(pt_pairs_read(&pairs, "a=b%0d%0aX-Other:%20c"));
    assert_false(pt_pairs_are_headers(&pairs));
    uint32_t before = pairs.count;
    assert_true(pt_pairs_read_headers(&pairs, "# a comment\n\nAuthorization: Bearer c \r\nX-Scope-OrgID:t1"));
    assert_int_equal(pairs.count, before + 2);
    assert_string_equal(pairs.items[before].value, "Bearer c");
    assert_string_equal(pairs.items[before + 1].value, "t1");
    assert_false(pt_pairs_read_headers(&pairs, "X-A: 1\nBearer c\n"));
    assert_int_equal(pairs.count, before + 2);
}

TEST(a_file_is_sent_when_all_of_it_is)
{
    const uint64_t s = 1000000000;
    struct pt_push_state state = {.until_unix_ns = 10000 * s};
    struct stat file = {.st_size = 100, .st_ino = 7};
    file.st_mtim.tv_sec = 9000;
    assert_true(pt_push_state_has(&state, "a", &file, 10000 * s)); /* it was forgotten long after it was written */
    file.st_mtim.tv_sec = 9990;
    assert_false(pt_push_state_has(&state, "a", &file, 10000 * s));
    file.st_mtim.tv_sec = 9000;
    struct pt_push_file *known = pt_push_state_file(&state, "a");
    known->base = known->read = 50;
    known->inode = 7;
    assert_false(pt_push_state_has(&state, "a", &file, 10000 * s));
    known->read = 100; /* it is being sent */
    assert_false(pt_push_state_has(&state, "a", &file, 10000 * s));
    known->base = 100;
    assert_true(pt_push_state_has(&state, "a", &file, 10000 * s));
    file.st_ino = 8; /* it was compacted */
    assert_true(pt_push_state_has(&state, "a", &file, 10000 * s));
    file.st_mtim.tv_sec = 9990;
    assert_false(pt_push_state_has(&state, "a", &file, 10000 * s));
    pt_push_state_free(&state);
}

TEST(times_say_nothing_of_what_was_sent_when_the_clock_was_set_back)
{
    const uint64_t s = 1000000000;
    struct pt_push_state state = {.until_unix_ns = 10000 * s};
    struct stat file = {.st_size = 100, .st_ino = 7};
    file.st_mtim.tv_sec = 9000;
    assert_true(pt_push_state_has(&state, "a", &file, 10000 * s));
    assert_false(pt_push_state_has(&state, "a", &file, 9500 * s));
    struct pt_push_file *known = pt_push_state_file(&state, "a");
    known->base = known->read = 100;
    known->inode = 7;
    assert_true(pt_push_state_has(&state, "a", &file, 9500 * s));
    pt_push_state_free(&state);
}

TEST(a_service_is_called_as_its_script)
{
    static const char *const names[][2] = {
        {"python3 -u /srv/app.py 8000", "app.py"},
        {"/usr/bin/python3.11 -X dev -m http.server 80", "http.server"},
        {"/usr/bin/python3 /usr/bin/gunicorn -w 4 a:b", "gunicorn"},
        {"python -c print", "python"},
        {"uwsgi --ini x", "uwsgi"},
        {"", "python"},
        {"python3", "python3"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        PT_AUTO_FREE char *name = pt_push_program_name(names[i][0]);
        assert_string_equal(name, names[i][1]);
    }
}

/* Uvicorn's workers are multiprocessing's; a script that another one starts has its own name. */
TEST(a_worker_that_was_spawned_has_its_parents_name)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    const struct pt_push_target target = {0};
    static const char *const lines[] = {"python3 /srv/bin/uvicorn a:b --workers 2",
                                        "python3 -c 'from multiprocessing.spawn'", "python3 job.py"};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t number = pt_add_process(profile, pt_intern_text(profile, lines[i]));
        struct pt_process *process = &profile->processes.items[number];
        process->command_line = pt_intern_text(profile, lines[i]);
        process->pid = 100 + i;
        process->ppid = 100;
    }
    static const char *const names[] = {"uvicorn", "uvicorn", "job.py"};
    for (uint32_t i = 0; i < 3; i++)
        assert_string_equal(pt_string(profile, pt_push_service(&target, profile, i)), names[i]);
}

static struct pt_push_state full_state(void)
{
    struct pt_push_state state = {.until_unix_ns = 5,
                                  .batch_from_ns = 4,
                                  .batch_to_ns = 9,
                                  .sent = {1, 2},
                                  .refused = {3, 4},
                                  .expired = {5, 6},
                                  .removed = 11,
                                  .removed_bytes = 12};
    state.target = pt_strdup("otlp+http://a");
    state.error = pt_strdup("answered 500\nby \x01");
    state.success_unix_ns = 7;
    state.error_unix_ns = 8;
    struct pt_push_file *file = pt_push_state_file(&state, "12-3-a.pyprof");
    file->base = 10;
    file->read = 20;
    file->inode = 30;
    pt_push_state_file(&state, "/else where/x.pyprof");
    return state;
}

TEST(a_state_is_read_as_it_was_written)
{
    PT_AUTO(pt_push_state_free) struct pt_push_state state = full_state(), again = {0};
    PT_AUTO_BUFFER text = {0}, second = {0};
    pt_push_state_append(&text, &state);
    assert_true(pt_push_state_parse(&again, text.data));
    assert_int_equal(pt_push_state_find(&again, "12-3-a.pyprof")->read, 20);
    assert_non_null(pt_push_state_find(&again, "/else where/x.pyprof"));
    assert_null(pt_push_state_find(&again, "12"));
    assert_string_equal(again.error, "answered 500 by  ");
    pt_push_state_append(&second, &again);
    assert_string_equal(second.data, text.data);
}

TEST(a_state_with_any_byte_changed_or_missing_is_damaged)
{
    PT_AUTO(pt_push_state_free) struct pt_push_state state = full_state();
    PT_AUTO_BUFFER text = {0};
    pt_push_state_append(&text, &state);
    for (size_t i = 0; i < text.length; i++) {
        PT_AUTO(pt_push_state_free) struct pt_push_state again = {0};
        PT_AUTO_FREE char *shorter = pt_strndup(text.data, i);
        char byte = text.data[i];
        assert_false(pt_push_state_parse(&again, shorter));
        text.data[i] ^= 1;
        assert_false(pt_push_state_parse(&again, text.data));
        text.data[i] = byte;
    }
}

#define OK_HEAD   "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n\r\n"
#define NOW       UINT64_C(1700000000) /* Tue, 14 Nov 2023 22:13:20 GMT */
#define HEAD(say) "HTTP/1.1 " say "\r\nServer: x\r\n\r\n"

TEST(answers_say_what_to_do)
{
    static const struct {
        const char *text;
        enum pt_verdict verdict;
        uint64_t wait_s;
        const char *reason;
    } answers[] = {
        {HEAD("200 OK"), PT_VERDICT_TAKEN, 0, "200"},
        {HEAD("100 Continue") "HTTP/2 204 \r\n\r\n", PT_VERDICT_TAKEN, 0, "204"},
        {OK_HEAD "\n", PT_VERDICT_TAKEN, 0, "200"},
        {OK_HEAD "\n\x0d\x08\x01\x12\x09too small", PT_VERDICT_REFUSED, 0, "too small"},
        {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", PT_VERDICT_WRONG, 0, "200"},
        {"HTTP/1.1 301 Moved\r\nLocation: https://b/\r\n\r\n", PT_VERDICT_WRONG, 0, "https://b/"},
        {HEAD("401 Unauthorized") "{\"code\":\"x\",\"message\":\"bad \\\"token\\\"\"}", PT_VERDICT_WRONG, 0,
         "bad \\\"token"},
        {HEAD("404 Not Found") "404 page\nnot  found", PT_VERDICT_WRONG, 0, "404 Not Found: 404 page not found"},
        {HEAD("400 Bad Request") "invalid", PT_VERDICT_REFUSED, 0, "invalid"},
        {HEAD("400 Bad Request") "http: request body too large", PT_VERDICT_TOO_LARGE, 0, "too large"},
        {HEAD("413 Too Large"), PT_VERDICT_TOO_LARGE, 0, "413"},
        {HEAD("503 Unavailable") "later", PT_VERDICT_LATER, 0, "503 Unavailable: later"},
        {"HTTP/1.1 429 Slow\r\nretry-after:  7 \r\n\r\n", PT_VERDICT_LATER, 7, "429"},
        {"HTTP/1.1 429 Slow\r\nRetry-After: 99999999999999999999\r\n\r\n", PT_VERDICT_LATER, 600, "429"},
        {"HTTP/1.1 503 No\r\nRetry-After: Tue, 14 Nov 2023 22:13:30 GMT\r\n\r\n", PT_VERDICT_LATER, 10, "503"},
        {"HTTP/1.1 503 No\r\nRetry-After: Tue, 14 Nov 2023 22:13:10 GMT\r\n\r\n", PT_VERDICT_LATER, 0, "503"},
    };
    static const char *const none[] = {"",
                                       "HTTP/1.1 200 OK\r\n",
                                       "SSH-2.0-x\r\n\r\n",
                                       "HTTP/1.1 2x\r\n\r\n",
                                       "HTTP/1.1\r\nServer: 200 x\r\n\r\n",
                                       "HTTP/1.1 100 Continue\r\n\r\n",
                                       "HTTP/1.1 99999999999 OK\r\n\r\n"};
    struct pt_answer answer;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        assert_true(pt_answer_read(&answer, answers[i].text, strlen(answers[i].text), NOW));
        if (answer.verdict != answers[i].verdict || !strstr(answer.reason, answers[i].reason))
            fail_msg("%s: %d %s", answers[i].text, answer.verdict, answer.reason);
        assert_int_equal(answer.retry_after_ns / 1000000000u, answers[i].wait_s);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_false(pt_answer_read(&answer, none[i], strlen(none[i]), NOW));
        assert_int_equal(answer.verdict, PT_VERDICT_LATER);
    }
    assert_false(pt_answer_read(&answer, NULL, 0, NOW));
}
