/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../model/frame_text.h"
#include "cython_lines.h"
#include "debug_files.h"
#include "debug_info.h"
#include "debuginfod.h"
#include "eh_frame_hdr.h"

struct resolver {
    struct pt_profile *profile;
    struct pt_debuginfod *servers; /* NULL: there are none */
    uint32_t *innermost;           /* by frame: the one at its end of the stack; NULL: names only */
    bool expanded;                 /* there are inlined frames */
};

/* The frames of one module, and the files that name them. */
struct job {
    const uint32_t *frames;
    uint32_t count;
    bool nameless; /* some of them */
    const char *path, *build_id;
    struct pt_debug_files files;
    struct pt_mapped mapped;
};

/* libdwfl asks this for the file with the debug information of another one. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                           const char *link, GElf_Word crc, char **found)
{
    (void)module, (void)name, (void)base, (void)file, (void)link, (void)crc;
    struct job *job = *data;
    int descriptor = job->files.dwarf ? pt_open_build(job->files.dwarf, job->build_id, &job->mapped) : -1;
    if (descriptor >= 0)
        *found = pt_strdup(job->files.dwarf);
    return descriptor;
}

/* Opens the image as a module at its own addresses; returns NULL if the file is gone. */
static Dwfl_Module *open_image(Dwfl *dwfl, struct job *job)
{
    void **data;
    int descriptor = pt_open_build(job->files.image, job->build_id, &job->mapped);
    if (descriptor < 0)
        return NULL;
    dwfl_report_begin(dwfl);
    Dwfl_Module *module = dwfl_report_elf(dwfl, job->files.image, job->files.image, descriptor, 0, true);
    dwfl_report_end(dwfl, NULL, NULL);
    if (!module)
        close(descriptor);
    else if (dwfl_module_info(module, &data, NULL, NULL, NULL, NULL, NULL, NULL))
        *data = job;
    return module;
}

static void resolve_names(struct resolver *resolver, struct job *job)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = find_debug_file,
        .section_address = dwfl_offline_section_address,
    };
    struct pt_profile *profile = resolver->profile;
    Dwfl *dwfl = dwfl_begin(&callbacks);
    Dwfl_Module *module = dwfl ? open_image(dwfl, job) : NULL;
    GElf_Addr bias = 0;
    Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
    for (uint32_t i = 0; module && i < job->count; i++) {
        struct pt_frame *frame = &profile->frames.items[job->frames[i]];
        GElf_Off offset;
        GElf_Sym symbol;
        uint64_t start;
        if (frame->symbol)
            continue;
        const char *name = dwfl_module_addrinfo(module, frame->address + bias, &offset, &symbol, NULL, NULL, NULL);
        if (name && *name) {
            frame->symbol = pt_intern_text(profile, name);
            frame->symbol_offset = offset;
        } else if (elf && !frame->symbol_offset && pt_eh_frame_function_start(elf, frame->address, &start)) {
            frame->symbol_offset = frame->address - start;
        }
    }
    dwfl_end(dwfl);
}

static uint32_t intern(struct pt_profile *profile, const char *text)
{
    return text ? pt_intern(profile, text, strlen(text)) : 0;
}

static void resolve_line(struct resolver *resolver, struct pt_debug_info *info, uint32_t number)
{
    struct pt_profile *profile = resolver->profile;
    struct pt_scope scopes[PT_MAX_SCOPES];
    uint32_t count = pt_debug_info_find(info, profile->frames.items[number].address, scopes);
    if (!count)
        return;
    uint32_t outer = number, symbol = intern(profile, scopes[count - 1].symbol);
    struct pt_frame *frame = &profile->frames.items[number];
    frame->source = intern(profile, scopes[count - 1].file);
    frame->line = scopes[count - 1].line;
    frame->symbol = frame->symbol ? frame->symbol : symbol;
    for (uint32_t i = count - 1; i-- > 0;) {
        const struct pt_frame inlined = {
            .kind = PP_FRAME_NATIVE,
            .subject = profile->frames.items[number].subject,
            .address = profile->frames.items[number].address,
            .symbol = intern(profile, scopes[i].symbol),
            .source = intern(profile, scopes[i].file),
            .line = scopes[i].line,
            .inlined_into = outer + 1,
        };
        if (!inlined.symbol)
            continue;
        outer = pt_add_frame(profile, &inlined);
        resolver->expanded = true;
    }
    resolver->innermost[number] = outer;
}

/* Returns true if all of the debug information could be read. */
static bool resolve_lines(struct resolver *resolver, struct job *job)
{
    pt_progress_to(resolver->profile->request->messages, "reading debug information of %s", pt_base_name(job->path));
    struct pt_debug_info *info = pt_debug_info_open(job->files.dwarf, job->build_id, &job->mapped);
    for (uint32_t i = 0; info && i < job->count; i++)
        resolve_line(resolver, info, job->frames[i]);
    bool whole = !info || !pt_debug_info_is_cut(info);
    pt_debug_info_close(info);
    return whole;
}

