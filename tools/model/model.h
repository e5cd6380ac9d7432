/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds a profile in memory, made of one or more segments; equal items are kept once.
 *
 * All tables are arrays whose items refer to each other by number; string 0 is "", node 0 is the root (no frame).
 * Native frames are kept by address in the file's own terms, so that processes with other load addresses share them.
 * Times are nanoseconds, "unix" ones since 1970. Numbers and pointers stay valid until pt_profile_free; arrays may
 * move while segments are being added.
 */
#ifndef PT_MODEL_MODEL_H
#define PT_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/memory.h"
#include "../log/accounting.h"
#include "../log/reader.h"
#include "kind.h"
#include "request.h"
#include "run_joins.h"
#include "sample_sums.h"

struct pt_module {
    uint32_t path;                      /* string, whole path */
    uint32_t build_id;                  /* string, hex; "" when there is none */
    uint64_t start, limit, file_offset; /* executable part, in the file's own terms */
    uint32_t flags;                     /* PP_MODULE_* */
};

struct pt_function {                 /* a Python function */
    uint32_t name, file, first_line; /* strings; first_line 0: unknown */
    uint32_t short_file;             /* string: the path as people read it (frame_text.h) */
};

struct pt_frame {
    uint32_t kind;    /* enum pp_frame_kind */
    uint32_t subject; /* native: module or PT_NONE; Python: function; pseudo: string */
    uint64_t address; /* native, in the file's own terms (the process's, when there is no module) */
    uint32_t symbol;  /* native: string, 0 when unknown */
    uint32_t line;    /* the line being executed; native: in `source`; 0 when unknown */
    /* Python: where the expression within the line is, in bytes of its UTF-8 from 1 on; it ends before end_column of
     * end_line. All 0 when unknown. */
    uint32_t end_line, column, end_column;
    uint64_t symbol_offset; /* address - start of its function; known for some functions without a symbol, too */
    uint32_t source;        /* native: string, whole path of the source file; "" when unknown */
    /* Native, with an address like that of its caller: the number of the frame that it is inlined into + 1; 0: it is
     * not inlined. */
    uint32_t inlined_into;
    uint32_t caller; /* native without a symbol: string, what leads to it (symbols/callers.h); 0: not known */
};

struct pt_node {
    uint32_t parent, frame; /* a parent's number is less than its children's */
};

/* Sums CPU time by the state of the interpreter (gil_gc.h). */
struct pt_states {
    uint64_t cpu_ns;
    uint64_t gil_ns, gil_known_ns; /* with the GIL held */
    uint64_t gc_ns, gc_known_ns;   /* in a garbage collection */
};

struct pt_thread {
    uint32_t process;
    uint32_t name; /* string */
    uint64_t tid;  /* 0: not a thread, but holds the samples of the process as a whole */
    uint64_t start_unix_ns;
    uint32_t flags;
    struct pt_states states; /* of its samples, in a profile of PT_KEEP_STACKS or with timed_from_ns */
};

struct pt_label {
    uint32_t key, value; /* strings */
};

struct pt_label_set {
    uint32_t first, count; /* in labels */
};

struct pt_interval {
    uint64_t start_unix_ns, wall_ns;
};

/* Limits of the bit fields in struct pt_sample. Label sets with larger numbers are merged; no log has so many. */
#define PT_MAX_LABEL_SETS 0xffffffu
#define PT_MAX_STATES     0x7fu
/* The sample is a single one, of a trace that was kept (traces.h). */
#define PT_STATE_TRACED 0x80u

struct pt_sample {
    uint32_t thread, node; /* thread: PT_NONE in a profile of PT_KEEP_STACKS */
    uint32_t labels : 24;  /* label set; 0: none */
    uint32_t state : 8;    /* PP_STATE_*, PT_STATE_TRACED */
    uint32_t interval;     /* 0 unless the profile keeps intervals, or the sample is of a trace that was kept */
    uint64_t count, cpu_ns;
};

struct pt_requests {
    uint32_t process, endpoint; /* endpoint: string; 0: none */
    uint32_t interval;          /* 0 unless the request has timed_from_ns */
    struct pt_request_sums sums;
};

