/*
 * Writes logs as many busy workers of one server leave them: make_logs DIRECTORY WORKERS MEGABYTES. All have the same
 * code (so that merging has something to unify) at other addresses and in another order of first sight; each second
 * brings a block of samples and now and then new stacks.
 */
#include "tests/unit/log_fixture.h"
#include "tests/unit/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS     3000
#define FILES         200
#define NATIVES       1500
#define NODES         20000
#define DEEPEST       60
#define THREADS       4
#define SAMPLES       400 /* in a block */
#define START_NS      1700000000000000000u
#define NS_PER_SECOND 1000000000u
#define NODES_EACH    50 /* new ones with a block, until all are there */

static void append_sized(struct fixture_bytes *to, struct fixture_bytes *record)
{
    fixture_varint(to, record->length);
    fixture_append(to, record->data, record->length);
    record->length = 0;
}

static void define_strings(struct fixture *log, struct fixture_bytes *payload, struct fixture_bytes *record)
{
    char text[200];
    payload->length = 0;
    fixture_varint(payload, 1);
    for (uint32_t i = 0; i < FILES + FUNCTIONS + NATIVES + 1; i++) {
        if (i == 0)
            snprintf(text, sizeof text, "/usr/lib/libserver.so.1");
        else if (i <= FILES)
            snprintf(text, sizeof text, "/srv/app/lib/python3.12/site-packages/package_%u/module_%u.py", i % 17, i);
        else if (i <= FILES + FUNCTIONS)
            snprintf(text, sizeof text, "Class%u.method_with_a_long_name_%u", i % 91, i);
        else
            snprintf(text, sizeof text, "native_function_%u", i);
        fixture_append(record, text, strlen(text));
        append_sized(payload, record);
    }
    fixture_block(log, PP_BLOCK_STRINGS, payload->data, payload->length);
}

static void define_frames(struct fixture *log, uint64_t bias, struct fixture_bytes *payload,
                          struct fixture_bytes *record)
{
    payload->length = 0;
    fixture_varint(payload, 1);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        fixture_varint(record, 2 + FILES + i);
        fixture_varint(record, 2 + i % FILES);
        fixture_varint(record, 10 + i);
        append_sized(payload, record);
    }
    fixture_block(log, PP_BLOCK_CODES, payload->data, payload->length);
    payload->length = 0;
    fixture_varint(payload, 1);
    /* Three lines of each function, then native functions. */
    for (uint32_t i = 0; i < 3 * FUNCTIONS; i++) {
        fixture_varint(record, PP_FRAME_PYTHON);
        fixture_varint(record, 1 + i % FUNCTIONS);
        fixture_varint(record, 12 + i % FUNCTIONS + i / FUNCTIONS);
        append_sized(payload, record);
    }
    for (uint32_t i = 0; i < NATIVES; i++) {
        fixture_varint(record, PP_FRAME_NATIVE);
        fixture_varint(record, 1);
        fixture_varint(record, bias + 0x1000 + 64 * i);
        fixture_varint(record, 2 + FILES + FUNCTIONS + i);
        fixture_varint(record, 5);
        append_sized(payload, record);
    }
    fixture_block(log, PP_BLOCK_FRAMES, payload->data, payload->length);
}

/* The tree is the same for all workers: node i hangs below node parent(i), whatever number either has in a log. */
static uint32_t parents[NODES + 1], frames[NODES + 1], depths[NODES + 1];

static void make_tree(void)
{
    for (uint32_t i = 1; i <= NODES; i++) {
        do
            parents[i] = i < 10 ? i - 1 : i - 1 - random_below(i < 2000 ? i - 1 : 2000);
        while (depths[parents[i]] >= DEEPEST);
        depths[i] = depths[parents[i]] + 1;
        frames[i] = 1 + random_below(3 * FUNCTIONS + NATIVES);
    }
}

/* With all ancestors that are not there yet. */
static void define_node(struct fixture_bytes *payload, uint32_t *ids, uint32_t *next, uint32_t node)
{
    if (!node || ids[node])
        return;
    define_node(payload, ids, next, parents[node]);
    ids[node] = ++*next;
    fixture_varint(payload, ids[node] - (parents[node] ? ids[parents[node]] : 0));
    fixture_varint(payload, frames[node]);
}

