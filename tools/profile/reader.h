/*
 * One log segment, read from bytes that nobody vouches for (../../preload/log_format.h is the format).
 *
 * Every definition is kept in a table by its id; samples and notices are handed to a sink as they come, when all that
 * they refer to has been defined. What is damaged is skipped and counted, never guessed. Time is linear in the size;
 * memory is bounded by a small multiple of it, because an id is only believed when as many definitions fit into the
 * file.
 */
#ifndef PP_PROFILE_READER_H
#define PP_PROFILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../preload/log_format.h"
#include "../memory.h"
#include "accounting.h"

/* Bytes within the data given to pp_segment_read, or kept by pp_segment_read_on: not NUL-terminated, UTF-8 not checked.
 */
struct pp_text {
    const char *data;
    size_t length;
};

/* All fields are as in the log; strings by id. `defined` is false in the holes that lost blocks leave. */
struct pp_log_string {
    struct pp_text text;
    bool defined;
};

struct pp_log_module {
    uint64_t bias, text_start, text_end, text_file_offset;
    struct pp_text build_id; /* raw bytes */
    uint32_t path, flags;
    bool defined;
};

struct pp_log_code {
    uint32_t qualname, file, first_line;
    bool defined;
};

struct pp_log_frame {
    uint64_t address;
    uint64_t symbol_offset;
    uint32_t kind;
    uint32_t subject; /* native: module id; Python: code id; pseudo: string id */
    uint32_t symbol;  /* native: string id */
    uint32_t line;    /* Python, and the three below */
    uint32_t end_line, column, end_column;
    bool defined;
};

struct pp_log_node {
    uint32_t parent, frame; /* parent 0: the root */
    bool defined;
};

struct pp_log_thread {
    uint64_t tid, start_unix_ns;
    uint32_t name, flags;
    bool defined;
};

struct pp_log_labels {
    struct pp_text pairs; /* varints: key, value, key, value … */
    bool defined;
};

struct pp_log_process {
    struct pp_text run, instance, host, boot_id, command_line, executable, cwd, python_version, library_version,
        parent_instance, unwinder;
    uint64_t segment, pid, ppid, uid, exec_count, start_unix_ns, period_ns, tick_ns, cpus;
};

struct pp_log_sample {
    uint32_t thread, node, labels, state;
    uint64_t count, cpu_ns;
};

/* Some of an interval. */
struct pp_log_samples {
    uint64_t start_unix_ns, wall_ns;
    const struct pp_log_sample *items;
    uint32_t count; /* never 0 */
};

enum pp_table_kind {
    PP_TABLE_STRINGS,
    PP_TABLE_MODULES,
    PP_TABLE_CODES,
    PP_TABLE_FRAMES,
    PP_TABLE_NODES,
    PP_TABLE_THREADS,
    PP_TABLE_LABELS,
    PP_TABLE_COUNT
};

struct pp_log_table {
    void *items; /* of the struct above that goes with the kind, item 0 unused */
    uint32_t capacity, end;
};

/* What was not read. All zero: the segment is whole. */
struct pp_read_losses {
    uint64_t damaged_blocks; /* wrong CRC, or a length that cannot be */
    uint64_t damaged_bytes;
    uint64_t damaged_records;   /* in blocks with a right CRC: a writer's mistake */
    uint64_t missing_blocks;    /* gaps in the sequence that are not damaged blocks */
    uint64_t unknown_blocks;    /* of a newer writer: no harm */
    uint64_t truncated_bytes;   /* after the last whole block */
    uint64_t repeated_blocks;   /* left out: they had been read already */
    uint64_t repeated_segments; /* left out: they had been read already */
};

struct pp_segment {
    struct pp_log_process process;
    struct pp_accounting accounting; /* the last one in the segment */
    struct pp_accounting earlier;    /* what the segments before it ended with; all 0: nothing */
    uint64_t end_unix_ns;
    uint32_t end_reason; /* enum pp_end_reason, 0 when there is no such block */
    bool has_process, has_accounting;
    struct pp_read_losses losses;
    struct pp_log_table tables[PP_TABLE_COUNT];
    uint64_t size;        /* of the data */
    uint64_t end;         /* where the segment ends in it: at the size, or where the header of another one stands */
    uint32_t next;        /* sequence number of the block that should come there */
    struct pp_seen *seen; /* which blocks were read */
    uint32_t seen_capacity;
    struct pp_index seen_index;
    struct pp_kept *kept;
};

/* Any function may be NULL. The segment's tables are as they were at that place of the log. */
struct pp_segment_sink {
    void *context;
    void (*samples)(void *context, const struct pp_segment *segment, const struct pp_log_samples *samples);
    void (*notice)(void *context, const struct pp_segment *segment, uint64_t unix_ns, uint64_t severity,
                   struct pp_text text);
    /* segment->accounting is as of now. */
    void (*accounting)(void *context, const struct pp_segment *segment);
    /* An id gets another meaning from here on; the segment has the old one still. */
    void (*redefined)(void *context, const struct pp_segment *segment, enum pp_table_kind kind, uint32_t id);
};

enum pp_read_result {
    PP_READ_OK,
    PP_READ_NOT_A_PROFILE,
    PP_READ_TEXT_MODE, /* line ends were changed on the way */
    PP_READ_BYTE_ORDER,
    PP_READ_VERSION,
};

/* Reads a whole segment. sink may be NULL. The segment refers to data, which must stay until pp_segment_free, which
 * must be called whatever the result. Losses are no errors: see segment->losses. */
enum pp_read_result pp_segment_read(const void *data, size_t size, struct pp_segment *segment,
                                    const struct pp_segment_sink *sink);

/* The same for one of several segments that stand one after the other, as `cat` puts them. *budget limits what damage
 * may cost in all of them together: give pp_read_budget(size of all) to the first, and pass it on. */
enum pp_read_result pp_segment_read_part(const void *data, size_t size, size_t *budget, struct pp_segment *segment,
                                         const struct pp_segment_sink *sink);
size_t pp_read_budget(size_t size);

/*
 * Takes in what a segment that still grows has got since the last call; it begins as {0}. `data` is what stands behind
 * segment->end, and is no longer needed afterwards. What is not whole yet waits: segment->end tells from where on it is
 * wanted again. It stays before the header of another segment.
 */
enum pp_read_result pp_segment_read_on(const void *data, size_t size, struct pp_segment *segment,
                                       const struct pp_segment_sink *sink);

/* Whether the header of a segment stands here. */
bool pp_segment_begins(const void *data, size_t size);

/* Only the PROCESS block, from the beginning of a file (which may be cut after it). */
enum pp_read_result pp_segment_read_process(const void *data, size_t size, struct pp_segment *segment);

void pp_segment_free(struct pp_segment *segment);

/* What the result means and what to do, without a full stop. */
const char *pp_read_result_text(enum pp_read_result result);

/* The definition, or NULL when the id is 0 or was never defined. Valid until more is read. */
const void *pp_segment_find(const struct pp_segment *segment, enum pp_table_kind kind, uint64_t id);
/* Empty when unknown. */
struct pp_text pp_segment_string(const struct pp_segment *segment, uint64_t id);

#endif