/* A trace of which samples were kept. */
struct pt_trace {
    uint32_t id;              /* string: 32 hexadecimal digits */
    uint64_t cpu_ns, samples; /* of all that the log has, whatever is selected */
};

struct pt_notice {
    uint64_t unix_ns, severity;
    uint32_t text; /* string */
};

/* Holds what a process had used since its start, at the end of an interval. */
struct pt_usage {
    uint64_t end_unix_ns, wall_ns, cpu_ns, samples, voluntary_switches, involuntary_switches, minor_faults,
        major_faults;
};

struct pt_part {
    uint64_t number;
    bool has_last;
    struct pt_accounting earlier, last; /* sums at the end of the part before it, and at its own end */
};

/* The beginnings of the intervals with its first request, and with its first code that is no import; 0: none. */
struct pt_ready {
    uint64_t serves_unix_ns, runs_unix_ns;
};

/* Whether a process ran just before its log was read. */
enum pt_alive { PT_ALIVE_UNKNOWN, PT_ALIVE_NO, PT_ALIVE_YES };

struct pt_process {
    uint32_t run, instance, parent_instance, host, boot_id, command_line, executable, cwd, python_version,
        library_version, architecture, unwinder, pid_namespace, clock, contexts, traces, service; /* strings */
    uint64_t pid, ppid, group, uid, exec_count, start_unix_ns, end_unix_ns, period_ns, tick_ns, cpus, run_billed_ns;
    uint64_t compacted_ns;                                     /* PP_PROCESS_COMPACTED_NS */
    uint64_t paused, control_since_ns, control_hz, control_ns; /* PP_PROCESS_PAUSED and so on */
    uint32_t segments;
    PT_TABLE_OF(struct pt_part) parts; /* the segments that were read, in that order */
    uint64_t latest_part;              /* the largest number of these */
    bool sums_open;                    /* the sums below are out of date: call pt_profile_close_sums */
    bool has_accounting, ended;        /* ended: the log says that the process ended */
    enum pt_alive alive;               /* if it does not say so */
    struct pt_accounting accounting;   /* without the parts that are missing */
    uint64_t missing_ns;               /* CPU time of the missing parts */
    uint64_t found_ns;                 /* CPU time of the samples in the log, without pending time */
    bool passed_over;                  /* not of all: intervals at other times than the selected ones were not read */
    uint64_t samples;                  /* number of samples in the log */
    struct pt_ready ready;             /* of a request with `ready`, or as `earlier` has it */
    PT_TABLE_OF(struct pt_notice) notices;
    PT_TABLE_OF(struct pt_usage)
    usage; /* if the request says so: one for each interval, when closed in the order of time */
};

/* Threads of native pools that wait for work, or for each other, in a loop. */
struct pt_spinning {
    uint64_t ns;                   /* CPU time of all such loops */
    const char *function, *advice; /* of the one with most of it; static */
};

struct pt_profile {
    const struct pt_load_request *request;
    enum pt_keep keep;                /* as requested, or more if the selection needs it (selection.h) */
    const struct pt_profile *earlier; /* its processes know when they were ready; NULL: that is not asked for */
    const struct pt_run_joins *joins; /* ids of runs that are parts of others; NULL: none */
    uint64_t run_start_unix_ns;       /* origin of the request's times, and of time bins */
    uint64_t run_end_unix_ns;         /* from which the request's times before the end count; 0: it has none */

    PT_TABLE_OF(char *) strings;
    PT_TABLE_OF(struct pt_module) modules;
    PT_TABLE_OF(struct pt_function) functions;
    PT_TABLE_OF(struct pt_frame) frames;
    PT_TABLE_OF(struct pt_node) nodes;
    PT_TABLE_OF(struct pt_thread) threads;
    PT_TABLE_OF(struct pt_label) labels;
    PT_TABLE_OF(struct pt_label_set) label_sets;
    PT_TABLE_OF(struct pt_interval) intervals;
    PT_TABLE_OF(struct pt_sample) samples; /* the index may lack the last ones */
    PT_TABLE_OF(struct pt_process) processes;
    PT_TABLE_OF(struct pt_requests) requests; /* of the selected time and processes (http_requests.h) */
    PT_TABLE_OF(struct pt_trace) traces;

