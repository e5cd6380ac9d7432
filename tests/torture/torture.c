/*
 * Single-steps the Python program that loads it, takes a sample after every instruction by way of the library's signal
 * handler, and compares what comes out of the ring, and of the merge with the native stack, with what the program says
 * about itself (truth.h). Loaded by ctypes; harmless until torture_start.
 */
#include "torture.h"
#include "../../preload/base/syscalls.h"
#include "../../preload/capture/capture.h"
#include "../../preload/capture/python_walk.h"
#include "../../preload/merge/code_objects.h"
#include "../../preload/merge/finish_sample.h"
#include "../../preload/merge/stacks.h"
#include "../../preload/modules/modules.h"
#include "../../preload/python/eval_ranges.h"
#include "../../preload/python/find.h"
#include "../../preload/python/greenlet_switch.h"
#include "../../preload/python/line_table.h"
#include "../unit/libc_functions.h"
#include "../unit/single_step.h"
#include "contexts.h"
#include "counts.h"
#include "places.h"
#include "plain.h"
#include "preload/handler/handler.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES       (PP_MAX_PYTHON_FRAMES + 64)
#define PRINTED      2
#define LINE_CACHE   8192
#define TABLES_STEPS 50000u  /* then the merge starts a new segment */
#define CODES_STEPS  200000u /* then the code caches are forgotten */

static struct pp_python python;
static uintptr_t (*thread_state)(void);
static struct pp_slot *slot;
static struct pp_tables tables;
static uint64_t reasons[PP_REASON_COUNT];
static unsigned minor;
static bool started, stopping, other_threads;
static uintptr_t last_pc;
static uint64_t most_steps = UINT64_MAX;
static uint64_t sampled_each = 1; /* steps */

/* The library's modules call libc through this table; none of its wrappers is part of this object. */
const struct pp_real *pp_real(void)
{
    static struct pp_real real;
    if (!real.dlopen)
        *(void **)&real.dlopen = dlsym(RTLD_NEXT, "dlopen");
    return &real;
}

/* --- what a sample says --- */

/* Frames by code number and code unit. */
static struct line {
    const struct pp_code *code;
    int32_t unit;
    struct truth_frame frame;
} line_cache[LINE_CACHE];

static struct truth_frame frame_of(uint32_t epoch, const struct pp_record_frame *record)
{
    uint32_t number;
    const struct pp_code *code = pp_codes_find(slot, epoch, record->entry, &number);
    struct truth_frame frame = {NULL, 0, true};
    if (!code)
        return frame;
    struct line *line = &line_cache[((uintptr_t)code / 16 * 31 + (uint32_t)record->unit) % LINE_CACHE];
    if (line->code == code && line->unit == record->unit)
        return line->frame;
    char name[256], file[512];
    snprintf(name, sizeof name, "%.*s", (int)code->qualname_length, code->qualname);
    snprintf(file, sizeof file, "%.*s", (int)code->filename_length, code->filename);
    frame.code = truth_find(name, file, code->first_line);
    frame.begun = record->unit >= 0 && record->unit >= (int32_t)code->first_traceable;
    frame.line = frame.begun ? pp_position_of(code->line_table_format, code->line_table, code->line_table_bytes,
                                              code->first_line, record->unit)
                                   .line
                             : code->first_line;
    *line = (struct line){code, record->unit, frame};
    return frame;
}

struct sample {
    const struct pp_record_sample *head;
    const uint64_t *native;
    const struct pp_record_run *runs;
    const struct pp_record_frame *python;
};

static struct sample open_sample(const struct pp_record_sample *head)
{
    struct sample sample = {.head = head, .native = (const uint64_t *)(head + 1)};
    const uint8_t *runs = (const uint8_t *)(sample.native + head->native_frames);
    sample.runs = (const struct pp_record_run *)runs;
    sample.python =
        (const struct pp_record_frame *)(runs + ((head->runs * sizeof(struct pp_record_run) + 7) & ~(size_t)7));
    return sample;
}

/* --- reporting --- */

