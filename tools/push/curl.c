/* SPDX-License-Identifier: Apache-2.0 */
#include "curl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/numbers.h"

#define PROGRAM       "curl"
#define BODY          3 /* descriptor in curl */
#define NS_PER_MS     UINT64_C(1000000)
#define KEPT          ((size_t)64 << 10)   /* of an answer; more is read, and forgotten */
#define SLACK_NS      UINT64_C(2000000000) /* in which curl ends after its own time-out */
#define CURL_ENV_OURS "PYPROF_"

struct child {
    pid_t pid;
    int config, out, err; /* our ends of the pipes */
};

/* Appends a value of curl's configuration. */
static void append_quoted(struct pt_buffer *config, const char *name, const char *value)
{
    pt_buffer_format(config, "%s = \"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            pt_buffer_text(config, "\\");
        pt_buffer_append(config, value, 1);
    }
    pt_buffer_text(config, "\"\n");
}

static void append_config(struct pt_buffer *config, const struct pt_post *post)
{
    double seconds = pt_seconds(post->timeout_ns);
    pt_buffer_text(config, "silent\nshow-error\ninclude\nsuppress-connect-headers\ngloboff\nproto = \"=http,https\"\n"
                           "user-agent = \"pyprof/" PYPROF_VERSION "\"\nheader = \"Expect:\"\n");
    pt_buffer_format(config, "connect-timeout = %.3f\nmax-time = %.3f\n", seconds, seconds);
    append_quoted(config, "url", post->endpoint);
    pt_buffer_format(config, "data-binary = \"@/proc/self/fd/%d\"\n", BODY);
    for (uint32_t i = 0; i < post->headers->count; i++) {
        PT_AUTO_BUFFER line = pt_formatted("%s: %s", post->headers->items[i].key, post->headers->items[i].value);
        append_quoted(config, "header", line.data);
    }
}

/* Returns the environment without what may hold a token, and without what would profile curl. The caller frees. */
static char **cleaned_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = pt_alloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], CURL_ENV_OURS, sizeof CURL_ENV_OURS - 1) != 0 && strncmp(environ[i], "OTEL_", 5) != 0 &&
            strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            copy[kept++] = environ[i];
    return copy;
}

