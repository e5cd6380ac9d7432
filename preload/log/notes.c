/* SPDX-License-Identifier: Apache-2.0 */
#include "notes.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include <string.h>

#define NOTES_MAX 8

static struct note {
    uint64_t unix_ns;
    unsigned severity;
    char text[160];
} notes[NOTES_MAX]; /* not yet written */
static unsigned note_count;
static uint32_t said_causes; /* bits by enum pp_cause, of the current segment */

void pp_note(unsigned severity, const char *text)
{
    if (note_count == NOTES_MAX)
        return;
    struct note *note = &notes[note_count++];
    note->unix_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    note->severity = severity;
    pp_format(note->text, sizeof note->text, "%s", text);
}

static void write_notice(struct pp_buffer *out, uint64_t unix_ns, unsigned severity, const char *text,
                         uint32_t *sequence)
{
    static struct pp_buffer payload;
    pp_buffer_clear(&payload);
    pp_put_varint(&payload, unix_ns);
    pp_put_varint(&payload, severity);
    pp_put_bytes(&payload, text, strlen(text));
    pp_put_block(out, PP_BLOCK_NOTICE, &payload, sequence);
}

void pp_notes_write(struct pp_buffer *out, uint32_t *sequence)
{
    for (unsigned cause = 0; cause < PP_CAUSE_COUNT; cause++) {
        const char *text = pp_warned((enum pp_cause)cause);
        if (!text || cause == PP_CAUSE_START || said_causes >> cause & 1)
            continue;
        write_notice(out, pp_sys_clock_ns(CLOCK_REALTIME), 1, text, sequence);
        said_causes |= 1u << cause;
    }
    for (unsigned i = 0; i < note_count; i++)
        write_notice(out, notes[i].unix_ns, notes[i].severity, notes[i].text, sequence);
}

void pp_notes_begin_segment(void)
{
    said_causes = 0;
}

void pp_notes_written(void)
{
    note_count = 0;
}

void pp_notes_after_fork(void)
{
    note_count = 0;
    said_causes = 0;
}
