/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the log, the contract between preload/ (the writer, but for what `pyprof run` adds at the end) and tools/
 * (the reader).
 *
 * A segment is one file: a pp_log_file_header, then blocks until the end of the file. A block is a pp_log_block_header
 * and `length` bytes of payload. Blocks are only ever appended, whole flushes at a time, so a live file and a file
 * whose writer was killed are read the same way: up to the first block that is cut short. A block whose CRC is wrong is
 * skipped (its length is still trusted when the header of the following block makes sense) and counted.
 *
 * Readers skip block types that they do not know, keys that they do not know, and bytes that are left over in a record.
 *
 * Encoding of payloads: "varint" is unsigned LEB128 (64 bits at most, so 10 bytes at most); "svarint" is a zigzag
 * varint; "str" is a varint string id, 0 meaning "none". All else is described at each block.
 *
 * Ids (strings, modules, codes, frames, nodes, threads, label sets) count from 1 within a segment; every definition
 * precedes its first use in the same segment. A definition block starts with the id of its first record, so that a
 * lost block costs its own definitions only. A later definition of an id replaces the earlier one (a thread that was
 * renamed). A process that fills its tables starts another segment with the same PP_PROCESS_INSTANCE.
 *
 * `pyprof compact` replaces a segment that is closed by one that says the same with longer intervals, under the same
 * name: PROCESS with PP_PROCESS_COMPACTED_NS, then DEFLATED blocks, the last ACCOUNTING and END. */
#ifndef PP_COMMON_LOG_FORMAT_H
#define PP_COMMON_LOG_FORMAT_H

#include "pseudo_frames.h"
#include <stdint.h>

#define PP_LOG_MAGIC      "PYPROF\r\n" /* 8 bytes; CR LF shows a transfer in text mode */
#define PP_LOG_VERSION    1u
#define PP_LOG_BYTE_ORDER 0x01020304u
#define PP_LOG_SUFFIX     ".pyprof"
/* No writer makes a longer block; a reader takes a longer length for damage. */
#define PP_LOG_MAX_BLOCK     (16u << 20)
#define PP_LOG_MOST_DEFLATED 128u

struct pp_log_file_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
};

struct pp_log_block_header {
    uint32_t type;     /* enum pp_log_block */
    uint32_t length;   /* bytes of payload */
    uint32_t crc32;    /* zlib's CRC-32 over {type, length, sequence} as 12 bytes, then the payload */
    uint32_t sequence; /* 0, 1, 2 … within the segment: a gap means that blocks are missing */
};

