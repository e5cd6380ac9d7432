/*
 * Writes segments for tests, straight from preload/common/log_format.h and from nothing else: neither preload/'s writer
 * nor tools/'s reader has a hand in it.
 */
#ifndef PT_TESTS_LOG_FIXTURE_H
#define PT_TESTS_LOG_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "../../preload/common/log_format.h"

/* Bytes that grow; starts as {0}. The caller frees data. */
struct fixture_bytes {
    unsigned char *data;
    size_t length, capacity;
};
void fixture_append(struct fixture_bytes *bytes, const void *data, size_t length);
void fixture_varint(struct fixture_bytes *bytes, uint64_t value);

/* A segment being written. Definitions are numbered from 1 in the order of the calls; each call writes a block of its
 * own. Starts with fixture_begin. */
struct fixture {
    struct fixture_bytes file;
    uint32_t sequence;
    uint32_t strings, modules, codes, frames, nodes, threads, labels; /* how many there are */
};

void fixture_begin(struct fixture *log);
void fixture_end(struct fixture *log); /* frees; no END block */

/* Makes a file of these bytes, as those of a log. */
void fixture_write(const char *path, const void *data, size_t length);

/* Any block, with a right header. */
void fixture_block(struct fixture *log, uint32_t type, const void *payload, size_t length);

struct fixture_process {
    const char *run, *instance, *cwd, *python_version, *executable;
    uint64_t segment, pid, start_unix_ns;
};
void fixture_process(struct fixture *log, const struct fixture_process *process);
struct fixture fixture_of(const struct fixture_process *process); /* fixture_begin, too */
/* With what says which process its parent is. */
struct fixture_origin {
    uint64_t ppid, group;
    const char *boot_id, *pid_namespace;
};
void fixture_child(struct fixture *log, const struct fixture_process *process, const struct fixture_origin *origin);

uint32_t fixture_string(struct fixture *log, const char *text);
uint32_t fixture_module(struct fixture *log, const char *path, uint64_t bias, uint64_t start, uint64_t end,
                        uint32_t flags, const void *build_id, size_t build_id_length);
uint32_t fixture_code(struct fixture *log, const char *qualname, const char *file, uint32_t first_line);
uint32_t fixture_native(struct fixture *log, uint32_t module, uint64_t address, const char *symbol, uint64_t offset);
uint32_t fixture_python(struct fixture *log, uint32_t code, uint32_t line);
/* With columns, as newer logs have them. */
uint32_t fixture_python_at(struct fixture *log, uint32_t code, const uint32_t position[4]);
uint32_t fixture_pseudo(struct fixture *log, const char *text);
uint32_t fixture_node(struct fixture *log, uint32_t parent, uint32_t frame);
uint32_t fixture_thread(struct fixture *log, uint64_t tid, const char *name);
uint32_t fixture_thread_flags(struct fixture *log, uint64_t tid, const char *name, uint64_t flags);
uint32_t fixture_labels(struct fixture *log, const char *key, const char *value);
/* Keys and values in turn, NULL at the end. */
uint32_t fixture_label_set(struct fixture *log, const char *const *pairs);
void fixture_sample(struct fixture *log, uint32_t thread, uint32_t node, uint32_t labels, uint32_t state,
                    uint64_t count, uint64_t cpu_ns);
/* Of an interval of their own, in the order of fixture_sample: thread, node, labels, state, count, nanoseconds. */
#define FIXTURE_SAMPLE_FIELDS 6
void fixture_samples_at(struct fixture *log, uint64_t start_ns, uint64_t wall_ns,
                        const uint64_t (*samples)[FIXTURE_SAMPLE_FIELDS], uint32_t count);

/* Samples of traces; the first half of a trace's id is 0. */
struct fixture_traced {
    uint64_t unix_ns, cpu_ns, trace, span;
    uint32_t thread, node, labels, state;
};
void fixture_traced(struct fixture *log, uint64_t start_ns, const struct fixture_traced *samples, uint32_t count);

struct fixture_account {
    uint64_t key, value;
};
/* Pairs until key 0; values of DIFFERENCE_NS are taken as int64_t. */
void fixture_accounting(struct fixture *log, const struct fixture_account *accounts);
void fixture_notice(struct fixture *log, uint64_t severity, const char *text);
void fixture_exit(struct fixture *log);

/* A small process that uses every kind of block: main thread in main() -> work() [app.py] and native sum_squares,
 * recursion of fib, [unsampled], accounting that closes with 7 ms pending. Known sums: see the .c file. */
void fixture_example(struct fixture *log, uint64_t pid, uint64_t bias);
#define FIXTURE_SAMPLES_NS 100000000u /* of all samples of the example */
#define FIXTURE_PENDING_NS 7000000u
#define FIXTURE_OWN_NS     2000000u

#endif
