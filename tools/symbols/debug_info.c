/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unit (a source file's part of the debug information) is read when the first address in it is looked up, and a
 * function's inlined calls at the first address in that. Units and functions are found by their own ranges and not by
 * .debug_aranges, which libdw goes by and many compilers do not write.
 */
#include "debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/memory.h"
#include "../base/numbers.h"
#include "debug_files.h"
#include "debug_ranges.h"

/* Entries that enclose each other; compilers nest tens. */
#define DEEPEST 250u
/* Entries and ranges that are read, for each byte of debug information: an entry has several bytes, and is met
 * twice. Damaged files may say that they enclose each other. */
#define WORK_PER_BYTE 2u
#define MIN_WORK      1000000u
/* The most that is kept of one file; twice that for a moment, when a table grows. */
#define MAX_BYTES (UINT64_C(256) << 20)
/* Reading a file ends after this time. libdw walks over all that is within an entry to come to the next one, at each
 * depth again. */
#define MAX_NS UINT64_C(5000000000)

/* An inlined call; those within it follow it, up to `end`. */
struct call {
    uint64_t entry; /* where it is in the debug information */
    uint32_t first_range, end_range, end;
};

struct function {
    uint64_t entry;
    bool read;
    PT_TABLE_OF(struct call) calls;
    struct pt_ranges ranges; /* of the calls, not sorted */
};

struct unit {
    uint64_t entry;
    bool read;
    PT_TABLE_OF(struct function) functions;
    struct pt_ranges ranges; /* of the functions */
};

struct pt_debug_info {
    int descriptor, shared_descriptor;
    Elf *elf;
    Dwarf *dwarf, *shared; /* shared: the file that `dwz -m` moved common parts to */
    PT_TABLE_OF(struct unit) units;
    struct pt_ranges ranges; /* of the units */
    struct pt_ranges_left left;
    uint64_t end_ns; /* of the time that reading may take (CLOCK_MONOTONIC) */
};

/* Returns whether to go on; ends the work if the time is over. */
static bool has_time(struct pt_debug_info *info)
{
    if (info->left.work && pt_clock_ns(CLOCK_MONOTONIC) > info->end_ns)
        info->left.work = 0;
    return info->left.work;
}

bool pt_debug_info_is_cut(const struct pt_debug_info *info)
{
    return !info->left.work;
}

/* Opens the file with common parts: by the path that the file gives, from its own directory, or by build-id. Returns
 * false if another build is at that path: libdw would use it. */
static bool open_shared(struct pt_debug_info *info, const char *path, struct pt_mapped *mapped)
{
    const char *name, *slash = strrchr(path, '/');
    const void *bytes;
    ssize_t length = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &bytes);
    if (length <= 0)
        return true;
    PT_AUTO_FREE char *build_id = pt_hex(bytes, (size_t)length);
    PT_AUTO_BUFFER beside = {0};
    if (*name != '/' && slash)
        pt_buffer_append(&beside, path, (size_t)(slash + 1 - path));
    pt_buffer_text(&beside, name);
    info->shared_descriptor = pt_open_build(beside.data, build_id, mapped);
    for (unsigned place = 0; info->shared_descriptor < 0 && place < PT_DEBUG_PLACES; place++) {
        PT_AUTO_FREE char *other = pt_debug_path(build_id, place);
        if (other)
            info->shared_descriptor = pt_open_build(other, build_id, mapped);
    }
    if (info->shared_descriptor >= 0)
        info->shared = dwarf_begin(info->shared_descriptor, DWARF_C_READ);
    if (info->shared)
        dwarf_setalt(info->dwarf, info->shared);
    return info->shared || access(beside.data, F_OK) != 0;
}

static void find_units(struct pt_debug_info *info)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Off offset = 0, next;
    size_t header;
    info->left = (struct pt_ranges_left){MIN_WORK, MAX_BYTES};
    info->end_ns = pt_clock_ns(CLOCK_MONOTONIC) + MAX_NS;
    for (; has_time(info) && dwarf_nextcu(info->dwarf, offset, &next, &header, NULL, NULL, NULL) == 0 && next > offset;
         offset = next)
        info->left.work += WORK_PER_BYTE * (next - offset);
    Dwarf_Die die;
    uint8_t type;
    while (has_time(info) && dwarf_get_units(info->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        info->left.work--;
        if (type != DW_UT_compile)
            continue;
        PT_APPEND(&info->units)->entry = dwarf_dieoffset(&die);
        pt_ranges_add(&info->ranges, &die, info->units.count - 1, &info->left);
    }
    pt_ranges_sort(&info->ranges);
}

struct pt_debug_info *pt_debug_info_open(const char *path, const char *build_id, struct pt_mapped *mapped)
{
    int descriptor = pt_open_build(path, build_id, mapped);
    if (descriptor < 0)
        return NULL;
    struct pt_debug_info *info = pt_alloc(1, sizeof *info);
    info->descriptor = descriptor;
    info->shared_descriptor = -1;
    info->elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
    info->dwarf = info->elf ? dwarf_begin_elf(info->elf, DWARF_C_READ, NULL) : NULL;
    if (info->dwarf && open_shared(info, path, mapped))
        find_units(info);
    if (info->units.count)
        return info;
    pt_debug_info_close(info);
    return NULL;
}

void pt_debug_info_close(struct pt_debug_info *info)
{
    if (!info)
        return;
    for (uint32_t i = 0; i < info->units.count; i++) {
        for (uint32_t j = 0; j < info->units.items[i].functions.count; j++) {
            free(info->units.items[i].functions.items[j].calls.items);
            free(info->units.items[i].functions.items[j].ranges.items);
        }
        free(info->units.items[i].functions.items);
        free(info->units.items[i].ranges.items);
    }
    free(info->units.items);
    free(info->ranges.items);
    dwarf_end(info->dwarf);
    dwarf_end(info->shared);
    elf_end(info->elf);
    if (info->shared_descriptor >= 0)
        close(info->shared_descriptor);
    close(info->descriptor);
    free(info);
}

