/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one log segment from bytes that may be damaged or forged (../../preload/common/log_format.h is the format).
 *
 * Every definition is kept in a table by its id; samples and notices are handed to a sink as they come, when all that
 * they refer to has been defined. What is damaged is skipped and counted, never guessed. Time is linear in the size;
 * memory is bounded by a small multiple of it, because an id is only believed when as many definitions fit into the
 * file.
 */
#ifndef PT_LOG_READER_H
#define PT_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../preload/common/log_format.h"
#include "../base/memory.h"
#include "accounting.h"

/* Points into the data given to pt_segment_read, or kept by pt_segment_read_on: not NUL-terminated, UTF-8 not
 * checked. */
struct pt_text {
    const char *data;
    size_t length;
};

/* All fields are as in the log; strings by id. `defined` is false in the holes that lost blocks leave. */
struct pt_log_string {
    struct pt_text text;
    bool defined;
};

struct pt_log_module {
    uint64_t bias, text_start, text_end, text_file_offset;
    struct pt_text build_id; /* raw bytes */
    uint32_t path, flags;
    bool defined;
};

struct pt_log_code {
    uint32_t qualname, file, first_line;
    bool defined;
};

struct pt_log_frame {
    uint64_t address;
    uint64_t symbol_offset;
    uint32_t kind;
    uint32_t subject; /* native: module id; Python: code id; pseudo: string id */
    uint32_t symbol;  /* native: string id */
    uint32_t line;    /* Python, and the three below */
    uint32_t end_line, column, end_column;
    bool defined;
};

struct pt_log_node {
    uint32_t parent, frame; /* parent 0: the root */
    bool defined;
};

struct pt_log_thread {
    uint64_t tid, start_unix_ns;
    uint32_t name, flags;
    bool defined;
};

struct pt_log_labels {
    struct pt_text pairs; /* varints: key, value, key, value … */
    bool defined;
};

/* The fields of a process: their names in enum pp_process_key and in the structs. */
#define PT_PROCESS_TEXTS(X)                                                                                            \
    X(RUN, run)                                                                                                        \
    X(INSTANCE, instance)                                                                                              \
    X(PARENT_INSTANCE, parent_instance)                                                                                \
    X(HOST, host)                                                                                                      \
    X(BOOT_ID, boot_id)                                                                                                \
    X(COMMAND_LINE, command_line)                                                                                      \
    X(EXECUTABLE, executable)                                                                                          \
    X(CWD, cwd)                                                                                                        \
    X(PYTHON_VERSION, python_version)                                                                                  \
    X(LIBRARY_VERSION, library_version)                                                                                \
    X(ARCHITECTURE, architecture)                                                                                      \
    X(UNWINDER, unwinder)                                                                                              \
    X(PID_NAMESPACE, pid_namespace)                                                                                    \
    X(CLOCK, clock)                                                                                                    \
    X(CONTEXTS, contexts)                                                                                              \
    X(TRACES, traces)                                                                                                  \
    X(SERVICE, service)
#define PT_PROCESS_NUMBERS(X)                                                                                          \
    X(PID, pid)                                                                                                        \
    X(PPID, ppid)                                                                                                      \
    X(GROUP, group)                                                                                                    \
    X(UID, uid)                                                                                                        \
    X(EXEC_COUNT, exec_count)                                                                                          \
    X(START_UNIX_NS, start_unix_ns)                                                                                    \
    X(PERIOD_NS, period_ns)                                                                                            \
    X(TICK_NS, tick_ns)                                                                                                \
    X(CPUS, cpus)                                                                                                      \
    X(RUN_BILLED_NS, run_billed_ns)                                                                                    \
    X(PAUSED, paused)                                                                                                  \
    X(CONTROL_SINCE_NS, control_since_ns)                                                                              \
    X(COMPACTED_NS, compacted_ns)                                                                                      \
    X(CONTROL_HZ, control_hz)                                                                                          \
    X(CONTROL_NS, control_ns)

