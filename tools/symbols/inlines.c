#include "inlines.h"

#include <stdlib.h>
#include <string.h>

#include "../profile/load.h"
#include "../view/frame_text.h"
#include "debug_info.h"
#include "mapped.h"

struct resolver {
    struct pt_profile *profile;
    uint32_t *innermost; /* by frame: the one that stands at its end of the stack */
    bool expanded;       /* there are inlined frames */
};

static uint32_t intern(struct pt_profile *profile, const char *text)
{
    return text ? pt_intern(profile, text, strlen(text)) : 0;
}

static void resolve_frame(struct resolver *resolver, struct pt_debug_info *info, uint32_t number)
{
    struct pt_profile *profile = resolver->profile;
    struct pt_scope scopes[PT_MOST_SCOPES];
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

/* Numbers of the native frames that belong to a module, ordered by it; *count of them. The caller frees. */
static uint32_t *frames_by_module(const struct pt_profile *profile, uint32_t *count)
{
    uint32_t *start = pt_alloc((size_t)profile->modules.count + 1, sizeof *start);
    uint32_t *order = pt_alloc(profile->frames.count, sizeof *order);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE)
            start[frame->subject + 1]++;
    }
    for (uint32_t i = 0; i < profile->modules.count; i++)
        start[i + 1] += start[i];
    *count = start[profile->modules.count];
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE)
            order[start[frame->subject]++] = i;
    }
    free(start);
    return order;
}

/* Frames of one module. What a file says that was written meanwhile may be about another build. */
static void resolve_module(struct resolver *resolver, const uint32_t *frames, uint32_t count)
{
    struct pt_profile *profile = resolver->profile;
    const struct pt_module module = profile->modules.items[profile->frames.items[*frames].subject];
    const char *path = pt_string(profile, module.path);
    pt_progress("reading debug information of %s", pt_base_name(path));
    pt_mapped_begin();
    struct pt_debug_info *info = pt_debug_info_find_file(path, pt_string(profile, module.build_id));
    if (!info)
        return;
    struct pt_frame *before = pt_alloc(count, sizeof *before);
    for (uint32_t i = 0; i < count; i++) {
        before[i] = profile->frames.items[frames[i]];
        resolve_frame(resolver, info, frames[i]);
    }
    bool changed = pt_mapped_changed();
    for (uint32_t i = 0; changed && i < count; i++) {
        profile->frames.items[frames[i]] = before[i];
        resolver->innermost[frames[i]] = frames[i];
    }
    if (changed || pt_debug_info_is_cut(info)) {
        pt_progress_end();
        pt_error(changed ? "%s was written while it was read: it has no source lines and inlined functions this time"
                         : "%s: its debug information takes too long to read, or too much memory: some inlined "
                           "functions are missing",
                 pt_string(profile, module.path));
    }
    free(before);
    pt_debug_info_close(info);
}

static void resolve_frames(struct resolver *resolver)
{
    struct pt_profile *profile = resolver->profile;
    uint32_t count, end, *order = frames_by_module(profile, &count);
    for (uint32_t i = 0; i < count; i = end) {
        end = i + 1;
        while (end < count && profile->frames.items[order[end]].subject == profile->frames.items[order[i]].subject)
            end++;
        resolve_module(resolver, order + i, end - i);
    }
    free(order);
}

/* The node of the stack that ends with the frame, and with those that are inlined there. */
static uint32_t add_frames(struct pt_profile *profile, uint32_t parent, uint32_t innermost)
{
    uint32_t chain[PT_MOST_SCOPES], count = 0;
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
    uint32_t *moved = pt_alloc(count, sizeof *moved);
    for (uint32_t i = 1; i < count; i++)
        moved[i] = add_frames(profile, moved[nodes[i].parent], resolver->innermost[nodes[i].frame]);
    free(nodes);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        profile->samples.items[i].node = moved[profile->samples.items[i].node];
    free(moved);
}

void pt_native_lines_resolve(struct pt_profile *profile)
{
    uint32_t count = profile->frames.count;
    struct resolver resolver = {.profile = profile, .innermost = pt_alloc(count, sizeof *resolver.innermost)};
    for (uint32_t i = 0; i < count; i++)
        resolver.innermost[i] = i;
    resolve_frames(&resolver);
    if (resolver.expanded)
        expand_nodes(&resolver);
    free(resolver.innermost);
}