/* A few of each kind. */
static bool print_more(const char *what)
{
    static struct {
        const char *what;
        unsigned count;
    } seen[32];
    for (unsigned i = 0; i < sizeof seen / sizeof *seen; i++) {
        if (!seen[i].what)
            seen[i].what = what;
        if (seen[i].what == what)
            return ++seen[i].count <= PRINTED;
    }
    return false;
}

static bool complain(const char *what, uintptr_t pc, const struct truth_frame *frames, unsigned frame_count)
{
    if (!print_more(what))
        return false;
    fprintf(stderr, "# step %llu, at ", (unsigned long long)torture_count.steps);
    places_print_address(stderr, pc);
    fprintf(stderr, ": %s\n", what);
    if (frames)
        truth_print(frames, frame_count);
    if (getenv("TORTURE_STOP")) { /* for a debugger: breakpoints cannot be set in what is stepped (../DEBUGGING.md) */
        fprintf(stderr, "# stopped for: gdb -p %d\n", getpid());
        pp_syscall4(SYS_tgkill, getpid(), gettid(), SIGSTOP, 0);
    }
    return true;
}

/* --- one step --- */

/* Each run of Python frames belongs to a native eval frame of its own, in order; every native eval frame has one but
 * the innermost, which may be on its way in or out. NULL when that is so. */
static const char *compare_pairing(const struct sample *sample)
{
    unsigned runs = sample->head->runs, native = sample->head->native_frames, eval = 0, end = native, frames = 0;
    bool whole = sample->head->native_reason == PP_REASON_NONE;
    int before = -1;
    bool counted = runs && sample->runs[0].native == PP_RUN_COUNTED;
    for (unsigned i = 0; i < runs; i++) {
        frames += sample->runs[i].frames;
        if (counted)
            continue;
        if (sample->runs[i].native == PP_RUN_UNPAIRED) {
            if (whole)
                return "a run without a native frame";
            continue;
        }
        if ((int)sample->runs[i].native <= before || sample->runs[i].native >= native)
            return "runs out of order";
        before = sample->runs[i].native;
        if (!pp_in_eval(sample->native[before]))
            return "a run in a native frame that is not the eval function's";
    }
    if (frames != sample->head->python_frames)
        return "frames outside any run";
    if (counted) /* 3.8 to 3.10: an eval frame for each Python frame */
        runs = frames;
    for (unsigned i = 0, left = runs; i < native && end == native; i++)
        if (left == 0 && pp_greenlet_holds(sample->native[i]))
            end = i;
        else if (counted ? pp_in_eval(sample->native[i]) : (int)i == before)
            left = counted ? left - (left > 0) : 0;
    whole |= end < native;
    for (unsigned i = 0; i < end; i++)
        eval += pp_in_eval(sample->native[i]);
    if (!whole)
        return NULL;
    torture_count.native_whole++;
    if (eval == runs) {
        torture_count.exact++;
        return NULL;
    }
    unsigned innermost = 0;
    while (innermost < end && !pp_in_eval(sample->native[innermost]))
        innermost++;
    if (eval != runs + 1 || (!counted && runs && sample->runs[0].native == innermost))
        return eval < runs ? "fewer native eval frames than runs" : "a native eval frame without a run";
    torture_count.surplus++;
    return NULL;
}

/* The Python frames of the merged stack are those of the sample. */
static const char *compare_merged(const struct truth_frame *frames, unsigned frame_count, uint32_t node)
{
    unsigned at = frame_count;
    while (node) {
        const uint32_t *key = pp_intern_key(pp_intern_entry(&tables.nodes, node));
        const uint64_t *fields = pp_intern_key(pp_intern_entry(&tables.frames, key[1]));
        node = key[0];
        if (fields[0] != PP_FRAME_PYTHON)
            continue;
        while (at > 0 && ((frames[at - 1].code && frames[at - 1].code->kind == TRUTH_HIDDEN) ||
                          (at != frame_count && !frames[at - 1].begun)))
            at--;
        if (at == 0)
            return "the merged stack has more Python frames";
        at--;
        const uint64_t *code = pp_intern_key(pp_intern_entry(&tables.codes, (uint32_t)fields[1]));
        if (fields[2] != frames[at].line || (frames[at].code && code[2] != frames[at].code->first_line))
            return "the merged stack has other Python frames";
    }
    while (at > 0 && frames[at - 1].code && frames[at - 1].code->kind == TRUTH_HIDDEN)
        at--;
    return at ? "the merged stack has fewer Python frames" : NULL;
}

