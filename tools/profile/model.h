/*
 * A profile in memory: what one or many segments say, with everything that means the same unified.
 *
 * All tables are arrays of which items refer to each other by number; string 0 is "", node 0 is the root (no frame).
 * Native frames are kept by address in the file's own terms, so that processes with other load addresses share them.
 * Times are nanoseconds, "unix" ones since 1970. Numbers and pointers stay valid until pp_profile_free; arrays may
 * move while segments are being added.
 */
#ifndef PP_PROFILE_MODEL_H
#define PP_PROFILE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../memory.h"
#include "accounting.h"
#include "reader.h"

/* A table that grows. */
#define PP_TABLE_OF(type)                                                                                              \
    struct {                                                                                                           \
        type *items;                                                                                                   \
        uint32_t count, capacity;                                                                                      \
        struct pp_index index;                                                                                         \
    }

struct pp_module {
    uint32_t path;                      /* string, whole path */
    uint32_t build_id;                  /* string, hex; "" when there is none */
    uint64_t start, limit, file_offset; /* executable part, in the file's own terms */
    uint32_t flags;                     /* PP_MODULE_* */
};

struct pp_function {                 /* Python */
    uint32_t name, file, first_line; /* strings; first_line 0: unknown */
    uint32_t short_file;             /* string: the path as people read it (frame_text.h) */
};

struct pp_frame {
    uint32_t kind;    /* enum pp_frame_kind */
    uint32_t subject; /* native: module or PP_NONE; Python: function; pseudo: string */
    uint64_t address; /* native, in the file's own terms (the process's, when there is no module) */
    uint32_t symbol;  /* native: string, 0 when unknown */
    uint32_t line;    /* being executed; native: in `source`; 0 when unknown */
    /* Python: where the expression within the line is, in bytes of its UTF-8 from 1 on; it ends before end_column of
     * end_line. All 0 when unknown. */
    uint32_t end_line, column, end_column;
    uint64_t symbol_offset; /* of the address from its function's start; also known for some without a symbol */
    uint32_t source;        /* native: string, whole path of the source file; "" when unknown */
    /* Native, with an address like that of its caller: the number of the frame that it is inlined into + 1; 0: it is
     * not inlined. */
    uint32_t inlined_into;
};

struct pp_node {
    uint32_t parent, frame; /* a parent's number is less than its children's */
};

/* CPU nanoseconds by what is known about the interpreter while they were used. */
struct pp_states {
    uint64_t cpu_ns;
    uint64_t gil_ns, gil_known_ns; /* with the GIL held */
    uint64_t gc_ns, gc_known_ns;   /* in a garbage collection */
};

struct pp_thread {
    uint32_t process;
    uint32_t name; /* string */
    uint64_t tid;  /* 0: not a thread, what belongs to the process as a whole */
    uint64_t start_unix_ns;
    uint32_t flags;
    struct pp_states states; /* of its samples, in a profile of stacks only */
};

struct pp_label {
    uint32_t key, value; /* strings */
};

struct pp_label_set {
    uint32_t first, count; /* in labels */
};

struct pp_interval {
    uint64_t start_unix_ns, wall_ns;
};

/* Sets with larger numbers are not told apart; no log has so many. */
#define PP_MOST_LABEL_SETS 0xffffffu
#define PP_MOST_STATES     0xffu

struct pp_sample {
    uint32_t thread, node; /* thread: PP_NONE in a profile of stacks only */
    uint32_t labels : 24;  /* label set; 0: none */
    uint32_t state : 8;    /* PP_STATE_* */
    uint32_t interval;     /* 0 unless the profile keeps intervals */
    uint64_t count, cpu_ns;
};

/* Numbers of samples + 1, in rows; 0: none yet. */
struct pp_places {
    struct pp_place_row {
        uint32_t *items, capacity;
    } * rows;
    uint32_t capacity;
};

struct pp_notice {
    uint64_t unix_ns, severity;
    uint32_t text; /* string */
};

