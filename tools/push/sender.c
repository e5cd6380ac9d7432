/* SPDX-License-Identifier: Apache-2.0 */
#include "sender.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/random.h>

#include "../base/print.h"
#include "curl.h"
#include "encode.h"

#define FIRST_NS   (PT_SECOND / 2) /* before the second try, then twice as long each time */
#define LONGEST_NS (60 * PT_SECOND)
#define SAVE_NS    (30 * PT_SECOND) /* a failure that goes on is written to the state so often */
/* After a signal a try begins within this time; a shorter one if the last one failed. */
#define STOP_NS         (5 * PT_SECOND)
#define STOP_FAILING_NS PT_SECOND
#define ONCE_NS         (60 * PT_SECOND) /* as a message says */

static sigset_t ending(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

void pt_push_block_signals(void)
{
    sigset_t set = ending();
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool pt_push_wait(struct pt_push_sender *sender, uint64_t ns)
{
    sigset_t set = ending();
    uint64_t now = pt_clock_ns(CLOCK_MONOTONIC), end = now + ns;
    /* While the last windows are sent, a second signal ends it at once. */
    do {
        uint64_t left = end > now ? end - now : 0;
        const struct timespec time = {(time_t)(left / PT_SECOND), (long)(left % PT_SECOND)};
        if (sigtimedwait(&set, NULL, &time) > 0) {
            now = pt_clock_ns(CLOCK_MONOTONIC);
            sender->deadline = sender->stopping ? now : now + (sender->cause ? STOP_FAILING_NS : STOP_NS);
            sender->stopping = true;
            return false;
        }
    } while ((now = pt_clock_ns(CLOCK_MONOTONIC)) < end);
    return true;
}

/* Returns a random part of ns, from half of it on: many pushers that fail at once come back one by one. */
static uint64_t jitter(uint64_t ns)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = (uint32_t)pt_clock_ns(CLOCK_MONOTONIC);
    return ns / 2 + (uint64_t)((double)ns / 2 * random / UINT32_MAX);
}

static void save(struct pt_push_sender *sender)
{
    int error = pt_push_state_save(sender->reader->state, sender->reader->directory);
    sender->saved_ns = pt_clock_ns(CLOCK_MONOTONIC);
    if (error && !sender->unsaved)
        pt_message("cannot write the state to %s: %s; if this program is killed meanwhile, windows are sent again",
                   sender->reader->directory, strerror(error));
    sender->unsaved = error;
}

/* Numbers differ from try to try. */
static bool same_cause(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b || !*a)
            return *a == *b;
    }
}

static const char *name_of(const struct pt_push_sender *sender)
{
    return sender->reader->target->url.text;
}

/* Says a failure, unless it has been said, and keeps it for the state. */
static void note_failure(struct pt_push_sender *sender, const struct pt_answer *answer, const char *what_next)
{
    struct pt_push_state *state = sender->reader->state;
    PT_AUTO_BUFFER text = {0};
    if (answer->status)
        pt_buffer_text(&text, "answered ");
    pt_buffer_text(&text, answer->reason);
    bool news = !sender->cause || !same_cause(sender->cause, text.data);
    free(state->error);
    state->error = pt_strdup(text.data);
    state->error_unix_ns = pt_clock_ns(CLOCK_REALTIME);
    free(sender->cause);
    sender->cause = pt_strdup(text.data);
    if (news)
        pt_error("%s: %s; %s%s%s", name_of(sender), text.data, answer->hint ? answer->hint : "",
                 answer->hint ? "; " : "", what_next);
    if (news || pt_clock_ns(CLOCK_MONOTONIC) > sender->saved_ns + SAVE_NS)
        save(sender);
}

static void note_success(struct pt_push_sender *sender)
{
    if (sender->cause)
        pt_message("%s: takes profiles again", name_of(sender));
    free(sender->cause);
    sender->cause = NULL;
    sender->delay_ns = 0;
    sender->reached = true;
}

