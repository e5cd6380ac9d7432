/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the frames of the Python stack tell a sample belongs to. */
#include "../common/label_kinds.h"
#include "asyncio.h"
#include "awaiters.h"
#include "endpoint.h"
#include "greenlet.h"
#include "jobs.h"
#include "recall.h"
#include "suspended.h"
#include "tasks.h"
#include "thread_name.h"
#include "variables.h"

#define SERVING ((1u << PP_FRAME_WORK) - (1u << PP_FRAME_SERVES)) /* rules */

#define NOWHERE     UINT32_MAX
#define POOL_FRAMES 8 /* of a pool's thread, with which it comes to its work */

/* Reads the task that a frame runs, unless it is the interpreter's, or has the interpreter's task within it.
 * async-signal-safe. */
static bool read_frame_task(const struct pp_context_reader *reader, struct pp_python_stack *stack, uint32_t *known)
{
    uint32_t rules = atomic_load_explicit(&pp_capture.frame_rules, memory_order_relaxed);
    uint32_t first, frames = stack->frames;
    if (!reader->facts || !(rules & (1u << PP_FRAME_STEP | 1u << PP_FRAME_TRIO)))
        return true;
    if (reader->slot->scratch->task)
        frames = stack->task_frame < frames ? stack->task_frame : 0;
    struct pp_context context = {.identity = pp_task_of_frames(reader, frames, &first)};
    if (!context.identity || !pp_task_name_read(reader, context.identity, &context.text))
        return true;
    stack->task_frame = first;
    return pp_task_put(reader, &context, known);
}

/* Reads what request the frames serve, unless a context variable says it. async-signal-safe. */
static bool read_endpoint(const struct pp_context_reader *reader, const struct pp_python_stack *stack, uint32_t *known)
{
    struct pp_context context = {.identity = 0};
    enum pp_reason why;
    bool serving = atomic_load_explicit(&pp_capture.frame_rules, memory_order_relaxed) & SERVING;
    bool counted = reader->facts && reader->facts->found >> PP_SOURCE_SERVED & 1;
    bool named = reader->facts && reader->facts->found >> PP_SOURCE_GRPC_AIO & 1;
    bool may_end = reader->slot->thread.contexts[PP_CONTEXT_ENDPOINT] != 0;
    if (*known & 1u << PP_CONTEXT_ENDPOINT || (!serving && !counted && !named && !may_end))
        return true;
    bool serves = (serving || named) && pp_endpoint_read(reader, stack, &context, &why);
    if (!context.identity) { /* what it has others do and does not await */
        context = (struct pp_context){.identity = 0};
        pp_variables_endpoint(reader, &context);
    }
    if (!context.identity && serves) {
        pp_context_lacks(reader, why);
        context.identity = PP_SAME_NAME;
        context.text = (struct pp_str){(uintptr_t)PP_UNKNOWN_ROUTE, {sizeof PP_UNKNOWN_ROUTE - 1, 1, 0, 0}};
    }
    return pp_context_put(reader, PP_CONTEXT_ENDPOINT, &context, known);
}

/* Reads which task awaits the work that a thread of a pool does. async-signal-safe. */
static bool read_work(const struct pp_context_reader *reader, const struct pp_python_stack *stack, uint32_t *known)
{
    const struct pp_slot *slot = reader->slot;
    if (!reader->facts)
        return true;
    for (uint32_t i = stack->frames; i-- > 0 && i + POOL_FRAMES >= stack->frames;) {
        struct pp_frame_role role = pp_slot_role(slot, slot->scratch->resolved[i].entry);
        if (role.rule < PP_FRAME_WORK)
            continue;
        uintptr_t task = pp_awaiter_of_frame(reader, slot->scratch->python[i].address, role);
        return !task || pp_awaiters_put(reader, 0, task, known);
    }
    return true;
}

static bool runs_greenlets(void)
{
    return atomic_load_explicit(&pp_capture.greenlet_start, memory_order_relaxed) != 0;
}

/* Reads the name of the threading.Thread. async-signal-safe. */
static bool read_thread(const struct pp_context_reader *reader, const struct pp_python_stack *stack,
                        struct pp_frame_role role, uint32_t *known)
{
    struct pp_slot *slot = reader->slot;
    struct pp_context context = {.identity = 0};
    bool is_thread = role.rule == PP_FRAME_THREAD;
    if (is_thread && !reader->state->attached && slot->thread.contexts[PP_CONTEXT_THREAD] && !runs_greenlets()) {
        *known |= 1u << PP_CONTEXT_THREAD; /* a thread has one such frame */
        return true;
    }
    if (is_thread &&
        !pp_thread_name_read(&reader->objects, stack->outermost, role.local, &slot->thread.name_attribute, &context))
        return true;
    return pp_context_put(reader, PP_CONTEXT_THREAD, &context, known);
}

