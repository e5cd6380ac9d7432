/* Makes .eh_frame_hdr and .eh_frame of hand-written functions. */
#ifndef PP_TEST_MADE_EH_FRAME_H
#define PP_TEST_MADE_EH_FRAME_H

#include "../../preload/unwind/find_rule.h"
#include <stdio.h>
#include <string.h>

#define MADE_FUNCTION 0x100u /* bytes of each; the first starts at text + 0x100 */
#define MADE_MAX      8

struct made_eh_frame {
    uint8_t bytes[4096]; /* the header, its table, the entries */
    uint8_t text[(MADE_MAX + 2) * MADE_FUNCTION];
    size_t used;
    uint32_t count, cie;
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

/* A CIE as gcc makes it; "zR" or "zRS". */
static inline void made_start(struct made_eh_frame *made, const char *augmentation)
{
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t rest[] = {1,    0x78, 16,           /* code and data alignment -8, return address column */
                                   1,    0x1b,               /* augmentation data: pcrel sdata4 */
                                   0x0c, 7,    8,  0x90, 1}; /* CFA = rsp + 8, return address at CFA - 8 */
    memset(made, 0, sizeof *made);
    made_put(made, header, sizeof header);
    made->used += MADE_MAX * sizeof(struct pp_table_entry);
    made->cie = (uint32_t)made->used;
    made->used += 8; /* length and id */
    made_put(made, "\1", 1);
    made_put(made, augmentation, strlen(augmentation) + 1);
    made_put(made, rest, sizeof rest);
    made_word(made, made->cie, (uint32_t)made->used - made->cie - 4);
}

/* Adds the next function. Returns the offset of its FDE. */
static inline uint32_t made_function(struct made_eh_frame *made, const void *code, size_t size)
{
    uint32_t fde = (uint32_t)made->used, start = (made->count + 1) * MADE_FUNCTION;
    uint32_t text = (uint32_t)(made->text - made->bytes) + start;
    uint32_t words[] = {(uint32_t)(4 + 8 + 1 + size), fde + 4 - made->cie, text - (fde + 8), MADE_FUNCTION};
    made_put(made, words, sizeof words);
    made_put(made, "", 1); /* no augmentation data */
    made_put(made, code, size);
    struct pp_table_entry entry = {(int32_t)text, (int32_t)fde};
    memcpy(made->bytes + 12 + made->count * sizeof entry, &entry, sizeof entry);
    made_word(made, 8, ++made->count);
    return fde;
}

static inline struct pp_module_range made_range(const struct made_eh_frame *made, bool stays)
{
    uintptr_t start = (uintptr_t)made->text;
    return (struct pp_module_range){start, start + sizeof made->text, (uintptr_t)made->bytes, stays};
}

#endif
