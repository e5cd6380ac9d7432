/* SPDX-License-Identifier: Apache-2.0 */
#include "eval_ranges.h"
#include "../arch/arch.h"
#include "../base/safe_copy.h"
#include "../capture/capture.h"
#include "../capture/python_walk.h"
#include "../modules/modules.h"

/* Number of jumps from the eval function into another function that make that its .cold part. The bytes are not decoded
 * from the start, so a few matches may be chance. */
#define COLD_JUMPS_MIN 4
#define COLD_PARTS     4
#define CODE_PIECE     4096u /* bytes copied at a time, onto the stack: fresh pages take longer than system calls */

static void add_range(const struct pp_module *module, uintptr_t address)
{
    uint32_t count = atomic_load(&pp_capture.eval_range_count);
    uintptr_t start, end;
    if (pp_in_eval(address) || count == PP_EVAL_RANGES || !module ||
        !pp_module_function_range(module, address, &start, &end))
        return;
    pp_capture.eval_ranges[count].start = start;
    pp_capture.eval_ranges[count].end = end;
    atomic_store_explicit(&pp_capture.eval_range_count, count + 1, memory_order_release);
}

/* Only adds code of the interpreter's module: greenlet keeps a _PyCFrame of its own in one of its frames. */
void pp_eval_learn(uintptr_t address)
{
    if (pp_in_eval(address))
        return;
    const struct pp_python *python = pp_python_of_code(address);
    if (!python)
        return;
    pp_eval_find();
    add_range(pp_module_find(address), address);
}

/* gcc moves the unlikely parts of a function out of line: they have an FDE of their own but no dynamic symbol. No other
 * code jumps into the middle of a function. */
static void find_cold_parts(const struct pp_module *module, uintptr_t start, uintptr_t end)
{
    struct {
        uintptr_t start;
        unsigned jumps;
    } parts[COLD_PARTS];
    unsigned count = 0;
    for (uintptr_t at = start; at < end; at += CODE_PIECE) {
        uint8_t code[CODE_PIECE + PP_JUMP_SIZE - 1]; /* a jump that begins in this piece may end in the next */
        size_t size = end - at < sizeof code ? end - at : sizeof code;
        if (!pp_safe_copy(code, at, size))
            return;
        const uint8_t *jump = code, *last = size >= PP_JUMP_SIZE ? code + size - PP_JUMP_SIZE + 1 : code;
        for (; (jump = pp_jump_next(jump, last)) < last; jump++) {
            uintptr_t target = pp_jump_target(jump, at + (uintptr_t)(jump - code)), part, part_end;
            if (target < module->start || target >= module->end || (target >= start && target < end) ||
                !pp_module_function_range(module, target, &part, &part_end) || target == part)
                continue;
            unsigned i = 0;
            while (i < count && parts[i].start != part)
                i++;
            if (i == COLD_PARTS)
                continue;
            if (i == count) {
                parts[count].start = part;
                parts[count++].jumps = 0;
            }
            if (++parts[i].jumps == COLD_JUMPS_MIN)
                add_range(module, target);
        }
    }
}

void pp_eval_find(void)
{
    static bool found[PP_MAX_PYTHONS];
    const struct pp_python *python;
    for (unsigned i = 0; (python = pp_python_at(i)) != NULL; i++) {
        uintptr_t start, end;
        const struct pp_module *module;
        if (found[i] || !(module = pp_module_find(python->eval_function)) ||
            !pp_module_function_range(module, python->eval_function, &start, &end))
            continue;
        find_cold_parts(module, start, end);
        /* last: handlers take the ranges as complete once they hold the function's entry */
        add_range(module, python->eval_function);
        found[i] = true;
    }
}
