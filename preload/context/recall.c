/* SPDX-License-Identifier: Apache-2.0 */
#include "recall.h"
#include "../capture/slot_memory.h"

#define WAITS_MAX 15 /* samples: then what does not change any more is recorded */

/* Words of the parts: of whole groups, and UINT8_MAX at most. A task has some 30, each that awaits it
 * 25, and each frame in which that waits 7. */
#define GROUP 4
static const uint8_t words_max[PP_RECALL_PARTS] = {[PP_RECALL_RUNNING] = 56,
                                                   [PP_RECALL_TASK] = 252,
                                                   [PP_RECALL_VARIABLES] = 128,
                                                   [PP_RECALL_TRACE] = 64,
                                                   [PP_RECALL_FRAMES] = 148};
#define WORDS (56 + 252 + 128 + 64 + 148)

struct pp_recalls {
    struct pp_recall parts[PP_RECALL_PARTS];
    struct pp_read_word words[WORDS];
};

/* Forgets what the slot's former thread belonged to. async-signal-safe. */
PP_RARE static void clear(struct pp_slot *slot)
{
    struct pp_recalls *recalls = slot->recalls;
    struct pp_read_word *words = recalls->words;
    for (unsigned i = 0; i < PP_RECALL_PARTS; i++) {
        recalls->parts[i].state = PP_RECALL_NOTHING;
        recalls->parts[i].word_max = words_max[i];
        recalls->parts[i].words = words;
        words += words_max[i];
    }
    slot->thread.recalls = true;
}

/* Returns NULL if there is no memory. async-signal-safe. */
static struct pp_recall *find(struct pp_slot *slot, enum pp_recall_part part)
{
    if (!slot->thread.recalls) {
        if (!slot->recalls)
            slot->recalls = pp_slot_memory_more(sizeof(struct pp_recalls));
        if (!slot->recalls)
            return NULL;
        clear(slot);
    }
    return &slot->recalls->parts[part];
}

/* async-signal-safe. */
static bool has_key(const struct pp_recall *recall, const uintptr_t *key, unsigned count)
{
    if (recall->state == PP_RECALL_NOTHING || recall->key_count != count)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (recall->key[i] != key[i])
            return false;
    return true;
}

/* async-signal-safe. */
static inline bool is_unchanged(const struct pp_read_word *word)
{
    return pp_word((const void *)word->address, 0) == word->word;
}

/* async-signal-safe. */
static bool holds(const struct pp_recall *recall, const struct pp_slot *slot)
{
    for (unsigned i = 0; i < recall->put_count; i++)
        if (slot->thread.contexts[recall->kinds[i]] != recall->digests[i])
            return false;
    for (const struct pp_read_word *word = recall->words, *end = word + recall->word_count; word < end; word += GROUP)
        if (!is_unchanged(word) || !is_unchanged(word + 1) || !is_unchanged(word + 2) || !is_unchanged(word + 3))
            return false;
    return true;
}

const struct pp_recall *pp_recall(const struct pp_context_reader *reader, enum pp_recall_part part,
                                  const uintptr_t *key, unsigned count, struct pp_recording *recording)
{
    struct pp_recall *recall = reader->objects.direct && count <= PP_RECALL_KEY_MAX ? find(reader->slot, part) : NULL;
    bool known = recall && has_key(recall, key, count);
    if (known && recall->state == PP_RECALL_WHOLE) {
        if (holds(recall, reader->slot)) {
            recall->waits_next = 0;
            reader->slot->scratch->context_reasons |= recall->reasons;
            return recall;
        }
        /* what changes often is recorded ever less often: it takes as long as reading */
        recall->state = PP_RECALL_KEY;
        recall->waits = recall->waits_next + 1;
        recall->waits_next = recall->waits_next < WAITS_MAX ? (uint8_t)(2 * recall->waits_next + 1) : WAITS_MAX;
    }
    recording->reader = *reader;
    recording->recall = known && recall->state == PP_RECALL_KEY && recall->waits == 0 ? recall : NULL;
    if (known && recall->waits)
        recall->waits--;
    if (recording->recall) {
        recording->set.words = recall->words;
        recording->set.max = recall->word_max;
        recording->set.count = 0;
        recording->set.incomplete = false;
        memset(recording->set.recent, 0, sizeof recording->set.recent);
        recording->reader.objects.set = &recording->set;
        recording->reader.recall = recall;
        recording->reasons_before = reader->slot->scratch->context_reasons;
        reader->slot->scratch->context_reasons = 0;
        recall->put_count = 0;
        recall->task_begins = 0;
    } else if (recall && !known) {
        memcpy(recall->key, key, count * sizeof *key);
        recall->key_count = (uint8_t)count;
        recall->state = PP_RECALL_KEY;
        recall->waits = recall->waits_next = 0;
    }
    return NULL;
}

void pp_recall_end(struct pp_recording *recording, bool read, uint32_t known)
{
    struct pp_recall *recall = recording->recall;
    if (!recall)
        return;
    while (recording->set.count % GROUP) /* the last group is filled up */
        recall->words[recording->set.count++] = recall->words[0];
    recall->word_count = recording->set.count;
    recall->known = known;
    recall->reasons = recording->reader.slot->scratch->context_reasons;
    recording->reader.slot->scratch->context_reasons |= recording->reasons_before;
    recall->state = !read ? PP_RECALL_NOTHING : recording->set.incomplete ? PP_RECALL_REFUSED : PP_RECALL_WHOLE;
}

void pp_recall_put(const struct pp_context_reader *reader, enum pp_context_kind kind, uint64_t digest)
{
    struct pp_recall *recall = reader->recall;
    unsigned i = 0;
    if (!recall)
        return;
    while (i < recall->put_count && recall->kinds[i] != kind)
        i++;
    if (i == PP_RECALL_PUT_MAX) {
        pp_recall_refuse(reader);
        return;
    }
    recall->kinds[i] = (uint8_t)kind;
    recall->digests[i] = digest;
    if (i == recall->put_count)
        recall->put_count++;
}
