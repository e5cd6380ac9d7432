/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what the dynamic loader has loaded, under its lock; everything else happens afterwards. */
#ifndef PP_MODULES_LOADED_OBJECTS_H
#define PP_MODULES_LOADED_OBJECTS_H

#include "../base/arena.h"
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_OBJECT_NOTES 4

struct pp_address_range {
    uintptr_t start, end; /* equal: none */
};

struct pp_loaded_object {
    uintptr_t bias;
    struct pp_address_range text; /* executable segments, lowest to highest address */
    uint64_t text_file_offset;
    struct pp_address_range image;        /* all segments */
    struct pp_address_range eh_frame_hdr; /* PT_GNU_EH_FRAME */
    struct pp_address_range eh_segment;   /* the segment that holds it, and .eh_frame */
    ElfW(Phdr) eh_phdr;                   /* of that segment */
    struct pp_address_range dynamic;
    struct pp_address_range notes[PP_OBJECT_NOTES];
    unsigned note_count;
    uint64_t tls_module, tls_size; /* of its thread-local block: the number in a DTV, 0: it has none */
    bool first;                    /* in the loader's list: the executable */
    uint32_t name;                 /* offset in names */
};

struct pp_loaded_objects {
    struct pp_vector objects; /* struct pp_loaded_object */
    struct pp_vector names;
    size_t count;       /* of all, in the loader's list */
    size_t known_count; /* of these, which are not among `objects`, are known */
    bool known;         /* adds and subs are, and all others are here */
    unsigned long long adds, subs;
    const struct pp_known_objects *before;
};

/* What was read before: when nothing was unloaded since, and each of these is still there, they are not read again. */
struct pp_known_objects {
    unsigned long long adds, subs;
    size_t count;
    bool (*has)(const struct dl_phdr_info *info); /* whether the object is one of them, by its place and name */
};

/* Sets what is called around every step inside the loader, so that no fork happens there. Once, before the first
 * read. */
void pp_loaded_objects_set_gate(void (*enter)(void), void (*leave)(void));

/* Copies the objects that are not known if adds and subs have changed, or all. False: they have not, out->known is set;
 * or they are unknown (no dl_iterate_phdr here, no memory). */
bool pp_loaded_objects_read(const struct pp_known_objects *before, struct pp_loaded_objects *out);
void pp_loaded_objects_free(struct pp_loaded_objects *objects);

#endif