/* A C++ exception (greenlet's) on its way into the handler: libgcc has then given up its own frames, which no unwind
 * information describes. The merge says that such a stack does not pair. */
static bool in_unwinder(uintptr_t pc)
{
    const struct pp_module *module = pp_module_find(pc);
    return module && strstr(module->path, "/libgcc_s.so");
}

static void merge(const struct sample *sample, const struct truth_frame *frames, unsigned frame_count, uintptr_t pc)
{
    uint64_t before = reasons[PP_REASON_PYTHON_UNPAIRED];
    uint32_t node = pp_stack_node(&tables, slot, sample->head, reasons);
    const char *why;
    bool unpaired = reasons[PP_REASON_PYTHON_UNPAIRED] != before;
    torture_count.merged++;
    torture_count.unpaired += unpaired;
    if (sample->head->python_reason != PP_REASON_NONE)
        return;
    if ((why = compare_pairing(sample)) && unpaired && in_unwinder(pc)) {
        torture_count.unwinding++;
        torture_count.unpaired--;
    } else if (why) {
        torture_count.bad_pairing++;
        if (complain(why, pc, frames, frame_count)) {
            fprintf(stderr, "# native:");
            for (unsigned i = 0; i < sample->head->native_frames && i < 40; i++) {
                fprintf(stderr, "%s ", pp_in_eval(sample->native[i]) ? " *" : "");
                for (unsigned r = 0; r < sample->head->runs; r++)
                    if (sample->runs[r].native == i)
                        fprintf(stderr, "run %u (%u frames) ", r, sample->runs[r].frames);
                places_print_address(stderr, sample->native[i]);
            }
            fprintf(stderr, "\n");
        }
    } else if ((why = node ? compare_merged(frames, frame_count, node) : "no merged stack")) {
        torture_count.wrong_merge++;
        complain(why, pc, frames, frame_count);
    } else if (unpaired) {
        complain("the merge calls it unpaired", pc, frames, frame_count);
    }
}

/* The GIL is given up, and the garbage collector runs, only where the workload says so. */
static const char *compare_state(uint32_t state, const struct truth_frame *frames, unsigned frame_count)
{
    bool without_gil = (state & (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL)) == PP_STATE_GIL_KNOWN;
    torture_count.collecting += (state & PP_STATE_GC) != 0;
    torture_count.without_gil += without_gil;
    if (without_gil && !other_threads && !truth_allows(frames, frame_count, TRUTH_LINE_WAITS))
        return "without the GIL";
    if (state & PP_STATE_GC && !truth_allows(frames, frame_count, TRUTH_LINE_COLLECTS))
        return "a garbage collection that does not run";
    return NULL;
}

/* Between two greenlets the stack may be either's: no Python frame must come out of the merge. */
static void examine_switch(const struct sample *sample, uintptr_t pc)
{
    torture_count.switching++;
    uint32_t node = pp_stack_node(&tables, slot, sample->head, reasons);
    const char *why = node ? compare_merged(NULL, 0, node) : "no merged stack";
    if (why) {
        torture_count.wrong_merge++;
        complain(why, pc, NULL, 0);
    }
}