static void find_files(struct resolver *resolver, struct job *job, uint32_t module)
{
    pt_debug_files_find(&job->files, job->path, job->build_id, &job->mapped);
    if (job->files.dwarf || !resolver->servers || !pt_debuginfod_fetch(resolver->servers, module))
        return;
    pt_debug_files_free(&job->files);
    pt_debug_files_find(&job->files, job->path, job->build_id, &job->mapped);
}

static void report(const struct resolver *resolver, const struct job *job, const char *text)
{
    pt_progress_end(resolver->profile->request->messages);
    pt_message_to(resolver->profile->request->messages, "%s%s", job->path, text);
}

/* Undoes the changes if a file was written meanwhile: it may be of another build. */
static void resolve_module(struct resolver *resolver, struct job *job, uint32_t module)
{
    struct pt_profile *profile = resolver->profile;
    PT_AUTO_FREE struct pt_frame *before = pt_alloc(job->count, sizeof *before);
    for (uint32_t i = 0; i < job->count; i++)
        before[i] = profile->frames.items[job->frames[i]];
    pt_mapped_begin(&job->mapped);
    find_files(resolver, job, module);
    if (job->files.image && job->nameless)
        resolve_names(resolver, job);
    bool whole = !resolver->innermost || !job->files.dwarf || resolve_lines(resolver, job);
    bool changed = pt_mapped_end(&job->mapped);
    for (uint32_t i = 0; changed && i < job->count; i++) {
        profile->frames.items[job->frames[i]] = before[i];
        if (resolver->innermost)
            resolver->innermost[job->frames[i]] = job->frames[i];
    }
    if (changed)
        report(resolver, job,
               job->nameless
                   ? " was written while it was read: its functions have no names this time"
                   : " was written while it was read: it has no source lines and inlined functions this time");
    else if (!whole)
        report(
            resolver, job,
            ": its debug information takes too long to read, or too much memory: some inlined functions are missing");
    pt_debug_files_free(&job->files);
}

/* Returns the numbers of the frames that belong to a module, ordered by it; *count of them. The caller frees. */
static uint32_t *frames_by_module(const struct pt_profile *profile, uint32_t *count)
{
    uint32_t frames = profile->frames.count, none = profile->modules.count, *ends;
    PT_AUTO_FREE uint32_t *modules = pt_alloc(frames, sizeof *modules);
    for (uint32_t i = 0; i < frames; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        modules[i] = frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE ? frame->subject : none;
    }
    uint32_t *order = pt_bucket_sort(modules, sizeof *modules, 0, frames, none + 1, &ends);
    *count = none ? ends[none - 1] : 0;
    free(ends);
    return order;
}

static void resolve_frames(struct resolver *resolver)
{
    struct pt_profile *profile = resolver->profile;
    uint32_t count, *order = frames_by_module(profile, &count);
    for (uint32_t i = 0, end; i < count; i = end) {
        uint32_t number = profile->frames.items[order[i]].subject;
        struct job job = {.frames = order + i};
        for (end = i; end < count && profile->frames.items[order[end]].subject == number; end++)
            job.nameless |= !profile->frames.items[order[end]].symbol;
        job.count = end - i;
        job.path = pt_string(profile, profile->modules.items[number].path);
        job.build_id = pt_string(profile, profile->modules.items[number].build_id);
        if (*job.build_id && (job.nameless || resolver->innermost))
            resolve_module(resolver, &job, number);
    }
    free(order);
}

/* Returns the node of the stack that ends with the frame and those that are inlined there. */
static uint32_t add_frames(struct pt_profile *profile, uint32_t parent, uint32_t innermost)
{
    uint32_t chain[PT_MAX_SCOPES], count = 0;
    for (uint32_t at = innermost + 1; at; at = profile->frames.items[at - 1].inlined_into)
        chain[count++] = at - 1;
    while (count)
        parent = pt_add_node(profile, parent, chain[--count]);
    return parent;
}

static void expand_nodes(struct resolver *resolver)
{
    struct pt_profile *profile = resolver->profile;
    uint32_t count;
    struct pt_node *nodes = pt_take_nodes(profile, &count);
    PT_AUTO_FREE uint32_t *moved = pt_alloc(count, sizeof *moved);
    for (uint32_t i = 1; i < count; i++)
        moved[i] = add_frames(profile, moved[nodes[i].parent], resolver->innermost[nodes[i].frame]);
    free(nodes);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        profile->samples.items[i].node = moved[profile->samples.items[i].node];
}

void pt_symbols_resolve(struct pt_profile *profile)
{
    uint32_t count = profile->frames.count;
    struct resolver resolver = {.profile = profile,
                                .servers = pt_debuginfod_new(profile),
                                .innermost = pt_alloc(count, sizeof *resolver.innermost)};
    for (uint32_t i = 0; i < count; i++)
        resolver.innermost[i] = i;
    resolve_frames(&resolver);
    pt_cython_lines_map(profile);
    if (resolver.expanded)
        expand_nodes(&resolver);
    free(resolver.innermost);
    pt_debuginfod_free(resolver.servers);
}

void pt_symbols_resolve_names(struct pt_profile *profile)
{
    struct resolver resolver = {.profile = profile};
    resolve_frames(&resolver);
}
