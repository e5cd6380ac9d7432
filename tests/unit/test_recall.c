/* What a sample belonged to is recalled only while all that it was read from is unchanged, and no word is loaded after
 * one that has changed: it may lead elsewhere, or nowhere, by then. */
#include "preload/base/process.h"
#include "preload/context/recall.h"
#include "unit.h"
#include <sys/mman.h>

#define PAGE       4096u
#define WORDS      9 /* on a page each */
#define TEXT       (WORDS * PAGE)
#define TEXT_BYTES 11

static struct pp_scratch scratch;
static struct pp_slot slot = {.scratch = &scratch};
static struct pp_python python;
static uint8_t *memory;
static unsigned recorded; /* samples */

static struct pp_context_reader reader(void)
{
    return (struct pp_context_reader){
        .objects = {.python = &python, .pid = atomic_load(&pp_process.pid), .direct = true}, .slot = &slot};
}

/* Reads each word by the word before it, and a text; puts one context. */
static bool read_all(const struct pp_context_reader *from)
{
    uintptr_t address = (uintptr_t)memory;
    char text[TEXT_BYTES];
    for (unsigned i = 0; i < WORDS; i++)
        if (!pp_object_word(&from->objects, address, &address))
            return false;
    if (!pp_object_copy(&from->objects, text, address, sizeof text))
        return false;
    slot.thread.contexts[PP_CONTEXT_SPAN] = 77;
    pp_recall_put(from, PP_CONTEXT_SPAN, 77);
    pp_context_lacks(from, PP_REASON_CONTEXT_NAME);
    return true;
}

/* A sample: returns whether it was recalled, else it is read. */
static bool sample_with(const struct pp_context_reader *from, uintptr_t key)
{
    struct pp_recording recording;
    const uintptr_t keys[] = {key, 5};
    const unsigned lacks_name = 1u << (PP_REASON_CONTEXT_NAME - PP_REASON_FIRST_CONTEXT);
    scratch.context_reasons = 0;
    const struct pp_recall *recall = pp_recall(from, PP_RECALL_VARIABLES, keys, 2, &recording);
    if (recall) {
        assert_int_equal(scratch.context_reasons, lacks_name);
        assert_int_equal(recall->known, 1u << PP_CONTEXT_SPAN);
        return true;
    }
    recorded += recording.recall != NULL;
    bool done = read_all(&recording.reader);
    pp_recall_end(&recording, done, 1u << PP_CONTEXT_SPAN);
    return false;
}

static bool sample(uintptr_t key)
{
    const struct pp_context_reader from = reader();
    return sample_with(&from, key);
}

static uintptr_t *word(unsigned i)
{
    return (uintptr_t *)(memory + i * PAGE);
}

void before_each(void)
{
    atomic_store(&pp_process.pid, getpid());
    memory = mmap(NULL, TEXT + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    for (unsigned i = 0; i < WORDS; i++)
        *word(i) = (uintptr_t)word(i + 1);
    *word(WORDS - 1) += 3; /* the text begins within a word */
    memcpy(memory + TEXT + 3, "hello world", TEXT_BYTES);
    slot.thread.recalls = false;
    slot.thread.contexts[PP_CONTEXT_SPAN] = 0;
}

void after_each(void)
{
    assert_int_equal(munmap(memory, TEXT + PAGE), 0);
}

TEST(read_twice_then_recalled)
{
    assert_false(sample(1));
    assert_false(sample(1)); /* recorded: what is met once is not */
    for (unsigned i = 0; i < 5; i++)
        assert_true(sample(1));
}

TEST(each_word_counts_and_none_is_loaded_after_it)
{
    for (unsigned i = 0; i < WORDS; i++) {
        sample(1);
        sample(1);
        assert_true(sample(1));
        uintptr_t before = *word(i);
        *word(i) = 0; /* leads nowhere: */
        if (i + 1 < WORDS)
            mprotect(word(i + 1), (WORDS - i) * PAGE, PROT_NONE);
        assert_false(sample(1));
        mprotect(memory, TEXT + PAGE, PROT_READ | PROT_WRITE);
        *word(i) = before;
    }
}

TEST(each_character_counts)
{
    for (unsigned i = 0; i < TEXT_BYTES; i++) {
        sample(1);
        sample(1);
        assert_true(sample(1));
        memory[TEXT + 3 + i] ^= 1;
        assert_false(sample(1));
    }
}

TEST(what_changes_each_time_is_recorded_ever_less_often)
{
    recorded = 0;
    for (unsigned i = 0; i < 1000; i++) {
        memory[TEXT + 3] ^= 1;
        assert_false(sample(1));
    }
    assert_in_range(recorded, 10, 70);
    unsigned samples = 0; /* which it takes once nothing changes any more */
    while (!sample(1))
        samples++;
    assert_in_range(samples, 1, 17);
    memory[TEXT + 3] ^= 1;
    assert_false(sample(1)); /* recorded again at once */
    assert_false(sample(1));
    assert_true(sample(1));
}

TEST(the_key_counts)
{
    sample(1);
    sample(1);
    assert_true(sample(1));
    assert_false(sample(2));
    assert_false(sample(1));
    assert_false(sample(1));
    assert_true(sample(1));
}

TEST(what_was_put_since_counts)
{
    sample(1);
    sample(1);
    slot.thread.contexts[PP_CONTEXT_SPAN] = 78; /* by a sample that was read otherwise */
    assert_false(sample(1));
    assert_int_equal(slot.thread.contexts[PP_CONTEXT_SPAN], 77);
}

TEST(the_next_thread_of_the_slot_reads)
{
    sample(1);
    sample(1);
    slot.thread = (struct pp_slot_thread){.start_unix_ns = 0};
    assert_false(sample(1));
    assert_false(sample(1));
    assert_true(sample(1));
}

TEST(what_may_be_freed_is_read_each_time)
{
    struct pp_context_reader careful = reader();
    sample(1);
    sample(1);
    careful.objects.direct = false; /* the thread has released the GIL */
    munmap(word(1), PAGE);
    for (unsigned i = 0; i < 4; i++)
        assert_false(sample_with(&careful, 1));
    mmap(word(1), PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

TEST(what_was_copied_is_not_recalled)
{
    for (unsigned i = 0; i < 5; i++) {
        struct pp_recording recording;
        const struct pp_context_reader from = reader();
        const uintptr_t key = 1;
        uintptr_t value;
        assert_null(pp_recall(&from, PP_RECALL_VARIABLES, &key, 1, &recording));
        struct pp_object_reader careful = recording.reader.objects;
        careful.direct = false;
        assert_true(pp_object_word(&careful, (uintptr_t)memory, &value));
        pp_recall_end(&recording, true, 0);
    }
}

TEST(too_much_is_not_recalled)
{
    for (unsigned i = 0; i < 5; i++) {
        struct pp_recording recording;
        const struct pp_context_reader from = reader();
        const uintptr_t key = 1;
        char bytes[PAGE];
        assert_null(pp_recall(&from, PP_RECALL_VARIABLES, &key, 1, &recording));
        assert_true(pp_object_copy(&recording.reader.objects, bytes, (uintptr_t)memory, sizeof bytes));
        pp_recall_end(&recording, true, 0);
    }
}
