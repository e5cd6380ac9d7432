/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include "fd_table.h"
#include "syscalls.h"
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 4096
#define PREFIX         "pyprof: "
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

static void add_number(struct pp_text *text, unsigned long number, unsigned base, unsigned width)
{
    char digits[24], *end = digits + sizeof digits - 1, *p = end;
    *p = 0;
    do
        *--p = "0123456789abcdef"[number % base];
    while ((number /= base) || end - p < width);
    pp_text_add(text, p);
}

static void add_formatted(struct pp_text *text, const char *format, va_list list)
{
    for (; *format; format++) {
        if (*format != '%') {
            pp_text_add(text, (char[]){*format, 0});
            continue;
        }
        unsigned width = 0;
        while (*++format >= '0' && *format <= '9')
            width = 10 * width + (unsigned)(*format - '0');
        if (*format == 's')
            pp_text_add(text, va_arg(list, const char *));
        else if (*format == 'l')
            add_number(text, va_arg(list, unsigned long), *++format == 'x' ? 16 : 10, width);
        else
            add_number(text, va_arg(list, unsigned), *format == 'x' ? 16 : 10, width);
    }
}

const char *pp_format(char *buffer, size_t size, const char *format, ...)
{
    struct pp_text text;
    va_list list;
    pp_text_init(&text, buffer, size);
    va_start(list, format);
    add_formatted(&text, format, list);
    va_end(list);
    return buffer;
}

/* A daemon may have closed descriptor 2 and opened a file of its own in its place. */
static struct stat remembered;
static bool is_remembered;

static bool stat_descriptor(int descriptor, struct stat *status)
{
    return pp_syscall4(SYS_fstat, descriptor, (long)status, 0, 0) == 0;
}

void pp_warn_remember_stderr(void)
{
    is_remembered = stat_descriptor(2, &remembered);
}

static bool is_the_same(int descriptor)
{
    struct stat now;
    return is_remembered && stat_descriptor(descriptor, &now) && now.st_dev == remembered.st_dev &&
           now.st_ino == remembered.st_ino;
}

/* Returns false if the calling thread does not reach stderr. */
static bool write_line(const char *line)
{
    int descriptor = pp_fd_table_stderr();
    if (descriptor < 0)
        return descriptor == -EBADF;
    if (is_the_same(descriptor))
        pp_sys_write(descriptor, line, strlen(line));
    pp_fd_table_stderr_end(descriptor);
    return true;
}

static char notices[PP_CAUSE_COUNT][NOTICE_MAX];
static _Atomic bool noticed[PP_CAUSE_COUNT];
static _Atomic unsigned unsaid; /* causes */
static _Atomic int unsaid_by;   /* the process whose they are: its children inherit these lines */

const char *pp_warned(enum pp_cause cause)
{
    return atomic_load_explicit(&noticed[cause], memory_order_acquire) ? notices[cause] : NULL;
}

void pp_warn_once(enum pp_cause cause, const char *format, ...)
{
    static _Atomic unsigned said;
    if (atomic_fetch_or(&said, 1u << cause) >> cause & 1)
        return;
    char line[LINE_MAX_BYTES]; /* the only buffer: threads with small stacks come here */
    struct pp_text text;
    va_list list;
    pp_text_init(&text, line, sizeof line - 1);
    pp_text_add(&text, PREFIX);
    va_start(list, format);
    add_formatted(&text, format, list);
    va_end(list);
    pp_format(notices[cause], NOTICE_MAX, "%s", line + strlen(PREFIX));
    text.size = sizeof line;
    pp_text_add(&text, "\n");
    atomic_store_explicit(&noticed[cause], true, memory_order_release);
    if (write_line(line))
        return;
    atomic_store(&unsaid_by, pp_sys_getpid());
    atomic_fetch_or(&unsaid, 1u << cause);
}

/* A process that ends must not wait for the reader of a full pipe. */
static bool accepts_lines(int descriptor)
{
    struct pollfd poll = {descriptor, POLLOUT, 0};
    struct timespec at_once = {0, 0};
    return pp_syscall6(SYS_ppoll, (long)&poll, 1, (long)&at_once, 0, 0, 0) == 1 && poll.revents & POLLOUT;
}

void pp_warn_rest(void)
{
    unsigned rest = atomic_load(&unsaid_by) == pp_sys_getpid() ? atomic_exchange(&unsaid, 0) : 0;
    if (!rest || !accepts_lines(2))
        return;
    char line[NOTICE_MAX + 16];
    for (unsigned cause = 0; cause < PP_CAUSE_COUNT; cause++)
        if (rest >> cause & 1)
            write_line(pp_format(line, sizeof line, PREFIX "%s\n", notices[cause]));
}