/* Returns a descriptor of a file without a name that holds the bytes; -1 with errno. */
static int hold(const void *bytes, size_t length)
{
    int fd = memfd_create("pyprof-push", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < length;) {
        ssize_t wrote = write(fd, (const char *)bytes + done, length - done);
        if (wrote > 0) {
            done += (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* Becomes the program: does not return. ends: its standard streams and the body. Runs in our memory, after vfork, and
 * writes to nothing of it but its own stack and errno. */
static _Noreturn void become(const int ends[BODY + 1], pid_t parent, int report, char *const *environment)
{
    char *arguments[] = {PROGRAM, "-q", "--config", "-", NULL};
    int high[BODY + 1];
    signal(SIGPIPE, SIG_DFL);
    /* What is typed at the terminal, or sent to our group, ends us, and we let the last window be sent: these signals
     * stay blocked. But if we are killed, so is a request that we would send again. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool good = getppid() == parent;
    report = fcntl(report, F_DUPFD_CLOEXEC, BODY + 1);
    /* These descriptors may be among ours: what is duplicated must not be overwritten first. */
    for (int i = 0; i <= BODY && good; i++)
        good = (high[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, BODY + 1)) >= 0;
    for (int i = 0; i <= BODY && good; i++)
        good = dup2(high[i], i) == i;
    if (good)
        execvpe(PROGRAM, arguments, environment);
    int error = errno;
    _exit(write(report, &error, sizeof error) == sizeof error);
}

/* Starts the program. Returns 0 or an errno. */
static int start(struct child *child, int body)
{
    int ends[4][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}}, error = 0; /* three streams, and what exec says */
    pid_t self = getpid();
    PT_AUTO_FREE char **environment = cleaned_environment();
    for (int i = 0; i < 4 && !error; i++)
        error = pipe2(ends[i], O_CLOEXEC) == 0 ? 0 : errno;
    const int streams[] = {ends[0][0], ends[1][1], ends[2][1], body};
    /* A copy of our page tables for each window took a twentieth of the pusher's CPU beside a thousand logs. */
    child->pid = error ? -1 : vfork();
    if (child->pid == 0)
        become(streams, self, ends[3][1], environment);
    error = child->pid < 0 && !error ? errno : error;
    close(ends[0][0]);
    for (int i = 1; i < 4; i++)
        close(ends[i][1]);
    child->config = ends[0][1];
    child->out = ends[1][0];
    child->err = ends[2][0];
    if (child->pid > 0 && read(ends[3][0], &error, sizeof error) == sizeof error)
        waitpid(child->pid, NULL, 0);
    close(ends[3][0]);
    return error;
}

/* Reads what is there. Returns false at the end. */
static bool read_more(int fd, struct pt_buffer *text)
{
    char bytes[4096];
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got > 0 && text->length < KEPT)
        pt_buffer_append(text, bytes, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Reads until both pipes are closed. Returns false at the deadline. */
static bool read_all(const struct child *child, uint64_t deadline, struct pt_buffer *out, struct pt_buffer *err)
{
    struct pollfd ready[] = {{.fd = child->out, .events = POLLIN}, {.fd = child->err, .events = POLLIN}};
    struct pt_buffer *texts[] = {out, err};
    for (uint64_t now; (ready[0].fd >= 0 || ready[1].fd >= 0) && (now = pt_clock_ns(CLOCK_MONOTONIC)) < deadline;) {
        ready[0].revents = ready[1].revents = 0;
        poll(ready, 2, (int)((deadline - now) / NS_PER_MS) + 1);
        for (int i = 0; i < 2; i++)
            if (ready[i].fd >= 0 && ready[i].revents && !read_more(ready[i].fd, texts[i]))
                ready[i].fd = -1;
    }
    return ready[0].fd < 0 && ready[1].fd < 0;
}

/* What a certificate is refused for does not change by itself. */
static bool is_certificate(int status)
{
    static const int statuses[] = {51, 58, 59, 60, 66, 77, 83, 90, 91};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i] == status)
            return true;
    return false;
}

/* Fills the answer of a server that gave none. */
static void fill_silence(struct pt_answer *answer, int status, const struct pt_buffer *err)
{
    const char *text = err->length ? err->data : "",
               *close = strncmp(text, "curl: (", 7) == 0 ? strchr(text, ')') : NULL;
    text = close ? close + 1 : text;
    answer->verdict = is_certificate(status) || status == 2 ? PT_VERDICT_WRONG : PT_VERDICT_LATER;
    if (is_certificate(status))
        answer->hint = "where the authority is your own, CURL_CA_BUNDLE names the file of its certificate";
    pt_answer_append(answer->reason, sizeof answer->reason, text, strcspn(text, "\n"));
    if (!*answer->reason)
        snprintf(answer->reason, sizeof answer->reason, "no answer (curl ended with status %d)", status);
}

bool pt_curl_post(const struct pt_post *post, struct pt_answer *answer)
{
    PT_AUTO_BUFFER config = {0}, out = {0}, err = {0};
    struct child child = {0};
    *answer = (struct pt_answer){.verdict = PT_VERDICT_LATER};
    int body = hold(post->body, post->length), error = body < 0 ? errno : start(&child, body);
    if (body >= 0)
        close(body);
    bool started = body >= 0 && !error;
    if (started) {
        append_config(&config, post);
        ssize_t wrote = write(child.config, config.data, config.length);
        close(child.config);
        child.config = -1;
        explicit_bzero(config.data, config.length);
        if (wrote != (ssize_t)config.length ||
            !read_all(&child, pt_clock_ns(CLOCK_MONOTONIC) + post->timeout_ns + SLACK_NS, &out, &err))
            kill(child.pid, SIGKILL);
        int status = 0;
        while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (!pt_answer_read(answer, out.data, out.length, pt_clock_ns(CLOCK_REALTIME) / (1000 * NS_PER_MS)))
            fill_silence(answer, WIFEXITED(status) ? WEXITSTATUS(status) : 0, &err);
    } else {
        snprintf(answer->reason, sizeof answer->reason, "cannot run curl: %s", strerror(error));
    }
    for (int i = 0; i < 3 && body >= 0; i++) {
        int fd = i == 0 ? child.config : i == 1 ? child.out : child.err;
        if (fd > 0)
            close(fd);
    }
    return started || error != ENOENT;
}
