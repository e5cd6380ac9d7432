/* Makes .eh_frame_hdr and .eh_frame of hand-written functions, in memory that the compiler of rows can copy. */
#ifndef PP_TEST_MADE_EH_FRAME_H
#define PP_TEST_MADE_EH_FRAME_H

#include "../../preload/unwind/unwind_rows.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MADE_MAX       64u        /* functions, unless made_start_for says otherwise */
#define MADE_TEXT      0x1000000u /* from the header to the text, which need not be there */
#define MADE_TEXT_SIZE 0x10000u

struct made_eh_frame {
    uint8_t *bytes; /* the header, room for its table, the entries */
    size_t used;
    uint32_t count, max, cie;
    struct pp_fde_index index; /* of the module that it is */
};

static inline void made_put(struct made_eh_frame *made, const void *bytes, size_t size)
{
    memcpy(made->bytes + made->used, bytes, size);
    made->used += size;
}

static inline void made_word(struct made_eh_frame *made, size_t at, uint32_t value)
{
    memcpy(made->bytes + at, &value, sizeof value);
}

/* Adds a CIE as gcc makes it; "zR" or "zRS". Functions that follow use it. */
static inline void made_cie(struct made_eh_frame *made, const char *augmentation)
{
    static const uint8_t rest[] = {1,    0x78,      PP_REG_RA, /* code and data alignment -8, return address column */
                                   1,    0x1b,                 /* augmentation data: pcrel sdata4 */
                                   0x0c, PP_REG_SP, 8,         0x80 | PP_REG_RA,
                                   1}; /* CFA = sp + 8, return address at CFA - 8 */
    made->cie = (uint32_t)made->used;
    made_put(made, (const uint8_t[8]){0}, 8); /* length and id */
    made_put(made, "\1", 1);
    made_put(made, augmentation, strlen(augmentation) + 1);
    made_put(made, rest, sizeof rest);
    made_word(made, made->cie, (uint32_t)made->used - made->cie - 4);
}

/* Starts in memory of the caller's that is all zero. max: functions. */
static inline void made_start_for(struct made_eh_frame *made, void *memory, const char *augmentation, uint32_t max)
{
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b}; /* pcrel sdata4, udata4, datarel sdata4 */
    *made = (struct made_eh_frame){.bytes = memory, .max = max};
    made_put(made, header, sizeof header);
    made->used += 8; /* where .eh_frame is, how many entries the table has */
    made->used += max * 8;
    made_word(made, 4, (uint32_t)made->used - 4);
    made_cie(made, augmentation);
}

static inline void made_start(struct made_eh_frame *made, void *memory, const char *augmentation)
{
    made_start_for(made, memory, augmentation, MADE_MAX);
}

/* Adds an entry to the search table. */
static inline void made_entry(struct made_eh_frame *made, uint32_t start, uint32_t fde)
{
    uint32_t at = 12 + made->count * 8;
    made_word(made, at, MADE_TEXT + start);
    made_word(made, at + 4, fde);
    made_word(made, 8, ++made->count);
}

/* Adds an FDE. Returns its offset. */
static inline uint32_t made_fde(struct made_eh_frame *made, uint32_t start, uint32_t size, const void *code,
                                size_t code_size)
{
    uint32_t fde = (uint32_t)made->used;
    uint32_t words[] = {(uint32_t)(4 + 8 + 1 + code_size), fde + 4 - made->cie, MADE_TEXT + start - (fde + 8), size};
    made_put(made, words, sizeof words);
    made_put(made, "", 1); /* no augmentation data */
    made_put(made, code, code_size);
    return fde;
}

/* Adds a function to the entries and to the table, which the caller keeps ascending. Returns its FDE's offset. */
static inline uint32_t made_function(struct made_eh_frame *made, uint32_t start, uint32_t size, const void *code,
                                     size_t code_size)
{
    uint32_t fde = made_fde(made, start, size, code, code_size);
    made_entry(made, start, fde);
    return fde;
}

/* Adds a function whose CFA is rsp + the offset (at most 127) throughout. */
static inline uint32_t made_simple(struct made_eh_frame *made, uint32_t start, uint32_t size, uint8_t cfa_offset)
{
    return made_function(made, start, size, (const uint8_t[]){0x0e, cfa_offset}, 2);
}

static inline uintptr_t made_text(const struct made_eh_frame *made)
{
    return (uintptr_t)made->bytes + MADE_TEXT;
}

/* The bytes after `used` are zero, so that the section has its end. */
static inline struct pp_unwind_source made_source(struct made_eh_frame *made)
{
    uintptr_t start = (uintptr_t)made->bytes, text = made_text(made);
    return (struct pp_unwind_source){
        .text_start = text,
        .text_end = text + MADE_TEXT_SIZE,
        .hdr_start = start,
        .hdr_end = start + 12 + made->max * 8,
        .segment_end = start + made->used + 4,
        .index = &made->index,
    };
}

static inline struct pp_module_range made_range(const struct made_eh_frame *made)
{
    return (struct pp_module_range){.start = made_text(made), .end = made_text(made) + MADE_TEXT_SIZE};
}

#endif