struct pt_log_process {
#define X(key, field) struct pt_text field;
    PT_PROCESS_TEXTS(X)
#undef X
#define X(key, field) uint64_t field;
    PT_PROCESS_NUMBERS(X)
#undef X
    uint64_t segment;
};

/* Requests, as PP_BLOCK_REQUESTS counts them. */
struct pt_request_sums {
    uint64_t count, measured, cpu_ns, buckets[PP_HANDLER_BUCKETS];
};

struct pt_log_sample {
    uint32_t thread, node, labels, state;
    uint64_t count, cpu_ns;
};

/* Samples of one interval, some at a time. */
#define PT_SAMPLES_TOGETHER 64u
struct pt_log_samples {
    uint64_t start_unix_ns, wall_ns;
    const struct pt_log_sample *items;
    uint32_t count; /* 1 to PT_SAMPLES_TOGETHER */
};

/* What the main thread waited in (PP_BLOCK_WAITS) in the interval of the samples that follow. */
#define PT_WAITS_MAX 256u /* the rest counts for node 0 */
struct pt_log_wait {
    uint32_t node, count; /* node 0: it did not wait, or that is not known */
};
struct pt_log_waits {
    uint64_t start_unix_ns, wall_ns;
    const struct pt_log_wait *items;
    uint32_t count;
};

/* Requests to one endpoint that ended in an interval. */
struct pt_log_requests {
    uint64_t start_unix_ns, wall_ns;
    uint32_t endpoint; /* string; 0: none */
    struct pt_request_sums sums;
};

/* A sample of a trace that was kept; samples of intervals have its CPU time, too. */
#define PT_TRACE_BYTES 16u
#define PT_SPAN_BYTES  8u
struct pt_log_traced {
    uint64_t unix_ns, cpu_ns;
    uint32_t thread, node, labels, state;
    uint8_t trace[PT_TRACE_BYTES], span[PT_SPAN_BYTES];
};

enum pt_table_kind {
    PT_TABLE_STRINGS,
    PT_TABLE_MODULES,
    PT_TABLE_CODES,
    PT_TABLE_FRAMES,
    PT_TABLE_NODES,
    PT_TABLE_THREADS,
    PT_TABLE_LABELS,
    PT_TABLE_COUNT
};

struct pt_log_table {
    void *items; /* of the struct above that goes with the kind, from id `first` on; id 0 is unused */
    uint32_t capacity, first, end;
    uint32_t released; /* ids below may have been defined and released */
};

/* Which of 64 blocks in a row were read. */
struct pt_log_seen {
    uint32_t number; /* of the first one / 64 */
    uint64_t blocks;
};

/* Counts what was not read. All zero: the segment is whole. */
struct pt_read_losses {
    uint64_t damaged_blocks; /* wrong CRC, or a length that cannot be */
    uint64_t damaged_bytes;
    uint64_t damaged_records;   /* in blocks with a right CRC: a writer's mistake */
    uint64_t missing_blocks;    /* gaps in the sequence that are not damaged blocks */
    uint64_t unknown_blocks;    /* of a newer writer: no harm */
    uint64_t truncated_bytes;   /* after the last whole block */
    uint64_t repeated_blocks;   /* left out: they had been read already */
    uint64_t repeated_segments; /* left out: they had been read already */
};

struct pt_segment {
    struct pt_log_process process;
    struct pt_accounting accounting; /* the last one in the segment */
    struct pt_accounting earlier;    /* what the segments before it ended with; all 0: nothing */
    uint64_t end_unix_ns;
    uint32_t end_reason; /* enum pp_end_reason, 0 when there is no such block */
    bool has_process, has_accounting;
    struct pt_read_losses losses;
    struct pt_log_table tables[PT_TABLE_COUNT];
    uint64_t size;     /* of the data */
    uint64_t inflated; /* bytes of blocks that were in DEFLATED ones */
    uint64_t end;      /* where the segment ends in it: at the size, or before the header of another segment */
    uint32_t next;     /* sequence number of the block that should come there */
    uint32_t inner;    /* number of blocks that were read of a DEFLATED one that begins at `end` */
    uint64_t later_ns; /* end of the interval that it stopped before (sink.later); 0: it did not */
    PT_TABLE_OF(struct pt_log_seen) seen; /* by the sequence numbers of blocks */
    struct pt_kept *kept, *texts;         /* what the tables, and `process`, refer to */
    uint64_t text_bytes;
};