enum pp_log_block {
    /* Always the first block. Fields {varint key (enum pp_process_key), varint length, bytes}. A later PROCESS
     * block of the segment has the keys that have changed. */
    PP_BLOCK_PROCESS = 1,
    /* varint first_id, then records {varint length, UTF-8 bytes, no NUL at the end}. */
    PP_BLOCK_STRINGS = 2,
    /* varint first_id, then records {varint record_length, str path, varint bias, varint text_start, varint text_end,
     * varint text_file_offset, varint flags (PP_MODULE_*), varint build_id_length, build-id bytes}. Addresses are those
     * of the process; address in the file's own terms (st_value) = address - bias. */
    PP_BLOCK_MODULES = 3,
    /* varint first_id, then records {varint record_length, str qualname, str file (whole path), varint first_line}. */
    PP_BLOCK_CODES = 4,
    /* varint first_id, then records {varint record_length, varint kind (enum pp_frame_kind), fields of that kind}. */
    PP_BLOCK_FRAMES = 5,
    /* The call tree. varint first_id, then records {varint id - parent_id, varint frame id}; id - parent_id == id makes
     * the parent 0, the root (nothing). A stack is the id of its leaf's node. */
    PP_BLOCK_NODES = 6,
    /* varint first_id, then records {varint record_length, varint tid, str name, varint start_unix_ns, varint flags}.
     */
    PP_BLOCK_THREADS = 7,
    /* varint first_id, then records {varint record_length, pairs {str key, str value}}. A key may come several times,
     * in an order of meaning: "task", then "awaiter" for the task that awaits it, for the task that awaits that … ;
     * "greenlet", "endpoint", "span"; every other key is the application's. A stack has "[task]" where the frames of
     * its task begin, and before it, from the outermost awaiter on, "[awaiter]" and the frames in which that waits; at
     * its root, with "[awaited]" at their end, where there is no "[task]". */
    PP_BLOCK_LABELS = 8,
    /* varint start_unix_ns, varint wall_ns, then records {varint record_length, varint thread id (0: the process),
     * varint node id, varint label set id (0: none), varint state (PP_STATE_*), varint count, varint cpu_ns}. */
    PP_BLOCK_SAMPLES = 9,
    /* The sums since the start of the process; the last one counts. Fields {varint key (enum pp_account_key), varint
     * length, bytes}; the bytes are one varint unless the key says otherwise. */
    PP_BLOCK_ACCOUNTING = 10,
    /* varint unix_ns, varint severity (0 information, 1 warning), UTF-8 text to the end of the block. */
    PP_BLOCK_NOTICE = 11,
    /* varint unix_ns, varint reason (enum pp_end_reason). Its absence says: still running, or killed. */
    PP_BLOCK_END = 12,
    /* After PROCESS: the last ACCOUNTING block of the process's earlier segments. Where these are missing, what is left
     * is the last ACCOUNTING less this block. */
    PP_BLOCK_EARLIER = 13,
    /* Single samples of selected traces; their CPU time is in SAMPLES, too. varint start_unix_ns, then records {varint
     * record_length, svarint unix_ns - start_unix_ns, varint thread id, varint node id, varint label set id (0: none),
     * varint state (PP_STATE_*), varint cpu_ns, trace id and span id as W3C Trace Context writes them: 16 and 8 bytes,
     * the most significant first}. */
    PP_BLOCK_TRACES = 14,
    /* Requests that the program has counted (pyprof_request). varint start_unix_ns, varint wall_ns, then records
     * {varint record_length, str endpoint, varint count, varint measured, varint cpu_ns, PP_HANDLER_BUCKETS varints}:
     * requests that ended in that time; of how many of them the CPU time is known, its sum, and how many took how much
     * (pp_request_bucket_limit). */
    PP_BLOCK_REQUESTS = 15,
    /* What the main thread waited in while threads without Python worked: observations in the interval of the SAMPLES
     * block that follows. varint start_unix_ns, varint wall_ns, then records {varint record_length, varint node id (0:
     * it did not wait, or its stack could not be read), varint count}. */
    PP_BLOCK_WAITS = 16,
    /* Whole blocks, each with its header, as one zlib stream: what they are is as if they were there. The sequence
     * number is that of the first of them. Not more than PP_LOG_MAX_BLOCK bytes, nor than PP_LOG_MOST_DEFLATED times
     * the payload; none of them is DEFLATED. */
    PP_BLOCK_DEFLATED = 17,
};