    uint64_t bin_ns; /* width of time bins; 0: intervals are those of the log */
    bool too_many;   /* there were more samples than most_samples, and some are not here */

    struct pt_read_losses losses;     /* of all segments */
    struct pt_sample_sums spare_sums; /* for the growing segment that is read next */
    struct pt_sample_sums whole;      /* with request->whole: sums of all segments, by the profile's numbers */

    bool waits; /* the main thread was seen to wait while threads without Python worked (pools.h) */

    /* CPU time of intervals of which --from or --to left out a part, and the longest of these */
    uint64_t cut_ns, cut_wall_ns;
    bool selected;     /* samples were left out (query/select.h); accounting still includes them */
    uint64_t whole_ns; /* CPU time of all samples before the selection */
    bool *middleware;  /* by function, of all samples before the selection (query/group.h); NULL: not asked for, or
                          none */
    /* CPU time of the samples that are left by their innermost frame, one of the first innermost_count, before frames
     * were folded (query/fold.h). */
    uint64_t *innermost_ns;
    uint32_t innermost_count;
    struct pt_spinning spinning; /* of them, likewise */
};

/* Makes an empty profile. request NULL keeps all samples of everything that is added; else *request must outlive the
 * profile. pt_profile_free ends it. */
struct pt_profile *pt_profile_new(const struct pt_load_request *request);
void pt_profile_free(struct pt_profile *profile);

/* Adds one segment, or several in a row. `name` names the process if the segment does not. The profile keeps no pointer
 * into data. */
enum pt_read_result pt_profile_add_segment(struct pt_profile *profile, const void *data, size_t size, const char *name);

/* Reads a segment while its file grows. pt_growing_free ends it. */
struct pt_growing;
struct pt_growing *pt_growing_new(struct pt_profile *profile, const char *name);
/* Says what of the data is taken into account; of the rest only the definitions are. */
struct pt_growing_part {
    bool counts, timed; /* samples and requests; timed: not of intervals that ended before since_unix_ns */
    uint64_t since_unix_ns;
    uint64_t until_unix_ns; /* what ended then or later is read another time */
    /* The same of a compacted log, of which times alone say what was read: a block has many intervals. */
    uint64_t compacted_until_unix_ns;
};
/* Reads the data that follows the first *end bytes of the file, and advances *end (pt_segment_read_on). part: NULL for
 * all. */
enum pt_read_result pt_growing_read(struct pt_growing *growing, const void *data, size_t size, uint64_t *end,
                                    const struct pt_growing_part *part);
/* Returns the end of the interval that the last call stopped before; 0: it did not. */
uint64_t pt_growing_later(const struct pt_growing *growing);
/* Adds the sums of what was read to the profile: once for many reads, since samples of equal stacks are one then. */
void pt_growing_add(struct pt_growing *growing);
/* Returns whether the segment's process was not wanted when it was read, but is now. */
bool pt_growing_is_wanted_after_all(const struct pt_growing *growing);
/* Returns whether the log says that the process ended: at most another segment follows. */
bool pt_growing_is_over(const struct pt_growing *growing);
/* Makes it go on with another profile, which has all that it has read: as these processes, by number, and with these
 * numbers of what the tables have. */
void pt_growing_move(struct pt_growing *growing, struct pt_profile *profile, const uint32_t *processes,
                     const uint32_t *const numbers[PT_TABLE_COUNT]);
void pt_growing_free(struct pt_growing *growing);

/* Adds everything in `from` to `into`, as if its segments had been added after those of `into`, and frees `from`. The
 * `count` growing segments, which were read into `from`, will be read into `into` from now on. Returns false, with both
 * unchanged, if both have segments of one process: segments that are in both cannot be recognized. */
bool pt_profile_merge(struct pt_profile *into, struct pt_profile *from, struct pt_growing *const *growing,
                      uint32_t count);

