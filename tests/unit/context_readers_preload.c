/*
 * What the readers of contexts find in the interpreter that loads this, for a Python program to compare with what it
 * knows. For ctypes through PyDLL: the calling thread holds the GIL. Also steps through a program and reads after every
 * instruction.
 */
#include "libc_functions.h"
#include "preload/capture/capture.h"
#include "preload/capture/safe_read.h"
#include "preload/context/values.h"
#include "preload/context/walk_source.h"
#include "preload/labels/context_facts.h"
#include "preload/python/find.h"
#include "single_step.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define VALUES 64

static struct pp_python python;
static struct pp_slot slot;
static struct pp_scratch scratch;
static uintptr_t (*thread_state)(void);

/* 0: ready. direct: as the handler reads while it has the GIL. */
EXPORT int readers_start(void);
EXPORT uintptr_t readers_variable(uintptr_t object, int direct);
EXPORT int readers_int(uintptr_t object, int direct, uint64_t value[2]);
EXPORT uintptr_t readers_item(uintptr_t tuple, uintptr_t index, int direct);
EXPORT int readers_bytes(uintptr_t object, int direct, char *to);
EXPORT uintptr_t readers_entry(uintptr_t dict, uintptr_t key, int direct);
EXPORT uintptr_t readers_slot(uintptr_t type, const char *name, uintptr_t object);
EXPORT void readers_find_sources(void);
EXPORT int readers_source(const char *name, int direct, uint64_t ids[3], char *text);
EXPORT void readers_step(uintptr_t object, const uintptr_t *values, unsigned count);
EXPORT void readers_stop(uint64_t counts[3]);

#define FAILED ((uintptr_t)-1)

static struct pp_object_copies copies;

static struct pp_object_reader reader(int direct)
{
    copies.count = 0;
    copies.fetch_after = PP_FETCH_AFTER;
    return (struct pp_object_reader){
        .python = &python, .pid = atomic_load(&pp_process.pid), .direct = direct, .copies = &copies};
}

int readers_start(void)
{
    const char *why;
    find_libc_functions();
    if (!pp_python_find(&python, &why) || why)
        return 1;
    *(void **)&thread_state = dlsym(RTLD_DEFAULT, "PyThreadState_Get");
    atomic_store(&pp_process.pid, getpid());
    return thread_state == NULL;
}

static bool open_vars(const struct pp_object_reader *objects, uintptr_t *vars)
{
    return pp_context_vars_open(objects, (const void *)thread_state(), &slot.thread.context_checked, vars);
}

uintptr_t readers_variable(uintptr_t object, int direct)
{
    struct pp_object_reader objects = reader(direct);
    struct pp_context_var var;
    uintptr_t vars, value;
    if (!pp_context_var_find(&objects, object, &var) || !open_vars(&objects, &vars) ||
        !pp_context_var_read(&objects, vars, &var, &value))
        return FAILED;
    return value;
}

int readers_int(uintptr_t object, int direct, uint64_t value[2])
{
    struct pp_object_reader objects = reader(direct);
    return pp_int_read(&objects, object, value);
}

uintptr_t readers_item(uintptr_t tuple, uintptr_t index, int direct)
{
    struct pp_object_reader objects = reader(direct);
    uintptr_t item;
    return pp_tuple_item(&objects, tuple, index, &item) ? item : FAILED;
}

int readers_bytes(uintptr_t object, int direct, char *to)
{
    struct pp_object_reader objects = reader(direct);
    struct pp_str bytes;
    if (!pp_bytes_open(&objects, object, PP_CONTEXT_TEXT_MAX, &bytes) ||
        !pp_object_copy(&objects, to, bytes.data, bytes.record.bytes))
        return -1;
    return (int)bytes.record.bytes;
}

uintptr_t readers_entry(uintptr_t dict, uintptr_t key, int direct)
{
    struct pp_object_reader objects = reader(direct);
    uintptr_t value;
    return pp_small_dict_get(&objects, dict, key, &value) ? value : FAILED;
}

