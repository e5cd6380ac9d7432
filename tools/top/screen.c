/* SPDX-License-Identifier: Apache-2.0 */
#include "screen.h"

#include <inttypes.h>

#include "../base/fit.h"
#include "../base/print.h"
#include "../base/terminal_text.h"
#include "../load/files.h"
#include "../model/http_requests.h"
#include "../query/group.h"
#include "../view/summary.h"

#define ALL_KEYS                                                                                                       \
    "s self  t total  w window  f functions  p processes  r threads  b by …  n native  / filter  h help  q quit"
#define SOME_KEYS    "s self  t total  f functions  p processes  b by …  / filter  h help  q quit"
#define KEYS_COLUMNS 106 /* of ALL_KEYS */

#define SMALL 10 /* lines, below which only the most important of the header is shown */

/* Lines go out one by one, so that a narrow or low terminal cuts each of them and the last ones. */
struct page {
    struct pt_buffer *out, line;
    const struct pt_screen *screen;
    uint32_t count;
};

static bool is_full(const struct page *page)
{
    return page->screen->lines && page->count >= page->screen->lines;
}

static void end_line(struct page *page, enum pt_style style)
{
    const struct pt_screen *screen = page->screen;
    const char *text = page->line.length ? page->line.data : "";
    if (!screen->lines) {
        pt_shown_text(page->out, text, 0);
        pt_buffer_text(page->out, "\n");
    } else if (!is_full(page)) {
        bool styled = style != PT_STYLE_PLAIN && screen->colour;
        pt_buffer_text(page->out, page->count ? "\r\n\033[K" : "\033[H\033[K");
        if (styled)
            pt_buffer_text(page->out, pt_style_sequences[style]);
        pt_shown_text(page->out, text, screen->columns);
        if (styled)
            pt_buffer_text(page->out, pt_style_sequences[PT_STYLE_PLAIN]);
    }
    page->count++;
    pt_buffer_clear(&page->line);
}