static void write_worker(const char *directory, uint32_t worker, size_t bytes)
{
    struct fixture log;
    struct fixture_bytes payload = {0}, record = {0};
    static uint32_t ids[NODES + 1];
    uint32_t next = 0, wanted = 0;
    uint64_t bias = 0x7f0000000000u + ((uint64_t)worker << 24), now = START_NS, cpu = 0;
    char name[64];
    memset(ids, 0, sizeof ids);
    fixture_begin(&log);
    snprintf(name, sizeof name, "worker-%u", worker);
    fixture_process(&log, &(struct fixture_process){"bench", name, "/srv/app", "3.12.1", "/usr/bin/python3", 0,
                                                    1000 + worker, now});
    define_strings(&log, &payload, &record);
    log.strings = FILES + FUNCTIONS + NATIVES + 1;
    payload.length = 0;
    fixture_varint(&payload, 1);
    const uint64_t module[] = {1, bias, bias + 0x1000, bias + 0x100000, 0x1000, PP_MODULE_PYTHON, 0};
    for (size_t i = 0; i < sizeof module / sizeof module[0]; i++)
        fixture_varint(&record, module[i]);
    append_sized(&payload, &record);
    fixture_block(&log, PP_BLOCK_MODULES, payload.data, payload.length);
    define_frames(&log, bias, &payload, &record);
    for (uint32_t i = 0; i < THREADS; i++)
        fixture_thread(&log, 1000 + worker + i, i ? "worker" : "MainThread");
    for (; log.file.length < bytes; now += NS_PER_SECOND) {
        if (wanted < NODES) {
            payload.length = 0;
            fixture_varint(&payload, next + 1);
            size_t before = payload.length;
            for (uint32_t i = 0; i < NODES_EACH; i++, wanted++)
                define_node(&payload, ids, &next, 1 + (worker * 977 + wanted * 7919) % NODES);
            if (payload.length > before)
                fixture_block(&log, PP_BLOCK_NODES, payload.data, payload.length);
        }
        payload.length = 0;
        fixture_varint(&payload, now);
        fixture_varint(&payload, NS_PER_SECOND);
        for (uint32_t i = 0; i < SAMPLES; i++) {
            uint64_t ns = 9000000 + random_below(2000000);
            cpu += ns;
            fixture_varint(&record, 1 + i % THREADS);
            fixture_varint(&record, 1 + random_below(random_below(8) ? (next < 3000 ? next : 3000)
                                                                     : next)); /* hot and cold stacks */
            fixture_varint(&record, 0);
            fixture_varint(&record, PP_STATE_GIL_KNOWN | random_below(2));
            fixture_varint(&record, 1);
            fixture_varint(&record, ns);
            append_sized(&payload, &record);
        }
        fixture_block(&log, PP_BLOCK_SAMPLES, payload.data, payload.length);
    }
    fixture_accounting(&log, (const struct fixture_account[]){{PP_ACCOUNT_END_UNIX_NS, now},
                                                              {PP_ACCOUNT_CPU_NS, cpu},
                                                              {PP_ACCOUNT_SAMPLED_NS, cpu},
                                                              {PP_ACCOUNT_SAMPLES, cpu / 10000000},
                                                              {PP_ACCOUNT_THREADS, THREADS},
                                                              {0, 0}});
    fixture_exit(&log);
    char path[4096];
    snprintf(path, sizeof path, "%s/worker-%04u" PP_LOG_SUFFIX, directory, worker);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(log.file.data, 1, log.file.length, out) != log.file.length || fclose(out) != 0) {
        perror(path);
        exit(1);
    }
    fixture_end(&log);
    free(payload.data);
    free(record.data);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("make_logs DIRECTORY WORKERS MEGABYTES\n", stderr);
        return 2;
    }
    make_tree();
    for (uint32_t i = 0; i < (uint32_t)atoi(argv[2]); i++)
        write_worker(argv[1], i, (size_t)atoi(argv[3]) << 20);
    return 0;
}
