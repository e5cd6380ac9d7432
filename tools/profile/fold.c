#include "fold.h"

#include <string.h>

#include "kind.h"

/* Replace stacks without a frame that is shown. */
#define ONLY_NATIVE      "[native]"
#define ONLY_INTERPRETER "[interpreter]"

/* Pseudo-frames for native code that is not known. */
#define MARK "[native stack truncated"
#define JIT  "[jit]"

enum class { SHOWN, INTERPRETER, LIBRARY, NATIVE_MARK };

static enum class class_of(const struct pt_profile *profile, const struct pt_frame *frame) {
    enum pt_kind kind = pt_kind_of(profile, frame); if (kind == PT_KIND_INTERPRETER) return INTERPRETER;
    if (kind == PT_KIND_NATIVE) return LIBRARY;
    if (kind != PT_KIND_PSEUDO) return SHOWN;
    const char *text = pt_string(profile, frame->subject);
    return strncmp(text, MARK, sizeof MARK - 1) == 0 ? NATIVE_MARK
           : strcmp(text, JIT) == 0                  ? LIBRARY
                                                     : SHOWN;
}

static uint32_t pseudo_node(struct pt_profile *profile, const char *text)
{
    return pt_add_node(profile, 0, pt_add_pseudo(profile, text));
}

/* Native code is shown with its callers in libraries, and with marks of what is missing between them. */
static struct pt_folded show_libraries(struct pt_profile *profile, struct pt_folded parent, uint32_t frame,
                                       enum class class)
{
    uint32_t node;
    switch (class) {
    case INTERPRETER:
        node = parent.under ? parent.under : pseudo_node(profile, ONLY_INTERPRETER);
        return (struct pt_folded){node, parent.under};
    case LIBRARY:
        node = pt_add_node(profile, parent.node, frame);
        return (struct pt_folded){node, parent.under ? node : 0};
    default:
        node = pt_add_node(profile, parent.under ? parent.under : parent.node, frame);
        return (struct pt_folded){node, parent.under};
    }
}

static struct pt_folded show_none(struct pt_profile *profile, struct pt_folded parent, uint32_t frame, enum class class)
{
    if (parent.under)
        return (struct pt_folded){parent.under, parent.under};
    bool ends_here = class == NATIVE_MARK && !parent.node;
    return (struct pt_folded){ends_here ? pt_add_node(profile, 0, frame) : pseudo_node(profile, ONLY_NATIVE), 0};
}

static struct pt_folded folded(const struct pt_fold *fold, struct pt_profile *profile, uint32_t number)
{
    const struct pt_node node = profile->nodes.items[number];
    const struct pt_folded parent = fold->nodes.items[node.parent];
    enum class class = fold->classes.items[node.frame];
    if (class != SHOWN)
        return (fold->native == PT_NATIVE_NONE ? show_none : show_libraries)(profile, parent, node.frame, class);
    uint32_t to = pt_add_node(profile, parent.under, node.frame);
    return (struct pt_folded){to, to};
}

void pt_fold_add(struct pt_fold *fold, struct pt_profile *profile)
{
    if (fold->native == PT_NATIVE_ALL)
        return;
    if (!fold->nodes.count)
        PT_APPEND(&fold->nodes);
    /* Folding adds nodes, which fold to themselves. */
    while (fold->nodes.count < profile->nodes.count) {
        for (uint32_t i = fold->classes.count; i < profile->frames.count; i++)
            *PT_APPEND(&fold->classes) = (uint8_t)class_of(profile, &profile->frames.items[i]);
        struct pt_folded next = folded(fold, profile, fold->nodes.count);
        *PT_APPEND(&fold->nodes) = next;
    }
}

uint32_t pt_fold_node(const struct pt_fold *fold, uint32_t node)
{
    return fold->native == PT_NATIVE_ALL ? node : fold->nodes.items[node].node;
}

void pt_fold_free(struct pt_fold *fold)
{
    PT_FREE_TABLE(&fold->nodes);
    PT_FREE_TABLE(&fold->classes);
}