static void append_duration(struct pt_buffer *text, uint64_t ns)
{
    uint64_t s = ns / 1000000000u;
    if (s >= 86400)
        pt_buffer_format(text, "%" PRIu64 "d%" PRIu64 "h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        pt_buffer_format(text, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    else if (s >= 60)
        pt_buffer_format(text, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else
        pt_buffer_format(text, "%.0f s", pt_seconds(ns));
}

static void draw_header(struct page *page, const struct pt_live *live)
{
    const struct pt_profile *profile = live->follow->profile;
    struct pt_accounting sum = pt_summary_accounting(profile, PT_NONE);
    uint32_t ended = profile->processes.count - live->alive;
    const struct pt_process *first = pt_summary_first_process(profile);
    bool small = page->screen->lines && page->screen->lines < SMALL;
    if (!small) {
        pt_buffer_format(&page->line, "run %.8s: ", pt_string(profile, first->run));
        pt_typed_command(&page->line, pt_string(profile, first->command_line));
        end_line(page, PT_STYLE_HEADING);
    }
    pt_buffer_format(&page->line, "%u process%s running", live->alive, pt_plural(live->alive, "es"));
    if (ended)
        pt_buffer_format(&page->line, ", %u ended", ended);
    pt_buffer_format(&page->line, " | %.2f cores busy | %.2f s CPU in ",
                     live->wall_ns ? (double)live->window.whole_ns / (double)live->wall_ns : 0, pt_seconds(sum.cpu_ns));
    append_duration(&page->line, live->since_ns);
    end_line(page, PT_STYLE_PLAIN);
    if (small)
        return;
    double difference = sum.cpu_ns ? 100.0 * (double)sum.difference_ns / (double)sum.cpu_ns : 0;
    if (difference < 0.005 && difference > -0.005)
        difference = 0; /* never "-0.00" */
    pt_buffer_format(&page->line, "since start: unsampled %.2f %%, lost %.2f %%, profiler %.2f %%, difference %.2f %%",
                     pt_percent(sum.unsampled_ns, sum.cpu_ns), pt_percent(sum.lost_ns, sum.cpu_ns),
                     pt_percent(sum.own_ns, sum.cpu_ns), difference);
    const struct pt_read_losses *losses = &profile->losses;
    if (losses->damaged_blocks || losses->missing_blocks || losses->damaged_records || live->follow->unusable)
        pt_buffer_text(&page->line, "; parts of the logs cannot be read");
    end_line(page, PT_STYLE_PLAIN);
    if (live->follow->run)
        pt_files_append_others(&page->line, &live->follow->files, live->follow->run);
    if (page->line.length)
        end_line(page, PT_STYLE_PLAIN);
}

static void draw_status(struct page *page, const struct pt_live *live)
{
    static const char *const names[] = {"Functions", "Processes", "Threads"};
    static const char *const natives[] = {
        [PT_NATIVE_LIBRARIES] = "", [PT_NATIVE_NONE] = ", Python only", [PT_NATIVE_ALL] = ", all native code"};
    const struct pt_screen *screen = page->screen;
    if (screen->of == PT_ROWS_GROUPS)
        pt_buffer_format(&page->line, "By %s", screen->by);
    else
        pt_buffer_text(&page->line, names[screen->of]);
    if (screen->of == PT_ROWS_FUNCTIONS)
        pt_buffer_format(&page->line, " by %s time", screen->by_total ? "total" : "self");
    if (screen->since_start)
        pt_buffer_text(&page->line, " since the start");
    else
        pt_buffer_format(&page->line, ", %s %.0f s", live->alive ? "last" : "over; its last",
                         pt_seconds(live->wall_ns));
    if (screen->of == PT_ROWS_FUNCTIONS)
        pt_buffer_text(&page->line, natives[live->fold.native]);
    if (screen->paused)
        pt_buffer_text(&page->line, ", PAUSED");
    if (!live->complete)
        pt_buffer_format(&page->line, ", reading: %.0f %%", pt_percent(live->follow->read, live->follow->size));
    if (*screen->filter && !screen->editing)
        pt_buffer_format(&page->line, ", /%s", screen->filter);
    end_line(page, PT_STYLE_PLAIN);
}

/* Appends requests per second and CPU time per request. */
static void append_requests(struct pt_buffer *line, const struct pt_live *live, const struct pt_row *row,
                            bool since_start)
{
    uint64_t wall_ns = since_start ? live->since_ns : live->wall_ns;
    double each = pt_cpu_per_request(live->follow->profile, row->number, row->self_ns, row->requests);
    PT_AUTO_BUFFER text = {0};
    pt_buffer_text(&text, each > 0 ? "" : "-");
    if (each > 0)
        pt_append_duration(&text, each);
    pt_buffer_format(line, "%8.1f %*s%s  ", wall_ns ? (double)row->requests / pt_seconds(wall_ns) : 0,
                     9 - (int)pt_shown_width(text.data), "", text.data);
}

/* Appends the row's text; a function's as report does, with its place whatever its length. */
static void append_text(const struct page *page, struct pt_buffer *line, const struct pt_live *live,
                        const struct pt_row *row)
{
    uint32_t columns = page->screen->lines ? page->screen->columns : pt_print_row_columns(stdout);
    if (page->screen->of != PT_ROWS_FUNCTIONS || columns <= line->length) {
        pt_row_text(line, live, page->screen->of, row);
        return;
    }
    PT_AUTO_BUFFER text = {0};
    pt_row_text(&text, live, page->screen->of, row);
    pt_fit_frame(line, text.length ? text.data : "", columns - (uint32_t)line->length);
}

static void draw_row(struct page *page, const struct pt_live *live, const struct pt_row *row, uint64_t whole_ns)
{
    struct pt_buffer *line = &page->line;
    const struct pt_profile *profile = live->follow->profile;
    enum pt_rows_of of = page->screen->of;
    if (of == PT_ROWS_FUNCTIONS) {
        pt_buffer_format(line, "%5.1f %% %5.1f %% %9.2f s %9.2f s  ", pt_percent(row->self_ns, whole_ns),
                         pt_percent(row->total_ns, whole_ns), pt_seconds(row->since_self_ns),
                         pt_seconds(row->since_total_ns));
    } else {
        pt_buffer_format(line, "%6.1f %% %9.2f s  ",
                         pt_percent(row->self_ns, of == PT_ROWS_GROUPS ? whole_ns : row->wall_ns),
                         pt_seconds(row->since_self_ns));
    }
    if (of == PT_ROWS_GROUPS && pt_rows_have_requests(live, page->screen->by))
        append_requests(line, live, row, page->screen->since_start);
    if (of == PT_ROWS_PROCESSES)
        pt_buffer_format(line, "%7" PRIu64 "  %-7s  ", profile->processes.items[row->number].accounting.threads,
                         pt_live_is_alive(live, row->number)           ? "running"
                         : profile->processes.items[row->number].ended ? "ended"
                                                                       : "killed");
    append_text(page, line, live, row);
    end_line(page, row->unsure ? PT_STYLE_FAINT : PT_STYLE_PLAIN);
}

static void draw_table(struct page *page, struct pt_screen *screen, struct pt_live *live)
{
    static const char *const headings[] = {
        "   SELF   TOTAL   RUN: SELF  RUN: TOTAL  FUNCTION",
        "     CPU    RUN: CPU  THREADS  STATE    PROCESS",
        "     CPU    RUN: CPU  THREAD",
        "     CPU    RUN: CPU  ",
    };
    const struct pt_rows_options options = {screen->of, screen->by, screen->by_total, screen->since_start,
                                            screen->filter_is_bad ? "" : screen->filter};
    uint32_t count, used = page->count + 1, room = screen->rows;
    uint64_t whole_ns;
    PT_AUTO_FREE struct pt_row *rows = pt_rows_new(live, &options, &count, &whole_ns);
    pt_buffer_text(&page->line, headings[screen->of]);
    if (screen->of == PT_ROWS_GROUPS && pt_rows_have_requests(live, screen->by))
        pt_buffer_text(&page->line, "   REQ/S   CPU/REQ  ");
    if (screen->of == PT_ROWS_GROUPS)
        pt_group_title(&page->line, screen->by);
    if (screen->lines)
        pt_buffer_format(&page->line, "%*s", (int)screen->columns, ""); /* the bar goes to the edge */
    if (screen->lines && page->line.length > screen->columns)
        page->line.data[page->line.length = screen->columns] = '\0';
    end_line(page, PT_STYLE_BAR);
    if (screen->lines)
        room = screen->lines > used + 1 ? screen->lines - used - 1 : 1;
    if (screen->first + room > count)
        screen->first = count > room ? count - room : 0;
    for (uint32_t i = screen->first; i < count && i - screen->first < room; i++)
        draw_row(page, live, &rows[i], whole_ns);
    if (!count && screen->of == PT_ROWS_GROUPS && !pt_has_group(live->follow->profile, screen->by)) {
        pt_buffer_text(&page->line, "  no sample has one; there are: ");
        pt_groups_append(&page->line, live->follow->profile, screen->by);
        end_line(page, PT_STYLE_PLAIN);
    } else if (!count) {
        pt_buffer_text(&page->line, *screen->filter                           ? "  nothing matches"
                                    : screen->since_start                     ? "  no CPU time was sampled"
                                    : live->follow->read < live->follow->size ? "  reading"
                                                                              : "  no CPU time was used");
        end_line(page, PT_STYLE_PLAIN);
    }
}

static void draw_help(struct page *page)
{
    static const char *const lines[] = {
        "s  sort by self time: CPU time in the function itself",
        "t  sort by total time: with what it called",
        "w  the last 10 seconds, or since the start",
        "f  functions      p  processes      r  threads",
        "b  by endpoint, task, greenlet, span, label, thread, package: the next of them",
        "n  native functions: of libraries, all with Python's own C code, or none;",
        "   those that are not shown count for the Python function that runs them",
        "/  only what matches a regular expression, upper or lower case; Esc: all",
        "space  pause      arrows, PgUp, PgDn, Home  scroll",
        "q  quit",
        "Columns: shares in the time that is shown, then seconds of the whole run (RUN).",
        "CPU of processes and threads is of one core. Faint: too few samples to know the",
        "share.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        pt_buffer_text(&page->line, lines[i]);
        end_line(page, PT_STYLE_PLAIN);
    }
}

static void draw_waiting(struct page *page, const struct pt_live *live)
{
    const struct pt_load_request *request = &live->follow->request;
    PT_AUTO_FREE char *directory = pt_default_directory();
    const char *place = request->path_count ? request->paths[0] : directory;
    const struct pt_target *target = live->target;
    bool reading = live->follow->read < live->follow->size;
    if (target->pid) {
        pt_buffer_format(&page->line, reading ? "reading %s" : "waiting: %s has no profile yet", target->name);
        end_line(page, PT_STYLE_HEADING);
        if (!reading)
            pt_buffer_format(&page->line, "A file appears with the first sample; 'pyprof doctor %d' says more.",
                             target->pid);
        end_line(page, PT_STYLE_PLAIN);
        return;
    }
    if (reading)
        pt_buffer_format(&page->line, "reading %s", place);
    else if (live->follow->unusable)
        pt_buffer_format(&page->line, "waiting: nothing in %s is a profile that this pyprof can read", place);
    else if (target->pids)
        pt_buffer_format(&page->line, "waiting: no process %s in %s", target->pids, place);
    else if (request->run)
        pt_buffer_format(&page->line, "waiting: no run '%s' in %s", request->run, place);
    else
        pt_buffer_format(&page->line, "waiting: no profile in %s yet", place);
    end_line(page, PT_STYLE_HEADING);
    if (!request->path_count || live->follow->unusable || request->run || target->pids)
        pt_buffer_text(&page->line, "Record one with 'pyprof run -- python app.py', or say where it is.");
    else
        pt_buffer_format(&page->line, "Record one with 'pyprof run -o %s -- python app.py'.", place);
    end_line(page, PT_STYLE_PLAIN);
}

static void draw_footer(struct page *page)
{
    const struct pt_screen *screen = page->screen;
    if (page->count >= screen->lines)
        return;
    pt_buffer_format(page->out, "\033[%u;1H\033[J\033[%u;1H", page->count + 1, screen->lines);
    PT_AUTO_BUFFER text = {0};
    if (screen->editing)
        pt_buffer_format(&text, "/%s_%s", screen->filter,
                         screen->filter_is_bad ? "   (not a regular expression; Esc: all)"
                                               : "   Enter: keep, Esc: all");
    else if (screen->help)
        pt_buffer_text(&text, "any key: back   q quit");
    else
        pt_buffer_text(&text, screen->columns < KEYS_COLUMNS ? SOME_KEYS : ALL_KEYS);
    pt_shown_text(page->out, text.data, screen->columns);
}

void pt_screen_draw(struct pt_buffer *out, struct pt_screen *screen, struct pt_live *live)
{
    struct page page = {.out = out, .screen = screen};
    pt_live_tally_window(live);
    if (!live->follow->profile->processes.count) {
        draw_waiting(&page, live);
    } else {
        draw_header(&page, live);
        if (!screen->help)
            draw_status(&page, live);
    }
    if (screen->help)
        draw_help(&page);
    else if (live->follow->profile->processes.count)
        draw_table(&page, screen, live);
    if (screen->lines)
        draw_footer(&page);
    pt_buffer_free(&page.line);
}
