/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include <string.h>
#include <time.h>

#include "../base/numbers.h"
#include "counters.h"
#include "live_page.h"

#define DEFAULT_SECONDS 30 /* Go's */
#define MOST_SECONDS    600
/* Logs are written each second: after this time they have the end of the window. */
#define LAG_NS    UINT64_C(1200000000)
#define PROFILE   "/debug/pprof/profile"
#define NATIVE    "none libraries all "
#define SELECTION "from to last pid thread not-thread focus ignore hide native run all "

/* A path that a command answers. Keys of its query are options of the command. */
static const struct route {
    const char *path, *type, *words, *keys; /* words: of the command line, with a blank after each, as after keys */
    bool is_page;
} routes[] = {
    {"/flame", "text/html; charset=utf-8", "flame --output=- ", SELECTION "by ", true},
    {"/api/report.json", "application/json", "report --json ", SELECTION "by top sort ", false},
    {"/api/runs.json", "application/json", "runs --json ", "all ", false},
    {PROFILE, "application/octet-stream", "export --format=pprof --all --native=libraries ", "seconds native ", false},
};

/* Sets the length of the word at `at`, and returns where the next one begins. */
static const char *next_word(const char *at, size_t *length)
{
    *length = strcspn(at, " ");
    return at + *length + 1;
}

static bool has_word(const char *words, const char *word)
{
    size_t length;
    for (const char *at = words, *next; *at; at = next) {
        next = next_word(at, &length);
        if (strlen(word) == length && memcmp(at, word, length) == 0)
            return true;
    }
    return false;
}

void pt_refuse(struct pt_answer *answer, enum pt_http status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PT_AUTO_FREE char *text = pt_format(format, arguments);
    bool is_page = answer->is_page;
    va_end(arguments);
    pt_answer_free(answer);
    answer->is_page = is_page;
    answer->status = status;
    answer->type = "text/plain; charset=utf-8";
    pt_buffer_text(&answer->text, text);
    pt_buffer_text(&answer->text, "\n");
}

void pt_answer_free(struct pt_answer *answer)
{
    pt_buffer_free(&answer->text);
    pt_job_order_free(&answer->order);
    *answer = (struct pt_answer){0};
}

/* Makes the window of a profile: from now on. Refuses the request if that is none; value NULL: the default. */
static void take_seconds(struct pt_answer *answer, const char *value)
{
    size_t digits = value ? strspn(value, "0123456789") : 0;
    unsigned long seconds = !value                                   ? DEFAULT_SECONDS
                            : digits && digits < 6 && !value[digits] ? strtoul(value, NULL, 10)
                                                                     : 0;
    if (!seconds || seconds > MOST_SECONDS) {
        pt_refuse(answer, PT_HTTP_BAD, "seconds takes a number from 1 to %d", MOST_SECONDS);
        return;
    }
    answer->order.from_ns = pt_clock_ns(CLOCK_REALTIME);
    answer->order.to_ns = answer->order.from_ns + seconds * PT_SECOND;
    answer->wait_ns = seconds * PT_SECOND + LAG_NS;
}

static void add_option(struct pt_job_order *order, const char *key, const char *value)
{
    bool flag = strcmp(key, "all") == 0;
    PT_AUTO_BUFFER word = pt_formatted(flag ? "--%s" : "--%s=%s", key, value);
    pt_job_order_add(order, word.data);
}

static void order_command(const struct pt_service *service, const struct route *route, char *query,
                          struct pt_answer *answer)
{
    struct pt_job_order *order = &answer->order;
    bool is_profile = strcmp(route->path, PROFILE) == 0, bad = false;
    const char *seconds = NULL;
    size_t length;
    answer->status = PT_HTTP_OK;
    answer->type = route->type;
    answer->is_page = route->is_page;
    answer->urgent = answer->is_download = is_profile;
    for (const char *at = route->words, *next; *at; at = next) {
        next = next_word(at, &length);
        PT_AUTO_FREE char *word = pt_strndup(at, length);
        pt_job_order_add(order, word);
    }
    for (char *key, *value; pt_http_next_pair(&query, &key, &value, &bad);) {
        if (!has_word(route->keys, key) || order->count > PT_JOB_WORDS / 2) {
            pt_refuse(answer, PT_HTTP_BAD, "%s takes: %s", route->path, *route->keys ? route->keys : "nothing");
            return;
        }
        /* The command would say it only after the seconds of the profile. */
        if (is_profile && strcmp(key, "native") == 0 && !has_word(NATIVE, value)) {
            pt_refuse(answer, PT_HTTP_BAD, "native takes none, libraries or all, not '%s'", value);
            return;
        }
        if (strcmp(key, "seconds") == 0)
            seconds = value;
        else
            add_option(order, key, value);
    }
    pt_job_order_add(order, "--");
    pt_job_order_add(order, service->directory);
    if (bad)
        pt_refuse(answer, PT_HTTP_BAD, "the query is malformed");
    else if (is_profile)
        take_seconds(answer, seconds);
}

void pt_route(const struct pt_service *service, struct pt_http_request *request, struct pt_answer *answer)
{
    static const char pprof[] = "/debug/pprof";
    const char *path = request->path;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (strcmp(path, routes[i].path) == 0) {
            order_command(service, &routes[i], request->query, answer);
            return;
        }
    answer->status = PT_HTTP_OK;
    if (strcmp(path, "/") == 0) {
        answer->type = "text/html; charset=utf-8";
        answer->is_page = true;
        pt_buffer_append(&answer->text, pt_live_head, pt_live_head_size);
    } else if (strcmp(path, "/metrics") == 0) {
        answer->type = "text/plain; version=0.0.4; charset=utf-8";
        pt_counters_read(service->counters);
        pt_counters_metrics(service->counters, &answer->text);
    } else if (strcmp(path, "/api/status.json") == 0) {
        answer->type = "application/json";
        pt_counters_read(service->counters);
        pt_counters_status(service->counters, &answer->text);
    } else if (strncmp(path, pprof, sizeof pprof - 1) == 0) {
        pt_refuse(answer, PT_HTTP_NOT_FOUND, "only " PROFILE " is here: this profiler measures CPU time alone");
    } else {
        pt_refuse(answer, PT_HTTP_NOT_FOUND,
                  "no such path; there are: / /flame " PROFILE
                  " /metrics /api/report.json /api/runs.json /api/status.json");
    }
}