/* What a process had used since its start, as it was noted at the end of an interval. */
struct pp_usage {
    uint64_t end_unix_ns, wall_ns, cpu_ns, samples, voluntary_switches, involuntary_switches, minor_faults,
        major_faults;
};

struct pp_part {
    uint64_t number;
    bool has_last;
    struct pp_accounting earlier, last; /* what the parts before it ended with, and what it ends with */
};

struct pp_process {
    uint32_t run, instance, parent_instance, host, boot_id, command_line, executable, cwd, python_version,
        library_version, unwinder; /* strings */
    uint64_t pid, ppid, uid, exec_count, start_unix_ns, end_unix_ns, period_ns, tick_ns, cpus;
    uint32_t segments;
    PP_TABLE_OF(struct pp_part) parts; /* the segments that were read, as they came */
    uint64_t latest_part;              /* the largest number of these */
    bool sums_open;                    /* more has been read than the following say: pp_profile_close_sums */
    bool has_accounting, ended;        /* ended: it left properly */
    struct pp_accounting accounting;   /* of what is left, when parts are missing */
    uint64_t missing_ns;               /* CPU time of these */
    uint64_t found_ns;                 /* CPU time of the samples that were found in the log, pending not included */
    uint64_t samples;                  /* their count */
    PP_TABLE_OF(struct pp_notice) notices;
    PP_TABLE_OF(struct pp_usage) usage; /* with keep_usage: one for each interval; when closed: in the order of time */
};

typedef bool pp_wants_process(void *context, const struct pp_log_process *process);

struct pp_profile {
    /* Set before the first segment. */
    bool keep_intervals;    /* samples of different intervals stay apart */
    uint64_t apart_from_ns; /* … of those that end after this (unix); the others have interval 0 */
    bool keep_usage;        /* of each interval */
    bool sums_only;         /* no samples: processes and their accounting */
    bool stacks_only; /* samples do not tell threads, labels and the GIL apart; threads have sums. With keep_intervals
                       * samples of node 0 say when each thread was busy, beside those of stacks: all is there twice */
    bool plain;       /* samples do not tell labels and the GIL apart */
    uint32_t most_samples; /* with keep_intervals; 0: any number. If there would be more … */
    bool merge_intervals;  /* … intervals become longer (slots.h); otherwise too_many is set, and the rest not read */
    uint64_t slots_from_ns;         /* unix: where a slot begins */
    const struct pp_choice *choice; /* which samples are kept; NULL: all (select.h). Sums of processes are of all */
    const char *only_run;           /* segments of runs that do not begin so are left out; NULL: none */
    pp_wants_process *wants;        /* segments of processes that it does not want are left out; NULL: none */
    void *wants_context;

    PP_TABLE_OF(char *) strings;
    PP_TABLE_OF(struct pp_module) modules;
    PP_TABLE_OF(struct pp_function) functions;
    PP_TABLE_OF(struct pp_frame) frames;
    PP_TABLE_OF(struct pp_node) nodes;
    PP_TABLE_OF(struct pp_thread) threads;
    PP_TABLE_OF(struct pp_label) labels;
    PP_TABLE_OF(struct pp_label_set) label_sets;
    PP_TABLE_OF(struct pp_interval) intervals;
    PP_TABLE_OF(struct pp_sample) samples; /* the index may lack the last ones */
    struct pp_places
        stack_places;             /* in a profile of stacks only: by interval * 2 + whether in a collection, and node */
    struct pp_places busy_places; /* the same: by interval, and thread * 4 + GIL */
    PP_TABLE_OF(struct pp_process) processes;

    uint64_t slot_ns; /* of intervals that were merged; 0: they are those of the log */
    bool too_many;    /* more samples than most_samples: this is not all */

    struct pp_read_losses losses; /* of all segments */

    bool selected;     /* samples were left out (select.h); accounting is of all of them nevertheless */
    uint64_t whole_ns; /* CPU time of all samples before that */
};

struct pp_profile *pp_profile_new(void);
void pp_profile_free(struct pp_profile *profile);

