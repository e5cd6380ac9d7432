/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/print.h"
#include "../cli/options.h"
#include "../query/group.h"
#include "screen.h"
#include "terminal.h"

#define DELAY_NS UINT64_C(1000000000)
/* A long first reading is interrupted this often to take keys and draw the screen. */
#define READ_NS UINT64_C(200000000)
/* Without keys and a screen less often: each time costs. */
#define READ_TEXT_NS UINT64_C(1000000000)
#define TEXT_ROWS    20

static bool is_regex(const char *text)
{
    regex_t regex;
    if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    regfree(&regex);
    return true;
}

static void edit_filter(struct pt_screen *screen, int key)
{
    size_t length = strlen(screen->filter);
    if (key == '\r' || key == '\n') {
        screen->editing = screen->filter_is_bad;
    } else if (key == PT_KEY_ESCAPE) {
        screen->editing = false;
        *screen->filter = '\0';
    } else if ((key == 0x7f || key == '\b') && length) {
        while (length > 1 && ((unsigned char)screen->filter[length - 1] & 0xc0) == 0x80)
            length--;
        screen->filter[length - 1] = '\0';
    } else if (key < 256 && !iscntrl(key) && length + 1 < sizeof screen->filter) {
        screen->filter[length] = (char)key;
        screen->filter[length + 1] = '\0';
    }
    screen->filter_is_bad = *screen->filter && !is_regex(screen->filter);
    screen->first = 0;
}

static void scroll(struct pt_screen *screen, int64_t by)
{
    int64_t first = (int64_t)screen->first + by;
    screen->first = first < 0 ? 0 : first > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)first;
}

static void show(struct pt_screen *screen, enum pt_rows_of of)
{
    screen->of = screen->of == of ? PT_ROWS_FUNCTIONS : of;
    screen->first = 0;
}

struct next_group {
    const char *after;
    bool found;
    char word[sizeof((struct pt_screen *)NULL)->by];
};

static void find_next(void *data, const char *word)
{
    struct next_group *next = data;
    if ((!*next->after || next->found) && !*next->word && strlen(word) < sizeof next->word)
        strcpy(next->word, word);
    next->found |= strcmp(word, next->after) == 0;
}

/* Shows the next group that the profile has; after the last one functions. */
static void show_next_group(struct pt_screen *screen, const struct pt_live *live)
{
    struct next_group next = {.after = screen->of == PT_ROWS_GROUPS ? screen->by : ""};
    pt_groups_each(live->follow->profile, find_next, &next);
    screen->of = *next.word ? PT_ROWS_GROUPS : PT_ROWS_FUNCTIONS;
    memcpy(screen->by, next.word, sizeof screen->by);
    screen->first = 0;
}

static enum pt_native next_native(enum pt_native native)
{
    return native == PT_NATIVE_LIBRARIES ? PT_NATIVE_ALL
           : native == PT_NATIVE_ALL     ? PT_NATIVE_NONE
                                         : PT_NATIVE_LIBRARIES;
}

/* Returns false when the key ends the program. */
static bool obey_key(struct pt_screen *screen, struct pt_live *live, int key)
{
    if (key == PT_KEY_QUIT)
        return false;
    if (key == PT_KEY_REDRAW || key == PT_KEY_NONE)
        return true;
    if (screen->editing) {
        edit_filter(screen, key);
        return true;
    }
    if (key == 'q')
        return false;
    if (screen->help) {
        screen->help = false;
        return true;
    }
    switch (key) {
    case 's':
    case 't':
        screen->by_total = key == 't';
        break;
    case 'w':
        screen->since_start = !screen->since_start;
        break;
    case 'f':
        show(screen, PT_ROWS_FUNCTIONS);
        break;
    case 'p':
        show(screen, PT_ROWS_PROCESSES);
        break;
    case 'r':
        show(screen, PT_ROWS_THREADS);
        break;
    case 'b':
        show_next_group(screen, live);
        break;
    case 'n':
        pt_live_set_native(live, next_native(live->fold.native));
        break;
    case '/':
        screen->editing = true;
        break;
    case ' ':
        screen->paused = !screen->paused;
        break;
    case 'h':
    case '?':
        screen->help = true;
        break;
    case PT_KEY_ESCAPE:
        *screen->filter = '\0';
        break;
    case PT_KEY_UP:
    case PT_KEY_DOWN:
        scroll(screen, key == PT_KEY_UP ? -1 : 1);
        break;
    case PT_KEY_PAGE_UP:
    case PT_KEY_PAGE_DOWN:
        scroll(screen, key == PT_KEY_PAGE_UP ? -(int64_t)screen->lines / 2 : (int64_t)screen->lines / 2);
        break;
    case PT_KEY_HOME:
    case PT_KEY_END:
        screen->first = key == PT_KEY_HOME ? 0 : UINT32_MAX / 2;
        break;
    }
    return true;
}