/* Goes to the next entry with the same parent; returns false at the end. Entries are in the order of the file: one that
 * leads back is damaged. */
static bool next_entry(struct pt_debug_info *info, Dwarf_Die *die)
{
    Dwarf_Off before = dwarf_dieoffset(die);
    if (dwarf_haschildren(die) ? !has_time(info) : !info->left.work)
        return false;
    info->left.work--;
    return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

static bool holds_functions(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_module;
}

static void read_functions(struct pt_debug_info *info, struct unit *unit, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        uint32_t ranges = unit->ranges.count;
        if (tag == DW_TAG_subprogram)
            pt_ranges_add(&unit->ranges, &die, unit->functions.count, &info->left);
        if (unit->ranges.count > ranges) {
            PT_APPEND(&unit->functions)->entry = dwarf_dieoffset(&die);
            pt_ranges_keep(&info->left, sizeof *unit->functions.items);
        }
        if (holds_functions(tag))
            read_functions(info, unit, &die, depth + 1);
    } while (next_entry(info, &die));
}

static void read_calls(struct pt_debug_info *info, struct function *function, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        uint32_t number = function->calls.count;
        if (tag == DW_TAG_inlined_subroutine) {
            struct call *call = PT_APPEND(&function->calls);
            pt_ranges_keep(&info->left, sizeof *call);
            call->entry = dwarf_dieoffset(&die);
            call->first_range = function->ranges.count;
            pt_ranges_add(&function->ranges, &die, number, &info->left);
            call->end_range = function->ranges.count;
        }
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
            tag == DW_TAG_catch_block)
            read_calls(info, function, &die, depth + 1);
        if (function->calls.count > number && tag == DW_TAG_inlined_subroutine)
            function->calls.items[number].end = function->calls.count;
    } while (next_entry(info, &die));
}

/* Returns the function at the address; NULL if there is none. */
static struct function *function_at(struct pt_debug_info *info, struct unit *unit, Dwarf_Die *die, uint64_t address)
{
    if (!unit->read) {
        unit->read = true;
        read_functions(info, unit, die, 0);
        pt_ranges_sort(&unit->ranges);
    }
    uint32_t number = pt_ranges_find(&unit->ranges, address);
    struct function *function = number == PT_NONE ? NULL : &unit->functions.items[number];
    Dwarf_Die entry;
    if (function && !function->read && dwarf_offdie(info->dwarf, function->entry, &entry)) {
        function->read = true;
        read_calls(info, function, &entry, 0);
    }
    return function;
}

static bool is_in_call(const struct function *function, const struct call *call, uint64_t address)
{
    for (uint32_t i = call->first_range; i < call->end_range; i++)
        if (address >= function->ranges.items[i].begin && address < function->ranges.items[i].end)
            return true;
    return false;
}

/* Finds the inlined calls at the address, the outermost first; returns their count. */
static uint32_t calls_at(const struct function *function, uint64_t address, uint32_t calls[PT_MAX_INLINED])
{
    uint32_t count = 0, end = function->calls.count;
    for (uint32_t i = 0; i < end && count < PT_MAX_INLINED;) {
        const struct call *call = &function->calls.items[i];
        if (is_in_call(function, call, address)) {
            calls[count++] = i++;
            end = call->end;
        } else {
            i = call->end;
        }
    }
    return count;
}

static const char *symbol_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    return name ? name : dwarf_diename(die);
}

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

/* Sets where the inlined call is in the source of its caller. */
static void set_call_site(Dwarf_Die *unit, Dwarf_Die *call, struct pt_scope *caller)
{
    Dwarf_Files *files;
    size_t count;
    uint64_t file = number_of(call, DW_AT_call_file), line = number_of(call, DW_AT_call_line);
    caller->file = NULL;
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
        caller->file = dwarf_filesrc(files, file, NULL, NULL);
    caller->line = caller->file && line <= UINT32_MAX ? (uint32_t)line : 0;
}

static void set_line(Dwarf_Die *unit, uint64_t address, struct pt_scope *scope)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number;
    *scope = (struct pt_scope){0};
    if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
        return;
    scope->file = dwarf_linesrc(line, NULL, NULL);
    scope->line = scope->file ? (uint32_t)number : 0;
}

uint32_t pt_debug_info_find(struct pt_debug_info *info, uint64_t address, struct pt_scope scopes[PT_MAX_SCOPES])
{
    uint32_t number = pt_ranges_find(&info->ranges, address), calls[PT_MAX_INLINED], count = 0;
    Dwarf_Die unit, entry;
    if (number == PT_NONE || !dwarf_offdie(info->dwarf, info->units.items[number].entry, &unit))
        return 0;
    set_line(&unit, address, &scopes[0]);
    struct function *function = function_at(info, &info->units.items[number], &unit, address);
    if (!function)
        return scopes[0].line ? 1 : 0;
    for (uint32_t i = calls_at(function, address, calls); i-- > 0;) {
        if (!dwarf_offdie(info->dwarf, function->calls.items[calls[i]].entry, &entry))
            continue;
        scopes[count++].symbol = symbol_of(&entry);
        set_call_site(&unit, &entry, &scopes[count]);
    }
    scopes[count].symbol = dwarf_offdie(info->dwarf, function->entry, &entry) ? symbol_of(&entry) : NULL;
    return count + 1;
}