enum pp_process_key {
    PP_PROCESS_RUN = 1,         /* text: one launch and all its descendants */
    PP_PROCESS_INSTANCE,        /* text: this process image, the same in all of its segments */
    PP_PROCESS_SEGMENT,         /* varint: 0, 1, 2 … */
    PP_PROCESS_PID,             /* varint */
    PP_PROCESS_PPID,            /* varint */
    PP_PROCESS_UID,             /* varint */
    PP_PROCESS_EXEC_COUNT,      /* varint: earlier images that exec replaced in this run, as far as known */
    PP_PROCESS_HOST,            /* text */
    PP_PROCESS_BOOT_ID,         /* text */
    PP_PROCESS_COMMAND_LINE,    /* arguments, each with a NUL after it; again when it changes in the first seconds */
    PP_PROCESS_EXECUTABLE,      /* text: /proc/self/exe */
    PP_PROCESS_CWD,             /* text: working directory at start, to shorten paths */
    PP_PROCESS_PYTHON_VERSION,  /* text, "3.11.2", of several interpreters "3.11.2, 3.13.0"; absent: no Python found */
    PP_PROCESS_LIBRARY_VERSION, /* text */
    PP_PROCESS_START_UNIX_NS,   /* varint */
    PP_PROCESS_PERIOD_NS,       /* varint: CPU time between two samples of a thread; again when it changes */
    PP_PROCESS_TICK_NS,         /* varint: what CPU-time timers are rounded up to, 0 if unknown */
    PP_PROCESS_PARENT_INSTANCE, /* text: PP_PROCESS_INSTANCE of the process that forked this one, if known */
    PP_PROCESS_CPUS,            /* varint: processors that it may run on */
    PP_PROCESS_UNWINDER,        /* text: what walks native stacks, "libunwind"; absent: our own unwind rows */
    PP_PROCESS_PID_NAMESPACE,   /* text: /proc/self/ns/pid; pids of other namespaces are other processes */
    PP_PROCESS_CLOCK,           /* text: the clock in use and why, for people; again when it changes; absent: ticks */
    PP_PROCESS_CONTEXTS,        /* text: the sources of contexts that are read, for people; again when it changes */
    PP_PROCESS_TRACES,          /* text: PYPROF_TRACES as it holds, "0.01" or "0.01,only"; absent: no traces are kept */
    PP_PROCESS_SERVICE,         /* text: OTEL_SERVICE_NAME, or service.name of OTEL_RESOURCE_ATTRIBUTES */
    PP_PROCESS_RUN_BILLED_NS,   /* varint: CPU time that the kernel billed to the run's command and the
                                   descendants that were waited for; `pyprof run` appends it to a complete log of the
                                   run */
    PP_PROCESS_GROUP,        /* varint: process group when the segment began, which is a job of a shell; 0: its leader
                                is outside of the pid namespace */
    PP_PROCESS_ARCHITECTURE, /* text: the processor that its code is for, "x86_64" or "aarch64" */
    /* What holds by the control file (common/control.h) and PYPROF_START, again when it changes; absent: neither says
     * anything. */
    PP_PROCESS_PAUSED,           /* varint: 1: it is paused, 0: it is not */
    PP_PROCESS_CONTROL_SINCE_NS, /* varint: unix time since when */
    PP_PROCESS_CONTROL_HZ,       /* varint: samples per CPU second that are asked for, 0: as it was started */
    PP_PROCESS_CONTROL_NS,       /* varint: "written" of the file, 0: there was none */
    PP_PROCESS_COMPACTED_NS,     /* varint: `pyprof compact` has joined intervals within so much time; absent: it has
                                    not */
};

enum pp_account_key {
    PP_ACCOUNT_END_UNIX_NS = 1, /* when these sums were taken */
    PP_ACCOUNT_WALL_NS,         /* since the start */
    PP_ACCOUNT_CPU_NS,          /* the process's CPU clock since Python appeared */
    PP_ACCOUNT_SAMPLED_NS,
    PP_ACCOUNT_UNSAMPLED_NS, /* written as [unsampled] samples (excess over the weight's bound, ends of threads) */
    PP_ACCOUNT_PENDING_NS,   /* used by live threads since their last sample: unsampled so far, in no sample record */
    PP_ACCOUNT_LOST_SAMPLES,
    PP_ACCOUNT_LOST_NS,         /* written as [lost] samples */
    PP_ACCOUNT_OWN_NS,          /* handlers and our thread: in no sample record */
    PP_ACCOUNT_THREAD_EXIT_NS,  /* written as a [thread exit] sample of the process */
    PP_ACCOUNT_DIFFERENCE_NS,   /* svarint: cpu - all of the above */
    PP_ACCOUNT_BEFORE_START_NS, /* the clock when Python appeared; not in the sum */
    PP_ACCOUNT_SAMPLES,         /* signals that became a sample */
    PP_ACCOUNT_THREADS,         /* alive now */
    PP_ACCOUNT_EXITED_THREADS,
    PP_ACCOUNT_HANDLER_COUNT,
    PP_ACCOUNT_HANDLER_SUM_NS,
    PP_ACCOUNT_HANDLER_MAX_NS,
    PP_ACCOUNT_HANDLER_HISTOGRAM, /* PP_HANDLER_BUCKETS varints: see pp_handler_bucket_limit */
    PP_ACCOUNT_REASONS, /* varints, one per enum pp_reason from 0 on: how often each happened (stacks, then samples from
                           LOST_RING_FULL on, threads from TIMER_FAILED on, flushes for WRITE_FAILED, threads again
                           after it, samples from CONTEXT_INTERPRETER on) */
    PP_ACCOUNT_STACK_BYTES, /* bytes that this segment set has on disk, all blocks */
    PP_ACCOUNT_VOLUNTARY_SWITCHES,
    PP_ACCOUNT_INVOLUNTARY_SWITCHES,
    PP_ACCOUNT_MINOR_FAULTS,
    PP_ACCOUNT_MAJOR_FAULTS,
    PP_ACCOUNT_ESTIMATED_NS,  /* the part of SAMPLED_NS that has PP_STATE_ESTIMATED */
    PP_ACCOUNT_REMOVED_FILES, /* old profiles, of any process, that this process removed for PYPROF_MAX_DISK */
    PP_ACCOUNT_REMOVED_BYTES,
    PP_ACCOUNT_MAPPED_BYTES, /* address space of the library's own data now */
    PP_ACCOUNT_MOST_MAPPED_BYTES,
    PP_ACCOUNT_NOT_SELECTED_NS, /* written as [not selected] samples: CPU of traces that PYPROF_TRACES=…,only leaves
                                   out; a part of SAMPLED_NS */
    PP_ACCOUNT_NOT_SELECTED,    /* how many samples these are, a part of SAMPLES */
    PP_ACCOUNT_CHILDREN_NS,     /* billed to descendants that have ended and were waited for, profiled or not; not in
                                   the sum */
    PP_ACCOUNT_OTHER_LABELS_NS, /* a part of SAMPLED_NS: label sets in which values were replaced by "(other)", as the
                                   segment had too many sets */
    PP_ACCOUNT_OTHER_LABELS,    /* how many samples these are, a part of SAMPLES */
    PP_ACCOUNT_UNEVEN_NS,       /* the part of SAMPLED_NS that was sampled at kernel ticks alone, of threads that wait
                                   often: their shares lean if they work in step with the ticks */
};

