#include "find_rule.h"
#include "../base/process.h"
#include "../base/safe_read.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define PAGE           ((uintptr_t)4096)
#define CODE_SHIFT     6
#define ENTRY_USUAL    128 /* bytes */
#define INTERPOLATIONS 6   /* then it bisects: functions of one module may have very different sizes */

/* Whether the kernel can read the page: it copies the signal set before it refuses the invalid request.
 * async-signal-safe. */
static bool is_readable(uintptr_t page)
{
    return pp_syscall4(SYS_rt_sigprocmask, -1, (long)page, 0, sizeof(uint64_t)) != -EFAULT;
}

/* Makes up to size bytes readable, in the buffer or where they are; returns how many. Memory of a module that stays is
 * checked, since its file may have been truncated, and then used in place: that takes a fifth of the time of
 * process_vm_readv and touches fewer cache lines. Where the latter is not permitted (old filters of containers), so is
 * other memory: only a module that is unloaded meanwhile could do harm. async-signal-safe. */
static struct pp_memory_copy view(const struct pp_module_range *range, void *buffer, uintptr_t address, size_t size)
{
    if (!range->stays) {
        int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
        struct iovec local = {buffer, size}, remote = {(void *)address, size};
        long copied = pp_sys_safe_copy(pid, &local, 1, &remote, 1);
        if (copied != -EPERM && copied != -ENOSYS)
            return (struct pp_memory_copy){buffer, copied > 0 ? (size_t)copied : 0, address};
    }
    size_t readable = 0;
    while (readable < size && is_readable((address + readable) & ~(PAGE - 1)))
        readable += PAGE - (address + readable) % PAGE;
    return (struct pp_memory_copy){(const uint8_t *)address, readable < size ? readable : size, address};
}

/* Reads an entry of .eh_frame, or as much of it as there is room for. async-signal-safe. */
static struct pp_memory_copy read_entry(struct pp_rule_finder *finder, const struct pp_module_range *range,
                                        uintptr_t address)
{
    uint32_t length;
    struct pp_memory_copy copy = view(range, finder->entry, address, ENTRY_USUAL);
    if (copy.size < ENTRY_USUAL)
        return copy;
    memcpy(&length, copy.bytes, sizeof length);
    if (length <= ENTRY_USUAL - sizeof length)
        return copy;
    bool fits = length < sizeof finder->entry - sizeof length;
    return view(range, finder->entry, address, fits ? length + sizeof length : sizeof finder->entry);
}

/* Returns what is known of the module, after its header was read; NULL: it has no search table. async-signal-safe. */
static struct pp_rule_module *module_of(struct pp_rule_finder *finder, const struct pp_module_range *range)
{
    uintptr_t eh_frame_hdr = range->eh_frame_hdr;
    struct pp_rule_module *module = &finder->modules[eh_frame_hdr / PAGE % PP_RULE_MODULES];
    if (module->eh_frame_hdr == eh_frame_hdr)
        return module;
    uint8_t bytes[PP_EH_FRAME_HDR_MAX];
    struct pp_memory_copy hdr = view(range, bytes, eh_frame_hdr, sizeof bytes);
    /* another thread may fork: its child must not find half a module */
    module->eh_frame_hdr = 0;
    atomic_signal_fence(memory_order_seq_cst);
    module->cie.address = 0;
    if (!pp_eh_frame_hdr_parse(&hdr, &module->count, &module->table))
        return NULL;
    atomic_signal_fence(memory_order_seq_cst);
    module->eh_frame_hdr = eh_frame_hdr;
    return module;
}

/* A part of a search table: entries [low, high), whose functions are in the code [from, to). */
struct part {
    uint32_t low, high;
    uintptr_t from, to;
};

/* The first entry to read of a part, if pc's place in it is as in its code, or in the middle. async-signal-safe. */
static uint32_t first_to_read(const struct part *part, uintptr_t pc, unsigned step)
{
    uint32_t count = part->high - part->low, place = count / 2;
    uint64_t code = (part->to - part->from) >> CODE_SHIFT; /* the products below fit */
    if (step < INTERPOLATIONS && code && pc >= part->from && pc < part->to)
        place = (uint32_t)(count * ((pc - part->from) >> CODE_SHIFT) / (code + 1));
    if (count <= PP_TABLE_ENTRIES || place < PP_TABLE_ENTRIES / 2)
        return part->low;
    uint32_t last = count - PP_TABLE_ENTRIES;
    place -= PP_TABLE_ENTRIES / 2;
    return part->low + (place < last ? place : last);
}