/* async-signal-safe. */
static bool read_frames(const struct pp_context_reader *reader, struct pp_python_stack *stack,
                        const struct pp_native_stack *native, uint32_t *known)
{
    const struct pp_slot *slot = reader->slot;
    struct pp_context greenlet = {.identity = 0};
    if (!read_frame_task(reader, stack, known))
        return false;
    if (!stack->frames || !stack->outermost)
        return pp_jobs_put(reader, stack, known) && read_endpoint(reader, stack, known);
    uint32_t entry = slot->scratch->resolved[stack->frames - 1].entry;
    struct pp_frame_role role = pp_slot_role(slot, entry);
    if (reader->facts && reader->facts->greenlet.type && !(*known & 1u << PP_CONTEXT_GREENLET) &&
        pp_greenlet_read_frame(reader, native, stack->outermost, role, &greenlet) &&
        !pp_context_put(reader, PP_CONTEXT_GREENLET, &greenlet, known))
        return false;
    return (entry >= pp_slot_code_entries(slot) || read_thread(reader, stack, role, known)) &&
           (role.rule != PP_FRAME_THREAD || read_work(reader, stack, known)) && pp_jobs_put(reader, stack, known) &&
           read_endpoint(reader, stack, known);
}

/* Adds a frame by which something may be read to the key. async-signal-safe. */
static void add_frame(const struct pp_slot *slot, const struct pp_python_stack *stack, uint32_t i, uintptr_t *key,
                      unsigned *count)
{
    const struct pp_python_frame *frames = slot->scratch->python;
    struct pp_frame_role role = pp_slot_role(slot, slot->scratch->resolved[i].entry);
    key[(*count)++] = frames[i].address;
    key[(*count)++] =
        (uintptr_t)role.rule << 48 | (uintptr_t)role.local << 40 | (uintptr_t)role.second << 32 | (stack->frames - i);
    if (role.rule == PP_FRAME_STEP || role.rule == PP_FRAME_TRIO) /* its task's first frame is known by its address */
        key[(*count)++] = i ? frames[i - 1].address : 0;
}

/* Makes the key for all that frames are read by; 0: they are not recalled. async-signal-safe. */
static unsigned make_key(const struct pp_context_reader *reader, const struct pp_python_stack *stack, uint32_t known,
                         uintptr_t *key)
{
    const struct pp_slot *slot = reader->slot;
    const struct pp_scratch *scratch = slot->scratch;
    uint32_t entry, entries = pp_slot_code_entries(slot);
    unsigned count = 0, source_frames = 0;
    /* which greenlet runs is not known by frames alone */
    if (!reader->objects.direct || !reader->facts || reader->facts->greenlet.type)
        return 0;
    bool defined = stack->frames && scratch->resolved[stack->frames - 1].entry < entries;
    key[count++] = (uintptr_t)reader->facts;
    key[count++] = (uintptr_t)known << 32 | atomic_load_explicit(&pp_capture.frame_rules, memory_order_relaxed);
    key[count++] = (uintptr_t)scratch->awaiter_count << 5 |
                   (uintptr_t)(slot->thread.contexts[PP_CONTEXT_TEST] != 0) << 4 |
                   (uintptr_t)(slot->thread.contexts[PP_CONTEXT_JOB] != 0) << 3 | (uintptr_t)defined << 2 |
                   (slot->thread.contexts[PP_CONTEXT_ENDPOINT] != 0);
    key[count++] = stack->outermost;
    key[count++] = pp_word(reader->state->memory, reader->objects.python->layout.thread_state.context);
    key[count++] = scratch->task;
    key[count++] = pp_suspended_epoch(slot);
    /* where the interpreter's task begins: frames further in may run another one */
    key[count++] = stack->task_frame < stack->frames ? stack->frames - stack->task_frame : 0;
    for (uint32_t i = 0; i < scratch->awaiter_count; i++)
        key[count++] = scratch->awaiters[i];
    for (uint32_t i = stack->frames; i-- > 0;)
        if ((entry = scratch->resolved[i].entry) < entries && slot->codes[entry].role.rule > PP_FRAME_LOOP) {
            uint8_t rule = slot->codes[entry].role.rule;
            key[2] |= (uintptr_t)(rule == PP_FRAME_REQUEST) << 1;
            if (rule == PP_FRAME_REQUEST || (rule == PP_FRAME_SOURCE && source_frames++ >= PP_SOURCE_FRAMES))
                continue;
            if (count + 3 > PP_RECALL_KEY_MAX)
                return 0;
            add_frame(slot, stack, i, key, &count);
        }
    return count;
}

bool pp_contexts_read_frames(const struct pp_context_reader *reader, struct pp_python_stack *stack,
                             const struct pp_native_stack *native, uint32_t *known)
{
    uintptr_t key[PP_RECALL_KEY_MAX];
    struct pp_recording recording;
    uint32_t task_frame = stack->task_frame, before = *known;
    unsigned count = make_key(reader, stack, before, key);
    if (!count)
        return read_frames(reader, stack, native, known);
    const struct pp_recall *recall = pp_recall(reader, PP_RECALL_FRAMES, key, count, &recording);
    if (recall) {
        *known |= recall->known;
        if (recall->task_begins)
            stack->task_frame = recall->task_begins == NOWHERE ? PP_NO_FRAME : stack->frames - recall->task_begins;
        return true;
    }
    bool read = read_frames(&recording.reader, stack, native, known);
    if (recording.recall && stack->task_frame != task_frame)
        recording.recall->task_begins = stack->task_frame == PP_NO_FRAME ? NOWHERE : stack->frames - stack->task_frame;
    pp_recall_end(&recording, read, *known & ~before);
    return read;
}
