/* SPDX-License-Identifier: Apache-2.0 */
/* Defines what a handler puts into its thread's ring and the flush thread takes out: the contract between capture/ and
 * flush/. Records are contiguous, 8-byte aligned and in chronological order. A code definition precedes the first
 * sample that uses its cache entry; the entry may be redefined later for another code object. */
#ifndef PP_CAPTURE_RECORD_H
#define PP_CAPTURE_RECORD_H

#include "../frameworks/sources.h"
#include "native_walk.h"

enum pp_record_type {
    PP_RECORD_SKIP = 1, /* padding up to the end of the ring */
    PP_RECORD_CODE,
    PP_RECORD_SAMPLE,
    PP_RECORD_UNFINISHED,
    PP_RECORD_CONTEXT,
};

struct pp_record {
    uint32_t size; /* bytes, this header included, a multiple of 8 */
    uint32_t type;
};

/* Characters as the str object holds them; the flush thread converts them to UTF-8. */
struct pp_record_text {
    uint32_t bytes;
    uint8_t width; /* bytes per character: 1 (Latin-1), 2, 4; 0: could not be read */
    uint8_t cut;   /* truncated */
    uint16_t unused;
};

struct pp_record_code {
    struct pp_record header;
    uint32_t entry; /* index in the thread's code cache */
    uint32_t epoch;
    uint32_t line_table_format; /* enum pp_line_table */
    uint32_t first_line;
    uint32_t first_traceable;  /* code units before the first RESUME */
    uint32_t flags;            /* co_flags */
    uint32_t line_table_bytes; /* 0: too large to copy */
    struct pp_record_text qualname, filename;
    struct pp_record_text template_lines; /* of Jinja's code: python/template_lines.h */
    uint32_t template_extends;            /* another template: the code ends with a call of that one's */
    /* then the characters of qualname and of filename, the line table, the characters of template_lines */
};

#define PP_CONTEXT_TEXT_MAX 256u       /* bytes of characters */
#define PP_SELECTED         (1u << 31) /* the sample's trace is selected: PYPROF_TRACES */

/* What the thread's samples belong to from here on, until the next record of that kind. */
struct pp_record_context {
    struct pp_record header;
    uint64_t identity; /* of two contexts that follow each other it tells whether they are one; 0: none. A span's id */
    uint64_t trace_id[2]; /* of a span: the lower 64 bits first */
    struct pp_record_text text;
    uint32_t kind;  /* enum pp_context_kind */
    uint32_t no_id; /* a span without an id: the identity is its address */
    uint32_t epoch, frames;
    /* then pp_record_frame[frames], of an awaiter: those in which its coroutine is suspended, the outermost first; and
     * the characters */
};
#define PP_MAX_AWAITING  48u  /* of these frames */
#define PP_MAX_SUSPENDED 128u /* of which they are the ends */

/* One per native frame that runs Python frames (a run), innermost first. */
struct pp_record_run {
    uint16_t native; /* index of that native frame, or one of the values below */
    uint16_t frames; /* Python frames of the run */
};
#define PP_RUN_UNPAIRED UINT16_MAX       /* the native walk did not reach that frame */
#define PP_RUN_COUNTED  (UINT16_MAX - 1) /* 3.8–3.10: each Python frame has a native eval frame of its own */
/* The run ends in the omitted middle of a deep stack. Its native frame is the next eval frame outward from the previous
 * run's or, for the first run, from the interrupted frame, including that (NEXT) or not (CALLER). */
#define PP_RUN_NEXT   (UINT16_MAX - 2)
#define PP_RUN_CALLER (UINT16_MAX - 3)
/* Native code runs the outermost run from the start of the thread. */
#define PP_RUN_COMPILED (UINT16_MAX - 4)
/* The run is COUNTED, and of a subinterpreter: the outermost eval frames may be those of the interpreter that called
 * the subinterpreter. */
#define PP_RUN_COUNTED_INNER (UINT16_MAX - 5)

