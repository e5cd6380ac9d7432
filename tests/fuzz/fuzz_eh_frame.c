/* Feeds arbitrary .eh_frame_hdr and .eh_frame bytes to the search for rules and checks what comes out: it holds for the
 * address, and can be followed. Input: the header, its search table, the entries. */
#include "../../preload/base/process.h"
#include "../../preload/unwind/find_rule.h"
#include <stdlib.h>
#include <unistd.h>

#define TEXT_AT   0x1000u /* from the header on */
#define TEXT_SIZE 0x20000u
#define STEP      4999u

static void check(const struct pp_found_rule *found, uintptr_t pc)
{
    const struct pp_unwind_rule *rule = &found->rule;
    unsigned slots = rule->saved | rule->in_register | rule->lost;
    if (pc < found->from || pc >= found->to)
        abort();
    if (rule->cfa_kind > PP_CFA_SIGNAL || rule->saved & rule->in_register || rule->saved & rule->lost ||
        rule->from_base & ~rule->saved)
        abort();
    if (rule->cfa_kind != PP_CFA_INVALID && rule->cfa_kind != PP_CFA_SIGNAL && !(slots >> PP_TRACKED_RA & 1))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pp_rule_finder finder;
    atomic_store(&pp_process.pid, getpid());
    uint8_t *bytes = malloc(size + 1);
    memcpy(bytes, data, size);
    /* by copies: what is outside the input is not ours to load */
    struct pp_module_range range = {.eh_frame_hdr = (uintptr_t)bytes, .start = (uintptr_t)bytes + TEXT_AT};
    range.end = range.start + TEXT_SIZE;
    pp_rule_finder_forget(&finder);
    for (uintptr_t pc = range.start; pc < range.end; pc += STEP) {
        struct pp_found_rule found;
        struct pp_fde function;
        pp_find_rule(&finder, &range, pc, &found);
        check(&found, pc);
        if (pp_find_function(&finder, &range, pc, &function) && (pc < function.start || pc >= function.end))
            abort();
    }
    free(bytes);
    return 0;
}
