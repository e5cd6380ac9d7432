#include "say.h"
#include "syscalls.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 4096
#define NOTICE_MAX     512 /* of a text in the log */

void pp_text_init(struct pp_text *text, char *buffer, size_t size)
{
    *text = (struct pp_text){buffer, size, 0};
    buffer[0] = 0;
}

void pp_text_add(struct pp_text *text, const char *string)
{
    size_t n = strlen(string);
    if (n > text->size - 1 - text->length)
        n = text->size - 1 - text->length;
    memcpy(text->buffer + text->length, string, n);
    text->length += n;
    text->buffer[text->length] = 0;
}

void pp_text_add_number(struct pp_text *text, unsigned long long number)
{
    char digits[24], *p = digits + sizeof digits - 1;
    *p = 0;
    do
        *--p = (char)('0' + number % 10);
    while (number /= 10);
    pp_text_add(text, p);
}

void pp_text_add_hex(struct pp_text *text, unsigned long long number, unsigned digits)
{
    char out[17];
    if (digits > 16)
        digits = 16;
    for (unsigned i = 0; i < digits; i++)
        out[i] = "0123456789abcdef"[number >> 4 * (digits - 1 - i) & 15];
    out[digits] = 0;
    pp_text_add(text, out);
}

/* A daemon may have closed descriptor 2 and opened a file of its own in its place. */
static struct stat remembered;
static bool is_remembered;

static bool stat_stderr(struct stat *status)
{
    return pp_syscall4(SYS_fstat, 2, (long)status, 0, 0) == 0;
}

void pp_say_remember_stderr(void)
{
    is_remembered = stat_stderr(&remembered);
}

static bool stderr_is_the_same(void)
{
    struct stat now;
    return is_remembered && stat_stderr(&now) && now.st_dev == remembered.st_dev && now.st_ino == remembered.st_ino;
}

static char notices[PP_CAUSE_COUNT][NOTICE_MAX];
static _Atomic bool noticed[PP_CAUSE_COUNT];

const char *pp_said(enum pp_cause cause)
{
    return atomic_load_explicit(&noticed[cause], memory_order_acquire) ? notices[cause] : NULL;
}

void pp_say_once(enum pp_cause cause, const char *text)
{
    static _Atomic unsigned said;
    if (atomic_fetch_or(&said, 1u << cause) >> cause & 1)
        return;
    struct pp_text notice;
    pp_text_init(&notice, notices[cause], NOTICE_MAX);
    pp_text_add(&notice, text);
    atomic_store_explicit(&noticed[cause], true, memory_order_release);
    char line[LINE_MAX_BYTES];
    struct pp_text out;
    pp_text_init(&out, line, sizeof line - 1);
    pp_text_add(&out, "pyprof: ");
    pp_text_add(&out, text);
    line[out.length++] = '\n';
    if (stderr_is_the_same())
        pp_sys_write(2, line, out.length);
}