static void examine(const struct pp_record_sample *head, uintptr_t pc)
{
    static struct truth_frame frames[FRAMES], plain[FRAMES];
    static uint32_t entered_depth, entered_shadow;
    static bool was_coming;
    struct sample sample = open_sample(head);
    enum truth_leaf leaf, plain_leaf;
    torture_count.samples++;
    torture_count.generated += !pp_module_find(pc);
    torture_count.native_reasons[head->native_reason]++;
    if (head->native_reason != PP_REASON_NONE)
        places_count(PLACE_TRUNCATED, head->native_frames ? sample.native[head->native_frames - 1] : pc);
    if (head->native_frames > torture_count.native)
        torture_count.native = head->native_frames;

    if (pp_greenlet_switch(sample.native, head->native_frames, head->python_reason == PP_REASON_PYTHON_TORN)) {
        examine_switch(&sample, pc);
        was_coming = false;
        return;
    }
    int plain_count = plain_walk(thread_state(), plain, FRAMES);
    bool good = plain_count >= 0 && !truth_compare(plain, (unsigned)plain_count, false, &plain_leaf);
    torture_count.torn += !good;

    if (head->python_reason != PP_REASON_NONE) {
        torture_count.refused++;
        torture_count.reasons[head->python_reason]++;
        torture_count.refused_good += good;
        places_count(good ? PLACE_REFUSED : PLACE_LOST, pc);
        was_coming = false;
        merge(&sample, frames, 0, pc);
        return;
    }
    unsigned total = head->python_frames;
    for (unsigned i = 0; i < total; i++) {
        frames[total - 1 - i] = frame_of(head->epoch, &sample.python[i]);
        /* before its first RESUME a frame only prepares its cells */
        if (i > 0 && !frames[total - 1 - i].begun) {
            static const struct truth_code preparing = {.kind = TRUTH_HIDDEN, .name = "(preparing)"};
            frames[total - 1 - i].code = &preparing;
        }
    }
    if (total > torture_count.depth)
        torture_count.depth = total;
    if (head->runs > torture_count.runs)
        torture_count.runs = head->runs;
    const char *why = truth_compare(frames, total, true, &leaf);
    if (why) {
        torture_count.wrong++;
        complain(why, pc, frames, total);
    } else {
        torture_count.right++;
        torture_count.recovered += !good;
    }
    if ((why = compare_state(head->state, frames, total))) {
        torture_count.wrong_state++;
        complain(why, pc, frames, total);
    }
    /* a frame that came does not go again before it was entered */
    if (was_coming && leaf == TRUTH_LEAF_KNOWN && entered_depth == truth_depth() && entered_shadow == truth_current() &&
        !truth_switching()) {
        torture_count.vanished++;
        complain("a frame that was just called has gone again", pc, frames, total);
    }
    was_coming = leaf == TRUTH_LEAF_COMING && !truth_switching();
    entered_depth = truth_depth();
    entered_shadow = truth_current();
    merge(&sample, frames, total, pc);
}

static void examine_either(const struct pp_record_sample *head, uintptr_t pc)
{
    if (!contexts_are_on()) {
        examine(head, pc);
        return;
    }
    const char *why = contexts_compare(head);
    torture_count.samples++;
    if (why)
        complain(why, pc, NULL, 0);
}

static void sample_at(ucontext_t *context, uintptr_t pc)
{
    siginfo_t info = {.si_signo = SIGPROF, .si_code = SI_TIMER};
    info.si_value.sival_ptr = (void *)pp_slot_sigval(slot->index);
    pp_handle_signal(SIGPROF, &info, context);
    const struct pp_record *record;
    while ((record = pp_ring_peek(&slot->ring))) {
        if (record->type == PP_RECORD_CODE)
            pp_codes_define(slot, (const struct pp_record_code *)record);
        else if (record->type == PP_RECORD_CONTEXT)
            contexts_consume(slot, (const struct pp_record_context *)record);
        else if (record->type == PP_RECORD_SAMPLE)
            examine_either((const struct pp_record_sample *)record, pc);
        else if (record->type == PP_RECORD_UNFINISHED) {
            examine_either(pp_sample_finish((const struct pp_record_unfinished *)record), pc);
            /* the loader is not to be asked here: handlers use the draft until it is published */
            atomic_store(&pp_module_table, pp_modules_draft());
        }
        pp_ring_release(&slot->ring, record);
    }
}