static struct pt_answer post(const struct pt_push_sender *sender, const struct pt_push_body *body, bool *possible)
{
    const struct pt_push_target *target = sender->reader->target;
    PT_AUTO(pt_pairs_free) struct pt_pairs headers = {0};
    struct pt_answer answer = {.verdict = PT_VERDICT_WRONG};
    pt_push_add_type(&headers, target);
    *possible = pt_push_headers(target, &headers);
    if (!*possible) {
        snprintf(answer.reason, sizeof answer.reason, "its headers cannot be read");
        return answer;
    }
    const struct pt_post request = {target->url.endpoint, &headers, body->bytes.data, body->bytes.length,
                                    target->timeout_ns};
    *possible = pt_curl_post(&request, &answer);
    if (!*possible) {
        pt_error("the program curl, which sends the profiles, is not there: install curl");
        answer.verdict = PT_VERDICT_WRONG;
    }
    return answer;
}

/* Waits before the next try. Returns false if there is no time for it. */
static bool wait_to_retry(struct pt_push_sender *sender, const struct pt_answer *answer)
{
    sender->delay_ns = sender->delay_ns ? 2 * sender->delay_ns : FIRST_NS;
    sender->delay_ns = sender->delay_ns < LONGEST_NS ? sender->delay_ns : LONGEST_NS;
    uint64_t wait = jitter(sender->delay_ns);
    if (answer->retry_after_ns > wait)
        wait = answer->retry_after_ns + jitter(FIRST_NS);
    uint64_t now = pt_clock_ns(CLOCK_MONOTONIC);
    if (sender->deadline && now + wait >= sender->deadline)
        return false;
    pt_push_wait(sender, wait); /* after a signal: once more, at once */
    pt_push_reader_scan(sender->reader);
    return !sender->deadline || pt_clock_ns(CLOCK_MONOTONIC) < sender->deadline;
}

static uint64_t cpu_of(const struct pt_push_profile *profile)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < profile->count; i++)
        ns += profile->samples[i].cpu_ns;
    return ns;
}

/* What became of a profile, or of a window. */
enum fate { FATE_SENT, FATE_REFUSED, FATE_EXPIRED, FATE_LEFT, FATE_WRONG };

static bool is_expired(const struct pt_push_sender *sender, uint64_t start_unix_ns)
{
    uint64_t now = pt_clock_ns(CLOCK_REALTIME);
    return sender->reader->oldest_ns < now && start_unix_ns < now - sender->reader->oldest_ns;
}

static enum fate send_profile(struct pt_push_sender *sender, struct pt_push_profile *profile);

/* Sends both halves; what the server has of a window is then all of it, or what it takes. */
static enum fate send_halves(struct pt_push_sender *sender, struct pt_push_profile *profile)
{
    struct pt_push_profile half = *profile;
    half.count = profile->count / 2;
    half.part = 2 * profile->part + 1;
    enum fate first = send_profile(sender, &half);
    if (first >= FATE_LEFT)
        return first;
    half.samples += half.count;
    half.count = profile->count - half.count;
    half.part++;
    enum fate second = send_profile(sender, &half);
    return second > first ? second : first;
}

static void count_refused(struct pt_push_sender *sender, const struct pt_push_profile *profile,
                          const struct pt_answer *answer)
{
    sender->reader->state->refused.cpu_ns += cpu_of(profile);
    note_failure(sender, answer, "this window is given up, and so is each that is answered so: --status counts them");
}

static enum fate send_profile(struct pt_push_sender *sender, struct pt_push_profile *profile)
{
    struct pt_push_body body = {0};
    struct pt_push_state *state = sender->reader->state;
    enum fate fate = FATE_LEFT;
    bool whole = profile->count <= PT_PUSH_MAX_SAMPLES || profile->count < 2;
    if (whole) {
        pt_push_encode(&body, sender->reader->target, sender->reader->follow->profile, profile);
        whole = body.unpacked <= PT_PUSH_MAX_UNPACKED || profile->count < 2;
    }
    for (bool again = whole; again;) {
        bool possible;
        struct pt_answer answer = post(sender, &body, &possible);
        again = false;
        if (answer.verdict == PT_VERDICT_TAKEN) {
            note_success(sender);
            state->sent.cpu_ns += cpu_of(profile);
            state->success_unix_ns = pt_clock_ns(CLOCK_REALTIME);
            fate = FATE_SENT;
        } else if (answer.verdict == PT_VERDICT_TOO_LARGE && profile->count > 1) {
            whole = false;
        } else if (answer.verdict == PT_VERDICT_REFUSED || answer.verdict == PT_VERDICT_TOO_LARGE) {
            count_refused(sender, profile, &answer);
            fate = FATE_REFUSED;
        } else if (!possible || (answer.verdict == PT_VERDICT_WRONG && (!sender->reached || sender->once))) {
            if (possible)
                note_failure(sender, &answer,
                             "this pusher ends; what is in the logs is sent by another one when this is mended");
            fate = FATE_WRONG;
        } else {
            note_failure(sender, &answer,
                         sender->once ? "it is tried again, for 60 s at most; the logs hold what is not sent"
                                      : "it is tried again; the logs hold what is not sent");
            if (is_expired(sender, profile->start_unix_ns))
                fate = FATE_EXPIRED;
            else
                again = wait_to_retry(sender, &answer);
        }
    }
    pt_buffer_free(&body.bytes);
    return whole ? fate : send_halves(sender, profile);
}