/* Finds the last function that does not start after pc; sets the address of its FDE. async-signal-safe. */
static bool find_fde(struct pp_rule_finder *finder, const struct pp_module_range *range,
                     const struct pp_rule_module *module, uintptr_t pc, uintptr_t *fde)
{
    uintptr_t base = module->eh_frame_hdr;
    struct part part = {0, module->count, range->start, range->end};
    for (unsigned step = 0; part.low < part.high; step++) {
        uint32_t first = first_to_read(&part, pc, step), left = part.high - first;
        uint32_t count = left < PP_TABLE_ENTRIES ? left : PP_TABLE_ENTRIES;
        size_t size = count * sizeof(struct pp_table_entry);
        uintptr_t at = module->table + (uintptr_t)first * sizeof(struct pp_table_entry);
        struct pp_memory_copy copy = view(range, finder->entries, at, size);
        const struct pp_table_entry *entries = (const struct pp_table_entry *)(const void *)copy.bytes;
        if (copy.size != size || at % _Alignof(struct pp_table_entry))
            return false;
        uint32_t low = 0, high = count;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (base + (uintptr_t)(intptr_t)entries[middle].function <= pc)
                low = middle + 1;
            else
                high = middle;
        }
        if (low && (low < count || first + count == part.high)) {
            *fde = base + (uintptr_t)(intptr_t)entries[low - 1].fde;
            return true;
        }
        if (!low && first == part.low)
            return false;
        uintptr_t edge = base + (uintptr_t)(intptr_t)entries[low ? low - 1 : 0].function;
        part = low ? (struct part){first + count - 1, part.high, edge, part.to}
                   : (struct part){part.low, first, part.from, edge};
    }
    return false;
}

/* Reads the CIE unless it is the module's last one. async-signal-safe. */
static bool read_cie(struct pp_rule_finder *finder, const struct pp_module_range *range, struct pp_rule_module *module,
                     uintptr_t address)
{
    if (module->cie.address == address)
        return true;
    struct pp_memory_copy copy = read_entry(finder, range, address);
    module->cie.address = 0;
    atomic_signal_fence(memory_order_seq_cst);
    struct pp_cie cie;
    if (!pp_eh_frame_cie(&copy, &cie) || !pp_cfi_initial(&finder->run, &copy, &cie))
        return false;
    cie.address = 0;
    module->cie = cie;
    module->initial = finder->run.state;
    atomic_signal_fence(memory_order_seq_cst);
    module->cie.address = address;
    return true;
}

/* Reads the FDE of the function that holds pc, into finder->entry: *copy. *module is NULL if there is no search table.
 * False also if no function holds pc. async-signal-safe. */
static bool read_fde(struct pp_rule_finder *finder, const struct pp_module_range *range, uintptr_t pc,
                     struct pp_rule_module **module, struct pp_memory_copy *copy, struct pp_fde *fde)
{
    uintptr_t address, cie;
    *module = range->eh_frame_hdr ? module_of(finder, range) : NULL;
    if (!*module || !find_fde(finder, range, *module, pc, &address))
        return false;
    *copy = read_entry(finder, range, address);
    if (!pp_eh_frame_cie_of(copy, &cie))
        return false;
    if ((*module)->cie.address != cie) {
        if (!read_cie(finder, range, *module, cie))
            return false;
        *copy = read_entry(finder, range, address);
    }
    return pp_eh_frame_fde(copy, &(*module)->cie, fde) && pc >= fde->start && pc < fde->end;
}

void pp_find_rule(struct pp_rule_finder *finder, const struct pp_module_range *range, uintptr_t pc,
                  struct pp_found_rule *found)
{
    struct pp_rule_module *module;
    struct pp_memory_copy copy;
    struct pp_fde fde;
    *found = (struct pp_found_rule){.from = pc, .to = pc + 1};
    if (!read_fde(finder, range, pc, &module, &copy, &fde))
        return;
    pp_cfi_run(&finder->run, &copy, &module->cie, &fde, &module->initial, pc);
    found->from = finder->run.from;
    found->to = finder->run.to;
    if (!pp_unwind_rule_of(&finder->run.state, module->cie.signal_frame, &found->rule))
        found->rule = (struct pp_unwind_rule){.cfa_kind = PP_CFA_INVALID};
}

bool pp_find_function(struct pp_rule_finder *finder, const struct pp_module_range *range, uintptr_t pc,
                      struct pp_fde *function)
{
    struct pp_rule_module *module;
    struct pp_memory_copy copy;
    return read_fde(finder, range, pc, &module, &copy, function);
}

void pp_rule_finder_forget(struct pp_rule_finder *finder)
{
    for (unsigned i = 0; i < PP_RULE_MODULES; i++)
        finder->modules[i].eh_frame_hdr = 0;
}