static void on_trap(int number, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    uintptr_t pc = pp_context_pc(context);
    int saved_errno = errno;
    (void)number, (void)info;
    if (stopping || torture_count.steps >= most_steps) {
        step_off(context);
        return;
    }
    /* a string instruction traps after each of its repeats; nothing of the interpreter's changes in them */
    if (pc == last_pc) {
        torture_count.repeats++;
    } else {
        last_pc = pc;
        if (++torture_count.steps % TABLES_STEPS == 0)
            pp_tables_reset(&tables);
        if (torture_count.steps % CODES_STEPS == 0) {
            memset(line_cache, 0, sizeof line_cache);
            pp_tables_reset(&tables);
            pp_codes_reset();
        }
        if (torture_count.steps % sampled_each == 0)
            sample_at(context, pc);
    }
    errno = saved_errno;
    step_on(context);
}

/* --- what Python calls --- */

static uintptr_t stack_top(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return 0;
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)start + size;
}

static void make_slot(void)
{
    static struct pp_slot only;
    slot = &only;
    slot->thread.is_main = true;
    slot->timer = PP_TIMER_NONE;
    slot->thread.thread_pointer = pp_own_thread_pointer();
    atomic_store(&slot->thread.stack_top, stack_top());
    atomic_store(&slot->tid, gettid());
    atomic_store(&slot->state, PP_SLOT_LIVE);
    atomic_store(&pp_capture.slots[0], slot);
}

/* NULL, or why this interpreter cannot be tested. */
const char *torture_start(unsigned python_minor)
{
    const char *why = NULL;
    minor = python_minor;
    find_libc_functions();
    if (!pp_python_find(&python, &why))
        return "no interpreter found";
    if (why)
        return why;
    *(void **)&thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (!thread_state || !plain_start(minor, python.layout.free_threaded, python.code_type))
        return "the test does not know this version";
    atomic_store(&pp_process.pid, getpid());
    atomic_store(&pp_capture.pythons[0], &python);
    atomic_store(&pp_capture.enabled, 1);
    make_slot();
    pp_tables_reset(&tables);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV); /* for the plain reader */
    sigdelset(&action.sa_mask, SIGBUS);
    sigaction(SIGTRAP, &action, NULL);
    started = true;
    return NULL;
}

void torture_shadow(uint32_t index, const uint8_t *state, const uint8_t *ids, const uint8_t *sites)
{
    truth_set_shadow(index, &(struct truth_shadow){state, ids, sites});
}

void torture_switch(const uint8_t *address)
{
    truth_set_switch(address);
}

void torture_site(uint32_t id, uint32_t site, uint32_t line)
{
    truth_set_site(id, site, line);
}

void torture_code(const char *name, const char *qualname, const char *file, uint32_t first_line, uint32_t kind,
                  uint32_t id, uint32_t parent, uint32_t generator)
{
    truth_add_code(name, qualname, file, first_line, kind, id, parent, generator != 0);
}

void torture_line(uint32_t line, uint32_t flags)
{
    truth_set_line(line, flags);
}

void torture_base(const char *name, const char *file, uint32_t first_line, uint32_t line)
{
    truth_add_base(name, file, first_line, line);
}

static const struct pp_module_table *published;

/* The instructions after this are stepped. Functions that were met before have unwind rows, samples in others are
 * finished. */
void torture_begin(uint32_t threads)
{
    if (!started)
        return;
    if (published)
        atomic_store(&pp_module_table, published);
    bool changed = pp_modules_refresh();
    pp_eval_find(); /* meets the eval function, as the first flush does */
    if (pp_modules_publish() || changed)
        pp_stacks_modules_changed(&tables);
    published = atomic_load(&pp_module_table);
    other_threads = threads != 0;
    stopping = false;
    last_pc = 0;
    pp_syscall4(SYS_tgkill, getpid(), gettid(), SIGTRAP, 0);
}

void torture_end(void)
{
    stopping = true;
}

void torture_sample_each(uint64_t steps)
{
    sampled_each = steps;
}

void torture_limit(uint64_t steps)
{
    most_steps = steps;
}

uint64_t torture_steps(void)
{
    return torture_count.steps;
}