void pt_read_losses_add(struct pt_read_losses *sum, const struct pt_read_losses *one);

/* Updates the sums of all processes to the segments read so far. Call after adding segments. */
void pt_profile_close_sums(struct pt_profile *profile);

/* Completes the profile after the last segment: CPU time of live threads since their last samples becomes [unsampled]
 * of the process, so that samples + own + difference = CPU clock for a log without damage. Call once. */
void pt_profile_finish(struct pt_profile *profile);

/* Returns the accounting, summed over all processes; its wall_ns is the time in which at least one of them ran. */
struct pt_accounting pt_profile_accounting(const struct pt_profile *profile);
/* Returns the CPU time of all samples. */
uint64_t pt_profile_cpu_ns(const struct pt_profile *profile);

const char *pt_string(const struct pt_profile *profile, uint32_t string);

/* The following functions find an equal item or add it, and return its number. Text need not be UTF-8: invalid bytes
 * and NUL become U+FFFD. */
uint32_t pt_intern(struct pt_profile *profile, const char *text, size_t length);
uint32_t pt_intern_text(struct pt_profile *profile, const char *text);
uint32_t pt_add_module(struct pt_profile *profile, const struct pt_module *module);
uint32_t pt_add_function(struct pt_profile *profile, const struct pt_function *function);
uint32_t pt_add_frame(struct pt_profile *profile, const struct pt_frame *frame);
uint32_t pt_add_pseudo(struct pt_profile *profile, const char *text);
uint32_t pt_add_node(struct pt_profile *profile, uint32_t parent, uint32_t frame);
uint32_t pt_add_thread(struct pt_profile *profile, const struct pt_thread *thread);
uint32_t pt_add_label_set(struct pt_profile *profile, const struct pt_label *labels, uint32_t count);
uint32_t pt_add_interval(struct pt_profile *profile, uint64_t start_unix_ns, uint64_t wall_ns);
/* Forgets all nodes but the root. The array that held them is the caller's then, to free. */
struct pt_node *pt_take_nodes(struct pt_profile *profile, uint32_t *count);
void pt_add_sample(struct pt_profile *profile, const struct pt_sample *sample);
/* Adds a sample that is known to be new: faster than pt_add_sample, and takes less memory. */
void pt_append_sample(struct pt_profile *profile, const struct pt_sample *sample);
/* Adds CPU time of a stack to a profile of PT_KEEP_STACKS: all of the sample but its thread, and of its state only
 * whether it was a garbage collection. */
void pt_add_stack(struct pt_profile *profile, const struct pt_sample *sample);
/* Adds CPU time of a thread in an interval to a profile of PT_KEEP_STACKS with times. */
void pt_add_busy(struct pt_profile *profile, uint32_t thread, uint32_t state, uint32_t interval, uint64_t cpu_ns);
/* Adds a sample of a profile that keeps as much: as a stack, a busy thread or a sample. */
void pt_add_as_kept(struct pt_profile *profile, const struct pt_sample *sample);
/* Removes all samples from the profile and returns them, *count of them; the caller frees. */
struct pt_sample *pt_take_samples(struct pt_profile *profile, uint32_t *count);
/* Moves what was summed up for request->whole to the samples. */
void pt_put_whole(struct pt_profile *profile);
/* Empties the profile's samples so that changed ones can be added while the old ones are read. The returned array of
 * *count samples stays the profile's and is overwritten: read it in order, and for each sample read add at most one
 * before reading the next. */
const struct pt_sample *pt_retake_samples(struct pt_profile *profile, uint32_t *count);
/* Finds the process by its instance, or adds one with only that set; returns its number. */
uint32_t pt_add_process(struct pt_profile *profile, uint32_t instance);

/* Adds to the sums of the trace with this id, a string. */
void pt_trace_add(struct pt_profile *profile, uint32_t id, uint64_t cpu_ns, uint64_t samples);

/* Sets *start_unix_ns and *end_unix_ns to the first start and the last end of all processes; 0 when unknown. */
void pt_profile_span(const struct pt_profile *profile, uint64_t *start_unix_ns, uint64_t *end_unix_ns);

#endif
