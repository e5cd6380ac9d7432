/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/json.h"
#include "../base/output.h"
#include "../cli/options.h"
#include "../compact/compact.h"
#include "sender.h"

#define WINDOW_NS    (15 * PT_SECOND)
#define TIMEOUT_NS   (10 * PT_SECOND)
#define PYROSCOPE_NS (55 * 60 * PT_SECOND) /* it refuses what is an hour old */
#define LOCK_TRIES   10
#define LOCK_WAIT_NS (PT_SECOND / 10)
#define COMPACT_NS   (600 * PT_SECOND) /* between compactions */
#define WAIT_NS      PT_SECOND         /* for a directory that is not there yet */

/* Returns the directory of the logs, where the state is. The caller frees. */
static char *state_directory(const struct pt_cli *cli)
{
    const char *path = cli->argument_count ? cli->arguments[0] : NULL;
    struct stat status;
    if (!path)
        return pt_default_directory();
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (stat(path, &status) != 0 || S_ISDIR(status.st_mode))
        return pt_strndup(path, length);
    const char *slash = strrchr(path, '/');
    return slash ? pt_strndup(path, (size_t)(slash - path) + (slash == path)) : pt_strdup(".");
}

struct status_line {
    bool fails;
    char *text;
};

struct waiting {
    const struct pt_push_state *state;
    uint64_t bytes;
};

/* Adds what of a log the server may not have: a part of a batch that was cut short counts as a whole. */
static void add_waiting(void *data, const char *path)
{
    struct waiting *waiting = data;
    struct stat status;
    if (stat(path, &status) != 0)
        return;
    const struct pt_push_file *file = pt_push_state_find(waiting->state, strrchr(path, '/') + 1);
    uint64_t size = (uint64_t)status.st_size,
             written = (uint64_t)status.st_mtim.tv_sec * PT_SECOND + (uint64_t)status.st_mtim.tv_nsec;
    if (file && file->inode == status.st_ino)
        waiting->bytes += size > file->base ? size - file->base : 0;
    else if (written + PT_PUSH_LATE_NS > waiting->state->until_unix_ns)
        waiting->bytes += size;
}

struct status_lines {
    const char *directory;
    struct pt_json *json; /* NULL: text */
    PT_TABLE_OF(struct status_line) table;
};

static void put_state(struct pt_json *json, const struct pt_push_state *state, const char *path, uint64_t waiting,
                      const long *pusher)
{
    pt_json_begin(json, NULL, '{');
    pt_json_text(json, "target", state->target);
    pt_json_text(json, "run", state->run);
    pt_json_text(json, "file", path);
    pt_json_known(json, "pusher_pid", pusher ? (uint64_t)*pusher : 0, pusher);
    pt_json_number(json, "sent_windows", state->sent.windows);
    pt_json_number(json, "sent_cpu_ns", state->sent.cpu_ns);
    pt_json_number(json, "lost_windows", state->refused.windows + state->expired.windows);
    pt_json_number(json, "lost_cpu_ns", state->refused.cpu_ns + state->expired.cpu_ns);
    pt_json_number(json, "removed_files", state->removed);
    pt_json_number(json, "removed_bytes", state->removed_bytes);
    pt_json_number(json, "waiting_bytes", waiting);
    pt_json_known(json, "success_unix_ns", state->success_unix_ns, state->success_unix_ns);
    pt_json_known(json, "error_unix_ns", state->error_unix_ns, state->error_unix_ns);
    pt_json_text(json, "error", state->error_unix_ns ? state->error : NULL);
    pt_json_end(json, '}');
}

/* Appends which process pushes, or how the state is dropped: its target may be a mistake. */
static void append_pusher(struct pt_buffer *text, const char *path, const long *pusher)
{
    if (pusher) {
        pt_buffer_format(text, "\n  process %ld pushes to it; its state is in %s", *pusher, path);
        return;
    }
    pt_buffer_text(text, "\n  no process pushes to it; to forget it: rm ");
    pt_append_argument(text, path);
    pt_buffer_text(text, "*");
}

static void add_state(void *data, struct pt_push_state *state, const char *path)
{
    struct status_lines *lines = data;
    if (!state) {
        pt_message("%s is damaged, or not ours: it is not read", path);
        return;
    }
    struct pt_buffer text = {0};
    struct waiting waiting = {.state = state};
    long pid;
    bool fails = state->error_unix_ns > state->success_unix_ns, on = pt_push_is_on(lines->directory, state, &pid);
    if (!state->run && fails)
        pt_each_log(lines->directory, add_waiting, &waiting);
    if (lines->json) {
        put_state(lines->json, state, path, waiting.bytes, on ? &pid : NULL);
        return;
    }
    pt_push_state_describe(&text, state);
    if (state->run)
        pt_buffer_format(&text, " (run %s)", state->run);
    if (waiting.bytes) {
        pt_buffer_text(&text, "; up to ");
        pt_buffer_size(&text, waiting.bytes);
        pt_buffer_text(&text, " of logs wait");
    }
    append_pusher(&text, path, on ? &pid : NULL);
    *PT_APPEND(&lines->table) = (struct status_line){fails, text.data};
}

