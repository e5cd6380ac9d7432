/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"
#include "settings.h"
#include <string.h>

#define DIGITS_MAX 19

/* Steps over the word; false if another is there. */
static bool accept(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool accept_number(const char **at, uint64_t *number)
{
    size_t digits = strspn(*at, "0123456789");
    *number = 0;
    if (!digits || digits > DIGITS_MAX)
        return false;
    for (const char *end = *at + digits; *at < end; ++*at)
        *number = *number * 10 + (uint64_t)(**at - '0');
    return true;
}

static bool accept_scope(const char **at, struct pp_control_scope *scope)
{
    *scope = (struct pp_control_scope){0};
    if (accept(at, "all "))
        return true;
    return accept(at, "pid ") && accept_number(at, &scope->pid) && scope->pid && accept(at, " ") &&
           accept_number(at, &scope->start_ticks) && accept(at, " ");
}

static bool accept_line(const char **at, struct pp_control_line *line)
{
    *line = (struct pp_control_line){.until_unix_s = PP_CONTROL_NEVER};
    if (!accept_scope(at, &line->scope))
        return false;
    if (accept(at, "hz ")) {
        line->kind = PP_CONTROL_HZ;
        return accept_number(at, &line->number) && line->number <= PP_HIGHEST_HZ && accept(at, "\n");
    }
    if (accept(at, "paused"))
        line->kind = PP_CONTROL_PAUSED;
    else if (!accept(at, "running"))
        return false;
    return (!accept(at, " until ") || accept_number(at, &line->until_unix_s)) && accept(at, "\n");
}

bool pp_control_next(const char **at, uint64_t *written, struct pp_control_line *line)
{
    bool good = *written || (accept(at, PP_CONTROL_HEAD) && accept(at, "written ") && accept_number(at, written) &&
                             *written && accept(at, "\n"));
    if (good && strcmp(*at, PP_CONTROL_TAIL) == 0)
        return false;
    if (good && accept_line(at, line))
        return true;
    *at = NULL;
    return false;
}

struct pp_control_orders pp_control_default(bool starts_paused)
{
    return (struct pp_control_orders){.paused = starts_paused, .until_unix_s = PP_CONTROL_NEVER};
}

bool pp_control_read(const char *text, const struct pp_control_scope *process, bool starts_paused,
                     struct pp_control_orders *orders)
{
    struct pp_control_orders found = pp_control_default(starts_paused);
    bool own_state = false, own_hz = false; /* lines that name the process go before those for all */
    struct pp_control_line line;
    while (pp_control_next(&text, &found.written, &line)) {
        bool own = line.scope.pid == process->pid && line.scope.start_ticks == process->start_ticks;
        if (line.scope.pid && !own)
            continue;
        if (line.kind == PP_CONTROL_HZ && (own || !own_hz)) {
            found.hz = line.number;
            own_hz = own;
        } else if (line.kind != PP_CONTROL_HZ && (own || !own_state)) {
            found.paused = line.kind == PP_CONTROL_PAUSED;
            found.until_unix_s = line.until_unix_s;
            own_state = own;
        }
    }
    if (text)
        *orders = found;
    return text != NULL;
}

bool pp_control_is_paused(const struct pp_control_orders *orders, uint64_t now_unix_s)
{
    return orders->paused != (orders->until_unix_s <= now_unix_s);
}