uintptr_t readers_slot(uintptr_t type, const char *name, uintptr_t object)
{
    struct pp_object_reader objects = reader(0);
    struct pp_member found;
    uintptr_t value;
    return pp_member_find(&objects, type, name, &found) && pp_member_read(&objects, object, &found, &value) ? value
                                                                                                            : FAILED;
}

/* As the flush thread does, in the interpreter of the calling thread. */
void readers_find_sources(void)
{
    atomic_store(&slot.thread.interpreter_state,
                 pp_word((const void *)thread_state(), python.layout.thread_state.interp));
    atomic_store(&slot.thread.python, &python);
    atomic_store(&pp_capture.slots[0], &slot);
    pp_context_facts_refresh(false);
}

/* Returns the row that has this in its title or in the name of its module; 0: none. */
static unsigned row_of(const char *name)
{
    unsigned row = pp_source_count;
    while (--row && !strstr(pp_sources[row].module, name) && !strstr(pp_sources[row].title ?: "", name))
        ;
    return row;
}

/* 1: read, into ids (trace, lower half first, identity) and text (Latin-1); 0: not found; -1: it could not be read. */
int readers_source(const char *name, int direct, uint64_t ids[3], char *text)
{
    unsigned row = row_of(name);
    struct pp_thread_state state = {.python = &python, .memory = (const void *)thread_state(), .attached = true};
    struct pp_context_reader context_reader = {
        .objects = reader(direct), .facts = atomic_load(&pp_capture.contexts), .state = &state, .slot = &slot};
    struct pp_context context = {.identity = 0};
    uintptr_t vars;
    text[0] = 0;
    if (!context_reader.facts)
        return 0;
    slot.scratch = &scratch;
    if (!open_vars(&context_reader.objects, &vars))
        return -1;
    if (!row || !pp_source_read_variable(&context_reader, row, vars, &context))
        return -1;
    memcpy(ids, context.trace_id, sizeof context.trace_id);
    ids[2] = context.identity;
    if (!pp_object_copy(&context_reader.objects, text, context.text.data, context.text.record.bytes) &&
        context.text.record.bytes)
        return -1;
    text[context.text.record.bytes] = 0;
    return 1;
}

/* --- after every instruction --- */

static struct {
    uint64_t steps, wrong, unread;
    uintptr_t values[VALUES];
    unsigned count;
    struct pp_context_var var;
    uintptr_t state;
    volatile bool stops;
} stepped;

static void on_trap(int number, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    struct pp_object_reader objects = reader(1);
    uintptr_t vars, value;
    bool right = false;
    (void)number, (void)info;
    if (stepped.stops) {
        step_off(context);
        return;
    }
    stepped.steps++;
    if (!pp_context_vars_open(&objects, (const void *)stepped.state, &slot.thread.context_checked, &vars) ||
        !pp_context_var_read(&objects, vars, &stepped.var, &value)) {
        stepped.unread++;
    } else {
        for (unsigned i = 0; i < stepped.count; i++)
            right |= stepped.values[i] == value;
        stepped.wrong += !right;
    }
    step_on(context);
}

/* From here on, after every instruction of this thread, which keeps the GIL, the variable must have one of the values.
 */
void readers_step(uintptr_t object, const uintptr_t *values, unsigned count)
{
    struct pp_object_reader objects = reader(0);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};
    stepped.state = thread_state();
    stepped.count = count < VALUES ? count : VALUES;
    memcpy(stepped.values, values, stepped.count * sizeof *values);
    stepped.stops = !pp_context_var_find(&objects, object, &stepped.var);
    sigaction(SIGTRAP, &action, NULL);
    syscall(SYS_tgkill, getpid(), gettid(), SIGTRAP);
}

void readers_stop(uint64_t counts[3])
{
    stepped.stops = true;
    counts[0] = stepped.steps;
    counts[1] = stepped.wrong;
    counts[2] = stepped.unread;
}