static void draw(struct pt_screen *screen, struct pt_live *live)
{
    PT_AUTO_BUFFER page = {0};
    pt_terminal_size(&screen->columns, &screen->lines);
    pt_screen_draw(&page, screen, live);
    pt_terminal_write(&page);
}

/* A run that is over when it is first read is shown as a whole, and one that runs in its last seconds. *seen counts up
 * to the last run that was read. */
static void read_first(struct pt_screen *screen, const struct pt_live *live, uint32_t *seen)
{
    if (*seen != live->generation && live->complete && live->follow->profile->processes.count) {
        *seen = live->generation;
        screen->since_start = !live->alive;
    }
}

static void interact(struct pt_screen *screen, struct pt_live *live, uint64_t delay_ns)
{
    uint64_t next = 0;
    uint32_t seen = 0;
    for (int key = PT_KEY_NONE; obey_key(screen, live, key);) {
        uint64_t now = pt_clock_ns(CLOCK_MONOTONIC);
        if (now >= next && !screen->paused) {
            pt_live_read(live, READ_NS);
            read_first(screen, live, &seen);
            next = live->complete ? now + delay_ns : now;
        }
        draw(screen, live);
        now = pt_clock_ns(CLOCK_MONOTONIC);
        key = pt_terminal_wait(screen->paused ? delay_ns : next > now ? next - now : 0);
    }
}

static int print_screens(struct pt_screen *screen, struct pt_live *live, uint32_t count, uint64_t delay_ns)
{
    PT_AUTO_BUFFER page = {0};
    uint32_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct timespec delay = {(time_t)(delay_ns / 1000000000u), (long)(delay_ns % 1000000000u)};
        if (i)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
        do /* in portions: their samples are added up in between */
            pt_live_read(live, READ_TEXT_NS);
        while (!live->complete);
        read_first(screen, live, &seen);
        pt_buffer_clear(&page);
        pt_screen_draw(&page, screen, live);
        if (printf("%s%s", i ? "\n" : "", page.data) < 0 || fflush(stdout) != 0)
            break;
    }
    return live->follow->profile->processes.count ? PT_EXIT_OK : PT_EXIT_DATA;
}

int pt_cmd_top(const struct pt_cli *cli)
{
    PT_AUTO(pt_target_free) struct pt_target target = {0};
    PT_AUTO(pt_live_free) struct pt_live live = {0};
    struct pt_screen screen = {.rows = cli->top ? cli->top : TEXT_ROWS};
    const char *by = cli->request.by;
    if (by && strlen(by) < sizeof screen.by) {
        screen.of = PT_ROWS_GROUPS;
        strcpy(screen.by, by);
    }
    uint64_t delay_ns = cli->delay_ns ? cli->delay_ns : DELAY_NS;
    int status = PT_EXIT_OK;
    if (!pt_target_begin(&target, cli))
        return PT_EXIT_DATA;
    if (!cli->count && !pt_terminal_begin())
        return PT_EXIT_USAGE;
    pt_live_begin(&live, &target);
    if (cli->count) {
        status = print_screens(&screen, &live, cli->count, delay_ns);
    } else {
        screen.colour = pt_has_colour(stdout);
        interact(&screen, &live, delay_ns);
        pt_terminal_end();
    }
    if (!cli->count)
        pt_terminal_pass_signal_on();
    return status;
}
