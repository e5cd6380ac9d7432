#include "json.h"

#include <inttypes.h>

#include "memory.h"

void pt_json_text(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < ' ' || *at == 0x7f)
            fprintf(out, "\\u%04x", *at);
        else
            putc(*at, out);
    }
    putc('"', out);
}

void pt_json_numbers(FILE *out, const uint32_t *numbers, uint32_t count)
{
    putc('[', out);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            putc(',', out);
        if (numbers[i] == PT_NONE)
            fputs("null", out);
        else
            fprintf(out, "%" PRIu32, numbers[i]);
    }
    putc(']', out);
}
