/*
 * Writes logs as many workers of one server do while they run: grow_logs DIRECTORY PROCESSES PAST SPEED. Each log has
 * PAST intervals when it is first seen; then it gains SPEED intervals a second, of 1/SPEED s each, until the program is
 * killed: a pusher with windows of 15/SPEED s has the work of SPEED times as long. All workers have the same code, seen
 * in an order of their own, and use a hot part of it most.
 */
#include "tests/unit/log_fixture.h"
#include "tests/unit/random.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILES     100
#define FUNCTIONS 600
#define NATIVES   100
#define LINES     3 /* of each function that run */
#define NODES     2000
#define HOT       300 /* stacks that have most samples */
#define NEW       3   /* stacks that are first seen in an interval, until all were */
#define DEEPEST   40
#define THREADS   4
#define SAMPLES   30 /* in an interval */
#define NS        1000000000u

struct worker {
    struct fixture log;
    char *path;
    uint32_t ids[NODES + 1], seen; /* seen: nodes were chosen up to here */
    uint64_t cpu_ns, samples;
};

/* The tree of all stacks. */
static uint32_t parents[NODES + 1], frames[NODES + 1], depths[NODES + 1];
static struct fixture_bytes payload, record;

static void append_sized(void)
{
    fixture_varint(&payload, record.length);
    fixture_append(&payload, record.data, record.length);
    record.length = 0;
}

static void append_fields(const uint64_t *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fixture_varint(&record, fields[i]);
    append_sized();
}

static void put(struct worker *worker, uint32_t type)
{
    fixture_block(&worker->log, type, payload.data, payload.length);
    payload.length = 0;
}

static void define_names(struct worker *worker)
{
    char text[200];
    fixture_varint(&payload, 1);
    for (uint32_t i = 0; i < 1 + FILES + FUNCTIONS + NATIVES; i++) {
        if (i == 0)
            snprintf(text, sizeof text, "/usr/lib/libserver.so.1");
        else if (i <= FILES)
            snprintf(text, sizeof text, "/srv/app/lib/python3.12/site-packages/package_%u/module_%u.py", i % 17, i);
        else
            snprintf(text, sizeof text, i <= FILES + FUNCTIONS ? "Class%u.method_%u" : "native_%u_%u", i % 91, i);
        fixture_append(&record, text, strlen(text));
        append_sized();
    }
    put(worker, PP_BLOCK_STRINGS);
    worker->log.strings = 1 + FILES + FUNCTIONS + NATIVES;
}

static void define_code(struct worker *worker, uint64_t bias)
{
    fixture_varint(&payload, 1);
    append_fields((const uint64_t[]){1, bias, bias + 0x1000, bias + 0x100000, 0x1000, PP_MODULE_PYTHON, 0}, 7);
    put(worker, PP_BLOCK_MODULES);
    fixture_varint(&payload, 1);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        append_fields((const uint64_t[]){2 + FILES + i, 2 + i % FILES, 10 + i}, 3);
    put(worker, PP_BLOCK_CODES);
    fixture_varint(&payload, 1);
    for (uint32_t i = 0; i < LINES * FUNCTIONS; i++)
        append_fields((const uint64_t[]){PP_FRAME_PYTHON, 1 + i % FUNCTIONS, 12 + i}, 3);
    for (uint32_t i = 0; i < NATIVES; i++)
        append_fields((const uint64_t[]){PP_FRAME_NATIVE, 1, bias + 0x1000 + 64 * i, 2 + FILES + FUNCTIONS + i, 5}, 5);
    put(worker, PP_BLOCK_FRAMES);
}

/* With all ancestors that are not there yet. */
static void define_node(struct worker *worker, uint32_t node)
{
    if (!node || worker->ids[node])
        return;
    define_node(worker, parents[node]);
    worker->ids[node] = ++worker->log.nodes;
    fixture_varint(&payload, worker->ids[node] - (parents[node] ? worker->ids[parents[node]] : 0));
    fixture_varint(&payload, frames[node]);
}

