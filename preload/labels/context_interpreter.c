/* SPDX-License-Identifier: Apache-2.0 */
#include "context_interpreter.h"
#include "../capture/capture.h"
#include "context_text.h"
#include "python_modules.h"
#include "source_modules.h"

#define OTHER_AGAIN_NS (2 * (uint64_t)1000000000u) /* so often it is searched, until it has sources */
/* So long an interpreter stays chosen in which no thread is sampled: others may run on the same threads in turn. */
#define STAYS_NS (5 * (uint64_t)1000000000u)

static struct {
    uintptr_t chosen; /* beside which it was sampled */
    bool is_unread;   /* once and for all: samples of it had no contexts */
    uint64_t at_ns;   /* of the last search; CLOCK_MONOTONIC */
} other;

uintptr_t pp_context_interpreter(const struct pp_python **python)
{
    static uintptr_t last;
    static uint64_t met_ns;
    const struct pp_context_facts *known = atomic_load(&pp_capture.contexts);
    uint64_t now_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    uintptr_t found = 0;
    *python = NULL;
    if (atomic_exchange(&pp_capture.contexts_met, 0))
        met_ns = now_ns;
    if (known && met_ns && now_ns - met_ns < STAYS_NS) {
        *python = known->python;
        return known->interpreter_state;
    }
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        const struct pp_python *ran = atomic_load_explicit(&slot->thread.python, memory_order_acquire);
        uintptr_t state = atomic_load(&slot->thread.interpreter_state);
        bool is_wanted = known ? ran == known->python && state == known->interpreter_state : state != last;
        if (!ran || (found && !is_wanted))
            continue;
        *python = ran;
        found = state;
        if (is_wanted)
            break;
    }
    last = found;
    return found;
}

bool pp_context_other_search(uintptr_t chosen)
{
    static struct pp_context_facts nothing; /* is found: then each source that is imported is named */
    struct pp_object_reader reader = {.pid = atomic_load(&pp_process.pid)};
    uintptr_t modules[PP_SOURCE_MODULES] = {0};
    uint64_t now_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    if (chosen != other.chosen) {
        atomic_store(&pp_capture.contexts_unread.interpreter_state, 0);
        other.chosen = chosen;
    }
    uintptr_t state = atomic_load(&pp_capture.contexts_unread.interpreter_state);
    reader.python = atomic_load(&pp_capture.contexts_unread.python);
    if (!state || state == chosen || !reader.python || other.is_unread ||
        (other.at_ns && now_ns - other.at_ns < OTHER_AGAIN_NS))
        return false;
    other.at_ns = now_ns;
    uintptr_t dict = pp_python_modules(&reader, state);
    unsigned count;
    const char *const *names = pp_source_module_names(&count);
    if (dict)
        pp_python_module_dicts(&reader, dict, 0, names, count, modules);
    pp_context_text(&reader, modules, "", &(struct pp_context_reasons){.gevent = NULL}, &nothing);
    other.is_unread = nothing.text[0] != 0;
    return other.is_unread;
}

bool pp_context_other_is_unread(void)
{
    return other.is_unread;
}
