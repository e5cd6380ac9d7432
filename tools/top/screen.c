#include "screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/fallback.h"
#include "../profile/summary.h"
#include "../shown_text.h"

#define SMALL 10 /* lines, below which only the most important of the header is shown */

enum style { PLAIN, BOLD, HEADING };

/* Lines go out one by one, so that a narrow or low terminal cuts each of them and the last ones. */
struct page {
    struct pp_buffer *out, line;
    const struct pp_screen *screen;
    uint32_t count;
};

static bool is_full(const struct page *page)
{
    return page->screen->lines && page->count >= page->screen->lines;
}

static void end_line(struct page *page, enum style style)
{
    static const char *const begin[] = {[PLAIN] = "", [BOLD] = "\033[1m", [HEADING] = "\033[7m"};
    const struct pp_screen *screen = page->screen;
    const char *text = page->line.length ? page->line.data : "";
    if (!screen->lines) {
        pp_shown_text(page->out, text, 0);
        pp_buffer_text(page->out, "\n");
    } else if (!is_full(page)) {
        bool styled = style != PLAIN && screen->colour;
        pp_buffer_text(page->out, page->count ? "\r\n\033[K" : "\033[H\033[K");
        if (styled)
            pp_buffer_text(page->out, begin[style]);
        pp_shown_text(page->out, text, screen->columns);
        if (styled)
            pp_buffer_text(page->out, "\033[0m");
    }
    page->count++;
    pp_buffer_clear(&page->line);
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void append_duration(struct pp_buffer *text, uint64_t ns)
{
    uint64_t s = ns / 1000000000u;
    if (s >= 86400)
        pp_buffer_format(text, "%" PRIu64 "d%" PRIu64 "h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        pp_buffer_format(text, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    else if (s >= 60)
        pp_buffer_format(text, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else
        pp_buffer_format(text, "%.0f s", seconds(ns));
}

static void draw_header(struct page *page, const struct pp_live *live)
{
    const struct pp_profile *profile = live->follow->profile;
    struct pp_accounting sum = pp_summary_accounting(profile, PP_NONE);
    uint32_t ended = profile->processes.count - live->alive;
    const struct pp_process *first = pp_summary_first_process(profile);
    bool small = page->screen->lines && page->screen->lines < SMALL;
    if (!small) {
        char *directory = live->follow->fell_back ? pp_fallback_directory() : pp_strdup("");
        pp_buffer_format(&page->line, "run %.8s%s%s: %s", pp_string(profile, first->run), *directory ? " in " : "",
                         directory, pp_short_command(pp_string(profile, first->command_line)));
        end_line(page, BOLD);
        free(directory);
    }
    pp_buffer_format(&page->line, "%u process%s running", live->alive, live->alive == 1 ? "" : "es");
    if (ended)
        pp_buffer_format(&page->line, ", %u ended", ended);
    pp_buffer_format(&page->line, " | %.2f cores busy | %.2f s CPU in ",
                     live->wall_ns ? (double)live->window.whole_ns / (double)live->wall_ns : 0, seconds(sum.cpu_ns));
    append_duration(&page->line, live->since_ns);
    end_line(page, PLAIN);
    if (small)
        return;
    double difference = sum.cpu_ns ? 100.0 * (double)sum.difference_ns / (double)sum.cpu_ns : 0;
    if (difference < 0.005 && difference > -0.005)
        difference = 0; /* never "-0.00" */
    pp_buffer_format(&page->line, "since start: unsampled %.2f %%, lost %.2f %%, profiler %.2f %%, difference %.2f %%",
                     pp_percent(sum.unsampled_ns, sum.cpu_ns), pp_percent(sum.lost_ns, sum.cpu_ns),
                     pp_percent(sum.own_ns, sum.cpu_ns), difference);
    const struct pp_read_losses *losses = &profile->losses;
    if (losses->damaged_blocks || losses->missing_blocks || losses->damaged_records || live->follow->unusable)
        pp_buffer_text(&page->line, "; parts of the logs cannot be read");
    end_line(page, PLAIN);
}

static void draw_status(struct page *page, const struct pp_live *live)
{
    static const char *const names[] = {"Functions", "Processes", "Threads"};
    const struct pp_screen *screen = page->screen;
    pp_buffer_text(&page->line, names[screen->of]);
    if (screen->of == PP_ROWS_FUNCTIONS)
        pp_buffer_format(&page->line, " by %s time", screen->by_total ? "total" : "self");
    if (screen->since_start)
        pp_buffer_text(&page->line, " since the start");
    else
        pp_buffer_format(&page->line, ", %s %.0f s", live->alive ? "last" : "over; its last", seconds(live->wall_ns));
    if (screen->of == PP_ROWS_FUNCTIONS && !live->native)
        pp_buffer_text(&page->line, ", Python only");
    if (screen->paused)
        pp_buffer_text(&page->line, ", PAUSED");
    if (!live->complete)
        pp_buffer_format(&page->line, ", reading: %.0f %%", pp_percent(live->follow->read, live->follow->size));
    if (*screen->filter && !screen->editing)
        pp_buffer_format(&page->line, ", /%s", screen->filter);
    end_line(page, PLAIN);
}

static void draw_row(struct page *page, const struct pp_live *live, const struct pp_row *row, uint64_t whole_ns)
{
    struct pp_buffer *line = &page->line;
    const struct pp_profile *profile = live->follow->profile;
    enum pp_rows_of of = page->screen->of;
    if (of == PP_ROWS_FUNCTIONS) {
        pp_buffer_format(line, "%5.1f %% %5.1f %% %9.2f s %9.2f s  ", pp_percent(row->self_ns, whole_ns),
                         pp_percent(row->total_ns, whole_ns), seconds(row->since_self_ns),
                         seconds(row->since_total_ns));
    } else {
        pp_buffer_format(line, "%6.1f %% %9.2f s  ", pp_percent(row->self_ns, row->wall_ns),
                         seconds(row->since_self_ns));
    }
    if (of == PP_ROWS_PROCESSES)
        pp_buffer_format(line, "%7" PRIu64 "  %-7s  ", profile->processes.items[row->number].accounting.threads,
                         pp_live_is_alive(live, row->number)           ? "running"
                         : profile->processes.items[row->number].ended ? "ended"
                                                                       : "killed");
    pp_row_text(line, live, of, row);
    end_line(page, PLAIN);
}

static void draw_table(struct page *page, struct pp_screen *screen, struct pp_live *live)
{
    static const char *const headings[] = {
        "   SELF   TOTAL        SELF       TOTAL  FUNCTION",
        "     CPU         CPU  THREADS  STATE    PROCESS",
        "     CPU         CPU  THREAD",
    };
    const struct pp_rows_options options = {screen->of, screen->by_total, screen->since_start,
                                            screen->filter_is_bad ? "" : screen->filter};
    uint32_t count, used = page->count + 1, room = screen->rows;
    uint64_t whole_ns;
    struct pp_row *rows = pp_rows_new(live, &options, &count, &whole_ns);
    pp_buffer_text(&page->line, headings[screen->of]);
    if (screen->lines)
        pp_buffer_format(&page->line, "%*s", (int)screen->columns, ""); /* the bar goes to the edge */
    if (screen->lines && page->line.length > screen->columns)
        page->line.data[page->line.length = screen->columns] = '\0';
    end_line(page, HEADING);
    if (screen->lines)
        room = screen->lines > used + 1 ? screen->lines - used - 1 : 1;
    if (screen->first + room > count)
        screen->first = count > room ? count - room : 0;
    for (uint32_t i = screen->first; i < count && i - screen->first < room; i++)
        draw_row(page, live, &rows[i], whole_ns);
    if (!count) {
        pp_buffer_text(&page->line, *screen->filter                           ? "  nothing matches"
                                    : screen->since_start                     ? "  no CPU time was sampled"
                                    : live->follow->read < live->follow->size ? "  reading"
                                                                              : "  no CPU time was used");
        end_line(page, PLAIN);
    }
    free(rows);
}

static void draw_help(struct page *page)
{
    static const char *const lines[] = {
        "s  sort by self time: CPU time in the function itself",
        "t  sort by total time: with what it called",
        "w  the last 10 seconds, or since the start",
        "f  functions      p  processes      r  threads",
        "n  native functions on or off; off: they count for the Python function that called them",
        "/  only what matches a regular expression, upper or lower case; Esc: all",
        "space  pause      arrows, PgUp, PgDn, Home  scroll",
        "q  quit",
        "Columns: share in the time that is shown, then seconds since the start. CPU of processes and",
        "threads is of one core.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        pp_buffer_text(&page->line, lines[i]);
        end_line(page, PLAIN);
    }
}

static void draw_waiting(struct page *page, const struct pp_live *live)
{
    const struct pp_cli *cli = live->follow->cli;
    char *directory = pp_default_directory();
    const char *place = cli->argument_count ? cli->arguments[0] : directory;
    const struct pp_target *target = live->target;
    bool reading = live->follow->read < live->follow->size;
    if (target->pid) {
        pp_buffer_format(&page->line, reading ? "reading %s" : "waiting: %s has no profile yet", target->name);
        end_line(page, BOLD);
        if (!reading)
            pp_buffer_format(&page->line, "A file appears with the first sample; 'pyprof doctor %d' says more.",
                             target->pid);
        end_line(page, PLAIN);
        free(directory);
        return;
    }
    if (reading)
        pp_buffer_format(&page->line, "reading %s", place);
    else if (live->follow->unusable)
        pp_buffer_format(&page->line, "waiting: nothing in %s is a profile that this pyprof can read", place);
    else if (target->pids)
        pp_buffer_format(&page->line, "waiting: no process %s in %s", target->pids, place);
    else if (cli->run)
        pp_buffer_format(&page->line, "waiting: no run '%s' in %s", cli->run, place);
    else
        pp_buffer_format(&page->line, "waiting: no profile in %s yet", place);
    end_line(page, BOLD);
    if (!cli->argument_count || live->follow->unusable || cli->run || target->pids)
        pp_buffer_text(&page->line, "Record one with 'pyprof run -- python app.py', or say where it is.");
    else
        pp_buffer_format(&page->line, "Record one with 'pyprof run -o %s -- python app.py'.", place);
    end_line(page, PLAIN);
    free(directory);
}

static void draw_footer(struct page *page)
{
    const struct pp_screen *screen = page->screen;
    if (page->count >= screen->lines)
        return;
    pp_buffer_format(page->out, "\033[%u;1H\033[J\033[%u;1H", page->count + 1, screen->lines);
    struct pp_buffer text = {0};
    if (screen->editing)
        pp_buffer_format(&text, "/%s_%s", screen->filter,
                         screen->filter_is_bad ? "   (not a regular expression yet)" : "   Enter: keep, Esc: all");
    else if (screen->help)
        pp_buffer_text(&text, "any key: back   q quit");
    else
        pp_buffer_text(&text, "s self  t total  w window  f functions  p processes  r threads  n native  "
                              "/ filter  h help  q quit");
    pp_shown_text(page->out, text.data, screen->columns);
    pp_buffer_free(&text);
}

void pp_screen_draw(struct pp_buffer *out, struct pp_screen *screen, struct pp_live *live)
{
    struct page page = {.out = out, .screen = screen};
    pp_live_tally_window(live);
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
    pp_buffer_free(&page.line);
}