/* Any function may be NULL. The tables of the segment are as they were at that place of the log. */
struct pt_segment_sink {
    void *data;
    void (*samples)(void *data, const struct pt_segment *segment, const struct pt_log_samples *samples);
    /* Returns whether records of this interval are wanted; NULL: all are. Of the others none is decoded. */
    bool (*wants)(void *data, const struct pt_segment *segment, uint64_t start_unix_ns, uint64_t wall_ns);
    /* Returns whether reading a growing segment stops before the interval that ended then; NULL: it never does. */
    bool (*later)(void *data, const struct pt_segment *segment, uint64_t end_unix_ns);
    void (*waits)(void *data, const struct pt_log_waits *waits);
    void (*requests)(void *data, const struct pt_segment *segment, const struct pt_log_requests *requests);
    void (*notice)(void *data, const struct pt_segment *segment, uint64_t unix_ns, uint64_t severity,
                   struct pt_text text);
    void (*traced)(void *data, const struct pt_segment *segment, const struct pt_log_traced *sample);
    /* segment->accounting is as of now. */
    void (*accounting)(void *data, const struct pt_segment *segment);
    /* A block was found at this place of the data; and all that is in it has been handed over, unless it was left out
     * because it had been read already. */
    void (*block)(void *data, const struct pt_segment *segment, const struct pp_log_block_header *header, size_t at);
    void (*block_end)(void *data, const struct pt_segment *segment, const struct pp_log_block_header *header);
    void (*defined)(void *data, const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id);
    /* The id is about to get another meaning; the segment still has the old one. */
    void (*redefined)(void *data, const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id);
};

enum pt_read_result {
    PT_READ_OK,
    PT_READ_NOT_A_PROFILE,
    PT_READ_TEXT_MODE, /* line ends were changed on the way */
    PT_READ_BYTE_ORDER,
    PT_READ_VERSION,
};

/* Reads a whole segment. sink may be NULL. The segment refers to data, which must stay until pt_segment_free, which
 * must be called whatever the result. Losses are no errors: see segment->losses. *budget limits what damage may cost in
 * several segments in a row, as `cat` writes them: it starts as pt_read_budget(size of all); NULL for one segment. */
enum pt_read_result pt_segment_read(const void *data, size_t size, size_t *budget, struct pt_segment *segment,
                                    const struct pt_segment_sink *sink);
size_t pt_read_budget(size_t size);

/* Reads what a growing segment has gained since the last call; *segment starts as {0}. `data` is what comes after
 * segment->end and is no longer needed afterwards. Blocks that are not whole yet are left for the next call:
 * segment->end then is where they begin. It stays before the header of another segment. */
enum pt_read_result pt_segment_read_on(const void *data, size_t size, struct pt_segment *segment,
                                       const struct pt_segment_sink *sink);

/* Returns whether the data begins with the header of a segment. */
bool pt_segment_begins(const void *data, size_t size);

/* Reads only the PROCESS block, from the beginning of a file (which may be cut after it). */
enum pt_read_result pt_segment_read_process(const void *data, size_t size, struct pt_segment *segment);

/* Forgets the definitions of a growing segment, but threads. What is read later can refer to them no more. */
void pt_segment_release(struct pt_segment *segment);

void pt_segment_free(struct pt_segment *segment);

/* Returns what the result means and what to do, without a full stop (static). */
const char *pt_read_result_text(enum pt_read_result result);

/* Returns the definition, NULL when the id is 0 or was never defined. Valid until more is read. */
const void *pt_segment_find(const struct pt_segment *segment, enum pt_table_kind kind, uint64_t id);
/* Returns the text of the string; empty when unknown. */
struct pt_text pt_segment_string(const struct pt_segment *segment, uint64_t id);

#endif
