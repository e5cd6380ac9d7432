/* What the dynamic loader has loaded, copied while it holds its lock; everything else happens afterwards. */
#ifndef PP_FLUSH_LOADED_OBJECTS_H
#define PP_FLUSH_LOADED_OBJECTS_H

#include "../unwind/eh_frame.h"
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
    uint64_t eh_frame_hdr_file_offset;
    struct pp_address_range eh_segment; /* the segment that holds it */
    struct pp_address_range dynamic;
    struct pp_address_range notes[PP_OBJECT_NOTES];
    unsigned note_count;
    bool first;    /* in the loader's list: the executable */
    uint32_t name; /* offset in names */
};

struct pp_loaded_objects {
    struct pp_loaded_object *objects;
    size_t count, capacity;
    char *names;
    size_t names_used, names_capacity;
    unsigned long long adds, subs;
};

enum pp_loaded_result {
    PP_LOADED_UNKNOWN, /* no dl_iterate_phdr here, or no memory */
    PP_LOADED_UNCHANGED,
    PP_LOADED_CHANGED,
};

/* Enters the loader through the gate. Compares with adds and subs; copies all objects only when they differ. */
enum pp_loaded_result pp_loaded_objects_read(unsigned long long adds, unsigned long long subs, void (*enter)(void),
                                             void (*leave)(void), struct pp_loaded_objects *out);
void pp_loaded_objects_free(struct pp_loaded_objects *objects);

/* Only whether something was unloaded since. */
bool pp_loaded_objects_unloaded_since(unsigned long long subs, void (*enter)(void), void (*leave)(void));

/* Whether these copies, `count` of them, are of the object's memory: each byte is still there at a moment at which the
 * object is loaded. Goes through the gate piece by piece: a fork does not wait for long. */
bool pp_loaded_objects_hold(const struct pp_loaded_object *object, const char *name,
                            const struct pp_section_copy *copies, unsigned count, void (*enter)(void),
                            void (*leave)(void));

/* Whether the flush thread is in one of these with the loader's lock, for certain. Any thread. */
bool pp_loaded_objects_inside(void);
/* In the child of fork, which has no flush thread. */
void pp_loaded_objects_after_fork(void);

#endif
