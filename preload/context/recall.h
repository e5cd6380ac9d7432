/* SPDX-License-Identifier: Apache-2.0 */
/* Recalls what a thread's last sample belonged to, part by part, as long as every word is unchanged that it was read
 * from. That takes a few instructions a word, and the CPU loads the words at once: reading follows pointers from each
 * to the next. Measured with everything that a sample can belong to (tests/bench/contexts.py): 2,100 instructions in
 * place of 10,700 for the contexts, 19,100 in place of 28,400 for the whole handler.
 *
 * It is as safe and as right as reading: words are compared in the order in which they were read, so each is loaded
 * where reading would load it now, and equal words lead to equal results. Only direct readers record
 * (capture/objects.h). What reading does not find by words it finds by the key. */
#ifndef PP_CONTEXT_RECALL_H
#define PP_CONTEXT_RECALL_H

#include "context.h"

enum pp_recall_part {
    PP_RECALL_RUNNING,   /* which task runs */
    PP_RECALL_TASK,      /* its name, the tasks that await it */
    PP_RECALL_VARIABLES, /* what is in context variables */
    PP_RECALL_TRACE,     /* whether the trace is selected */
    PP_RECALL_FRAMES,    /* what the Python stack tells */
    PP_RECALL_PARTS
};

#define PP_RECALL_KEY_MAX 28 /* words */
#define PP_RECALL_PUT_MAX (PP_MAX_AWAITERS + 4)

struct pp_recall {
    enum {
        PP_RECALL_NOTHING,
        PP_RECALL_KEY,     /* the last sample had this key: what the next sample with it reads will be recorded */
        PP_RECALL_WHOLE,   /* all of the following is there */
        PP_RECALL_REFUSED, /* what is read with this key cannot be recorded */
    } state;
    uint8_t key_count, put_count, word_count, word_max;
    uint8_t waits, waits_next; /* samples with this key that are not recorded; the next time */
    uint32_t known;            /* bits of kinds, and PP_SELECTED */
    uint16_t reasons;          /* why contexts are lacking */
    uint32_t task_begins;      /* frames.c's: where, counted from the outermost frame; 0: no frame has told */
    /* Of PP_RECALL_RUNNING: the task; of PP_RECALL_TASK: as in pp_contexts_read and in the scratch memory. */
    uintptr_t task_frame, task, awaiters[PP_MAX_AWAITERS];
    uint32_t awaiter_count;
    uintptr_t key[PP_RECALL_KEY_MAX];
    /* The contexts that are in the ring: their digests. */
    uint64_t digests[PP_RECALL_PUT_MAX];
    uint8_t kinds[PP_RECALL_PUT_MAX];
    struct pp_read_word *words;
};

/* What is being read for a part: by `reader`. */
struct pp_recording {
    struct pp_context_reader reader;
    struct pp_read_set set;
    struct pp_recall *recall; /* NULL: it is not recorded */
    uint16_t reasons_before;  /* of the sample's reading up to here */
};

/* Returns what was read for the part, if it was with this key and still holds; else NULL, and prepares the reading. The
 * key is all that the reading depends on beside words. async-signal-safe. */
const struct pp_recall *pp_recall(const struct pp_context_reader *reader, enum pp_recall_part part,
                                  const uintptr_t *key, unsigned count, struct pp_recording *recording);
/* Ends the reading; read: it was done to its end; known: the bits that it has set. async-signal-safe. */
void pp_recall_end(struct pp_recording *recording, bool read, uint32_t known);

/* Adds a context that is in the ring now. async-signal-safe. */
void pp_recall_put(const struct pp_context_reader *reader, enum pp_context_kind kind, uint64_t digest);
/* Something was read that is in no word. async-signal-safe. */
static inline void pp_recall_refuse(const struct pp_context_reader *reader)
{
    if (reader->objects.set)
        reader->objects.set->incomplete = true;
}

#endif