PT_DEFINE_ORDER(compare_cells, struct pt_push_cell,
                pt_compare(x->service, y->service) ?: pt_compare(x->node, y->node) ?: pt_compare(x->labels, y->labels))

/* Sends the profile of a service in a window: `count` cells. */
static enum fate send_service(struct pt_push_sender *sender, const struct pt_push_cell *cells, uint32_t count)
{
    PT_AUTO_FREE struct pt_sample *samples = pt_alloc(count, sizeof *samples);
    uint64_t start = sender->reader->from_unix_ns;
    struct pt_push_profile profile = {.start_unix_ns = start,
                                      .length_ns = sender->reader->to_unix_ns - start,
                                      .service = cells->service,
                                      .samples = samples};
    for (uint32_t i = 0; i < count; i++)
        if (cells[i].cpu_ns)
            samples[profile.count++] = (struct pt_sample){
                .node = cells[i].node, .labels = cells[i].labels, .count = cells[i].count, .cpu_ns = cells[i].cpu_ns};
    if (!profile.count)
        return FATE_SENT;
    return is_expired(sender, start) ? FATE_EXPIRED : send_profile(sender, &profile);
}

static void count_expired(struct pt_push_sender *sender, const struct pt_push_cell *cells, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sender->reader->state->expired.cpu_ns += cells[i].cpu_ns;
    if (!sender->reported_expired)
        pt_message("%s: takes nothing older than %" PRIu64 " minutes: older windows are not sent, but counted "
                   "(pyprof push --status)",
                   name_of(sender), sender->reader->oldest_ns / (60 * PT_SECOND));
    sender->reported_expired = true;
}

/* Sends a window: `count` cells. Returns what became of its services; what is worst counts. */
static enum fate send_window(struct pt_push_sender *sender, const struct pt_push_cell *cells, uint32_t count)
{
    enum fate worst = FATE_SENT;
    for (uint32_t i = 0, end; i < count && worst < FATE_LEFT; i = end) {
        for (end = i; end < count && cells[end].service == cells[i].service;)
            end++;
        enum fate fate = send_service(sender, cells + i, end - i);
        if (fate == FATE_EXPIRED)
            count_expired(sender, cells + i, end - i);
        worst = fate > worst ? fate : worst;
    }
    struct pt_push_state *state = sender->reader->state;
    struct pt_push_count *counts[] = {&state->sent, &state->refused, &state->expired};
    if (worst < FATE_LEFT)
        counts[worst]->windows++;
    return worst;
}

enum pt_push_end pt_push_send(struct pt_push_sender *sender)
{
    struct pt_push_reader *reader = sender->reader;
    struct pt_push_cell *cells = reader->cells.items;
    uint32_t count = reader->cells.count;
    if (count)
        qsort(cells, count, sizeof *cells, compare_cells);
    if (sender->once)
        sender->deadline = pt_clock_ns(CLOCK_MONOTONIC) + ONCE_NS;
    enum fate fate = FATE_SENT;
    if (count) { /* what is sent now is what would be sent after a crash */
        pt_push_reader_note(reader, false);
        save(sender);
        fate = send_window(sender, cells, count);
    }
    if (fate < FATE_LEFT)
        pt_push_reader_note(reader, true);
    if (count || !sender->saved_ns) /* how far it was read is known from now on */
        save(sender);
    return fate == FATE_WRONG ? PT_PUSH_REFUSED : fate == FATE_LEFT ? PT_PUSH_LEFT : PT_PUSH_DONE;
}

void pt_push_sender_free(struct pt_push_sender *sender)
{
    free(sender->cause);
}
