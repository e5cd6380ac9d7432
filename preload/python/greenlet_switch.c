/* SPDX-License-Identifier: Apache-2.0 */
/* A switch: slp_switch saves the slice of the stack that the next greenlet needs, adds a distance to the stack and the
 * frame pointer, copies the next greenlet's slice in and returns on its stack; its caller, g_switchstack, then gives
 * the interpreter's thread state the next greenlet's values. From the addition until then, stack and thread state do
 * not match. The addition is assembly in greenlet's source, identical in every build, so its bytes locate it without
 * symbols. Later code in that function, and code after the call in its callers, runs after the addition.
 *
 * From 3.12 on the frames of a greenlet are relinked around their shims while it is suspended; a chain sampled in the
 * middle of that is torn, and the owner of the C stack is unknown too. */
#include "greenlet_switch.h"
#include "../arch/arch.h"
#include "../base/arena.h"
#include "../base/safe_copy.h"
#include "../capture/capture.h"
#include "../capture/python_walk.h"
#include "../modules/modules.h"
#include <string.h>

static struct {
    uintptr_t start, end; /* the extension's code */
    uintptr_t function_start, function_end, addition;
    struct {
        uintptr_t end, call;
    } callers[PP_GREENLET_CALLERS];
    unsigned caller_count;
} greenlet;

static void find_callers(const struct pp_module *module, const uint8_t *code)
{
    uintptr_t start;
    for (uintptr_t at = module->start; at + PP_CALL_SIZE <= module->end && greenlet.caller_count < PP_GREENLET_CALLERS;
         at++)
        if (pp_calls(code + (at - module->start), at, greenlet.function_start) &&
            pp_module_function_range(module, at, &start, &greenlet.callers[greenlet.caller_count].end))
            greenlet.callers[greenlet.caller_count++].call = at;
}

static void examine_module(struct pp_module *module, void *argument)
{
    (void)argument;
    static const char name[] = "_greenlet.", name_until_0_4[] = "greenlet.cpython-";
    const char *path = strrchr(module->path, '/');
    if (!path || (strncmp(path + 1, name, sizeof name - 1) != 0 &&
                  strncmp(path + 1, name_until_0_4, sizeof name_until_0_4 - 1) != 0))
        return;
    greenlet.start = module->start;
    greenlet.end = module->end;
    const uint8_t *code = pp_safe_copy_mapped(module->start, module->end - module->start);
    for (uintptr_t at = module->start; code && !greenlet.addition && at + PP_MOVE_STACK_SIZE <= module->end; at++)
        if (pp_moves_stack(code + (at - module->start)) &&
            pp_module_function_range(module, at, &greenlet.function_start, &greenlet.function_end)) {
            greenlet.addition = at;
            find_callers(module, code);
        }
    pp_unmap((void *)(uintptr_t)code, code ? module->end - module->start : 0);
}

void pp_greenlet_refresh(void)
{
    memset(&greenlet, 0, sizeof greenlet);
    pp_modules_each(examine_module, NULL);
    atomic_store(&pp_capture.greenlet_start, greenlet.start);
    atomic_store(&pp_capture.greenlet_end, greenlet.end);
    for (unsigned i = 0; i < PP_GREENLET_CALLERS; i++) {
        bool known = i < greenlet.caller_count;
        atomic_store(&pp_capture.greenlet_switched[i].start, known ? greenlet.callers[i].call + PP_CALL_SIZE : 0);
        atomic_store(&pp_capture.greenlet_switched[i].end, greenlet.callers[i].end);
    }
}

bool pp_greenlet_holds(uintptr_t address)
{
    return address >= greenlet.start && address < greenlet.end;
}

static bool is_after_addition(uintptr_t address)
{
    if (!greenlet.addition)
        return false;
    if (address >= greenlet.function_start && address < greenlet.function_end)
        return address >= greenlet.addition;
    for (unsigned i = 0; i < greenlet.caller_count; i++)
        if (address >= greenlet.callers[i].call + PP_CALL_SIZE && address < greenlet.callers[i].end)
            return true;
    return false;
}

unsigned pp_greenlet_switch(const uint64_t *native, unsigned count, bool torn)
{
    bool switching = torn;
    unsigned end = 0;
    for (unsigned i = 0; i < count && !pp_in_eval(native[i]); i++) {
        if (!pp_greenlet_holds(native[i]))
            continue;
        switching |= is_after_addition(native[i]);
        end = i + 1;
    }
    return switching ? end : 0;
}