/* Bucket i holds handler times t with limit(i-1) <= t < limit(i), limit(i) = 2^(i/4) * (1 + (i%4)/4) * 64 ns;
 * the last bucket also all longer times. */
#define PP_HANDLER_BUCKETS 64
static inline uint64_t pp_handler_bucket_limit(unsigned i)
{
    return ((uint64_t)16 << (i / 4)) * (4 + i % 4);
}

static inline unsigned pp_handler_bucket(uint64_t ns)
{
    if (ns < pp_handler_bucket_limit(0))
        return 0;
    unsigned highest = 63 - (unsigned)__builtin_clzll(ns); /* bit of the number, from 6 on */
    unsigned bucket = (highest - 6) * 4 + (unsigned)(ns >> (highest - 2) & 3) + 1;
    return bucket < PP_HANDLER_BUCKETS ? bucket : PP_HANDLER_BUCKETS - 1;
}

/* The same for CPU times of requests: from 16 us to 1 s. */
static inline uint64_t pp_request_bucket_limit(unsigned i)
{
    return pp_handler_bucket_limit(i) << 8;
}

enum pp_end_reason {
    PP_END_NOT = 0,     /* in no block */
    PP_END_EXIT = 1,    /* exit, return from main, _exit … */
    PP_END_SEGMENT = 2, /* another segment of the same process follows */
    PP_END_EXEC = 3,    /* exec replaces the program, or it ends itself by a signal; an ACCOUNTING block after
                           this one says that it went on */
};

enum pp_frame_kind {
    /* varint module id (0: none), varint address (the process's own; already the call, not the return address),
     * str symbol (0: unknown), varint offset of the address within the function (known by .eh_frame without a symbol).
     * A symbol without a module: what a JIT made and named. */
    PP_FRAME_NATIVE = 1,
    /* varint code id, varint line (0: unknown), and when the columns of the expression are known (3.11+) also varint
     * end line, varint column, varint end column: bytes of the line's UTF-8, counted from 1, the end being the first
     * byte after the expression */
    PP_FRAME_PYTHON = 2,
    /* str text, brackets included: "[unsampled]" */
    PP_FRAME_PSEUDO = 3,
};

#define PP_MODULE_MAIN   1u /* the executable */
#define PP_MODULE_PYTHON 2u /* holds the interpreter */
#define PP_MODULE_VDSO   4u

#define PP_THREAD_MAIN 1u
/* A further name of the thread with this tid and start, which it had while it took these samples: the names of a thread
 * that was renamed, or of the green threads that it runs, are told apart. */