static void define_nodes(struct worker *worker, uint32_t count)
{
    uint32_t before = worker->log.nodes;
    fixture_varint(&payload, before + 1);
    for (; count && worker->seen < NODES; count--)
        define_node(worker, 1 + (worker->seen++ * 977) % NODES);
    if (worker->log.nodes > before)
        put(worker, PP_BLOCK_NODES);
    payload.length = 0;
}

static void begin(struct worker *worker, const char *directory, uint32_t number, uint64_t now)
{
    uint64_t bias = 0x7f0000000000u + ((uint64_t)number << 24);
    char text[4096];
    fixture_begin(&worker->log);
    snprintf(text, sizeof text, "worker-%u", number);
    fixture_process(&worker->log, &(struct fixture_process){"grow", text, "/srv/app", "3.12.1", "/usr/bin/python3", 0,
                                                            100000 + number, now});
    define_names(worker);
    define_code(worker, bias);
    for (uint32_t i = 0; i < THREADS; i++)
        fixture_thread(&worker->log, 100000 + number + i, i ? "worker" : "MainThread");
    define_nodes(worker, HOT);
    snprintf(text, sizeof text, "%s/%u-%llu-%08x" PP_LOG_SUFFIX, directory, 100000 + number, (unsigned long long)now,
             number);
    worker->path = strdup(text);
}

static void add_interval(struct worker *worker, uint64_t start, uint64_t wall)
{
    define_nodes(worker, NEW);
    fixture_varint(&payload, start);
    fixture_varint(&payload, wall);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint64_t ns = wall / SAMPLES - random_below((uint32_t)wall / 1000);
        uint32_t most = random_below(8) ? HOT : worker->log.nodes;
        worker->cpu_ns += ns;
        append_fields(
            (const uint64_t[]){1 + i % THREADS, 1 + random_below(most), 0, PP_STATE_GIL_KNOWN | random_below(2), 1, ns},
            6);
    }
    worker->samples += SAMPLES;
    put(worker, PP_BLOCK_SAMPLES);
    fixture_accounting(&worker->log, (const struct fixture_account[]){{PP_ACCOUNT_END_UNIX_NS, start + wall},
                                                                      {PP_ACCOUNT_CPU_NS, worker->cpu_ns},
                                                                      {PP_ACCOUNT_SAMPLED_NS, worker->cpu_ns},
                                                                      {PP_ACCOUNT_SAMPLES, worker->samples},
                                                                      {PP_ACCOUNT_THREADS, THREADS},
                                                                      {0, 0}});
}

static void append_to_file(struct worker *worker)
{
    int file = open(worker->path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || write(file, worker->log.file.data, worker->log.file.length) != (ssize_t)worker->log.file.length) {
        perror(worker->path);
        exit(1);
    }
    close(file);
    worker->log.file.length = 0;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("grow_logs DIRECTORY PROCESSES PAST SPEED\n", stderr);
        return 2;
    }
    uint32_t count = (uint32_t)atoi(argv[2]), past = (uint32_t)atoi(argv[3]);
    uint64_t wall = NS / (uint64_t)atoi(argv[4]), at = now_ns() - past * wall;
    struct worker *workers = calloc(count, sizeof *workers);
    for (uint32_t i = 1; i <= NODES; i++) {
        do
            parents[i] = i < 10 ? i - 1 : i - 1 - random_below(i < 500 ? i - 1 : 500);
        while (depths[parents[i]] >= DEEPEST);
        depths[i] = depths[parents[i]] + 1;
        frames[i] = 1 + random_below(LINES * FUNCTIONS + NATIVES);
    }
    for (uint32_t i = 0; i < count; i++) {
        begin(&workers[i], argv[1], i, at);
        for (uint32_t k = 0; k < past; k++)
            add_interval(&workers[i], at + k * wall, wall);
        append_to_file(&workers[i]);
        free(workers[i].log.file.data); /* what comes is short */
        workers[i].log.file = (struct fixture_bytes){0};
    }
    puts("ready");
    fflush(stdout);
    for (at += past * wall;; at += wall) {
        uint64_t now = now_ns();
        if (at + wall > now)
            nanosleep(&(struct timespec){0, (long)(at + wall - now)}, NULL);
        for (uint32_t i = 0; i < count; i++) {
            add_interval(&workers[i], at, wall);
            append_to_file(&workers[i]);
        }
    }
}