/* Adds one segment, or several that stand one after the other; `name` stands for the process where the segment does not
 * say which it is. The data is no longer needed afterwards. */
enum pp_read_result pp_profile_add_segment(struct pp_profile *profile, const void *data, size_t size, const char *name);

/* A segment that is read while its file grows: begins with pp_growing_new. */
struct pp_growing;
struct pp_growing *pp_growing_new(struct pp_profile *profile, const char *name);
/* Adds to the profile what stands behind the *end bytes that it had, and says how far it is now: reader.h. */
enum pp_read_result pp_growing_read(struct pp_growing *growing, const void *data, size_t size, uint64_t *end);
/* Its process was not wanted when it was read, but is now. */
bool pp_growing_is_wanted_after_all(const struct pp_growing *growing);
void pp_growing_free(struct pp_growing *growing);

void pp_read_losses_add(struct pp_read_losses *sum, const struct pp_read_losses *one);

/* After segments, however many: the sums of their processes become those of all that was read until then. */
void pp_profile_close_sums(struct pp_profile *profile);

/* After the last segment: what live threads burned since their last sample becomes [unsampled] of the process, so that
 * sum of samples + own + difference = CPU clock for a log without damage. Call once. */
void pp_profile_finish(struct pp_profile *profile);

/* Accounting over all processes. */
struct pp_accounting pp_profile_accounting(const struct pp_profile *profile);
/* CPU time of all samples. */
uint64_t pp_profile_cpu_ns(const struct pp_profile *profile);

const char *pp_string(const struct pp_profile *profile, uint32_t string);

/* The following find or add. Text need not be UTF-8: what is not becomes U+FFFD, as does NUL. */
uint32_t pp_intern(struct pp_profile *profile, const char *text, size_t length);
uint32_t pp_intern_text(struct pp_profile *profile, const char *text);
uint32_t pp_add_module(struct pp_profile *profile, const struct pp_module *module);
uint32_t pp_add_function(struct pp_profile *profile, const struct pp_function *function);
uint32_t pp_add_frame(struct pp_profile *profile, const struct pp_frame *frame);
uint32_t pp_add_pseudo(struct pp_profile *profile, const char *text);
uint32_t pp_add_node(struct pp_profile *profile, uint32_t parent, uint32_t frame);
uint32_t pp_add_thread(struct pp_profile *profile, const struct pp_thread *thread);
uint32_t pp_add_label_set(struct pp_profile *profile, const struct pp_label *labels, uint32_t count);
uint32_t pp_add_interval(struct pp_profile *profile, uint64_t start_unix_ns, uint64_t wall_ns);
/* Forgets all nodes but the root. The array that held them is the caller's then, to free. */
struct pp_node *pp_take_nodes(struct pp_profile *profile, uint32_t *count);
void pp_add_sample(struct pp_profile *profile, const struct pp_sample *sample);
/* For a sample that is known not to be there: faster, and takes less memory. */
void pp_append_sample(struct pp_profile *profile, const struct pp_sample *sample);
/* In a profile of stacks only. */
void pp_add_stack(struct pp_profile *profile, uint32_t node, bool in_gc, uint32_t interval, uint64_t count,
                  uint64_t cpu_ns);
/* The same, with intervals: the thread used so much in this one. */
void pp_add_busy(struct pp_profile *profile, uint32_t thread, uint32_t state, uint32_t interval, uint64_t cpu_ns);
/* Takes the samples out of the profile (and what led to them), which has none then; what it returns, *count of them,
 * the caller frees. */
struct pp_sample *pp_take_samples(struct pp_profile *profile, uint32_t *count);
/* The same, to add them again as something else, one after the other: in the same array, which stays the profile's. At
 * most one may be added for each that has been looked at, and before the next is. */
const struct pp_sample *pp_retake_samples(struct pp_profile *profile, uint32_t *count);
/* By instance; a new one has only its instance set. */
uint32_t pp_add_process(struct pp_profile *profile, uint32_t instance);

#endif