#define PP_THREAD_NAMED 2u

#define PP_STATE_HOLDS_GIL 1u
#define PP_STATE_GC        2u /* a garbage collection runs in this thread, finalizers that it calls included */
#define PP_STATE_ESTIMATED 4u /* count 0: CPU of short threads, credited to stacks sampled in threads like them */
/* Whether the two bits above say something. A clear HOLDS_GIL without GIL_KNOWN is no "no": the interpreter was not
 * read, or has no GIL (free-threaded). A thread without a thread state of a known interpreter does not hold its GIL:
 * that is known. Shares are of the CPU time whose bit is known. */
#define PP_STATE_GIL_KNOWN 8u
#define PP_STATE_GC_KNOWN  16u

/* Why a stack is shorter than the truth, or a sample missing. The text is what users read. */
#define PP_REASONS(X)                                                                                                  \
    X(NONE, "complete")                                                                                                \
    X(NATIVE_NO_MODULE, PP_NATIVE_TRUNCATED ": code outside any module")                                               \
    X(NATIVE_NO_ROWS, PP_NATIVE_TRUNCATED ": no unwind rows yet")                                                      \
    X(NATIVE_NO_RULE, PP_NATIVE_TRUNCATED ": no unwind rule for this address")                                         \
    X(NATIVE_BAD_STACK, PP_NATIVE_TRUNCATED ": outside the thread's stack")                                            \
    X(NATIVE_TOO_DEEP, PP_NATIVE_TRUNCATED ": too deep")                                                               \
    X(NATIVE_STACK_UNKNOWN, PP_NATIVE_TRUNCATED ": bounds of the stack unknown")                                       \
    X(PYTHON_TORN, "python stack torn")                                                                                \
    X(PYTHON_TOO_DEEP, "python stack truncated: too deep")                                                             \
    X(PYTHON_FINALIZING, "python stack not read: interpreter is finalizing")                                           \
    X(PYTHON_UNPAIRED, "python and native stack do not pair")                                                          \
    X(GREENLET_SWITCH, "greenlet switch")                                                                              \
    X(PAUSED, "paused")                                                                                                \
    X(LOST_RING_FULL, "lost: ring full")                                                                               \
    X(LOST_NO_MEMORY, "lost: no memory for tables")                                                                    \
    X(TIMER_FAILED, "thread without a timer: timer_create failed")                                                     \
    X(NO_SLOT, "thread without a slot: too many threads")                                                              \
    X(WRITE_FAILED, "flush not written")                                                                               \
    X(TIMER_GONE, "timer of a thread was gone, made again")                                                            \
    X(UNREACHABLE,                                                                                                     \
      "thread that cannot be interrupted: it blocks our signal past libc, or its system calls are dispatched to it")   \
    X(ACTION_GONE, "handler of our signal was replaced past libc")                                                     \
    X(SMALL_STACK, "thread that cannot be interrupted: its stack is too small for a signal")                           \
    X(CONTEXT_INTERPRETER, "context not read: of another interpreter than the one whose sources are known")            \
    X(CONTEXT_VARIABLES, "context variables not read: objects being changed, or not as they are known")                \
    X(CONTEXT_TASK, "task not read: objects being changed, or not as they are known")                                  \
    X(CONTEXT_AWAITERS, "tasks that await the task: only the nearest 16")                                              \
    X(CONTEXT_SPAN, "span not read: objects being changed, or not as they are known")                                  \
    X(CONTEXT_ENDPOINT, "endpoint not read: objects being changed, or not as they are known")                          \
    X(CONTEXT_NO_ROUTE, "request without a known endpoint: not matched yet, or of a framework that is not known")      \
    X(CONTEXT_MOUNT, "endpoint not known: where its application is mounted could not be read")                         \
    X(CONTEXT_NAME, "name of a task, a span or an endpoint not read: being changed")

enum pp_reason {
#define X(name, text) PP_REASON_##name,
    PP_REASONS(X)
#undef X
        PP_REASON_COUNT,
    PP_REASON_FIRST_CONTEXT = PP_REASON_CONTEXT_INTERPRETER, /* from here on: why a sample lacks a context */
};

#endif