/* Failing ones come first, then the order is that of the targets' names. */
PT_DEFINE_ORDER(compare_lines, struct status_line, pt_compare(y->fails, x->fails) ?: strcmp(x->text, y->text))

static int show_status(const char *directory, bool as_json)
{
    struct status_lines lines = {.directory = directory};
    if (access(directory, F_OK) != 0)
        return pt_exit_with(PT_EXIT_DATA, "%s: %s", directory, pt_read_error(errno));
    if (!pt_can_list(directory))
        return PT_EXIT_DATA;
    if (as_json) {
        struct pt_json json = pt_json_document(stdout);
        lines.json = &json;
        pt_json_begin(&json, "states", '[');
        pt_push_each_state(directory, add_state, &lines);
        pt_json_end(&json, ']');
        return pt_json_end_document(&json) ? PT_EXIT_OK : PT_EXIT_DATA;
    }
    if (!pt_push_each_state(directory, add_state, &lines))
        printf("Nothing has been pushed from %s.\n", directory);
    else
        qsort(lines.table.items, lines.table.count, sizeof *lines.table.items, compare_lines);
    for (uint32_t i = 0; i < lines.table.count; i++) {
        puts(lines.table.items[i].text);
        free(lines.table.items[i].text);
    }
    PT_FREE_TABLE(&lines.table);
    return PT_EXIT_OK;
}

/* Waits for the directory, which the first process makes. Returns false if it does not come. */
static bool wait_for_directory(struct pt_push_sender *sender, const char *directory, bool quiet)
{
    struct stat status;
    while (stat(directory, &status) != 0) {
        if ((sender->once || errno != ENOENT) && !quiet)
            pt_error("%s: %s", directory, strerror(errno));
        if (sender->once || errno != ENOENT || sender->stopping)
            return false;
        if (!quiet)
            pt_message("waiting for %s", directory);
        quiet = true;
        pt_push_wait(sender, WAIT_NS);
    }
    return true;
}

/* A request that was on its way may outlive a pusher that was killed, for a moment. */
static bool take_lock(struct pt_push_sender *sender, const char *directory, const char *target, const char *run)
{
    long pid;
    int lock = pt_push_lock(directory, target, run, &pid);
    for (int i = 0; i < LOCK_TRIES && lock < 0 && errno == EWOULDBLOCK; i++) {
        pt_push_wait(sender, LOCK_WAIT_NS);
        lock = pt_push_lock(directory, target, run, &pid);
    }
    if (lock >= 0)
        return true;
    if (errno == EWOULDBLOCK)
        return pt_error("process %ld pushes %s to %s already", pid, directory, target);
    return pt_error("cannot write to %s, where the state of what was sent has to be: %s", directory, strerror(errno));
}

/* Compacts what the server has, in a process of its own that uses the CPU when nothing else does: it may take memory,
 * and be killed at any time. A side-car may not be allowed to write there: what is in the way, `pyprof compact` says.
 */
static void compact(const char *directory, uint64_t *next_ns)
{
    uint64_t now = pt_clock_ns(CLOCK_MONOTONIC);
    if (now < *next_ns || waitpid(-1, NULL, WNOHANG) == 0) /* the last one is still at work */
        return;
    *next_ns = now + COMPACT_NS;
    pid_t self = getpid();
    if (fork() != 0)
        return;
    struct pt_compacted compacted;
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, 19);
    if (getppid() == self)
        pt_compact(directory, pt_clock_ns(CLOCK_REALTIME), NULL, &compacted);
    _exit(0);
}

/* Sends windows until a signal comes, once all that there is. */
static enum pt_push_end push(struct pt_push_sender *sender)
{
    struct pt_push_reader *reader = sender->reader;
    uint64_t compact_ns = 0;
    uint64_t before = pt_clock_ns(CLOCK_MONOTONIC) - reader->window_ns; /* if the clock was set back meanwhile */
    uint32_t random = 0;
    bool said = false;
    /* Pushers that were started at once, on many hosts, do not send at once. */
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random && !sender->once && !sender->stopping)
        pt_push_wait(sender, (uint64_t)((double)reader->window_ns * random / UINT32_MAX));
    for (;;) {
        bool last = sender->once || sender->stopping; /* what came before the signal is in this batch */
        uint64_t begun = pt_clock_ns(CLOCK_MONOTONIC), now = pt_clock_ns(CLOCK_REALTIME);
        if (reader->state->until_unix_ns > now && !said)
            pt_message("the clock was set back: windows have the time that it shows now");
        said = reader->state->until_unix_ns > now;
        pt_push_reader_read(reader, now, begun - before);
        if (last && !sender->once) /* there is time for a try, however long it took to read */
            sender->deadline += pt_clock_ns(CLOCK_MONOTONIC) - begun;
        before = begun;
        bool more = reader->more;
        enum pt_push_end end = pt_push_send(sender);
        if (end != PT_PUSH_DONE)
            return end;
        pt_push_reader_next(reader);
        if (last && (!more || (sender->stopping && begun >= sender->deadline)))
            return more ? PT_PUSH_LEFT : PT_PUSH_DONE;
        if (more || sender->stopping)
            continue;
        if (!sender->once)
            compact(reader->directory, &compact_ns);
        uint64_t took = pt_clock_ns(CLOCK_MONOTONIC) - begun;
        pt_push_wait(sender, took < reader->window_ns ? reader->window_ns - took : 0);
    }
}

