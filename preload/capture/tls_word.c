#include "tls_word.h"
#include "safe_read.h"

#define DTV_IN_TCB       8 /* tcbhead_t.dtv */
#define DTV_UNALLOCATED  UINTPTR_MAX
#define DTV_LENGTH_ENTRY (-1) /* dtv[-1].counter: how many entries follow entry 0 */

/* glibc's dtv_t; entry 0 holds the generation. */
struct dtv_entry {
    uintptr_t block, to_free;
};

/* async-signal-safe. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer)
{
    uintptr_t block = thread_pointer;
    if (word->kind == PP_TLS_NONE || !thread_pointer)
        return 0;
    if (word->kind == PP_TLS_DYNAMIC) {
        const struct dtv_entry *dtv = *(const struct dtv_entry *const *)(thread_pointer + DTV_IN_TCB);
        if (!dtv || word->module > dtv[DTV_LENGTH_ENTRY].block)
            return 0;
        block = dtv[word->module].block;
        /* also while this thread is replacing its DTV, when fs:8 may point to memory that malloc has again */
        if (block == DTV_UNALLOCATED || !pp_plausible(block))
            return 0;
    }
    return *(const uintptr_t *)(block + (uintptr_t)word->offset);
}
