/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../cli/options.h"

/* Alternate screen, no cursor, no wrapping; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

#define DEFAULT_COLUMNS 80
#define DEFAULT_LINES   24
#define MAX_COLUMNS     1000 /* what says more is not believed */

static struct termios before;
static sigset_t mask_before, noted;
static bool active;
static int signals = -1, last_signal;
static char keys[64];
static size_t key_count;

static void write_all(const char *data, size_t length)
{
    while (length) {
        ssize_t written = write(STDOUT_FILENO, data, length);
        if (written < 0 && errno == EAGAIN)
            poll(&(struct pollfd){STDOUT_FILENO, POLLOUT, 0}, 1, -1);
        else if (written < 0 && errno != EINTR)
            return;
        else if (written > 0)
            data += written, length -= (size_t)written;
    }
}

static bool enter(void)
{
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C and Ctrl-Z come as signals */
    raw.c_iflag &= ~(tcflag_t)(IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return false;
    active = true;
    write_all(ENTER, sizeof ENTER - 1);
    return true;
}

/* Also called at exit: the end for want of memory may come at any moment. */
static void leave(void)
{
    if (!active)
        return;
    active = false;
    write_all(LEAVE, sizeof LEAVE - 1);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

bool pt_terminal_begin(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    const char *term = getenv("TERM");
    bool able = term && *term && strcmp(term, "dumb") != 0;
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO) || !able || tcgetattr(STDIN_FILENO, &before) != 0)
        return pt_error("%s: 'pyprof top --count 1' prints text",
                        able ? "top needs a terminal, on stdin and stdout" : "top needs a terminal that TERM names");
    sigemptyset(&noted);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(&noted, numbers[i]);
    sigprocmask(SIG_BLOCK, &noted, &mask_before);
    signals = signalfd(-1, &noted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals >= 0 && atexit(leave) == 0 && enter())
        return true;
    pt_error("cannot set the terminal up: %s", strerror(errno));
    pt_terminal_end();
    return false;
}

void pt_terminal_end(void)
{
    leave();
    if (signals >= 0)
        close(signals);
    signals = -1;
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

void pt_terminal_pass_signal_on(void)
{
    if (!last_signal || last_signal == SIGINT)
        return;
    signal(last_signal, SIG_DFL);
    raise(last_signal);
}

void pt_terminal_size(uint32_t *columns, uint32_t *lines)
{
    struct winsize window;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col && window.ws_row;
    *columns = known ? window.ws_col : DEFAULT_COLUMNS;
    *lines = known ? window.ws_row : DEFAULT_LINES;
    if (*columns > MAX_COLUMNS)
        *columns = MAX_COLUMNS;
}

void pt_terminal_write(const struct pt_buffer *text)
{
    write_all(text->data, text->length);
}

static int read_signal(void)
{
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info)
        return PT_KEY_NONE;
    if (info.ssi_signo == SIGWINCH)
        return PT_KEY_REDRAW;
    if (info.ssi_signo != SIGTSTP) {
        last_signal = (int)info.ssi_signo;
        return PT_KEY_QUIT;
    }
    leave();
    raise(SIGSTOP);
    enter();
    return PT_KEY_REDRAW;
}

/* Returns the first key of those that were read. An escape sequence comes in one piece; an ESC alone is the key. */
static int read_key(void)
{
    static const struct {
        const char *text;
        int key;
    } sequences[] = {
        {"\033[A", PT_KEY_UP},         {"\033OA", PT_KEY_UP},   {"\033[B", PT_KEY_DOWN},  {"\033OB", PT_KEY_DOWN},
        {"\033[5~", PT_KEY_PAGE_UP},   {"\033[H", PT_KEY_HOME}, {"\033[1~", PT_KEY_HOME}, {"\033OH", PT_KEY_HOME},
        {"\033[6~", PT_KEY_PAGE_DOWN}, {"\033[F", PT_KEY_END},  {"\033[4~", PT_KEY_END},  {"\033OF", PT_KEY_END},
    };
    size_t used = 1;
    int key = (unsigned char)keys[0];
    if (key == '\033') {
        key = PT_KEY_ESCAPE;
        /* Skip an unknown sequence as a whole: its letters are no keys. */
        if (key_count > 1 && (keys[1] == '[' || keys[1] == 'O')) {
            key = PT_KEY_NONE;
            for (used = 2; used < key_count && (keys[used] < '@' || keys[used] > '~'); used++)
                ;
            used = used < key_count ? used + 1 : used;
        }
        for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++)
            if (used == strlen(sequences[i].text) && memcmp(keys, sequences[i].text, used) == 0)
                key = sequences[i].key;
    }
    memmove(keys, keys + used, key_count -= used);
    return key;
}

int pt_terminal_wait(uint64_t ns)
{
    if (key_count)
        return read_key();
    struct pollfd waited[] = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
    struct timespec timeout = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    if (ppoll(waited, 2, &timeout, NULL) <= 0)
        return PT_KEY_NONE;
    if (waited[1].revents)
        return read_signal();
    ssize_t got = read(STDIN_FILENO, keys, sizeof keys);
    if (got <= 0)
        return PT_KEY_QUIT;
    key_count = (size_t)got;
    return read_key();
}