/* sent, expired: what the state had when this command began. */
static void say_sent(const struct pt_push_state *state, const struct pt_push_count *sent,
                     const struct pt_push_count *expired)
{
    uint64_t windows = state->sent.windows - sent->windows;
    if (windows || state->expired.windows != expired->windows)
        pt_message("sent %" PRIu64 " window%s (%.2f s CPU) to %s", windows, pt_plural(windows, "s"),
                   pt_seconds(state->sent.cpu_ns - sent->cpu_ns), state->target);
    else
        pt_message("nothing is new for %s", state->target);
}

static int push_all(const struct pt_cli *cli, const struct pt_push_target *target, const char *directory)
{
    PT_AUTO(pt_push_state_free) struct pt_push_state state = {0};
    PT_AUTO(pt_push_reader_free)
    struct pt_push_reader reader = {
        .target = target,
        .state = &state,
        .directory = directory,
        .labels = cli->labels,
        .window_ns = cli->window_ns ? cli->window_ns : WINDOW_NS,
        .oldest_ns = target->url.protocol == PT_PUSH_PYROSCOPE ? PYROSCOPE_NS : UINT64_MAX,
        .request = cli->request,
    };
    PT_AUTO(pt_push_sender_free) struct pt_push_sender sender = {.reader = &reader, .once = cli->once};
    if (!wait_for_directory(&sender, directory, cli->with_parent))
        return PT_EXIT_DATA;
    if (!take_lock(&sender, directory, target->url.text, reader.request.run))
        return PT_EXIT_DATA;
    if (cli->once && !pt_each_log(directory, NULL, NULL))
        return pt_exit_with(PT_EXIT_DATA, "%s: there are no profiles there", directory);
    reader.request.all = !reader.request.run;
    pt_push_state_load(&state, directory, target->url.text, reader.request.run);
    if (!state.until_unix_ns) /* a compaction that runs meanwhile sees that nothing was sent */
        pt_push_state_save(&state, directory);
    const struct pt_push_count sent = state.sent, refused = state.refused, expired = state.expired;
    enum pt_push_end end = push(&sender);
    bool took_all = state.refused.windows == refused.windows;
    bool unopened = state.sent.windows == sent.windows && reader.follow && reader.follow->unopened;
    if (cli->once && end == PT_PUSH_DONE && took_all && !unopened)
        say_sent(&state, &sent, &expired);
    if (end == PT_PUSH_LEFT)
        pt_message("%s: what is left of the logs was not sent; another 'pyprof push' sends it", target->url.text);
    if (end == PT_PUSH_DONE && reader.request.run && sender.stopping)
        pt_push_state_remove(&state, directory);
    return end == PT_PUSH_DONE && !(cli->once && (!took_all || unopened)) ? PT_EXIT_OK : PT_EXIT_DATA;
}

int pt_cmd_push(const struct pt_cli *cli)
{
    PT_AUTO(pt_push_target_free)
    struct pt_push_target target = {.service = cli->service,
                                    .headers_file = cli->headers,
                                    .timeout_ns = cli->duration_ns ? cli->duration_ns : TIMEOUT_NS};
    PT_AUTO_FREE char *directory = state_directory(cli);
    if (cli->status)
        return show_status(directory, cli->json);
    PT_AUTO(pt_pairs_free) struct pt_pairs headers = {0};
    if (cli->json)
        return pt_exit_with(PT_EXIT_USAGE, "--json goes with --status");
    if (!cli->push_to)
        return pt_exit_with(PT_EXIT_USAGE, "missing --to URL: 'pyprof push --help'");
    if (!pt_push_url_take(&target.url, "--to", cli->push_to))
        return PT_EXIT_USAGE;
    if (cli->window_ns && cli->window_ns < PT_SECOND)
        return pt_exit_with(PT_EXIT_USAGE, "--window takes a second or more");
    if (!pt_push_headers(&target, &headers))
        return PT_EXIT_USAGE;
    pt_push_target_read(&target);
    pt_push_block_signals();
    if (cli->with_parent) /* `pyprof run --push`, which may be killed */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    return push_all(cli, &target, directory);
}