struct pp_record_frame {
    uint32_t entry;
    int32_t unit; /* code unit being executed; -1 before the first; PP_UNIT_UNKNOWN */
};
#define PP_UNIT_UNKNOWN INT32_MAX /* of a compiled function: no line table goes so far */
/* Flags in a native address. BROKEN: the walk ended there early; the next address was found by other means, and the
 * frames between are unknown. */
#define PP_NATIVE_BROKEN  ((uint64_t)1 << 63)
#define PP_NATIVE_NO_RULE ((uint64_t)1 << 62) /* because no rule holds there */
#define PP_NATIVE_DEEP    ((uint64_t)1 << 61) /* because the stack is too deep; neither: no rows, no module */
#define PP_NATIVE_ADDRESS (PP_NATIVE_DEEP - 1)
#define PP_ENTRY_CUT      UINT32_MAX /* frames are left out here */

#define PP_NO_FRAME UINT16_MAX

struct pp_record_sample {
    struct pp_record header;
    /* The thread's CPU clock: at the end of its previous handler, and at the start of this one. */
    uint64_t cpu_previous_ns, cpu_ns;
    /* Sums of the thread up to the end of its previous handler. */
    uint64_t profiler_ns, lost_ns;
    uint64_t switches_ns; /* what switches have cost for its perf event, up to now: a part of the thread's clock */
    uint64_t
        due_ns; /* what the sample represents, by its own clock (threads/perf_clock.h); 0: there is no other clock */
    uint32_t lost_samples;
    uint32_t epoch;
    uint16_t native_frames, runs, python_frames;
    uint8_t native_reason, python_reason; /* enum pp_reason */
    bool by_ticks;                        /* the thread has no other clock than the kernel's ticks */
    uint16_t context_reasons;             /* 1 << of enum pp_reason from PP_REASON_FIRST_CONTEXT on */
    _Static_assert(PP_REASON_COUNT - PP_REASON_FIRST_CONTEXT <= 16, "bits of context_reasons");
    uint16_t state;      /* PP_STATE_* */
    uint16_t task_frame; /* index of the Python frame with which the task's own stack begins, or PP_NO_FRAME */
    /* Voluntary and involuntary context switches and the CPU time since they were counted last: for a sample that is
     * overdue (pp_capture.overdue_ns), and where the thread has ticks alone. */
    uint32_t voluntary, involuntary;
    uint32_t contexts; /* 1 << enum pp_context_kind of those that could be read: the last record says what they are;
                          and PP_SELECTED */
    struct pp_module_time time;
    uint64_t counted_ns;
    uint64_t unix_ns; /* when it was taken; 0: its trace is not selected */
    /* then uint64_t native[native_frames], pp_record_run[runs] (padded to 8), pp_record_frame[python_frames] */
};

/* CPU time from wait to wait, in ticks: up to there ticks meet some work too much, some not at all. */
#define PP_SHORT_ROUND_TICKS 8u

/* Whether the thread waits so often that its work may be in step with the kernel's ticks, which then meet it unevenly:
 * where switches were counted. async-signal-safe. */
static inline bool pp_waits_often(const struct pp_record_sample *sample, uint64_t tick_ns)
{
    return sample->counted_ns < sample->voluntary * PP_SHORT_ROUND_TICKS * tick_ns;
}

/* A sample whose native walk needs unwind rows that did not exist yet: the flush thread finishes it. */
struct pp_record_unfinished {
    struct pp_record_sample sample; /* its counts are those of the arrays below */
    struct pp_walk_state stopped;
    uintptr_t sp, stack_top; /* as in pp_stacks */
    uintptr_t copy_start;    /* of the copied part of the stack */
    uint32_t copy_bytes;
    uint16_t native_max;
    uint8_t interpreter; /* index, or PP_NO_INTERPRETER */
    bool counted, entering, subinterpreter, compiled;
    /* then pp_native_frame native[native_frames], pp_run runs[runs], pp_record_frame python[python_frames], the copy */
};
#define PP_NO_INTERPRETER 0xff

#endif
